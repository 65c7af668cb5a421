//! Real servers for tests, each on a socket of its own in a directory of its own.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use perfblame::load::Target;
use tempfile::TempDir;

/// Debian's redis-server on a Unix socket; killed when dropped.
pub struct Redis {
    child: Mutex<Child>,
    directory: TempDir,
}

impl Redis {
    /// Starts it with further arguments and waits until it answers.
    pub fn start(arguments: &[&str]) -> Redis {
        let directory = tempfile::tempdir().unwrap();
        // The server must not outlive a test that is killed.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "redis-server"])
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(directory.path().join("s"))
            .arg("--dir")
            .arg(directory.path())
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed by scripts/test");
        let redis = Redis {
            child: Mutex::new(child),
            directory,
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(redis.socket()).is_err() {
            assert!(Instant::now() < deadline, "redis-server does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        redis
    }

    /// Path of the socket.
    pub fn socket(&self) -> std::path::PathBuf {
        self.directory.path().join("s")
    }

    /// The socket as a target.
    pub fn target(&self) -> Target {
        Target::Unix(self.socket())
    }

    /// Sends one inline command and returns the raw reply, which must be short.
    pub fn command(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream
            .write_all(format!("{command}\r\nQUIT\r\n").as_bytes())
            .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.strip_suffix("+OK\r\n").unwrap().to_owned()
    }

    /// One field of INFO.
    pub fn info(&self, field: &str) -> String {
        let info = self.command("INFO");
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{field}:")));
        line.unwrap().to_owned()
    }

    /// Kills it.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Debian's memcached on a Unix socket; killed when dropped.
pub struct Memcached {
    child: Child,
    directory: TempDir,
}

impl Memcached {
    /// Starts it and waits until it answers.
    pub fn start() -> Memcached {
        let directory = tempfile::tempdir().unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "memcached", "-u", "root", "-s"])
            .arg(directory.path().join("s"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("memcached is installed by scripts/test");
        let memcached = Memcached { child, directory };
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(memcached.socket()).is_err() {
            assert!(Instant::now() < deadline, "memcached does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        memcached
    }

    /// Path of the socket.
    pub fn socket(&self) -> std::path::PathBuf {
        self.directory.path().join("s")
    }

    /// Its statistics, by name.
    pub fn stat(&self, name: &str) -> u64 {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.write_all(b"stats\r\nquit\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let line = reply
            .lines()
            .find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap().parse().unwrap()
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

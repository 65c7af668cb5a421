//! The little server: its repository, a build of one of its commits, and a conversation with it.

// Each test crate uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where the server's source and history are.
pub const ROOM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/little-server");

/// What makes its repository.
pub const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/fixture-repo");

const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the repository in a directory.
pub fn make_repository(dir: &Path) -> Output {
    Command::new(SCRIPT).arg(dir).output().unwrap()
}

/// Runs git in a repository; its standard output without the last line end.
pub fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Runs make in a tree of the server, with these compiler flags.
pub fn make_in(tree: &Path, cflags: &str) -> Output {
    Command::new("make")
        .args(["-s", "-j2", "-C"])
        .arg(tree)
        .env("CFLAGS", cflags)
        .output()
        .unwrap()
}

/// Exports a commit into an empty directory and builds it.
pub fn make(repository: &Path, commit: &str, tree: &Path, cflags: &str) {
    std::fs::create_dir(tree).unwrap();
    git(
        repository,
        &[
            "--work-tree",
            &tree.display().to_string(),
            "checkout",
            commit,
            "--",
            ".",
        ],
    );
    let output = make_in(tree, cflags);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A built server on a Unix socket of its own; killed when dropped.
pub struct LittleServer {
    child: Child,
    directory: TempDir,
}

impl LittleServer {
    fn spawn(tree: &Path) -> LittleServer {
        let directory = tempfile::tempdir().unwrap();
        // The server must not outlive a test that is killed.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(tree.join("little-server"))
            .arg("--unixsocket")
            .arg(directory.path().join("s"))
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        LittleServer { child, directory }
    }

    /// Starts the server that was built in `tree` and waits until it can be connected to.
    pub fn start(tree: &Path) -> LittleServer {
        let mut server = Self::spawn(tree);
        let deadline = Instant::now() + PATIENCE;
        while UnixStream::connect(server.socket()).is_err() {
            assert!(
                server.child.try_wait().unwrap().is_none(),
                "the server ended"
            );
            assert!(Instant::now() < deadline, "the server does not start");
            std::thread::sleep(Duration::from_millis(2));
        }
        server
    }

    /// Starts a server that does not come up; the signal that it dies of.
    pub fn dies_at_start(tree: &Path) -> Option<i32> {
        Self::spawn(tree).wait().signal()
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    pub fn connect(&self) -> Client {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for LittleServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as the protocol has it.
pub fn request(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// A connection.
pub struct Client(BufReader<UnixStream>);

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next reply: a string's bytes, or the line of anything else.
    pub fn reply(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        let line = line.strip_suffix(b"\r\n").expect("a line").to_vec();
        if line[0] != b'$' || line == b"$-1" {
            return line;
        }
        let length: usize = std::str::from_utf8(&line[1..]).unwrap().parse().unwrap();
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).unwrap();
        bytes.strip_suffix(b"\r\n").expect("a line end").to_vec()
    }

    pub fn ask_bytes(&mut self, arguments: &[&[u8]]) -> Vec<u8> {
        self.send(&request(arguments));
        self.reply()
    }

    pub fn ask(&mut self, arguments: &[&str]) -> String {
        let arguments: Vec<&[u8]> = arguments
            .iter()
            .map(|argument| argument.as_bytes())
            .collect();
        String::from_utf8(self.ask_bytes(&arguments)).unwrap()
    }

    /// Sends nothing more.
    pub fn close_half(&mut self) {
        self.0.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(size) => size == 0,
            // It had not read all that was sent.
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

//! Waits until a server is ready.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::executor::{Cancel, Guarded};
use crate::load::Target;
use crate::plan::{Probe, Ready};

use super::error::{TrialError, tail};

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(10);
/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tries the probe until it succeeds, the server ends, its time is up, or the user wishes to stop.
///
/// `command` is the expanded command of the probe `command`.
pub fn wait(
    ready: &Ready,
    command: Option<&[String]>,
    target: &Target,
    server: &mut Guarded,
    log: &Path,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let started = Instant::now();
    loop {
        let tried = match probe(ready, command, target, log) {
            Ok(()) => return Ok(()),
            Err(tried) => tried,
        };
        if cancel.is_set() {
            return Err(TrialError::Cancelled);
        }
        if let Some(ended) = server.try_end() {
            return Err(TrialError::DiedAtStart {
                how: ended?.describe(),
                output: tail(log),
            });
        }
        if started.elapsed() >= ready.timeout.0 {
            return Err(TrialError::NeverReady {
                waited: ready.timeout.to_string(),
                tried,
                output: tail(log),
            });
        }
        std::thread::sleep(PAUSE);
    }
}

fn probe(
    ready: &Ready,
    command: Option<&[String]>,
    target: &Target,
    log: &Path,
) -> Result<(), String> {
    let connect =
        || Connection::open(target).map_err(|error| format!("connecting to {target}: {error}"));
    match ready.probe {
        Probe::Connect => connect().map(drop),
        Probe::Ping => connect()?
            .ping()
            .map_err(|error| format!("PING to {target}: {error}")),
        Probe::Log => log_matches(ready.pattern.as_deref().unwrap_or_default(), log),
        Probe::Command => command_succeeds(command.unwrap_or_default()),
    }
}

fn log_matches(pattern: &str, log: &Path) -> Result<(), String> {
    let regex = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    if text.lines().any(|line| regex.is_match(line)) {
        return Ok(());
    }
    Err(format!("no line of output matches `{pattern}`"))
}

fn command_succeeds(command: &[String]) -> Result<(), String> {
    let (program, arguments) = command
        .split_first()
        .ok_or("the probe's command is empty")?;
    let output = std::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("`{program}`: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("`{program}`: {}", output.status)),
    }
}

enum Connection {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connection {
    fn open(target: &Target) -> std::io::Result<Self> {
        match target {
            Target::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Self::Unix(stream))
            }
            Target::Tcp { port, .. } => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Self::Tcp(stream))
            }
        }
    }

    fn ping(&mut self) -> Result<(), String> {
        match self {
            Self::Unix(stream) => ping(stream),
            Self::Tcp(stream) => ping(stream),
        }
    }
}

/// Sends `PING`. A server that answers an error (still loading its data, say) is not ready.
fn ping(stream: &mut (impl Read + Write)) -> Result<(), String> {
    stream
        .write_all(b"*1\r\n$4\r\nPING\r\n")
        .map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let mut buffer = [0u8; 256];
    while !answer.ends_with(b"\r\n") && answer.len() < 1024 {
        match stream.read(&mut buffer) {
            Ok(0) => return Err("the connection was closed".to_owned()),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(error.to_string()),
        }
    }
    match answer.as_slice() {
        b"+PONG\r\n" => Ok(()),
        other => Err(format!("answered {:?}", String::from_utf8_lossy(other))),
    }
}

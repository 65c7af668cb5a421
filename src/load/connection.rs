//! Opening a connection and introducing oneself.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use crate::plan::load::{LoadSpec, Protocol};

use super::error::{LoadError, escape};
use super::reply::{MemcacheParser, Reply, ReplyParser, RespParser, Stop};
use super::target::Target;

/// Longest path of a Unix socket on Linux, without the final NUL.
const SOCKET_PATH_LIMIT: usize = 107;

/// A target whose name has been looked up.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Unix(SocketAddrUnix),
    Tcp(Vec<SocketAddr>),
}

impl Address {
    /// Looks the target's name up.
    pub fn resolve(target: &Target) -> Result<Address, LoadError> {
        let text = target.to_string();
        let kind = match target {
            Target::Unix(path) => Kind::Unix(SocketAddrUnix::new(path).map_err(|source| {
                let length = path.as_os_str().as_bytes().len();
                if length > SOCKET_PATH_LIMIT {
                    LoadError::SocketPath {
                        path: path.clone(),
                        length,
                        limit: SOCKET_PATH_LIMIT,
                    }
                } else {
                    LoadError::Resolve {
                        target: text.clone(),
                        source: source.into(),
                    }
                }
            })?),
            Target::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs().and_then(|found| {
                    let found: Vec<SocketAddr> = found.collect();
                    if found.is_empty() {
                        Err(io::Error::from(io::ErrorKind::NotFound))
                    } else {
                        Ok(found)
                    }
                });
                Kind::Tcp(found.map_err(|source| LoadError::Resolve {
                    target: text.clone(),
                    source,
                })?)
            }
        };
        Ok(Address { text, kind })
    }

    /// Opens connection number `connection`, says HELLO, AUTH and SELECT as the specification
    /// asks, and leaves the socket non-blocking. Every step may take `timeout` at most.
    pub fn open(
        &self,
        spec: &LoadSpec,
        connection: u64,
        timeout: Duration,
    ) -> Result<OwnedFd, LoadError> {
        let socket = self.connect(timeout).map_err(|source| LoadError::Connect {
            target: self.text.clone(),
            connection,
            source,
        })?;
        for step in introductions(spec) {
            step.carry_out(&socket, spec, connection)?;
        }
        rustix::io::ioctl_fionbio(&socket, true).map_err(|source| LoadError::Start {
            what: "a socket does not become non-blocking",
            source: source.into(),
        })?;
        Ok(socket)
    }

    fn connect(&self, timeout: Duration) -> io::Result<OwnedFd> {
        match &self.kind {
            Kind::Unix(address) => {
                let socket = stream_socket(AddressFamily::UNIX, timeout)?;
                connect(&socket, address).map_err(|error| told(error, timeout))?;
                Ok(socket)
            }
            Kind::Tcp(addresses) => {
                let mut last = io::Error::from(io::ErrorKind::NotFound);
                for address in addresses {
                    let family = match address {
                        SocketAddr::V4(_) => AddressFamily::INET,
                        SocketAddr::V6(_) => AddressFamily::INET6,
                    };
                    let socket = stream_socket(family, timeout)?;
                    match connect(&socket, address) {
                        Ok(()) => {
                            set_tcp_nodelay(&socket, true)?;
                            return Ok(socket);
                        }
                        Err(error) => last = told(error, timeout),
                    }
                }
                Err(last)
            }
        }
    }
}

/// What the kernel says of a connection; it has other words where its time was up.
fn told(error: Errno, timeout: Duration) -> io::Error {
    match error {
        Errno::AGAIN | Errno::INPROGRESS => io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer in {} s", timeout.as_secs()),
        ),
        error => error.into(),
    }
}

fn stream_socket(family: AddressFamily, timeout: Duration) -> io::Result<OwnedFd> {
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The sending timeout also bounds `connect`.
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(timeout))?;
    Ok(socket)
}

/// A parser for the protocol of `spec`.
pub(crate) fn parser(spec: &LoadSpec) -> ReplyParser {
    if spec.protocol.is_resp() {
        ReplyParser::Resp(RespParser::default())
    } else {
        ReplyParser::Memcache(MemcacheParser::default())
    }
}

/// One command that comes before all others.
struct Introduction {
    bytes: Vec<u8>,
    /// Without the password.
    shown: String,
}

impl Introduction {
    fn resp(words: &[&str], shown: &str) -> Introduction {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        Introduction {
            bytes,
            shown: shown.to_owned(),
        }
    }

    fn carry_out(
        &self,
        socket: &OwnedFd,
        spec: &LoadSpec,
        connection: u64,
    ) -> Result<(), LoadError> {
        let refused = |got: String| LoadError::Setup {
            connection,
            command: self.shown.clone(),
            got,
        };
        let broken = |error: Errno| match error {
            Errno::AGAIN => refused("nothing in time".to_owned()),
            error => refused(io::Error::from(error).to_string()),
        };
        let mut rest = self.bytes.as_slice();
        while !rest.is_empty() {
            let sent = send(socket, rest, SendFlags::NOSIGNAL).map_err(broken)?;
            rest = &rest[sent..];
        }
        let mut parser = parser(spec);
        let mut buffer = [0u8; 4096];
        // A server that says a little now and then has not answered either.
        let until = Instant::now() + Duration::from_secs(spec.stall_timeout);
        let mut answer: Option<Result<(), String>> = None;
        while answer.is_none() {
            let (_, got) = recv(socket, &mut buffer, RecvFlags::empty()).map_err(broken)?;
            if Instant::now() >= until {
                return Err(broken(Errno::AGAIN));
            }
            if got == 0 {
                return Err(refused("the connection closed".to_owned()));
            }
            let fed = parser.feed(&buffer[..got], |reply, _| {
                if answer.is_some() {
                    return Err("more than one reply".to_owned());
                }
                answer = Some(match reply {
                    Reply::Error(text) => Err(escape(text)),
                    _ => Ok(()),
                });
                Ok(())
            });
            match fed {
                Ok(()) => {}
                Err(Stop::Violation(violation)) => {
                    return Err(refused(format!("{violation}: {}", escape(&violation.got))));
                }
                Err(Stop::Refused(text)) => return Err(refused(text)),
            }
        }
        answer.unwrap_or(Ok(())).map_err(refused)
    }
}

fn introductions(spec: &LoadSpec) -> Vec<Introduction> {
    let mut steps = Vec::new();
    let credentials = spec.authenticate.as_deref();
    if spec.protocol == Protocol::MemcacheText {
        if let Some(credentials) = credentials {
            // With an authentication file memcached takes "user password" as the first value set.
            let value = credentials.replacen(':', " ", 1);
            steps.push(Introduction {
                bytes: format!("set auth 0 0 {}\r\n{value}\r\n", value.len()).into_bytes(),
                shown: "set auth …".to_owned(),
            });
        }
        return steps;
    }
    if let Some(credentials) = credentials {
        steps.push(match credentials.split_once(':') {
            Some((user, password)) => {
                Introduction::resp(&["AUTH", user, password], &format!("AUTH {user} …"))
            }
            None => Introduction::resp(&["AUTH", credentials], "AUTH …"),
        });
    }
    match spec.protocol {
        Protocol::Resp2 => steps.push(Introduction::resp(&["HELLO", "2"], "HELLO 2")),
        Protocol::Resp3 => steps.push(Introduction::resp(&["HELLO", "3"], "HELLO 3")),
        Protocol::Redis | Protocol::MemcacheText => {}
    }
    if let Some(database) = spec.select_db {
        let number = database.to_string();
        steps.push(Introduction::resp(
            &["SELECT", &number],
            &format!("SELECT {number}"),
        ));
    }
    steps
}

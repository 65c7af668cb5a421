//! What can go wrong with a load. Any of it ends the run: nothing of it counts.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::plan::load::LoadSpecError;

/// Where a run went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Number of the connection, counted from 0 over all threads.
    pub connection: u64,
    /// The command that was waiting for its reply, or the last one sent where none was.
    pub command: String,
    /// Commands sent and not answered, the one named included.
    pub outstanding: usize,
    /// What came back, with unprintable bytes escaped; empty where nothing did.
    pub got: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}, ", self.connection)?;
        if self.outstanding > 0 {
            write!(
                f,
                "waiting for the reply to `{}` ({} outstanding)",
                self.command, self.outstanding
            )?;
        } else {
            write!(f, "after `{}`", self.command)?;
        }
        if self.got.is_empty() {
            f.write_str(": got nothing")
        } else {
            write!(f, ": got `{}`", self.got)
        }
    }
}

/// Why a load could not be put on, or did not run to its end.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The specification is impossible.
    #[error(transparent)]
    Spec(#[from] LoadSpecError),
    /// The path of a Unix socket does not fit into an address.
    #[error(
        "the socket path {path} has {length} bytes, the kernel allows {limit}; use a shorter directory"
    )]
    SocketPath {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
        /// What the kernel allows.
        limit: usize,
    },
    /// No connection.
    #[error("cannot connect to {target} (connection {connection})")]
    Connect {
        /// The address.
        target: String,
        /// Number of the connection.
        connection: u64,
        /// What the kernel said.
        source: io::Error,
    },
    /// The host has no address.
    #[error("cannot find an address of {target}")]
    Resolve {
        /// The address.
        target: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// HELLO, AUTH or SELECT was refused.
    #[error("connection {connection} was not set up: `{command}` got `{got}`")]
    Setup {
        /// Number of the connection.
        connection: u64,
        /// The command, without the password.
        command: String,
        /// What came back.
        got: String,
    },
    /// A thread could not be bound to its CPU.
    #[error("cannot bind a client thread to CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// No thread, no epoll.
    #[error("cannot start the load: {what}")]
    Start {
        /// What failed.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The server answered with an error.
    #[error("the server answered with an error: {0}")]
    ErrorReply(Fault),
    /// The server answered with something that is not an answer to the command.
    #[error("a reply of the wrong kind, expected {expected}: {fault}")]
    WrongReply {
        /// What would have been right.
        expected: &'static str,
        /// Where.
        fault: Fault,
    },
    /// The server sent what the protocol does not allow.
    #[error("not the protocol, {what}: {fault}")]
    Protocol {
        /// What is wrong with it.
        what: String,
        /// Where.
        fault: Fault,
    },
    /// The server sent more replies than there were commands.
    #[error("a reply too many: {0}")]
    Unasked(Fault),
    /// The server closed the connection.
    #[error("the server closed the connection: {0}")]
    Closed(Fault),
    /// The connection broke.
    #[error("the connection failed: {fault}")]
    Io {
        /// Where.
        fault: Fault,
        /// What the kernel said.
        source: io::Error,
    },
    /// Replies are owed, and none came for too long.
    #[error("the server has sent nothing for {seconds} s: {fault}")]
    Stalled {
        /// How long, in seconds.
        seconds: u64,
        /// Where.
        fault: Fault,
    },
    /// The caller asked to stop.
    #[error("the load was cancelled")]
    Cancelled,
    /// A thread of the generator ended by itself, which is a mistake in perfblame.
    #[error("a thread of the load generator ended unexpectedly")]
    Thread,
}

/// The first bytes of what came back, fit to be shown.
pub(crate) fn escape(bytes: &[u8]) -> String {
    const SHOWN: usize = 160;
    let mut text = bytes[..bytes.len().min(SHOWN)].escape_ascii().to_string();
    if bytes.len() > SHOWN {
        text.push('…');
    }
    text
}

//! What a connection says of itself when it fails.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::load::error::{Fault, LoadError, escape};
use crate::load::reply::{Reply, Stop};

use super::{Client, InFlight, Shared};

/// Why a reply was not accepted.
pub(super) enum Refusal {
    Unasked(String),
    Error(InFlight, String),
    Wrong(InFlight, &'static str, String),
}

impl Client {
    pub(super) fn refused(&self, shared: &Shared, stop: Stop<Refusal>) -> LoadError {
        match stop {
            Stop::Violation(violation) => LoadError::Protocol {
                what: violation.what,
                fault: self.fault(shared, None, escape(&violation.got)),
            },
            Stop::Refused(Refusal::Unasked(got)) => {
                LoadError::Unasked(self.fault(shared, None, got))
            }
            Stop::Refused(Refusal::Error(request, got)) => {
                LoadError::ErrorReply(self.fault(shared, Some(request), got))
            }
            Stop::Refused(Refusal::Wrong(request, expected, got)) => LoadError::WrongReply {
                expected,
                fault: self.fault(shared, Some(request), got),
            },
        }
    }

    /// Where the client stands. `answered` is a request that has just left the queue.
    fn fault(&self, shared: &Shared, answered: Option<InFlight>, got: String) -> Fault {
        let waiting = answered.as_ref().or(self.in_flight.front());
        let (command, key) = waiting.map_or(self.last, |request| (request.command, request.key));
        Fault {
            connection: self.id,
            command: shared.templates[command as usize].0.describe(key),
            outstanding: self.in_flight.len() + usize::from(answered.is_some()),
            got,
        }
    }

    pub(super) fn closed(&self, shared: &Shared) -> LoadError {
        LoadError::Closed(self.fault(shared, None, self.parser.partial()))
    }

    pub(super) fn broken(&self, shared: &Shared, error: Errno) -> LoadError {
        match error {
            Errno::CONNRESET | Errno::PIPE => {
                // What it said before it closed is the reason, such as too many clients.
                let mut said = [0u8; 512];
                match recv(&self.socket, &mut said[..], RecvFlags::DONTWAIT) {
                    Ok((count, _)) if count > 0 => {
                        LoadError::Closed(self.fault(shared, None, escape(&said[..count])))
                    }
                    _ => self.closed(shared),
                }
            }
            error => LoadError::Io {
                fault: self.fault(shared, None, self.parser.partial()),
                source: error.into(),
            },
        }
    }

    /// The server owes replies and has not been heard for `seconds`.
    pub fn stalled(&self, shared: &Shared, seconds: u64) -> LoadError {
        LoadError::Stalled {
            seconds,
            fault: self.fault(shared, None, self.parser.partial()),
        }
    }
}

/// A reply as a reader of an error sees it.
pub(super) fn render(reply: Reply<'_>) -> String {
    match reply {
        Reply::Simple(text) => escape(text),
        Reply::Error(text) => escape(text),
        Reply::Integer => "an integer".to_owned(),
        Reply::Value(length) => format!("a value of {length} bytes"),
        Reply::Nil => "nil".to_owned(),
        Reply::Array { elements, .. } => format!("an array of {elements} elements"),
        Reply::Other => "a reply of RESP 3".to_owned(),
    }
}

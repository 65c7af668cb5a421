//! Replies as they come over the wire: parsed bit by bit, checked, never copied.

mod memcache;
mod resp;

pub use memcache::MemcacheParser;
pub use resp::RespParser;

use thiserror::Error;

/// Largest value that is believed, in bytes: what Redis sends at most.
pub const MAX_VALUE: u64 = 512 << 20;

/// Longest line that is believed, in bytes.
pub const MAX_LINE: usize = 64 << 10;

/// One whole reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A word such as `OK` or `STORED`.
    Simple(&'a [u8]),
    /// An error, with its text.
    Error(&'a [u8]),
    /// A number.
    Integer,
    /// A value of that many bytes.
    Value(u64),
    /// No such key.
    Nil,
    /// Several values, some of which are nil.
    Array {
        /// Elements at the top level.
        elements: u64,
        /// Those of them that are nil.
        nils: u64,
    },
    /// Something else that RESP 3 has.
    Other,
}

/// What is not the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct Violation {
    /// What is wrong.
    pub what: String,
    /// The bytes at fault, or their beginning.
    pub got: Vec<u8>,
}

/// Why a parser stopped.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// The bytes are not the protocol.
    Violation(Violation),
    /// The caller did not want the reply.
    Refused(E),
}

impl<E> From<Violation> for Stop<E> {
    fn from(violation: Violation) -> Self {
        Stop::Violation(violation)
    }
}

/// The parser of a connection.
#[derive(Debug, Clone)]
pub enum ReplyParser {
    /// RESP 2 and 3.
    Resp(RespParser),
    /// memcached's text protocol.
    Memcache(MemcacheParser),
}

impl ReplyParser {
    /// Takes the next bytes of the connection and calls `accept` for every reply that ends in
    /// them, with the reply's length on the wire in bytes.
    ///
    /// # Errors
    /// The protocol was violated, or `accept` refused a reply. The parser must not be fed again.
    #[inline]
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        accept: impl FnMut(Reply<'_>, u64) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        match self {
            ReplyParser::Resp(parser) => parser.feed(bytes, accept),
            ReplyParser::Memcache(parser) => parser.feed(bytes, accept),
        }
    }

    /// What has come of a reply that has not ended, as far as it was kept; for messages.
    pub fn partial(&self) -> String {
        match self {
            ReplyParser::Resp(parser) => parser.partial(),
            ReplyParser::Memcache(parser) => parser.partial(),
        }
    }
}

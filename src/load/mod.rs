//! The load on a server: a memtier-style generator, and readers of other generators' output.
//!
//! Every thread runs one epoll loop over its connections. A whole pipeline of commands is encoded
//! into one buffer from templates and sent with one system call; replies are checked where they
//! lie in the read buffer, and values are skipped, not copied. The clock is read once for each
//! read, so that the client costs little and the server is what a trial measures.

mod client;
mod clock;
mod command;
mod connection;
mod decimal;
mod error;
pub mod keys;
mod outcome;
mod recorder;
pub mod reply;
mod run;
mod target;
mod worker;

pub use error::{Fault, LoadError};
pub use outcome::{CommandStats, Latency, LoadOutcome, WindowId, WindowStats};
pub use run::{RunOptions, Running, run};
pub use target::Target;

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
mod control;
mod decimal;
mod error;
pub mod keys;
pub mod memtier;
mod options;
mod outcome;
mod pacing;
pub mod reader;
mod recorder;
pub mod reply;
mod run;
mod series;
mod target;
mod thread;
mod threads;
mod worker;

pub use error::{Fault, LoadError};
pub use options::{OnSecond, RunOptions};
pub use outcome::{CommandStats, Latency, LoadOutcome, Role, WindowId, WindowStats};
pub use run::{Running, run};
pub use series::{Second, SecondStats};
pub use target::Target;

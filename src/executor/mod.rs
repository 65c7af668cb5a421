//! Who starts a process, and who makes sure that nothing of it stays behind.
//!
//! Every process that perfblame starts for the user (a build step, a server, a command, a trial)
//! runs under a *guard*: a copy of perfblame that does nothing but wait. The guard adopts whatever
//! its command leaves behind, and ends the whole tree when the command ends, when it is told to, or
//! when perfblame itself dies, by `kill -9` too.

mod cancel;
mod ended;
mod external_load;
pub mod guard;
mod guarded;
pub mod guest;
mod local;
mod process_stat;
mod spawn;
mod tree;

pub use cancel::Cancel;
pub use ended::Ended;
pub use external_load::{ExternalLoadError, ExternalRun};
pub use guarded::{Guarded, ProcessError};
pub use local::{LocalTrial, run_trial};
pub use process_stat::ProcessStat;
pub use spawn::{Spawn, Supervisor};
pub use tree::{ProcessId, descendants, end_tree};

//! `perf_event_open`: counters, rings, side-band records.
//!
//! A [`Recorder`] attaches one event to every thread and CPU of a process tree. All events of a CPU
//! write to one ring. A thread reads the rings, puts the records in the order of time, follows
//! forks, `exec` and mappings, and counts each stack in a tree, so that nothing but the tree grows
//! while it runs. Functions get their names once, at the end.

mod attributes;
mod availability;
mod code_map;
mod context_tree;
#[cfg(test)]
mod encode;
mod end_watch;
mod error;
mod event;
mod fast_hash;
mod finish;
mod fold;
mod interned;
mod launch;
mod merge;
mod modules;
mod procfs;
mod record;
mod recorder;
#[cfg(test)]
mod replay;
mod ring;
mod session;
mod window;

pub use crate::plan::{CallGraph, EventChoice, SampleSpec};
pub use availability::{Availability, Finding, check};
pub use end_watch::EndWatch;
pub use error::SampleError;
pub use finish::Detached;
pub use recorder::Recorder;
pub use session::Target;

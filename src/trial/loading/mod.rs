//! What puts the load on a server, window by window: our generator, or another program.

pub mod generator;
mod prepare;
mod program;
mod to_the_end;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::executor::{Cancel, Supervisor};
use crate::plan::MetricDescription;

use super::error::TrialError;
use super::job::{ServerWorkload, TrialJob};
use super::server::RunningServer;
use super::usage::UsageDelta;

pub use prepare::prepare;
pub use to_the_end::to_the_end;

/// A stretch of a trial that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Without the profiler.
    Measured,
    /// With it.
    Profiled,
}

impl Window {
    /// The window in a message: "while the server was …", "the … window".
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Profiled => "profiled",
        }
    }
}

/// What the load saw of a window.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Operations done; `None` where the load does not tell, so that the window is one operation.
    pub ops: Option<u64>,
    /// The load's own values by name.
    pub metrics: BTreeMap<String, f64>,
    /// Units and directions of those that are not known by their names.
    pub descriptions: BTreeMap<String, MetricDescription>,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// A load on a running server.
pub trait Loading {
    /// Puts the load on for a while before anything counts.
    fn warm_up(&mut self, server: &mut RunningServer, length: Duration) -> Result<(), TrialError>;

    /// Lets a window last; returns what the server used in it.
    fn window(
        &mut self,
        server: &mut RunningServer,
        window: Window,
        length: Duration,
    ) -> Result<UsageDelta, TrialError>;

    /// Takes the load off, and tells what it saw of the windows that there were.
    fn finish(
        self: Box<Self>,
        server: &mut RunningServer,
    ) -> Result<Vec<(Window, Seen)>, TrialError>;
}

/// Begins to load a server that is ready and filled.
pub fn start<'a>(
    workload: &'a ServerWorkload,
    job: &'a TrialJob,
    server: &RunningServer,
    supervisor: &'a Supervisor,
    cancel: &'a Cancel,
) -> Result<Box<dyn Loading + 'a>, TrialError> {
    Ok(match &workload.load_program {
        Some(load) => Box::new(program::ProgramLoad::new(
            load, workload, job, supervisor, cancel,
        )),
        None => Box::new(generator::GeneratorLoad::start(
            workload, job, server, cancel,
        )?),
    })
}

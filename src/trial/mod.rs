//! One job, one machine, one result: the life of a server or command, and its windows.
//!
//! A trial is a job: [`run()`] reads one self-contained description, does one trial on the machine it
//! is on, and writes one outcome. Who started its process does not matter to it.

mod advice;
mod command;
mod disturbance;
mod environment;
mod error;
mod job;
mod loading;
mod machine;
mod metrics;
mod outcome;
mod phases;
mod profiling;
mod ready;
mod run;
mod run_as;
mod scope;
mod server;
pub mod settings;
mod topology;
mod usage;
mod windows;

pub use advice::{Advice, advice};
pub use disturbance::Disturbance;
pub use error::TrialError;
pub use job::{JOB_SCHEMA, SampledScope, ServerWorkload, TrialJob, Workload};
pub use machine::Machine;
pub use outcome::{
    FailureKind, GuestRecord, OUTCOME_SCHEMA, TrialEnd, TrialFailure, TrialOutcome, TrialResult,
    WindowResult,
};
pub use run::{run, write_json};
pub use topology::{Placement, Topology};
pub use usage::UsageDelta;

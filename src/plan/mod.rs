//! What is to be done: plan types, presets, and checks that name the line and key at fault.

mod build;
mod command_line;
mod cpus;
mod duration;
mod error;
mod judging;
pub mod load;
mod sampling;
mod workload;

pub use build::{ArtifactPath, Recipe};
pub use command_line::{CommandLine, Placeholders, UnknownPlaceholder};
pub use cpus::CpuList;
pub use duration::Length;
pub use error::PlanError;
pub use judging::{Direction, Judging, MetricDescription};
pub use sampling::{CallGraph, CallGraphError, EventChoice, SampleSpec};
pub use workload::{Better, Command, CommandMetric, Listen, Probe, Ready, Server};

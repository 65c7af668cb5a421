//! What is to be done: plan types, presets, and checks that name the line and key at fault.

mod build;
mod check;
mod command_line;
mod cpus;
mod duration;
mod error;
mod judging;
mod kernel;
mod layer;
pub mod load;
mod matrix;
mod model;
mod phase;
pub mod preset;
mod read;
mod sampling;
pub mod settings;
mod workload;

pub use build::{ArtifactPath, Recipe};
pub use command_line::{CommandLine, Placeholders, UnknownPlaceholder};
pub use cpus::CpuList;
pub use duration::Length;
pub use error::PlanError;
pub use judging::{Direction, Judging, MetricDescription};
pub use kernel::is_inline_fragment;
pub use layer::{Layer, overlay};
pub use load::LoadSpec;
pub use matrix::{Axis, Cell, Level, MatrixSpec};
pub use model::{Cpus, DisturbanceLimits, Experiment, Plan, Subject, SubjectKind, Windows};
pub use phase::{MetricSpec, Phase, descriptions as phase_descriptions};
pub use read::{FILE_NAME, PlanSources, find_file, set_flag};
pub use sampling::{CallGraph, CallGraphError, EventChoice, SampleSpec};
pub use settings::CustomSetting;
pub use workload::{Better, Command, CommandMetric, Listen, Probe, Ready, Server};

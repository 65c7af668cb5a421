//! What comes out of a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::MetricDescription;

use super::disturbance::Disturbance;
use super::usage::UsageDelta;

/// Version of the JSON form of [`TrialOutcome`].
pub const OUTCOME_SCHEMA: &str = "perfblame.trial/1";

/// The end of a trial, as JSON in the file that the job names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrialOutcome {
    /// [`OUTCOME_SCHEMA`].
    pub schema: String,
    /// Measured, or why not.
    pub end: TrialEnd,
}

/// Measured, or why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
// There is one value a trial: its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum TrialEnd {
    /// Everything went well.
    Measured(TrialResult),
    /// No number of this trial is to be used.
    Failed(TrialFailure),
}

/// The values of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrialResult {
    /// Values by name, from the window without the profiler.
    pub metrics: BTreeMap<String, f64>,
    /// Units and directions of those values that the load itself describes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub descriptions: BTreeMap<String, MetricDescription>,
    /// The window without the profiler.
    pub measured: WindowResult,
    /// The window with the profiler, where there was one.
    pub profiled: Option<WindowResult>,
    /// What else happened on the machine.
    pub disturbance: Disturbance,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WindowResult {
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Operations done: replies of a server, runs of a command.
    pub ops: u64,
    /// What the subject used.
    pub usage: UsageDelta,
}

/// Why a trial failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrialFailure {
    /// Whose fault it is.
    pub kind: FailureKind,
    /// What happened, with the subject's own last words.
    pub message: String,
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The plan or the machine: every further trial would fail too.
    Setup,
    /// The subject did not start or did not become ready.
    Start,
    /// The subject died, hung, refused or answered errors.
    Run,
    /// The user wished to stop.
    Cancelled,
}

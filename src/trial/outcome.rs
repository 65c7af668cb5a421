//! What comes out of a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::{MetricDescription, Size, Swap};

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
    /// The sampled phases, where there are several: their functions' names end in ` [PHASE]`. A
    /// phase that is not measured by operations has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiled_phases: BTreeMap<String, WindowResult>,
    /// Metrics that could not be read, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    /// The guest that the trial ran in, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestRecord>,
    /// What else happened on the machine.
    pub disturbance: Disturbance,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// The virtual machine that a trial ran in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GuestRecord {
    /// The kernel's release.
    pub kernel: String,
    /// Digest of the kernel's image, SHA-256.
    pub image: String,
    /// How the guest's code was run: `KVM`, `TCG`, …
    pub engine: String,
    /// Why not by KVM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not_kvm: Option<String>,
    /// QEMU's version.
    pub qemu: String,
    /// Memory.
    pub memory: Size,
    /// CPUs.
    pub cpus: usize,
    /// Where it swapped to.
    pub swap: Swap,
    /// Bytes that were swapped out, where the kernel counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_out_bytes: Option<u64>,
    /// Seconds from power-on to the trial's start.
    pub boot_seconds: f64,
}

impl GuestRecord {
    /// What must be said of numbers that come from such a guest, where something must.
    pub fn warning(&self) -> Option<String> {
        let why = self.why_not_kvm.as_ref()?;
        let icount = match self.engine.contains(',') {
            true => {
                "its time was tied to its instructions, which is repeatable and no measure of time"
            }
            false => "guest.icount would tie time to instructions, and make profiles repeatable",
        };
        Some(format!(
            "the guests' code was translated ({}, QEMU {}) and not run by KVM ({why}): times and rates mean little, \
             and what is slow here may not be so on a processor; {icount}",
            self.engine, self.qemu
        ))
    }
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

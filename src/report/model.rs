//! The whole of `report.json`: one comparison, with what is needed to trust it and to repeat it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::profile::{Accounting, EventInfo};
use crate::verdict::{Explained, FunctionVerdict, GroupProposal, MetricVerdict, Verdict};

/// Version of the form of `report.json`. A reader refuses what it does not know.
pub const SCHEMA: &str = "perfblame.compare/1";

/// A comparison of head against base: what `report.json` holds and every other form is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of perfblame that made the report.
    pub tool_version: String,
    /// When the comparison ended, RFC 3339 in UTC.
    pub created: String,
    /// Key of the experiment in the store, for `perfblame show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The baseline.
    pub base: Side,
    /// What is judged against it.
    pub head: Side,
    /// Whether both artifacts have the same digest, so that nothing can differ.
    pub same_program: bool,
    /// The workload's main metric.
    pub throughput: MetricVerdict,
    /// The other metrics.
    #[serde(default)]
    pub metrics: Vec<MetricVerdict>,
    /// Functions, flagged ones first, then by inclusive share. Empty without a profile.
    #[serde(default)]
    pub functions: Vec<FunctionVerdict>,
    /// Groups of functions that the plan declares; the module is empty.
    #[serde(default)]
    pub groups: Vec<FunctionVerdict>,
    /// Groups that a reader may want to declare.
    #[serde(default)]
    pub proposed_groups: Vec<GroupProposal>,
    /// How far the flagged functions explain the change; absent without profiles.
    #[serde(default)]
    pub explained: Option<Explained>,
    /// The family-wise level that decided.
    #[serde(default)]
    pub alpha: f64,
    /// Samples taken and lost.
    pub samples: SampleCounts,
    /// What was sampled; absent without a profile.
    pub event: Option<EventInfo>,
    /// What became of the samples of all trials: lost, throttled, truncated, unsymbolized, by
    /// module, and the sampler's own CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Accounting>,
    /// Kernel, processor, governor, load and whatever else is known of the machine.
    #[serde(default)]
    pub machine: Value,
    /// The plan as it was carried out: file, preset and flags together.
    #[serde(default)]
    pub plan: Value,
    /// Seed of the order of arms within blocks and of every resampling.
    pub seed: u64,
    /// Raw values of every trial, in the order in which they ran.
    #[serde(default)]
    pub trials: Vec<TrialRecord>,
    /// What a reader must know to trust or distrust the verdicts.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What the comparison could see, and what more blocks would buy, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Shell commands that repeat the comparison.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The revision as the user gave it: a hash, a branch, a tag.
    pub rev: String,
    /// The commit that it resolved to, 40 hexadecimal digits.
    pub commit: String,
    /// First line of the commit message.
    pub subject_line: String,
    /// Digest of the built artifact.
    pub artifact_digest: String,
    /// Number of trials that count.
    pub trials: u32,
}

/// Samples taken and lost over all trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleCounts {
    /// Samples of the base arm.
    pub base: u64,
    /// Samples of the head arm.
    pub head: u64,
    /// Samples that the kernel dropped, both arms.
    pub lost: u64,
}

/// Which side of a comparison a trial measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialArm {
    /// The baseline.
    Base,
    /// What is judged against it.
    Head,
}

/// What one trial measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Block, counted from 0; the arms of a block ran next to each other.
    pub block: u32,
    /// The arm.
    pub arm: TrialArm,
    /// Place in the order of all trials, counted from 0.
    pub order: u32,
    /// When the trial started, RFC 3339 in UTC; empty where unknown.
    #[serde(default)]
    pub started: String,
    /// Value by metric name, in the metric's unit.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Samples of its profile.
    #[serde(default)]
    pub samples: u64,
    /// Samples lost in it.
    #[serde(default)]
    pub lost: u64,
    /// What disturbed it, where that exceeds the plan's limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

/// A report of a form that this version does not know.
#[derive(Debug, Error)]
#[error("the report has schema {found:?}, but this version of perfblame reads only {SCHEMA:?}")]
pub struct UnknownSchema {
    /// The schema found.
    pub found: String,
}

impl CompareReport {
    /// Whether something got worse: a metric, a group, or a function whose cost did not merely
    /// move and whose change is not merely indirect.
    pub fn has_regression(&self) -> bool {
        let regressed = |metric: &MetricVerdict| metric.verdict == Verdict::Regressed;
        regressed(&self.throughput)
            || self.metrics.iter().any(regressed)
            || self.groups.iter().any(FunctionVerdict::is_regression)
            || self.functions.iter().any(FunctionVerdict::is_regression)
    }

    /// Checks that the report has the form that this version knows.
    pub fn check_schema(&self) -> Result<(), UnknownSchema> {
        if self.schema == SCHEMA {
            return Ok(());
        }
        Err(UnknownSchema {
            found: self.schema.clone(),
        })
    }
}

//! What is judged and what a judgement is: the part of `report.json` that others may rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profile::FunctionTable;

/// The four answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Changed for the worse: significant, and larger than the effect gate.
    Regressed,
    /// Changed for the better: significant, and larger than the effect gate.
    Improved,
    /// The whole interval lies within the equivalence margin.
    Equivalent,
    /// Neither: more blocks may tell.
    Undecided,
}

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Operations per second and the like.
    HigherIsBetter,
    /// Times and sizes.
    LowerIsBetter,
}

/// What one trial gives to be judged.
#[derive(Debug, Clone)]
pub struct TrialMeasurement {
    /// The block that the trial belongs to; both arms of a block ran next to each other.
    pub block: u32,
    /// Operations done in the profiled window.
    pub profiled_ops: f64,
    /// CPU time of the subject in the profiled window, in nanoseconds.
    pub profiled_cpu_ns: f64,
    /// Value by metric name, in the metric's unit, from the window without the profiler.
    pub metrics: BTreeMap<String, f64>,
    /// Samples by function; `None` without a profile.
    pub functions: Option<FunctionTable>,
}

/// Welch's unequal-variances test of base against head.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WelchSummary {
    /// Statistic of mean(head) - mean(base).
    pub t: f64,
    /// Welch-Satterthwaite degrees of freedom.
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
    /// 95 % interval of mean(head) - mean(base), in the metric's unit.
    pub ci95: [f64; 2],
}

/// The judgement of a metric such as throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricVerdict {
    /// Name, such as `throughput`, `latency_p99` or `cpu_per_op`.
    pub name: String,
    /// Unit, such as `ops/s`, `ms` or `ns/op`.
    pub unit: String,
    /// Which direction is good.
    pub direction: Direction,
    /// Arithmetic mean over the base trials.
    pub base_mean: f64,
    /// Arithmetic mean over the head trials.
    pub head_mean: f64,
    /// Change of head against base in per cent, from the mean paired log ratio.
    pub change_pct: f64,
    /// 95 % t interval of [`Self::change_pct`]; absent with fewer than two blocks.
    pub ci95_pct: Option<[f64; 2]>,
    /// Two-sided sign-flip p over blocks.
    pub p: f64,
    /// The answer.
    pub verdict: Verdict,
    /// The seeds' convention beside it; absent with fewer than two trials a side.
    pub welch: Option<WelchSummary>,
    /// `[base, head]` of each block, in order.
    pub blocks: Vec<[f64; 2]>,
}

/// Whether a function was seen in both arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionStatus {
    /// Seen in base and head.
    Both,
    /// Not in base.
    New,
    /// Not in head.
    Gone,
}

/// The judgement of a function's cost, self or inclusive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostVerdict {
    /// Mean share of the base arm's samples, in per cent.
    pub base_share_pct: f64,
    /// Mean share of the head arm's samples, in per cent.
    pub head_share_pct: f64,
    /// Mean CPU time per operation in base, in nanoseconds.
    pub base_ns_per_op: f64,
    /// Mean CPU time per operation in head, in nanoseconds.
    pub head_ns_per_op: f64,
    /// Change of the normalised cost in per cent; absent for new and gone functions.
    pub change_pct: Option<f64>,
    /// Its 95 % interval.
    pub ci95_pct: Option<[f64; 2]>,
    /// Two-sided p of this function alone; absent where it was too rare to be tested.
    pub p: Option<f64>,
    /// p adjusted for all functions tested (family-wise).
    pub p_adjusted: Option<f64>,
    /// The answer.
    pub verdict: Verdict,
}

/// What else is known of a function's change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FunctionNote {
    /// Its rise is balanced by the fall of others (or the reverse): cost moved, none was added.
    Moved {
        /// The functions on the other side.
        with: Vec<String>,
    },
    /// Its machine code is the same in both builds: layout, cache or data made the change.
    Indirect,
}

/// The judgement of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionVerdict {
    /// Canonical name.
    pub name: String,
    /// File name of the module.
    pub module: String,
    /// Whether it was seen in both arms.
    pub status: FunctionStatus,
    /// Cost of the function's own instructions.
    #[serde(rename = "self")]
    pub self_cost: CostVerdict,
    /// Cost of the function and all that it calls.
    pub inclusive: CostVerdict,
    /// What else is known.
    pub notes: Vec<FunctionNote>,
}

/// The judgement of head against base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload's main metric.
    pub throughput: MetricVerdict,
    /// The other metrics.
    pub metrics: Vec<MetricVerdict>,
    /// Functions, flagged ones first, then by inclusive share.
    pub functions: Vec<FunctionVerdict>,
    /// What a reader must know to trust or distrust the verdicts.
    pub warnings: Vec<String>,
}

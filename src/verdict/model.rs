//! What is judged and what a judgement is: the part of `report.json` that others may rely on.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::plan::Direction;
use crate::profile::{FunctionId, FunctionTable};

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

/// What is known of functions' machine code in both builds. A function in neither set (of another
/// module, or of code that cannot be compared) is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeComparison {
    /// Functions whose code is the same.
    pub same: BTreeSet<FunctionId>,
    /// Functions whose code differs, or is there in one build only.
    pub changed: BTreeSet<FunctionId>,
    /// Functions that only the head has, with the one that only the base has and whose code is the same.
    pub renamed: BTreeMap<FunctionId, FunctionId>,
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
    /// Two-sided sign-flip p over blocks, of this metric alone.
    pub p: f64,
    /// p adjusted for all that the comparison tests (family-wise); it decides the verdict.
    pub p_adjusted: f64,
    /// The answer.
    pub verdict: Verdict,
    /// Smallest change in per cent that this many blocks would flag in four of five comparisons;
    /// absent with too few blocks to flag anything.
    pub detectable_pct: Option<f64>,
    /// Blocks that would probably decide an `undecided`; absent where no sensible number would.
    pub blocks_to_decide: Option<u32>,
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
    /// Its 95 % interval, of this function alone.
    pub ci95_pct: Option<[f64; 2]>,
    /// Change of the normalised cost in percentage points of base's CPU time per operation.
    pub change_points: f64,
    /// Two-sided p of this function alone; absent where it was too rare to be tested.
    pub p: Option<f64>,
    /// p adjusted for all that the comparison tests (family-wise); it decides the verdict.
    pub p_adjusted: Option<f64>,
    /// The answer.
    pub verdict: Verdict,
    /// Smallest change in per cent that this many blocks would flag in four of five comparisons;
    /// absent where the function was not tested.
    pub detectable_pct: Option<f64>,
    /// Blocks that would probably decide an `undecided`; absent where no sensible number would.
    pub blocks_to_decide: Option<u32>,
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
    /// Its inclusive change is that of functions it calls, which are flagged themselves.
    Inherited {
        /// Those functions, the largest change first.
        from: Vec<String>,
    },
    /// It is judged as a member of a group, not by itself.
    Grouped {
        /// The group's name.
        group: String,
    },
    /// Its machine code is the same in both builds, and that of all its callers too: layout, cache
    /// or data made the change. Of an inclusive change: so it is with all that it comes from.
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

/// Functions that may be one thing in two builds: the cost of one that is gone came back in
/// another. A reader may want to judge them as a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupProposal {
    /// Names of the functions.
    pub members: Vec<String>,
    /// The group's inclusive cost as one, an estimate; not part of the tested family.
    pub inclusive: CostVerdict,
}

/// How much of the change of CPU time per operation the flagged functions explain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// Change of all CPU time per operation after normalisation, in percentage points of base's.
    pub total_points: f64,
    /// Sum of the self changes of the flagged functions and groups, in the same points.
    pub flagged_points: f64,
    /// Speed of the machine and all that touches every function alike: the factor in per cent
    /// that normalisation took out of head against base.
    pub common_pct: f64,
    /// Two-sided sign-flip p of [`Self::common_pct`].
    pub common_p: f64,
}

/// The judgement of head against base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of blocks in which both arms were measured.
    pub blocks: u32,
    /// The family-wise level that decided.
    pub alpha: f64,
    /// The effect gate of functions, in percentage points of the base's CPU time per operation.
    pub gate_points: f64,
    /// The workload's main metric.
    pub throughput: MetricVerdict,
    /// The other metrics.
    pub metrics: Vec<MetricVerdict>,
    /// Functions, flagged ones first, then by inclusive share.
    pub functions: Vec<FunctionVerdict>,
    /// Groups that the plan declares; the module is empty.
    pub groups: Vec<FunctionVerdict>,
    /// Groups that a reader may want to declare.
    pub proposed_groups: Vec<GroupProposal>,
    /// How far the flagged functions explain the change; absent without profiles.
    pub explained: Option<Explained>,
    /// What a reader must know to trust or distrust the verdicts.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Whether something got worse: a metric, a group, or a function whose cost did not merely
    /// move and whose change is not merely indirect.
    pub fn has_regression(&self) -> bool {
        self.throughput.verdict == Verdict::Regressed
            || self.metrics.iter().any(|m| m.verdict == Verdict::Regressed)
            || self.groups.iter().any(FunctionVerdict::is_regression)
            || self.functions.iter().any(FunctionVerdict::is_regression)
    }
}

impl FunctionVerdict {
    /// Whether its self or inclusive cost regressed, and no note excuses it.
    pub fn is_regression(&self) -> bool {
        let excused = self.notes.iter().any(|note| match note {
            FunctionNote::Moved { .. } | FunctionNote::Grouped { .. } | FunctionNote::Indirect => {
                true
            }
            FunctionNote::Inherited { .. } => false,
        });
        !excused
            && (self.self_cost.verdict == Verdict::Regressed
                || self.inclusive.verdict == Verdict::Regressed)
    }

    /// Whether its self or inclusive cost regressed or improved, whatever the notes say.
    pub fn is_flagged(&self) -> bool {
        self.self_cost.verdict.is_flagged() || self.inclusive.verdict.is_flagged()
    }
}

impl Verdict {
    /// Whether it says that there is a change.
    pub fn is_flagged(self) -> bool {
        matches!(self, Verdict::Regressed | Verdict::Improved)
    }
}

//! Verdicts of functions and groups from the judged family.

use super::costs::{Cost, Kind};
use super::hypotheses::{Tested, TestedPair, least_effect};
use super::model::{CostVerdict, FunctionStatus, FunctionVerdict, Verdict};
use super::outlook::Outlook;
use crate::plan::Judging;
use crate::profile::FunctionId;
use crate::stats::{Adjusted, Hypothesis, t_two_sided, t_two_sided_quantile};

/// What judging a cost needs beside the cost.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The judged family and its level.
    pub outlook: Outlook<'a>,
    /// The gate and the level.
    pub judging: &'a Judging,
    /// Normalised CPU time per operation of head in parts of base's.
    pub total_ratio: f64,
}

impl Rules<'_> {
    /// Judges a function or a group by its costs.
    pub fn function(&self, id: &FunctionId, pair: &TestedPair) -> FunctionVerdict {
        FunctionVerdict {
            name: id.name.clone(),
            module: id.module.clone(),
            status: status(&pair.inclusive.cost),
            self_cost: self.cost(&pair.own),
            inclusive: self.cost(&pair.inclusive),
            notes: Vec::new(),
        }
    }

    /// Judges one cost.
    pub fn cost(&self, tested: &Tested) -> CostVerdict {
        let cost = &tested.cost;
        let gate = self.judging.gate_points;
        let member = tested.index.map(|i| &self.outlook.family.adjusted[i]);
        let lone = member.copied().unwrap_or_else(|| moderated(tested));
        let too_small = least_effect(cost, gate).is_none();
        let known = lone.variance.is_finite() && lone.df > 0.0;
        let reach = if known && !too_small {
            t_two_sided_quantile(0.05, lone.df) * (lone.variance / cost.measured as f64).sqrt()
        } else {
            f64::NAN
        };
        let interval = [lone.mean - reach, lone.mean + reach];
        let verdict = match member {
            _ if too_small => Verdict::Equivalent,
            Some(m) if m.passes_gate && m.p_adjusted <= self.judging.alpha * (1.0 + 1e-12) => {
                if m.mean > 0.0 {
                    Verdict::Regressed
                } else {
                    Verdict::Improved
                }
            }
            _ if interval.iter().all(|d| self.points(cost, *d).abs() <= gate) => {
                Verdict::Equivalent
            }
            _ => Verdict::Undecided,
        };
        let both = status(cost) == FunctionStatus::Both;
        let noise = self.outlook.noise(&lone, cost.measured);
        let least = least_effect(cost, gate).unwrap_or(f64::INFINITY);
        CostVerdict {
            base_share_pct: cost.share_pct[0],
            head_share_pct: cost.share_pct[1],
            base_ns_per_op: cost.ns_per_op[0],
            head_ns_per_op: cost.ns_per_op[1],
            change_pct: (both && known && !too_small).then(|| pct(lone.mean)),
            ci95_pct: (both && reach.is_finite()).then(|| interval.map(pct)),
            change_points: self.points(cost, lone.mean),
            p: (known && !too_small).then(|| t_two_sided(lone.t, lone.df)),
            p_adjusted: member.map(|m| m.p_adjusted),
            verdict,
            detectable_pct: member
                .and_then(|_| noise.detectable())
                .map(|d| pct(d.max(least))),
            blocks_to_decide: (verdict == Verdict::Undecided && member.is_some())
                .then(|| noise.blocks_to_decide(lone.mean, least, least))
                .flatten(),
        }
    }

    /// A log ratio as percentage points of base's CPU time per operation.
    fn points(&self, cost: &Cost, difference: f64) -> f64 {
        let both = cost.share_pct[0] + cost.share_pct[1] * self.total_ratio;
        both * (difference / 2.0).tanh()
    }
}

/// A cost's own moderated statistic, outside any family.
pub fn moderated(tested: &Tested) -> Adjusted {
    Hypothesis {
        differences: tested.cost.differences.clone(),
        measured: tested.cost.measured,
        prior_df: tested.prior.df,
        prior_variance: tested.prior.variance,
        least_effect: 0.0,
        weight: 1.0,
    }
    .estimate()
}

/// Whether a cost was seen in both arms. What was seen in neither is not new.
pub fn status(cost: &Cost) -> FunctionStatus {
    match cost.samples.map(|s| s > 0.0) {
        [false, true] => FunctionStatus::New,
        [true, false] => FunctionStatus::Gone,
        _ => FunctionStatus::Both,
    }
}

/// Order of functions in a report: flagged ones first, of these those that no note explains, the
/// larger change first; then by share.
pub fn rank(function: &FunctionVerdict) -> (u8, f64) {
    use super::model::FunctionNote::Inherited;
    let change = |cost: &CostVerdict| {
        if cost.verdict.is_flagged() {
            cost.change_points.abs()
        } else {
            0.0
        }
    };
    let size = change(&function.self_cost).max(change(&function.inclusive));
    let share = function.inclusive.base_share_pct + function.inclusive.head_share_pct;
    let inherited = |note: &super::model::FunctionNote| matches!(note, Inherited { .. });
    match &function.notes[..] {
        _ if !function.is_flagged() => (3, -share),
        [] => (0, -size),
        notes if notes.iter().all(inherited) => (1, -size),
        _ => (2, -size),
    }
}

/// The verdict of one of a function's costs.
pub fn verdict_of(function: &FunctionVerdict, kind: Kind) -> &CostVerdict {
    match kind {
        Kind::Own => &function.self_cost,
        Kind::Inclusive => &function.inclusive,
    }
}

fn pct(difference: f64) -> f64 {
    100.0 * difference.exp_m1()
}

//! Judges saved profiles: several runs a side, nothing known but their stacks.

use crate::plan::Judging;
use crate::profile::{FunctionTable, format::folded};
use crate::report::headline::{is_explained_away, telling_cost};
use crate::report::number;
use crate::stats::blocks_to_reach;
use crate::verdict::{
    Comparison, FunctionStatus, FunctionVerdict, TrialMeasurement, Verdict, compare,
};

use super::function::{Judged, verdicts_of_shares};
use super::tree::{DiffTree, Run, Side};

/// The judgement of saved runs.
///
/// Runs are paired in the order in which they stand: the first of base with the first of head. The
/// cost of a function is its share of a run's samples, for nothing says how much work a run did.
#[derive(Debug)]
pub struct SavedRuns {
    comparison: Comparison,
    pairs: usize,
}

impl SavedRuns {
    /// Judges runs of both sides; those without a partner are left out.
    pub fn judge(runs: &[Run<'_>]) -> Self {
        let of =
            |side: Side| -> Vec<&Run<'_>> { runs.iter().filter(|run| run.side == side).collect() };
        let (base, head) = (of(Side::Base), of(Side::Head));
        let pairs = base.len().min(head.len());
        let measure = |runs: &[&Run<'_>]| -> Vec<TrialMeasurement> {
            let pair = runs.iter().take(pairs).enumerate();
            pair.map(|(block, run)| measurement(block as u32, run))
                .collect()
        };
        let judging = Judging::default();
        Self {
            comparison: compare(&measure(&base), &measure(&head), &judging),
            pairs,
        }
    }

    /// What the verdicts say of the functions of a tree.
    pub fn colours(&self, tree: &DiffTree) -> Vec<Judged> {
        verdicts_of_shares(tree, &self.comparison.functions)
    }

    /// What the runs can tell, in a sentence.
    pub fn sentence(&self) -> String {
        let alpha = self.comparison.alpha;
        let needed = blocks_to_reach(alpha);
        if (self.pairs as u32) < needed {
            return format!(
                "{} runs a side: too few to call anything significant at {alpha}; {needed} are needed",
                self.pairs
            );
        }
        format!(
            "{} runs a side, judged at {alpha} over all functions",
            self.pairs
        )
    }

    /// The functions that changed by their own doing, a line each; names are unescaped.
    pub fn changed(&self) -> Vec<String> {
        let functions = self.comparison.functions.iter();
        let changed =
            functions.filter(|f| telling_cost(f).1.verdict.is_flagged() && !is_explained_away(f));
        changed
            .map(|function| {
                let (which, cost) = telling_cost(function);
                let word = match (function.status, cost.verdict) {
                    (FunctionStatus::New, _) => "new",
                    (FunctionStatus::Gone, _) => "gone",
                    (FunctionStatus::Both, Verdict::Regressed) => "regressed",
                    (FunctionStatus::Both, _) => "improved",
                };
                format!(
                    "{word:<10} {which:<4} {:>6} → {:>6} % {:>8}  {}",
                    number::share(cost.base_share_pct),
                    number::share(cost.head_share_pct),
                    cost.change_pct.map_or(String::new(), number::change),
                    function.name
                )
            })
            .collect()
    }

    /// Whether a function regressed.
    pub fn has_regression(&self) -> bool {
        self.comparison
            .functions
            .iter()
            .any(FunctionVerdict::is_regression)
    }
}

fn measurement(block: u32, run: &Run<'_>) -> TrialMeasurement {
    let profile = folded::profile_of(&run.lines);
    TrialMeasurement {
        block,
        profiled_ops: 1.0,
        // A second of CPU time: the cost of a function is its share.
        profiled_cpu_ns: 1e9,
        metrics: std::collections::BTreeMap::new(),
        functions: profile
            .ok()
            .map(|profile| FunctionTable::from_profile(&profile)),
    }
}

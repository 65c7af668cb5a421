//! When to stop measuring: the judgement at a declared look, and what more blocks would buy.

use super::model::{Comparison, CostVerdict, Verdict};
use crate::stats::Looks;

/// What follows from a look.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Measure no more.
    Stop(StopReason),
    /// Measure until there are so many blocks, then judge at this level.
    Continue {
        /// Blocks at the next look.
        blocks: u32,
        /// Level of the next look.
        alpha: f64,
        /// What is undecided and would probably be decided, by the last look.
        buys: Vec<Purchase>,
    },
}

/// Why to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The main metric, the other metrics, the groups and the functions all have an answer.
    Decided,
    /// What is undecided would probably stay so.
    NothingToGain,
    /// The last declared look is done.
    LastLook,
}

/// An undecided verdict, and the blocks that would probably decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// Name of the metric, group or function.
    pub name: String,
    /// Blocks in all.
    pub blocks: u32,
}

/// Decides after a look at `comparison`, which was judged at the look's level.
///
/// A metric or a declared group is an open question while it is undecided; a function only while
/// its estimated change passes the effect gate, since of hundreds there are always some that no
/// number of blocks would show to be equivalent.
///
/// The decision looks at verdicts only, and the levels of all looks add up to the experiment's, so
/// that stopping early or late gives no false flag more.
pub fn decide(looks: &Looks, comparison: &Comparison) -> Decision {
    let Some(next) = looks.after(comparison.blocks) else {
        return Decision::Stop(StopReason::LastLook);
    };
    let last = looks.all().last().map_or(next.blocks, |l| l.blocks);
    let (undecided, mut buys) = open(comparison);
    if undecided == 0 {
        return Decision::Stop(StopReason::Decided);
    }
    buys.retain(|purchase| purchase.blocks <= last);
    if buys.is_empty() {
        return Decision::Stop(StopReason::NothingToGain);
    }
    Decision::Continue {
        blocks: next.blocks,
        alpha: next.alpha,
        buys,
    }
}

/// What is an open question and would be decided by more blocks, the cheapest first.
pub fn what_more_blocks_buy(comparison: &Comparison) -> Vec<Purchase> {
    open(comparison).1
}

/// Number of undecided verdicts, and those with a number of blocks.
fn open(comparison: &Comparison) -> (usize, Vec<Purchase>) {
    let mut undecided = 0;
    let mut buys: Vec<Purchase> = Vec::new();
    let mut note = |name: &str, blocks: Option<u32>| {
        undecided += 1;
        if let Some(blocks) = blocks {
            buys.push(Purchase {
                name: name.to_owned(),
                blocks,
            });
        }
    };
    for metric in std::iter::once(&comparison.throughput).chain(&comparison.metrics) {
        if metric.verdict == Verdict::Undecided {
            note(&metric.name, metric.blocks_to_decide);
        }
    }
    let gate = comparison.gate_points;
    let functions = comparison.functions.iter().map(|f| (f, gate));
    let groups = comparison.groups.iter().map(|group| (group, 0.0));
    for (function, gate) in groups.chain(functions) {
        let costs = [&function.self_cost, &function.inclusive];
        // Of a function that is flagged the other cost is no open question.
        let open: Vec<&&CostVerdict> = costs
            .iter()
            .filter(|c| c.verdict == Verdict::Undecided && c.p_adjusted.is_some())
            .filter(|c| c.change_points.abs() >= gate)
            .collect();
        if !open.is_empty() && !function.is_flagged() {
            let blocks = open.iter().filter_map(|c| c.blocks_to_decide).min();
            note(&function.name, blocks);
        }
    }
    buys.sort_by(|a, b| a.blocks.cmp(&b.blocks).then_with(|| a.name.cmp(&b.name)));
    buys.dedup();
    (undecided, buys)
}

//! Indirect changes: cost that changed in code that did not.
//!
//! A function whose machine code is the same in both builds can still take longer: its place in
//! memory is another one, others use the caches, it gets other data. Such a change of its own cost
//! is *indirect*. But it may also be called more often. So the label needs unchanged code in all
//! direct callers too; a caller that changed is a cause that stands in the commit.
//!
//! An inclusive change is judged by where it comes from. One that comes from indirect changes
//! further down is indirect as well, where the function itself and its direct callers did not
//! change. Where a caller did, an unchanged function in between may be called more often and hand
//! that on: then all below it rises alike. So there the inclusive change counts as indirect only
//! where the rest of the function's cost demonstrably did not follow. A function whose own code
//! changed is never excused: it may hand other arguments on, and those change one callee alone.

use super::costs::{Costs, Kind};
use super::functions::Rules;
use super::hypotheses::{Hypotheses, Tested};
use super::inherited::EXPLAINED;
use super::model::{CodeComparison, FunctionNote, FunctionVerdict};
use super::relations::Relations;
use crate::profile::FunctionId;

/// Part of the change of what it comes from that the rest of a function may share in.
const FOLLOWS: f64 = 0.5;

/// What is known of the functions' code, by index in [`Costs::ids`].
pub struct Code<'a> {
    costs: &'a Costs<'a>,
    hypotheses: &'a Hypotheses,
    is_same: Vec<bool>,
    is_changed: Vec<bool>,
    /// Whether the function itself or a direct caller changed.
    is_near_change: Vec<bool>,
}

impl<'a> Code<'a> {
    /// Looks the functions up.
    pub fn new(
        code: &CodeComparison,
        costs: &'a Costs<'a>,
        hypotheses: &'a Hypotheses,
        relations: &Relations,
    ) -> Self {
        let changed: Vec<bool> = costs
            .ids
            .iter()
            .map(|id| code.changed.contains(id))
            .collect();
        let is_near_change = (0..costs.ids.len())
            .map(|f| changed[f] || relations.callers(f).iter().any(|&caller| changed[caller]))
            .collect();
        Self {
            costs,
            hypotheses,
            is_same: costs.ids.iter().map(|id| code.same.contains(id)).collect(),
            is_changed: changed,
            is_near_change,
        }
    }

    /// Adds [`FunctionNote::Indirect`] where most of what changed of a flagged function is its own
    /// cost. `functions` stand in the order of [`Costs::ids`].
    pub fn note(&self, functions: &mut [FunctionVerdict], gate: f64) {
        for (f, function) in functions.iter_mut().enumerate() {
            let own = function.self_cost.change_points.abs();
            let inclusive = function.inclusive.change_points.abs();
            // Interrupts land in every function, and are callees of its.
            let is_its_own = !function.inclusive.verdict.is_flagged()
                || own >= EXPLAINED * inclusive
                || (inclusive - own).abs() < gate;
            if self.is_same[f] && !self.is_near_change[f] && function.is_flagged() && is_its_own {
                function.notes.push(FunctionNote::Indirect);
            }
        }
    }

    /// Whether a function's inclusive change, which comes from indirect changes of the functions
    /// `from`, is indirect too.
    pub fn carries(&self, heir: usize, from: &[&FunctionVerdict], rules: Rules<'_>) -> bool {
        let is_alone = !self.is_near_change[heir] || self.rest_stays(heir, from, rules);
        is_alone && !self.is_changed[heir]
    }

    /// Whether a function's inclusive cost less the own costs of `from` shows that it did not change
    /// as they did.
    fn rest_stays(&self, heir: usize, from: &[&FunctionVerdict], rules: Rules<'_>) -> bool {
        let mut counts = self.costs.counts(heir, Kind::Inclusive).clone();
        for function in from {
            let id = FunctionId {
                name: function.name.clone(),
                module: function.module.clone(),
            };
            let Ok(index) = self.costs.ids.binary_search(&id) else {
                return false;
            };
            let own = &self.costs.counts(index, Kind::Own).by_trial;
            for (rest, own) in counts.by_trial.iter_mut().zip(own) {
                *rest = (*rest - own).max(0.0);
            }
        }
        let cost = self.costs.cost(&counts);
        let prior = self.hypotheses.prior(Kind::Inclusive, &cost);
        let rest = rules.cost(&Tested {
            index: None,
            cost,
            prior,
        });
        let Some([lo, hi]) = rest.ci95_pct else {
            return false;
        };
        from.iter().all(|function| {
            let change = function.self_cost.change_pct.map(|change| FOLLOWS * change);
            change.is_some_and(|change| match change > 0.0 {
                true => hi < change,
                false => lo > change,
            })
        })
    }
}

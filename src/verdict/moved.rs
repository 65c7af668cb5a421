//! Moved cost: a rise that is balanced by the fall of related functions.
//!
//! Inlining, outlining, splitting and renaming move cost between functions and add none. A flagged
//! change is called moved when functions that are related to it (callers, callees, siblings, or for
//! a new function any that is gone) changed the other way by as much: the sum of their samples,
//! judged as one cost, shows no change that passes the gate. What is new in place of something dearer
//! that is gone has moved too, and what has the machine code of one that is gone under another name. A partner must be significant by
//! itself, at `alpha` over the number of functions that come into question, so that noise of many
//! relatives does not excuse a regression.

use std::collections::BTreeMap;

use super::costs::{Costs, Kind};
use super::functions::{Rules, verdict_of};
use super::hypotheses::{Hypotheses, Tested};
use super::model::{
    CodeComparison, CostVerdict, FunctionNote, FunctionStatus, FunctionVerdict, GroupProposal,
    Verdict,
};
use super::relations::Relations;
use crate::profile::FunctionId;

/// Most functions that share one move.
const MOST_MEMBERS: usize = 8;

/// How far, in parts of a function's change, those that it came from may have changed beyond it.
const MOST_BEYOND: f64 = 2.0;

/// Everything that a search for partners looks at.
struct Search<'a> {
    functions: &'a [FunctionVerdict],
    costs: &'a Costs<'a>,
    hypotheses: &'a Hypotheses,
    relations: &'a Relations,
    rules: Rules<'a>,
    /// Partners of the same machine code under another name, by index.
    renamed: BTreeMap<usize, usize>,
}

/// Adds [`FunctionNote::Moved`] where it holds.
pub fn note(
    functions: &mut [FunctionVerdict],
    costs: &Costs<'_>,
    hypotheses: &Hypotheses,
    (relations, code): (&Relations, &CodeComparison),
    rules: Rules<'_>,
) {
    let place = |id: &FunctionId| costs.ids.binary_search(id).ok();
    let pairs = code.renamed.iter();
    let pairs = pairs.filter_map(|(new, gone)| Some((place(new)?, place(gone)?)));
    let search = Search {
        renamed: pairs
            .flat_map(|(new, gone)| [(new, gone), (gone, new)])
            .collect(),
        functions,
        costs,
        hypotheses,
        relations,
        rules,
    };
    let found: Vec<(usize, Vec<String>)> = (0..functions.len())
        .filter(|&f| search.functions[f].is_flagged() && search.functions[f].notes.is_empty())
        .filter_map(|f| Some((f, search.partners(f)?)))
        .collect();
    for (function, with) in found {
        functions[function].notes.push(FunctionNote::Moved { with });
    }
}

/// Proposes groups of functions that are gone with those that took over their cost.
pub fn propose(
    functions: &[FunctionVerdict],
    costs: &Costs<'_>,
    hypotheses: &Hypotheses,
    relations: &Relations,
    rules: Rules<'_>,
) -> Vec<GroupProposal> {
    let search = Search {
        renamed: BTreeMap::new(),
        functions,
        costs,
        hypotheses,
        relations,
        rules,
    };
    (0..functions.len())
        .filter(|&f| {
            functions[f].status == FunctionStatus::Gone
                && !search.is_grouped(f)
                && functions[f].inclusive.change_points.abs() >= rules.judging.gate_points
        })
        .filter_map(|gone| search.proposal(gone))
        .collect()
}

impl Search<'_> {
    /// Names of the functions that balance what was flagged of a function: its regressions, or
    /// where it has none its improvements.
    fn partners(&self, function: usize) -> Option<Vec<String>> {
        if let Some(&partner) = self.renamed.get(&function)
            && self.is_the_same(function, partner)
        {
            return Some(vec![self.functions[partner].name.clone()]);
        }
        let verdict = &self.functions[function];
        let costs = [&verdict.self_cost, &verdict.inclusive];
        let regressed = costs.iter().any(|c| c.verdict == Verdict::Regressed);
        let direction = if regressed {
            Verdict::Regressed
        } else {
            Verdict::Improved
        };
        let own = self
            .within(function)
            .or_else(|| self.balance(function, Kind::Own));
        let mut members = Vec::new();
        if verdict.self_cost.verdict == direction {
            members.extend(own.clone()?);
        }
        if verdict.inclusive.verdict == direction {
            let callees = verdict.inclusive.change_points - verdict.self_cost.change_points;
            let is_its_own = callees.abs() < self.rules.judging.gate_points;
            let inclusive = || self.balance(function, Kind::Inclusive);
            let whole = if is_its_own {
                own.or_else(inclusive)
            } else {
                inclusive()
            };
            members.extend(whole?);
        }
        members.sort_by(|&a, &b| self.size(b).total_cmp(&self.size(a)).then(a.cmp(&b)));
        let mut names: Vec<String> = Vec::new();
        for member in members {
            let name = &self.functions[member].name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Some(names)
    }

    /// The function below it that changed most the other way, where its inclusive cost shows that
    /// its self change stayed within what it calls, or was more than made good there.
    fn within(&self, function: usize) -> Option<Vec<usize>> {
        let own = &self.functions[function].self_cost;
        let inclusive = &self.functions[function].inclusive;
        let sign = own.change_points.signum();
        let [lo, hi] = inclusive.ci95_pct?;
        let reach = inclusive.base_share_pct / 100.0 * if sign > 0.0 { hi } else { -lo };
        if !own.verdict.is_flagged()
            || sign * inclusive.change_points >= self.rules.judging.gate_points
            || reach >= own.change_points.abs()
        {
            return None;
        }
        let opposite = |f: usize| -sign * self.change(f, Kind::Own).change_points;
        self.relations
            .descendants(function)
            .into_iter()
            .filter(|&d| opposite(d) > 0.0)
            .max_by(|&a, &b| opposite(a).total_cmp(&opposite(b)))
            .map(|d| vec![d])
    }

    /// The functions whose change of this kind, with the function's own, comes to nothing.
    fn balance(&self, function: usize, kind: Kind) -> Option<Vec<usize>> {
        let mut members = vec![function];
        let mut net = self.change(function, kind).change_points;
        while members.len() < MOST_MEMBERS {
            let next = self
                .candidates(&members, kind)
                .into_iter()
                .filter(|&c| self.change(c, kind).change_points * net < 0.0)
                .min_by(|&a, &b| {
                    let rest = |c: usize| (net + self.change(c, kind).change_points).abs();
                    rest(a).total_cmp(&rest(b))
                })?;
            let rest = net + self.change(next, kind).change_points;
            // The first partner may be larger: one function can be split into several.
            if members.len() > 1 && rest.abs() >= net.abs() {
                return None;
            }
            members.push(next);
            net = rest;
            if self.is_balanced(&members, kind) {
                members.remove(0);
                return Some(members);
            }
        }
        None
    }

    /// Relatives of the members that changed significantly.
    fn candidates(&self, members: &[usize], kind: Kind) -> Vec<usize> {
        let size = self.change(members[0], kind).change_points.abs();
        let mut related: Vec<usize> = members
            .iter()
            .flat_map(|&m| {
                let mut related = self.relations.siblings(m);
                // An inclusive cost holds that of its callees: only siblings stand beside it.
                if kind == Kind::Own {
                    related.extend(self.relations.neighbours(m));
                }
                related.extend(self.renames(m));
                related
            })
            .filter(|c| !members.contains(c) && !self.is_grouped(*c))
            .filter(|&c| {
                let change = self.change(c, kind);
                change.base_share_pct + change.head_share_pct >= size / 2.0
            })
            .collect();
        related.sort_unstable();
        related.dedup();
        let level = self.rules.judging.alpha / related.len().max(1) as f64;
        related.retain(|&c| self.change(c, kind).p.is_some_and(|p| p <= level));
        related
    }

    fn is_grouped(&self, function: usize) -> bool {
        let notes = &self.functions[function].notes;
        notes
            .iter()
            .any(|note| matches!(note, FunctionNote::Grouped { .. }))
    }

    /// For a new function those that are gone, and the reverse.
    fn renames(&self, function: usize) -> Vec<usize> {
        let other = match self.functions[function].status {
            FunctionStatus::New => FunctionStatus::Gone,
            FunctionStatus::Gone => FunctionStatus::New,
            FunctionStatus::Both => return Vec::new(),
        };
        (0..self.functions.len())
            .filter(|&f| self.functions[f].status == other)
            .collect()
    }

    /// Whether the members together show no change that passes the gate.
    fn is_balanced(&self, members: &[usize], kind: Kind) -> bool {
        let joint = self.joint(self.costs.sum(members, kind), kind);
        let rise = self.change(members[0], kind).change_points.abs();
        let rest = joint.change_points.abs();
        let gate = self.rules.judging.gate_points;
        let significant = joint.p.is_some_and(|p| p <= self.rules.judging.alpha);
        rest < gate || (!significant && rest <= rise / 2.0) || self.is_made_good(members, kind)
    }

    /// Whether a function and the one that has its machine code under another name may be one: what is left
    /// of both changes is at most the cost of the one that is gone. A rename alone leaves nothing, but a cost
    /// varies with every start of a program; one that more than doubled has another cause.
    fn is_the_same(&self, function: usize, partner: usize) -> bool {
        let changes = [function, partner].map(|f| self.change(f, Kind::Own).change_points);
        let gone = changes
            .iter()
            .fold(0.0, |gone: f64, change| gone.min(*change));
        changes.iter().sum::<f64>() <= -gone
    }

    /// Whether a new function costs less than those that are gone, or one that is gone cost less
    /// than those that are new: then its change is part of theirs. All that is new and flagged
    /// counts against the same partners, so that none of them excuses twice. A relative that gets
    /// cheaper by itself excuses nothing here.
    fn is_made_good(&self, members: &[usize], kind: Kind) -> bool {
        let status = self.functions[members[0]].status;
        let renames = self.renames(members[0]);
        if !members[1..].iter().all(|m| renames.contains(m)) {
            return false;
        }
        let own = self.change(members[0], kind).change_points;
        let mut all = members.to_vec();
        all.extend((0..self.functions.len()).filter(|f| {
            let other = self.change(*f, kind);
            let alike = self.functions[*f].status == status && !members.contains(f);
            alike && other.verdict.is_flagged() && other.change_points * own > 0.0
        }));
        let beyond = |members: &[usize]| {
            let joint = self.joint(self.costs.sum(members, kind), kind);
            -joint.change_points * own.signum()
        };
        beyond(members) <= MOST_BEYOND * own.abs() && beyond(&all) >= 0.0
    }

    fn joint(&self, counts: super::costs::Counts, kind: Kind) -> CostVerdict {
        let cost = self.costs.cost(&counts);
        let prior = self.hypotheses.prior(kind, &cost);
        self.rules.cost(&Tested {
            index: None,
            cost,
            prior,
        })
    }

    fn proposal(&self, gone: usize) -> Option<GroupProposal> {
        let rose = self
            .candidates(&[gone], Kind::Own)
            .into_iter()
            .filter(|&c| {
                self.relations.neighbours(gone).contains(&c)
                    || self.relations.siblings(gone).contains(&c)
            })
            .filter(|&c| self.change(c, Kind::Own).change_points > 0.0)
            .max_by(|&a, &b| self.size(a).total_cmp(&self.size(b)))?;
        let members = [gone, rose];
        let counts = self.costs.union_of_pair(gone, rose);
        Some(GroupProposal {
            members: members.map(|m| self.functions[m].name.clone()).to_vec(),
            inclusive: self.joint(counts, Kind::Inclusive),
        })
    }

    fn change(&self, function: usize, kind: Kind) -> &CostVerdict {
        verdict_of(&self.functions[function], kind)
    }

    fn size(&self, function: usize) -> f64 {
        let f = &self.functions[function];
        f.self_cost
            .change_points
            .abs()
            .max(f.inclusive.change_points.abs())
    }
}

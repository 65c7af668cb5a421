//! The family: everything that a comparison may flag, tested together.
//!
//! One family holds the main metric, the other metrics, the declared groups, and the self and the
//! inclusive cost of every function that could pass the effect gate. So `alpha` is the chance that
//! a comparison of two equal programs flags anything at all; a reader need not count tests.
//! Weights share it out: the main metric about 4, groups 2, the other metrics together 1, all
//! functions together 5 parts. What is not there gives its part to the rest.
//!
//! Among functions the weight follows the share of both arms (weighted max-T, as Holm's and
//! Bonferroni's procedures have weights): the same ratio matters more in a function that holds
//! more, and the many small ones, which only noise lifts over the gate, must not set its bar.
//! Calibration: at 6 blocks a quarter more in a function of 2 % is found in .49 in place of .39
//! of experiments.
//!
//! A function of which base and head together hold less than the gate cannot change by the gate;
//! it is left out without loss. The filter looks at both arms' mean, so that no sign flip moves a
//! function in or out. Within a flip, too, only what passes the gate competes.

use super::costs::{Cost, Costs, Counts, Kind};
use super::metric::MetricData;
use crate::plan::Judging;
use crate::profile::UNKNOWN_FUNCTION;
use crate::stats::{Hypothesis, Prior, VariancePrior};

const MAIN_WEIGHT: f64 = 4.0;
const GROUPS_WEIGHT: f64 = 2.0;
const METRICS_WEIGHT: f64 = 1.0;
const FUNCTIONS_WEIGHT: f64 = 5.0;

/// About the part of the level that the main metric has beside functions and other metrics.
pub const MAIN_PART: f64 = MAIN_WEIGHT / (MAIN_WEIGHT + METRICS_WEIGHT + FUNCTIONS_WEIGHT);

/// Share in per cent from which on a function weighs no more: callers at the root of the call tree
/// hold nearly everything.
const FULL_WEIGHT_SHARE_PCT: f64 = 5.0;

/// Rarest function that is tested, in samples a trial.
const FEWEST_SAMPLES: f64 = 1.0;

/// Where a hypothesis stands in the family, and what it was made from.
#[derive(Debug, Clone)]
pub struct Tested {
    /// Index in [`Hypotheses::all`]; `None` where it is not tested.
    pub index: Option<usize>,
    /// The cost that is tested.
    pub cost: Cost,
    /// The prior of its variance.
    pub prior: Prior,
}

/// Costs of a function or a group, self and inclusive.
#[derive(Debug, Clone)]
pub struct TestedPair {
    /// Self cost.
    pub own: Tested,
    /// Inclusive cost.
    pub inclusive: Tested,
}

/// Hypotheses of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Hypotheses {
    /// The family; the metrics come first, in their order.
    pub all: Vec<Hypothesis>,
    /// By function of [`Costs::ids`].
    pub functions: Vec<TestedPair>,
    /// By group of [`Costs::groups`].
    pub groups: Vec<TestedPair>,
    /// Priors of self and inclusive costs.
    pub priors: [Option<VariancePrior>; 2],
}

impl Hypotheses {
    /// Puts the family together. `grouped` says of each function whether a group judges it.
    pub fn new(
        metrics: &[MetricData],
        costs: Option<&Costs<'_>>,
        grouped: &[bool],
        judging: &Judging,
    ) -> Self {
        let mut family = Self {
            all: metrics.iter().map(|m| m.hypothesis(judging)).collect(),
            ..Self::default()
        };
        if let Some(costs) = costs {
            family.add_functions(costs, grouped, judging);
        }
        family.weigh(metrics, judging);
        family
    }

    fn add_functions(&mut self, costs: &Costs<'_>, grouped: &[bool], judging: &Judging) {
        let kinds = Kind::ALL.map(|kind| {
            let all: Vec<Cost> = (0..costs.ids.len())
                .map(|f| costs.cost(costs.counts(f, kind)))
                .collect();
            let prior = fit(&all, judging.gate_points);
            (all, prior)
        });
        self.priors = [kinds[0].1, kinds[1].1];
        let [(own, _), (inclusive, _)] = kinds;
        let pairs = own.into_iter().zip(inclusive).zip(costs.ids.iter());
        for (((own, inclusive), id), grouped) in pairs.zip(grouped) {
            // What has no name is many functions, of which nobody can say which one changed.
            let test = !grouped && id.name != UNKNOWN_FUNCTION;
            let pair = self.add_pair([own, inclusive], test, judging.gate_points);
            self.functions.push(pair);
        }
        for (_, counts) in &costs.groups {
            let pair = counts.each_ref().map(|c: &Counts| costs.cost(c));
            let pair = self.add_pair(pair, true, judging.gate_points);
            self.groups.push(pair);
        }
    }

    fn add_pair(&mut self, [own, inclusive]: [Cost; 2], test: bool, gate: f64) -> TestedPair {
        // A function that calls nothing has one cost, not two.
        let one = own.differences == inclusive.differences;
        let own = self.add(own, Kind::Own, test, gate);
        let inclusive = if one {
            own.clone()
        } else {
            self.add(inclusive, Kind::Inclusive, test, gate)
        };
        TestedPair { own, inclusive }
    }

    fn add(&mut self, cost: Cost, kind: Kind, test: bool, gate: f64) -> Tested {
        let prior = self.prior(kind, &cost);
        let index = (test && is_testable(&cost, gate)).then(|| {
            self.all.push(Hypothesis {
                differences: cost.differences.clone(),
                measured: cost.measured,
                prior_df: prior.df,
                prior_variance: prior.variance,
                least_effect: least_effect(&cost, gate).unwrap_or(f64::INFINITY),
                weight: 1.0,
            });
            self.all.len() - 1
        });
        Tested { index, cost, prior }
    }

    /// Prior of the variance of a cost.
    pub fn prior(&self, kind: Kind, cost: &Cost) -> Prior {
        let prior = match kind {
            Kind::Own => self.priors[0],
            Kind::Inclusive => self.priors[1],
        };
        prior.map_or(
            Prior {
                df: 0.0,
                variance: 0.0,
            },
            |p| p.at(cost.effective_count),
        )
    }

    /// Prior of the variance of a cost of so many samples a trial; `None` where it is not known.
    pub fn prior_at(&self, kind: Kind, count: f64) -> Option<Prior> {
        let prior = match kind {
            Kind::Own => self.priors[0],
            Kind::Inclusive => self.priors[1],
        };
        prior.filter(|_| count > 0.0).map(|prior| prior.at(count))
    }

    fn weigh(&mut self, metrics: &[MetricData], judging: &Judging) {
        let of_groups: Vec<usize> = self
            .groups
            .iter()
            .flat_map(|pair| [pair.own.index, pair.inclusive.index])
            .flatten()
            .collect();
        let part = self.weigh_functions() / FUNCTIONS_WEIGHT;
        for &index in &of_groups {
            self.all[index].weight = part * GROUPS_WEIGHT / of_groups.len() as f64;
        }
        let is_main = |m: &MetricData| m.name == judging.main_metric;
        let others = metrics.iter().filter(|m| !is_main(m)).count();
        for (metric, hypothesis) in metrics.iter().zip(&mut self.all) {
            hypothesis.weight = if is_main(metric) {
                part * MAIN_WEIGHT
            } else {
                part * METRICS_WEIGHT / others as f64
            };
        }
    }

    /// Gives functions weights of mean 1; returns their sum, at least 1. Functions that noise cannot
    /// lift over the gate do not compete, and do not count.
    fn weigh_functions(&mut self) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        for pair in &self.functions {
            for (index, cost) in pair.tested() {
                let hypothesis = &mut self.all[index];
                let share = (cost.share_pct[0] + cost.share_pct[1]) / 2.0;
                hypothesis.weight = share.min(FULL_WEIGHT_SHARE_PCT);
                let error = (hypothesis.prior_variance / hypothesis.measured as f64).sqrt();
                if hypothesis.least_effect <= 4.0 * error {
                    count += 1.0;
                    sum += hypothesis.weight;
                }
            }
        }
        if count == 0.0 {
            return 1.0;
        }
        for (index, _) in self.functions.iter().flat_map(TestedPair::tested) {
            self.all[index].weight *= count / sum;
        }
        count
    }
}

impl TestedPair {
    /// What is tested of it, with its place in the family. A function that calls nothing has one
    /// cost, not two.
    fn tested(&self) -> impl Iterator<Item = (usize, &Cost)> {
        let own = self.own.index;
        let inclusive = self.inclusive.index.filter(|&index| own != Some(index));
        let own = own.map(|index| (index, &self.own.cost));
        own.into_iter()
            .chain(inclusive.map(|index| (index, &self.inclusive.cost)))
    }
}

/// The part of the level that a function of this share in per cent would have in a family.
pub fn function_part(share_pct: f64, family: &Hypotheses) -> f64 {
    let shares: f64 = family
        .functions
        .iter()
        .flat_map(TestedPair::tested)
        .map(|(_, cost)| (cost.share_pct[0] + cost.share_pct[1]) / 2.0)
        .map(|share| share.min(FULL_WEIGHT_SHARE_PCT))
        .sum();
    let functions = FUNCTIONS_WEIGHT / (MAIN_WEIGHT + METRICS_WEIGHT + FUNCTIONS_WEIGHT);
    functions * share_pct / shares.max(share_pct)
}

/// Prior of a kind of cost, from the functions that could pass the gate.
fn fit(costs: &[Cost], gate: f64) -> Option<VariancePrior> {
    let usable: Vec<&Cost> = costs.iter().filter(|c| is_testable(c, gate)).collect();
    let squares: Vec<f64> = usable
        .iter()
        .map(|c| c.differences.iter().map(|d| d * d).sum::<f64>() / c.measured as f64)
        .collect();
    let counts: Vec<f64> = usable.iter().map(|c| c.effective_count).collect();
    VariancePrior::fit(&squares, &counts, usable.first()?.measured)
}

fn is_testable(cost: &Cost, gate: f64) -> bool {
    let trials = 2.0 * cost.measured as f64;
    least_effect(cost, gate).is_some()
        && cost.samples[0] + cost.samples[1] >= FEWEST_SAMPLES * trials
}

/// The log ratio at which a cost changes by the gate, as `head - base = (head + base)·tanh(δ/2)`;
/// `None` where no ratio does.
pub fn least_effect(cost: &Cost, gate: f64) -> Option<f64> {
    let both = cost.share_pct[0] + cost.share_pct[1];
    (both > gate).then(|| 2.0 * (gate / both).atanh())
}

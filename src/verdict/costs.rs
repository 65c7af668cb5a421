//! Costs of functions: CPU time per operation by trial, normalised for the speed of the machine.

use std::collections::BTreeMap;

use super::paired::Blocks;
use crate::profile::{FunctionCounts, FunctionId, FunctionTable};
use crate::stats::log_size_factors;

/// Which of a function's two costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of its own instructions.
    Own,
    /// With all that it calls.
    Inclusive,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Kind; 2] = [Kind::Own, Kind::Inclusive];

    fn count(self, counts: &FunctionCounts) -> f64 {
        match self {
            Kind::Own => counts.self_samples as f64,
            Kind::Inclusive => counts.inclusive_samples as f64,
        }
    }
}

/// One trial's part in the costs.
#[derive(Debug, Clone)]
struct Trial {
    /// Index of the block among all blocks of the comparison.
    block: usize,
    total_samples: f64,
    /// CPU nanoseconds per operation.
    ns_per_op: f64,
    /// Logarithm of the size factor.
    factor: f64,
}

/// Samples of one function, group or set of functions in every trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// By trial: base and head of the first block, of the second, …
    pub by_trial: Vec<f64>,
}

/// What the counts of one function come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Mean share of an arm's samples in per cent, `[base, head]`.
    pub share_pct: [f64; 2],
    /// Mean CPU nanoseconds per operation, `[base, head]`.
    pub ns_per_op: [f64; 2],
    /// Samples of an arm in all, `[base, head]`.
    pub samples: [f64; 2],
    /// Mean count of a trial, enlarged where the share is large, as the sampling noise of a share
    /// `q` is `(1 - q) / count`.
    pub effective_count: f64,
    /// Normalised log ratio of head to base by block of the comparison; 0 where there is no
    /// profile.
    pub differences: Vec<f64>,
    /// Number of blocks with profiles.
    pub measured: usize,
}

/// The functions of all trials that have profiles.
#[derive(Debug, Clone)]
pub struct Costs<'a> {
    /// Functions, ascending.
    pub ids: Vec<FunctionId>,
    own: Vec<Counts>,
    inclusive: Vec<Counts>,
    /// Group names with their counts, self and inclusive.
    pub groups: Vec<(String, [Counts; 2])>,
    /// Samples by (caller, callee) in all trials.
    pub calls: BTreeMap<(usize, usize), u64>,
    trials: Vec<Trial>,
    tables: Vec<&'a FunctionTable>,
    blocks: usize,
    /// Whether operations and CPU time were known in every trial.
    pub per_operation: bool,
}

/// Fewest functions to take size factors from; with fewer, one that changed is half of them.
const FEWEST_FOR_FACTORS: usize = 8;

/// Own noise of a typical function, for weighing functions in the size factors.
const TYPICAL_NOISE: f64 = 0.05;

impl<'a> Costs<'a> {
    /// Collects the costs of the blocks whose trials both have a profile with samples; `None`
    /// without any.
    pub fn collect(blocks: &Blocks<'a>) -> Option<Self> {
        let mut tables: Vec<&'a FunctionTable> = Vec::new();
        let mut trials = Vec::new();
        let mut per_operation = true;
        for (number, block) in blocks.blocks.iter().enumerate() {
            let (Some(base), Some(head)) = (&block.base.functions, &block.head.functions) else {
                continue;
            };
            if base.total_samples == 0 || head.total_samples == 0 {
                continue;
            }
            for (trial, table) in [(block.base, base), (block.head, head)] {
                let ns_per_op = trial.profiled_cpu_ns / trial.profiled_ops;
                let known = ns_per_op.is_finite() && ns_per_op > 0.0;
                per_operation &= known;
                tables.push(table);
                trials.push(Trial {
                    block: number,
                    total_samples: table.total_samples as f64,
                    ns_per_op: if known { ns_per_op } else { 1.0 },
                    factor: 0.0,
                });
            }
        }
        if trials.is_empty() {
            return None;
        }
        if !per_operation {
            trials.iter_mut().for_each(|trial| trial.ns_per_op = 1.0);
        }
        let mut costs = Self::count(tables, trials, blocks.len());
        costs.per_operation = per_operation;
        costs.normalise();
        Some(costs)
    }

    fn count(tables: Vec<&'a FunctionTable>, trials: Vec<Trial>, blocks: usize) -> Self {
        let mut index: BTreeMap<&FunctionId, usize> = BTreeMap::new();
        for table in &tables {
            for id in table.rows.keys() {
                index.entry(id).or_default();
            }
        }
        for (place, slot) in index.values_mut().enumerate() {
            *slot = place;
        }
        let empty = Counts {
            by_trial: vec![0.0; tables.len()],
        };
        let mut own = vec![empty.clone(); index.len()];
        let mut inclusive = own.clone();
        let mut groups: BTreeMap<&String, [Counts; 2]> = BTreeMap::new();
        let mut calls: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (trial, table) in tables.iter().enumerate() {
            for (id, counts) in &table.rows {
                let function = index[id];
                own[function].by_trial[trial] = Kind::Own.count(counts);
                inclusive[function].by_trial[trial] = Kind::Inclusive.count(counts);
            }
            for (name, counts) in &table.groups {
                let of_group = groups
                    .entry(name)
                    .or_insert_with(|| [empty.clone(), empty.clone()]);
                for (kind, counted) in Kind::ALL.iter().zip(of_group) {
                    counted.by_trial[trial] = kind.count(counts);
                }
            }
            for ((caller, callee), samples) in &table.calls {
                if let (Some(&caller), Some(&callee)) = (index.get(caller), index.get(callee))
                    && caller != callee
                {
                    *calls.entry((caller, callee)).or_default() += samples;
                }
            }
        }
        let groups = groups.into_iter().map(|(n, c)| (n.clone(), c)).collect();
        Self {
            ids: index.into_keys().cloned().collect(),
            own,
            inclusive,
            groups,
            calls,
            trials,
            tables,
            blocks,
            per_operation: true,
        }
    }

    /// Takes the size factors from the functions' self costs.
    fn normalise(&mut self) {
        let counted: Vec<(&Counts, f64)> = self
            .own
            .iter()
            .map(|c| (c, c.by_trial.iter().sum::<f64>() / c.by_trial.len() as f64))
            .filter(|(_, mean)| *mean >= 1.0)
            .collect();
        if counted.len() < FEWEST_FOR_FACTORS {
            return;
        }
        let weight: Vec<f64> = counted
            .iter()
            .map(|(_, mean)| (1.0 / mean + TYPICAL_NOISE * TYPICAL_NOISE).sqrt().recip())
            .collect();
        let log_cost: Vec<Vec<f64>> = (0..self.trials.len())
            .map(|t| counted.iter().map(|(c, _)| self.log_cost(c, t)).collect())
            .collect();
        let factors = log_size_factors(&log_cost, &weight);
        for (trial, factor) in self.trials.iter_mut().zip(factors) {
            trial.factor = factor;
        }
    }

    /// Counts of a function.
    pub fn counts(&self, function: usize, kind: Kind) -> &Counts {
        match kind {
            Kind::Own => &self.own[function],
            Kind::Inclusive => &self.inclusive[function],
        }
    }

    /// Sum of the counts of several functions.
    pub fn sum(&self, functions: &[usize], kind: Kind) -> Counts {
        let mut by_trial = vec![0.0; self.trials.len()];
        for &function in functions {
            for (sum, count) in by_trial
                .iter_mut()
                .zip(&self.counts(function, kind).by_trial)
            {
                *sum += count;
            }
        }
        Counts { by_trial }
    }

    /// Samples whose stack holds either of two functions; of stacks that hold both, those are known
    /// in which one calls the other directly.
    pub fn union_of_pair(&self, one: usize, other: usize) -> Counts {
        let mut counts = self.sum(&[one, other], Kind::Inclusive);
        let pairs = [(one, other), (other, one)];
        for (sum, table) in counts.by_trial.iter_mut().zip(&self.tables) {
            for (caller, callee) in pairs {
                let pair = (self.ids[caller].clone(), self.ids[callee].clone());
                *sum -= table
                    .calls
                    .get(&pair)
                    .map_or(0.0, |samples| *samples as f64);
            }
            *sum = sum.max(0.0);
        }
        counts
    }

    /// Log cost in a trial before normalisation; half a sample is added, so that a function that
    /// was not seen has a logarithm (Law et al. 2014).
    fn log_cost(&self, counts: &Counts, trial: usize) -> f64 {
        let t = &self.trials[trial];
        ((counts.by_trial[trial] + 0.5) / t.total_samples * t.ns_per_op).ln()
    }

    /// What counts come to.
    pub fn cost(&self, counts: &Counts) -> Cost {
        let pairs = self.trials.len() / 2;
        let mut differences = vec![0.0; self.blocks];
        let mut cost = Cost {
            share_pct: [0.0; 2],
            ns_per_op: [0.0; 2],
            samples: [0.0; 2],
            effective_count: 0.0,
            differences: Vec::new(),
            measured: pairs,
        };
        for (t, trial) in self.trials.iter().enumerate() {
            let arm = t % 2;
            let share = counts.by_trial[t] / trial.total_samples;
            cost.share_pct[arm] += 100.0 * share / pairs as f64;
            cost.ns_per_op[arm] += share * trial.ns_per_op / pairs as f64;
            cost.samples[arm] += counts.by_trial[t];
            let normalised = self.log_cost(counts, t) - trial.factor;
            differences[trial.block] += if arm == 1 { normalised } else { -normalised };
        }
        let mean_count = (cost.samples[0] + cost.samples[1]) / self.trials.len() as f64;
        let share = (cost.share_pct[0] + cost.share_pct[1]) / 200.0;
        cost.effective_count = (mean_count + 0.5) / (1.0 - share).max(1e-3);
        cost.differences = differences;
        cost
    }

    /// Log ratio of head's size factor to base's, by block with profiles: what touched every
    /// function alike.
    pub fn common(&self) -> Vec<f64> {
        self.trials
            .chunks_exact(2)
            .map(|pair| pair[1].factor - pair[0].factor)
            .collect()
    }

    /// Normalised CPU time per operation of head in parts of base's.
    pub fn total_ratio(&self) -> f64 {
        let pairs = self.trials.len() / 2;
        let sum: f64 = self
            .trials
            .chunks_exact(2)
            .map(|p| (p[1].ns_per_op.ln() - p[1].factor) - (p[0].ns_per_op.ln() - p[0].factor))
            .sum();
        (sum / pairs as f64).exp()
    }

    /// Mean number of samples of a trial.
    pub fn mean_samples(&self) -> f64 {
        let sum: f64 = self.trials.iter().map(|trial| trial.total_samples).sum();
        sum / self.trials.len() as f64
    }

    /// Number of blocks with profiles.
    pub fn measured(&self) -> usize {
        self.trials.len() / 2
    }
}

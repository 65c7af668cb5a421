//! The value of one trial where a function is looked for: its normalised cost per operation.
//!
//! A comparison takes size factors from all of its trials at once; a search meets them one by one,
//! and a value that was told must not change. So the first trial is the reference: the size factor
//! of a later one is the weighted median, over functions, of the log ratio of its self cost to the
//! reference's. What the reference's own noise adds is the same for every trial, and cancels in
//! every difference.
//!
//! Of a function's own cost and that with all it calls, the search looks at the one by which the ends
//! differ more, as far as their first trials tell: what got slower in a function that calls much is a
//! small part of the whole, and what got slower below it is no part of its own. The trials that choose
//! are two of many, and what is certified is measured afresh.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profile::{FunctionCounts, FunctionId, FunctionTable};
use crate::stats::weighted_median;
use crate::verdict::TrialMeasurement;

/// Own noise of a typical function, for weighing functions in the size factor.
const TYPICAL_NOISE: f64 = 0.05;
/// Fewest functions to take a size factor from.
const FEWEST_FOR_FACTORS: usize = 8;

/// What every trial is put in relation to.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Log self cost and samples by function.
    own: BTreeMap<FunctionId, (f64, f64)>,
}

/// Which cost of a function is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CostKind {
    /// Of its own instructions.
    #[serde(rename = "self")]
    Own,
    /// Of these and all that it calls.
    #[default]
    #[serde(rename = "inclusive")]
    Inclusive,
}

impl CostKind {
    /// As reports call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::Inclusive => "inclusive",
        }
    }

    /// The cost by which two trials differ more, in parts of the deviation that counting and a typical
    /// function's noise give. Inclusive where they are alike.
    pub fn telling(function: &FunctionId, trials: [&TrialMeasurement; 2]) -> Self {
        let difference = |kind: Self| {
            let of = |trial: &TrialMeasurement| {
                let table = trial.functions.as_ref()?;
                let samples = kind.samples(table.rows.get(function));
                let variance = 1.0 / (samples + 0.5) + TYPICAL_NOISE * TYPICAL_NOISE;
                Some((log_cost(samples, table, trial), variance))
            };
            match trials.map(of) {
                [Some((base, a)), Some((head, b))] => (head - base).abs() / (a + b).sqrt(),
                _ => 0.0,
            }
        };
        match difference(Self::Own) > difference(Self::Inclusive) {
            true => Self::Own,
            false => Self::Inclusive,
        }
    }

    fn samples(self, counts: Option<&FunctionCounts>) -> f64 {
        let counts = counts.copied().unwrap_or_default();
        match self {
            Self::Own => counts.self_samples as f64,
            Self::Inclusive => counts.inclusive_samples as f64,
        }
    }
}

impl Reference {
    /// Takes a trial as the reference; `None` where it has no samples.
    pub fn of(trial: &TrialMeasurement) -> Option<Self> {
        let table = trial.functions.as_ref().filter(|t| t.total_samples > 0)?;
        let own = table
            .rows
            .iter()
            .filter(|(_, counts)| counts.self_samples > 0)
            .map(|(id, counts)| {
                let samples = counts.self_samples as f64;
                (id.clone(), (log_cost(samples, table, trial), samples))
            })
            .collect();
        Some(Self { own })
    }

    /// Log cost of a function in a trial, less the trial's size factor; `None` where the trial has no
    /// samples.
    pub fn value(
        &self,
        function: &FunctionId,
        kind: CostKind,
        trial: &TrialMeasurement,
    ) -> Option<f64> {
        let table = trial.functions.as_ref().filter(|t| t.total_samples > 0)?;
        let cost = log_cost(kind.samples(table.rows.get(function)), table, trial);
        Some(cost - self.factor(function, table, trial))
    }

    fn factor(&self, except: &FunctionId, table: &FunctionTable, trial: &TrialMeasurement) -> f64 {
        let mut ratios: Vec<(f64, f64)> = self
            .own
            .iter()
            .filter(|(id, _)| *id != except)
            .filter_map(|(id, (log, samples))| {
                let now = table.rows.get(id)?.self_samples as f64;
                let noise = 1.0 / samples + 1.0 / now + TYPICAL_NOISE * TYPICAL_NOISE;
                (now > 0.0).then(|| (log_cost(now, table, trial) - log, noise.sqrt().recip()))
            })
            .collect();
        if ratios.len() < FEWEST_FOR_FACTORS {
            return 0.0;
        }
        let median = weighted_median(&mut ratios);
        if median.is_finite() { median } else { 0.0 }
    }
}

/// Log of CPU nanoseconds per operation; of the share where operations or time are unknown. Half a
/// sample is added, so that a function that was not seen has a logarithm.
fn log_cost(samples: f64, table: &FunctionTable, trial: &TrialMeasurement) -> f64 {
    let ns_per_op = trial.profiled_cpu_ns / trial.profiled_ops;
    let ns_per_op = match ns_per_op.is_finite() && ns_per_op > 0.0 {
        true => ns_per_op,
        false => 1.0,
    };
    ((samples + 0.5) / table.total_samples as f64 * ns_per_op).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::FunctionCounts;

    fn id(name: &str, module: &str) -> FunctionId {
        FunctionId {
            name: name.to_owned(),
            module: module.to_owned(),
        }
    }

    /// A trial of a machine `speed` times as slow, whose function `f` has `samples`.
    fn trial(samples: u64, speed: f64) -> TrialMeasurement {
        let mut table = FunctionTable::default();
        for (at, own) in [(0, samples), (1, 100), (2, 200), (3, 300), (4, 150)]
            .into_iter()
            .chain((5..12).map(|at| (at, 80)))
        {
            let counts = FunctionCounts {
                self_samples: own,
                inclusive_samples: own,
            };
            table.total_samples += own;
            if own > 0 {
                table.rows.insert(id(&format!("f{at}"), "m"), counts);
            }
        }
        TrialMeasurement {
            block: 0,
            profiled_ops: 1000.0,
            profiled_cpu_ns: 1e6 * speed * table.total_samples as f64,
            metrics: BTreeMap::new(),
            functions: Some(table),
        }
    }

    #[test]
    fn a_slow_machine_changes_nothing_and_a_dearer_function_does() {
        let first = trial(100, 1.0);
        let reference = Reference::of(&first).unwrap();
        let f = id("f0", "m");
        let value = |trial: &TrialMeasurement| reference.value(&f, CostKind::Own, trial).unwrap();
        let base = value(&first);
        assert!((value(&trial(100, 3.0)) - base).abs() < 1e-9);
        let doubled = value(&trial(200, 1.5)) - base;
        assert!(
            (doubled - (200.5f64 / 100.5).ln()).abs() < 1e-9,
            "{doubled}"
        );
        let gone = value(&trial(0, 1.0)) - base;
        assert!((gone - (0.5f64 / 100.5).ln()).abs() < 1e-9, "{gone}");
    }

    #[test]
    fn the_cost_that_tells_more_is_looked_at() {
        // `caller` calls `f1`, and works little itself.
        let with = |own: u64, below: u64| {
            let mut trial = trial(100, 1.0);
            let table = trial.functions.as_mut().unwrap();
            let counts = FunctionCounts {
                self_samples: own,
                inclusive_samples: own + below,
            };
            table.total_samples += own;
            table.rows.insert(id("caller", "m"), counts);
            trial
        };
        let base = with(20, 400);
        for (head, kind) in [
            (with(140, 400), CostKind::Own),
            (with(20, 900), CostKind::Inclusive),
            (with(20, 400), CostKind::Inclusive),
        ] {
            assert_eq!(CostKind::telling(&id("caller", "m"), [&base, &head]), kind);
        }
        // Of a leaf both are one.
        let leaf = [&trial(50, 1.0), &trial(300, 1.0)];
        assert_eq!(CostKind::telling(&id("f0", "m"), leaf), CostKind::Inclusive);
    }

    #[test]
    fn no_samples_no_value() {
        let mut empty = trial(1, 1.0);
        empty.functions = Some(FunctionTable::default());
        assert!(Reference::of(&empty).is_none());
        let reference = Reference::of(&trial(1, 1.0)).unwrap();
        assert_eq!(
            reference.value(&id("f0", "m"), CostKind::Inclusive, &empty),
            None
        );
    }
}

//! Simulated experiments whose truth is known.

use std::collections::BTreeMap;

use perfblame::profile::{FunctionId, FunctionTable};
use perfblame::verdict::TrialMeasurement;

use crate::random::Random;

/// How experiments are made up.
///
/// Functions have log-normal shares; counts are Poisson around a rate with log-normal
/// overdispersion of each function's own (median 5 %); each block has a machine speed (deviation
/// `drift`, in the log) and each trial half as much again. The changed function holds 2 % of the
/// samples, unless it is said otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Number of functions.
    pub functions: usize,
    /// Samples a trial.
    pub samples: f64,
    /// Deviation of a block's log speed.
    pub drift: f64,
    /// Overdispersion and speed with heavy tails (Student's t of 3 degrees), and one trial in
    /// fifty disturbed: some functions twice as dear.
    pub heavy_tails: bool,
    /// A call tree, so that inclusive costs differ from self costs, and metrics beside functions.
    pub whole: bool,
    /// Share of the function that changes.
    pub changed_share: f64,
}

impl Model {
    /// The model of the reference table.
    pub fn reference(drift: f64) -> Self {
        Self {
            functions: 300,
            samples: 10_000.0,
            drift,
            heavy_tails: false,
            whole: false,
            changed_share: 0.02,
        }
    }
}

/// Index of the function that changes.
pub const CHANGED: usize = 10;

/// Name of a function.
pub fn name(function: usize) -> String {
    format!("f{function:04}")
}

/// The trials of both arms.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Base trials by block.
    pub base: Vec<TrialMeasurement>,
    /// Head trials by block.
    pub head: Vec<TrialMeasurement>,
    /// Expected count of each function.
    pub expected: Vec<f64>,
    /// Self samples, `[arm][block][function]`.
    pub counts: [Vec<Vec<f64>>; 2],
}

impl Model {
    /// Makes up one experiment; `change` is the factor on the changed function's cost in head.
    pub fn experiment(&self, blocks: usize, change: f64, random: &mut Random) -> Experiment {
        let raw: Vec<f64> = (0..self.functions)
            .map(|_| (1.5 * random.normal()).exp())
            .collect();
        let sum: f64 = raw.iter().sum();
        let mut share: Vec<f64> = raw.iter().map(|r| (r / sum).max(0.001)).collect();
        share[CHANGED] = self.changed_share;
        let sum: f64 = share.iter().sum();
        share.iter_mut().for_each(|s| *s /= sum);
        let noise: Vec<f64> = (0..self.functions)
            .map(|_| (0.05f64.ln() + 0.5 * random.normal()).exp())
            .collect();
        let mut experiment = Experiment {
            base: Vec::new(),
            head: Vec::new(),
            expected: share.iter().map(|s| s * self.samples).collect(),
            counts: [Vec::new(), Vec::new()],
        };
        for block in 0..blocks {
            let speed = self.drift * self.deviate(random);
            for arm in 0..2 {
                let speed = speed + self.drift / 2.0 * self.deviate(random);
                let mut cost = share.clone();
                if arm == 1 {
                    cost[CHANGED] *= change;
                }
                let counts = self.counts(&cost, &noise, random);
                let trial = self.trial(block as u32, speed, &cost, &counts, random);
                let counts = counts.iter().map(|c| *c as f64).collect();
                experiment.counts[arm].push(counts);
                if arm == 0 {
                    experiment.base.push(trial);
                } else {
                    experiment.head.push(trial);
                }
            }
        }
        experiment
    }

    fn deviate(&self, random: &mut Random) -> f64 {
        if self.heavy_tails {
            random.heavy()
        } else {
            random.normal()
        }
    }

    fn counts(&self, cost: &[f64], noise: &[f64], random: &mut Random) -> Vec<u64> {
        let total: f64 = cost.iter().sum();
        let disturbed = self.heavy_tails && random.uniform() < 0.02;
        cost.iter()
            .zip(noise)
            .map(|(cost, noise)| {
                let mut rate = cost / total * self.samples * (noise * self.deviate(random)).exp();
                if disturbed && random.uniform() < 0.1 {
                    rate *= 2.0;
                }
                random.poisson(rate) as u64
            })
            .collect()
    }

    fn trial(
        &self,
        block: u32,
        speed: f64,
        cost: &[f64],
        counts: &[u64],
        random: &mut Random,
    ) -> TrialMeasurement {
        let total: f64 = cost.iter().sum();
        let mut metrics = BTreeMap::new();
        if self.whole {
            let cpu = total * speed.exp();
            let own = |random: &mut Random| (0.01 * self.deviate(random)).exp();
            metrics.insert("throughput".to_owned(), 1e5 / cpu * own(random));
            metrics.insert("cpu_per_op".to_owned(), 1e4 * cpu);
            metrics.insert("latency_p50".to_owned(), cpu * own(random));
            metrics.insert(
                "latency_p99".to_owned(),
                3.0 * cpu * own(random) * own(random),
            );
            metrics.insert("rss".to_owned(), 1e8 * (0.002 * self.deviate(random)).exp());
        }
        let operations = 1e6;
        TrialMeasurement {
            block,
            profiled_ops: operations,
            profiled_cpu_ns: 1e4 * total * speed.exp() * operations,
            metrics,
            functions: Some(self.table(counts)),
        }
    }

    fn table(&self, counts: &[u64]) -> FunctionTable {
        let id = |f: usize| FunctionId {
            name: name(f),
            module: "simulated".to_owned(),
        };
        let mut inclusive = counts.to_vec();
        let mut table = FunctionTable {
            total_samples: counts.iter().sum(),
            ..FunctionTable::default()
        };
        if self.whole {
            // A tree in which function f is called by function f/4.
            for f in (1..counts.len()).rev() {
                inclusive[f / 4] += inclusive[f];
                if inclusive[f] > 0 {
                    table.calls.insert((id(f / 4), id(f)), inclusive[f]);
                }
            }
        }
        for (f, (own, inclusive)) in counts.iter().zip(inclusive).enumerate() {
            if inclusive > 0 {
                let row = table.rows.entry(id(f)).or_default();
                row.self_samples = *own;
                row.inclusive_samples = inclusive;
            }
        }
        table
    }
}

//! Ways to judge functions: perfblame's, the reference model's, and those of peers.

use perfblame::plan::Judging;
use perfblame::profile::FunctionId;
use perfblame::stats::{
    benjamini_hochberg, digamma, inverse_trigamma, mean, median, normal_two_sided, trigamma,
    variance, welch,
};
use perfblame::verdict::{TrialMeasurement, compare};

use crate::simulate::{CHANGED, Experiment, name};

/// What a method says of an experiment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// Whether it flags anything.
    pub any: bool,
    /// Whether it flags the function that changed.
    pub changed: bool,
}

/// A way to judge functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// This crate's `verdict::compare`.
    Perfblame,
    /// `function_test.py`'s best: one-step max-T, one prior with a trend.
    Reference,
    /// Welch's test a function on nanoseconds per operation, Benjamini-Hochberg.
    WelchBh,
    /// The same after normalisation by the median ratio.
    WelchBhNormalised,
    /// Welch's test a function on nanoseconds per operation at 5 %, no correction.
    Welch,
    /// Samples of all trials pooled, a z test of two proportions a function, Benjamini-Hochberg.
    PooledZ,
    /// Any change of the mean share by 5 %.
    Threshold,
}

impl Method {
    /// All, in the table's order.
    pub const ALL: [Method; 7] = [
        Method::Perfblame,
        Method::Reference,
        Method::WelchBh,
        Method::WelchBhNormalised,
        Method::Welch,
        Method::PooledZ,
        Method::Threshold,
    ];

    /// Heading in a table.
    pub fn title(self) -> &'static str {
        match self {
            Method::Perfblame => "perfblame",
            Method::Reference => "reference model",
            Method::WelchBh => "Welch + BH",
            Method::WelchBhNormalised => "Welch + BH, normalised",
            Method::Welch => "Welch, p < .05",
            Method::PooledZ => "pooled z + BH",
            Method::Threshold => "5 % threshold",
        }
    }

    /// Judges an experiment at 5 %.
    pub fn judge(self, experiment: &Experiment) -> Answer {
        let flagged: Vec<usize> = match self {
            Method::Perfblame => return perfblame(experiment),
            Method::Reference => below(&reference(experiment)),
            Method::WelchBh => below(&benjamini_hochberg(&welch_each(&log_costs(experiment)))),
            Method::WelchBhNormalised => below(&benjamini_hochberg(&welch_each(&normalised(
                &log_costs(experiment),
            )))),
            Method::Welch => below(&welch_each(&log_costs(experiment))),
            Method::PooledZ => below(&benjamini_hochberg(&pooled_z(experiment))),
            Method::Threshold => threshold(experiment),
        };
        Answer {
            any: !flagged.is_empty(),
            changed: flagged.contains(&CHANGED),
        }
    }
}

fn below(p: &[f64]) -> Vec<usize> {
    (0..p.len()).filter(|f| p[*f] <= 0.05).collect()
}

fn perfblame(experiment: &Experiment) -> Answer {
    let comparison = compare(&experiment.base, &experiment.head, &Judging::default());
    let flagged: Vec<&str> = comparison
        .functions
        .iter()
        .filter(|f| f.is_flagged())
        .map(|f| f.name.as_str())
        .collect();
    let metrics = comparison
        .metrics
        .iter()
        .chain(Some(&comparison.throughput))
        .any(|m| m.verdict.is_flagged());
    let changed = name(CHANGED);
    Answer {
        any: metrics || !flagged.is_empty(),
        changed: flagged.contains(&changed.as_str()),
    }
}

/// Log nanoseconds per operation: `[arm][block][function]`, half a sample added.
type LogCosts = [Vec<Vec<f64>>; 2];

fn counts(trial: &TrialMeasurement, functions: usize) -> Vec<f64> {
    let table = trial.functions.as_ref();
    (0..functions)
        .map(|f| {
            let id = FunctionId {
                name: name(f),
                module: "simulated".to_owned(),
            };
            table
                .and_then(|t| t.rows.get(&id))
                .map_or(0.0, |row| row.self_samples as f64)
        })
        .collect()
}

fn log_costs(experiment: &Experiment) -> LogCosts {
    let functions = experiment.expected.len();
    let of = |trials: &[TrialMeasurement]| {
        trials
            .iter()
            .map(|trial| {
                let counts: Vec<f64> = counts(trial, functions).iter().map(|c| c + 0.5).collect();
                let sum: f64 = counts.iter().sum();
                let ns = trial.profiled_cpu_ns / trial.profiled_ops;
                counts.iter().map(|c| (c / sum * ns).ln()).collect()
            })
            .collect()
    };
    [of(&experiment.base), of(&experiment.head)]
}

fn normalised(y: &LogCosts) -> LogCosts {
    let functions = y[0][0].len();
    let trials: Vec<&Vec<f64>> = y.iter().flatten().collect();
    let centre: Vec<f64> = (0..functions)
        .map(|f| mean(&trials.iter().map(|t| t[f]).collect::<Vec<_>>()))
        .collect();
    y.each_ref().map(|arm| {
        arm.iter()
            .map(|trial| {
                let ratios: Vec<f64> = trial.iter().zip(&centre).map(|(y, c)| y - c).collect();
                let factor = median(&ratios);
                trial.iter().map(|y| y - factor).collect()
            })
            .collect()
    })
}

fn column(arm: &[Vec<f64>], f: usize) -> Vec<f64> {
    arm.iter().map(|trial| trial[f]).collect()
}

fn welch_each(y: &LogCosts) -> Vec<f64> {
    (0..y[0][0].len())
        .map(|f| welch(&column(&y[1], f), &column(&y[0], f), 0.95).map_or(1.0, |test| test.p))
        .collect()
}

fn pooled_z(experiment: &Experiment) -> Vec<f64> {
    let functions = experiment.expected.len();
    let pooled = |trials: &[TrialMeasurement]| {
        let mut sum = vec![0.0; functions];
        for trial in trials {
            for (s, c) in sum.iter_mut().zip(counts(trial, functions)) {
                *s += c;
            }
        }
        sum
    };
    let (base, head) = (pooled(&experiment.base), pooled(&experiment.head));
    let (n, m): (f64, f64) = (base.iter().sum(), head.iter().sum());
    base.iter()
        .zip(&head)
        .map(|(b, h)| {
            let both = (b + h) / (n + m);
            let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
            if error > 0.0 {
                normal_two_sided((h / m - b / n) / error)
            } else {
                1.0
            }
        })
        .collect()
}

fn threshold(experiment: &Experiment) -> Vec<usize> {
    let functions = experiment.expected.len();
    let share = |arm: &[TrialMeasurement], f: usize| {
        let shares: Vec<f64> = arm
            .iter()
            .map(|t| {
                let counts = counts(t, functions);
                counts[f] / counts.iter().sum::<f64>()
            })
            .collect();
        mean(&shares)
    };
    (0..functions)
        .filter(|&f| {
            let (base, head) = (share(&experiment.base, f), share(&experiment.head, f));
            base > 0.0 && (head / base - 1.0).abs() >= 0.05
        })
        .collect()
}

/// `max_t(y, count, "trend")` of `function_test.py`, line by line.
fn reference(experiment: &Experiment) -> Vec<f64> {
    let y = normalised(&log_costs(experiment));
    let (blocks, functions) = (y[0].len(), experiment.expected.len());
    let n = blocks as f64;
    let d: Vec<Vec<f64>> = (0..blocks)
        .map(|b| (0..functions).map(|f| y[1][b][f] - y[0][b][f]).collect())
        .collect();
    let squares: Vec<f64> = (0..functions)
        .map(|f| d.iter().map(|block| block[f] * block[f]).sum())
        .collect();
    let seen: Vec<f64> = (0..functions).map(|f| variance(&column(&d, f))).collect();
    let trend = reference_trend(&seen, &experiment.expected);
    let ratios: Vec<f64> = seen.iter().zip(&trend).map(|(s, t)| s / t).collect();
    let (d0, s0) = reference_prior(&ratios, n - 1.0);
    let statistic = |pattern: u64| -> Vec<f64> {
        (0..functions)
            .map(|f| {
                let sum: f64 = (0..blocks)
                    .map(|b| {
                        let flipped = b > 0 && pattern >> (b - 1) & 1 == 1;
                        if flipped { -d[b][f] } else { d[b][f] }
                    })
                    .sum();
                let mean = sum / n;
                let s2 = (squares[f] - n * mean * mean) / (n - 1.0);
                let r = s2 / trend[f];
                let moderated = if d0.is_infinite() {
                    s0
                } else {
                    (d0 * s0 + (n - 1.0) * r) / (d0 + n - 1.0)
                };
                mean.abs() / (trend[f] * moderated / n).sqrt()
            })
            .collect()
    };
    let observed = statistic(0);
    let patterns = 1u64 << (blocks - 1);
    let mut count = vec![0.0; functions];
    for pattern in 0..patterns {
        let largest = statistic(pattern).into_iter().fold(0.0, f64::max);
        for (count, t) in count.iter_mut().zip(&observed) {
            *count += f64::from(u8::from(largest >= t - 1e-12));
        }
    }
    count.iter().map(|c| c / patterns as f64).collect()
}

fn reference_trend(s2: &[f64], count: &[f64]) -> Vec<f64> {
    let mut trend = vec![mean(s2); s2.len()];
    for _ in 0..5 {
        let rows: Vec<([f64; 2], f64)> = (0..s2.len())
            .map(|f| {
                (
                    [1.0 / count[f] / trend[f], 1.0 / trend[f]],
                    s2[f] / trend[f],
                )
            })
            .collect();
        let [a, b] = nnls(&rows);
        trend = count.iter().map(|c| (a / c + b).max(1e-6)).collect();
    }
    trend
}

/// Least squares of two coefficients, neither below 0.
fn nnls(rows: &[([f64; 2], f64)]) -> [f64; 2] {
    type Row = ([f64; 2], f64);
    let sum = |f: &dyn Fn(&Row) -> f64| rows.iter().map(f).sum::<f64>();
    let (xx, xz, zz) = (
        sum(&|r| r.0[0] * r.0[0]),
        sum(&|r| r.0[0] * r.0[1]),
        sum(&|r| r.0[1] * r.0[1]),
    );
    let (xy, zy) = (sum(&|r| r.0[0] * r.1), sum(&|r| r.0[1] * r.1));
    let determinant = xx * zz - xz * xz;
    let both = [
        (xy * zz - zy * xz) / determinant,
        (zy * xx - xy * xz) / determinant,
    ];
    if both.iter().all(|c| *c >= 0.0) {
        both
    } else if xy * xy / xx > zy * zy / zz {
        [xy / xx, 0.0]
    } else {
        [0.0, zy / zz]
    }
}

fn reference_prior(s2: &[f64], df: f64) -> (f64, f64) {
    let shift = (df / 2.0).ln() - digamma(df / 2.0);
    let e: Vec<f64> = s2.iter().map(|s| s.ln() + shift).collect();
    let spread = variance(&e) - trigamma(df / 2.0);
    if spread <= 0.0 {
        return (f64::INFINITY, mean(&e).exp());
    }
    let d0 = 2.0 * inverse_trigamma(spread);
    (d0, (mean(&e) + digamma(d0 / 2.0) - (d0 / 2.0).ln()).exp())
}

//! Ways to judge functions: perfblame's, the reference model's, and those of peers.

use perfblame::plan::Judging;
use perfblame::stats::{
    benjamini_hochberg, digamma, inverse_trigamma, mean, median, normal_two_sided, trigamma,
    variance, welch,
};
use perfblame::verdict::{CostVerdict, FunctionVerdict, TrialMeasurement, Verdict, compare};

use crate::simulate::{CHANGED, Experiment, name};

/// What a method says of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The strongest evidence for any change: a p, or for a threshold how small the change is.
    pub any: f64,
    /// The evidence for a change of the function that changed, on the same scale.
    pub changed: f64,
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

    /// The level at which the method flags by itself.
    pub fn nominal(self) -> f64 {
        match self {
            Method::Threshold => -(1.05f64.ln()),
            _ => 0.05,
        }
    }

    /// Judges an experiment.
    pub fn judge(self, experiment: &Experiment) -> Answer {
        let evidence: Vec<f64> = match self {
            Method::Perfblame => return perfblame(experiment, &Judging::default()),
            Method::Reference => reference(experiment),
            Method::WelchBh => benjamini_hochberg(&welch_each(&log_costs(experiment))),
            Method::WelchBhNormalised => {
                benjamini_hochberg(&welch_each(&normalised(&log_costs(experiment))))
            }
            Method::Welch => welch_each(&log_costs(experiment)),
            Method::PooledZ => benjamini_hochberg(&pooled_z(experiment)),
            Method::Threshold => threshold(experiment),
        };
        Answer {
            any: evidence.iter().copied().fold(f64::INFINITY, f64::min),
            changed: evidence[CHANGED],
        }
    }
}

/// `verdict::compare`: the smallest adjusted p of what is larger than the gate, metrics included.
pub fn perfblame(experiment: &Experiment, judging: &Judging) -> Answer {
    let comparison = compare(&experiment.base, &experiment.head, judging);
    let flaggable = |cost: &CostVerdict| match cost.change_points.abs() >= judging.gate_points {
        true => cost.p_adjusted.unwrap_or(1.0),
        false => 1.0,
    };
    let p_of = |f: &FunctionVerdict| flaggable(&f.self_cost).min(flaggable(&f.inclusive));
    let functions = comparison.functions.iter().map(p_of);
    let metrics = comparison
        .metrics
        .iter()
        .chain(Some(&comparison.throughput))
        .filter(|metric| metric.verdict != Verdict::Equivalent)
        .map(|metric| metric.p_adjusted);
    let changed = name(CHANGED);
    let of_changed = comparison.functions.iter().find(|f| f.name == changed);
    Answer {
        any: functions.chain(metrics).fold(1.0, f64::min),
        changed: of_changed.map_or(1.0, p_of),
    }
}

/// Log nanoseconds per operation: `[arm][block][function]`, half a sample added.
type LogCosts = [Vec<Vec<f64>>; 2];

fn log_costs(experiment: &Experiment) -> LogCosts {
    let of = |trials: &[TrialMeasurement], counts: &[Vec<f64>]| {
        trials
            .iter()
            .zip(counts)
            .map(|(trial, counts)| {
                let sum: f64 = counts.iter().map(|c| c + 0.5).sum();
                let ns = trial.profiled_cpu_ns / trial.profiled_ops;
                counts.iter().map(|c| ((c + 0.5) / sum * ns).ln()).collect()
            })
            .collect()
    };
    let [base, head] = &experiment.counts;
    [of(&experiment.base, base), of(&experiment.head, head)]
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
    let [base, head] = experiment.counts.each_ref().map(|trials| {
        (0..functions)
            .map(|f| trials.iter().map(|counts| counts[f]).sum())
            .collect::<Vec<f64>>()
    });
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

/// How far each function's mean share changed, less being more evidence.
fn threshold(experiment: &Experiment) -> Vec<f64> {
    let functions = experiment.expected.len();
    let [base, head] = experiment.counts.each_ref().map(|trials| {
        let mut shares = vec![0.0; functions];
        for counts in trials {
            let sum: f64 = counts.iter().sum();
            for (share, count) in shares.iter_mut().zip(counts) {
                *share += count / sum / trials.len() as f64;
            }
        }
        shares
    });
    (0..functions)
        .map(|f| match base[f] > 0.0 && head[f] > 0.0 {
            true => -(head[f] / base[f]).ln().abs(),
            false => f64::NEG_INFINITY,
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

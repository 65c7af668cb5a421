//! Marginal likelihood of measured values: a step between two unknown levels, unknown noise, drift.
//!
//! `y = μ + Δ z + w(t) + ε`: z is 1 from the step on, ε has variance σ², and w is the machine's
//! drift, a Brownian motion of `q σ²` per hour. μ is flat, `p(σ²) ∝ 1/σ²`, and Δ is
//! `N(0, τ²σ²)` (Zellner & Siow's prior as a mixture over τ), so that μ, Δ and σ² integrate out in
//! closed form; q and τ are summed over a grid. With `V` the covariance of w + ε over σ², and sums
//! of products taken after whitening by V and projecting out the constant:
//!
//! `m = |V|^-½ a^-½ (1 + τ² Szz)^-½ S^-(n-1)/2`, `S = Syy - Szy² / (Szz + τ⁻²)`.
//!
//! Whitening is a Kalman filter run over the columns 1, y and the indicator of each measured class.

use super::hypotheses::{Hypotheses, Hypothesis, Level, measured};
use super::observation::Trial;
use super::setup::Change;
use crate::stats::t_two_sided;

/// Grid of the drift's variance per hour over the noise's, with prior weights.
const DRIFTS: [(f64, f64); 3] = [(0.0, 0.8), (0.5, 0.14), (4.0, 0.06)];

/// Grid of the step's prior deviation in run deviations, with prior weights.
const STEPS: [(f64, f64); 5] = [
    (1.0, 0.3),
    (3.0, 0.4),
    (10.0, 0.2),
    (100.0, 0.07),
    (1000.0, 0.03),
];

/// Noise below this part of the values' range counts as none.
const NOISE_FLOOR: f64 = 1e-3;

/// Weights the hypotheses by trials in the order of time; `now` is when the next one is expected.
pub(super) fn hypotheses(trials: &[Trial], change: Change, now: f64) -> Hypotheses {
    let measured = measured(trials);
    let mut gaps = vec![Mixture::default(); measured.len() + 1];
    let mut none = Mixture::default();
    let floor = noise_floor(trials);
    for (drift, drift_weight) in DRIFTS {
        let sums = Whitened::new(trials, &measured, drift, now);
        none.add(drift_weight.ln(), sums.no_step(floor));
        for (gap, mixture) in gaps.iter_mut().enumerate() {
            for (tau, step_weight) in STEPS {
                let weight = (drift_weight * step_weight).ln();
                mixture.add(weight, sums.step(gap, tau, change, floor));
            }
        }
    }
    Hypotheses {
        measured,
        steps: gaps.into_iter().map(Mixture::finish).collect(),
        none: none.finish(),
    }
}

/// Square of the smallest noise that is believed.
fn noise_floor(trials: &[Trial]) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for trial in trials {
        low = low.min(trial.value);
        high = high.max(trial.value);
    }
    let range = (high - low).max(1e-9 * low.abs().max(high.abs()));
    if range > 0.0 && range.is_finite() {
        (NOISE_FLOOR * range).powi(2)
    } else {
        1e-12
    }
}

/// Hypotheses under one grid point each, mixed by their likelihood.
#[derive(Debug, Clone, Default)]
struct Mixture(Vec<Hypothesis>);

impl Mixture {
    fn add(&mut self, log_weight: f64, mut hypothesis: Hypothesis) {
        hypothesis.log_likelihood += log_weight;
        self.0.push(hypothesis);
    }

    fn finish(self) -> Hypothesis {
        let top = self
            .0
            .iter()
            .map(|h| h.log_likelihood)
            .fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self
            .0
            .iter()
            .map(|h| (h.log_likelihood - top).exp())
            .collect();
        let sum: f64 = weights.iter().sum();
        let mix = |level: fn(&Hypothesis) -> Level| {
            let average = |part: &dyn Fn(Level) -> f64| {
                let parts = self.0.iter().zip(&weights);
                parts.map(|(h, w)| w * part(level(h))).sum::<f64>() / sum
            };
            let mean = average(&|l| l.mean);
            Level {
                mean,
                variance: average(&|l| l.variance + (l.mean - mean).powi(2)),
                noise: average(&|l| l.noise),
            }
        };
        Hypothesis {
            log_likelihood: top + sum.ln(),
            low: mix(|h| h.low),
            high: mix(|h| h.high),
        }
    }
}

/// Sums of products of the whitened columns, for one drift.
#[derive(Debug)]
struct Whitened {
    /// Number of trials.
    n: f64,
    /// `ln |V|`.
    log_det: f64,
    /// Constant by constant, constant by value, value by value.
    one_one: f64,
    one_y: f64,
    y_y: f64,
    /// For each gap: step by constant, step by step, step by value.
    step_one: Vec<f64>,
    step_step: Vec<f64>,
    step_y: Vec<f64>,
    /// Drift now: what the filter expects of it for each column, and its variance over σ².
    now_one: f64,
    now_y: f64,
    now_step: Vec<f64>,
    now_variance: f64,
}

impl Whitened {
    fn new(trials: &[Trial], measured: &[usize], drift_per_hour: f64, now: f64) -> Self {
        let gaps = measured.len() + 1;
        let mut sums = Self {
            n: trials.len() as f64,
            log_det: 0.0,
            one_one: 0.0,
            one_y: 0.0,
            y_y: 0.0,
            step_one: vec![0.0; gaps],
            step_step: vec![0.0; gaps],
            step_y: vec![0.0; gaps],
            now_one: 0.0,
            now_y: 0.0,
            now_step: vec![0.0; gaps],
            now_variance: 0.0,
        };
        let mut before = trials.first().map_or(now, |t| t.seconds);
        for trial in trials {
            let passed = (trial.seconds - before).max(0.0);
            before = before.max(trial.seconds);
            sums.now_variance += drift_per_hour * passed / 3600.0;
            let total = sums.now_variance + 1.0;
            let gain = sums.now_variance / total;
            let root = total.sqrt();
            sums.log_det += total.ln();
            let one = (1.0 - sums.now_one) / root;
            let y = (trial.value - sums.now_y) / root;
            sums.now_one += gain * one * root;
            sums.now_y += gain * y * root;
            sums.one_one += one * one;
            sums.one_y += one * y;
            sums.y_y += y * y;
            for gap in 0..gaps {
                // The step is above measured[gap - 1]: from measured[gap] on the level is BAD's.
                let high = measured.get(gap).is_some_and(|m| trial.class >= *m);
                let z = (f64::from(u8::from(high)) - sums.now_step[gap]) / root;
                sums.now_step[gap] += gain * z * root;
                sums.step_one[gap] += z * one;
                sums.step_step[gap] += z * z;
                sums.step_y[gap] += z * y;
            }
            sums.now_variance *= 1.0 - gain;
        }
        sums.now_variance += drift_per_hour * (now - before).max(0.0) / 3600.0;
        sums
    }

    fn degrees(&self) -> f64 {
        (self.n - 1.0).max(0.0)
    }

    fn no_step(&self, floor: f64) -> Hypothesis {
        if self.n == 0.0 {
            return Hypothesis::default();
        }
        let s = (self.y_y - self.one_y * self.one_y / self.one_one).max(0.0) + floor;
        let mean = self.one_y / self.one_one;
        let noise = self.noise(s);
        let ahead = 1.0 - self.now_one;
        let level = Level {
            mean: self.now_y + ahead * mean,
            variance: noise * (ahead * ahead / self.one_one + self.now_variance),
            noise,
        };
        Hypothesis {
            log_likelihood: self.log_likelihood(s, 1.0),
            low: level,
            high: level,
        }
    }

    fn step(&self, gap: usize, tau: f64, change: Change, floor: f64) -> Hypothesis {
        if self.n == 0.0 {
            return Hypothesis::default();
        }
        let (one_one, step_one) = (self.one_one, self.step_one[gap]);
        let szz = (self.step_step[gap] - step_one * step_one / one_one).max(0.0);
        let szy = self.step_y[gap] - step_one * self.one_y / one_one;
        let syy = (self.y_y - self.one_y * self.one_y / one_one).max(0.0);
        let precision = szz + 1.0 / (tau * tau);
        let step = szy / precision;
        let s = (syy - szy * step).max(0.0) + floor;
        let noise = self.noise(s);
        let t = step / (s / self.degrees().max(1.0) / precision).sqrt();
        let direction = match change {
            Change::Any => 1.0,
            Change::Rise => 2.0 * upper(t, self.degrees()),
            Change::Fall => 2.0 * upper(-t, self.degrees()),
        };
        // Given Δ, the mean is (1'y - 1'z Δ) / 1'1.
        let level = |z: f64| {
            let ahead = 1.0 - self.now_one;
            let by_step = z - self.now_step[gap] - ahead * step_one / one_one;
            Level {
                mean: self.now_y + ahead * self.one_y / one_one + by_step * step,
                variance: noise
                    * (ahead * ahead / one_one + by_step * by_step / precision + self.now_variance),
                noise,
            }
        };
        Hypothesis {
            log_likelihood: self.log_likelihood(s, 1.0 + tau * tau * szz)
                + direction.max(1e-300).ln(),
            low: level(0.0),
            high: level(1.0),
        }
    }

    /// Posterior mean of σ², near enough where there are too few trials for one.
    fn noise(&self, s: f64) -> f64 {
        s / (self.degrees() - 2.0).max(1.0)
    }

    fn log_likelihood(&self, s: f64, shrinkage: f64) -> f64 {
        -0.5 * (self.log_det + self.one_one.ln() + shrinkage.ln() + self.degrees() * s.ln())
    }
}

/// Chance that Student's t is below `t`.
fn upper(t: f64, df: f64) -> f64 {
    let tail = t_two_sided(t, df.max(1.0)) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::observation::Purpose;

    fn trials(values: &[(usize, f64)]) -> Vec<Trial> {
        let trial = |(i, (class, value)): (usize, &(usize, f64))| Trial {
            class: *class,
            value: *value,
            seconds: 1800.0 * i as f64,
            purpose: Purpose::Search,
        };
        values.iter().enumerate().map(trial).collect()
    }

    /// `∫∫ σ^-(n-1) exp(-SS(Δ)/2σ²) N(Δ; 0, τ²σ²) / σ² dΔ dσ²` by the rectangle rule, where SS is
    /// the sum of squares around the mean after taking off the step; without a step for `None`.
    fn integrated(values: &[(usize, f64)], step_at: Option<usize>, tau: f64) -> f64 {
        let n = values.len() as f64;
        let squares = |step: f64| {
            let rest: Vec<f64> = values
                .iter()
                .map(|(c, y)| y - step * f64::from(u8::from(step_at.is_some_and(|k| *c >= k))))
                .collect();
            let mean = rest.iter().sum::<f64>() / n;
            rest.iter().map(|r| (r - mean).powi(2)).sum::<f64>()
        };
        let mut sum = 0.0;
        for i in -1200..=800 {
            // A grid in ln σ, on which dσ²/σ² is 2 d(ln σ).
            let sigma = (0.01 * f64::from(i)).exp();
            let scale =
                |ss: f64| sigma.powf(1.0 - n) * (-0.5 * ss / (sigma * sigma)).exp() * 2.0 * 0.01;
            if step_at.is_none() {
                sum += scale(squares(0.0));
                continue;
            }
            for j in -400..=400 {
                let u = 0.02 * f64::from(j);
                let density = (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
                sum += scale(squares(u * tau * sigma)) * density * 0.02;
            }
        }
        sum
    }

    #[test]
    fn the_marginal_likelihood_against_numerical_integration() {
        let values = [(0, 1.0), (9, 2.1), (0, 0.7), (9, 1.8), (4, 1.2), (4, 1.5)];
        let trials = trials(&values);
        let measured = measured(&trials);
        let sums = Whitened::new(&trials, &measured, 0.0, 0.0);
        for tau in [1.0, 3.0] {
            for (gap, class) in [(1, 2), (2, 7)] {
                let exact = sums.step(gap, tau, Change::Any, 0.0).log_likelihood
                    - sums.no_step(0.0).log_likelihood;
                let numerical =
                    integrated(&values, Some(class), tau) / integrated(&values, None, tau);
                assert!(
                    (exact - numerical.ln()).abs() < 1e-6,
                    "{tau} {class}: {exact} {}",
                    numerical.ln()
                );
            }
        }
    }

    #[test]
    fn whitening_is_the_inverse_of_the_covariance() {
        // Two trials half an hour apart, a drift of 2 σ² an hour: V = [[1, 0], [0, 2]].
        let sums = Whitened::new(&trials(&[(0, 3.0), (1, 4.0)]), &[0, 1], 2.0, 1800.0);
        assert!((sums.log_det - 2f64.ln()).abs() < 1e-12);
        assert!((sums.one_one - 1.5).abs() < 1e-12);
        assert!((sums.one_y - (3.0 + 2.0)).abs() < 1e-12);
        assert!((sums.y_y - (9.0 + 8.0)).abs() < 1e-12);
        assert!((sums.step_step[1] - 0.5).abs() < 1e-12);
        // Three: the covariance of the drift at the last two is that of the earlier one.
        let sums = Whitened::new(
            &trials(&[(0, 0.0), (0, 1.0), (1, 0.0)]),
            &[0, 1],
            2.0,
            3600.0,
        );
        // V = [[1,0,0],[0,2,1],[0,1,3]], whose inverse's lower block is [[3,-1],[-1,2]] / 5.
        assert!((sums.log_det - 5f64.ln()).abs() < 1e-12);
        assert!((sums.y_y - 0.6).abs() < 1e-12);
        assert!((sums.one_y - 0.4).abs() < 1e-12);
        assert!((sums.step_y[1] + 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_fall_is_no_rise() {
        let values = [(0, 2.0), (9, 1.0), (0, 2.1), (9, 1.1), (0, 1.9), (9, 0.9)];
        let [rise, fall] = [Change::Rise, Change::Fall].map(|change| {
            hypotheses(&trials(&values), change, 0.0)
                .step_at(5)
                .log_likelihood
        });
        assert!(fall > rise + 5.0, "{fall} {rise}");
    }

    #[test]
    fn scale_and_origin_do_not_matter() {
        let values = [(0, 1.0), (9, 2.1), (0, 0.7), (9, 1.8), (4, 1.2), (4, 1.5)];
        let moved = values.map(|(c, y)| (c, 1e6 + 1e3 * y));
        let odds = |values: &[(usize, f64)]| {
            let all = hypotheses(&trials(values), Change::Any, 9000.0);
            all.step_at(2).log_likelihood - all.step_at(7).log_likelihood
        };
        assert!((odds(&values) - odds(&moved)).abs() < 1e-6);
    }
}

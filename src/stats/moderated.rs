//! Moderated variance: what other functions of the same count teach about a function's noise.
//!
//! Smyth (2004, limma) draws a variance towards a prior that is estimated from all genes:
//! `s̃² = (d₀s₀² + d s²) / (d₀ + d)`. Here the prior follows the count as in limma-trend and voom
//! (Law et al. 2014): a function's variance is `a/count + b`, sampling noise plus the function's
//! own. Beyond limma, `d₀` follows the count too: of a rare function the variance is sampling
//! noise, the same for all; of a busy one it is its own, and functions differ.
//!
//! The prior is estimated from the mean squares of paired differences about 0, not about their
//! mean. These do not change when a block's arms are swapped, so that every sign pattern has the
//! same prior and the sign-flip test stays exact.

use super::gamma::{digamma, inverse_trigamma, trigamma};
use super::summary::median;

/// Fewest functions to estimate a prior from.
const FEWEST: usize = 8;

/// Degrees of freedom that stand for "the variance is the trend's".
const MOST_DF: f64 = 1e6;

/// Prior of the variance of a paired difference of log costs, by count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VariancePrior {
    /// Sampling noise: variance times count.
    pub sampling: f64,
    /// A function's own noise: variance where the count is large.
    pub own: f64,
    /// Variance of the logarithm of [`Self::own`] between functions.
    pub spread: f64,
    /// Factor from the trend to the prior's centre.
    pub level: f64,
}

/// The prior of one function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Degrees of freedom that the prior is worth; 0 where nothing is known.
    pub df: f64,
    /// Prior variance.
    pub variance: f64,
}

impl VariancePrior {
    /// Estimates the prior; `None` with too few functions to learn from.
    ///
    /// `mean_square[f]` is the mean over `blocks` of the squared paired difference, `count[f]` the
    /// function's mean number of samples in a trial. Functions that changed are outliers here;
    /// they are held back by Huber weights.
    pub fn fit(mean_square: &[f64], count: &[f64], blocks: usize) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = mean_square
            .iter()
            .zip(count)
            .filter(|(u, c)| **u > 0.0 && u.is_finite() && **c > 0.0)
            .map(|(u, c)| (*u, *c))
            .collect();
        if pairs.len() < FEWEST || blocks < 2 {
            return None;
        }
        let (sampling, own) = trend(&pairs, blocks);
        let mut prior = Self {
            sampling,
            own,
            spread: 0.0,
            level: 1.0,
        };
        prior.fit_spread(&pairs, blocks);
        Some(prior)
    }

    /// The trend `a/count + b`.
    pub fn trend(&self, count: f64) -> f64 {
        self.sampling / count + self.own
    }

    /// The prior of a function with this mean count.
    pub fn at(&self, count: f64) -> Prior {
        let trend = self.trend(count);
        let part = self.own / trend;
        let df = (2.0 * inverse_trigamma(self.spread * part * part)).min(MOST_DF);
        // The log variance is centred on the trend; the scaled inverse χ² is not (Smyth's eq. for
        // E(z)).
        let centre = digamma(df / 2.0) - (df / 2.0).ln();
        Prior {
            df,
            variance: self.level * trend * centre.exp(),
        }
    }

    fn fit_spread(&mut self, pairs: &[(f64, f64)], blocks: usize) {
        let half = blocks as f64 / 2.0;
        let expected = digamma(half) - half.ln();
        let noise = trigamma(half);
        let residuals: Vec<(f64, f64)> = pairs
            .iter()
            .map(|&(u, c)| {
                let trend = self.trend(c);
                ((u / trend).ln() - expected, self.own / trend)
            })
            .collect();
        let middle = median(&residuals.iter().map(|r| r.0).collect::<Vec<_>>());
        let reach = 2.5
            * 1.4826
            * median(
                &residuals
                    .iter()
                    .map(|r| (r.0 - middle).abs())
                    .collect::<Vec<_>>(),
            );
        let held = |e: f64| (e - middle).clamp(-reach, reach) + middle;
        let level = residuals.iter().map(|r| held(r.0)).sum::<f64>() / residuals.len() as f64;
        let (mut top, mut bottom) = (0.0, 0.0);
        for &(e, part) in &residuals {
            let square = (held(e) - level).powi(2) - noise;
            top += part * part * square;
            bottom += part.powi(4);
        }
        self.level = level.exp();
        self.spread = if bottom > 0.0 {
            (top / bottom).max(0.0)
        } else {
            0.0
        };
    }
}

/// Fits `u = a/count + b`, both at least 0, by least squares with each point weighed by its
/// fitted value's square (the variance of a mean square is proportional to it).
fn trend(pairs: &[(f64, f64)], blocks: usize) -> (f64, f64) {
    // The 99 % point of χ²/df, roughly: what lies above it weighs no more than what lies on it.
    let most = 1.0 + 3.3 / (blocks as f64 / 2.0).sqrt();
    let start = median(&pairs.iter().map(|p| p.0).collect::<Vec<_>>()).max(1e-12);
    let (mut a, mut b) = (0.0, start);
    for _ in 0..20 {
        let (mut xx, mut x1, mut one, mut xy, mut y1) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(u, c) in pairs {
            let fitted = (a / c + b).max(1e-12);
            let (x, y, w) = (1.0 / c / fitted, (u / fitted).min(most), 1.0 / fitted);
            xx += x * x;
            x1 += x * w;
            one += w * w;
            xy += x * y;
            y1 += w * y;
        }
        let determinant = xx * one - x1 * x1;
        let (mut na, mut nb) = (
            (xy * one - y1 * x1) / determinant,
            (y1 * xx - xy * x1) / determinant,
        );
        if !(na >= 0.0 && nb >= 0.0) || determinant <= 1e-12 * xx * one {
            let only_a = xy / xx;
            let only_b = y1 / one;
            // One of the two alone: the one that fits better.
            let gain_a = only_a * xy;
            let gain_b = only_b * y1;
            (na, nb) = if gain_a > gain_b {
                (only_a, 0.0)
            } else {
                (0.0, only_b)
            };
        }
        let still = (na - a).abs() <= 1e-9 * na.abs() && (nb - b).abs() <= 1e-9 * nb.abs();
        (a, b) = (na, nb);
        if still {
            break;
        }
    }
    (a.max(0.0), b.max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::SplitMix64;
    use crate::stats::student::normal_two_sided_quantile;

    fn normal(random: &mut SplitMix64) -> f64 {
        let z = normal_two_sided_quantile(random.next_f64().max(1e-300));
        if random.next_u64() & 1 == 1 { z } else { -z }
    }

    /// Mean squares of `blocks` differences of variance `2/count + own·e^(spread·z)`.
    fn simulate(own: f64, deviation: f64, blocks: usize, functions: usize) -> (Vec<f64>, Vec<f64>) {
        let mut random = SplitMix64::new(5);
        let mut squares = Vec::new();
        let mut counts = Vec::new();
        for f in 0..functions {
            let count = 10.0 * 1.01f64.powi((f % 700) as i32);
            let variance = 2.0 / count + own * (deviation * normal(&mut random)).exp();
            let sum: f64 = (0..blocks)
                .map(|_| variance * normal(&mut random).powi(2))
                .sum();
            squares.push(sum / blocks as f64);
            counts.push(count);
        }
        (squares, counts)
    }

    #[test]
    fn finds_the_trend_it_was_made_from() {
        let (squares, counts) = simulate(0.01, 0.0, 10, 4000);
        let prior = VariancePrior::fit(&squares, &counts, 10).unwrap();
        assert!(
            (prior.sampling * prior.level / 2.0 - 1.0).abs() < 0.1,
            "{prior:?}"
        );
        assert!(
            (prior.own * prior.level / 0.01 - 1.0).abs() < 0.1,
            "{prior:?}"
        );
        assert!(prior.spread < 0.05, "{prior:?}");
        let busy = prior.at(5000.0);
        assert!(busy.df > 30.0, "{busy:?}");
        assert!((busy.variance / 0.0104 - 1.0).abs() < 0.15, "{busy:?}");
    }

    #[test]
    fn functions_that_differ_are_worth_few_degrees_where_they_are_busy() {
        let (squares, counts) = simulate(0.005, 1.0, 10, 4000);
        let prior = VariancePrior::fit(&squares, &counts, 10).unwrap();
        let (rare, busy) = (prior.at(10.0), prior.at(10_000.0));
        assert!(rare.df > 100.0, "{rare:?}");
        assert!((1.5..8.0).contains(&busy.df), "{busy:?}");
    }

    #[test]
    fn a_tenth_of_changed_functions_does_not_blur_it() {
        let (mut squares, counts) = simulate(0.01, 0.0, 10, 4000);
        squares.iter_mut().step_by(10).for_each(|u| *u += 1.0);
        let prior = VariancePrior::fit(&squares, &counts, 10).unwrap();
        let busy = prior.at(5000.0);
        assert!(
            (busy.variance / 0.0104 - 1.0).abs() < 0.6,
            "{busy:?} {prior:?}"
        );
    }

    #[test]
    fn few_functions_teach_nothing() {
        assert_eq!(VariancePrior::fit(&[1.0; 7], &[10.0; 7], 8), None);
        assert!(VariancePrior::fit(&[1.0; 9], &[10.0; 9], 8).is_some());
    }
}

//! YCSB's exponential keys: the greatest most often.

use super::Rng;

/// Per cent of the requests that go to [`FRACTION`] of the keys, where neither is given
/// (`exponential.percentile` of YCSB).
pub const PERCENTILE: f64 = 95.0;

/// YCSB's `exponential.frac`.
pub const FRACTION: f64 = 0.857_142_857_1;

/// Distances from the greatest key by the exponential law with the rate
/// `-ln(1 - percentile / 100) / (fraction · keys)`, truncated to the range.
///
/// YCSB redraws what lies outside; the inverse of the truncated law is drawn from here, which is the
/// same law.
#[derive(Debug, Clone)]
pub struct Exponential {
    min: u64,
    max: u64,
    rate: f64,
    /// `exp(-rate · keys) - 1`: how much of the law lies within, negated.
    within: f64,
}

impl Exponential {
    /// Over `min..=max`.
    pub fn new(min: u64, max: u64, percentile: f64, fraction: f64) -> Exponential {
        let keys = (max - min) as f64 + 1.0;
        let rate = -(-percentile / 100.0).ln_1p() / (fraction * keys);
        Exponential {
            min,
            max,
            rate,
            within: (-rate * keys).exp_m1(),
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let distance = -(rng.unit() * self.within).ln_1p() / self.rate;
        // Rounding may reach the end of the range.
        self.max - (distance as u64).min(self.max - self.min)
    }
}

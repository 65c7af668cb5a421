//! What the noise that was seen allows: the smallest change that would be flagged, and the blocks
//! that would decide what is undecided.

use crate::stats::{
    Adjusted, Family, SignFlips, blocks_to_reach, normal_two_sided_quantile, t_of_score,
};

/// Squared normal score of the chance with which a change of the smallest detectable size is
/// flagged: 0.8.
const POWER_SCORE: f64 = 0.708_326;

/// Squared normal score of a 95 % interval.
const INTERVAL_SCORE: f64 = 3.841_459;

/// More blocks than this are not worth naming.
const MOST_BLOCKS: u32 = 1000;

/// The bar that a family sets.
#[derive(Debug, Clone, Copy)]
pub struct Outlook<'a> {
    /// The judged family.
    pub family: &'a Family,
    critical: Option<f64>,
    least_score: f64,
    fewest: u32,
}

/// The noise of one hypothesis, and its bar.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    deviation: f64,
    measured: usize,
    prior_df: f64,
    critical: Option<f64>,
    /// Squared normal score of `alpha` for one hypothesis alone: no bar is lower.
    least_score: f64,
    fewest: u32,
}

impl<'a> Outlook<'a> {
    /// The bar of a family that was judged by these flips, at this level.
    pub fn new(family: &'a Family, flips: &SignFlips, alpha: f64) -> Self {
        Self {
            family,
            critical: family.critical_score(alpha, flips),
            least_score: normal_two_sided_quantile(alpha).powi(2),
            fewest: blocks_to_reach(alpha),
        }
    }

    /// The noise of a hypothesis that was judged on `measured` blocks.
    pub fn noise(&self, adjusted: &Adjusted, measured: usize) -> Noise {
        let offset = 2.0 * adjusted.weight.max(f64::MIN_POSITIVE).ln();
        Noise {
            deviation: adjusted.variance.sqrt(),
            measured,
            prior_df: adjusted.df - (measured as f64 - 1.0),
            critical: self
                .critical
                .map(|score| (score - offset).max(self.least_score)),
            least_score: self.least_score,
            fewest: self.fewest,
        }
    }
}

impl Noise {
    /// The smallest mean difference that would be flagged with a chance of 0.8: the bar's t
    /// plus the t that one in five lie below, times the standard error. `None` where the blocks
    /// are too few to flag anything, or there is no noise to judge by.
    pub fn detectable(&self) -> Option<f64> {
        self.detectable_at(self.measured as f64)
            .filter(|_| self.critical.is_some())
    }

    fn detectable_at(&self, blocks: f64) -> Option<f64> {
        let df = self.prior_df + blocks - 1.0;
        if !(df > 0.0 && self.deviation.is_finite()) {
            return None;
        }
        // The bar as a normal score hardly moves with the number of blocks.
        let bar = t_of_score(self.critical.unwrap_or(self.least_score), df);
        let power = t_of_score(POWER_SCORE, df);
        Some((bar + power) * self.deviation / blocks.sqrt())
    }

    /// Blocks after which a true change of `effect` would be flagged (where it is at least
    /// `least`, the gate), or be shown to lie within `margin`; `None` beyond [`MOST_BLOCKS`].
    pub fn blocks_to_decide(&self, effect: f64, least: f64, margin: f64) -> Option<u32> {
        let decided = |n: u32| {
            let blocks = f64::from(n);
            let flagged = n >= self.fewest
                && effect.abs() >= least
                && effect != 0.0
                && self
                    .detectable_at(blocks)
                    .is_some_and(|d| effect.abs() >= d);
            let df = self.prior_df + blocks - 1.0;
            let reach = t_of_score(INTERVAL_SCORE, df) * self.deviation / blocks.sqrt();
            flagged || effect.abs() + reach <= margin
        };
        let (mut below, mut enough) = (self.measured.max(1) as u32, MOST_BLOCKS);
        if below >= enough || !decided(enough) {
            return None;
        }
        while enough - below > 1 {
            let middle = below.midpoint(enough);
            if decided(middle) {
                enough = middle;
            } else {
                below = middle;
            }
        }
        Some(enough)
    }
}

//! How many trials of the endpoints to buy before the search.

use super::hypotheses::Hypotheses;
use super::observation::Trial;
use super::posterior::Posterior;
use super::setup::{Setup, Side};
use crate::stats::SplitMix64;

/// Fewest trials of each endpoint.
const FEWEST: usize = 3;

/// Which endpoint to measure next; `None` where their trials suffice.
///
/// Trials go in pairs of random order. They suffice when the step is known well against its size:
/// a step of few deviations needs many trials of the search, and these are worth more with levels
/// that are known.
pub(super) fn next(
    setup: &Setup,
    trials: &[Trial],
    hypotheses: &Hypotheses,
    posterior: &Posterior,
    seed: u64,
) -> Option<Side> {
    let last = setup.classes.len().saturating_sub(1);
    let good = trials.iter().filter(|t| t.class == 0).count();
    let bad = trials.iter().filter(|t| t.class == last).count();
    let most = setup.max_endpoint_trials.max(1);
    if good != bad && good.min(bad) < most {
        return Some(if good < bad { Side::Good } else { Side::Bad });
    }
    let pairs = good.min(bad);
    if pairs >= most || (pairs >= FEWEST.min(most) && suffice(hypotheses, posterior, pairs)) {
        return None;
    }
    let coin = SplitMix64::new(seed ^ (pairs as u64).wrapping_mul(0x9e37_79b9)).next_u64() >> 63;
    Some(if coin == 0 { Side::Good } else { Side::Bad })
}

fn suffice(hypotheses: &Hypotheses, posterior: &Posterior, pairs: usize) -> bool {
    let step = hypotheses.step_at(1);
    let size = (step.high.mean - step.low.mean).abs() / step.high.noise.max(1e-300).sqrt();
    posterior.no_step < 0.02 && pairs as f64 * size * size >= 50.0
}

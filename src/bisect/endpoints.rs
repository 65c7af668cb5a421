//! How many trials of the endpoints to buy before the search.

use super::hypotheses::Hypotheses;
use super::observation::Trial;
use super::posterior::Posterior;
use super::setup::{Response, Setup, Side};
use crate::stats::SplitMix64;

/// Fewest trials of each endpoint, of values and of pass/fail, whose flake rates have a prior.
const FEWEST: [usize; 2] = [3, 2];

/// Probability of no step above which more trials are bought, of values and of pass/fail.
const DOUBT: [f64; 2] = [0.005, 0.02];

/// Pairs of trials times the squared step in run deviations that suffice. Chosen by simulation:
/// with 100 a step of 3 deviations takes 11.0 trials of the search, with 130 it takes 10.5.
const KNOWN: f64 = 130.0;

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
    let fewest = FEWEST[usize::from(setup.response == Response::PassFail)].min(most);
    if pairs >= most || (pairs >= fewest && suffice(setup.response, hypotheses, posterior, pairs)) {
        return None;
    }
    let coin = SplitMix64::new(seed ^ (pairs as u64).wrapping_mul(0x9e37_79b9)).next_u64() >> 63;
    Some(if coin == 0 { Side::Good } else { Side::Bad })
}

fn suffice(
    response: Response,
    hypotheses: &Hypotheses,
    posterior: &Posterior,
    pairs: usize,
) -> bool {
    match response {
        // A flake rate is learned from the search's own trials.
        Response::PassFail => posterior.no_step < DOUBT[1],
        Response::Value(_) => {
            let step = hypotheses.step_at(1);
            let size = step.high.mean - step.low.mean;
            let known = pairs as f64 * size * size / step.high.noise.max(1e-300);
            posterior.no_step < DOUBT[0] && known >= KNOWN
        }
    }
}

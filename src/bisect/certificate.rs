//! The certificate: fresh blocks of a culprit against its parent.

use serde::{Deserialize, Serialize};

use super::conclusion::Estimate;
use super::hypotheses::Hypothesis;
use super::observation::Trial;
use super::setup::{Change, Response};
use crate::stats::{blocks_to_detect, blocks_to_reach, mean, sign_flip_p, variance};

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Certificate {
    /// Last class of those that may be the culprit.
    pub culprit: usize,
    /// Class before them.
    pub parent: usize,
    /// Which attempt of the search, counted from 1.
    pub attempt: u32,
    /// Level of this attempt: α/2^attempt, so that all attempts together stay within α.
    pub alpha: f64,
    /// Two-sided p of the sign-flip test of the blocks' differences.
    pub p: f64,
    /// Number of blocks.
    pub blocks: usize,
    /// The culprit's level above the parent's.
    pub step: Estimate,
    /// Whether p is within the level and the step has the direction that is searched for.
    pub confirmed: bool,
}

/// Level of the `attempt`-th certificate: `α/2^attempt`, whose sum over all attempts is α.
pub(super) fn level(alpha: f64, attempt: u32) -> f64 {
    alpha / 2f64.powi(i32::try_from(attempt).unwrap_or(i32::MAX))
}

/// Judges the blocks of an attempt.
pub(super) fn judge(
    response: Response,
    [parent, culprit]: [usize; 2],
    attempt: u32,
    alpha: f64,
    blocks: &[[Trial; 2]],
    seed: u64,
) -> Certificate {
    let differences: Vec<f64> = blocks.iter().map(|[p, c]| c.value - p.value).collect();
    let p = sign_flip_p(&differences, seed);
    let n = differences.len() as f64;
    let step = Estimate {
        mean: if differences.is_empty() {
            0.0
        } else {
            mean(&differences)
        },
        error: if differences.len() < 2 {
            f64::INFINITY
        } else {
            (variance(&differences) / n).sqrt()
        },
    };
    let direction = match response {
        // A command may begin to fail, or begin to pass.
        Response::Value(Change::Any) | Response::PassFail => step.mean != 0.0,
        Response::Value(Change::Fall) => step.mean < 0.0,
        Response::Value(Change::Rise) => step.mean > 0.0,
    };
    Certificate {
        culprit,
        parent,
        attempt,
        alpha,
        p,
        blocks: differences.len(),
        step,
        confirmed: direction && p <= alpha,
    }
}

/// Chance that a certificate of a true culprit succeeds, as far as the search knows its step.
const POWER: f64 = 0.9;

/// Most blocks of one attempt.
const MOST_BLOCKS: u32 = 200;

/// Blocks of an attempt at `alpha`, where the step and the noise are as the hypothesis has them.
pub(super) fn blocks(response: Response, hypothesis: &Hypothesis, alpha: f64) -> u32 {
    let floor = blocks_to_reach(alpha);
    let most = MOST_BLOCKS.max(floor);
    let wanted = match response {
        Response::Value(_) => {
            let step = hypothesis.high.mean - hypothesis.low.mean;
            let deviation = (hypothesis.low.noise + hypothesis.high.noise).sqrt();
            if deviation > 0.0 {
                blocks_to_detect(step, deviation, alpha, POWER).unwrap_or(most)
            } else {
                floor
            }
        }
        Response::PassFail => {
            let (low, high) = (hypothesis.low.mean, hypothesis.high.mean);
            (floor..most)
                .find(|n| pass_fail_power(*n, low, high, alpha) >= POWER)
                .unwrap_or(most)
        }
    };
    wanted.clamp(floor, most)
}

/// Chance that `n` blocks of pass/fail reach `alpha`, with chances to fail of the parent and the
/// culprit: blocks whose trials differ decide, as in McNemar's exact test.
fn pass_fail_power(n: u32, parent: f64, culprit: f64, alpha: f64) -> f64 {
    let (rises, falls) = (culprit * (1.0 - parent), parent * (1.0 - culprit));
    let (worse, better) = (rises.max(falls), rises.min(falls));
    let same = (1.0 - worse - better).max(0.0);
    let mut power = 0.0;
    // Ways to draw: n! / (w! b! s!) worse^w better^b same^s.
    for differ in blocks_to_reach(alpha)..=n {
        for b in 0..=differ / 2 {
            // Two-sided, so twice the tail of the binomial with chance 1/2.
            let tail: f64 = (0..=b).map(|i| choose(differ, i)).sum();
            if 2.0 * tail / 2f64.powi(differ as i32) > alpha {
                break;
            }
            power += choose(n, differ)
                * choose(differ, b)
                * worse.powi((differ - b) as i32)
                * better.powi(b as i32)
                * same.powi((n - differ) as i32);
        }
    }
    power
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1))
}

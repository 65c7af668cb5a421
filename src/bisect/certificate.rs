//! The certificate: fresh blocks of a culprit against its parent.

use serde::{Deserialize, Serialize};

use super::conclusion::Estimate;
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
        Response::Value(Change::Any) => step.mean != 0.0,
        Response::Value(Change::Fall) => step.mean < 0.0,
        Response::Value(Change::Rise) | Response::PassFail => step.mean > 0.0,
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
const POWER: f64 = 0.95;

/// Most blocks of one attempt.
const MOST_BLOCKS: u32 = 200;

/// Blocks of an attempt at `alpha`, where the step and the deviation of a block's difference are
/// as the search has them.
pub(super) fn blocks(step: f64, deviation: f64, alpha: f64) -> u32 {
    let floor = blocks_to_reach(alpha);
    let wanted = if deviation > 0.0 {
        blocks_to_detect(step, deviation, alpha, POWER).unwrap_or(MOST_BLOCKS)
    } else {
        floor
    };
    wanted.clamp(floor, MOST_BLOCKS.max(floor))
}

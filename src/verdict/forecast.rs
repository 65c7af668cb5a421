//! What a plan can see on this machine, from its first blocks.

use super::costs::{Costs, Kind};
use super::hypotheses::{Hypotheses, MAIN_PART, function_part};
use super::metric::MetricData;
use super::model::TrialMeasurement;
use super::paired::Blocks;
use crate::plan::Judging;
use crate::stats::{blocks_to_reach, detectable_difference, t_two_sided_quantile, variance};

/// Fewest blocks that say anything of the noise.
const FEWEST_BLOCKS: usize = 3;

/// Share of the function that stands for others, in per cent.
const TYPICAL_SHARE_PCT: f64 = 1.0;

/// Chance with which a change of the size told is seen.
const POWER: f64 = 0.8;

/// The smallest changes that a comparison of so many blocks would see in four of five cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Blocks of the plan.
    pub blocks: u32,
    /// Change of the main metric in per cent; absent where the blocks can show nothing.
    pub metric_pct: Option<f64>,
    /// Change of the own cost, in per cent, of a function that holds 1 % of the samples; absent
    /// without profiles.
    pub function_pct: Option<f64>,
}

/// Foretells from measured blocks what `blocks` blocks will see; `None` with too few to tell.
///
/// The noise is taken from the blocks, the level from each hypothesis' part of the family. With few
/// blocks it is a rough figure.
pub fn forecast(
    base: &[TrialMeasurement],
    head: &[TrialMeasurement],
    judging: &Judging,
    blocks: u32,
) -> Option<Forecast> {
    let paired = Blocks::pair(base, head);
    if paired.len() < FEWEST_BLOCKS {
        return None;
    }
    if blocks < blocks_to_reach(judging.alpha) {
        return Some(Forecast {
            blocks,
            metric_pct: None,
            function_pct: None,
        });
    }
    let metrics = MetricData::collect(&paired, judging);
    let costs = Costs::collect(&paired);
    let metric_pct = metrics
        .first()
        .filter(|metric| metric.name == judging.main_metric)
        .and_then(|metric| {
            let deviation = variance(&metric.present()).sqrt();
            let level = judging.alpha * MAIN_PART;
            let difference = detectable_difference(deviation, blocks, level, POWER);
            difference.is_finite().then(|| metric.to_pct(difference))
        });
    let function_pct = costs.and_then(|costs| {
        let grouped = vec![false; costs.ids.len()];
        let family = Hypotheses::new(&metrics, Some(&costs), &grouped, judging);
        let prior = family.prior_at(Kind::Own, costs.mean_samples() * TYPICAL_SHARE_PCT / 100.0)?;
        let level = judging.alpha * function_part(TYPICAL_SHARE_PCT, &family);
        let df = prior.df + f64::from(blocks) - 1.0;
        let t = t_two_sided_quantile(level, df) + t_two_sided_quantile(2.0 * (1.0 - POWER), df);
        let difference = t * (prior.variance / f64::from(blocks)).sqrt();
        let least = 2.0
            * (judging.gate_points / (2.0 * TYPICAL_SHARE_PCT))
                .min(0.999)
                .atanh();
        Some(100.0 * difference.max(least).exp_m1()).filter(|pct| pct.is_finite())
    });
    Some(Forecast {
        blocks,
        metric_pct,
        function_pct,
    })
}

//! Metrics: one number a trial, compared by paired log ratios.

use std::collections::BTreeSet;

use super::model::{MetricVerdict, Verdict, WelchSummary};
use super::outlook::Outlook;
use super::paired::Blocks;
use crate::plan::{Direction, Judging};
use crate::stats::{Adjusted, Hypothesis, mean, paired, sign_flip_p, welch};

/// A metric's values, paired and ready to be tested.
#[derive(Debug, Clone)]
pub struct MetricData {
    /// Name.
    pub name: String,
    /// `[base, head]` of each block in which both are finite.
    values: Vec<[f64; 2]>,
    /// Log ratio, or scaled difference, of each block; 0 where a value is missing.
    differences: Vec<f64>,
    scale: Scale,
}

/// On which scale a metric is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    /// Logarithm of head over base.
    LogRatio,
    /// Head less base, in parts of base's mean: for metrics with values at or below 0.
    Difference,
}

impl MetricData {
    /// The metrics of the blocks by name, the main one first where it is there.
    pub fn collect(blocks: &Blocks<'_>, judging: &Judging) -> Vec<Self> {
        let names: BTreeSet<&String> = blocks
            .blocks
            .iter()
            .flat_map(|block| block.base.metrics.keys().chain(block.head.metrics.keys()))
            .collect();
        let mut data: Vec<Self> = names
            .into_iter()
            .map(|name| Self::of(name, blocks))
            .collect();
        // What only one arm has cannot be compared.
        data.retain(|metric| metric.measured() > 0);
        data.sort_by_key(|metric| metric.name != judging.main_metric);
        data
    }

    fn of(name: &str, blocks: &Blocks<'_>) -> Self {
        let pairs: Vec<Option<[f64; 2]>> = blocks
            .blocks
            .iter()
            .map(|block| {
                let base = *block.base.metrics.get(name)?;
                let head = *block.head.metrics.get(name)?;
                (base.is_finite() && head.is_finite()).then_some([base, head])
            })
            .collect();
        let values: Vec<[f64; 2]> = pairs.iter().flatten().copied().collect();
        let positive = values.iter().flatten().all(|v| *v > 0.0);
        let scale = if positive {
            Scale::LogRatio
        } else {
            Scale::Difference
        };
        let unit = difference_unit(&values);
        let difference = |[base, head]: [f64; 2]| match scale {
            Scale::LogRatio => (head / base).ln(),
            Scale::Difference => (head - base) / unit,
        };
        let differences = pairs.iter().map(|p| p.map_or(0.0, difference)).collect();
        Self {
            name: name.to_owned(),
            values,
            differences,
            scale,
        }
    }

    /// Number of blocks with a value of both arms.
    pub fn measured(&self) -> usize {
        self.values.len()
    }

    /// The hypothesis that the metric did not change, for the family.
    ///
    /// A quarter of the margin counts as noise of one block. A metric that jumps by whole pages has
    /// differences of one size, which in some pattern of signs are all alike: without any noise that
    /// pattern would beat every change there is.
    pub fn hypothesis(&self, judging: &Judging) -> Hypothesis {
        let floor = self.of_pct(judging.margin_pct) / 4.0;
        Hypothesis {
            differences: self.differences.clone(),
            measured: self.measured(),
            prior_df: if floor > 0.0 { 1.0 } else { 0.0 },
            prior_variance: floor * floor,
            least_effect: 0.0,
            weight: 1.0,
        }
    }

    /// Judges the metric by the family's adjusted p.
    pub fn judge(
        &self,
        adjusted: &Adjusted,
        judging: &Judging,
        outlook: &Outlook<'_>,
    ) -> MetricVerdict {
        let description = judging.describe(&self.name);
        let side = |arm: usize| self.values.iter().map(|v| v[arm]).collect::<Vec<f64>>();
        let (base, head) = (side(0), side(1));
        let present: Vec<f64> = self.present();
        let margin = self.of_pct(judging.margin_pct);
        let interval = match paired(&present, 0.95) {
            Ok(test) => Some(test.interval),
            // Without any noise the interval is the value.
            Err(_) if present.len() >= 2 => Some([adjusted.mean, adjusted.mean]),
            Err(_) => None,
        };
        let verdict = if interval.is_some_and(|[lo, hi]| lo >= -margin && hi <= margin) {
            Verdict::Equivalent
        } else if adjusted.p_adjusted <= judging.alpha * (1.0 + 1e-12) {
            if (adjusted.mean > 0.0) == (description.direction == Direction::HigherIsBetter) {
                Verdict::Improved
            } else {
                Verdict::Regressed
            }
        } else {
            Verdict::Undecided
        };
        let noise = outlook.noise(adjusted, self.measured());
        MetricVerdict {
            name: self.name.clone(),
            unit: description.unit,
            direction: description.direction,
            base_mean: finite(mean(&base)),
            head_mean: finite(mean(&head)),
            change_pct: finite(self.to_pct(adjusted.mean)),
            ci95_pct: interval.map(|[lo, hi]| [self.to_pct(lo), self.to_pct(hi)]),
            p: sign_flip_p(&present, judging.seed),
            p_adjusted: adjusted.p_adjusted,
            verdict,
            detectable_pct: noise.detectable().map(|d| self.to_pct(d)),
            blocks_to_decide: (verdict == Verdict::Undecided)
                .then(|| noise.blocks_to_decide(adjusted.mean, 0.0, margin))
                .flatten(),
            welch: welch(&head, &base, 0.95).ok().map(|test| WelchSummary {
                t: test.t,
                df: test.df,
                p: test.p,
                ci95: test.interval,
            }),
            blocks: self.values.clone(),
        }
    }

    /// Differences of the blocks in which both arms have a value.
    pub fn present(&self) -> Vec<f64> {
        let unit = difference_unit(&self.values);
        self.values
            .iter()
            .map(|[base, head]| match self.scale {
                Scale::LogRatio => (head / base).ln(),
                Scale::Difference => (head - base) / unit,
            })
            .collect()
    }

    /// A difference in per cent.
    pub fn to_pct(&self, difference: f64) -> f64 {
        100.0
            * match self.scale {
                Scale::LogRatio => difference.exp_m1(),
                Scale::Difference => difference,
            }
    }

    fn of_pct(&self, pct: f64) -> f64 {
        match self.scale {
            Scale::LogRatio => (pct / 100.0).ln_1p(),
            Scale::Difference => pct / 100.0,
        }
    }
}

/// What is said of a metric that no block has.
pub fn missing(name: &str, judging: &Judging) -> MetricVerdict {
    let description = judging.describe(name);
    MetricVerdict {
        name: name.to_owned(),
        unit: description.unit,
        direction: description.direction,
        base_mean: 0.0,
        head_mean: 0.0,
        change_pct: 0.0,
        ci95_pct: None,
        p: 1.0,
        p_adjusted: 1.0,
        verdict: Verdict::Undecided,
        detectable_pct: None,
        blocks_to_decide: None,
        welch: None,
        blocks: Vec::new(),
    }
}

/// Base's mean, else the mean size of all values, else 1: never 0.
fn difference_unit(values: &[[f64; 2]]) -> f64 {
    let base = values.iter().map(|v| v[0]).sum::<f64>().abs() / values.len().max(1) as f64;
    let size =
        values.iter().flatten().map(|v| v.abs()).sum::<f64>() / (2 * values.len()).max(1) as f64;
    [base, size].into_iter().find(|u| *u > 0.0).unwrap_or(1.0)
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

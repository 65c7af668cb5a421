//! How measurements are judged: levels, margins, and which direction of a metric is good.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Operations per second and the like.
    HigherIsBetter,
    /// Times and sizes.
    LowerIsBetter,
}

/// What a metric is measured in, and which direction of it is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MetricDescription {
    /// Unit as printed, such as `ops/s`, `ms` or `ns/op`.
    pub unit: String,
    /// Which direction is good.
    pub direction: Direction,
}

/// The rules of judging. The same measurements under the same rules give the same verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Judging {
    /// Chance that a comparison of two equal programs flags anything at all: throughput, another
    /// metric or a function. Between 0 and 1, both excluded.
    pub alpha: f64,
    /// Equivalence margin of metrics in per cent: a change whose whole 95 % interval lies within
    /// it, on either side, is `equivalent`.
    pub margin_pct: f64,
    /// Effect gate of functions in percentage points of the base's CPU time per operation: a
    /// smaller change is never flagged, however significant.
    pub gate_points: f64,
    /// Seed of the sign flips, used where there are too many to enumerate.
    pub seed: u64,
    /// Most sign flips to look at; `2^(blocks-1)` of them are enumerated where they fit, else a
    /// random subgroup of them.
    pub max_flips: u32,
    /// Name of the metric that is the workload's main one.
    pub main_metric: String,
    /// Descriptions that add to, or replace, those that are built in ([`Judging::describe`]).
    pub metrics: BTreeMap<String, MetricDescription>,
    /// Functions that are judged as one, by the group's name.
    pub groups: BTreeMap<String, Vec<String>>,
}

impl Default for Judging {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            margin_pct: 1.0,
            gate_points: 0.1,
            seed: 1,
            max_flips: 4096,
            main_metric: "throughput".to_owned(),
            metrics: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }
}

impl Judging {
    /// Describes a metric: from [`Self::metrics`], else from what is known of the names that
    /// perfblame itself gives. An unknown name has no unit, and lower is better.
    pub fn describe(&self, name: &str) -> MetricDescription {
        if let Some(description) = self.metrics.get(name) {
            return description.clone();
        }
        let (unit, direction) = built_in(name);
        MetricDescription {
            unit: unit.to_owned(),
            direction,
        }
    }
}

fn built_in(name: &str) -> (&'static str, Direction) {
    use Direction::{HigherIsBetter, LowerIsBetter};
    match name {
        "throughput" => ("ops/s", HigherIsBetter),
        _ if name.contains("ops_per_s") => ("ops/s", HigherIsBetter),
        _ if name.ends_with("hit_rate") => ("%", HigherIsBetter),
        _ if name.ends_with("per_op") && name.contains("cpu") => ("ns/op", LowerIsBetter),
        _ if name.starts_with("latency") => ("ms", LowerIsBetter),
        _ if name.starts_with("rss") || name.ends_with("rss") => ("bytes", LowerIsBetter),
        _ if name.ends_with("_time") => ("s", LowerIsBetter),
        _ if name.contains("context_switches") => ("/op", LowerIsBetter),
        _ => ("", LowerIsBetter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_ones_own_comes_first() {
        let mut judging = Judging::default();
        assert_eq!(
            judging.describe("throughput").direction,
            Direction::HigherIsBetter
        );
        assert_eq!(judging.describe("cpu_per_op").unit, "ns/op");
        judging.metrics.insert(
            "throughput".into(),
            MetricDescription {
                unit: "TPM".into(),
                direction: Direction::HigherIsBetter,
            },
        );
        assert_eq!(judging.describe("throughput").unit, "TPM");
        assert_eq!(
            judging.describe("unheard_of").direction,
            Direction::LowerIsBetter
        );
    }
}

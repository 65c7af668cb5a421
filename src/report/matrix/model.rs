//! A matrix as a value: everything that any form of the report shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Direction;
use crate::verdict::{FunctionVerdict, MetricVerdict};

/// Version of the JSON form.
pub const MATRIX_SCHEMA: &str = "perfblame.matrix/1";

/// All that came of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixReport {
    /// [`MATRIX_SCHEMA`].
    pub schema: String,
    /// Version of perfblame.
    pub tool_version: String,
    /// When, in RFC 3339.
    pub created: String,
    /// The experiment's id in the store.
    pub experiment: String,
    /// The axes.
    pub axes: Vec<AxisReport>,
    /// Data points that each cell was to get.
    pub points: u32,
    /// The metrics that have tables.
    pub metrics: Vec<MetricReport>,
    /// The cells, failed ones too.
    pub cells: Vec<CellReport>,
    /// A table for each metric and each two levels of an axis.
    pub tables: Vec<PairTable>,
    /// Every two levels of an axis compared in all these metrics, block by block.
    #[serde(default)]
    pub results: Vec<Results>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// The machine.
    pub machine: serde_json::Value,
    /// The exact plan.
    pub plan: serde_json::Value,
    /// Seed of the order.
    pub seed: u64,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisReport {
    /// Its name.
    pub name: String,
    /// Names of its levels, the baseline first.
    pub levels: Vec<String>,
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricReport {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub direction: Direction,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellReport {
    /// Names of its levels, in the order of the axes.
    pub levels: Vec<String>,
    /// Id of the commit that was measured; none for an installed program.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Why it has no data points, or not all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
    /// Values of all metrics by name, one for each data point.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Units by metric.
    pub units: BTreeMap<String, String>,
    /// Metrics that could not be read, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
}

/// Two levels of an axis compared, in every combination of the other axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairTable {
    /// The metric's name.
    pub metric: String,
    /// The axis.
    pub axis: String,
    /// The level that is the baseline.
    pub base: String,
    /// The other one.
    pub head: String,
    /// What the rows are: the last of the other axes; empty where there is none.
    pub row_axis: String,
    /// Heads of the rows.
    pub rows: Vec<String>,
    /// Heads of the columns: combinations of the remaining axes.
    pub columns: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<TableCell>>,
}

/// Two levels of an axis compared in one combination of the other axes, metric by metric, with the
/// data points of a round as a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The axis.
    pub axis: String,
    /// The level that is the baseline.
    pub base: String,
    /// The other one.
    pub head: String,
    /// The combination of the other axes; empty where there is none.
    pub place: String,
    /// The verdicts, in the order of the plan.
    pub metrics: Vec<MetricVerdict>,
    /// Metrics that cannot be compared since a side lacks them: the name, and which side and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<(String, String)>,
    /// Functions, where both sides were sampled: flagged ones first, then by inclusive share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionVerdict>,
    /// Groups of functions that the plan declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<FunctionVerdict>,
    /// Numbers of the two cells.
    #[serde(default)]
    pub cells: [usize; 2],
    /// What a reader of them must know.
    pub warnings: Vec<String>,
}

/// A place in a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableCell {
    /// Both sides were measured.
    Compared(Compared),
    /// A side has been measured, and lacks the metric; the reason.
    Absent(String),
    /// Both sides were measured, and their values have no spread that a test could weigh.
    Constant {
        /// The baseline's value.
        base_mean: f64,
        /// The other's.
        head_mean: f64,
    },
    /// One side has no data points: why.
    Failed(String),
    /// The plan leaves one side out.
    LeftOut,
}

/// Welch's test of the other's data points minus the baseline's: R's `t.test(head, base)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Mean of the baseline's data points.
    pub base_mean: f64,
    /// Mean of the other's.
    pub head_mean: f64,
    /// Numbers of data points.
    pub counts: [usize; 2],
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
    /// 95 % interval of head minus base.
    pub ci95: [f64; 2],
    /// The same in per cent of the baseline's mean; none where it spans 0.
    pub change_pct: Option<[f64; 2]>,
}

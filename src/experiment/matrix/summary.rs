//! From the data points to the report.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::matrix::{
    AxisReport, CellReport, MATRIX_SCHEMA, MatrixReport, MetricReport, tables,
};
use crate::trial::{Machine, TrialResult};

use super::super::rules::judging_of;
use super::cells::ReadyCell;
use super::points::CellPoints;
use super::request::MatrixRequest;

/// The report of all cells.
pub fn summarise(
    request: &MatrixRequest,
    cells: &[Result<ReadyCell<'_>, String>],
    points: &[CellPoints],
    machine: &Machine,
    experiment: &str,
) -> MatrixReport {
    let plan = &request.plan;
    let all: Vec<&TrialResult> = points.iter().flat_map(|point| &point.results).collect();
    let judging = judging_of(&plan.common, all.iter().copied());
    let names: Vec<String> = match plan.spec.metrics.is_empty() {
        true => vec![judging.main_metric.clone()],
        false => plan.spec.metrics.clone(),
    };
    let metrics: Vec<MetricReport> = names
        .iter()
        .map(|name| {
            let description = judging.describe(name);
            MetricReport {
                name: name.clone(),
                unit: description.unit,
                direction: description.direction,
            }
        })
        .collect();
    let axes: Vec<AxisReport> = plan
        .spec
        .axis
        .iter()
        .map(|axis| AxisReport {
            name: axis.name.clone(),
            levels: axis.level.iter().map(|level| level.name.clone()).collect(),
        })
        .collect();
    let cells: Vec<CellReport> = plan
        .cells
        .iter()
        .zip(cells)
        .zip(points)
        .map(|((planned, ready), points)| {
            let levels = plan.spec.levels(&planned.cell);
            let built = ready.as_ref().ok().and_then(|cell| cell.artifact.as_ref());
            let values = values(&points.results);
            CellReport {
                levels: levels.map(|(_, level)| level.name.clone()).collect(),
                commit: built.map(|artifact| artifact.revision.id.clone()),
                failure: points.failure.clone(),
                units: values
                    .keys()
                    .map(|name| (name.clone(), judging.describe(name).unit))
                    .collect(),
                values,
            }
        })
        .collect();
    MatrixReport {
        schema: MATRIX_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        created: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        experiment: experiment.to_owned(),
        points: plan.spec.points,
        tables: names
            .iter()
            .flat_map(|name| tables(name, &axes, &cells))
            .collect(),
        warnings: warnings(&all, &names, &axes),
        axes,
        metrics,
        cells,
        machine: serde_json::to_value(machine).unwrap_or_default(),
        plan: serde_json::to_value(&plan.common).unwrap_or_default(),
        seed: plan.common.experiment.seed,
    }
}

/// Values by metric. A metric that a trial lacks is left out: its points would not line up.
fn values(results: &[TrialResult]) -> BTreeMap<String, Vec<f64>> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in results.iter().flat_map(|result| &result.metrics) {
        values.entry(name.clone()).or_default().push(*value);
    }
    values.retain(|_, values| values.len() == results.len());
    values
}

fn warnings(results: &[&TrialResult], metrics: &[String], axes: &[AxisReport]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in results.iter().flat_map(|result| &result.warnings) {
        *counts.entry(warning).or_default() += 1;
    }
    let all = results.len();
    let of_trials = counts
        .into_iter()
        .map(|(warning, count)| format!("{warning} ({count} of {all} trials)"));
    let known: BTreeSet<&String> = results
        .iter()
        .flat_map(|result| result.metrics.keys())
        .collect();
    let absent = metrics
        .iter()
        .filter(|name| !results.is_empty() && !known.contains(name))
        .map(|name| {
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            format!(
                "no trial has the metric `{name}` (matrix.metrics); there are {}",
                known.join(", ")
            )
        });
    let single = axes
        .iter()
        .filter(|axis| axis.levels.len() == 1)
        .map(|axis| {
            format!(
                "axis `{}` has one level: nothing along it is compared",
                axis.name
            )
        });
    of_trials.chain(absent).chain(single).collect()
}

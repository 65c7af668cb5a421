//! From the data points to the report.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Judging, Plan};
use crate::report::matrix::{
    AxisReport, CellReport, MATRIX_SCHEMA, MatrixReport, MetricReport, Results, tables,
};
use crate::trial::{Machine, TrialResult};
use crate::verdict::{self, TrialMeasurement};

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
        true if !plan.common.phase.is_empty() => of_phases(&plan.common),
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
        results: results(&axes, &cells, points, &names, &judging),
        warnings: warnings(&all, &names, &axes),
        axes,
        metrics,
        cells,
        machine: serde_json::to_value(machine).unwrap_or_default(),
        plan: serde_json::to_value(&plan.common).unwrap_or_default(),
        seed: plan.common.experiment.seed,
    }
}

/// What phases are about: the throughput of each one that is under load, the length of the others,
/// and the metrics that the plan declares.
fn of_phases(plan: &Plan) -> Vec<String> {
    let phases = plan.phase.iter().map(|phase| {
        let metric = match phase.load {
            Some(_) => "throughput",
            None => "duration",
        };
        format!("{}.{metric}", phase.name)
    });
    phases.chain(plan.metric.keys().cloned()).collect()
}

/// Every two levels of every axis, judged as a comparison judges its metrics.
fn results(
    axes: &[AxisReport],
    cells: &[CellReport],
    points: &[CellPoints],
    names: &[String],
    judging: &Judging,
) -> Vec<Results> {
    let mut results = Vec::new();
    for (at, axis) in axes.iter().enumerate() {
        for (base, cell) in cells.iter().enumerate() {
            for (head, other) in cells.iter().enumerate() {
                let number = |cell: &CellReport| {
                    axis.levels
                        .iter()
                        .position(|level| *level == cell.levels[at])
                };
                let differs_here_only = cell
                    .levels
                    .iter()
                    .zip(&other.levels)
                    .enumerate()
                    .all(|(axis, (one, two))| (one != two) == (axis == at));
                if !differs_here_only || number(cell) > number(other) {
                    continue;
                }
                let measured = [base, head].map(|cell| measurements(&points[cell].results, names));
                if measured.iter().any(|side| side.len() < 2) {
                    continue;
                }
                let comparison = verdict::compare(&measured[0], &measured[1], judging);
                let of_name = |name: &String| {
                    let all = std::iter::once(&comparison.throughput).chain(&comparison.metrics);
                    all.into_iter().find(|metric| metric.name == *name).cloned()
                };
                let others = axes.iter().zip(&cell.levels).enumerate();
                let place = others
                    .filter(|(axis, _)| *axis != at)
                    .map(|(_, (axis, level))| format!("{}={level}", axis.name));
                results.push(Results {
                    axis: axis.name.clone(),
                    base: cell.levels[at].clone(),
                    head: other.levels[at].clone(),
                    place: place.collect::<Vec<_>>().join(", "),
                    metrics: names.iter().filter_map(of_name).collect(),
                    warnings: comparison.warnings.clone(),
                });
            }
        }
    }
    results
}

/// What is judged of a cell: the metrics that have tables, the rounds as blocks.
fn measurements(results: &[TrialResult], names: &[String]) -> Vec<TrialMeasurement> {
    let blocks = results.iter().enumerate();
    blocks
        .map(|(block, result)| TrialMeasurement {
            block: block as u32,
            profiled_ops: 0.0,
            profiled_cpu_ns: 0.0,
            metrics: result
                .metrics
                .iter()
                .filter(|(name, _)| names.contains(name))
                .map(|(name, value)| (name.clone(), *value))
                .collect(),
            functions: None,
        })
        .collect()
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

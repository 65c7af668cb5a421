//! From the data points to the report.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Judging, Plan};
use crate::profile::merged_folded_lines;
use crate::report::matrix::{
    AxisReport, CellReport, CellStacks, MATRIX_SCHEMA, MatrixReport, MetricReport, Results, tables,
};
use crate::trial::{Machine, TrialResult};
use crate::verdict::{self, TrialMeasurement};

use super::super::measure::typical_ops;
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
    let is_condition = |name: &str| {
        let mut axes = plan.spec.axis.iter();
        axes.any(|axis| axis.name == name && axis.condition)
    };
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
                absent: absent(&points.results, &names),
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
            .filter(|table| !is_condition(&table.axis))
            .collect(),
        results: results(&axes, &cells, points, &names, &judging)
            .into_iter()
            .filter(|results| !is_condition(&results.axis))
            .collect(),
        warnings: warnings(&all, &names, &axes),
        axes,
        metrics,
        cells,
        machine: serde_json::to_value(machine.with_guest_of(all.iter().copied()))
            .unwrap_or_default(),
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
    let typical = typical_ops(points.iter().flat_map(|point| &point.results));
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
                let measured = [base, head]
                    .map(|cell| measurements(&points[cell], names, &judging.groups, &typical));
                if measured.iter().any(|side| side.len() < 2) {
                    continue;
                }
                let comparison = verdict::compare(&measured[0], &measured[1], judging);
                let of_name = |name: &String| {
                    let all = std::iter::once(&comparison.throughput).chain(&comparison.metrics);
                    // One that no trial measured has no blocks.
                    all.into_iter()
                        .find(|metric| metric.name == *name && !metric.blocks.is_empty())
                        .cloned()
                };
                let others = axes.iter().zip(&cell.levels).enumerate();
                let place = others
                    .filter(|(axis, _)| *axis != at)
                    .map(|(_, (axis, level))| format!("{}={level}", axis.name));
                let judged: Vec<_> = names.iter().filter_map(of_name).collect();
                let lacking = names.iter().filter_map(|name| {
                    if judged.iter().any(|verdict| verdict.name == *name) {
                        return None;
                    }
                    let side = [cell, other]
                        .into_iter()
                        .find_map(|side| Some((side, side.absent.get(name)?)));
                    let (side, reason) = side?;
                    let level = &side.levels[at];
                    Some((
                        name.clone(),
                        format!("absent in {}={level}: {reason}", axis.name),
                    ))
                });
                results.push(Results {
                    absent: lacking.collect(),
                    axis: axis.name.clone(),
                    base: cell.levels[at].clone(),
                    head: other.levels[at].clone(),
                    place: place.collect::<Vec<_>>().join(", "),
                    metrics: judged,
                    warnings: comparison.warnings.clone(),
                    functions: comparison.functions.clone(),
                    groups: comparison.groups.clone(),
                    cells: [base, head],
                });
            }
        }
    }
    results
}

/// What is judged of a cell: the metrics that have tables, and its functions where it was sampled;
/// the rounds are the blocks.
fn measurements(
    points: &CellPoints,
    names: &[String],
    groups: &BTreeMap<String, Vec<String>>,
    typical: &BTreeMap<String, f64>,
) -> Vec<TrialMeasurement> {
    let results = points.results.iter().zip(&points.profiles).enumerate();
    let trials = results.map(|(block, (result, profile))| (block as u32, result, profile.as_ref()));
    let mut trials = super::super::measure::measurements(trials, groups, typical);
    for trial in &mut trials {
        trial.metrics.retain(|name, _| names.contains(name));
    }
    trials
}

/// Folded stacks of the cells that were sampled.
pub fn profiles(cells: &[CellReport], points: &[CellPoints]) -> Vec<CellStacks> {
    let sampled = points.iter().enumerate().filter_map(|(number, points)| {
        let profiles: Vec<_> = points.profiles.iter().flatten().collect();
        let levels = &cells.get(number)?.levels;
        (!profiles.is_empty()).then(|| CellStacks {
            cell: number,
            name: levels.join(", "),
            lines: merged_folded_lines(profiles),
        })
    });
    sampled.collect()
}

/// The metrics of the tables that some trial could not read, with the reason.
fn absent(results: &[TrialResult], names: &[String]) -> BTreeMap<String, String> {
    let absent = results.iter().flat_map(|result| &result.absent);
    absent
        .filter(|(name, _)| names.contains(name))
        .map(|(name, reason)| (name.clone(), reason.clone()))
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
            if let Some(reason) = results
                .iter()
                .find_map(|result| result.absent.get(name.as_str()))
            {
                return format!("no trial could read the metric `{name}`: {reason}");
            }
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

//! The values of a trial by name. `Judging::describe` knows their units and directions.

use std::collections::BTreeMap;

use crate::executor::guard::GuardReport;
use crate::load::WindowStats;

use super::outcome::WindowResult;

/// One run of a command.
#[derive(Debug, Clone)]
pub struct CommandRun {
    /// How it ended and what it used.
    pub report: GuardReport,
    /// The number that it printed, where one is read.
    pub value: Option<f64>,
}

/// Throughput, latency percentiles in milliseconds, CPU time per operation in nanoseconds, resident
/// set in bytes.
pub fn server_metrics(stats: &WindowStats, window: &WindowResult) -> BTreeMap<String, f64> {
    let ops = window.ops as f64;
    let usage = &window.usage;
    let mut metrics = BTreeMap::from([
        (
            "throughput".to_owned(),
            ops / (window.duration_ns as f64 / 1e9),
        ),
        ("cpu_per_op".to_owned(), usage.cpu_ns() as f64 / ops),
        ("cpu_user_per_op".to_owned(), usage.user_ns as f64 / ops),
        ("cpu_system_per_op".to_owned(), usage.system_ns as f64 / ops),
        ("rss".to_owned(), usage.rss_bytes as f64),
    ]);
    let latency = stats.latency();
    for (name, percentile) in [
        ("latency_p50", 50.0),
        ("latency_p99", 99.0),
        ("latency_p99.9", 99.9),
    ] {
        metrics.insert(
            name.to_owned(),
            latency.percentile_ns(percentile) as f64 / 1e6,
        );
    }
    metrics
}

/// Wall and CPU time of a run in seconds, the printed number, the largest resident set in bytes:
/// means over the runs.
pub fn command_metrics(runs: &[CommandRun]) -> BTreeMap<String, f64> {
    let count = runs.len().max(1) as f64;
    let mean = |of: &dyn Fn(&CommandRun) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let mut metrics = BTreeMap::from([
        (
            "wall_time".to_owned(),
            mean(&|run| run.report.wall_ns as f64 / 1e9),
        ),
        (
            "cpu_time".to_owned(),
            mean(&|run| (run.report.user_ns + run.report.system_ns) as f64 / 1e9),
        ),
        (
            "rss".to_owned(),
            mean(&|run| run.report.max_rss_bytes as f64),
        ),
    ]);
    if runs.iter().any(|run| run.value.is_some()) {
        metrics.insert(
            "output".to_owned(),
            mean(&|run| run.value.unwrap_or(f64::NAN)),
        );
    }
    metrics
}

//! The values of a trial by name. `Judging::describe` knows their units and directions.

use std::collections::BTreeMap;

use crate::executor::guard::GuardReport;
use crate::load::WindowStats;

use super::loading::Seen;
use super::outcome::WindowResult;
use super::usage::UsageDelta;

/// One run of a command.
#[derive(Debug, Clone)]
pub struct CommandRun {
    /// How it ended and what it used.
    pub report: GuardReport,
    /// The number that it printed, where one is read.
    pub value: Option<f64>,
}

impl CommandRun {
    /// CPU time and context switches, as of any subject.
    pub fn usage(&self) -> UsageDelta {
        UsageDelta {
            user_ns: self.report.user_ns,
            system_ns: self.report.system_ns,
            rss_bytes: self.report.max_rss_bytes,
            context_switches: self.report.context_switches,
            page_faults: 0,
        }
    }
}

/// What our generator saw: throughput in operations per second, latency percentiles in milliseconds.
pub fn load_metrics(stats: &WindowStats) -> BTreeMap<String, f64> {
    let latency = stats.latency();
    let percentiles = [
        ("latency_p50", 50.0),
        ("latency_p99", 99.0),
        ("latency_p99.9", 99.9),
    ];
    let throughput = stats.ops() as f64 / (stats.duration_ns as f64 / 1e9);
    let percentiles = percentiles.map(|(name, percentile)| {
        let ms = latency.percentile_ns(percentile) as f64 / 1e6;
        (name.to_owned(), ms)
    });
    percentiles
        .into_iter()
        .chain([("throughput".to_owned(), throughput)])
        .collect()
}

/// What the load saw, and what the server used: CPU time per operation in nanoseconds (in all and in
/// seconds where the load counts no operations), resident set in bytes.
pub fn server_metrics(seen: &Seen, window: &WindowResult) -> BTreeMap<String, f64> {
    let usage = &window.usage;
    let mut metrics = seen.metrics.clone();
    let parts = [
        ("cpu", usage.cpu_ns()),
        ("cpu_user", usage.user_ns),
        ("cpu_system", usage.system_ns),
    ];
    for (part, ns) in parts {
        match seen.ops {
            Some(ops) => metrics.insert(format!("{part}_per_op"), ns as f64 / ops as f64),
            None => metrics.insert(format!("{part}_time"), ns as f64 / 1e9),
        };
    }
    metrics.insert("rss".to_owned(), usage.rss_bytes as f64);
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

//! The text table, column by column as memtier_benchmark lays it out.

use std::fmt::Write;

use crate::load::Latency;

use super::summary::{Row, RunSummary};

/// Steps in each half of what is left to 100 % in a latency distribution.
const TICKS_PER_HALF: u32 = 10;

/// The title, the table and, with `distribution`, the latency distributions.
pub fn table(summary: &RunSummary, percentiles: &[f64], distribution: bool) -> String {
    let mut text = format!("\n\n{}\n", summary.title);
    let width = summary
        .rows
        .iter()
        .map(|row| row.title.len())
        .fold(7, usize::max);
    let mut header = format!("{:<width$} {:>12} ", "Type", "Ops/sec");
    if !summary.own_commands {
        let _ = write!(header, "{:>12} {:>12} ", "Hits/sec", "Misses/sec");
    }
    let _ = write!(header, "{:>15} ", "Avg. Latency");
    for percentile in percentiles {
        let name = format!("p{} Latency", short(*percentile));
        let _ = write!(header, "{name:>15} ");
    }
    let _ = write!(header, "{:>12} ", "KB/sec");
    let _ = writeln!(text, "{}", "=".repeat(header.len()));
    let _ = writeln!(text, "{header}");
    let _ = writeln!(text, "{}", "-".repeat(header.len()));
    for row in &summary.rows {
        let _ = write!(text, "{:<width$} {:>12.2} ", row.title, row.ops_per_second);
        if !summary.own_commands {
            let cell = |value: Option<f64>| value.map_or("---".to_owned(), |v| format!("{v:.2}"));
            let hits = cell(row.hits_and_misses.map(|(hits, _)| hits));
            let misses = cell(row.hits_and_misses.map(|(_, misses)| misses));
            let _ = write!(text, "{hits:>12} {misses:>12} ");
        }
        let latency = |ns: f64| {
            if row.has_latency {
                format!("{:.5}", ns / 1e6)
            } else {
                "---".to_owned()
            }
        };
        let _ = write!(text, "{:>15} ", latency(row.latency.mean_ns()));
        for percentile in percentiles {
            let value = row.latency.percentile_ns(*percentile) as f64;
            let _ = write!(text, "{:>15} ", latency(value));
        }
        let traffic = if row.title == "Waits" {
            "---".to_owned()
        } else {
            format!("{:.2}", row.kb_per_second())
        };
        let _ = writeln!(text, "{traffic:>12} ");
    }
    if distribution {
        text.push_str(&distributions(&summary.rows));
    }
    text
}

fn distributions(rows: &[Row]) -> String {
    let mut text = String::from("\n\nRequest Latency Distribution\n");
    let _ = writeln!(text, "Type     <= msec         Percent");
    let _ = writeln!(text, "{}", "-".repeat(72));
    let mut first = true;
    for row in rows {
        let Some(name) = &row.distribution else {
            continue;
        };
        if !std::mem::take(&mut first) {
            text.push_str("---\n");
        }
        for (ms, percent) in latency_distribution(&row.latency) {
            let _ = writeln!(text, "{name:<6} {ms:>8.3} {percent:>12.3}");
        }
    }
    text
}

/// Latencies in milliseconds, each with the percentage of operations that do not exceed it.
pub fn latency_distribution(latency: &Latency) -> Vec<(f64, f64)> {
    if latency.count() == 0 {
        return vec![(0.0, 100.0)];
    }
    latency
        .histogram()
        .iter_quantiles(TICKS_PER_HALF)
        .map(|step| {
            (
                step.value_iterated_to() as f64 / 1e6,
                step.quantile_iterated_to() * 100.0,
            )
        })
        .collect()
}

/// A percentile as memtier_benchmark heads a column with it: 50, 99.9, 99.950.
fn short(percentile: f64) -> String {
    if percentile.fract() == 0.0 {
        format!("{percentile:.0}")
    } else if (percentile * 10.0).fract().abs() < 1e-9 {
        format!("{percentile:.1}")
    } else {
        format!("{percentile:.3}")
    }
}

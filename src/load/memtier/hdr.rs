//! HDR histograms as files and as text, in microseconds as memtier_benchmark keeps them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use crate::load::Latency;

use super::summary::RunSummary;

/// Writes `PREFIX_FULL_RUN_N.hgrm` and `.txt` of run `number`, and the same for each command.
pub fn write_files(prefix: &Path, number: usize, summary: &RunSummary) -> io::Result<()> {
    for row in &summary.rows {
        let (name, title) = match &row.distribution {
            // There are no WAITs.
            Some(_) if row.title == "Waits" => continue,
            Some(name) => (
                format!("{name}_command_run_{number}"),
                format!("{name} command"),
            ),
            None => (format!("FULL_RUN_{number}"), "Full Run command".to_owned()),
        };
        let path = |ending: &str| {
            let mut path = prefix.as_os_str().to_owned();
            path.push(format!("_{name}.{ending}"));
            PathBuf::from(path)
        };
        let log = interval_log(&row.latency, &title, summary).map_err(io::Error::other)?;
        std::fs::write(path("hgrm"), log)?;
        std::fs::write(path("txt"), percentile_table(&row.latency))?;
    }
    Ok(())
}

/// The histogram compressed and in base 64, as HdrHistogram's log format has it.
pub(super) fn compressed(latency: &Latency) -> Result<String, String> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = Vec::new();
    IntervalLogWriterBuilder::new()
        .begin_log_with(&mut log, &mut serializer)
        .map_err(|error| error.to_string())?
        .write_histogram(&microseconds(latency), Duration::ZERO, Duration::ZERO, None)
        .map_err(|error| format!("{error:?}"))?;
    let log = String::from_utf8(log).map_err(|error| error.to_string())?;
    // A line is start, duration, greatest value, histogram.
    let encoded = log.trim_end().rsplit(',').next().unwrap_or_default();
    Ok(encoded.to_owned())
}

fn interval_log(latency: &Latency, title: &str, summary: &RunSummary) -> Result<String, String> {
    let encoded = compressed(latency)?;
    let (start, end) = (
        summary.started_ms as f64 / 1e3,
        summary.finished_ms as f64 / 1e3,
    );
    Ok(format!(
        "#[{title} HDR latency histogram results]\n\
         #[Histogram log format version 1.2]\n\
         #[StartTime: {start:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"EndTimestamp\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         {start:.3},{end:.3},{:.1},{encoded}\n",
        latency.max_ns() as f64 / 1e3,
    ))
}

fn microseconds(latency: &Latency) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000, 3)
        .expect("the bounds are constants that the library allows");
    for step in latency.histogram().iter_recorded() {
        let us = (step.value_iterated_to() / 1000).max(1);
        histogram.saturating_record_n(us, step.count_since_last_iteration());
    }
    histogram
}

/// HdrHistogram's percentile table; values in milliseconds.
fn percentile_table(latency: &Latency) -> String {
    use std::fmt::Write;

    let mut text = format!(
        "{:>12} {:>12} {:>12} {:>16}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let histogram = latency.histogram();
    let mut total = 0;
    for step in histogram.iter_quantiles(10) {
        total += step.count_since_last_iteration();
        let quantile = step.quantile_iterated_to();
        let inverse = if quantile < 1.0 {
            format!("{:.2}", 1.0 / (1.0 - quantile))
        } else {
            "inf".to_owned()
        };
        let _ = writeln!(
            text,
            "{:>12.3} {quantile:>12.6} {total:>12} {inverse:>12}",
            step.value_iterated_to() as f64 / 1e6,
        );
    }
    let _ = writeln!(
        text,
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n\
         #[Max     = {:>12.3}, Total count    = {:>12}]",
        latency.mean_ns() / 1e6,
        histogram.stdev() / 1e6,
        latency.max_ns() as f64 / 1e6,
        latency.count(),
    );
    text
}

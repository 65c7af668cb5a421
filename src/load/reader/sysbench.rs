//! sysbench: `transactions: N (X per sec.)`, or `events per second: X` where there is no database.

use super::search::{after, missing, number, only, refuse};
use super::{ReaderError, Reading};

/// `(220.34 per sec.)` in a line that begins with `prefix`.
fn per_second<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    after(line, prefix)?;
    let (_, rest) = line.split_once('(')?;
    rest.strip_suffix(" per sec.)")
}

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    line.starts_with("FATAL:")
        || line.starts_with("ALERT:")
        || after(line, "ignored errors:").is_some_and(|count| count != "0")
}

/// Reads transactions or events per second, and the latencies. Errors that sysbench ignored by
/// trying again are errors here: such runs do not compare.
pub fn read(output: &str) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let transactions = only(output, "line `transactions:`", |line| {
        per_second(line, "transactions:")
    })?;
    let (rate, unit) = match transactions {
        Some(found) => (found, "tps"),
        None => {
            let events = only(output, "line `events per second:`", |line| {
                after(line, "events per second:").or_else(|| after(line, "events/s (eps):"))
            })?;
            let found = events
                .ok_or_else(|| missing(output, "line `transactions:` or `events per second:`"))?;
            (found, "events/s")
        }
    };
    let mut reading = Reading::throughput(number(rate.1, rate.0)?, unit);
    for (prefix, name) in [
        ("avg:", "latency_mean"),
        ("max:", "latency_max"),
        ("95th percentile:", "latency_p95"),
        ("99th percentile:", "latency_p99"),
    ] {
        if let Some((line, ms)) = only(output, prefix, |line| after(line, prefix))? {
            reading.latency(name, number(ms, line)?);
        }
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn recorded_runs() {
        let reading = read(&recorded("sysbench-oltp.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(216.58));
        assert_eq!(reading.metrics[0].description.unit, "tps");
        assert!(reading.get("latency_p95").unwrap() > 0.0);
        let reading = read(&recorded("sysbench-cpu.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(1312.41));
        assert_eq!(reading.get("latency_mean"), Some(0.75));
    }

    #[test]
    fn failures_are_quoted() {
        let error = read(&recorded("sysbench-oltp-ignored.txt")).unwrap_err();
        assert!(error.to_string().contains("ignored errors:"), "{error}");
        let error = read(&recorded("sysbench-error.txt")).unwrap_err();
        assert!(
            error.to_string().contains("Connection to database failed"),
            "{error}"
        );
        assert!(matches!(
            read("General statistics:"),
            Err(ReaderError::Missing { .. })
        ));
        let line = "    transactions:   4   (2.00 per sec.)\n";
        assert!(matches!(
            read(&line.repeat(2)),
            Err(ReaderError::Twice { .. })
        ));
    }
}

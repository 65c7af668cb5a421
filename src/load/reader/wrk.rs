//! wrk: `Requests/sec: X`.

use super::search::{after, lines, number, one, quote, refuse};
use super::{ReaderError, Reading};

/// Whether a line says that something failed; the first two are only printed when it did.
pub fn failed(line: &str) -> bool {
    after(line, "Socket errors:").is_some()
        || after(line, "Non-2xx or 3xx responses:").is_some()
        || line.starts_with("unable to connect")
}

/// Reads requests per second, the mean latency, and the percentiles of `--latency`.
pub fn read(output: &str) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let (line, rate) = one(output, "line `Requests/sec:`", |line| {
        after(line, "Requests/sec:")
    })?;
    let mut reading = Reading::throughput(number(rate, line)?, "req/s");
    for line in lines(output) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("Latency"), Some(mean)) if line.contains('%') => {
                reading.latency("latency_mean", milliseconds(mean, line)?);
            }
            (Some(percentile), Some(value)) if words.next().is_none() => {
                let Some(percentile) = percentile.strip_suffix('%') else {
                    continue;
                };
                let name = format!("latency_p{percentile}");
                reading.latency(&name, milliseconds(value, line)?);
            }
            _ => {}
        }
    }
    Ok(reading)
}

/// `5.12ms`, `85.14us`, `1.20s`, `2.00m`.
fn milliseconds(text: &str, line: &str) -> Result<f64, ReaderError> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    for (unit, factor) in units {
        if let Some(value) = text.strip_suffix(unit) {
            return Ok(number(value, line)? * factor);
        }
    }
    Err(ReaderError::Malformed {
        expected: "a time".to_owned(),
        line: quote(line),
    })
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_recorded_run() {
        let reading = read(&recorded("wrk.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(1179.65));
        assert_eq!(reading.get("latency_mean"), Some(5.12));
        assert_eq!(reading.get("latency_p99"), Some(51.21));
    }

    #[test]
    fn failures_are_quoted() {
        let error = read(&recorded("wrk-errors.txt")).unwrap_err();
        assert!(
            error.to_string().contains("Non-2xx or 3xx responses: 1401"),
            "{error}"
        );
        let error = read(&recorded("wrk-refused.txt")).unwrap_err();
        assert!(error.to_string().contains("Connection refused"), "{error}");
        assert!(matches!(read(""), Err(ReaderError::Missing { .. })));
        assert!(matches!(
            read(&"Requests/sec:   5.0\n".repeat(2)),
            Err(ReaderError::Twice { .. })
        ));
    }

    #[test]
    fn times_in_every_unit() {
        for (text, ms) in [
            ("85.00us", 0.085),
            ("1.50ms", 1.5),
            ("2.00s", 2000.0),
            ("1.00m", 6e4),
        ] {
            assert_eq!(milliseconds(text, ""), Ok(ms));
        }
    }
}

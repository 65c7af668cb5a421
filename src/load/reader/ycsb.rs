//! YCSB (<https://github.com/brianfrankcooper/YCSB>): `[SECTION], Name, Value` lines.

use super::search::{lines, number, one, refuse};
use super::{ReaderError, Reading};

/// Percentiles as YCSB names them.
const PERCENTILES: [(&str, &str); 6] = [
    ("50thPercentileLatency(us)", "p50"),
    ("90thPercentileLatency(us)", "p90"),
    ("95thPercentileLatency(us)", "p95"),
    ("99thPercentileLatency(us)", "p99"),
    ("99.9PercentileLatency(us)", "p99.9"),
    ("99.99PercentileLatency(us)", "p99.99"),
];

/// `[READ], Return=OK, 5` as its three parts.
fn entry(line: &str) -> Option<(&str, &str, &str)> {
    let (section, rest) = line.trim().strip_prefix('[')?.split_once("], ")?;
    let (name, value) = rest.split_once(", ")?;
    Some((section, name.trim(), value.trim()))
}

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    let Some((section, name, value)) = entry(line) else {
        return false;
    };
    let bad_return = name
        .strip_prefix("Return=")
        .is_some_and(|code| !matches!(code, "OK" | "BATCHED_OK"));
    let bad_operations = section.ends_with("-FAILED") && name == "Operations";
    (bad_return || bad_operations) && value.parse() != Ok(0.0)
}

/// Reads the summary: throughput, and mean and percentiles of each operation. Any return code but
/// OK is an error, and so is an operation that failed.
pub fn read(output: &str) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let (line, value) = one(
        output,
        "`[OVERALL], Throughput(ops/sec)`",
        |line| match entry(line) {
            Some(("OVERALL", "Throughput(ops/sec)", value)) => Some(value),
            _ => None,
        },
    )?;
    let mut reading = Reading::throughput(number(value, line)?, "ops/s");
    for line in lines(output) {
        let Some((section, name, value)) = entry(line) else {
            continue;
        };
        if matches!(section, "OVERALL" | "CLEANUP") || section.starts_with("TOTAL_GC") {
            continue;
        }
        // One that reads, modifies and writes is counted as its read and its update too.
        if name == "Operations" && section != "READ-MODIFY-WRITE" {
            let before = reading.operations.unwrap_or(0);
            reading.operations = Some(before + number(value, line)? as u64);
        }
        let operation = section.to_lowercase().replace('-', "_");
        let which = if name == "AverageLatency(us)" {
            "mean"
        } else if let Some((_, which)) = PERCENTILES.iter().find(|(known, _)| *known == name) {
            which
        } else {
            continue;
        };
        reading.latency(
            &format!("latency_{operation}_{which}"),
            number(value, line)? / 1000.0,
        );
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_run_on_cassandra() {
        let reading = read(&recorded("ycsb-cassandra.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(70273.84615384616));
        assert_eq!(reading.get("latency_read_mean"), Some(2.0471253612));
        assert_eq!(reading.get("latency_read_p95"), Some(3.873));
        assert_eq!(reading.get("latency_update_p99"), Some(7.411));
        assert_eq!(reading.get("latency_cleanup_mean"), None);
        assert_eq!(reading.operations, Some(113_853_045 + 12_649_998));
    }

    #[test]
    fn error_returns_are_quoted() {
        let error = read(&recorded("ycsb-errors.txt")).unwrap_err();
        assert_eq!(
            error,
            ReaderError::Failed {
                line: "[READ], Return=ERROR, 544".to_owned()
            }
        );
        for line in [
            "[READ], Return=NOT_FOUND, 3",
            "[READ-FAILED], Operations, 2",
        ] {
            let output = format!("[OVERALL], Throughput(ops/sec), 5.0\n{line}\n");
            assert!(
                matches!(read(&output), Err(ReaderError::Failed { .. })),
                "{line}"
            );
        }
        assert!(read("[OVERALL], Throughput(ops/sec), 5.0\n[READ], Return=ERROR, 0\n").is_ok());
    }

    #[test]
    fn no_throughput_and_two_of_them() {
        assert!(matches!(
            read("[READ], Operations, 5\n"),
            Err(ReaderError::Missing { .. })
        ));
        let line = "[OVERALL], Throughput(ops/sec), 5.0\n";
        assert!(matches!(
            read(&line.repeat(2)),
            Err(ReaderError::Twice { .. })
        ));
        assert!(matches!(
            read("[OVERALL], Throughput(ops/sec), NaN\n"),
            Err(ReaderError::Malformed { .. })
        ));
    }
}

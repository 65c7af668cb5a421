//! pgbench: `tps = X (without initial connection time)`.

use super::search::{after, number, one, only, refuse};
use super::{ReaderError, Reading};

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    line.starts_with("pgbench: error:")
        || line.starts_with("pgbench: fatal:")
        || line.contains(" aborted in ")
        || after(line, "number of failed transactions:").is_some_and(|count| count != "0")
}

/// Reads transactions per second. Versions before 14 print it with and without the time of
/// connecting; the one without is meant.
pub fn read(output: &str) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let (line, tps) = one(output, "line `tps = …`", |line| {
        let tps = after(line, "tps = ")?;
        (!line.contains("(including connections")).then_some(tps)
    })?;
    let mut reading = Reading::throughput(number(tps, line)?, "tps");
    const PROCESSED: &str = "number of transactions actually processed: ";
    if let Some((line, count)) = only(output, PROCESSED.trim(), |line| after(line, PROCESSED))? {
        // `400/400` where their number was asked for.
        let done = count.split('/').next().unwrap_or(count);
        reading.operations = Some(number(done, line)? as u64);
    }
    for (prefix, name) in [
        ("latency average = ", "latency_mean"),
        ("latency stddev = ", "latency_stddev"),
    ] {
        if let Some((line, ms)) = only(output, prefix.trim(), |line| after(line, prefix))? {
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
        let reading = read(&recorded("pgbench.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(456.130355));
        assert_eq!(reading.get("latency_mean"), Some(8.769));
        assert_eq!(reading.operations, Some(1369));
        let reading = read(&recorded("pgbench-progress.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(10103.306307));
        assert_eq!(reading.get("latency_stddev"), Some(0.498));
        assert_eq!(reading.operations, Some(400));
    }

    #[test]
    fn the_form_before_version_14() {
        let output = "latency average = 2.5 ms\ntps = 400.1 (including connections establishing)\n\
            tps = 401.2 (excluding connections establishing)\n";
        assert_eq!(read(output).unwrap().get("throughput"), Some(401.2));
    }

    #[test]
    fn failures_are_quoted() {
        let error = read(&recorded("pgbench-error.txt")).unwrap_err();
        assert!(error.to_string().contains("nosuch"), "{error}");
        let failed =
            "number of failed transactions: 3 (0.2%)\ntps = 5 (without initial connection time)\n";
        let error = read(failed).unwrap_err();
        assert!(
            error.to_string().contains("failed transactions: 3"),
            "{error}"
        );
        assert!(matches!(read(""), Err(ReaderError::Missing { .. })));
        let line = "tps = 5 (without initial connection time)\n";
        assert!(matches!(
            read(&line.repeat(2)),
            Err(ReaderError::Twice { .. })
        ));
    }
}

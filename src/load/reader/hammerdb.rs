//! HammerDB's TPROC-C (<https://www.hammerdb.com>): `System achieved N NOPM from M PostgreSQL TPM`,
//! and before version 4 `System achieved M PostgreSQL TPM at N NOPM`.

use crate::plan::Direction;

use super::search::{number, one, quote, refuse};
use super::{ReaderError, Reading};

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    line.contains("FINISHED FAILED") || line.starts_with("Error in Virtual User")
}

/// Reads the one result line: transactions per minute is the main metric, as in the seeds, and new
/// orders per minute stands beside it.
pub fn read(output: &str) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let (line, result) = one(output, "`TEST RESULT : System achieved …`", |line| {
        let (_, result) = line.split_once("TEST RESULT : System achieved ")?;
        Some(result)
    })?;
    let words: Vec<&str> = result.split_whitespace().collect();
    // The number before a unit; the database's name stands between number and TPM.
    let before = |unit: &str| {
        let at = words.iter().position(|word| *word == unit)?;
        words[..at]
            .iter()
            .rev()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    };
    let (Some(nopm), Some(tpm)) = (before("NOPM"), before("TPM")) else {
        return Err(ReaderError::Malformed {
            expected: "a result in NOPM and TPM".to_owned(),
            line: quote(line),
        });
    };
    let mut reading = Reading::throughput(number(tpm, line)?, "TPM");
    reading.push(
        "nopm",
        number(nopm, line)?,
        "NOPM",
        Direction::HigherIsBetter,
    );
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn both_orders() {
        let reading = read(&recorded("hammerdb-4.txt")).unwrap();
        assert_eq!(reading.get("throughput"), Some(1_034_702.0));
        assert_eq!(reading.get("nopm"), Some(449_987.0));
        assert_eq!(reading.metrics[0].description.unit, "TPM");
        let old = "Vuser 1:TEST RESULT : System achieved 19319 PostgreSQL TPM at 8370 NOPM\n";
        let reading = read(old).unwrap();
        assert_eq!(reading.get("throughput"), Some(19319.0));
        assert_eq!(reading.get("nopm"), Some(8370.0));
        let server = "Vuser 1:TEST RESULT : System achieved 5 NOPM from 11 SQL Server TPM\n";
        assert_eq!(read(server).unwrap().get("throughput"), Some(11.0));
    }

    #[test]
    fn failures_are_quoted() {
        let error = read(&recorded("hammerdb-failed.txt")).unwrap_err();
        assert!(
            error.to_string().contains("Error in Virtual User 2"),
            "{error}"
        );
        assert!(matches!(
            read("Vuser 1:Beginning rampup time"),
            Err(ReaderError::Missing { .. })
        ));
        let line = "Vuser 1:TEST RESULT : System achieved 5 NOPM from 11 PostgreSQL TPM\n";
        assert!(matches!(
            read(&line.repeat(2)),
            Err(ReaderError::Twice { .. })
        ));
        let half = "Vuser 1:TEST RESULT : System achieved 5 NOPM\n";
        assert!(matches!(read(half), Err(ReaderError::Malformed { .. })));
    }
}

//! redis-benchmark: `--csv`, `-q` and the long form, of Redis 2 to 8.

use super::search::{lines, missing, number, quote, refuse};
use super::{ReaderError, Reading};

const SEVERAL: &str = "; say with `select` which test is meant";

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    [
        "Error from server",
        "Error: ",
        "Error writing",
        "Could not connect",
        "Server closed",
    ]
    .iter()
    .any(|begin| line.starts_with(begin))
}

/// One test with its line.
struct Test<'a> {
    name: &'a str,
    line: &'a str,
    reading: Reading,
}

/// The test that is meant: the selected one, or the only one.
fn choose(
    output: &str,
    tests: Vec<Test<'_>>,
    select: Option<&str>,
) -> Result<Reading, ReaderError> {
    let what = match select {
        Some(name) => format!("test `{name}`"),
        None => "test".to_owned(),
    };
    let mut wanted = tests
        .into_iter()
        .filter(|test| select.is_none_or(|name| test.name.eq_ignore_ascii_case(name)));
    match (wanted.next(), wanted.next()) {
        (None, _) => Err(missing(output, &what)),
        (Some(test), None) => Ok(test.reading),
        (Some(first), Some(second)) => Err(ReaderError::Twice {
            what,
            first: quote(first.line),
            second: quote(second.line),
            hint: if select.is_none() { SEVERAL } else { "" },
        }),
    }
}

/// Reads `--csv`. Old versions print no header: name and requests per second only.
pub fn read_csv(output: &str, select: Option<&str>) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let mut header: Vec<&str> = Vec::new();
    let mut tests = Vec::new();
    for line in lines(output) {
        let Some(cells) = csv_cells(line) else {
            continue;
        };
        if cells.first() == Some(&"test") {
            header = cells;
            continue;
        }
        let [name, rate, rest @ ..] = cells.as_slice() else {
            continue;
        };
        if !rest.is_empty() && cells.len() != header.len() {
            return Err(ReaderError::Malformed {
                expected: format!("a line of {} cells", header.len().max(2)),
                line: quote(line),
            });
        }
        let mut reading = Reading::throughput(number(rate, line)?, "ops/s");
        for (column, cell) in header.iter().zip(&cells).skip(2) {
            let metric = match column.strip_suffix("_latency_ms") {
                Some("avg") => "latency_mean".to_owned(),
                Some(which) => format!("latency_{which}"),
                None => continue,
            };
            reading.latency(&metric, number(cell, line)?);
        }
        tests.push(Test {
            name,
            line,
            reading,
        });
    }
    choose(output, tests, select)
}

/// The cells of a line in which every one is quoted; a test's name may hold commas.
fn csv_cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.split("\",\"").collect())
}

/// Reads the form of `-q` (`GET: 49751.24 requests per second, p50=0.055 msec`) and the long form.
pub fn read_plain(output: &str, select: Option<&str>) -> Result<Reading, ReaderError> {
    refuse(output, failed)?;
    let mut tests: Vec<Test<'_>> = Vec::new();
    let mut section = "";
    let mut all = lines(output).peekable();
    while let Some(line) = all.next() {
        if let Some(name) = line
            .strip_prefix("====== ")
            .and_then(|rest| rest.strip_suffix(" ======"))
        {
            section = name;
        } else if let Some(rate) = line.trim().strip_prefix("throughput summary: ") {
            tests.push(Test {
                name: section,
                line,
                reading: Reading::throughput(rate_of(rate, line)?, "ops/s"),
            });
        } else if line.trim() == "latency summary (msec):" {
            let names = all.next().unwrap_or_default();
            let values = all.next().unwrap_or_default();
            if let Some(test) = tests.last_mut() {
                for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                    let name = if name == "avg" { "mean" } else { name };
                    test.reading
                        .latency(&format!("latency_{name}"), number(value, values)?);
                }
            }
        } else if let Some((name, rest)) = line.split_once(": ")
            && rest.contains(" requests per second")
        {
            let mut reading = Reading::throughput(rate_of(rest, line)?, "ops/s");
            if let Some((_, p50)) = rest.split_once("p50=") {
                reading.latency("latency_p50", number(first_word(p50), line)?);
            }
            tests.push(Test {
                name: name.trim(),
                line,
                reading,
            });
        } else if !section.is_empty() && line.ends_with(" requests per second") {
            // The long form before Redis 6.2.
            tests.push(Test {
                name: section,
                line,
                reading: Reading::throughput(rate_of(line, line)?, "ops/s"),
            });
        }
    }
    choose(output, tests, select)
}

fn rate_of(text: &str, line: &str) -> Result<f64, ReaderError> {
    number(first_word(text), line)
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn csv_of_version_7() {
        let output = recorded("redis-benchmark.csv");
        let reading = read_csv(&output, Some("get")).unwrap();
        assert_eq!(reading.get("throughput"), Some(212765.97));
        assert_eq!(reading.get("latency_mean"), Some(0.124));
        assert_eq!(reading.get("latency_p99"), Some(2.335));
        let error = read_csv(&output, None).unwrap_err().to_string();
        assert!(
            error.contains("\"SET\"") && error.contains("select"),
            "{error}"
        );
        assert!(matches!(
            read_csv(&output, Some("LPUSH")),
            Err(ReaderError::Missing { .. })
        ));
    }

    #[test]
    fn csv_of_old_versions_has_two_cells() {
        let reading = read_csv("\"GET\",\"142857.14\"\n", None).unwrap();
        assert_eq!(reading.get("throughput"), Some(142857.14));
    }

    #[test]
    fn the_long_form() {
        let reading = read_plain(&recorded("redis-benchmark.txt"), None).unwrap();
        assert_eq!(reading.get("throughput"), Some(39370.08));
        assert_eq!(reading.get("latency_mean"), Some(0.193));
        assert_eq!(reading.get("latency_max"), Some(10.279));
    }

    #[test]
    fn the_quiet_form_among_its_progress() {
        let output = recorded("redis-benchmark-quiet.txt");
        let reading = read_plain(&output, Some("GET")).unwrap();
        assert_eq!(reading.get("throughput"), Some(49751.24));
        assert_eq!(reading.get("latency_p50"), Some(0.055));
    }

    /// From the gist on huge pages among the seeds (Redis 2.2).
    #[test]
    fn the_form_of_redis_2() {
        let output = "PING (inline): 135501.36 requests per second\nPING: 136798.91 requests per second\n\
            GET: 135685.22 requests per second\nLRANGE (first 100 elements): 78988.94 requests per second\n";
        let rate = |name| read_plain(output, Some(name)).unwrap().get("throughput");
        assert_eq!(rate("GET"), Some(135685.22));
        assert_eq!(rate("LRANGE (first 100 elements)"), Some(78988.94));
        let long = "====== GET ======\n  100000 requests completed in 0.74 seconds\n\n135685.22 requests per second\n";
        assert_eq!(
            read_plain(long, None).unwrap().get("throughput"),
            Some(135685.22)
        );
    }

    #[test]
    fn errors_are_quoted() {
        let error = read_csv(&recorded("redis-benchmark-error.csv"), None).unwrap_err();
        assert!(error.to_string().contains("ERR wrong number"), "{error}");
        assert!(read_csv("\"GET\",\"fast\"\n", None).is_err());
        assert!(read_plain("", None).is_err());
    }
}

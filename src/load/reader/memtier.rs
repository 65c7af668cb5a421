//! memtier_benchmark, and `perfblame load`: the JSON document and the table.

use serde_json::Value;

use super::search::{lines, missing, number, quote};
use super::{ReaderError, Reading};

const ONE_RUN: &str = "ALL STATS";
const SEVERAL_RUNS: &str = "AGGREGATED AVERAGE RESULTS";

/// Reads `--json-out-file`: the totals of the only run, or the mean of several.
pub fn read_json(output: &str) -> Result<Reading, ReaderError> {
    let malformed = |expected: &str, line: &str| ReaderError::Malformed {
        expected: expected.to_owned(),
        line: quote(line),
    };
    let document: Value =
        serde_json::from_str(output).map_err(|error| malformed("JSON", &error.to_string()))?;
    let object = document
        .as_object()
        .ok_or_else(|| malformed("an object of memtier_benchmark", output))?;
    let mut found: Option<(&str, &Value)> = None;
    for (title, stats) in object {
        if title == ONE_RUN || title.starts_with(SEVERAL_RUNS) {
            if let Some((first, _)) = found {
                return Err(ReaderError::Twice {
                    what: "result".to_owned(),
                    first: first.to_owned(),
                    second: title.clone(),
                    hint: "",
                });
            }
            found = Some((title, stats));
        }
    }
    let (_, stats) = found.ok_or_else(|| ReaderError::Missing {
        what: format!("`{ONE_RUN}` or `{SEVERAL_RUNS}`"),
        last: object.keys().next_back().cloned().unwrap_or_default(),
    })?;
    for (name, row) in stats.as_object().into_iter().flatten() {
        let errors = row.get("Connection Errors").and_then(Value::as_u64);
        if errors.is_some_and(|errors| errors > 0) {
            return Err(ReaderError::Failed {
                line: format!("{name}: {} connection errors", errors.unwrap_or_default()),
            });
        }
    }
    let totals = stats.get("Totals").unwrap_or(&Value::Null);
    let get = |key: &str| totals.get(key).and_then(Value::as_f64);
    let rate = get("Ops/sec").ok_or_else(|| ReaderError::Missing {
        what: "`Ops/sec` of `Totals`".to_owned(),
        last: quote(&totals.to_string()),
    })?;
    let mut reading = Reading::throughput(rate, "ops/s");
    let mean = get("Average Latency").or_else(|| get("Latency"));
    // Version 2.1 and later print a mean of 0 for the totals; the rows have theirs.
    let mean = mean.filter(|ms| *ms > 0.0).or_else(|| mean_of_rows(stats));
    if let Some(mean) = mean {
        reading.latency("latency_mean", mean);
    }
    // They also print the percentiles of an empty histogram for the totals of several runs, which
    // the accumulated latency of 0 gives away.
    if get("Accumulated Latency") != Some(0.0) {
        let percentiles = totals
            .get("Percentile Latencies")
            .and_then(Value::as_object);
        for (key, value) in percentiles.into_iter().flatten() {
            if let (Some(percentile), Some(ms)) = (
                key.strip_prefix('p').and_then(|p| p.parse::<f64>().ok()),
                value.as_f64(),
            ) {
                reading.latency(&format!("latency_p{percentile}"), ms);
            }
        }
    }
    Ok(reading)
}

/// Mean latency of all rows but the totals, weighted by their counts, in milliseconds.
fn mean_of_rows(stats: &Value) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (name, row) in stats.as_object()? {
        let get = |key: &str| row.get(key).and_then(Value::as_f64);
        if name != "Totals"
            && let (Some(mean), Some(operations)) = (get("Average Latency"), get("Count"))
        {
            sum += mean * operations;
            count += operations;
        }
    }
    (sum > 0.0).then_some(sum / count)
}

/// One table of the text.
struct Table<'a> {
    title: &'a str,
    header: &'a str,
    totals: Option<&'a str>,
}

/// Whether a line says that something failed.
pub fn failed(line: &str) -> bool {
    line.contains("handle error response") || line.starts_with("error:")
}

/// Reads the text: the totals of the only run, or the mean of several.
pub fn read_table(output: &str) -> Result<Reading, ReaderError> {
    super::search::refuse(output, failed)?;
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut before = "";
    for line in lines(output) {
        if line.starts_with("Type") && line.contains("Ops/sec") {
            tables.push(Table {
                title: before,
                header: line,
                totals: None,
            });
        } else if line.starts_with("Totals")
            && let Some(table) = tables.last_mut()
        {
            if let Some(first) = table.totals {
                return Err(twice(first, line));
            }
            table.totals = Some(line);
        }
        if !line.is_empty() && !line.starts_with("===") {
            before = line;
        }
    }
    let mut wanted = tables
        .iter()
        .filter(|table| table.title.starts_with(SEVERAL_RUNS));
    let table = match (wanted.next(), wanted.next()) {
        (Some(table), None) => table,
        (Some(first), Some(second)) => return Err(twice(first.title, second.title)),
        (None, _) => match tables.as_slice() {
            [] => return Err(missing(output, "table of memtier_benchmark")),
            [table] => table,
            [first, second, ..] => return Err(twice(first.title, second.title)),
        },
    };
    let line = table
        .totals
        .ok_or_else(|| missing(output, "line `Totals`"))?;
    let names = columns(table.header);
    let cells: Vec<&str> = line.split_whitespace().collect();
    if names.len() != cells.len() {
        return Err(ReaderError::Malformed {
            expected: format!("a line of {} columns", names.len()),
            line: quote(line),
        });
    }
    let mut reading = None;
    for (name, cell) in names.iter().zip(&cells).skip(1) {
        match name.as_str() {
            "Ops/sec" => reading = Some(Reading::throughput(number(cell, line)?, "ops/s")),
            _ if *cell == "---" => {}
            "Avg. Latency" | "Latency" => {
                if let Some(reading) = &mut reading {
                    reading.latency("latency_mean", number(cell, line)?);
                }
            }
            _ => {
                if let (Some(reading), Some(percentile)) = (
                    &mut reading,
                    name.strip_prefix('p')
                        .and_then(|name| name.strip_suffix(" Latency"))
                        .and_then(|percentile| percentile.parse::<f64>().ok()),
                ) {
                    reading.latency(&format!("latency_p{percentile}"), number(cell, line)?);
                }
            }
        }
    }
    reading.ok_or_else(|| missing(output, "column `Ops/sec`"))
}

fn twice(first: &str, second: &str) -> ReaderError {
    ReaderError::Twice {
        what: "result".to_owned(),
        first: quote(first),
        second: quote(second),
        hint: "",
    }
}

/// Column names: `Avg. Latency` and `p50 Latency` are one name each.
fn columns(header: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in header.split_whitespace() {
        match names.last_mut() {
            Some(name) if word == "Latency" && (name == "Avg." || name.starts_with('p')) => {
                name.push_str(" Latency");
            }
            _ => names.push(word.to_owned()),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn table_and_document_of_the_same_run_agree() {
        for name in ["memtier", "memtier-runs"] {
            let table = read_table(&recorded(&format!("{name}.txt"))).unwrap();
            let document = read_json(&recorded(&format!("{name}.json"))).unwrap();
            assert_eq!(
                table.get("throughput"),
                document.get("throughput"),
                "{name}"
            );
            assert!(table.get("throughput").unwrap() > 1000.0);
            assert!(table.get("latency_p99.9").unwrap() > 0.0);
        }
        let mean = |reading: Reading| reading.get("latency_mean").unwrap();
        for name in ["memtier", "memtier-runs"] {
            let table = mean(read_table(&recorded(&format!("{name}.txt"))).unwrap());
            let document = mean(read_json(&recorded(&format!("{name}.json"))).unwrap());
            assert!((table / document - 1.0).abs() < 0.02, "{table} {document}");
        }
        let table = read_table(&recorded("memtier.txt")).unwrap();
        let document = read_json(&recorded("memtier.json")).unwrap();
        assert_eq!(table.get("latency_p50"), document.get("latency_p50"));
    }

    #[test]
    fn the_seed_has_two_results_and_none_of_them_is_the_mean() {
        let seed = "BEST RUN RESULTS\n====\n\
            Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec\n\
            ----\n\
            Totals     558591.33    558591.33         0.00         2.68485         2.86300         3.82300         4.12700    568894.72\n";
        let reading = read_table(seed).unwrap();
        assert_eq!(reading.get("throughput"), Some(558591.33));
        assert_eq!(reading.get("latency_mean"), Some(2.68485));
        assert_eq!(reading.get("latency_p99.9"), Some(4.127));
        let both = format!("{seed}\nWORST RUN RESULTS\n{}", &seed[16..]);
        assert!(matches!(read_table(&both), Err(ReaderError::Twice { .. })));
    }

    #[test]
    fn error_replies_are_quoted() {
        let error = read_table(&recorded("memtier-errors.txt")).unwrap_err();
        assert!(error.to_string().contains("-WRONGTYPE"), "{error}");
        let broken = recorded("memtier.json")
            .replace("\"Connection Errors\": 0", "\"Connection Errors\": 7");
        let error = read_json(&broken).unwrap_err();
        assert!(error.to_string().contains("7 connection errors"), "{error}");
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(matches!(
            read_table("nothing\n"),
            Err(ReaderError::Missing { .. })
        ));
        assert!(matches!(read_json("{}"), Err(ReaderError::Missing { .. })));
        assert!(matches!(read_json("{"), Err(ReaderError::Malformed { .. })));
        let cut = recorded("memtier.txt");
        let cut = &cut[..cut.find("Totals").unwrap()];
        assert!(matches!(read_table(cut), Err(ReaderError::Missing { .. })));
    }
}

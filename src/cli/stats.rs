//! `perfblame stats`: Welch's test over a table of measurements.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::stats::table::{
    Columns, GroupTest, compare_groups, p_value, read_table, significant, significant_together,
};

use super::Exit;

/// Schema of `--json`.
const SCHEMA: &str = "perfblame.stats/1";

/// Compares the levels of a column in a CSV file by Welch's t test
///
/// Every other level is compared with the baseline, which is the level that the file names first.
/// The result is R's t.test(baseline, other), and the interval as a change in per cent of the
/// baseline's mean, or "no significance" where it spans 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  perfblame stats raw.csv --compare kernel --within system,setting,workload --value value")]
pub struct Args {
    /// Table with a header line and one row a measurement; `-` is standard input
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Column whose levels are compared
    #[arg(long, value_name = "COLUMN")]
    compare: String,
    /// Columns whose levels make up a group; each group is compared by itself, and so is each level
    /// of a column `metric`
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    within: Vec<String>,
    /// Column that holds the numbers
    #[arg(long, value_name = "COLUMN")]
    value: String,
    /// Print JSON with all digits
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let bytes = read(&args.file)?;
    let columns = Columns {
        compare: args.compare,
        within: args.within,
        value: args.value,
    };
    let columns = apart(&bytes, columns);
    let name = args.file.display();
    let table = read_table(&bytes, &columns).with_context(|| format!("{name} is not in order"))?;
    let tests = compare_groups(&table, &columns.compare, 0.95)
        .with_context(|| format!("{name} cannot be compared"))?;
    let text = if args.json {
        let mut json = serde_json::to_string_pretty(&Document::new(&tests, &columns))?;
        json.push('\n');
        json
    } else {
        tests.iter().map(block).collect::<Vec<_>>().join("\n")
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Ok),
    }
}

/// Column of a matrix's `raw.csv` that says what a value is of.
const METRIC: &str = "metric";

/// Adds the metric to the groups where the table holds several: seconds and bytes make no mean.
fn apart(bytes: &[u8], columns: Columns) -> Columns {
    let named = [&columns.compare, &columns.value];
    if named
        .into_iter()
        .chain(&columns.within)
        .any(|name| name == METRIC)
    {
        return columns;
    }
    let mut apart = columns.clone();
    apart.within.push(METRIC.to_owned());
    // A table that is not in order, or has no such column, is read once more as it was asked for.
    let Ok(table) = read_table(bytes, &apart) else {
        return columns;
    };
    let metrics: BTreeSet<&String> = table
        .rows
        .iter()
        .filter_map(|row| row.group.last())
        .collect();
    if metrics.len() < 2 {
        return columns;
    }
    say!(
        "the table holds {} metrics, and each is compared by itself, as with --within {}",
        metrics.len(),
        apart.within.join(",")
    );
    apart
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// One comparison as R prints it, with the percent interval below.
fn block(result: &GroupTest) -> String {
    let group = if result.group.is_empty() {
        String::new()
    } else {
        format!("{}: ", result.group.join(", "))
    };
    let test = &result.test;
    let means = significant_together(&result.means, 7);
    let ends = significant_together(&test.interval, 7);
    format!(
        "{group}{head} against {base}\n  \
         t = {t}, df = {df}, p-value {p}\n  \
         95 percent confidence interval of mean({base}) - mean({head}): {lo} {hi}\n  \
         mean of {base} {base_mean} (n = {base_n}), mean of {head} {head_mean} (n = {head_n})\n  \
         {verdict}\n",
        base = result.base,
        head = result.head,
        t = significant(test.t, 5),
        df = significant(test.df, 5),
        p = equals(&p_value(test.p)),
        lo = ends[0],
        hi = ends[1],
        base_mean = means[0],
        head_mean = means[1],
        base_n = result.counts[0],
        head_n = result.counts[1],
        verdict = result.verdict(),
    )
}

fn equals(p: &str) -> String {
    if p.starts_with('<') {
        p.to_owned()
    } else {
        format!("= {p}")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    compare: &'a str,
    within: &'a [String],
    value: &'a str,
    results: Vec<ResultJson<'a>>,
}

/// `t`, `df`, `p` and `ci95` are of `mean(base) - mean(head)`; `change_ci95_pct` is of head in per
/// cent of base's mean, absent where nothing is significant.
#[derive(Serialize)]
struct ResultJson<'a> {
    group: serde_json::Map<String, serde_json::Value>,
    base: &'a str,
    head: &'a str,
    base_n: usize,
    head_n: usize,
    base_mean: f64,
    head_mean: f64,
    t: f64,
    df: f64,
    p: f64,
    ci95: [f64; 2],
    change_ci95_pct: Option<[f64; 2]>,
    verdict: String,
}

impl<'a> Document<'a> {
    fn new(tests: &'a [GroupTest], columns: &'a Columns) -> Self {
        let results = tests
            .iter()
            .map(|result| ResultJson {
                group: columns
                    .within
                    .iter()
                    .zip(&result.group)
                    .map(|(column, level)| (column.clone(), level.clone().into()))
                    .collect(),
                base: &result.base,
                head: &result.head,
                base_n: result.counts[0],
                head_n: result.counts[1],
                base_mean: result.means[0],
                head_mean: result.means[1],
                t: result.test.t,
                df: result.test.df,
                p: result.test.p,
                ci95: result.test.interval,
                change_ci95_pct: result.change_pct(),
                verdict: result.verdict(),
            })
            .collect();
        Self {
            schema: SCHEMA,
            compare: &columns.compare,
            within: &columns.within,
            value: &columns.value,
            results,
        }
    }
}

//! Another program as the load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LoadSpecError;
use crate::plan::{CommandLine, Direction, Length};

/// A program that puts the load on, and how to read what it prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ExternalLoad {
    /// Program and arguments. Placeholders: `{artifact} {artifact-dir} {run} {socket} {port}`,
    /// `{cpus}` for the load's CPUs, and `{seconds}` for the length of the window that the run is
    /// for: a program that is told its length is run for warming up too.
    pub run: CommandLine,
    /// Variables added to the environment; the same placeholders in the values.
    pub env: BTreeMap<String, String>,
    /// How its output is read.
    pub reader: ReaderKind,
    /// File that it writes its result to, in place of standard output; the same placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// For redis-benchmark with several tests: the name of the test that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// For the reader `regex`: a regular expression with a group named `value`, which must match
    /// exactly one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// For the reader `json`: a JSON pointer such as `/results/0/ops`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// For the readers `regex` and `json`: name of the metric.
    pub metric: String,
    /// For the readers `regex` and `json`: unit of the number.
    pub unit: String,
    /// For the readers `regex` and `json`: which direction is good.
    pub direction: Direction,
    /// How long it may take.
    pub timeout: Length,
}

/// A program that fills a server with data, such as `pgbench -i`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Preparation {
    /// Program and arguments, with the placeholders of [`ExternalLoad::run`] but `{seconds}`.
    pub run: CommandLine,
    /// Variables added to the environment; the same placeholders in the values.
    pub env: BTreeMap<String, String>,
    /// Whose output it is: what that program prints of failed operations is then an error, whatever
    /// its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader: Option<ReaderKind>,
}

/// The placeholder for the length of a window in whole seconds.
const SECONDS: &str = "{seconds}";

/// Whose output it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReaderKind {
    /// memtier_benchmark's `--json-out-file`.
    MemtierJson,
    /// memtier_benchmark's table.
    MemtierTable,
    /// redis-benchmark `--csv`.
    RedisBenchmarkCsv,
    /// redis-benchmark, the long form or `-q`.
    RedisBenchmark,
    /// YCSB.
    Ycsb,
    /// HammerDB's TPROC-C.
    Hammerdb,
    /// pgbench.
    Pgbench,
    /// sysbench.
    Sysbench,
    /// wrk.
    Wrk,
    /// A regular expression.
    Regex,
    /// A JSON pointer.
    Json,
}

impl Default for ExternalLoad {
    fn default() -> Self {
        ExternalLoad {
            run: CommandLine::default(),
            env: BTreeMap::new(),
            reader: ReaderKind::Regex,
            output: None,
            select: None,
            pattern: None,
            pointer: None,
            metric: "throughput".to_owned(),
            unit: "ops/s".to_owned(),
            direction: Direction::HigherIsBetter,
            timeout: Length::seconds(3600),
        }
    }
}

impl ExternalLoad {
    /// Whether the program is told how long to run.
    pub fn is_told_its_length(&self) -> bool {
        let mut words = self.run.0.iter().chain(self.env.values());
        words.any(|word| word.contains(SECONDS))
    }

    /// Name of the metric that is the main one of its output.
    pub fn main_metric(&self) -> &str {
        match self.reader {
            ReaderKind::Regex | ReaderKind::Json => &self.metric,
            _ => "throughput",
        }
    }

    /// Refuses what cannot be done, and says which key is at fault.
    pub fn check(&self) -> Result<(), LoadSpecError> {
        let fault = |key, message: String| Err(LoadSpecError { key, message });
        if self.run.0.is_empty() {
            return fault("run", "no program is given".to_owned());
        }
        match (&self.pattern, self.reader == ReaderKind::Regex) {
            (None, true) => {
                return fault("pattern", "the reader `regex` needs one".to_owned());
            }
            (Some(_), false) => {
                return fault("pattern", "only the reader `regex` takes one".to_owned());
            }
            (Some(pattern), true) => match regex::Regex::new(pattern) {
                Err(error) => return fault("pattern", error.to_string()),
                Ok(regex) if !regex.capture_names().flatten().any(|name| name == "value") => {
                    return fault("pattern", "there is no group `(?<value>…)`".to_owned());
                }
                Ok(_) => {}
            },
            (None, false) => {}
        }
        match (&self.pointer, self.reader == ReaderKind::Json) {
            (None, true) => fault("pointer", "the reader `json` needs one".to_owned()),
            (Some(_), false) => fault("pointer", "only the reader `json` takes one".to_owned()),
            (Some(pointer), true) if !pointer.is_empty() && !pointer.starts_with('/') => fault(
                "pointer",
                format!("`{pointer}` does not begin with a slash"),
            ),
            _ if self.select.is_some()
                && !matches!(
                    self.reader,
                    ReaderKind::RedisBenchmark | ReaderKind::RedisBenchmarkCsv
                ) =>
            {
                fault(
                    "select",
                    "only redis-benchmark's outputs have several tests".to_owned(),
                )
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_names_its_key() {
        let cases = [
            ("reader = \"wrk\"", Some("run")),
            ("run = \"x\"\nreader = \"regex\"", Some("pattern")),
            (
                "run = \"x\"\nreader = \"regex\"\npattern = \"(\"",
                Some("pattern"),
            ),
            (
                "run = \"x\"\nreader = \"regex\"\npattern = \"a\"",
                Some("pattern"),
            ),
            (
                "run = \"x\"\nreader = \"wrk\"\npattern = \"a\"",
                Some("pattern"),
            ),
            ("run = \"x\"\nreader = \"json\"", Some("pointer")),
            (
                "run = \"x\"\nreader = \"json\"\npointer = \"a\"",
                Some("pointer"),
            ),
            (
                "run = \"x\"\nreader = \"wrk\"\nselect = \"a\"",
                Some("select"),
            ),
            (
                "run = \"x\"\nreader = \"regex\"\npattern = \"(?<value>.)\"",
                None,
            ),
            ("run = \"x\"\nreader = \"json\"\npointer = \"/a\"", None),
            (
                "run = \"redis-benchmark --csv\"\nreader = \"redis-benchmark-csv\"\nselect = \"GET\"",
                None,
            ),
        ];
        for (text, key) in cases {
            let load: ExternalLoad = toml::from_str(text).unwrap();
            assert_eq!(load.check().err().map(|error| error.key), key, "{text}");
        }
    }
}

//! What a reader returns.

use thiserror::Error;

use crate::plan::{Direction, MetricDescription};

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadMetric {
    /// Name, such as `throughput` or `latency_p99`.
    pub name: String,
    /// Value in the unit of the description.
    pub value: f64,
    /// Unit, and which direction is good.
    pub description: MetricDescription,
}

/// The numbers of one output, the main one first.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// At least one.
    pub metrics: Vec<ReadMetric>,
    /// Operations that were done, where the program counts them.
    pub operations: Option<u64>,
}

impl Reading {
    /// With the main metric `throughput`.
    pub(super) fn throughput(value: f64, unit: &str) -> Reading {
        let mut reading = Reading {
            metrics: Vec::new(),
            operations: None,
        };
        reading.push("throughput", value, unit, Direction::HigherIsBetter);
        reading
    }

    pub(super) fn push(&mut self, name: &str, value: f64, unit: &str, direction: Direction) {
        self.metrics.push(ReadMetric {
            name: name.to_owned(),
            value,
            description: MetricDescription {
                unit: unit.to_owned(),
                direction,
            },
        });
    }

    /// Adds a latency in milliseconds.
    pub(super) fn latency(&mut self, name: &str, ms: f64) {
        self.push(name, ms, "ms", Direction::LowerIsBetter);
    }

    /// Operations per second, where the main metric is a rate of operations.
    pub fn ops_per_second(&self) -> Option<f64> {
        let main = self.metrics.first()?;
        let unit = main.description.unit.as_str();
        let per_minute = ["TPM", "NOPM"].contains(&unit) || unit.ends_with("/min");
        let per_second = unit == "tps" || unit.ends_with("/s") || unit.ends_with("/sec");
        match main.description.direction {
            Direction::HigherIsBetter if per_minute => Some(main.value / 60.0),
            Direction::HigherIsBetter if per_second => Some(main.value),
            _ => None,
        }
    }

    /// A metric by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        let metric = self.metrics.iter().find(|metric| metric.name == name)?;
        Some(metric.value)
    }
}

/// Why an output gives no number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReaderError {
    /// The number is not there.
    #[error("no {what} in the output; it ends with `{last}`")]
    Missing {
        /// What was looked for.
        what: String,
        /// The last line that is not empty.
        last: String,
    },
    /// The number is there more than once.
    #[error("more than one {what} in the output: `{first}` and `{second}`{hint}")]
    Twice {
        /// What was looked for.
        what: String,
        /// The first line with it.
        first: String,
        /// The second line with it.
        second: String,
        /// What to do, where there is something.
        hint: &'static str,
    },
    /// The program says that operations failed.
    #[error("the load reports errors: `{line}`")]
    Failed {
        /// The line that says so.
        line: String,
    },
    /// A line that should hold the number holds something else.
    #[error("not {expected}: `{line}`")]
    Malformed {
        /// What was expected.
        expected: String,
        /// The line.
        line: String,
    },
    /// The pattern is not a regular expression with a group named `value`.
    #[error("pattern: {message}")]
    Pattern {
        /// What is wrong with it.
        message: String,
    },
}

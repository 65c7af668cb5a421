//! What a search has learnt, in the store: every answer is there before the next question.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::bisect::Purpose;
use crate::experiment::ExperimentError;
use crate::profile::FunctionId;
use crate::store::Store;

use super::function_cost::CostKind;
use super::request::BisectRequest;

/// How a search began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Start {
    /// What was asked.
    pub request: BisectRequest,
    /// Id of the older end.
    pub old: String,
    /// Id of the newer end.
    pub new: String,
    /// Whether the user called the newer one GOOD.
    pub swapped: bool,
    /// What the user was told of the ends.
    pub notes: Vec<String>,
}

/// What makes trials' values comparable, fixed by the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Gauge {
    /// The function that is meant, and the stored trial that all others are put in relation to.
    Function {
        /// The function.
        id: FunctionId,
        /// Number of the trial in the store.
        reference: i64,
        /// Which of its costs.
        #[serde(default)]
        cost: CostKind,
    },
    /// The first value of a metric.
    Metric {
        /// The value, in the metric's unit.
        first: f64,
    },
}

/// A value and when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// On the scale of the search.
    pub value: f64,
    /// Seconds since the search began.
    pub seconds: f64,
}

/// An answer. Commits and not places on a line, so that it holds on every line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Answer {
    /// A trial.
    Trial {
        /// Id of the commit.
        commit: String,
        /// Its value.
        point: Point,
        /// What for.
        purpose: Purpose,
    },
    /// A commit cannot be measured.
    Skipped {
        /// Id of the commit.
        commit: String,
        /// Why.
        reason: String,
    },
    /// Two commits are the same program, so that all between them count as one.
    Same {
        /// Ids of the commits.
        commits: [String; 2],
    },
    /// A certificate is about to be measured. What it finds in the store is of this pair only, and of no
    /// other that was given up.
    Begun {
        /// Id of the culprit.
        culprit: String,
        /// Id of the commit before it.
        parent: String,
        /// Number of the first block in the store.
        first_block: u32,
    },
    /// The blocks of a certificate.
    Certificate {
        /// Id of the culprit.
        culprit: String,
        /// Id of the commit before it.
        parent: String,
        /// `[parent, culprit]` of each block.
        blocks: Vec<[Point; 2]>,
        /// Number of the first block in the store.
        first_block: u32,
        /// Blocks that were measured; those with a value on both sides are in `blocks`. 0: as many.
        #[serde(default)]
        measured: u32,
    },
}

/// A kept answer, with the line that it was asked on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    line: usize,
    answer: Answer,
}

/// The answers of a search.
pub struct Journal<'a> {
    store: &'a Store,
    experiment: String,
    kept: Vec<Kept>,
    gauge: Option<Gauge>,
    /// Whether nothing more is stored.
    frozen: bool,
}

const START: &str = "bisect-start";
const GAUGE: &str = "bisect-gauge";
const ANSWER: &str = "bisect-answer";

impl<'a> Journal<'a> {
    /// Begins a journal.
    pub fn begin(
        store: &'a Store,
        experiment: &str,
        start: &Start,
    ) -> Result<Self, ExperimentError> {
        let body = serde_json::to_value(start).unwrap_or_default();
        store.put_event(experiment, START, &body)?;
        Ok(Self {
            store,
            experiment: experiment.to_owned(),
            kept: Vec::new(),
            gauge: None,
            frozen: false,
        })
    }

    /// Reads a journal back, and how the search began.
    pub fn read(store: &'a Store, experiment: &str) -> Result<(Self, Start), ExperimentError> {
        let unreadable = |reason: String| ExperimentError::NotResumable {
            id: experiment.to_owned(),
            reason,
        };
        let mut start = None;
        let mut journal = Self {
            store,
            experiment: experiment.to_owned(),
            kept: Vec::new(),
            gauge: None,
            frozen: false,
        };
        for event in store.events(experiment)? {
            let id = event.id;
            let failed = |error: serde_json::Error| {
                unreadable(format!("its stored event {id} cannot be read ({error})"))
            };
            match event.kind.as_str() {
                START => start = Some(from_value(event.body).map_err(failed)?),
                GAUGE => journal.gauge = Some(from_value(event.body).map_err(failed)?),
                ANSWER => journal.kept.push(from_value(event.body).map_err(failed)?),
                _ => {}
            }
        }
        let start = start.ok_or_else(|| unreadable("nothing was stored of it".to_owned()))?;
        Ok((journal, start))
    }

    /// From now on nothing is stored: for whoever only looks.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// The answers that were given on a line, in order.
    pub fn on_line(&self, line: usize) -> Vec<Answer> {
        let on_line = self.kept.iter().filter(|kept| kept.line == line);
        on_line.map(|kept| kept.answer.clone()).collect()
    }

    /// The answers that were given on the lines before this one.
    pub fn before_line(&self, line: usize) -> impl Iterator<Item = &Answer> {
        let before = self.kept.iter().filter(move |kept| kept.line < line);
        before.map(|kept| &kept.answer)
    }

    /// All answers.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.kept.iter().map(|kept| &kept.answer)
    }

    /// Keeps an answer; it is on disk when this returns.
    pub fn keep(&mut self, line: usize, answer: &Answer) -> Result<(), ExperimentError> {
        if !self.frozen {
            let body = json!({ "line": line, "answer": answer });
            self.store.put_event(&self.experiment, ANSWER, &body)?;
        }
        self.kept.push(Kept {
            line,
            answer: answer.clone(),
        });
        Ok(())
    }

    /// What makes values comparable, once that is fixed.
    pub fn gauge(&self) -> Option<&Gauge> {
        self.gauge.as_ref()
    }

    /// Fixes what makes values comparable.
    pub fn keep_gauge(&mut self, gauge: Gauge) -> Result<(), ExperimentError> {
        let body = serde_json::to_value(&gauge).unwrap_or_default();
        self.store.put_event(&self.experiment, GAUGE, &body)?;
        self.gauge = Some(gauge);
        Ok(())
    }
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

//! What a search is about: the classes, what trials cost, and how sure it has to be.

use serde::{Deserialize, Serialize};

/// A class of commits that cannot differ, in the order of the history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Expected seconds of building it; 0 where its artifact is there already.
    pub build_seconds: f64,
    /// Weight before anything is measured, relative to the other classes'; 1 as a rule.
    pub weight: f64,
}

impl Class {
    /// A class whose artifact has to be built, in about so many seconds.
    pub fn to_build(build_seconds: f64) -> Self {
        Self {
            build_seconds,
            weight: 1.0,
        }
    }

    /// A class whose artifact is there.
    pub fn cached() -> Self {
        Self::to_build(0.0)
    }
}

/// Which way the value steps from GOOD to BAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// BAD's value is higher: the search is for what raised it.
    Rise,
    /// BAD's value is lower.
    Fall,
    /// Either.
    Any,
}

/// What a trial answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// A number: a log cost or a metric.
    Value(Change),
    /// Pass or fail, where a trial may fail by chance and pass by chance. GOOD passes.
    PassFail,
}

/// One of the endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The first class.
    Good,
    /// The last class.
    Bad,
}

/// The question and the rules of one search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Setup {
    /// The classes; the first is GOOD's, the last is BAD's.
    pub classes: Vec<Class>,
    /// What a trial answers.
    pub response: Response,
    /// Expected seconds of one trial.
    pub trial_seconds: f64,
    /// Probability at which the search names a culprit, before the certificate; 0.95 as a rule.
    pub confidence: f64,
    /// Chance to certify any pair without a difference, over all attempts.
    pub alpha: f64,
    /// Most trials of each endpoint before the search.
    pub max_endpoint_trials: usize,
    /// Most classes to build, those that are there already not counted.
    pub max_builds: Option<usize>,
    /// Most trials of the search, endpoints and certificates not counted.
    pub max_trials: Option<usize>,
    /// Most attempts at a certificate.
    pub max_certificates: u32,
    /// Attempts at certificates on other lines of the same search: all of them share the level.
    pub earlier_certificates: u32,
    /// Whether to search on where the endpoints do not differ.
    pub force: bool,
}

impl Setup {
    /// The usual rules: confidence .95, α .05, at most 30 trials of each endpoint, 5 certificates
    /// and 1000 trials of the search, no other limit.
    pub fn new(classes: Vec<Class>, response: Response, trial_seconds: f64) -> Self {
        Self {
            classes,
            response,
            trial_seconds,
            confidence: 0.95,
            alpha: 0.05,
            max_endpoint_trials: 30,
            max_builds: None,
            max_trials: Some(1000),
            max_certificates: 5,
            earlier_certificates: 0,
            force: false,
        }
    }

    /// Index of an endpoint's class; `None` without classes.
    pub fn endpoint(&self, side: Side) -> Option<usize> {
        match side {
            Side::Good => (!self.classes.is_empty()).then_some(0),
            Side::Bad => self.classes.len().checked_sub(1),
        }
    }
}

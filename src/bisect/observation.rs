//! What a search is told: the events that its state is folded from.

use serde::{Deserialize, Serialize};

/// What a trial was for; counted apart, but every trial is evidence all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// [`super::Step::MeasureEndpoint`].
    Endpoint,
    /// [`super::Step::Trial`].
    Search,
    /// A block of [`super::Step::Certify`].
    Certificate,
    /// Taken over from an earlier search, so not counted.
    Reused,
}

/// One trial of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trial {
    /// Index of the class.
    pub class: usize,
    /// The measured value, or 1 for a fail and 0 for a pass.
    pub value: f64,
    /// When, in seconds since an origin that all trials of a search share.
    pub seconds: f64,
    /// What for.
    pub purpose: Purpose,
}

/// One event. Those that make no sense, such as a class that is not there or a value that is not a
/// finite number, change nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// A trial was done. The two trials of a [`super::Step::Trial`] with an anchor are two
    /// observations.
    Trial(Trial),
    /// A class cannot be measured: it does not build, crashes, hangs.
    Skipped {
        /// Index of the class.
        class: usize,
        /// Why.
        reason: String,
    },
    /// The blocks of a [`super::Step::Certify`] are done. Their trials belong in here only, not in
    /// observations of their own.
    Certificate {
        /// Last class of those that may be the culprit.
        culprit: usize,
        /// Class before them.
        parent: usize,
        /// The blocks: the parent's trial and the culprit's.
        blocks: Vec<[Trial; 2]>,
    },
}

impl Observation {
    /// A trial that answers with a number.
    pub fn value(class: usize, value: f64, seconds: f64, purpose: Purpose) -> Self {
        Self::Trial(Trial {
            class,
            value,
            seconds,
            purpose,
        })
    }

    /// A trial that answers with pass or fail.
    pub fn pass_fail(class: usize, failed: bool, seconds: f64, purpose: Purpose) -> Self {
        Self::value(class, f64::from(u8::from(failed)), seconds, purpose)
    }
}

//! How a search ends.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::certificate::Certificate;
use super::setup::Side;

/// An estimate with its standard error, in the unit of the measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// Neighbouring classes one of which holds the step, and which were not told apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspects {
    /// The classes.
    pub classes: RangeInclusive<usize>,
    /// The last class before them that can be measured.
    pub parent: usize,
    /// Probability that the step is in [`Self::classes`].
    pub probability: f64,
}

/// A certified culprit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The class, or the classes that cannot be told apart as all but the last cannot be measured.
    pub suspects: Suspects,
    /// The step at the culprit, from the certificate's blocks.
    pub step: Estimate,
    /// BAD's level above GOOD's, from the endpoints' trials. A step that is smaller by more than
    /// the errors leaves something for a further search on either side.
    pub gap: Estimate,
    /// The fresh blocks that confirmed it.
    pub certificate: Certificate,
}

/// Why a search stopped without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// [`super::Setup::max_builds`] classes are built, and what is built can tell no more.
    Builds,
    /// [`super::Setup::max_trials`] are done.
    Trials,
    /// [`super::Setup::max_certificates`] attempts did not confirm the best candidate.
    Certificates,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// A culprit was found, and confirmed by fresh blocks.
    Culprit(Culprit),
    /// GOOD and BAD do not differ as far as their trials tell.
    EndpointsAlike {
        /// Probability that there is no step.
        probability: f64,
        /// BAD's level above GOOD's.
        gap: Estimate,
    },
    /// The search's trials say that there is no step.
    NoCulprit {
        /// Probability that there is no step.
        probability: f64,
    },
    /// An endpoint cannot be measured.
    EndpointSkipped {
        /// Which.
        side: Side,
        /// Why.
        reason: String,
    },
    /// There are fewer than two classes, so nothing between them.
    NothingToSearch,
    /// The budget is spent.
    Undecided {
        /// Which one.
        why: Undecided,
        /// The smallest row of classes that holds the wanted probability.
        suspects: Suspects,
    },
}

//! What a search is asked: ends, value, limits. Stored with the search, so that it can go on.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// What is looked at in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Measured {
    /// A metric of the trial.
    Metric {
        /// Its name; `None` for the workload's main one.
        name: Option<String>,
    },
    /// The normalised inclusive cost of a function.
    Function {
        /// Its name, or `NAME@MODULE` where several modules have one.
        name: String,
    },
    /// Whether the user's own command passes.
    Script {
        /// The command line, run by `sh -c` in an export of the commit.
        command: String,
    },
}

/// Which change is looked for, from GOOD to BAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Towards {
    /// BAD is slower.
    Slower,
    /// BAD is faster.
    Faster,
}

impl Towards {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
        }
    }
}

/// When to give up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limits {
    /// Time of this process, in milliseconds.
    pub max_time_ms: Option<u64>,
    /// Builds of the whole search, those that fail counted too.
    pub max_builds: Option<u32>,
}

impl Limits {
    /// The time as a duration.
    pub fn max_time(&self) -> Option<Duration> {
        self.max_time_ms.map(Duration::from_millis)
    }
}

/// A search as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BisectRequest {
    /// The end without the change, as the user gave it.
    pub good: String,
    /// The end with it.
    pub bad: String,
    /// What is to be done.
    pub plan: Plan,
    /// What is looked at.
    pub measured: Measured,
    /// Which change is looked for; `None` for either.
    pub towards: Option<Towards>,
    /// When to give up.
    pub limits: Limits,
    /// Whether a merged branch is one step.
    pub first_parent: bool,
    /// Whether to search where the ends do not differ.
    pub force: bool,
    /// Whether to look for every step.
    pub all: bool,
    /// Whether to sample in the certificate, for the comparison of culprit and parent.
    pub profile: bool,
    /// Where the report is written.
    pub out: PathBuf,
    /// The command line that repeats the search.
    pub command: String,
    /// The command line that compares two commits under the same plan, without the commits.
    #[serde(default = "compare_command")]
    pub compare_command: String,
}

/// Of a search that was stored before it was noted.
fn compare_command() -> String {
    "perfblame compare".to_owned()
}

impl BisectRequest {
    /// Whether a search's trials are sampled.
    pub fn samples_trials(&self) -> bool {
        matches!(self.measured, Measured::Function { .. })
    }
}

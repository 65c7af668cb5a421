//! What came of trying to measure a commit.

use crate::verdict::TrialMeasurement;

/// A trial that gave numbers.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Its number in the store.
    pub stored: i64,
    /// When it began, in seconds since the search began.
    pub seconds: f64,
    /// Its values.
    pub values: Values,
}

/// What a trial gave.
#[derive(Debug, Clone)]
pub enum Values {
    /// Metrics and functions.
    Measured(Box<TrialMeasurement>),
    /// Whether the user's command called the commit bad.
    Script {
        /// Whether it did.
        is_bad: bool,
    },
}

/// Or why there is none.
pub type Outcome<T> = Result<T, Skip>;

/// A commit cannot be built or measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip(pub String);

impl Values {
    /// Whether the user's command called the commit bad, as it was stored.
    pub fn of_script(result: &serde_json::Value) -> Self {
        Self::Script {
            is_bad: result["said"] == "bad",
        }
    }
}

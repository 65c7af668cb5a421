//! How a guarded command ended.

use super::guard::GuardReport;

/// How a guarded command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Itself(GuardReport),
    /// Its time was up, and its tree was ended.
    TimeLimit(GuardReport),
    /// The user wished to stop, and its tree was ended.
    Cancelled(GuardReport),
}

impl Ended {
    /// The report, however it ended.
    pub fn report(&self) -> &GuardReport {
        match self {
            Ended::Itself(report) | Ended::TimeLimit(report) | Ended::Cancelled(report) => report,
        }
    }
}

impl GuardReport {
    /// Whether the command exited with code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words.
    pub fn describe(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(number)) => match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => format!("was killed by signal {number} ({signal})"),
                Err(_) => format!("was killed by signal {number}"),
            },
            (None, None) => "was ended before it started".to_owned(),
        }
    }
}

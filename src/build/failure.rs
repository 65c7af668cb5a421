//! A commit that does not build, as it is remembered.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What happened when a commit was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// In what way.
    pub reason: FailureReason,
    /// The last lines of the log.
    pub last_lines: Vec<String>,
    /// The whole log.
    pub log: PathBuf,
    /// Whether this was found out by an earlier build and not by this one.
    #[serde(skip)]
    pub cached: bool,
}

/// In what way a build failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FailureReason {
    /// A step did not end with exit code 0.
    Step {
        /// The command.
        step: String,
        /// How it ended, in words.
        ended: String,
    },
    /// The time limit was reached.
    TimeLimit {
        /// The command that ran then.
        step: String,
        /// The limit in seconds.
        limit_s: u64,
    },
    /// Every step succeeded, and a file that should be there is not.
    Missing {
        /// The path or glob.
        artifact: String,
        /// Executables that were made.
        made: Vec<String>,
    },
    /// Every step succeeded, and no executable was made.
    NothingMade,
    /// What a kernel is to be configured with is not there.
    NoConfiguration {
        /// The files as the plan names them.
        files: Vec<String>,
    },
    /// Several executables were made, and the plan names none.
    Several {
        /// Their paths.
        made: Vec<String>,
    },
}

/// More names than this are not listed.
const LISTED: usize = 12;

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            FailureReason::Step { step, ended } => write!(out, "`{step}` {ended}")?,
            FailureReason::TimeLimit { step, limit_s } => write!(
                out,
                "`{step}` was still running at the time limit of {} (build.timeout)",
                crate::plan::Length(Duration::from_secs(*limit_s))
            )?,
            FailureReason::Missing { artifact, made } if made.is_empty() => {
                write!(
                    out,
                    "every step succeeded, but `{artifact}` (build.artifact) is not there"
                )?;
            }
            FailureReason::Missing { artifact, made } => write!(
                out,
                "every step succeeded, but `{artifact}` (build.artifact) is not there; made were {}",
                listed(made)
            )?,
            FailureReason::NothingMade => out.write_str(
                "every step succeeded, but no executable was made; \
                 say how to build with build.steps, or name the file with build.artifact",
            )?,
            FailureReason::NoConfiguration { files } => write!(
                out,
                "`{}` (build.fragments) is neither beside the plan nor in the commit",
                listed(files)
            )?,
            FailureReason::Several { made } => write!(
                out,
                "several executables were made ({}); name the one to measure with build.artifact",
                listed(made)
            )?,
        }
        if self.cached {
            out.write_str(" (found out earlier; --rebuild tries again)")?;
        }
        for line in &self.last_lines {
            write!(out, "\n    | {line}")?;
        }
        write!(out, "\n  the whole log is {}", self.log.display())
    }
}

fn listed(names: &[String]) -> String {
    let mut text = names[..names.len().min(LISTED)].join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}

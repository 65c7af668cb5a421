//! `--run CMD`: the user's own command says whether a commit is good.

use std::path::Path;
use std::time::Duration;

use crate::executor::{Ended, Spawn};
use crate::experiment::ExperimentError;
use crate::repo::{ExportOptions, RepoError, Revision};

use super::super::compare::Surroundings;

/// Time between SIGTERM and SIGKILL when the command is stopped.
const GRACE: Duration = Duration::from_secs(5);
/// Lines of output that a message quotes.
const QUOTED_LINES: usize = 5;

/// What the command said of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Code 0.
    Good,
    /// Codes 1 to 124.
    Bad,
    /// Code 125, or not done in time, or a commit that cannot be exported: it cannot be tested.
    Skip(String),
}

/// Runs the command in a fresh export of the commit below `dir`.
///
/// Exit codes are those of `git bisect run`: 0 is good, 1 to 124 bad, 125 skips the commit; 126 and
/// 127 (it cannot be run) and 128 to 255 end the search with an error.
pub fn run_script(
    surroundings: &Surroundings<'_>,
    command: &str,
    revision: &Revision,
    dir: &Path,
    limit: Duration,
) -> Result<Said, ExperimentError> {
    let source = dir.join("source");
    let exported = surroundings
        .repository
        .export(revision, &source, &ExportOptions::default());
    match exported {
        Ok(_) => {}
        Err(
            error @ (RepoError::SubmoduleMissing { .. }
            | RepoError::HostileEntry { .. }
            | RepoError::NotFetched { .. }
            | RepoError::Damaged { .. }),
        ) => return Ok(Said::Skip(error.to_string())),
        Err(error) => return Err(error.into()),
    }
    let log = dir.join("run.log");
    let spawn = Spawn {
        command: vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
        dir: source,
        env: vec![("PERFBLAME_COMMIT".to_owned(), revision.id.clone())],
        cpus: None,
        log: log.clone(),
        stdout: None,
        user: None,
        grace: GRACE,
    };
    let ended = spawn
        .start(surroundings.supervisor)
        .and_then(|process| process.wait(Some(limit), surroundings.cancel));
    let report = match ended {
        // A signal to the whole group may end the guard before it has begun.
        Err(_) if surroundings.cancel.is_set() => return Err(ExperimentError::Interrupted),
        Err(error) => return Err(error.into()),
        Ok(ended) => ended,
    };
    let report = match report {
        Ended::Cancelled(_) => return Err(ExperimentError::Interrupted),
        Ended::TimeLimit(_) => {
            let limit = humantime::format_duration(limit);
            return Ok(Said::Skip(format!(
                "`{command}` was not done after {limit} (build.timeout)"
            )));
        }
        Ended::Itself(report) => report,
    };
    match report.code {
        Some(0) => Ok(Said::Good),
        Some(125) => Ok(Said::Skip(format!("`{command}` exited with code 125"))),
        Some(1..=124) => Ok(Said::Bad),
        code => Err(ExperimentError::Script {
            command: command.to_owned(),
            commit: format!("{} {}", revision.short, revision.subject_line),
            reason: match code {
                Some(126) => "exited with code 126: it cannot be run".to_owned(),
                Some(127) => "exited with code 127: it was not found".to_owned(),
                _ => format!("{}, which ends a search", report.describe()),
            },
            said: last_lines(&log),
        }),
    }
}

/// The end of a log, each line on one of its own; empty where nothing was said.
fn last_lines(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..]
        .iter()
        .map(|line| format!("\n    | {}", line.chars().take(200).collect::<String>()))
        .collect()
}

//! Runs another program as the load, and reads what it measured.

use std::path::{Path, PathBuf};

use crate::load::reader::{self, ReaderError, Reading};
use crate::plan::load::ExternalLoad;
use crate::plan::{Placeholders, UnknownPlaceholder};

use super::cancel::Cancel;
use super::ended::Ended;
use super::guard::GuardReport;
use super::guarded::ProcessError;
use super::spawn::{Spawn, Supervisor};

/// Lines of a failed program's output that are shown.
const SHOWN_LINES: usize = 20;

/// Why an external load gave no numbers.
#[derive(Debug, thiserror::Error)]
pub enum ExternalLoadError {
    /// A placeholder that does not exist here.
    #[error("load: {0}")]
    Placeholder(#[from] UnknownPlaceholder),
    /// The program could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The program failed.
    #[error("the load `{command}` {how}; its output ends:\n{tail}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        how: String,
        /// Its last lines.
        tail: String,
    },
    /// What it wrote cannot be read.
    #[error("cannot read the output {path} of the load")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The output does not hold the number, or says that operations failed.
    #[error("the load `{command}`: {source}")]
    Reader {
        /// The command line.
        command: String,
        /// What is wrong with the output.
        source: ReaderError,
    },
    /// The user wished to stop.
    #[error("cancelled")]
    Cancelled,
}

/// One run of an external load.
#[derive(Debug)]
pub struct ExternalRun<'a> {
    /// What to run and how to read it.
    pub load: &'a ExternalLoad,
    /// Values of the placeholders in command, environment and output path.
    pub values: &'a Placeholders,
    /// Working directory; `load.out` and `load.log` are written there.
    pub dir: &'a Path,
    /// CPUs to run on; `None` leaves the affinity as it is.
    pub cpus: Option<Vec<usize>>,
}

impl ExternalRun<'_> {
    /// Runs the program to its end, and returns its numbers and what it used.
    ///
    /// # Errors
    /// See [`ExternalLoadError`]; a program that exits with another code than 0 gives no numbers.
    pub fn run(
        &self,
        supervisor: &Supervisor,
        cancel: &Cancel,
    ) -> Result<(Reading, GuardReport), ExternalLoadError> {
        let (log, stdout) = (self.dir.join("load.log"), self.dir.join("load.out"));
        let command = self.load.run.expand(self.values)?;
        let mut env = Vec::new();
        for (key, value) in &self.load.env {
            env.push((key.clone(), self.values.expand(value)?));
        }
        let output = match &self.load.output {
            Some(path) => self.dir.join(self.values.expand(path)?),
            None => stdout.clone(),
        };
        // A result of an earlier run must not be taken for one of this.
        if self.load.output.is_some() {
            let _ = std::fs::remove_file(&output);
        }
        let shown = shell_words::join(&command);
        let spawn = Spawn {
            command,
            dir: self.dir.to_owned(),
            env,
            cpus: self.cpus.clone(),
            log: log.clone(),
            stdout: Some(stdout.clone()),
            user: None,
            grace: std::time::Duration::from_secs(2),
        };
        let log_start = std::fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let ended = spawn
            .start(supervisor)?
            .wait(Some(self.load.timeout.0), cancel)?;
        let errors = text(&log)?;
        let errors = errors.get(log_start as usize..).unwrap_or_default();
        let failed = |how: String| {
            let printed = text(&stdout).unwrap_or_default();
            Err(ExternalLoadError::Failed {
                command: shown.clone(),
                how,
                tail: tail(&format!("{printed}\n{errors}")),
            })
        };
        match &ended {
            Ended::Cancelled(_) => return Err(ExternalLoadError::Cancelled),
            Ended::TimeLimit(_) => {
                return failed(format!("was not done after {}", self.load.timeout));
            }
            Ended::Itself(report) if !report.is_success() => return failed(report.describe()),
            Ended::Itself(_) => {}
        }
        let printed = text(&output)?;
        let reading = reader::check_log(self.load.reader, errors)
            .and_then(|()| reader::read(self.load, &printed))
            .map_err(|source| ExternalLoadError::Reader {
                command: shown,
                source,
            })?;
        Ok((reading, ended.report().clone()))
    }
}

fn text(path: &Path) -> Result<String, ExternalLoadError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(source) => Err(ExternalLoadError::Output {
            path: path.to_owned(),
            source,
        }),
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

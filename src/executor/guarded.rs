//! A running guarded command, from its parent's side.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::time::{Duration, Instant};

use super::cancel::Cancel;
use super::ended::Ended;
use super::guard::GuardReport;
use super::tree::{ProcessId, descendants};

/// Why a guarded process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The guard or its files could not be made.
    #[error("cannot start `{command}`: {source}")]
    Guard {
        /// The command line.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The command itself could not be started.
    #[error("cannot start `{command}`: {reason}")]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// The guard was killed from outside.
    #[error("the process that watched over `{command}` was killed ({status}); run again")]
    GuardKilled {
        /// The command line.
        command: String,
        /// How the guard ended.
        status: String,
    },
}

/// A running guarded command. Dropping it ends the command's whole tree.
#[derive(Debug)]
pub struct Guarded {
    pub(super) guard: Child,
    pub(super) lifeline: Option<ChildStdin>,
    pub(super) report: PathBuf,
    pub(super) command: String,
    pub(super) ended: Option<GuardReport>,
}

impl Guarded {
    /// Lets the command start.
    pub fn release(&mut self) -> Result<(), ProcessError> {
        let sent = self
            .lifeline
            .as_mut()
            .map_or(Ok(()), |lifeline| lifeline.write_all(b"g"));
        sent.map_err(|source| ProcessError::Guard {
            command: self.command.clone(),
            source,
        })
    }

    /// The guard's process id: the root of the command's tree.
    pub fn guard_pid(&self) -> u32 {
        self.guard.id()
    }

    /// The command's living processes, the guard not among them.
    pub fn processes(&self) -> Vec<ProcessId> {
        descendants(self.guard_pid() as i32)
    }

    /// Whether the command has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.guard.try_wait(), Ok(None))
    }

    /// Waits for the end; at the limit, or when the user wishes to stop, ends the tree.
    pub fn wait(mut self, limit: Option<Duration>, cancel: &Cancel) -> Result<Ended, ProcessError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        let wrap: fn(GuardReport) -> Ended = loop {
            if self.has_ended() {
                break Ended::Itself;
            }
            if cancel.is_set() {
                break Ended::Cancelled;
            }
            if limit.is_some_and(|limit| started.elapsed() >= limit) {
                break Ended::TimeLimit;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        self.finish().map(wrap)
    }

    /// Ends the command's tree and says how it ended.
    pub fn end(mut self) -> Result<GuardReport, ProcessError> {
        self.finish()
    }

    /// How the command ended, if it has ended by itself.
    pub fn try_end(&mut self) -> Option<Result<GuardReport, ProcessError>> {
        self.has_ended().then(|| self.finish())
    }

    fn finish(&mut self) -> Result<GuardReport, ProcessError> {
        if let Some(report) = &self.ended {
            return Ok(report.clone());
        }
        self.lifeline = None;
        let killed = |status: String| ProcessError::GuardKilled {
            command: self.command.clone(),
            status,
        };
        let status = self
            .guard
            .wait()
            .map_err(|error| killed(error.to_string()))?;
        let text = std::fs::read(&self.report).map_err(|_| killed(status.to_string()))?;
        // It may be gone already with the directory that it lay in.
        let _ = std::fs::remove_file(&self.report);
        let report: GuardReport =
            serde_json::from_slice(&text).map_err(|error| killed(error.to_string()))?;
        match report.start_error {
            Some(reason) => Err(ProcessError::Start {
                command: self.command.clone(),
                reason,
            }),
            None => {
                self.ended = Some(report.clone());
                Ok(report)
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.lifeline.take().is_some() {
            let _ = self.guard.wait();
            let _ = std::fs::remove_file(&self.report);
        }
    }
}

//! One attempt at a trial: a process of its own, and what it left in its directory.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::executor::{Cancel, Ended, LocalTrial, Supervisor, run_trial};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::store::{NewTrial, Store, TrialState};
use crate::trial::settings::turn;
use crate::trial::{FailureKind, Placement, TrialEnd, TrialFailure, TrialOutcome, write_json};

use super::error::ExperimentError;
use super::guest::{GuestAttempt, in_guest, with_console};
use super::job::{ProgramFiles, time_limit, trial_job};
use super::schedule::Slot;
use super::workspace::Workspace;

/// Runs trials on this machine.
pub struct LocalRunner<'a> {
    /// Who watches over processes.
    pub supervisor: &'a Supervisor,
    /// The user's wish to stop.
    pub cancel: &'a Cancel,
    /// What is to be done.
    pub plan: &'a Plan,
    /// Who runs where.
    pub placement: &'a Placement,
    /// Whether to sample.
    pub profile: bool,
    /// Where trials run.
    pub workspace: &'a Workspace,
}

/// What an attempt gave.
#[derive(Debug)]
pub struct Attempt {
    /// Measured, or why not.
    pub end: TrialEnd,
    /// The profile as it was written, where there is one.
    pub profile: Option<Vec<u8>>,
}

/// The end of a trial as the store keeps it.
pub fn stored_end(end: &TrialEnd) -> (TrialState, serde_json::Value) {
    let (state, value) = match end {
        TrialEnd::Measured(result) => (TrialState::Complete, serde_json::to_value(result)),
        TrialEnd::Failed(failure) => (TrialState::Failed, serde_json::to_value(failure)),
    };
    (state, value.unwrap_or_default())
}

impl LocalRunner<'_> {
    /// Runs one trial. `number` is unused before in this workspace.
    pub fn attempt<'f>(
        &self,
        number: usize,
        files: impl Into<ProgramFiles<'f>>,
    ) -> Result<Attempt, ExperimentError> {
        let dir = self
            .workspace
            .trial_dir(number)
            .map_err(|source| file_error(Path::new("run directory"), source))?;
        let attempt = self.in_turn(&dir, files.into());
        // A server's data may be large; what is worth keeping has been read.
        let _ = std::fs::remove_dir_all(&dir);
        attempt
    }

    /// Trials of two runs that set the machine take turns.
    fn in_turn(&self, dir: &Path, files: ProgramFiles<'_>) -> Result<Attempt, ExperimentError> {
        let sets_machine = !self.plan.settings.is_empty() && !self.plan.boots_guest();
        let turn = match sets_machine.then(|| turn(self.cancel)) {
            None => None,
            Some(Ok(Some(turn))) => Some(turn),
            Some(Ok(None)) => return Err(ExperimentError::Interrupted),
            Some(Err(error)) => return Ok(failed(FailureKind::Setup, error.to_string())),
        };
        let attempt = self.attempt_in(dir, files);
        drop(turn);
        attempt
    }

    fn attempt_in(&self, dir: &Path, files: ProgramFiles<'_>) -> Result<Attempt, ExperimentError> {
        if self.plan.boots_guest() {
            return self.attempt_in_guest(dir, files);
        }
        let Some(job) = trial_job(self.plan, self.placement, files, self.profile, dir) else {
            return Ok(failed(
                FailureKind::Setup,
                "the plan has neither a server nor a command".to_owned(),
            ));
        };
        let job_file = dir.join("job.json");
        write_json(&job_file, &job)?;
        let trial = LocalTrial {
            job: job_file,
            dir: dir.to_owned(),
            log: dir.join("trial.log"),
            limit: time_limit(self.plan),
        };
        match run_trial(self.supervisor, &trial, self.cancel)? {
            Ended::Cancelled(_) => Err(ExperimentError::Interrupted),
            Ended::TimeLimit(_) => {
                let limit = humantime::format_duration(trial.limit);
                Ok(failed(
                    FailureKind::Run,
                    format!("the trial hung: it was not done after {limit}"),
                ))
            }
            Ended::Itself(report) => match std::fs::read(&job.outcome) {
                Ok(text) => self.read_outcome(&text, &job.profile),
                Err(_) => {
                    let log = std::fs::read_to_string(&trial.log).unwrap_or_default();
                    let message = format!(
                        "the trial's process {} and left no outcome; it said:\n{log}",
                        report.describe()
                    );
                    Ok(failed(FailureKind::Run, message))
                }
            },
        }
    }

    fn attempt_in_guest(
        &self,
        dir: &Path,
        files: ProgramFiles<'_>,
    ) -> Result<Attempt, ExperimentError> {
        let (ended, job) = match in_guest(self, files, dir)? {
            GuestAttempt::Ended { ended, job } => (ended, job),
            GuestAttempt::Refused(reason) => return Ok(failed(FailureKind::Setup, reason)),
        };
        let Ok(text) = std::fs::read(&job.outcome) else {
            let (kind, message) = ended.otherwise;
            return Ok(failed(kind, message));
        };
        let mut attempt = self.read_outcome(&text, &job.profile)?;
        match &mut attempt.end {
            // A child that was killed for want of memory, or an oops: what was measured is of that.
            TrialEnd::Measured(_) if ended.remark.is_some() => {
                let remark = ended.remark.unwrap_or_default();
                let message = with_console(&remark, &ended.tail);
                return Ok(failed(FailureKind::Run, message));
            }
            TrialEnd::Measured(result) => {
                result.warnings.extend(ended.record.warning());
                result.guest = Some(ended.record);
            }
            TrialEnd::Failed(failure) => {
                if let Some(remark) = ended.remark {
                    failure.message = format!("{remark}; {}", failure.message);
                }
            }
        }
        Ok(attempt)
    }

    fn read_outcome(&self, text: &[u8], profile: &Path) -> Result<Attempt, ExperimentError> {
        let outcome: TrialOutcome = serde_json::from_slice(text)
            .map_err(|error| file_error(Path::new("outcome.json"), std::io::Error::other(error)))?;
        if let TrialEnd::Failed(failure) = &outcome.end
            && failure.kind == FailureKind::Cancelled
        {
            return Err(ExperimentError::Interrupted);
        }
        let profile = match (&outcome.end, self.profile) {
            (TrialEnd::Measured(result), true) if result.profiled.is_some() => {
                Some(std::fs::read(profile).map_err(|source| file_error(profile, source))?)
            }
            _ => None,
        };
        Ok(Attempt {
            end: outcome.end,
            profile,
        })
    }
}

/// Keeps an attempt at a slot of an arm in the store, whatever it gave.
pub fn keep(
    (store, experiment): (&Store, &str),
    (slot, arm): (&Slot, &str),
    started: SystemTime,
    attempt: &Attempt,
) -> Result<(), ExperimentError> {
    let blob = |bytes: &Vec<u8>| store.put_blob(bytes);
    let profile = attempt.profile.as_ref().map(blob).transpose()?;
    let (state, result) = stored_end(&attempt.end);
    store.put_trial(
        experiment,
        &NewTrial {
            block: slot.block,
            arm: arm.to_owned(),
            position: slot.place as u32,
            started,
            ended: SystemTime::now(),
            state,
            result,
            profile,
        },
    )?;
    Ok(())
}

/// Reads a profile as a trial writes it.
pub fn read_profile(bytes: &[u8]) -> Result<Profile, ExperimentError> {
    serde_json::from_slice(bytes)
        .map_err(|error| file_error(Path::new("profile.json"), std::io::Error::other(error)))
}

fn failed(kind: FailureKind, message: String) -> Attempt {
    Attempt {
        end: TrialEnd::Failed(TrialFailure { kind, message }),
        profile: None,
    }
}

fn file_error(path: &Path, source: std::io::Error) -> ExperimentError {
    ExperimentError::File {
        path: PathBuf::from(path),
        source,
    }
}

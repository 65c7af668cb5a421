//! Trials: done, done again where they fail by chance, and read back from the store.

use std::time::{Instant, SystemTime};

use crate::build::Artifact;
use crate::experiment::ExperimentError;
use crate::experiment::attempt::{read_profile, stored_end};
use crate::experiment::bisect::ends::shown;
use crate::experiment::bisect::request::Measured;
use crate::experiment::bisect::script::{Said, run_script};
use crate::experiment::measure::measurement;
use crate::experiment::progress::Progress;
use crate::profile::Profile;
use crate::repo::Revision;
use crate::store::{NewTrial, StoredTrial, TrialState};
use crate::trial::{FailureKind, TrialEnd, TrialResult};

use super::{Bench, Outcome, Raw, Skip, Values};

impl Bench<'_> {
    /// Does a trial of a commit, again where one fails by chance.
    pub fn measure(
        &mut self,
        revision: &Revision,
        progress: &mut dyn Progress,
    ) -> Result<Outcome<Raw>, ExperimentError> {
        let started = Instant::now();
        let outcome = match &self.request.measured {
            Measured::Script { command } => {
                let block = self.trials;
                self.trials += 1;
                self.script(command.clone(), revision, block, &revision.id)?
            }
            _ => match self.artifact(revision, progress)? {
                Ok(artifact) => self.trial(revision, &artifact, progress)?,
                Err(skip) => return Ok(Err(skip)),
            },
        };
        if outcome.is_ok() {
            self.trial_times.push(started.elapsed().as_secs_f64());
        }
        Ok(outcome)
    }

    /// Asks the user's command once, and keeps what it says.
    pub fn script(
        &self,
        command: String,
        revision: &Revision,
        block: u32,
        arm: &str,
    ) -> Result<Outcome<Raw>, ExperimentError> {
        let limit = self.request.plan.build.timeout.0;
        let started = SystemTime::now();
        let dir =
            self.workspace
                .trial_dir(block as usize)
                .map_err(|source| ExperimentError::File {
                    path: "run directory".into(),
                    source,
                })?;
        let said = run_script(self.surroundings, &command, revision, &dir, limit);
        let _ = std::fs::remove_dir_all(&dir);
        let said = said?;
        let (state, result) = match &said {
            Said::Good => (TrialState::Complete, serde_json::json!({ "said": "good" })),
            Said::Bad => (TrialState::Complete, serde_json::json!({ "said": "bad" })),
            Said::Skip(reason) => (TrialState::Failed, serde_json::json!({ "said": reason })),
        };
        let stored = self.keep_trial(arm, block, 0, started, state, result, None)?;
        Ok(match said {
            Said::Skip(reason) => Err(Skip(reason)),
            said => Ok(Raw {
                stored,
                seconds: self.since_began(started),
                values: Values::Script {
                    is_bad: said == Said::Bad,
                },
            }),
        })
    }

    fn trial(
        &mut self,
        revision: &Revision,
        artifact: &Artifact,
        progress: &mut dyn Progress,
    ) -> Result<Outcome<Raw>, ExperimentError> {
        let plan = &self.request.plan;
        let allowed = 1 + plan.experiment.retries;
        let block = self.trials;
        self.trials += 1;
        let (mut failures, mut position) = (0, 0);
        loop {
            let started = SystemTime::now();
            let runner = self.runner(self.request.samples_trials());
            let attempted = runner.attempt(block as usize, artifact)?;
            let blob = attempted
                .profile
                .as_ref()
                .map(|bytes| self.surroundings.store.put_blob(bytes))
                .transpose()?;
            let (state, result) = stored_end(&attempted.end);
            let stored =
                self.keep_trial(&revision.id, block, position, started, state, result, blob)?;
            position += 1;
            let failure = match attempted.end {
                TrialEnd::Measured(result) => {
                    if let Some(what) = result.disturbance.exceeds(&plan.disturbance)
                        && self.repeats > 0
                    {
                        // Whatever it measured: the later one counts.
                        self.repeats -= 1;
                        progress.note(&format!(
                            "a trial of {} was disturbed and is repeated: {what}",
                            shown(revision)
                        ));
                        continue;
                    }
                    let profile = attempted.profile.as_deref().map(read_profile).transpose()?;
                    return Ok(Ok(self.raw(stored, started, &result, profile.as_ref())));
                }
                TrialEnd::Failed(failure) => failure,
            };
            failures += 1;
            if failure.kind == FailureKind::Setup {
                return Err(ExperimentError::TrialFailed {
                    arm: revision.short.clone(),
                    commit: shown(revision),
                    attempts: failures,
                    kind: failure.kind,
                    message: failure.message,
                });
            }
            if failures >= allowed {
                let reason = format!("cannot be measured: {}", failure.message);
                return Ok(Err(Skip(reason)));
            }
            progress.note(&format!(
                "a trial of {} failed and is tried again",
                shown(revision)
            ));
        }
    }

    /// A trial's values as the search sees them.
    pub fn raw(
        &self,
        stored: i64,
        started: SystemTime,
        result: &TrialResult,
        profile: Option<&Profile>,
    ) -> Raw {
        Raw {
            stored,
            seconds: self.since_began(started),
            values: Values::Measured(Box::new(measurement(
                0,
                result,
                profile,
                &Default::default(),
            ))),
        }
    }

    /// A trial of the store, by its number.
    pub fn stored(&self, number: i64) -> Result<Raw, ExperimentError> {
        let store = self.surroundings.store;
        let unreadable = |reason: String| ExperimentError::NotResumable {
            id: self.experiment.to_owned(),
            reason: format!("its stored trial {number} cannot be read ({reason})"),
        };
        let trials = store.trials(self.experiment)?;
        let trial = trials
            .into_iter()
            .find(|trial| trial.id == number)
            .ok_or_else(|| unreadable("it is gone".to_owned()))?;
        let profile = match &trial.profile {
            Some(digest) => Some(read_profile(&store.blob(digest)?)?),
            None => None,
        };
        let result: TrialResult =
            serde_json::from_value(trial.result).map_err(|error| unreadable(error.to_string()))?;
        Ok(self.raw(number, trial.started, &result, profile.as_ref()))
    }

    /// A stored answer of the user's command.
    pub fn stored_script(&self, trial: &StoredTrial) -> Raw {
        Raw {
            stored: trial.id,
            seconds: self.since_began(trial.started),
            values: Values::of_script(&trial.result),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn keep_trial(
        &self,
        arm: &str,
        block: u32,
        position: u32,
        started: SystemTime,
        state: TrialState,
        result: serde_json::Value,
        profile: Option<crate::store::BlobDigest>,
    ) -> Result<i64, ExperimentError> {
        let trial = NewTrial {
            block,
            arm: arm.to_owned(),
            position,
            started,
            ended: SystemTime::now(),
            state,
            result,
            profile,
        };
        Ok(self.surroundings.store.put_trial(self.experiment, &trial)?)
    }

    fn since_began(&self, time: SystemTime) -> f64 {
        time.duration_since(self.began)
            .unwrap_or_default()
            .as_secs_f64()
    }
}

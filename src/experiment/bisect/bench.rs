//! Builds and measures one commit at a time, and keeps what came of it.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime};

use crate::build::{Artifact, BuildError, BuildEvent, BuildRequest, Builder, Known, Reuse};
use crate::experiment::ExperimentError;
use crate::experiment::attempt::{LocalRunner, read_profile, stored_end};
use crate::experiment::compare::Surroundings;
use crate::experiment::measure::measurement;
use crate::experiment::progress::Progress;
use crate::experiment::workspace::Workspace;
use crate::profile::Profile;
use crate::repo::{PathsDigester, Revision};
use crate::store::{BuildRecord, NewTrial, StoredTrial, TrialState};
use crate::trial::{FailureKind, Placement, TrialEnd, TrialResult};
use crate::verdict::TrialMeasurement;

use super::ends::shown;
use super::line::Line;
use super::request::{BisectRequest, Measured};
use super::script::{Said, run_script};

/// Seconds of a build before one was seen.
const UNSEEN_BUILD_SECONDS: f64 = 60.0;
/// First number of a certificate's blocks; the next certificate's are so much higher.
pub const CERTIFICATE_BLOCKS: u32 = 100_000;

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

/// Where commits are built and measured.
pub struct Bench<'a> {
    /// The repository, the store, who watches.
    pub surroundings: &'a Surroundings<'a>,
    /// What is asked.
    pub request: &'a BisectRequest,
    /// The experiment's id.
    pub experiment: &'a str,
    /// When the search began.
    pub began: SystemTime,
    /// Who runs where.
    pub placement: &'a Placement,
    /// Where trials run.
    pub workspace: &'a Workspace,
    /// What of a tree matters.
    pub paths: &'a PathsDigester,
    builder: Builder,
    reuse: Reuse,
    inputs: BTreeMap<String, Vec<u8>>,
    artifacts: HashMap<String, Artifact>,
    builds: u32,
    build_times: Vec<f64>,
    trial_times: Vec<f64>,
    trials: u32,
    /// Repeats of disturbed trials that this process may still do.
    repeats: u32,
}

impl<'a> Bench<'a> {
    /// A bench with nothing on it but what the store has of this search.
    pub fn new(
        surroundings: &'a Surroundings<'a>,
        (request, experiment): (&'a BisectRequest, &'a str),
        (placement, workspace, paths): (&'a Placement, &'a Workspace, &'a PathsDigester),
        reuse: Reuse,
    ) -> Result<Self, ExperimentError> {
        let store = surroundings.store;
        let builder = Builder::new(
            store.directory(),
            surroundings.supervisor.clone(),
            surroundings.cancel.clone(),
        )?;
        let done = store.builds(experiment)?;
        let done: Vec<&BuildRecord> = done.iter().filter(|build| !build.cached).collect();
        let trials = store.trials(experiment)?;
        let searched = trials.iter().filter(|t| t.block < CERTIFICATE_BLOCKS);
        let trial_times = trials.iter().filter_map(|trial| {
            let time = trial.ended.duration_since(trial.started).ok()?;
            (trial.state == TrialState::Complete).then_some(time.as_secs_f64())
        });
        Ok(Self {
            surroundings,
            request,
            experiment,
            began: store.experiment(experiment)?.created,
            placement,
            workspace,
            paths,
            builder,
            reuse,
            inputs: BTreeMap::new(),
            artifacts: HashMap::new(),
            builds: u32::try_from(done.len()).unwrap_or(u32::MAX),
            build_times: done.iter().map(|build| build.seconds).collect(),
            trial_times: trial_times.collect(),
            trials: u32::try_from(searched.count()).unwrap_or(u32::MAX),
            repeats: request.plan.disturbance.repeats,
        })
    }

    /// Builds of the search so far, failed ones counted too.
    pub fn builds(&self) -> u32 {
        self.builds
    }

    /// Builds that may still be done; `None` without a limit.
    pub fn builds_left(&self) -> Option<u32> {
        let most = self.request.limits.max_builds?;
        Some(most.saturating_sub(self.builds))
    }

    /// Expected seconds of a trial: the mean of those that were done.
    pub fn trial_seconds(&self) -> f64 {
        if !self.trial_times.is_empty() {
            return crate::stats::mean(&self.trial_times);
        }
        let plan = &self.request.plan;
        match (&self.request.measured, &plan.server) {
            (Measured::Script { .. }, _) | (_, None) => 2.0,
            (_, Some(_)) => {
                let windows = &plan.windows;
                let profile = match self.request.samples_trials() {
                    true => windows.profile.0,
                    false => Duration::ZERO,
                };
                (windows.warmup.0 + windows.measure.0 + profile).as_secs_f64() + 2.0
            }
        }
    }

    /// Expected seconds of the builds of a line's classes, by the first commit's id; 0 where nothing
    /// is to be built. Commits that are known not to build are given to `skip`.
    pub fn build_seconds(
        &mut self,
        line: &Line,
        skip: &mut dyn FnMut(&Revision, String),
    ) -> Result<HashMap<String, f64>, ExperimentError> {
        let mut seconds = HashMap::new();
        let expected = match self.build_times.is_empty() {
            true => UNSEEN_BUILD_SECONDS,
            false => crate::stats::mean(&self.build_times).max(0.1),
        };
        for class in &line.classes {
            let commit = class.first();
            let known = match self.request.measured {
                Measured::Script { .. } => 0.0,
                _ if self.artifacts.contains_key(&commit.id) => 0.0,
                _ => match self.builder.known(&self.build_request(commit)) {
                    Ok(Known::Artifact(artifact)) if self.reuse != Reuse::Nothing => {
                        self.artifacts.insert(commit.id.clone(), *artifact);
                        0.0
                    }
                    Ok(Known::Failure(failure)) if self.reuse == Reuse::Everything => {
                        skip(commit, format!("does not build: {failure}"));
                        0.0
                    }
                    Ok(_) => expected,
                    Err(error) if error.is_about_commit() => {
                        skip(commit, error.to_string());
                        0.0
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            seconds.insert(commit.id.clone(), known);
        }
        Ok(seconds)
    }

    /// The artifact of a commit, built if need be.
    pub fn artifact(
        &mut self,
        revision: &Revision,
        progress: &mut dyn Progress,
    ) -> Result<Outcome<Artifact>, ExperimentError> {
        if let Some(artifact) = self.artifacts.get(&revision.id) {
            return Ok(Ok(artifact.clone()));
        }
        let request = self.build_request(revision);
        let known = match self.builder.known(&request) {
            Ok(known) => known,
            Err(error) if error.is_about_commit() => return Ok(Err(Skip(error.to_string()))),
            Err(error) => return Err(error.into()),
        };
        let (key, is_there) = match &known {
            Known::Artifact(artifact) => (artifact.key.clone(), self.reuse != Reuse::Nothing),
            Known::Failure(_) => (String::new(), self.reuse == Reuse::Everything),
            Known::Nothing { key } => (key.clone(), false),
        };
        if !is_there && self.builds_left() == Some(0) {
            return Err(ExperimentError::Budget("builds"));
        }
        let started = Instant::now();
        let mut waited = None;
        let built = self.builder.build(&request, &mut |event| match event {
            BuildEvent::Waiting { holder } => waited = holder,
            BuildEvent::Exporting => progress.note(&format!("building {}", shown(revision))),
            BuildEvent::Step { .. } | BuildEvent::Note { .. } | BuildEvent::Built { .. } => {}
        });
        if let Some(holder) = waited {
            progress.note(&format!("waited for another build (process {holder})"));
        }
        let (digest, failure) = match &built {
            Ok(artifact) => (Some(artifact.digest.clone()), None),
            Err(BuildError::Interrupted) => return Err(ExperimentError::Interrupted),
            Err(error) if error.is_about_commit() => (None, Some(error.to_string())),
            Err(_) => return Err(built.err().map_or(ExperimentError::Interrupted, Into::into)),
        };
        let seconds = started.elapsed().as_secs_f64();
        if !is_there {
            let record = BuildRecord {
                revision: revision.id.clone(),
                key,
                digest,
                cached: false,
                seconds,
                failure,
            };
            self.surroundings
                .store
                .put_build(self.experiment, &record)?;
            self.builds += 1;
            self.build_times.push(seconds);
        }
        match built {
            Ok(artifact) => {
                self.artifacts.insert(revision.id.clone(), artifact.clone());
                Ok(Ok(artifact))
            }
            Err(error) => Ok(Err(Skip(error.to_string()))),
        }
    }

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

    /// What was built of a commit in this process.
    pub fn built(&self, commit: &str) -> Option<&Artifact> {
        self.artifacts.get(commit)
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

    /// Who runs trials.
    pub fn runner(&self, profile: bool) -> LocalRunner<'a> {
        LocalRunner {
            supervisor: self.surroundings.supervisor,
            cancel: self.surroundings.cancel,
            plan: &self.request.plan,
            placement: self.placement,
            profile,
            workspace: self.workspace,
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

    fn build_request<'r>(&'r self, revision: &'r Revision) -> BuildRequest<'r> {
        BuildRequest {
            repository: self.surroundings.repository,
            revision,
            kind: self.request.plan.subject.kind,
            recipe: &self.request.plan.build,
            paths: self.paths,
            inputs: &self.inputs,
            reuse: self.reuse,
        }
    }

    fn since_began(&self, time: SystemTime) -> f64 {
        time.duration_since(self.began)
            .unwrap_or_default()
            .as_secs_f64()
    }
}

//! Builds and measures one commit at a time, and keeps what came of it.

mod building;
mod measuring;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use crate::build::{Artifact, Builder, Reuse};
use crate::experiment::ExperimentError;
use crate::experiment::attempt::LocalRunner;
use crate::experiment::compare::Surroundings;
use crate::experiment::workspace::Workspace;
use crate::repo::PathsDigester;
use crate::store::{BuildRecord, TrialState};
use crate::trial::Placement;

use super::request::{BisectRequest, Measured};

pub use values::{Outcome, Raw, Skip, Values};

/// First number of a certificate's blocks; the next certificate's are so much higher.
pub const CERTIFICATE_BLOCKS: u32 = 100_000;

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
}

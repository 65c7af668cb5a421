//! From the plan to the job of one trial.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::build::Artifact;
use crate::plan::Plan;
use crate::trial::{JOB_SCHEMA, Placement, SampledScope, ServerWorkload, TrialJob, Workload};

/// Time for starting, stopping, attaching and symbolizing, on a machine under load.
const SLACK: Duration = Duration::from_secs(180);

/// The files that a trial runs. All are empty where nothing was built.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProgramFiles<'a> {
    /// The main file.
    pub main: Option<&'a Path>,
    /// The directory of all files.
    pub dir: Option<&'a Path>,
    /// Directories of shared libraries.
    pub library_path: &'a [PathBuf],
}

impl<'a> From<&'a Artifact> for ProgramFiles<'a> {
    fn from(artifact: &'a Artifact) -> Self {
        Self {
            main: Some(&artifact.main),
            dir: Some(&artifact.dir),
            library_path: &artifact.library_path,
        }
    }
}

/// The job of one trial in `dir`. `None` where the plan has neither server nor command, which its
/// check refuses.
pub fn trial_job(
    plan: &Plan,
    placement: &Placement,
    files: ProgramFiles<'_>,
    profile: bool,
    dir: &Path,
) -> Option<TrialJob> {
    let workload = match (&plan.server, &plan.command) {
        (Some(server), _) => Workload::Server(Box::new(ServerWorkload {
            server: server.clone(),
            load: plan.load.clone(),
            prepare: plan.prepare.clone(),
            load_program: plan.load_program.clone(),
            prepare_program: plan.prepare_program.clone(),
            phases: plan.phase.clone(),
            metrics: plan.metric.clone(),
            windows: plan.windows.clone(),
            load_cpus: placement.load.clone(),
        })),
        (None, Some(command)) => Workload::Command(Box::new(command.clone())),
        (None, None) => return None,
    };
    Some(TrialJob {
        schema: JOB_SCHEMA.to_owned(),
        artifact: files.main.map(Path::to_owned).unwrap_or_default(),
        artifact_dir: files.dir.map(Path::to_owned).unwrap_or_default(),
        library_path: files.library_path.to_vec(),
        run_dir: dir.join("run"),
        workload,
        settings: plan.settings.clone(),
        custom_settings: plan.custom_settings.clone(),
        subject_cpus: placement.subject.clone(),
        sampling: profile.then(|| plan.sampling.clone()),
        sampled: SampledScope::Subject,
        seed: plan.experiment.seed,
        outcome: dir.join("outcome.json"),
        profile: dir.join("profile.json"),
    })
}

/// Time after which a trial must be stuck: each of its parts has a limit of its own.
pub fn time_limit(plan: &Plan) -> Duration {
    let parts = match (&plan.server, &plan.command) {
        (Some(server), _) => {
            let windows = &plan.windows;
            // Each run of a program has the program's own limit.
            let under_load = match &plan.load_program {
                _ if !plan.phase.is_empty() => plan
                    .phase
                    .iter()
                    .map(|phase| {
                        phase.timeout.0 + phase.length.map_or(Duration::ZERO, |length| length.0)
                    })
                    .fold(Duration::ZERO, Duration::saturating_add),
                Some(program) => program.timeout.0.saturating_mul(3),
                None => windows.warmup.0 + windows.measure.0 + windows.profile.0,
            };
            (server.init_timeout.0
                + server.ready.timeout.0
                + windows.prepare_timeout.0
                + server.stop_timeout.0)
                .saturating_add(under_load)
        }
        (None, Some(command)) => {
            let runs = command
                .warmup_runs
                .saturating_add(command.runs)
                .saturating_add(command.profile_runs);
            command.timeout.0.saturating_mul(runs)
        }
        (None, None) => Duration::ZERO,
    };
    parts.saturating_add(SLACK)
}

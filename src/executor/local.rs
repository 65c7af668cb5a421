//! Starts a trial's process on this machine.

use std::path::PathBuf;
use std::time::Duration;

use super::cancel::Cancel;
use super::ended::Ended;
use super::guarded::ProcessError;
use super::spawn::{Spawn, Supervisor};

/// A trial as this room sees it: a job file in, a result file out.
#[derive(Debug, Clone)]
pub struct LocalTrial {
    /// The job description.
    pub job: PathBuf,
    /// Directory that the trial runs in, with its logs.
    pub dir: PathBuf,
    /// What the trial prints about itself.
    pub log: PathBuf,
    /// Time after which something is wrong.
    pub limit: Duration,
}

/// Runs `perfblame trial JOB` to its end.
pub fn run_trial(
    supervisor: &Supervisor,
    trial: &LocalTrial,
    cancel: &Cancel,
) -> Result<Ended, ProcessError> {
    let program = supervisor.program().to_string_lossy().into_owned();
    let job = trial.job.to_string_lossy().into_owned();
    let spawn = Spawn {
        command: vec![program, "trial".to_owned(), job],
        dir: trial.dir.clone(),
        env: Vec::new(),
        cpus: None,
        log: trial.log.clone(),
        stdout: None,
        user: None,
        grace: Duration::from_secs(10),
    };
    spawn.start(supervisor)?.wait(Some(trial.limit), cancel)
}

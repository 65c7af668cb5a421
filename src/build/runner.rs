//! Runs the steps of a build, each under a guard that leaves nothing behind.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::executor::{Cancel, Ended, Spawn, Supervisor};

use super::environment::Environment;
use super::error::BuildError;
use super::failure::FailureReason;

/// Time between SIGTERM and SIGKILL for what still runs when a build is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// What steps are run with.
#[derive(Debug)]
pub(super) struct Runner<'a> {
    pub supervisor: &'a Supervisor,
    pub cancel: &'a Cancel,
    pub environment: &'a Environment,
    pub source: &'a Path,
    pub log: &'a Path,
    /// Time limit of all steps together.
    pub limit: Duration,
}

impl Runner<'_> {
    /// Runs the steps in order; `tell` hears of each before it starts. A step that fails, or that
    /// runs when the time is up, is `Ok(Some(reason))`.
    pub fn run(
        &self,
        steps: &[String],
        tell: &mut dyn FnMut(usize, &str),
    ) -> Result<Option<FailureReason>, BuildError> {
        let started = Instant::now();
        for (index, step) in steps.iter().enumerate() {
            tell(index, step);
            self.write_heading(step).map_err(BuildError::io(self.log))?;
            let left = self.limit.saturating_sub(started.elapsed());
            let ended = self.spawn(step).start(self.supervisor)?;
            match ended.wait(Some(left), self.cancel)? {
                Ended::Cancelled(_) => return Err(BuildError::Interrupted),
                Ended::TimeLimit(_) => {
                    return Ok(Some(FailureReason::TimeLimit {
                        step: step.clone(),
                        limit_s: self.limit.as_secs(),
                    }));
                }
                Ended::Itself(report) if !report.is_success() => {
                    return Ok(Some(FailureReason::Step {
                        step: step.clone(),
                        ended: report.describe(),
                    }));
                }
                Ended::Itself(_) => {}
            }
        }
        Ok(None)
    }

    fn write_heading(&self, step: &str) -> std::io::Result<()> {
        let mut log = File::options().create(true).append(true).open(self.log)?;
        writeln!(log, "$ {step}")
    }

    fn spawn(&self, step: &str) -> Spawn {
        let mut command = Vec::new();
        if !self.environment.unset.is_empty() {
            command.push("env".to_owned());
            for name in &self.environment.unset {
                command.extend(["-u".to_owned(), name.clone()]);
            }
        }
        command.extend(["sh", "-euc", step].map(str::to_owned));
        let env = &self.environment.set;
        Spawn {
            command,
            dir: self.source.to_owned(),
            env: env
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            cpus: None,
            log: self.log.to_owned(),
            stdout: None,
            grace: GRACE,
        }
    }
}

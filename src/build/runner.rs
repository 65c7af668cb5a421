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
    /// Where the steps are written as scripts.
    pub scripts: &'a Path,
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
            let spawn = self
                .spawn(index + 1, step)
                .map_err(BuildError::io(self.scripts))?;
            let ended = spawn.start(self.supervisor)?;
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

    /// Writes the step as a script, so that it can be tried again by hand, and makes the process.
    fn spawn(&self, number: usize, step: &str) -> std::io::Result<Spawn> {
        let script = self.scripts.join(format!("step-{number}.sh"));
        let mut text = String::new();
        for name in &self.environment.unset {
            text.push_str(&format!("unset {name}\n"));
        }
        std::fs::write(&script, text + step + "\n")?;
        let script = script.to_string_lossy().into_owned();
        Ok(Spawn {
            command: vec!["sh".to_owned(), "-eu".to_owned(), script],
            dir: self.source.to_owned(),
            env: self.environment.set.clone().into_iter().collect(),
            cpus: None,
            log: self.log.to_owned(),
            stdout: None,
            user: None,
            grace: GRACE,
        })
    }
}

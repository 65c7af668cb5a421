//! A command's trial: run it again and again, without the profiler and then with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::executor::guard::GuardReport;
use crate::executor::{Cancel, Ended, Guarded, Spawn, Supervisor};
use crate::plan::{Command, CommandMetric, Placeholders, SampleSpec};
use crate::profile::Profile;
use crate::sample::Recorder;

use super::disturbance::{Entitled, Watch};
use super::environment::variables;
use super::error::{TrialError, refuse_untrusted, tail};
use super::job::{SampledScope, TrialJob};
use super::metrics::{CommandRun, command_metrics};
use super::outcome::{TrialResult, WindowResult};
use super::run::write_json;
use super::scope::{aside, busy, disturbance_of, usage_of, whole_cpus};
use super::usage::UsageDelta;

/// Runs a command's trial.
pub fn run(
    command: &Command,
    job: &TrialJob,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<TrialResult, TrialError> {
    aside(job)?;
    let runner = Runner::new(command, job, supervisor, cancel)?;
    for _ in 0..command.warmup_runs {
        runner.once()?;
    }
    let watch = Watch::begin(job.subject_cpus.as_slice());
    let own = own_cpu_ns();
    let measured: Vec<CommandRun> = (0..command.runs)
        .map(|_| runner.once())
        .collect::<Result<_, _>>()?;
    let disturbance = watch.end(Entitled {
        subject_ns: window(&measured).usage.cpu_ns(),
        own_ns: own_cpu_ns().saturating_sub(own),
    });

    let mut profiled = None;
    let mut warnings = Vec::new();
    if let Some(spec) = &job.sampling {
        let mut runs = Vec::new();
        let mut profiles = Vec::new();
        for _ in 0..command.profile_runs {
            let (run, profile) = runner.once_sampled(spec)?;
            runs.push(run);
            profiles.push(profile);
        }
        if let Some(profile) = Profile::merged(profiles) {
            if profile.accounting.samples == 0 {
                warnings.push(format!(
                    "no sample was taken in {} runs: the command is too short; raise command.profile-runs",
                    command.profile_runs
                ));
            }
            refuse_untrusted(&profile)?;
            warnings.extend(profile.accounting.warnings.iter().cloned());
            write_json(&job.profile, &profile)?;
            profiled = Some(window(&runs));
        }
    }
    Ok(TrialResult {
        metrics: command_metrics(&measured),
        descriptions: Default::default(),
        measured: window(&measured),
        profiled,
        profiled_phases: Default::default(),
        absent: Default::default(),
        guest: None,
        disturbance: disturbance_of(job, disturbance),
        warnings,
    })
}

/// CPU time of this process, in nanoseconds; it may run on the subject's CPUs.
fn own_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn window(runs: &[CommandRun]) -> WindowResult {
    let sum = |of: fn(&GuardReport) -> u64| runs.iter().map(|run| of(&run.report)).sum();
    WindowResult {
        duration_ns: sum(|report| report.wall_ns),
        ops: runs.len() as u64,
        usage: UsageDelta {
            user_ns: sum(|report| report.user_ns),
            system_ns: sum(|report| report.system_ns),
            rss_bytes: runs
                .iter()
                .map(|run| run.report.max_rss_bytes)
                .max()
                .unwrap_or(0),
            context_switches: sum(|report| report.context_switches),
            page_faults: 0,
        },
    }
}

struct Runner<'a> {
    job: &'a TrialJob,
    spawn: Spawn,
    log: PathBuf,
    stdout: PathBuf,
    limit: Duration,
    number: Option<regex::Regex>,
    supervisor: &'a Supervisor,
    cancel: &'a Cancel,
}

impl<'a> Runner<'a> {
    fn new(
        command: &Command,
        job: &'a TrialJob,
        supervisor: &'a Supervisor,
        cancel: &'a Cancel,
    ) -> Result<Self, TrialError> {
        let values = Placeholders::new([
            ("artifact", job.artifact.display().to_string()),
            ("artifact-dir", job.artifact_dir.display().to_string()),
            ("run", job.run_dir.display().to_string()),
            ("cpus", job.subject_cpus.to_string()),
        ]);
        let setup = |error: crate::plan::UnknownPlaceholder| TrialError::Setup(error.to_string());
        let number = match (command.metric, &command.pattern) {
            (CommandMetric::Output, Some(pattern)) => Some(
                regex::Regex::new(pattern).map_err(|error| TrialError::Setup(error.to_string()))?,
            ),
            _ => None,
        };
        let log = job.run_dir.join("command.log");
        let stdout = job.run_dir.join("command.out");
        Ok(Self {
            job,
            spawn: Spawn {
                command: command.run.expand(&values).map_err(setup)?,
                dir: job.run_dir.clone(),
                env: variables(&command.env, &values, job).map_err(setup)?,
                cpus: Some(job.subject_cpus.as_slice().to_vec()),
                log: log.clone(),
                stdout: Some(stdout.clone()),
                user: None,
                grace: Duration::from_secs(5),
            },
            log,
            stdout,
            limit: command.timeout.0,
            number,
            supervisor,
            cancel,
        })
    }

    fn once(&self) -> Result<CommandRun, TrialError> {
        let process = self.spawn.start(self.supervisor)?;
        self.wait(process)
    }

    /// The recorder is attached while the guard holds the command back, so that it sees the first
    /// instruction.
    fn once_sampled(&self, spec: &SampleSpec) -> Result<(CommandRun, Profile), TrialError> {
        let sampling = |error: crate::sample::SampleError| TrialError::Sampling(error.to_string());
        let mut process = self.spawn.hold(self.supervisor)?;
        let recorder = match self.job.sampled {
            SampledScope::Subject => Recorder::attach_on_exec(spec, process.guard_pid()),
            SampledScope::SubjectCpus => whole_cpus(spec, self.job).inspect(Recorder::enable),
        };
        let recorder = recorder.map_err(sampling)?;
        let before = busy(self.job);
        process.release()?;
        let mut run = self.wait(process)?;
        let usage = usage_of(self.job, run.usage(), before);
        (run.report.user_ns, run.report.system_ns) = (usage.user_ns, usage.system_ns);
        Ok((run, recorder.finish().map_err(sampling)?))
    }

    fn wait(&self, process: Guarded) -> Result<CommandRun, TrialError> {
        let failed = |how: String| TrialError::Command {
            command: shell_words::join(&self.spawn.command),
            how,
            output: self.last_words(),
        };
        let report = match process.wait(Some(self.limit), self.cancel)? {
            Ended::Cancelled(_) => return Err(TrialError::Cancelled),
            Ended::TimeLimit(_) => {
                let limit = humantime::format_duration(self.limit);
                return Err(failed(format!(
                    "was not done after {limit} (command.timeout)"
                )));
            }
            Ended::Itself(report) => report,
        };
        if !report.is_success() {
            return Err(failed(report.describe()));
        }
        let value = match &self.number {
            None => None,
            Some(pattern) => {
                let text = std::fs::read(&self.stdout).unwrap_or_default();
                Some(number_in(&String::from_utf8_lossy(&text), pattern).map_err(failed)?)
            }
        };
        Ok(CommandRun { report, value })
    }

    /// Standard error where there is some, else standard output.
    fn last_words(&self) -> String {
        let is_empty = |path: &Path| std::fs::metadata(path).map_or(true, |file| file.len() == 0);
        match is_empty(&self.log) {
            true => tail(&self.stdout),
            false => tail(&self.log),
        }
    }
}

/// The one number that a pattern finds in a text.
fn number_in(text: &str, pattern: &regex::Regex) -> Result<f64, String> {
    let mut found = pattern
        .captures_iter(text)
        .filter_map(|captures| captures.name("value"));
    let Some(first) = found.next() else {
        return Err(format!(
            "printed nothing that matches command.pattern `{pattern}`"
        ));
    };
    if let Some(second) = found.next() {
        return Err(format!(
            "printed two numbers that match command.pattern `{pattern}`: `{}` and `{}`; make the pattern match one",
            first.as_str(),
            second.as_str()
        ));
    }
    match first.as_str().parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!(
            "printed `{}` where command.pattern `{pattern}` looks for a number above zero",
            first.as_str()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_number_is_taken() {
        let pattern = regex::Regex::new(r"ops/s: (?<value>\S+)").unwrap();
        assert_eq!(number_in("x\nops/s: 12.5\n", &pattern), Ok(12.5));
        for (text, said) in [
            ("", "printed nothing"),
            ("ops/s: 1\nops/s: 2\n", "two numbers"),
            ("ops/s: fast\n", "`fast`"),
            ("ops/s: NaN\n", "`NaN`"),
            ("ops/s: 0\n", "above zero"),
        ] {
            let error = number_in(text, &pattern).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

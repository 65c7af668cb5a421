//! One phase: how it begins, what goes on meanwhile, and when it ends.

use std::time::{Duration, Instant};

use crate::executor::{Cancel, Ended, Spawn, Supervisor};
use crate::load::{Running, WindowId, WindowStats};
use crate::plan::{CommandLine, Phase, Placeholders, SampleSpec};
use crate::sample::{Detached, Recorder};

use super::super::error::{TrialError, tail};
use super::super::job::{SampledScope, ServerWorkload, TrialJob};
use super::super::loading::generator::{LOOK, load_error, options, seeded, wait_for_end};
use super::super::loading::to_the_end;
use super::super::profiling::{self, attach};
use super::super::scope::{busy, usage_of, whole_cpus};
use super::super::server::RunningServer;
use super::super::usage::{Usage, UsageDelta};

/// The name of a phase in a message.
const DOING: &str = "in a phase";

/// What a phase came to.
#[derive(Debug)]
pub struct PhaseSeen {
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Operations of the load.
    pub ops: u64,
    /// What the server used.
    pub usage: UsageDelta,
    /// What was used of that which is sampled: by the server, or by all on its CPUs.
    pub sampled_usage: UsageDelta,
    /// What was sampled.
    pub recording: Option<Detached>,
    latency_p99_ms: Option<f64>,
}

impl PhaseSeen {
    /// The phase's own metrics.
    pub fn metrics(&self, phase: &str) -> Vec<(String, f64)> {
        let seconds = self.duration_ns as f64 / 1e9;
        let mut metrics = vec![
            ("duration", seconds),
            ("cpu", self.usage.cpu_ns() as f64 / 1e9),
            ("cpu_user", self.usage.user_ns as f64 / 1e9),
            ("cpu_system", self.usage.system_ns as f64 / 1e9),
            ("page_faults", self.usage.page_faults as f64),
        ];
        if let Some(p99) = self.latency_p99_ms {
            metrics.push(("throughput", self.ops as f64 / seconds));
            metrics.push(("latency_p99", p99));
        }
        metrics
            .into_iter()
            .map(|(name, value)| (format!("{phase}.{name}"), value))
            .collect()
    }
}

/// Runs phases.
pub struct PhaseRunner<'a> {
    /// What the trial is about.
    pub workload: &'a ServerWorkload,
    /// The trial.
    pub job: &'a TrialJob,
    /// Who watches over processes.
    pub supervisor: &'a Supervisor,
    /// The user's wish to stop.
    pub cancel: &'a Cancel,
}

impl PhaseRunner<'_> {
    /// Runs one phase, sampled where a specification is given; the server goes in and comes out,
    /// since a phase may restart it.
    pub fn phase(
        &self,
        phase: &Phase,
        mut server: RunningServer,
        sampling: Option<&SampleSpec>,
    ) -> Result<(RunningServer, PhaseSeen), TrialError> {
        if phase.restart {
            server.stop()?;
            return self.restart(sampling);
        }
        let recorder = match sampling {
            Some(spec) => Some(attach(spec, self.job, server.guard_pid())?),
            None => None,
        };
        if let Some(recorder) = &recorder {
            recorder.enable();
        }
        let busy_before = busy(self.job);
        let before = Usage::of(&server.processes());
        let started = Instant::now();
        let stats = match &phase.load {
            Some(spec) if phase.length.is_none() && phase.until.is_none() => {
                self.command(phase, &mut server, started)?;
                let end = started + phase.timeout.0;
                let (workload, job) = (self.workload, self.job);
                let stats = to_the_end(spec, end, DOING, workload, job, &mut server, self.cancel)?;
                Some(stats.ok_or_else(|| self.failed(phase, &timed_out(phase), &server))?)
            }
            Some(spec) => {
                let spec = seeded(spec, self.job.seed);
                let options = options(self.workload, self.cancel);
                let running = Running::start(&spec, &server.target, &options, WindowId(1))
                    .map_err(|error| load_error(DOING, &error, &server))?;
                self.command(phase, &mut server, started)?;
                self.lasts(phase, &mut server, Some(&running), started)?;
                let stats = match running.finish() {
                    Ok(stats) => stats,
                    Err(error) => {
                        wait_for_end(&mut server, DOING)?;
                        return Err(load_error(DOING, &error, &server));
                    }
                };
                stats.into_iter().find(|window| window.id == WindowId(1))
            }
            None => {
                self.command(phase, &mut server, started)?;
                self.lasts(phase, &mut server, None, started)?;
                None
            }
        };
        let lasted = started.elapsed().as_nanos() as u64;
        let recording = recorder.map(Recorder::detach).transpose();
        let usage = Usage::of(&server.processes()).since(&before);
        if stats.as_ref().is_some_and(|stats| stats.ops() == 0) {
            return Err(self.failed(phase, "the server answered nothing", &server));
        }
        let seen = PhaseSeen {
            duration_ns: stats.as_ref().map_or(lasted, |stats| stats.duration_ns),
            ops: stats.as_ref().map_or(0, WindowStats::ops),
            usage,
            sampled_usage: usage_of(self.job, usage, busy_before),
            recording: recording.map_err(profiling::sampling)?,
            latency_p99_ms: stats
                .as_ref()
                .map(|stats| stats.latency().percentile_ns(99.0) as f64 / 1e6),
        };
        Ok((server, seen))
    }

    /// Starts the server on its data, from its first instruction until it is ready.
    fn restart(
        &self,
        sampling: Option<&SampleSpec>,
    ) -> Result<(RunningServer, PhaseSeen), TrialError> {
        let by_cpu = sampling.filter(|_| self.job.sampled == SampledScope::SubjectCpus);
        let whole = match by_cpu {
            Some(spec) => Some(whole_cpus(spec, self.job).map_err(profiling::sampling)?),
            None => None,
        };
        whole.iter().for_each(Recorder::enable);
        let busy_before = busy(self.job);
        let started = Instant::now();
        let (server, recorder) = RunningServer::restart(
            &self.workload.server,
            self.job,
            sampling.filter(|_| by_cpu.is_none()),
            self.supervisor,
            self.cancel,
        )?;
        let recorder = recorder.or(whole);
        let duration_ns = started.elapsed().as_nanos() as u64;
        let recording = recorder.map(Recorder::detach).transpose();
        let usage = Usage::of(&server.processes()).since(&Usage::default());
        let seen = PhaseSeen {
            duration_ns,
            ops: 0,
            usage,
            sampled_usage: usage_of(self.job, usage, busy_before),
            recording: recording.map_err(profiling::sampling)?,
            latency_p99_ms: None,
        };
        Ok((server, seen))
    }

    /// Waits for the phase's end, and fails as soon as the server, the load, the time or the user's
    /// patience does.
    fn lasts(
        &self,
        phase: &Phase,
        server: &mut RunningServer,
        running: Option<&Running>,
        started: Instant,
    ) -> Result<(), TrialError> {
        loop {
            if self.cancel.is_set() {
                return Err(TrialError::Cancelled);
            }
            server.check(DOING)?;
            if let Some(Err(error)) = running.map(Running::check) {
                wait_for_end(server, DOING)?;
                return Err(load_error(DOING, &error, server));
            }
            let elapsed = started.elapsed();
            if let Some(length) = phase.length {
                if elapsed >= length.0 {
                    return Ok(());
                }
                std::thread::sleep((length.0 - elapsed).min(LOOK));
                continue;
            }
            if let Some(until) = &phase.until
                && self.asks(phase, until, server)?
            {
                return Ok(());
            }
            if elapsed >= phase.timeout.0 {
                return Err(self.failed(phase, &timed_out(phase), server));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The program at the beginning of a phase.
    fn command(
        &self,
        phase: &Phase,
        server: &mut RunningServer,
        started: Instant,
    ) -> Result<(), TrialError> {
        let Some(command) = &phase.command else {
            return Ok(());
        };
        let left = phase.timeout.0.saturating_sub(started.elapsed());
        let (ended, log) = self.program(command, server, left)?;
        match ended {
            Ended::Cancelled(_) => Err(TrialError::Cancelled),
            Ended::Itself(report) if report.is_success() => Ok(()),
            Ended::TimeLimit(_) => Err(self.failed(phase, &timed_out(phase), server)),
            Ended::Itself(report) => Err(TrialError::Command {
                command: shell_words::join(&command.0),
                how: format!("(phase `{}`) {}", phase.name, report.describe()),
                output: tail(&log),
            }),
        }
    }

    /// Whether the program that tells the phase's end says yes.
    fn asks(
        &self,
        phase: &Phase,
        until: &CommandLine,
        server: &mut RunningServer,
    ) -> Result<bool, TrialError> {
        match self.program(until, server, phase.timeout.0)?.0 {
            Ended::Cancelled(_) => Err(TrialError::Cancelled),
            Ended::Itself(report) => Ok(report.is_success()),
            Ended::TimeLimit(_) => Err(self.failed(phase, &timed_out(phase), server)),
        }
    }

    /// Runs a short program on the load's CPUs.
    pub fn program(
        &self,
        command: &CommandLine,
        server: &RunningServer,
        limit: Duration,
    ) -> Result<(Ended, std::path::PathBuf), TrialError> {
        let mut values: Placeholders = server.places.clone();
        values.set("cpus", self.workload.load_cpus.to_string());
        let log = self.job.run_dir.join("phase.log");
        let _ = std::fs::remove_file(&log);
        let spawn = Spawn {
            command: command
                .expand(&values)
                .map_err(|error| TrialError::Setup(error.to_string()))?,
            dir: self.job.run_dir.clone(),
            env: Vec::new(),
            cpus: Some(self.workload.load_cpus.as_slice().to_vec()),
            log: log.clone(),
            stdout: None,
            user: None,
            grace: Duration::from_secs(2),
        };
        Ok((
            spawn
                .start(self.supervisor)?
                .wait(Some(limit), self.cancel)?,
            log,
        ))
    }

    /// A phase that failed.
    pub fn failed(&self, phase: &Phase, reason: &str, server: &RunningServer) -> TrialError {
        TrialError::Load {
            doing: DOING,
            reason: format!("phase `{}`: {reason}", phase.name),
            output: server.output(),
        }
    }
}

fn timed_out(phase: &Phase) -> String {
    format!("it was not over after {} (phase.timeout)", phase.timeout)
}

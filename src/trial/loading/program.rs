//! Another program as the load: each window is one run of it, and what it prints is what counts.

use std::time::{Duration, Instant};

use crate::executor::{
    Cancel, Ended, ExternalLoadError, ExternalRun, ProcessError, Spawn, Supervisor,
};
use crate::load::reader::Reading;
use crate::plan::load::{ExternalLoad, Preparation};
use crate::plan::{Length, Placeholders, UnknownPlaceholder};

use super::super::error::{TrialError, tail};
use super::super::job::{ServerWorkload, TrialJob};
use super::super::server::RunningServer;
use super::super::usage::{Usage, UsageDelta};
use super::generator::wait_for_end;
use super::{Loading, Seen, Window};

/// A program that is run for each window.
pub struct ProgramLoad<'a> {
    load: &'a ExternalLoad,
    workload: &'a ServerWorkload,
    job: &'a TrialJob,
    supervisor: &'a Supervisor,
    cancel: &'a Cancel,
    seen: Vec<(Window, Seen)>,
}

impl<'a> ProgramLoad<'a> {
    /// Nothing runs before the first window.
    pub fn new(
        load: &'a ExternalLoad,
        workload: &'a ServerWorkload,
        job: &'a TrialJob,
        supervisor: &'a Supervisor,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            load,
            workload,
            job,
            supervisor,
            cancel,
            seen: Vec::new(),
        }
    }

    /// One run; a server that dies is the reason of whatever the program says then.
    fn run(
        &self,
        server: &mut RunningServer,
        doing: &'static str,
        length: Duration,
    ) -> Result<Reading, TrialError> {
        let mut values = server.places.clone();
        values.set("cpus", self.workload.load_cpus.to_string());
        values.set("seconds", whole_seconds(length).to_string());
        let run = ExternalRun {
            load: self.load,
            values: &values,
            dir: &self.job.run_dir,
            cpus: Some(self.workload.load_cpus.as_slice().to_vec()),
        };
        match run.run(self.supervisor, self.cancel) {
            Ok((reading, _)) => {
                server.check(doing)?;
                Ok(reading)
            }
            Err(error) => Err(self.explain(error, server, doing)),
        }
    }

    fn explain(
        &self,
        error: ExternalLoadError,
        server: &mut RunningServer,
        doing: &'static str,
    ) -> TrialError {
        match error {
            ExternalLoadError::Cancelled => return TrialError::Cancelled,
            // Another try would find the same: the program is missing, or the plan is wrong.
            ExternalLoadError::Process(ProcessError::Start { command, reason }) => {
                return TrialError::Setup(format!(
                    "cannot start the load `{command}` (load-program.run): {reason}"
                ));
            }
            ExternalLoadError::Placeholder(error) => return TrialError::Setup(error.to_string()),
            _ => {}
        }
        match wait_for_end(server, doing) {
            Err(dead) => dead,
            Ok(()) => TrialError::Load {
                doing,
                reason: error.to_string(),
                output: server.output(),
            },
        }
    }
}

impl Loading for ProgramLoad<'_> {
    /// A program that is not told how long to run warms the server up in its own way.
    fn warm_up(&mut self, server: &mut RunningServer, length: Duration) -> Result<(), TrialError> {
        if self.load.is_told_its_length() && !length.is_zero() {
            self.run(server, "warming up", length)?;
        }
        Ok(())
    }

    fn window(
        &mut self,
        server: &mut RunningServer,
        window: Window,
        length: Duration,
    ) -> Result<UsageDelta, TrialError> {
        let before = Usage::of(&server.processes());
        let started = Instant::now();
        let reading = self.run(server, window.name(), length)?;
        let lasted = started.elapsed();
        let usage = Usage::of(&server.processes()).since(&before);
        let seen = seen(&reading, lasted).map_err(|reason| TrialError::Load {
            doing: window.name(),
            reason: format!(
                "the load `{}`: {reason}",
                shell_words::join(&self.load.run.0)
            ),
            output: server.output(),
        })?;
        self.seen.push((window, seen));
        Ok(usage)
    }

    fn finish(self: Box<Self>, _: &mut RunningServer) -> Result<Vec<(Window, Seen)>, TrialError> {
        Ok(self.seen)
    }
}

/// A program's numbers as a window. Where it tells no count of operations, rate times time is one,
/// which its own start makes a little too large.
fn seen(reading: &Reading, lasted: Duration) -> Result<Seen, String> {
    for metric in &reading.metrics {
        let is_main = metric.name == reading.metrics[0].name;
        if !metric.value.is_finite() || metric.value < 0.0 || (is_main && metric.value == 0.0) {
            return Err(format!(
                "its {} is {}, which is no measurement",
                metric.name, metric.value
            ));
        }
    }
    let estimate = |rate: f64| (rate * lasted.as_secs_f64()).round().max(1.0) as u64;
    let rate = reading.ops_per_second();
    let ops = rate.map(|rate| reading.operations.unwrap_or_else(|| estimate(rate)).max(1));
    let metrics = reading.metrics.iter();
    Ok(Seen {
        duration_ns: lasted.as_nanos() as u64,
        ops,
        metrics: metrics
            .clone()
            .map(|metric| (metric.name.clone(), metric.value))
            .collect(),
        descriptions: metrics
            .map(|metric| (metric.name.clone(), metric.description.clone()))
            .collect(),
        warnings: Vec::new(),
    })
}

/// Programs take whole seconds, and none runs for zero of them.
fn whole_seconds(length: Duration) -> u64 {
    (length.as_secs_f64().ceil() as u64).max(1)
}

/// The program that fills a server, ready to be started.
pub fn preparation(
    program: &Preparation,
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &RunningServer,
) -> Result<Spawn, TrialError> {
    let setup = |error: UnknownPlaceholder| TrialError::Setup(error.to_string());
    let mut values: Placeholders = server.places.clone();
    values.set("cpus", workload.load_cpus.to_string());
    let variables = program.env.iter();
    Ok(Spawn {
        command: program.run.expand(&values).map_err(setup)?,
        dir: job.run_dir.clone(),
        env: variables
            .map(|(name, value)| Ok((name.clone(), values.expand(value)?)))
            .collect::<Result<_, _>>()
            .map_err(setup)?,
        cpus: Some(workload.load_cpus.as_slice().to_vec()),
        log: job.run_dir.join("prepare.log"),
        stdout: None,
        user: None,
        grace: Duration::from_secs(2),
    })
}

/// Turns the end of such a program into the trial's words.
pub fn prepare_error(
    ended: Result<Ended, ProcessError>,
    spawn: &Spawn,
    limit: Length,
    server: &mut RunningServer,
    doing: &'static str,
) -> Result<(), TrialError> {
    let how = match ended {
        Ok(Ended::Cancelled(_)) => return Err(TrialError::Cancelled),
        Ok(Ended::Itself(report)) if report.is_success() => return Ok(()),
        Ok(Ended::Itself(report)) => report.describe(),
        Ok(Ended::TimeLimit(_)) => format!("was not done after {limit} (windows.prepare-timeout)"),
        Err(ProcessError::Start { command, reason }) => {
            return Err(TrialError::Setup(format!(
                "cannot start `{command}` (prepare-program.run): {reason}"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    wait_for_end(server, doing)?;
    Err(TrialError::Command {
        command: shell_words::join(&spawn.command),
        how,
        output: tail(&spawn.log),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::reader::ReadMetric;
    use crate::plan::{Direction, MetricDescription};

    fn reading(value: f64, unit: &str, direction: Direction) -> Reading {
        Reading {
            metrics: vec![ReadMetric {
                name: "m".to_owned(),
                value,
                description: MetricDescription {
                    unit: unit.to_owned(),
                    direction,
                },
            }],
            operations: None,
        }
    }

    #[test]
    fn operations_follow_from_rate_and_time() {
        use Direction::{HigherIsBetter, LowerIsBetter};
        let lasted = Duration::from_secs(3);
        for (unit, direction, ops) in [
            ("tps", HigherIsBetter, Some(360)),
            ("req/s", HigherIsBetter, Some(360)),
            ("TPM", HigherIsBetter, Some(6)),
            ("ms", LowerIsBetter, None),
            ("B/s", LowerIsBetter, None),
        ] {
            let seen = seen(&reading(120.0, unit, direction), lasted).unwrap();
            assert_eq!(seen.ops, ops, "{unit}");
            assert_eq!(seen.duration_ns, 3_000_000_000);
        }
        // What the program counts itself is what it did, however long it took to start.
        let mut counted = reading(120.0, "tps", HigherIsBetter);
        counted.operations = Some(240);
        assert_eq!(seen(&counted, lasted).unwrap().ops, Some(240));
    }

    #[test]
    fn nothing_and_less_are_no_measurements() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = seen(
                &reading(value, "tps", Direction::HigherIsBetter),
                Duration::from_secs(1),
            );
            assert!(error.unwrap_err().contains("no measurement"));
        }
    }

    #[test]
    fn a_program_runs_for_whole_seconds() {
        for (ms, seconds) in [(0, 1), (200, 1), (1000, 1), (1001, 2)] {
            assert_eq!(whole_seconds(Duration::from_millis(ms)), seconds);
        }
    }
}

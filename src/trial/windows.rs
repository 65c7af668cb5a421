//! A server's trial: fill, warm up, measure without the profiler, profile, stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::executor::{Cancel, Supervisor};
use crate::load::{LoadError, RunOptions, Running, WindowId, WindowStats};
use crate::plan::LoadSpec;
use crate::profile::Profile;
use crate::sample::Recorder;

use super::error::TrialError;
use super::job::{ServerWorkload, TrialJob};
use super::machine::MachineTicks;
use super::metrics::server_metrics;
use super::outcome::{TrialResult, WindowResult};
use super::run::write_json;
use super::server::RunningServer;
use super::usage::{Usage, UsageDelta};

/// How often the server and the load are looked at while a window lasts.
const LOOK: Duration = Duration::from_millis(20);

/// Warm-up, and whatever lies between the windows that count.
const BETWEEN: WindowId = WindowId(0);
const MEASURED: WindowId = WindowId(1);
const PROFILED: WindowId = WindowId(2);

/// Share of a CPU above which a load thread is itself what limits throughput.
const BUSY_CLIENT: f64 = 0.97;
const BUSY_CLIENT_WARNING: &str = "the load generator was busy all the time, so that throughput shows the generator's \
     limit and not the server's: give the load more CPUs (cpus.load) and threads (load.threads)";

/// Runs a server's trial.
pub fn run(
    workload: &ServerWorkload,
    job: &TrialJob,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<TrialResult, TrialError> {
    pin_this_process(workload.load_cpus.as_slice())?;
    let mut server = RunningServer::start(&workload.server, job, supervisor, cancel)?;
    prepare(workload, job, &mut server, cancel)?;

    let load = seeded(&workload.load, job.seed);
    let running = Running::start(&load, &server.target, &options(workload, cancel), BETWEEN)
        .map_err(|error| load_error("about to be loaded", &error, &server))?;
    let mut scene = Scene {
        server,
        running,
        cancel,
    };
    scene.lasts("warming up", workload.windows.warmup.0)?;

    let ticks = MachineTicks::now();
    let measured = scene.window(MEASURED, "measured", workload.windows.measure.0)?;
    let disturbance = MachineTicks::now().since(&ticks);

    let mut profiled = None;
    let mut warnings = Vec::new();
    if let Some(spec) = &job.sampling {
        let sampling = |error: crate::sample::SampleError| TrialError::Sampling(error.to_string());
        let recorder = Recorder::attach(spec, scene.server.guard_pid()).map_err(sampling)?;
        recorder.enable();
        let usage = scene.window(PROFILED, "profiled", workload.windows.profile.0)?;
        recorder.disable();
        let profile = recorder.finish().map_err(sampling)?;
        warnings.extend(profile.accounting.warnings.iter().cloned());
        refuse_empty(&profile)?;
        write_json(&job.profile, &profile)?;
        profiled = Some(usage);
    }

    let Scene {
        server, running, ..
    } = scene;
    let stats = running
        .finish()
        .map_err(|error| load_error("measured", &error, &server))?;
    server.stop()?;
    let (load_stats, measured) = window_result(MEASURED, measured, &stats)?;
    if load_stats.client_busy() > BUSY_CLIENT {
        warnings.push(BUSY_CLIENT_WARNING.to_owned());
    }
    let profiled = profiled.map(|usage| window_result(PROFILED, usage, &stats));
    Ok(TrialResult {
        metrics: server_metrics(load_stats, &measured),
        measured,
        profiled: profiled.transpose()?.map(|(_, result)| result),
        disturbance,
        warnings,
    })
}

/// The same seed gives the same sequence of keys.
fn seeded(spec: &LoadSpec, seed: u64) -> LoadSpec {
    LoadSpec {
        seed,
        ..spec.clone()
    }
}

/// Server and load, while both run.
struct Scene<'a> {
    server: RunningServer,
    running: Running,
    cancel: &'a Cancel,
}

impl Scene<'_> {
    /// Lets a window of the load last; returns what the server used in it.
    fn window(
        &mut self,
        id: WindowId,
        doing: &'static str,
        length: Duration,
    ) -> Result<UsageDelta, TrialError> {
        self.running.enter(id);
        let before = Usage::of(&self.server.processes());
        self.lasts(doing, length)?;
        let usage = Usage::of(&self.server.processes()).since(&before);
        self.running.enter(BETWEEN);
        Ok(usage)
    }

    /// Waits, and fails as soon as the server, the load or the user's patience does.
    fn lasts(&mut self, doing: &'static str, length: Duration) -> Result<(), TrialError> {
        let end = Instant::now() + length;
        loop {
            if self.cancel.is_set() {
                return Err(TrialError::Cancelled);
            }
            self.server.check(doing)?;
            if let Err(error) = self.running.check() {
                // A server that dies closes its connections first: its own end says more.
                std::thread::sleep(LOOK);
                self.server.check(doing)?;
                return Err(load_error(doing, &error, &self.server));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// Fills the server with data, for as long as that may take.
fn prepare(
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &mut RunningServer,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let Some(spec) = &workload.prepare else {
        return Ok(());
    };
    let spec = seeded(spec, job.seed);
    let limit = workload.windows.prepare_timeout;
    let stop = Arc::new(AtomicBool::new(false));
    let options = RunOptions {
        cancel: stop.clone(),
        ..options(workload, cancel)
    };
    let end = Instant::now() + limit.0;
    let target = &server.target;
    let filled = std::thread::scope(|scope| {
        let filling = scope.spawn(|| crate::load::run(&spec, target, &options));
        while !filling.is_finished() {
            if cancel.is_set() || Instant::now() >= end {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        filling.join().unwrap_or(Err(LoadError::Thread))
    });
    match filled {
        Ok(_) => Ok(()),
        Err(LoadError::Cancelled) if cancel.is_set() => Err(TrialError::Cancelled),
        Err(LoadError::Cancelled) => Err(TrialError::Load {
            doing: "being filled",
            reason: format!("filling was not done after {limit} (windows.prepare-timeout)"),
            output: server.output(),
        }),
        Err(error) => {
            std::thread::sleep(LOOK);
            server.check("being filled")?;
            Err(load_error("being filled", &error, server))
        }
    }
}

fn options(workload: &ServerWorkload, cancel: &Cancel) -> RunOptions {
    RunOptions {
        cpus: workload.load_cpus.as_slice().to_vec(),
        cancel: cancel.flag(),
        ..RunOptions::default()
    }
}

fn load_error(doing: &'static str, error: &LoadError, server: &RunningServer) -> TrialError {
    TrialError::Load {
        doing,
        reason: error.to_string(),
        output: server.output(),
    }
}

/// What the load saw in a window, and the window's result.
fn window_result(
    id: WindowId,
    usage: UsageDelta,
    stats: &[WindowStats],
) -> Result<(&WindowStats, WindowResult), TrialError> {
    let answered = stats
        .iter()
        .find(|window| window.id == id && window.ops() > 0);
    let window = answered.ok_or_else(|| TrialError::Silent {
        window: if id == MEASURED {
            "measured"
        } else {
            "profiled"
        },
    })?;
    let result = WindowResult {
        duration_ns: window.duration_ns,
        ops: window.ops(),
        usage,
    };
    Ok((window, result))
}

fn refuse_empty(profile: &Profile) -> Result<(), TrialError> {
    if profile.accounting.samples > 0 {
        return Ok(());
    }
    Err(TrialError::Sampling(
        "no sample was taken in the whole window: lengthen windows.profile or raise sampling.frequency-hz".to_owned(),
    ))
}

/// The load, the sampler and all else of this process stay off the subject's CPUs.
fn pin_this_process(cpus: &[usize]) -> Result<(), TrialError> {
    let mut set = nix::sched::CpuSet::new();
    let pinned = cpus
        .iter()
        .try_for_each(|&cpu| set.set(cpu))
        .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    pinned.map_err(|error| TrialError::Setup(format!("cannot pin the load to its CPUs: {error}")))
}

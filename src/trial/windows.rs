//! A server's trial: fill, warm up, measure without the profiler, profile, stop.

use crate::executor::{Cancel, Supervisor};

use super::disturbance::{Entitled, Watch};
use super::error::TrialError;
use super::job::{ServerWorkload, TrialJob};
use super::loading::{self, Seen, Window};
use super::metrics::server_metrics;
use super::outcome::{TrialResult, WindowResult};
use super::phases::PhaseRunner;
use super::profiling::{attach, named, sampling};
use super::run::write_json;
use super::scope::{busy, disturbance_of, usage_of};
use super::server::RunningServer;
use super::usage::UsageDelta;

/// Runs a server's trial.
pub fn run(
    workload: &ServerWorkload,
    job: &TrialJob,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<TrialResult, TrialError> {
    pin_this_process(workload.load_cpus.as_slice())?;
    let mut server = RunningServer::start(&workload.server, job, supervisor, cancel)?;
    loading::prepare(workload, job, &mut server, supervisor, cancel)?;

    let mut load = loading::start(workload, job, &server, supervisor, cancel)?;
    load.warm_up(&mut server, workload.windows.warmup.0)?;

    let runner = PhaseRunner {
        workload,
        job,
        supervisor,
        cancel,
    };
    let wanted: Vec<_> = workload.metrics.iter().collect();
    let before = runner.read(&wanted, &server, true)?;
    let watch = Watch::begin(job.subject_cpus.as_slice());
    let measured = load.window(&mut server, Window::Measured, workload.windows.measure.0)?;
    // This process is pinned to the load's CPUs.
    let disturbance = watch.end(Entitled {
        subject_ns: measured.cpu_ns(),
        own_ns: 0,
    });

    let after = runner.read(&wanted, &server, false)?;

    let mut profiled = None;
    let mut warnings = Vec::new();
    if let Some(spec) = &job.sampling {
        let recorder = attach(spec, job, server.guard_pid())?;
        let before = busy(job);
        recorder.enable();
        let usage = load.window(&mut server, Window::Profiled, workload.windows.profile.0)?;
        recorder.disable();
        let usage = usage_of(job, usage, before);
        profiled = Some((usage, recorder.detach().map_err(sampling)?));
    }

    let mut seen = load.finish(&mut server)?;
    server.stop()?;
    let profiled = match profiled {
        Some((usage, recording)) => {
            let profile = named(recording, "windows.profile")?;
            warnings.extend(profile.accounting.warnings.iter().cloned());
            write_json(&job.profile, &profile)?;
            Some(window_result(Window::Profiled, usage, &mut seen)?.1)
        }
        None => None,
    };
    let (load_seen, measured) = window_result(Window::Measured, measured, &mut seen)?;
    warnings.extend(load_seen.warnings.iter().cloned());
    let read = after.since(before, &wanted, load_seen.ops);
    let mut metrics = server_metrics(&load_seen, &measured);
    metrics.extend(read.values);
    let mut descriptions = load_seen.descriptions;
    descriptions.extend(crate::plan::phase_descriptions(&[], &workload.metrics));
    Ok(TrialResult {
        metrics,
        descriptions,
        measured,
        profiled,
        profiled_phases: Default::default(),
        absent: read.absent,
        guest: None,
        disturbance: disturbance_of(job, disturbance),
        warnings,
    })
}

/// What the load saw in a window, and the window's result.
fn window_result(
    window: Window,
    usage: UsageDelta,
    seen: &mut Vec<(Window, Seen)>,
) -> Result<(Seen, WindowResult), TrialError> {
    let silent = TrialError::Silent {
        window: window.name(),
    };
    let Some(at) = seen
        .iter()
        .position(|(of, seen)| *of == window && seen.ops != Some(0))
    else {
        return Err(silent);
    };
    let (_, seen) = seen.swap_remove(at);
    let result = WindowResult {
        duration_ns: seen.duration_ns,
        ops: seen.ops.unwrap_or(1),
        usage,
    };
    Ok((seen, result))
}

/// The load, the sampler and all else of this process stay off the subject's CPUs.
pub fn pin_this_process(cpus: &[usize]) -> Result<(), TrialError> {
    let mut set = nix::sched::CpuSet::new();
    let pinned = cpus
        .iter()
        .try_for_each(|&cpu| set.set(cpu))
        .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    pinned.map_err(|error| TrialError::Setup(format!("cannot pin the load to its CPUs: {error}")))
}

//! A server's trial in phases: fill, read, save, restart, and whatever else the plan says, in a row.

mod one;
mod postgres;
mod sampled;
mod source;

use std::collections::BTreeMap;

use crate::executor::{Cancel, Supervisor};

use super::disturbance::{Entitled, Watch};
use super::error::TrialError;
use super::job::{ServerWorkload, TrialJob};
use super::loading;
use super::outcome::{TrialResult, WindowResult};
use super::run::write_json;
use super::server::RunningServer;
use super::usage::UsageDelta;
use super::windows::pin_this_process;

pub use one::PhaseRunner;
use sampled::SampledPhase;

/// Runs a server's trial in phases. Those that the plan says are sampled.
pub fn run(
    workload: &ServerWorkload,
    job: &TrialJob,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<TrialResult, TrialError> {
    pin_this_process(workload.load_cpus.as_slice())?;
    let mut server = RunningServer::start(&workload.server, job, supervisor, cancel)?;
    loading::prepare(workload, job, &mut server, supervisor, cancel)?;

    let runner = PhaseRunner {
        workload,
        job,
        supervisor,
        cancel,
    };
    let mut metrics = BTreeMap::new();
    let mut measured = WindowResult {
        duration_ns: 0,
        ops: 0,
        usage: UsageDelta::default(),
    };
    let mut absent = BTreeMap::new();
    let mut sampled = Vec::new();
    let watch = Watch::begin(job.subject_cpus.as_slice());
    let last = workload.phases.last().map(|phase| phase.name.as_str());
    for phase in &workload.phases {
        let read = |of: &crate::plan::MetricSpec| {
            of.phase.as_deref().or(last) == Some(phase.name.as_str())
        };
        let wanted: Vec<_> = workload.metrics.iter().filter(|(_, of)| read(of)).collect();
        let before = runner.read(&wanted, &server, true)?;
        let seen;
        let spec = job.sampling.as_ref().filter(|_| phase.profile);
        (server, seen) = runner.phase(phase, server, spec)?;
        let after = runner.read(&wanted, &server, false)?;
        let read = after.since(before, &wanted, Some(seen.ops));
        metrics.extend(read.values);
        absent.extend(read.absent);
        measured.duration_ns += seen.duration_ns;
        measured.ops += seen.ops;
        measured.usage.add(&seen.usage);
        metrics.extend(seen.metrics(&phase.name));
        if let Some(recording) = seen.recording {
            sampled.push(SampledPhase {
                window: WindowResult {
                    duration_ns: seen.duration_ns,
                    ops: match phase.is_by_operation() {
                        true => seen.ops.max(1),
                        false => 1,
                    },
                    usage: seen.sampled_usage,
                },
                phase,
                recording,
            });
        }
    }
    let disturbance = watch.end(Entitled {
        subject_ns: measured.usage.cpu_ns(),
        own_ns: 0,
    });
    server.stop()?;
    let profiles = sampled::profiles(sampled)?;
    if let Some(profile) = &profiles.profile {
        write_json(&job.profile, profile)?;
    }
    measured.ops = measured.ops.max(1);
    Ok(TrialResult {
        metrics,
        descriptions: crate::plan::phase_descriptions(&workload.phases, &workload.metrics),
        measured,
        profiled: profiles.whole,
        profiled_phases: profiles.by_phase,
        absent,
        guest: None,
        disturbance: super::scope::disturbance_of(job, disturbance),
        warnings: profiles
            .profile
            .map_or_else(Vec::new, |profile| profile.accounting.warnings),
    })
}

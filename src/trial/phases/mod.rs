//! A server's trial in phases: fill, read, save, restart, and whatever else the plan says, in a row.

mod one;
mod source;

use std::collections::BTreeMap;

use crate::executor::{Cancel, Supervisor};

use super::disturbance::{Entitled, Watch};
use super::error::TrialError;
use super::job::{ServerWorkload, TrialJob};
use super::loading;
use super::outcome::{TrialResult, WindowResult};
use super::server::RunningServer;
use super::usage::UsageDelta;
use super::windows::pin_this_process;

use one::PhaseRunner;

/// Runs a server's trial in phases. There is no profiled window.
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
    let watch = Watch::begin(job.subject_cpus.as_slice());
    let last = workload.phases.last().map(|phase| phase.name.as_str());
    for phase in &workload.phases {
        let read = |of: &crate::plan::MetricSpec| {
            of.phase.as_deref().or(last) == Some(phase.name.as_str())
        };
        let wanted: Vec<_> = workload.metrics.iter().filter(|(_, of)| read(of)).collect();
        let before = runner.values(&wanted, &server, true)?;
        let seen;
        (server, seen) = runner.phase(phase, server)?;
        let after = runner.values(&wanted, &server, false)?;
        for (name, value) in after {
            let start = before.get(&name).copied().unwrap_or(0.0);
            metrics.insert(name, value - start);
        }
        measured.duration_ns += seen.duration_ns;
        measured.ops += seen.ops;
        measured.usage.user_ns += seen.usage.user_ns;
        measured.usage.system_ns += seen.usage.system_ns;
        measured.usage.rss_bytes = measured.usage.rss_bytes.max(seen.usage.rss_bytes);
        measured.usage.context_switches += seen.usage.context_switches;
        measured.usage.page_faults += seen.usage.page_faults;
        metrics.extend(seen.metrics(&phase.name));
    }
    let disturbance = watch.end(Entitled {
        subject_ns: measured.usage.cpu_ns(),
        own_ns: 0,
    });
    server.stop()?;
    measured.ops = measured.ops.max(1);
    Ok(TrialResult {
        metrics,
        descriptions: crate::plan::phase_descriptions(&workload.phases, &workload.metrics),
        measured,
        profiled: None,
        guest: None,
        disturbance: super::scope::disturbance_of(job, disturbance),
        warnings: Vec::new(),
    })
}

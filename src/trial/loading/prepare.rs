//! Fills a server with data, for as long as that may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::executor::{Cancel, Supervisor};
use crate::load::{LoadError, RunOptions};
use crate::plan::LoadSpec;
use crate::plan::load::Preparation;

use super::super::error::TrialError;
use super::super::job::{ServerWorkload, TrialJob};
use super::super::server::RunningServer;
use super::generator::{LOOK, load_error, options, seeded};
use super::program::{preparation, prepare_error};

const DOING: &str = "being filled";

/// Runs the plan's program and then its generator, whichever there are.
pub fn prepare(
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &mut RunningServer,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let end = Instant::now() + workload.windows.prepare_timeout.0;
    if let Some(program) = &workload.prepare_program {
        run_program(program, workload, job, server, supervisor, cancel)?;
    }
    match &workload.prepare {
        Some(spec) => generate(spec, end, workload, job, server, cancel),
        None => Ok(()),
    }
}

fn run_program(
    program: &Preparation,
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &mut RunningServer,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let spawn = preparation(program, workload, job, server)?;
    let limit = workload.windows.prepare_timeout;
    let ended = spawn
        .start(supervisor)
        .and_then(|process| process.wait(Some(limit.0), cancel));
    prepare_error(ended, &spawn, limit, server, DOING)
}

fn generate(
    spec: &LoadSpec,
    end: Instant,
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &mut RunningServer,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let spec = seeded(spec, job.seed);
    let stop = Arc::new(AtomicBool::new(false));
    let options = RunOptions {
        cancel: stop.clone(),
        ..options(workload, cancel)
    };
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
            doing: DOING,
            reason: format!(
                "filling was not done after {} (windows.prepare-timeout)",
                workload.windows.prepare_timeout
            ),
            output: server.output(),
        }),
        Err(error) => {
            std::thread::sleep(LOOK);
            server.check(DOING)?;
            Err(load_error(DOING, &error, server))
        }
    }
}

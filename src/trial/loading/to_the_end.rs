//! A load that is put on until all its requests are answered, or its time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::executor::Cancel;
use crate::load::{LoadError, RunOptions, WindowStats};
use crate::plan::LoadSpec;

use super::super::error::TrialError;
use super::super::job::{ServerWorkload, TrialJob};
use super::super::server::RunningServer;
use super::generator::{load_error, options, seeded, wait_for_end};

/// Runs a load to its end; `None` where `end` came first.
pub fn to_the_end(
    spec: &LoadSpec,
    end: Instant,
    doing: &'static str,
    workload: &ServerWorkload,
    job: &TrialJob,
    server: &mut RunningServer,
    cancel: &Cancel,
) -> Result<Option<WindowStats>, TrialError> {
    let spec = seeded(spec, job.seed);
    let stop = Arc::new(AtomicBool::new(false));
    let options = RunOptions {
        cancel: stop.clone(),
        ..options(workload, cancel)
    };
    let target = &server.target;
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| crate::load::run(&spec, target, &options));
        while !run.is_finished() {
            if cancel.is_set() || Instant::now() >= end {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        run.join().unwrap_or(Err(LoadError::Thread))
    });
    match outcome {
        Ok(outcome) => Ok(Some(outcome.total)),
        Err(LoadError::Cancelled) if cancel.is_set() => Err(TrialError::Cancelled),
        Err(LoadError::Cancelled) => Ok(None),
        Err(error) => {
            wait_for_end(server, doing)?;
            Err(load_error(doing, &error, server))
        }
    }
}

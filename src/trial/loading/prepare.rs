//! Fills a server with data, for as long as that may take.

use std::time::Instant;

use crate::executor::{Cancel, Supervisor};
use crate::load::reader::check_log;
use crate::plan::load::Preparation;

use super::super::error::TrialError;
use super::super::job::{ServerWorkload, TrialJob};
use super::super::server::RunningServer;
use super::program::{preparation, prepare_error};
use super::to_the_end::to_the_end;

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
        Some(spec) => to_the_end(spec, end, DOING, workload, job, server, cancel)?
            .map(|_| ())
            .ok_or_else(|| TrialError::Load {
                doing: DOING,
                reason: format!(
                    "filling was not done after {} (windows.prepare-timeout)",
                    workload.windows.prepare_timeout
                ),
                output: server.output(),
            }),
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
    prepare_error(ended, &spawn, limit, server, DOING)?;
    let Some(reader) = program.reader else {
        return Ok(());
    };
    let printed = std::fs::read(&spawn.log).unwrap_or_default();
    check_log(reader, &String::from_utf8_lossy(&printed)).map_err(|error| TrialError::Load {
        doing: DOING,
        reason: format!("`{}`: {error}", shell_words::join(&spawn.command)),
        output: server.output(),
    })
}

//! Carries out one job: the whole of `perfblame trial`.

use std::path::Path;

use crate::executor::{Cancel, Supervisor};

use super::error::TrialError;
use super::job::{JOB_SCHEMA, TrialJob, Workload};
use super::outcome::{OUTCOME_SCHEMA, TrialEnd, TrialOutcome, TrialResult};
use super::settings::{Applied, left_over};
use super::{command, phases, windows};

/// Reads a job, carries it out, and writes its outcome. An error here means that not even a failure
/// could be written.
pub fn run(job: &Path, supervisor: &Supervisor, cancel: &Cancel) -> Result<(), TrialError> {
    let job = read_job(job)?;
    let end = match carry_out(&job, supervisor, cancel) {
        Ok(result) => TrialEnd::Measured(result),
        Err(error) => TrialEnd::Failed((&error).into()),
    };
    let outcome = TrialOutcome {
        schema: OUTCOME_SCHEMA.to_owned(),
        end,
    };
    write_json(&job.outcome, &outcome)
}

fn carry_out(
    job: &TrialJob,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<TrialResult, TrialError> {
    std::fs::create_dir(&job.run_dir).map_err(|source| TrialError::File {
        what: "cannot make the run directory",
        path: job.run_dir.clone(),
        source,
    })?;
    let settings = Applied::apply(&job.settings, &job.custom_settings, cancel)?;
    let result = match &job.workload {
        Workload::Server(workload) if !workload.phases.is_empty() => {
            phases::run(workload, job, supervisor, cancel)
        }
        Workload::Server(workload) => windows::run(workload, job, supervisor, cancel),
        Workload::Command(workload) => command::run(workload, job, supervisor, cancel),
    };
    let left = left_over();
    match (result, settings.restore()) {
        // What was measured was measured under the settings; the next trial meets what is left of them.
        (Ok(mut result), restored) => {
            result
                .warnings
                .extend(restored.err().map(|error| error.to_string()));
            result.warnings.extend(left.map(|left| {
                let names = left.names.join(", ");
                format!("it ran under settings that an earlier run had left changed: {names}")
            }));
            Ok(result)
        }
        (failed, _) => failed,
    }
}

fn read_job(path: &Path) -> Result<TrialJob, TrialError> {
    let text = std::fs::read(path).map_err(|source| TrialError::File {
        what: "cannot read the job",
        path: path.to_owned(),
        source,
    })?;
    let job: TrialJob = serde_json::from_slice(&text).map_err(|error| {
        TrialError::Setup(format!("{} is no trial job: {error}", path.display()))
    })?;
    if job.schema != JOB_SCHEMA {
        return Err(TrialError::Setup(format!(
            "{} has the schema {}, and this perfblame reads {JOB_SCHEMA}",
            path.display(),
            job.schema
        )));
    }
    Ok(job)
}

/// Writes a file that is either whole or not there.
pub fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), TrialError> {
    let part = path.with_extension("part");
    let written = serde_json::to_vec(value)
        .map_err(std::io::Error::other)
        .and_then(|text| std::fs::write(&part, text))
        .and_then(|()| std::fs::rename(&part, path));
    written.map_err(|source| TrialError::File {
        what: "cannot write",
        path: path.to_owned(),
        source,
    })
}

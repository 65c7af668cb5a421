//! A matrix from beginning to end.

use crate::plan::Plan;
use crate::report::matrix::{MatrixReport, write_matrix};
use crate::store::{Experiment, ExperimentState, NewExperiment, Store};
use crate::trial::Machine;

use super::super::ended::ended;
use super::super::error::ExperimentError;
use super::super::progress::Progress;
use super::cells::ready;
use super::host_kernel::{note_reboot, note_stop};
use super::identity::{note, take_up};
use super::points::{NextKernel, Series, measure};
use super::request::{MatrixRequest, MatrixSurroundings, Resume};
use super::summary::{profiles, summarise};

/// Runs every cell as often as the plan says, and writes `raw.csv` and the tables.
pub fn matrix(
    request: &MatrixRequest,
    surroundings: &MatrixSurroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<MatrixReport, ExperimentError> {
    let store = surroundings.store;
    let machine = Machine::read();
    let plan = serde_json::to_value(&request.plan.common).unwrap_or_default();
    let running = match &request.resume {
        Some(resume) => {
            let stored = match resume {
                Resume::Id(id) => store.experiment(id)?,
                Resume::Newest => newest(store)?,
            };
            check_same(&stored, &request.plan.common)?;
            store.resume(&stored.id)?
        }
        None => store.begin(&NewExperiment {
            kind: KIND.to_owned(),
            base: None,
            head: None,
            seed: request.plan.common.experiment.seed,
            plan,
            machine: serde_json::to_value(&machine).unwrap_or_default(),
        })?,
    };
    let id = running.id.clone();
    progress.began(&id);
    let outcome = (|| {
        let (plan, repository) = (&request.plan, surroundings.repository);
        let commits = match request.resume {
            Some(_) => take_up(store, &id, plan, repository, progress)?,
            None => note(store, &id, plan, repository)?,
        };
        let cells = ready(request, &commits, surroundings, progress)?;
        let points = match measure(request, &cells, surroundings, &id, progress)? {
            Series::Done(points) => points,
            Series::OtherKernel(next) => return Ok(Err(next)),
        };
        let report = summarise(request, &cells, &points, &machine, &id);
        let stacks = profiles(&report.cells, &points);
        write_matrix(&request.out, &report, &stacks)?;
        Ok(Ok(report))
    })();
    let outcome = outcome.and_then(|measured| to_reboot(measured, request, store, &id));
    if !matches!(outcome, Err(ExperimentError::OtherKernel { .. })) {
        note_stop(store, &id)?;
    }
    let finish = ended(&outcome, |report| (ExperimentState::Done, summary(report)));
    store.finish(running, &finish)?;
    outcome
}

/// Notes the reboot that comes next, before it comes.
fn to_reboot(
    measured: Result<MatrixReport, NextKernel>,
    request: &MatrixRequest,
    store: &Store,
    id: &str,
) -> Result<MatrixReport, ExperimentError> {
    let next = match measured {
        Ok(report) => return Ok(report),
        Err(next) => next,
    };
    if let Some(reboot) = &request.plan.common.reboot {
        let command = shell_words::join(&reboot.command.0);
        note_reboot(store, id, (&next.running, &next.release), &command)?;
    }
    Err(ExperimentError::OtherKernel {
        release: next.release,
        running: next.running,
    })
}

/// The newest matrix that is not done and that nobody works on.
fn newest(store: &Store) -> Result<Experiment, ExperimentError> {
    let is_left = |experiment: &Experiment| {
        let state = experiment.state;
        experiment.kind == KIND
            && matches!(
                state,
                ExperimentState::Interrupted | ExperimentState::Failed
            )
    };
    let found = store.experiments()?.into_iter().find(is_left);
    found.ok_or_else(|| {
        let directory = store.directory().display();
        ExperimentError::Ends(format!(
            "{directory} has no matrix that is not done: nothing to resume"
        ))
    })
}

const KIND: &str = "matrix";

fn summary(report: &MatrixReport) -> String {
    let failed = report.cells.iter().filter(|cell| cell.failure.is_some());
    let failed = match failed.count() {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    format!(
        "{} cells, {} data points each{failed}",
        report.cells.len(),
        report.points
    )
}

/// A matrix goes on only as what it was; more data points are welcome.
fn check_same(stored: &Experiment, plan: &Plan) -> Result<(), ExperimentError> {
    let refuse = |reason: String| {
        Err(ExperimentError::NotResumable {
            id: stored.id.clone(),
            reason: format!("{reason}; without --resume a new matrix begins"),
        })
    };
    if stored.kind != KIND {
        return refuse(format!("it is a {}", stored.kind));
    }
    let mut planned = serde_json::to_value(plan).unwrap_or_default();
    if let (Some(now), Some(then)) = (
        planned.pointer_mut("/matrix/points"),
        stored.plan.pointer("/matrix/points"),
    ) {
        *now = then.clone();
    }
    if planned != stored.plan {
        return refuse("its plan was another one (only matrix.points may change)".to_owned());
    }
    Ok(())
}

//! A matrix from beginning to end.

use crate::plan::Plan;
use crate::report::matrix::{MatrixReport, write_matrix};
use crate::store::{Experiment, ExperimentState, NewExperiment};
use crate::trial::Machine;

use super::super::ended::ended;
use super::super::error::ExperimentError;
use super::super::progress::Progress;
use super::cells::ready;
use super::points::measure;
use super::request::{MatrixRequest, MatrixSurroundings};
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
        Some(id) => {
            check_same(&store.experiment(id)?, &request.plan.common)?;
            store.resume(id)?
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
    let outcome = (|| {
        let cells = ready(request, surroundings, progress)?;
        let points = measure(request, &cells, surroundings, &id, progress)?;
        let report = summarise(request, &cells, &points, &machine, &id);
        let stacks = profiles(&report.cells, &points);
        write_matrix(&request.out, &report, &stacks)?;
        Ok(report)
    })();
    let finish = ended(&outcome, |report| (ExperimentState::Done, summary(report)));
    store.finish(running, &finish)?;
    outcome
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

//! The data points: one trial of every cell in each round, in random order over the whole matrix.

use std::time::{Duration, Instant, SystemTime};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::store::{NewTrial, StoredTrial, TrialState};
use crate::trial::{FailureKind, TrialEnd, TrialResult};

use super::super::attempt::{Attempt, LocalRunner, read_profile, stored_end};
use super::super::error::ExperimentError;
use super::super::progress::Progress;
use super::super::schedule::{Slot, slots};
use super::super::workspace::Workspace;
use super::cells::ReadyCell;
use super::request::{MatrixRequest, MatrixSurroundings};

/// What came of a cell.
#[derive(Debug, Default)]
pub struct CellPoints {
    /// Its data points, in order.
    pub results: Vec<TrialResult>,
    /// Their profiles, where they were sampled.
    pub profiles: Vec<Option<Profile>>,
    /// Why there are none, or no more.
    pub failure: Option<String>,
}

/// Measures what is still to be measured. A cell that fails as often as it may gets no more points.
pub fn measure(
    request: &MatrixRequest,
    cells: &[Result<ReadyCell<'_>, String>],
    surroundings: &MatrixSurroundings<'_>,
    experiment: &str,
    progress: &mut dyn Progress,
) -> Result<Vec<CellPoints>, ExperimentError> {
    let root = surroundings.store.directory().join("run");
    let workspace =
        Workspace::new(&root).map_err(|source| ExperimentError::File { path: root, source })?;
    let mut series = Series {
        surroundings,
        experiment,
        workspace: &workspace,
        retries: request.plan.common.experiment.retries,
        number: 0,
    };
    let stored = surroundings.store.trials(experiment)?;
    let seed = request.plan.common.experiment.seed;
    let schedule = slots(0..request.plan.spec.points, cells.len(), seed);
    let kept = |slot: &Slot| find(&stored, slot, &request.plan.cells[slot.arm].name);
    let done = schedule.iter().filter(|slot| kept(slot).is_some()).count();
    progress.trials(schedule.len(), done);

    let mut points: Vec<CellPoints> = cells
        .iter()
        .map(|cell| CellPoints {
            failure: cell.as_ref().err().cloned(),
            ..CellPoints::default()
        })
        .collect();
    let started = Instant::now();
    let mut measured = 0;
    for (at, slot) in schedule.iter().enumerate() {
        let point = &mut points[slot.arm];
        if let Some(trial) = kept(slot) {
            let result = serde_json::from_value(trial.result.clone()).map_err(|error| {
                ExperimentError::NotResumable {
                    id: experiment.to_owned(),
                    reason: format!("its stored trial {} cannot be read ({error})", trial.id),
                }
            })?;
            point.results.push(result);
            let profile = match &trial.profile {
                Some(digest) => Some(read_profile(&surroundings.store.blob(digest)?)?),
                None => None,
            };
            point.profiles.push(profile);
            continue;
        }
        let (Ok(cell), None) = (&cells[slot.arm], &point.failure) else {
            continue;
        };
        progress.trial(slot.block, &cell.planned.name);
        match series.point(cell, slot, progress)? {
            Ok((result, profile)) => {
                point.results.push(*result);
                point.profiles.push(profile);
            }
            Err(reason) => {
                progress.note(&format!("{} failed: {reason}", cell.planned.name));
                point.failure = Some(reason);
            }
        }
        measured += 1;
        let left = schedule[at + 1..]
            .iter()
            .filter(|slot| kept(slot).is_none())
            .count();
        progress.trial_done(started.elapsed() / measured * left as u32);
    }
    progress.finished();
    Ok(points)
}

fn find<'s>(stored: &'s [StoredTrial], slot: &Slot, cell: &str) -> Option<&'s StoredTrial> {
    stored.iter().rev().find(|trial| {
        trial.state == TrialState::Complete && trial.block == slot.block && trial.arm == cell
    })
}

/// Whether the trials of a plan are sampled.
pub fn is_sampled(plan: &Plan) -> bool {
    match plan.phase.is_empty() {
        true => plan.matrix.as_ref().is_some_and(|matrix| matrix.profile),
        false => plan.phase.iter().any(|phase| phase.profile),
    }
}

/// A data point.
type Point = (Box<TrialResult>, Option<Profile>);

struct Series<'a> {
    surroundings: &'a MatrixSurroundings<'a>,
    experiment: &'a str,
    workspace: &'a Workspace,
    retries: u32,
    number: usize,
}

impl Series<'_> {
    /// One data point, tried as often as it may be.
    fn point(
        &mut self,
        cell: &ReadyCell<'_>,
        slot: &Slot,
        progress: &mut dyn Progress,
    ) -> Result<Result<Point, String>, ExperimentError> {
        let runner = LocalRunner {
            supervisor: self.surroundings.supervisor,
            cancel: self.surroundings.cancel,
            plan: &cell.planned.plan,
            placement: &cell.placement,
            profile: is_sampled(&cell.planned.plan),
            workspace: self.workspace,
        };
        let mut attempts = 0;
        loop {
            let started = SystemTime::now();
            let attempt = runner.attempt(self.number, cell.files())?;
            self.number += 1;
            attempts += 1;
            self.keep(cell, slot, started, &attempt)?;
            let failure = match attempt.end {
                TrialEnd::Measured(result) => {
                    let profile = attempt.profile.as_deref().map(read_profile).transpose()?;
                    return Ok(Ok((Box::new(result), profile)));
                }
                TrialEnd::Failed(failure) => failure,
            };
            if attempts > self.retries || failure.kind == FailureKind::Setup {
                return Ok(Err(failure.message));
            }
            progress.note(&format!(
                "a trial of {} failed and is tried again: {}",
                cell.planned.name, failure.message
            ));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn keep(
        &self,
        cell: &ReadyCell<'_>,
        slot: &Slot,
        started: SystemTime,
        attempt: &Attempt,
    ) -> Result<(), ExperimentError> {
        let blob = |bytes: &Vec<u8>| self.surroundings.store.put_blob(bytes);
        let profile = attempt.profile.as_ref().map(blob).transpose()?;
        let (state, result) = stored_end(&attempt.end);
        self.surroundings.store.put_trial(
            self.experiment,
            &NewTrial {
                block: slot.block,
                arm: cell.planned.name.clone(),
                position: slot.place as u32,
                started,
                ended: SystemTime::now(),
                state,
                result,
                profile,
            },
        )?;
        Ok(())
    }
}

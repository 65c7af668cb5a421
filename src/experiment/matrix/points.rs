//! The data points: one trial of every cell in each round, in random order over the whole matrix.

use std::time::{Duration, Instant, SystemTime};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::store::{StoredTrial, TrialState};
use crate::trial::{FailureKind, TrialEnd, TrialFailure, TrialResult};

use super::super::attempt::{LocalRunner, keep, read_profile};
use super::super::error::ExperimentError;
use super::super::progress::Progress;
use super::super::schedule::{Slot, slots};
use super::super::workspace::Workspace;
use super::cells::ReadyCell;
use super::host_kernel::{other_release, running_release, was_rebooted};
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

/// What came of the cells.
pub enum Series {
    /// All that can be measured is.
    Done(Vec<CellPoints>),
    /// The next trial is of another kernel than the one that runs.
    OtherKernel(NextKernel),
}

/// A kernel that this machine has to be rebooted into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextKernel {
    /// The release that is wanted.
    pub release: String,
    /// The one that runs.
    pub running: String,
}

/// Measures what is still to be measured. A cell that fails as often as it may gets no more points.
pub fn measure(
    request: &MatrixRequest,
    cells: &[Result<ReadyCell<'_>, String>],
    surroundings: &MatrixSurroundings<'_>,
    experiment: &str,
    progress: &mut dyn Progress,
) -> Result<Series, ExperimentError> {
    let root = surroundings.store.directory().join("run");
    let workspace =
        Workspace::new(&root).map_err(|source| ExperimentError::File { path: root, source })?;
    let mut bench = Bench {
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
    tell_surplus(&stored, request, progress);
    let running = running_release();

    let mut points: Vec<CellPoints> = cells
        .iter()
        .map(|cell| CellPoints {
            failure: cell.as_ref().err().cloned(),
            ..CellPoints::default()
        })
        .collect();
    if was_rebooted(&surroundings.store.events(experiment)?) {
        // Who goes on by hand may have mended what failed; a machine that reboots itself has not.
        for (point, cell) in points.iter_mut().zip(&request.plan.cells) {
            point.failure = point
                .failure
                .take()
                .or_else(|| failed_for_good(&stored, &cell.name));
        }
    }
    let started = Instant::now();
    let mut measured = 0;
    let mut next: Option<(u32, NextKernel)> = None;
    for (at, slot) in schedule.iter().enumerate() {
        // Each block is whole before the next: that of the running kernel first, then the others'.
        if let Some((_, next)) = next.take_if(|(block, _)| *block < slot.block) {
            progress.finished();
            return Ok(Series::OtherKernel(next));
        }
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
        if let Some(release) = other_release(&cell.planned.plan, &running) {
            next.get_or_insert_with(|| {
                let running = running.clone();
                let release = release.to_owned();
                (slot.block, NextKernel { release, running })
            });
            continue;
        }
        progress.trial(slot.block, &cell.planned.name);
        match bench.point(cell, slot, progress)? {
            Ok((result, profile)) => {
                point.results.push(*result);
                point.profiles.push(profile);
            }
            Err(reason) => {
                progress.note(&format!("{} failed: {reason}", cell.planned.name));
                point.failure = Some(in_short(&reason));
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
    Ok(match next {
        Some((_, next)) => Series::OtherKernel(next),
        None => Series::Done(points),
    })
}

/// Says so where more was measured earlier than the plan has now.
fn tell_surplus(stored: &[StoredTrial], request: &MatrixRequest, progress: &mut dyn Progress) {
    let points = request.plan.spec.points;
    let complete = stored
        .iter()
        .filter(|trial| trial.state == TrialState::Complete);
    let most = complete.map(|trial| trial.block + 1).max().unwrap_or(0);
    if most > points {
        progress.note(&format!(
            "{most} data points a cell were measured earlier, and the plan has {points}: the others stay in the store, and are not in the tables"
        ));
    }
}

/// Why a cell's last trial failed, where nothing was measured in its place since.
fn failed_for_good(stored: &[StoredTrial], cell: &str) -> Option<String> {
    let of_cell: Vec<&StoredTrial> = stored.iter().filter(|trial| trial.arm == cell).collect();
    let last = of_cell
        .last()
        .filter(|trial| trial.state == TrialState::Failed)?;
    let failure: TrialFailure = serde_json::from_value(last.result.clone()).ok()?;
    Some(in_short(&failure.message))
}

/// A failure without the output that is quoted after it: that was shown when it happened.
fn in_short(message: &str) -> String {
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_none() {
        return first.to_owned();
    }
    let quoted = [
        "; its last output:",
        "; the server's last output:",
        "; its console ends:",
    ];
    let short = quoted.iter().find_map(|mark| first.strip_suffix(mark));
    short.unwrap_or(first).trim_end_matches(':').to_owned()
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

struct Bench<'a> {
    surroundings: &'a MatrixSurroundings<'a>,
    experiment: &'a str,
    workspace: &'a Workspace,
    retries: u32,
    number: usize,
}

impl Bench<'_> {
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
            keep(
                (self.surroundings.store, self.experiment),
                (slot, &cell.planned.name),
                started,
                &attempt,
            )?;
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
                cell.planned.name,
                in_short(&failure.message)
            ));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_short;

    #[test]
    fn a_failure_in_short_leaves_the_output_out() {
        for (message, short) in [
            ("one line: with a colon", "one line: with a colon"),
            (
                "`x` exited with code 1; its last output:\n  Traceback",
                "`x` exited with code 1",
            ),
            (
                "the guest hung (3m); its console ends:\n  x\n  y",
                "the guest hung (3m)",
            ),
            ("it said:\nx", "it said"),
            ("", ""),
        ] {
            assert_eq!(in_short(message), short);
        }
    }
}

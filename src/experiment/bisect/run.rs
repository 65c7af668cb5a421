//! The command's work from ends to report.

use std::time::Instant;

use crate::bisect::{Change, Response};
use crate::build::Reuse;
use crate::experiment::ExperimentError;
use crate::experiment::compare::Surroundings;
use crate::experiment::judge::judging;
use crate::experiment::possible::check_possible;
use crate::experiment::progress::Progress;
use crate::experiment::workspace::Workspace;
use crate::plan::Direction;
use crate::repo::{PathsDigester, Pathspecs};
use crate::report::{BisectOutcome, BisectReport, Profiles, bisect as report};
use crate::store::{ExperimentState, NewExperiment, RunningExperiment, Store};
use crate::trial::{Machine, Placement, Topology};

use super::super::ended::ended;
use super::bench::Bench;
use super::ends::Ends;
use super::find::Hunt;
use super::journal::{Journal, Start};
use super::meter::Meter;
use super::outcome::{Scene, compose};
use super::request::{BisectRequest, Measured, Towards};
use super::resume::Resumable;
use super::searcher::{Searcher, take_up_gauge};

/// How a search begins.
pub enum Begin {
    /// Anew.
    New(Box<BisectRequest>),
    /// Where it was.
    Resume(Box<Resumable>),
}

/// Carries out a search. The report's files are written; the report is returned too.
pub fn bisect(
    begin: Begin,
    reuse: Reuse,
    surroundings: &Surroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<BisectReport, ExperimentError> {
    let store = surroundings.store;
    let machine = Machine::read();
    let (request, ends, running) = match begin {
        Begin::New(request) => {
            let ends = Ends::resolve(surroundings.repository, &request.good, &request.bad)?;
            check_trials(&request)?;
            let running = store.begin(&NewExperiment {
                kind: "bisect".to_owned(),
                base: Some(ends.old.id.clone()),
                head: Some(ends.new.id.clone()),
                seed: request.plan.experiment.seed,
                plan: serde_json::to_value(&request.plan).unwrap_or_default(),
                machine: serde_json::to_value(&machine).unwrap_or_default(),
            })?;
            let start = Start {
                request: (*request).clone(),
                old: ends.old.id.clone(),
                new: ends.new.id.clone(),
                swapped: ends.swapped,
                notes: ends.notes.clone(),
            };
            Journal::begin(store, &running.id, &start)?;
            (*request, ends, running)
        }
        Begin::Resume(resumable) => {
            let ends = resumable.ends(surroundings.repository)?;
            check_trials(&resumable.start.request)?;
            let running = store.resume(&resumable.id)?;
            (resumable.start.request, ends, running)
        }
    };
    for note in &ends.notes {
        progress.note(note);
    }
    let id = running.id.clone();
    progress.began(&id);
    let outcome = search(
        (&request, &ends, &id),
        Reach::Limits(reuse),
        surroundings,
        &machine,
        progress,
    )
    .and_then(|(report, profiles)| {
        report::write_all(&request.out, &report, &profiles)?;
        Ok(report)
    });
    finish(store, running, &outcome)?;
    outcome
}

fn check_trials(request: &BisectRequest) -> Result<(), ExperimentError> {
    let phases = &request.plan.phase;
    let profiled = phases.iter().filter(|phase| phase.profile).count();
    // Costs by the operation of several phases are comparable among all trials at once only.
    if request.samples_trials() && !phases.is_empty() && profiled != 1 {
        return Err(ExperimentError::Ends(format!(
            "the search for a function looks at one phase, and the plan profiles {profiled}: set \
             profile = true in one [[phase]]"
        )));
    }
    if !matches!(request.measured, Measured::Script { .. }) {
        let samples = request.samples_trials() || request.profile;
        check_possible(&request.plan, samples)?;
    }
    Ok(())
}

/// How far a search may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// As far as its limits allow.
    Limits(Reuse),
    /// Nowhere: nothing is measured and nothing stored.
    Stored,
}

fn search(
    (request, ends, experiment): (&BisectRequest, &Ends, &str),
    reach: Reach,
    surroundings: &Surroundings<'_>,
    machine: &Machine,
    progress: &mut dyn Progress,
) -> Result<(BisectReport, Profiles), ExperimentError> {
    let started = Instant::now();
    let root = surroundings.store.directory().join("run");
    let workspace =
        Workspace::new(&root).map_err(|source| ExperimentError::File { path: root, source })?;
    let placement = place(request)?;
    let paths = PathsDigester::new(Pathspecs::parse(&request.plan.subject.paths)?);
    let (mut journal, _) = Journal::read(surroundings.store, experiment)?;
    let (reuse, deadline) = match reach {
        Reach::Limits(reuse) => (reuse, request.limits.max_time().map(|time| started + time)),
        Reach::Stored => {
            journal.freeze();
            (Reuse::Everything, Some(started))
        }
    };
    let bench = Bench::new(
        surroundings,
        (request, experiment),
        (&placement, &workspace, &paths),
        reuse,
    )?;
    let rules = judging(&request.plan, &[]);
    let mut meter = Meter::new(&request.measured, &rules.main_metric, ends.swapped);
    take_up_gauge(&mut meter, &journal, &bench)?;
    let better = match &request.measured {
        Measured::Metric { .. } => rules.describe(meter.metric()).direction,
        _ => Direction::LowerIsBetter,
    };
    let mut searcher = Searcher {
        response: response(request, better, ends.swapped),
        deadline,
        bench,
        journal,
        meter,
        searched: Vec::new(),
        progress,
    };
    let mut hunt = Hunt {
        searcher: &mut searcher,
        notes: ends.notes.clone(),
    };
    let found = hunt.hunt(&ends.old, &ends.new)?;
    let notes = hunt.notes;
    let scene = Scene {
        request,
        ends,
        experiment,
        machine,
    };
    compose(&scene, &mut searcher, &found, notes)
}

/// What a stored search knows, without asking anything: for `--log` and `--visualize`.
pub fn peek(
    resumable: &Resumable,
    surroundings: &Surroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<BisectReport, ExperimentError> {
    let experiment = surroundings.store.experiment(&resumable.id)?;
    if experiment.state == ExperimentState::Done
        && let Some(outcome) = experiment.outcome
        && let Ok(report) = serde_json::from_value(outcome)
    {
        return Ok(report);
    }
    let ends = resumable.ends(surroundings.repository)?;
    let what = (&resumable.start.request, &ends, resumable.id.as_str());
    let machine = Machine::read();
    Ok(search(what, Reach::Stored, surroundings, &machine, progress)?.0)
}

fn response(request: &BisectRequest, better: Direction, swapped: bool) -> Response {
    let Measured::Script { .. } = request.measured else {
        let Some(towards) = request.towards else {
            return Response::Value(Change::Any);
        };
        // From GOOD to BAD; the search runs from old to new.
        let gets_slower = (towards == Towards::Slower) != swapped;
        let rises = gets_slower == (better == Direction::LowerIsBetter);
        return Response::Value(if rises { Change::Rise } else { Change::Fall });
    };
    Response::PassFail
}

fn place(request: &BisectRequest) -> Result<Placement, ExperimentError> {
    let topology = Topology::read()?;
    let plan = &request.plan;
    Ok(match plan.server {
        Some(_) => topology.place_server(&plan.cpus, plan.load_threads())?,
        None => topology.place_command(&plan.cpus)?,
    })
}

fn finish(
    store: &Store,
    running: RunningExperiment,
    outcome: &Result<BisectReport, ExperimentError>,
) -> Result<(), ExperimentError> {
    let finish = ended(outcome, |report| {
        let state = match report.outcome {
            // It can go on with another budget.
            BisectOutcome::Undecided => ExperimentState::Interrupted,
            _ => ExperimentState::Done,
        };
        (state, report.sentence.clone())
    });
    store.finish(running, &finish)?;
    Ok(())
}

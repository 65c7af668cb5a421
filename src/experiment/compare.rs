//! Compare: builds two commits, measures them in blocks, judges, and writes the report.

use std::path::PathBuf;

use crate::build::Reuse;
use crate::executor::{Cancel, Supervisor};
use crate::plan::Plan;
use crate::repo::{Repository, Revision};
use crate::report::{CompareReport, headline, write_all};
use crate::stats::Looks;
use crate::store::{Experiment, ExperimentState, NewExperiment, RunningExperiment, Store};
use crate::trial::{Machine, Placement, Topology};
use crate::verdict::{Decision, decide};

use super::arms::build_arms;
use super::attempt::LocalRunner;
use super::ended::ended;
use super::error::ExperimentError;
use super::judge::{foretell, judge};
use super::notes::after_look;
use super::possible::check_possible;
use super::progress::Progress;
use super::staged::Staged;
use super::trials::{Arm, TrialSeries};
use super::workspace::Workspace;

/// What is to be compared, and where the report goes.
#[derive(Debug)]
pub struct CompareRequest {
    /// The baseline as the user gave it.
    pub base: String,
    /// What is judged against it.
    pub head: String,
    /// What is to be done.
    pub plan: Plan,
    /// Which earlier builds count.
    pub reuse: Reuse,
    /// Whether to sample.
    pub profile: bool,
    /// Where the report is written.
    pub out: PathBuf,
    /// An interrupted experiment to go on with.
    pub resume: Option<String>,
    /// The command line that repeats the comparison, but for its seed and commits.
    pub command: String,
}

/// Who and where: what every experiment needs.
pub struct Surroundings<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The store.
    pub store: &'a Store,
    /// Who watches over processes.
    pub supervisor: &'a Supervisor,
    /// The user's wish to stop.
    pub cancel: &'a Cancel,
}

/// Carries out a comparison. The report's files are written; the report is returned too.
pub fn compare(
    request: &CompareRequest,
    surroundings: &Surroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<CompareReport, ExperimentError> {
    let base = surroundings.repository.resolve(&request.base)?;
    let head = surroundings.repository.resolve(&request.head)?;
    let placement = place(&request.plan)?;
    check_possible(&request.plan, request.profile)?;
    let store = surroundings.store;
    let machine = Machine::read();
    let running = match &request.resume {
        Some(id) => {
            check_same(&store.experiment(id)?, &base, &head, &request.plan)?;
            store.resume(id)?
        }
        None => store.begin(&NewExperiment {
            kind: "compare".to_owned(),
            base: Some(base.id.clone()),
            head: Some(head.id.clone()),
            seed: request.plan.experiment.seed,
            plan: serde_json::to_value(&request.plan).unwrap_or_default(),
            machine: serde_json::to_value(&machine).unwrap_or_default(),
        })?,
    };
    let id = running.id.clone();
    progress.began(&id);
    let outcome = (|| {
        let sides = [
            ("base", request.base.as_str(), base),
            ("head", request.head.as_str(), head),
        ];
        let arms = build_arms(sides, &request.plan, request.reuse, surroundings, progress)?;
        measure(
            request,
            surroundings,
            &placement,
            &arms,
            &machine,
            &id,
            progress,
        )
    })();
    finish(store, running, &outcome)?;
    outcome
}

fn measure(
    request: &CompareRequest,
    surroundings: &Surroundings<'_>,
    placement: &Placement,
    arms: &[Arm],
    machine: &Machine,
    experiment: &str,
    progress: &mut dyn Progress,
) -> Result<CompareReport, ExperimentError> {
    let root = surroundings.store.directory().join("run");
    let workspace =
        Workspace::new(&root).map_err(|source| ExperimentError::File { path: root, source })?;
    let series = TrialSeries {
        deadline: None,
        store: surroundings.store,
        experiment,
        runner: LocalRunner {
            supervisor: surroundings.supervisor,
            cancel: surroundings.cancel,
            plan: &request.plan,
            placement,
            profile: request.profile,
            workspace: &workspace,
        },
        arms,
    };
    let plan = &request.plan;
    let looks = declared_looks(plan);
    let all = plan.experiment.blocks as usize * arms.len();
    let mut progress = Staged::new(progress, all);
    let mut trials = Vec::new();
    let mut said = Vec::new();
    let mut done = 0;
    let judged = loop {
        let next = looks.after(done);
        let until = next.map_or(done, |look| look.blocks);
        // After the first blocks it can be told what the plan will see.
        let stop = match done {
            0 => until.min(FORETELLING_BLOCKS),
            _ => until,
        };
        trials.extend(series.run(done..stop, &mut progress)?);
        if done == 0 && stop < until {
            let blocks = plan.experiment.blocks;
            if let Some(text) = foretell(plan, &trials, blocks) {
                progress.note(&text);
            }
        }
        done = stop;
        let Some(look) = looks.at(done) else { continue };
        let judged = judge(request, arms, &trials, machine, experiment, look.alpha);
        if !plan.experiment.sequential {
            break judged;
        }
        let decision = decide(&looks, &judged.comparison);
        let text = after_look(&look, &decision);
        progress.note(&text);
        said.push(text);
        if matches!(decision, Decision::Stop(_)) {
            break judged;
        }
    };
    progress.end();
    let mut report = judged.report;
    report.notes.splice(0..0, said);
    write_all(&request.out, &report, &judged.profiles)?;
    Ok(report)
}

/// Blocks after which the noise of the machine can be told.
const FORETELLING_BLOCKS: u32 = 3;

/// When the data are looked at, and at which level.
fn declared_looks(plan: &Plan) -> Looks {
    let alpha = plan.judging.alpha;
    match plan.experiment.sequential {
        true => Looks::declare(alpha, plan.experiment.blocks),
        false => Looks::once(alpha, plan.experiment.blocks),
    }
}

/// An experiment goes on only as what it was: trials of other commits or another plan would be
/// mixed with its own. More blocks are welcome.
fn check_same(
    stored: &Experiment,
    base: &Revision,
    head: &Revision,
    plan: &Plan,
) -> Result<(), ExperimentError> {
    let differs = |what: &str| {
        Err(ExperimentError::NotResumable {
            id: stored.id.clone(),
            reason: format!("{what}; without --resume a new comparison begins"),
        })
    };
    if stored.kind != "compare" {
        return differs(&format!("it is a {}", stored.kind));
    }
    let commits = [(&stored.base, base), (&stored.head, head)];
    if commits
        .iter()
        .any(|(id, revision)| id.as_ref() != Some(&revision.id))
    {
        return differs("it compares other commits");
    }
    let mut planned = plan.clone();
    let blocks = stored
        .plan
        .pointer("/experiment/blocks")
        .and_then(serde_json::Value::as_u64);
    // Looks were declared for a number of blocks; another number would be other looks.
    if !plan.experiment.sequential {
        planned.experiment.blocks = blocks
            .and_then(|blocks| blocks.try_into().ok())
            .unwrap_or(0);
    }
    if serde_json::to_value(&planned).unwrap_or_default() != stored.plan {
        return differs("its plan was another one (only the number of blocks may change)");
    }
    Ok(())
}

/// Who runs where.
pub fn place(plan: &Plan) -> Result<Placement, ExperimentError> {
    let topology = Topology::read()?;
    Ok(match plan.server {
        Some(_) => topology.place_server(&plan.cpus, plan.load_threads())?,
        None => topology.place_command(&plan.cpus)?,
    })
}

fn finish(
    store: &Store,
    running: RunningExperiment,
    outcome: &Result<CompareReport, ExperimentError>,
) -> Result<(), ExperimentError> {
    let finish = ended(outcome, |report| {
        let headline = headline(report);
        let summary = format!("{}: {}", headline.outcome.word(), headline.text());
        (ExperimentState::Done, summary)
    });
    store.finish(running, &finish)?;
    Ok(())
}

//! From what was searched to the report.

mod compared;
mod culprit;
mod searched;

use crate::bisect::{Conclusion, Estimate, Response, Undecided};
use crate::experiment::ExperimentError;
use crate::report::bisect::sentence;
use crate::report::{
    BISECT_SCHEMA, BisectOutcome, BisectReport, CertificateReport, CulpritReport, End,
    FurtherCulprit, MeasuredKind, MeasuredValue, Profiles,
};
use crate::trial::Machine;

use super::ends::{Ends, shown};
use super::find::Found;
use super::request::{BisectRequest, Measured};
use super::searcher::{LineEnd, Searcher};

use compared::compared;
use culprit::{certificate_report, cost_share, culprit_report, per_cent, points};
use searched::{counts, lines, skipped};

/// What the report says beside what was found.
pub struct Scene<'a> {
    /// What was asked.
    pub request: &'a BisectRequest,
    /// The ends.
    pub ends: &'a Ends,
    /// The experiment's id.
    pub experiment: &'a str,
    /// The machine.
    pub machine: &'a Machine,
}

/// Composes the report, and the folded stacks of the culprit and its parent.
pub fn compose(
    scene: &Scene<'_>,
    searcher: &mut Searcher<'_, '_>,
    found: &[Found],
    notes: Vec<String>,
) -> Result<(BisectReport, Profiles), ExperimentError> {
    let Some(main) = searcher.searched.first() else {
        return Err(ExperimentError::Ends("no line was searched".to_owned()));
    };
    let outcome = match found.first() {
        Some(_) => BisectOutcome::Certified,
        None => outcome_of(scene, &main.end)?,
    };
    let gap = main.field.search.gap();
    let (commits, classes) = (main.field.line().commits, main.field.classes().len());
    let is_pass_fail = searcher.response == Response::PassFail;
    // A share of a gap that is mostly noise says nothing.
    let has_gap = gap.mean.abs() > (3.0 * gap.error).max(1e-6);
    let shares: Vec<Option<f64>> = found
        .iter()
        .map(|found| match &scene.request.measured {
            Measured::Script { .. } => None,
            _ if !has_gap => None,
            Measured::Metric { .. } => Some(100.0 * found.culprit.step.mean / gap.mean),
            Measured::Function { .. } => cost_share(&searcher.searched, found),
        })
        .collect();
    let explained: Option<f64> = shares.iter().copied().sum();
    let sign = if scene.ends.swapped && is_pass_fail {
        -1.0
    } else {
        1.0
    };
    let change = |estimate: &Estimate| match is_pass_fail {
        true => points(estimate, sign),
        false => per_cent(estimate),
    };
    let culprits: Vec<(CulpritReport, CertificateReport)> = found
        .iter()
        .zip(&shares)
        .map(|(found, share)| {
            let of = &searcher.searched[found.line];
            let mut culprit = culprit_report(of, found, change(&found.culprit.step));
            culprit.share_of_gap_pct = *share;
            (culprit, certificate_report(searcher, found))
        })
        .collect();
    let (comparison, explanation, profiles) = match found.first() {
        Some(found) if !is_pass_fail => compared(scene, searcher, found)?,
        _ => (None, Vec::new(), Profiles::default()),
    };
    let mut culprits = culprits.into_iter();
    let first = culprits.next();
    let (culprit, certificate) = first.unzip();
    let unexplained_pct = match found.is_empty() {
        true => None,
        false => explained.map(|explained| 100.0 - explained),
    };
    let (good, bad) = match scene.ends.swapped {
        true => (&scene.ends.new, &scene.ends.old),
        false => (&scene.ends.old, &scene.ends.new),
    };
    let end = |rev: &String, commit: &crate::repo::Revision| End {
        rev: rev.clone(),
        commit: commit.id.clone(),
        subject_line: commit.subject_line.clone(),
    };
    let mut report = BisectReport {
        schema: BISECT_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        created: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        experiment: scene.experiment.to_owned(),
        good: end(&scene.request.good, good),
        bad: end(&scene.request.bad, bad),
        swapped: scene.ends.swapped,
        measured: measured(scene, searcher),
        outcome,
        sentence: String::new(),
        culprit,
        certificate,
        further: culprits
            .map(|(culprit, certificate)| FurtherCulprit {
                culprit,
                certificate,
            })
            .collect(),
        gap: gap.error.is_finite().then(|| change(&gap)),
        unexplained_pct,
        trials: counts(searcher),
        builds: searcher.bench.builds(),
        commits,
        classes,
        skipped: skipped(searcher),
        lines: lines(searcher, found),
        explanation,
        comparison,
        notes,
        machine: serde_json::to_value(scene.machine).unwrap_or_default(),
        plan: serde_json::to_value(&scene.request.plan).unwrap_or_default(),
        seed: scene.request.plan.experiment.seed,
        seconds: searcher
            .bench
            .began
            .elapsed()
            .unwrap_or_default()
            .as_secs_f64(),
        commands: vec![scene.request.command.clone()],
    };
    let spent = searcher.searched.iter().find_map(|line| spent(&line.end));
    report.notes.extend(spent.map(|(what, more)| {
        let id = scene.experiment;
        format!("the budget of {what} is spent; `perfblame bisect --resume {id}{more}` goes on")
    }));
    report.sentence = sentence(&report);
    Ok((report, profiles))
}

fn outcome_of(scene: &Scene<'_>, end: &LineEnd) -> Result<BisectOutcome, ExperimentError> {
    Ok(match end {
        LineEnd::Stopped(_) => BisectOutcome::Undecided,
        LineEnd::Concluded(conclusion) => match conclusion {
            Conclusion::Culprit(_) => BisectOutcome::Certified,
            Conclusion::EndpointsAlike { .. } => BisectOutcome::EndsAlike,
            Conclusion::NoCulprit { .. } => BisectOutcome::NoCulprit,
            Conclusion::NothingToSearch => BisectOutcome::SameProgram,
            Conclusion::Undecided { .. } => BisectOutcome::Undecided,
            Conclusion::EndpointSkipped { side, reason } => {
                let (name, commit) =
                    match (*side == crate::bisect::Side::Good) != scene.ends.swapped {
                        true => ("GOOD", &scene.request.good),
                        false => ("BAD", &scene.request.bad),
                    };
                let end = match side {
                    crate::bisect::Side::Good => &scene.ends.old,
                    crate::bisect::Side::Bad => &scene.ends.new,
                };
                return Err(ExperimentError::Ends(format!(
                    "{name} ({commit}, {}) cannot be measured; give another commit near it: {reason}",
                    shown(end)
                )));
            }
        },
    })
}

/// The budget that ended a line, and the flag that grants more of it.
fn spent(end: &LineEnd) -> Option<(&'static str, &'static str)> {
    let of = |what| match what {
        "builds" => (what, " --max-builds N"),
        what => (what, ""),
    };
    match end {
        LineEnd::Stopped(what) => Some(of(what)),
        LineEnd::Concluded(Conclusion::Undecided { why, .. }) => match why {
            Undecided::Builds => Some(of("builds")),
            Undecided::Trials | Undecided::Certificates => None,
        },
        LineEnd::Concluded(_) => None,
    }
}

fn measured(scene: &Scene<'_>, searcher: &Searcher<'_, '_>) -> MeasuredValue {
    let (kind, name) = match &scene.request.measured {
        Measured::Metric { .. } => (MeasuredKind::Metric, searcher.meter.metric().to_owned()),
        Measured::Function { name } => (
            MeasuredKind::Function,
            searcher
                .meter
                .function()
                .map_or_else(|| name.clone(), |id| id.name.clone()),
        ),
        Measured::Script { command } => (MeasuredKind::Script, command.clone()),
    };
    MeasuredValue {
        kind,
        name,
        cost: searcher.meter.cost().map(|cost| cost.word().to_owned()),
        direction: scene
            .request
            .towards
            .map(|towards| towards.word().to_owned()),
    }
}

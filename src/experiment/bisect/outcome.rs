//! From what was searched to the report.

use crate::bisect::{Conclusion, Estimate, Purpose, Response, Undecided};
use crate::build::Reuse;
use crate::experiment::ExperimentError;
use crate::experiment::compare::CompareRequest;
use crate::experiment::judge::{Judged, judge};
use crate::experiment::trials::MeasuredTrial;
use crate::profile::Profile;
use crate::report::bisect::sentence;
use crate::report::{
    BISECT_SCHEMA, Belief, BisectOutcome, BisectReport, CertificateReport, ChangeReport,
    CompareReport, CulpritReport, End, Explanation, FurtherCulprit, MeasuredKind, MeasuredValue,
    Profiles, SearchedLine, SkippedCommit, TrialCounts,
};
use crate::stats::mean;
use crate::trial::Machine;

use super::certify::arms_of;
use super::ends::{Ends, shown};
use super::explain::explain;
use super::find::Found;
use super::journal::Answer;
use super::request::{BisectRequest, Measured};
use super::searcher::{LineEnd, Searched, Searcher};

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

/// The part of the gap that a step of a function's cost makes, in per cent. Of costs and not of their
/// logarithms: that of a function which is not there is as good as any small number.
fn cost_share(searched: &[Searched], found: &Found) -> Option<f64> {
    let level = |line: usize, class: usize| {
        let trials = searched.get(line)?.field.search.trials().iter();
        let of_class = trials.filter(|trial| trial.class == class);
        let costs: Vec<f64> = of_class.map(|trial| trial.value.exp()).collect();
        (!costs.is_empty()).then(|| mean(&costs))
    };
    let last = searched.first()?.field.classes().len() - 1;
    let suspects = &found.culprit.suspects;
    let step = level(found.line, *suspects.classes.end())? - level(found.line, suspects.parent)?;
    let share = 100.0 * step / (level(0, last)? - level(0, 0)?);
    share.is_finite().then_some(share)
}

fn culprit_report(searched: &Searched, found: &Found, change: ChangeReport) -> CulpritReport {
    let classes = searched.field.classes();
    let suspects = &found.culprit.suspects;
    let commits: Vec<_> = suspects
        .classes
        .clone()
        .filter_map(|class| classes.get(class))
        .map(|class| class.first())
        .collect();
    // The commit just before the first of them; its tree is that of its class.
    let parent = classes[suspects.parent].commits.last();
    let parent = parent.unwrap_or(classes[suspects.parent].first());
    CulpritReport {
        commits: commits.iter().map(|commit| commit.id.clone()).collect(),
        subject_lines: commits
            .iter()
            .map(|commit| commit.subject_line.clone())
            .collect(),
        parent: parent.id.clone(),
        parent_subject_line: parent.subject_line.clone(),
        probability: suspects.probability,
        change,
        share_of_gap_pct: None,
        merged_by: found.merged_by.as_ref().map(|merge| merge.id.clone()),
    }
}

fn certificate_report(searcher: &Searcher<'_, '_>, found: &Found) -> CertificateReport {
    let certificate = &found.culprit.certificate;
    CertificateReport {
        p: certificate.p,
        blocks: certificate.blocks,
        alpha: certificate.alpha,
        attempt: certificate.attempt,
        first_block: first_block(searcher, found).unwrap_or(0),
    }
}

/// Number of the first block of a culprit's certificate in the store.
fn first_block(searcher: &Searcher<'_, '_>, found: &Found) -> Option<u32> {
    let suspects = &found.culprit.suspects;
    let field = &searcher.searched[found.line].field;
    let [before, after] = [suspects.parent, *suspects.classes.end()]
        .map(|class| field.representative(class).id.as_str());
    searcher.journal.answers().find_map(|answer| match answer {
        Answer::Certificate {
            culprit,
            parent,
            blocks,
            first_block,
        } if culprit == after
            && parent == before
            && blocks.len() == found.culprit.certificate.blocks =>
        {
            Some(*first_block)
        }
        _ => None,
    })
}

/// The comparison of culprit and parent from the blocks of the certificate, and what explains it.
fn compared(
    scene: &Scene<'_>,
    searcher: &mut Searcher<'_, '_>,
    found: &Found,
) -> Result<(Option<CompareReport>, Vec<Explanation>, Profiles), ExperimentError> {
    let field = &searcher.searched[found.line].field;
    let pair = [
        found.culprit.suspects.parent,
        *found.culprit.suspects.classes.end(),
    ]
    .map(|class| field.representative(class).clone());
    let nothing = (None, Vec::new(), Profiles::default());
    let Some(first) = first_block(searcher, found) else {
        return Ok(nothing);
    };
    let count = u32::try_from(found.culprit.certificate.blocks).unwrap_or(u32::MAX);
    let range = first..first.saturating_add(count);
    let mut built = Vec::new();
    for revision in &pair {
        match searcher.bench.artifact(revision, searcher.progress)? {
            Ok(artifact) => built.push((revision.clone(), artifact)),
            Err(_) => return Ok(nothing),
        }
    }
    let arms = arms_of(built);
    let mut trials = searcher.blocks(&arms, range)?;
    for trial in &mut trials {
        trial.slot.block -= first;
    }
    let request = CompareRequest {
        base: pair[0].id.clone(),
        head: pair[1].id.clone(),
        plan: scene.request.plan.clone(),
        reuse: Reuse::Everything,
        profile: true,
        out: scene.request.out.clone(),
        resume: None,
        command: scene.request.command.clone(),
    };
    let Judged {
        report: comparison,
        profiles,
        ..
    } = judge(
        &request,
        &arms,
        &trials,
        scene.machine,
        scene.experiment,
        request.plan.judging.alpha,
    );
    let changes = searcher
        .bench
        .surroundings
        .repository
        .changes_between(Some(&pair[0]), &pair[1])?;
    let of_arm = |arm: usize| -> Vec<&Profile> {
        let trials = trials.iter().filter(|trial| trial.slot.arm == arm);
        trials
            .filter_map(|trial: &MeasuredTrial| trial.profile.as_ref())
            .collect()
    };
    let target = searcher.meter.function();
    let explanation = explain(
        &comparison.functions,
        &of_arm(0),
        &of_arm(1),
        &changes,
        target,
    );
    Ok((Some(comparison), explanation, profiles))
}

fn counts(searcher: &Searcher<'_, '_>) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for answer in searcher.journal.answers() {
        match answer {
            Answer::Trial { purpose, .. } => match purpose {
                Purpose::Endpoint => counts.endpoints += 1,
                _ => counts.search += 1,
            },
            Answer::Certificate { blocks, .. } => counts.certificate += 2 * blocks.len(),
            Answer::Skipped { .. } | Answer::Same { .. } => {}
        }
    }
    counts
}

fn skipped(searcher: &Searcher<'_, '_>) -> Vec<SkippedCommit> {
    let repository = searcher.bench.surroundings.repository;
    let mut skipped: Vec<SkippedCommit> = Vec::new();
    for answer in searcher.journal.answers() {
        let Answer::Skipped { commit, reason } = answer else {
            continue;
        };
        if skipped.iter().any(|known| known.commit == *commit) {
            continue;
        }
        let subject = repository.revision(commit);
        skipped.push(SkippedCommit {
            commit: commit.clone(),
            subject_line: subject.map_or_else(|_| String::new(), |found| found.subject_line),
            reason: reason.clone(),
        });
    }
    skipped
}

fn lines(searcher: &Searcher<'_, '_>, found: &[Found]) -> Vec<SearchedLine> {
    let searched = searcher.searched.iter().enumerate();
    searched
        .map(|(number, searched)| {
            let search = &searched.field.search;
            let posterior = search.posterior();
            let classes = searched.field.classes().iter().enumerate();
            let culprit = match &searched.end {
                LineEnd::Concluded(Conclusion::Culprit(culprit)) => {
                    Some(*culprit.suspects.classes.end())
                }
                _ => found
                    .iter()
                    .find(|found| found.line == number)
                    .map(|found| *found.culprit.suspects.classes.end()),
            };
            SearchedLine {
                title: searched.title.clone(),
                no_step_probability: posterior.no_step,
                culprit,
                classes: classes
                    .map(|(at, class)| Belief {
                        commits: class.commits.iter().map(|held| held.id.clone()).collect(),
                        subject_line: class.first().subject_line.clone(),
                        probability: posterior.mass.get(at).copied().unwrap_or(0.0),
                        values: search
                            .trials()
                            .iter()
                            .filter(|trial| trial.class == at)
                            .map(|trial| trial.value)
                            .collect(),
                        skipped: search.skipped().contains_key(&at),
                    })
                    .collect(),
            }
        })
        .collect()
}

/// A difference of logarithms in per cent.
fn per_cent(estimate: &Estimate) -> ChangeReport {
    let pct = |log: f64| 100.0 * log.exp_m1();
    ChangeReport {
        change_pct: pct(estimate.mean),
        ci95_pct: estimate.error.is_finite().then(|| {
            [
                pct(estimate.mean - 2.0 * estimate.error),
                pct(estimate.mean + 2.0 * estimate.error),
            ]
        }),
    }
}

/// A difference of rates in percentage points.
fn points(estimate: &Estimate, sign: f64) -> ChangeReport {
    let [low, high] = [-2.0, 2.0].map(|width: f64| {
        let end = estimate.mean + width * estimate.error;
        100.0 * sign * end.clamp(-1.0, 1.0)
    });
    ChangeReport {
        change_pct: 100.0 * sign * estimate.mean,
        ci95_pct: estimate
            .error
            .is_finite()
            .then(|| [low.min(high), low.max(high)]),
    }
}

//! From measured trials to the report: verdicts, and all that is needed to trust and repeat them.

use std::collections::BTreeMap;

use crate::plan::{Judging, Plan};
use crate::profile::{Accounting, Profile, merged_folded_lines};
use crate::report::{CompareReport, Profiles, SCHEMA, SampleCounts, Side, TrialArm, TrialRecord};
use crate::trial::Machine;
use crate::verdict::{self, Comparison, TrialMeasurement, Verdict};

use super::compare::CompareRequest;
use super::measure::typical_ops;
use super::notes::{foretold, notes};
use super::rules::judging_of;
use super::same_code::compare_code;
use super::trials::{Arm, MeasuredTrial};

/// A comparison judged: what is written, and what is decided by.
pub struct Judged {
    /// The report.
    pub report: CompareReport,
    /// Folded stacks of both arms.
    pub profiles: Profiles,
    /// The verdicts.
    pub comparison: Comparison,
}

/// Trials of one arm as they are judged.
fn measurements(trials: &[MeasuredTrial], arm: usize, judging: &Judging) -> Vec<TrialMeasurement> {
    let of_arm = trials.iter().filter(|trial| trial.slot.arm == arm);
    super::measure::measurements(
        of_arm.map(|trial| (trial.slot.block, &trial.result, trial.profile.as_ref())),
        &judging.groups,
        &typical_ops(trials.iter().map(|trial| &trial.result)),
    )
}

/// Says what a comparison of so many blocks will see, from its first trials; `None` with too few.
pub fn foretell(plan: &Plan, trials: &[MeasuredTrial], blocks: u32) -> Option<String> {
    let judging = judging(plan, trials);
    let [base, head] = [0, 1].map(|arm| measurements(trials, arm, &judging));
    let forecast = verdict::forecast(&base, &head, &judging, blocks)?;
    foretold(&forecast, &judging.main_metric)
}

/// Judges head against base at a level.
pub fn judge(
    request: &CompareRequest,
    arms: &[Arm],
    trials: &[MeasuredTrial],
    machine: &Machine,
    experiment: &str,
    alpha: f64,
) -> Judged {
    let of_arm = |arm: usize| trials.iter().filter(move |trial| trial.slot.arm == arm);
    let judging = Judging {
        alpha,
        ..judging(&request.plan, trials)
    };
    let [base, head] = [0, 1].map(|arm| measurements(trials, arm, &judging));
    let same_program = arms[0].artifact.digest == arms[1].artifact.digest;
    let profiles = |arm: usize| -> Vec<&Profile> {
        of_arm(arm)
            .filter_map(|trial| trial.profile.as_ref())
            .collect()
    };
    let code = compare_code(
        &arms[0].artifact,
        &arms[1].artifact,
        &[profiles(0), profiles(1)].concat(),
    );
    let mut comparison = verdict::compare_knowing(&base, &head, &judging, &code);
    if same_program {
        acquit(&mut comparison);
    }
    let samples = |arm: usize| {
        profiles(arm)
            .iter()
            .map(|profile| profile.accounting.samples)
            .sum()
    };
    let side = |arm: usize| Side {
        rev: arms[arm].given.clone(),
        commit: arms[arm].revision.id.clone(),
        subject_line: arms[arm].revision.subject_line.clone(),
        artifact_digest: arms[arm].artifact.digest.to_string(),
        trials: of_arm(arm).count() as u32,
    };
    let mut warnings = comparison.warnings.clone();
    warnings.extend(trial_warnings(trials, arms));
    warnings.extend(disturbed(trials));
    warnings.extend(absent(trials, arms));
    let sampling = Accounting::sum(
        profiles(0)
            .into_iter()
            .chain(profiles(1))
            .map(|profile| &profile.accounting),
    );
    warnings.extend(sampling.doubts().into_iter().map(|doubt| doubt.text));
    let report = CompareReport {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        created: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        experiment: Some(experiment.to_owned()),
        base: side(0),
        head: side(1),
        same_program,
        samples: SampleCounts {
            base: samples(0),
            head: samples(1),
            lost: sampling.lost,
        },
        event: trials
            .iter()
            .find_map(|trial| Some(trial.profile.as_ref()?.event.clone())),
        sampling: (sampling.samples > 0).then_some(sampling),
        machine: {
            let results = trials.iter().map(|trial| &trial.result);
            serde_json::to_value(machine.with_guest_of(results)).unwrap_or_default()
        },
        plan: serde_json::to_value(&request.plan).unwrap_or_default(),
        seed: request.plan.experiment.seed,
        trials: trials
            .iter()
            .enumerate()
            .map(|(order, trial)| record(order, trial))
            .collect(),
        warnings,
        notes: match same_program {
            true => Vec::new(),
            false => notes(
                &comparison,
                foretell(&request.plan, trials, comparison.blocks),
            ),
        },
        commands: vec![repeat(request, arms)],
        throughput: comparison.throughput.clone(),
        metrics: comparison.metrics.clone(),
        functions: comparison.functions.clone(),
        groups: comparison.groups.clone(),
        proposed_groups: comparison.proposed_groups.clone(),
        explained: comparison.explained,
        alpha: comparison.alpha,
    };
    let profiles = Profiles {
        base: merged_folded_lines(profiles(0)),
        head: merged_folded_lines(profiles(1)),
    };
    Judged {
        report,
        profiles,
        comparison,
    }
}

/// The command that repeats the comparison: of these commits, whatever their names mean by then.
fn repeat(request: &CompareRequest, arms: &[Arm]) -> String {
    let [base, head] = [0, 1].map(|arm| &arms[arm].revision.id);
    let short = |id: &str| id.chars().take(12).collect::<String>();
    let seed = request.plan.experiment.seed;
    let command = &request.command;
    format!("{command} --seed {seed} {} {}", short(base), short(head))
}

/// The rules of judging for these trials.
pub(super) fn judging(plan: &Plan, trials: &[MeasuredTrial]) -> Judging {
    judging_of(plan, trials.iter().map(|trial| &trial.result))
}

/// The same program cannot differ from itself: whatever the numbers say, it is the machine's noise.
fn acquit(comparison: &mut Comparison) {
    let metrics = comparison.metrics.iter_mut();
    for metric in metrics.chain([&mut comparison.throughput]) {
        metric.verdict = Verdict::Equivalent;
    }
    for function in comparison
        .functions
        .iter_mut()
        .chain(&mut comparison.groups)
    {
        function.self_cost.verdict = Verdict::Equivalent;
        function.inclusive.verdict = Verdict::Equivalent;
    }
    comparison.proposed_groups.clear();
}

fn record(order: usize, trial: &MeasuredTrial) -> TrialRecord {
    let accounting = trial.profile.as_ref().map(|profile| &profile.accounting);
    TrialRecord {
        block: trial.slot.block,
        arm: match trial.slot.arm {
            0 => TrialArm::Base,
            _ => TrialArm::Head,
        },
        order: order as u32,
        started: humantime::format_rfc3339_seconds(trial.started).to_string(),
        values: trial.result.metrics.clone(),
        samples: accounting.map_or(0, |accounting| accounting.samples),
        lost: accounting.map_or(0, |accounting| accounting.lost),
        disturbed: trial.disturbed.clone(),
    }
}

/// Says how many trials that count were disturbed.
fn disturbed(trials: &[MeasuredTrial]) -> Option<String> {
    let count = trials
        .iter()
        .filter(|trial| trial.disturbed.is_some())
        .count();
    let first = trials.iter().find_map(|trial| trial.disturbed.as_ref())?;
    Some(format!(
        "{count} of {} trials that count were disturbed, more than is repeated (disturbance.repeats); \
         in the first of them {first}",
        trials.len()
    ))
}

/// Says which metrics an arm lacks, so that they are in no row.
fn absent(trials: &[MeasuredTrial], arms: &[Arm]) -> Vec<String> {
    let mut said = BTreeMap::new();
    for trial in trials {
        for (name, reason) in &trial.result.absent {
            let of_arm = said.entry((name, trial.slot.arm)).or_insert((reason, 0));
            of_arm.1 += 1;
        }
    }
    said.into_iter()
        .map(|((name, arm), (reason, count))| {
            let (arm, all) = (
                arms[arm].name,
                trials.iter().filter(|t| t.slot.arm == arm).count(),
            );
            format!("the metric `{name}` is absent in {count} of {all} trials of {arm}: {reason}")
        })
        .collect()
}

/// Each warning of a trial once, with how many trials it is about.
fn trial_warnings(trials: &[MeasuredTrial], arms: &[Arm]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in trials.iter().flat_map(|trial| &trial.result.warnings) {
        *counts.entry(warning).or_default() += 1;
    }
    let all = trials.len();
    let of_trials = counts
        .into_iter()
        .map(|(warning, count)| format!("{warning} ({count} of {all} trials)"));
    of_trials.chain(build_warnings(arms)).collect()
}

/// Each warning of a build with the arms that it is about; without them where it is about all.
fn build_warnings(arms: &[Arm]) -> Vec<String> {
    let mut warnings: Vec<(&str, Vec<&str>)> = Vec::new();
    for arm in arms {
        for warning in &arm.artifact.warnings {
            match warnings.iter_mut().find(|(known, _)| known == warning) {
                Some((_, names)) => names.push(arm.name),
                None => warnings.push((warning, vec![arm.name])),
            }
        }
    }
    let said = |(warning, names): (&str, Vec<&str>)| match names.len() == arms.len() {
        true => format!("build: {warning}"),
        false => format!("{}: {warning}", names.join(", ")),
    };
    warnings.into_iter().map(said).collect()
}

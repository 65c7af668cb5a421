//! The outcome of a search in a sentence.

use super::model::{
    BisectOutcome, BisectReport, ChangeReport, CulpritReport, MeasuredKind, MeasuredValue,
};
use crate::report::number;

/// The outcome in a sentence, names unescaped.
pub fn sentence(report: &BisectReport) -> String {
    let what = what(&report.measured);
    match report.outcome {
        BisectOutcome::Certified => certified(report, &what),
        BisectOutcome::EndsAlike => ends_alike(report, &what),
        BisectOutcome::NoCulprit => format!(
            "The ends may differ in {what}, but no single commit between them makes a step."
        ),
        BisectOutcome::SameProgram => "All commits from GOOD to BAD build the same program (or differ \
                                       only outside subject.paths), so that none can be the culprit."
            .to_owned(),
        BisectOutcome::Undecided => undecided(report),
    }
}

fn certified(report: &BisectReport, what: &str) -> String {
    let Some(culprit) = &report.culprit else {
        return String::new();
    };
    let mut out = match culprit.commits.as_slice() {
        [only] => format!(
            "{} {} changes {what} by {}",
            short(only),
            quoted(culprit),
            change(&report.measured, &culprit.change)
        ),
        several => format!(
            "One of {} commits that cannot be told apart ({}) changes {what} by {}",
            several.len(),
            several
                .iter()
                .map(|c| short(c))
                .collect::<Vec<_>>()
                .join(", "),
            change(&report.measured, &culprit.change)
        ),
    };
    if let Some(certificate) = &report.certificate {
        out.push_str(&format!(
            "; certified by {} fresh blocks against its parent (p {})",
            certificate.blocks,
            number::p(certificate.p)
        ));
    }
    if let Some(merge) = &culprit.merged_by {
        out.push_str(&format!("; it came in by the merge {}", short(merge)));
    }
    match report.further.len() {
        0 => {}
        1 => out.push_str("; one other commit changes it too"),
        more => out.push_str(&format!("; {more} other commits change it too")),
    }
    if let Some(left) = report.unexplained_pct
        && left.abs() >= NOTEWORTHY_PCT
    {
        let more = match report.further.is_empty() {
            true => ", --all looks for more steps",
            false => "",
        };
        out.push_str(&match left > 0.0 {
            true => {
                format!("; {left:.0} % of the change between the ends is left unexplained{more}")
            }
            false => format!(
                "; that is {:.0} % of the change between the ends, of which others take a part back{more}",
                100.0 - left
            ),
        });
    }
    out.push('.');
    out
}

/// A part of the gap that is worth a word, in per cent: less is noise as a rule.
const NOTEWORTHY_PCT: f64 = 20.0;

fn ends_alike(report: &BisectReport, what: &str) -> String {
    let Some(gap) = report.gap else {
        return format!("GOOD and BAD do not differ in {what} as far as their trials tell.");
    };
    let wanted = report.measured.direction.as_deref();
    let is_sure = gap.ci95_pct.is_some_and(|ci| ci[0] * ci[1] > 0.0);
    match (wanted, is_sure) {
        (Some(wanted), true) => format!(
            "BAD is not {wanted} than GOOD: {what} changes by {} from one to the other; \
             without --direction that step would be looked for.",
            change(&report.measured, &gap)
        ),
        _ => format!(
            "GOOD and BAD do not differ in {what} as far as their {} trials tell ({}); --force \
             searches all the same.",
            report.trials.endpoints,
            change(&report.measured, &gap)
        ),
    }
}

fn undecided(report: &BisectReport) -> String {
    let best = report
        .lines
        .last()
        .and_then(|line| {
            let classes = line.classes.iter().filter(|class| class.probability > 0.0);
            classes.max_by(|a, b| a.probability.total_cmp(&b.probability))
        })
        .filter(|class| class.probability >= 0.01);
    let trials = report.trials.endpoints + report.trials.search + report.trials.certificate;
    match best {
        Some(class) => format!(
            "No culprit yet after {trials} trials; the best candidate is {} “{}” ({:.0} %).",
            class.commits.first().map_or("", |commit| short(commit)),
            class.subject_line,
            100.0 * class.probability
        ),
        None => format!("No culprit yet after {trials} trials."),
    }
}

/// What was looked at, in words; names unescaped.
pub(super) fn what(measured: &MeasuredValue) -> String {
    match measured.kind {
        MeasuredKind::Metric => measured.name.clone(),
        MeasuredKind::Function => {
            let own = match measured.cost.as_deref() {
                Some("self") => "own ",
                _ => "",
            };
            format!("the {own}cost of {} per operation", measured.name)
        }
        MeasuredKind::Script => format!("how often `{}` fails", measured.name),
    }
}

/// A change in the unit of what was looked at.
pub(super) fn change(measured: &MeasuredValue, change: &ChangeReport) -> String {
    let unit = |text: String| match measured.kind {
        MeasuredKind::Script => text.replace(" %", " points"),
        _ => text,
    };
    // Beyond that, a factor says more.
    let factor = |pct: f64| format!("×{:.0}", 1.0 + pct / 100.0);
    if change.change_pct >= FACTOR_PCT && measured.kind != MeasuredKind::Script {
        return match change.ci95_pct {
            Some([low, high]) => format!(
                "{} ({} to {})",
                factor(change.change_pct),
                factor(low),
                factor(high)
            ),
            None => factor(change.change_pct),
        };
    }
    match change.ci95_pct {
        Some(ci) => unit(format!(
            "{} ({})",
            number::change(change.change_pct),
            number::interval(ci)
        )),
        None => unit(number::change(change.change_pct)),
    }
}

/// A rise in per cent from which on it is written as a factor.
const FACTOR_PCT: f64 = 900.0;

fn quoted(culprit: &CulpritReport) -> String {
    let subject = culprit.subject_lines.first().map_or("", String::as_str);
    format!("“{subject}”")
}

/// The first twelve digits of a commit.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

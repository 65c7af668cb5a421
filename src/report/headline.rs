//! The verdict in one sentence, from which every form of the report begins.

use crate::verdict::{
    CostVerdict, Direction, FunctionNote, FunctionStatus, FunctionVerdict, MetricVerdict, Verdict,
};

use super::{CompareReport, number};

/// What a comparison came to, over the main metric and all functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Both artifacts are the same; nothing can differ.
    SameProgram,
    /// The main metric or a function got worse.
    Regressed,
    /// Something got better and nothing worse.
    Improved,
    /// The main metric is equivalent and nothing says that a function changed.
    Equivalent,
    /// No evidence either way.
    Undecided,
}

impl Outcome {
    /// The word that stands before the sentence.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::SameProgram => "same program",
            Outcome::Regressed => "regressed",
            Outcome::Improved => "improved",
            Outcome::Equivalent => "equivalent",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A piece of the sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Words of ours.
    Text(String),
    /// A name that comes from outside, not yet escaped.
    Code(String),
}

/// The outcome and its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// What the comparison came to.
    pub outcome: Outcome,
    /// The sentence, without the outcome's word.
    pub sentence: Vec<Segment>,
}

impl Headline {
    /// The sentence as plain text, names unescaped.
    pub fn text(&self) -> String {
        self.sentence
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) | Segment::Code(text) => text.as_str(),
            })
            .collect()
    }
}

/// Which cost of a function carries its verdict: its own where that is flagged, else inclusive.
pub(super) fn telling_cost(function: &FunctionVerdict) -> (&'static str, &CostVerdict) {
    if function.self_cost.verdict.is_flagged() {
        ("self", &function.self_cost)
    } else {
        ("incl", &function.inclusive)
    }
}

/// The change of a cost as a table shows it: `new`, `gone`, a change in per cent, or a dash.
pub(super) fn change_text(function: &FunctionVerdict, cost: &CostVerdict) -> String {
    match (function.status, cost.change_pct) {
        (FunctionStatus::New, _) => "new".to_string(),
        (FunctionStatus::Gone, _) => "gone".to_string(),
        (FunctionStatus::Both, Some(pct)) => number::change(pct),
        (FunctionStatus::Both, None) => "–".to_string(),
    }
}

/// The verdict of a function: that of the cost which carries it.
pub(super) fn function_verdict(function: &FunctionVerdict) -> Verdict {
    telling_cost(function).1.verdict
}

/// Whether a note says that the change is not the function's own doing.
pub(super) fn is_explained_away(function: &FunctionVerdict) -> bool {
    function.notes.iter().any(|note| match note {
        FunctionNote::Moved { .. }
        | FunctionNote::Grouped { .. }
        | FunctionNote::Inherited { .. }
        | FunctionNote::Indirect => true,
    })
}

/// A note as a sentence; names unescaped.
pub(super) fn note_text(note: &FunctionNote) -> String {
    let list = |names: &[String]| {
        let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        match names.len().saturating_sub(3) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    match note {
        FunctionNote::Moved { with } => format!("moved: balanced by {}", list(with)),
        FunctionNote::Inherited { from } => format!("inherited from {}", list(from)),
        FunctionNote::Grouped { group } => format!("judged in the group {group}"),
        FunctionNote::Indirect => {
            "indirect: its machine code is the same in both builds".to_string()
        }
    }
}

/// Says what a report comes to.
pub fn headline(report: &CompareReport) -> Headline {
    if report.same_program {
        return Headline {
            outcome: Outcome::SameProgram,
            sentence: vec![Segment::Text(
                "Both revisions build the same program, so nothing can differ.".to_string(),
            )],
        };
    }
    let mut worse = leading(report, Verdict::Regressed);
    if worse.is_empty() {
        // Inherited from what is excused, or own cost fell and all with what it calls rose.
        worse = regressions(report);
    }
    let better = leading(report, Verdict::Improved);
    let outcome = match report.throughput.verdict {
        _ if report.has_regression() => Outcome::Regressed,
        Verdict::Improved => Outcome::Improved,
        _ if !better.is_empty() => Outcome::Improved,
        Verdict::Equivalent => Outcome::Equivalent,
        Verdict::Undecided | Verdict::Regressed => Outcome::Undecided,
    };
    let mut sentence = metric_clause(&report.throughput);
    for metric in report.metrics.iter().filter(|m| m.verdict.is_flagged()) {
        sentence.push(Segment::Text("; ".to_string()));
        sentence.extend(metric_clause(metric));
    }
    functions_clause(&mut sentence, &worse, Verdict::Regressed, "more");
    functions_clause(&mut sentence, &better, Verdict::Improved, "less");
    if worse.is_empty() && better.is_empty() && !report.functions.is_empty() {
        sentence.push(Segment::Text(
            "; no evidence that a function changed".to_string(),
        ));
    }
    sentence.push(Segment::Text(".".to_string()));
    Headline { outcome, sentence }
}

/// Functions with the verdict that are not explained away, the most telling first: own cost before
/// inclusive, then by the size of the change in CPU time.
fn leading(report: &CompareReport, verdict: Verdict) -> Vec<&FunctionVerdict> {
    let mut found: Vec<&FunctionVerdict> = report
        .groups
        .iter()
        .chain(&report.functions)
        .filter(|f| function_verdict(f) == verdict && !is_explained_away(f))
        .collect();
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    found
}

/// Functions and groups that count as regressions, whatever they inherit.
fn regressions(report: &CompareReport) -> Vec<&FunctionVerdict> {
    let all = report.groups.iter().chain(&report.functions);
    let mut found: Vec<&FunctionVerdict> = all.filter(|f| f.is_regression()).collect();
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    found
}

fn rank(function: &FunctionVerdict) -> f64 {
    let (which, cost) = telling_cost(function);
    let change = (cost.head_ns_per_op - cost.base_ns_per_op).abs();
    let change = if change.is_finite() { change } else { 0.0 };
    // A caller's inclusive cost is never less than what its callee adds: own cost goes first.
    if which == "self" {
        1e18 + change
    } else {
        change
    }
}

fn metric_clause(metric: &MetricVerdict) -> Vec<Segment> {
    let name = Segment::Code(metric.name.clone());
    let detail = match metric.ci95_pct {
        Some(ci) => format!("95 % interval {}", number::interval(ci)),
        None => "one block only".to_string(),
    };
    let change = number::change(metric.change_pct.abs())
        .trim_start_matches('+')
        .to_string();
    let rest = match metric.verdict {
        Verdict::Regressed | Verdict::Improved => {
            let better = metric.verdict == Verdict::Improved;
            let rose = better == (metric.direction == Direction::HigherIsBetter);
            let verb = if rose { "rose" } else { "fell" };
            format!(" {verb} by {change} ({detail}, p {})", number::p(metric.p))
        }
        Verdict::Equivalent => format!(" is the same within the margin ({detail})"),
        // The interval and the permutation test are two methods, and may differ near the level.
        Verdict::Undecided if metric.ci95_pct.is_some_and(|[lo, hi]| lo > 0.0 || hi < 0.0) => {
            format!(
                ": a change is not certain ({}, {detail}, p {})",
                number::change(metric.change_pct),
                number::p(metric.p)
            )
        }
        Verdict::Undecided => format!(
            ": no evidence of a change ({}, {detail})",
            number::change(metric.change_pct)
        ),
    };
    vec![name, Segment::Text(rest)]
}

fn functions_clause(
    sentence: &mut Vec<Segment>,
    functions: &[&FunctionVerdict],
    verdict: Verdict,
    word: &str,
) {
    let Some(first) = functions.first() else {
        return;
    };
    let (which, cost) = match telling_cost(first) {
        (_, cost) if cost.verdict != verdict => ("incl", &first.inclusive),
        telling => telling,
    };
    let what = if which == "self" {
        "of its own CPU time"
    } else {
        "CPU time"
    };
    let text = match (first.status, cost.change_pct) {
        (FunctionStatus::New, _) => format!(
            " is new and takes {} % of the samples",
            number::share(cost.head_share_pct)
        ),
        (FunctionStatus::Gone, _) => format!(
            " is gone, which took {} % of the samples",
            number::share(cost.base_share_pct)
        ),
        (FunctionStatus::Both, Some(change)) => {
            let change = number::change(change.abs());
            format!(
                " takes {} {word} {what} per operation",
                change.trim_start_matches('+')
            )
        }
        (FunctionStatus::Both, None) => format!(" takes {word} {what} per operation"),
    };
    sentence.push(Segment::Text("; ".to_string()));
    sentence.push(Segment::Code(first.name.clone()));
    sentence.push(Segment::Text(text));
    // Of the others it is not said whether their own cost changed or that of what they call.
    match functions.len() - 1 {
        0 => {}
        1 => sentence.push(Segment::Text(format!(
            ", and one other function costs {word} too"
        ))),
        n => sentence.push(Segment::Text(format!(
            ", and {n} other functions cost {word} too"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::report;

    fn said(report: &CompareReport) -> (Outcome, String) {
        let Headline { outcome, sentence } = headline(report);
        let text = sentence.iter().map(|segment| match segment {
            Segment::Text(text) | Segment::Code(text) => text.as_str(),
        });
        (outcome, text.collect())
    }

    /// The one function that regressed in the sample.
    fn regressed(report: &mut CompareReport) -> &mut FunctionVerdict {
        let mut all = report.functions.iter_mut();
        all.find(|function| function.is_regression()).unwrap()
    }

    #[test]
    fn what_counts_as_a_regression_is_named() {
        let mut inherited = report();
        let name = regressed(&mut inherited).name.clone();
        assert_eq!(said(&inherited).0, Outcome::Regressed);
        let from = vec!["callee".to_owned()];
        regressed(&mut inherited)
            .notes
            .push(FunctionNote::Inherited { from });
        // The callee is excused, such as for unchanged code: then the heir is all there is to name.
        let (outcome, text) = said(&inherited);
        assert_eq!(outcome, Outcome::Regressed);
        assert!(text.contains(&format!("{name} takes")), "{text}");

        let mut below = report();
        let function = regressed(&mut below);
        function.self_cost.verdict = Verdict::Improved;
        function.inclusive.verdict = Verdict::Regressed;
        let (outcome, text) = said(&below);
        assert_eq!(outcome, Outcome::Regressed);
        assert!(text.contains("more CPU time per operation"), "{text}");
        assert!(!text.contains("no evidence that a function"), "{text}");
    }
}

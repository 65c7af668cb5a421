//! What is known of each function of the picture: its colour, and what hover says.

use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::report::headline::{note_text, telling_cost};
use crate::report::number;
use crate::verdict::{CostVerdict, FunctionNote, FunctionStatus, FunctionVerdict, Verdict};

use super::colour::Colour;
use super::tree::{DiffTree, Function, Side};

/// Level of the Poisson bounds over all functions together.
const POISSON_ALPHA: f64 = 0.05;

/// What is known of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The colour of its frames.
    pub colour: Colour,
    /// What hover says of it, a line each; names are unescaped.
    pub lines: Vec<String>,
}

impl Judged {
    fn unknown() -> Self {
        Self {
            colour: Colour::Unchanged,
            lines: Vec::new(),
        }
    }
}

/// Judges the functions of a tree by the verdicts of a comparison.
///
/// A function without a verdict is grey. Where several modules have a function of one name, the
/// kernel's goes to kernel frames, and otherwise the one with the largest share is taken.
pub fn verdicts(
    tree: &DiffTree,
    functions: &[FunctionVerdict],
    groups: &[FunctionVerdict],
) -> Vec<Judged> {
    judge(tree, functions, groups, true)
}

/// Does the same where nothing is known of operations, so that hover has no time per operation.
pub(super) fn verdicts_of_shares(tree: &DiffTree, functions: &[FunctionVerdict]) -> Vec<Judged> {
    judge(tree, functions, &[], false)
}

fn judge(
    tree: &DiffTree,
    functions: &[FunctionVerdict],
    groups: &[FunctionVerdict],
    per_operation: bool,
) -> Vec<Judged> {
    let mut by_name: HashMap<String, Vec<&FunctionVerdict>> = HashMap::new();
    for verdict in functions {
        by_name
            .entry(frame_name(verdict))
            .or_default()
            .push(verdict);
    }
    let groups: HashMap<&str, &FunctionVerdict> = groups
        .iter()
        .map(|group| (group.name.as_str(), group))
        .collect();
    tree.functions
        .iter()
        .map(|function| {
            let candidates = by_name.get(&function.name).map_or(&[][..], Vec::as_slice);
            match best(candidates, function) {
                Some(verdict) => Judged {
                    colour: colour(verdict, &groups),
                    lines: hover(verdict, per_operation),
                },
                None => Judged::unknown(),
            }
        })
        .collect()
}

/// The text that a function's frames have in folded lines, without marks.
fn frame_name(verdict: &FunctionVerdict) -> String {
    if verdict.name == crate::profile::UNKNOWN_FUNCTION {
        format!("[{}]", verdict.module.trim_matches(['[', ']']))
    } else {
        verdict.name.replace(';', ":")
    }
}

fn best<'a>(
    candidates: &[&'a FunctionVerdict],
    function: &Function,
) -> Option<&'a FunctionVerdict> {
    let share = |verdict: &FunctionVerdict| {
        verdict
            .inclusive
            .base_share_pct
            .max(verdict.inclusive.head_share_pct)
    };
    candidates.iter().copied().max_by(|a, b| {
        let fits =
            |verdict: &FunctionVerdict| verdict.module.starts_with("[kernel") == function.kernel;
        fits(a).cmp(&fits(b)).then(share(a).total_cmp(&share(b)))
    })
}

fn colour(verdict: &FunctionVerdict, groups: &HashMap<&str, &FunctionVerdict>) -> Colour {
    let group = verdict.notes.iter().find_map(|note| match note {
        FunctionNote::Grouped { group } => groups.get(group.as_str()),
        _ => None,
    });
    if let Some(group) = group {
        return own_colour(group);
    }
    own_colour(verdict)
}

fn own_colour(verdict: &FunctionVerdict) -> Colour {
    let (_, cost) = telling_cost(verdict);
    if !cost.verdict.is_flagged() {
        return Colour::Unchanged;
    }
    for note in &verdict.notes {
        match note {
            FunctionNote::Moved { .. } => return Colour::Moved,
            FunctionNote::Indirect => return Colour::Indirect,
            // The functions that it calls have the colour.
            FunctionNote::Inherited { .. } if !verdict.self_cost.verdict.is_flagged() => {
                return Colour::Unchanged;
            }
            FunctionNote::Inherited { .. } | FunctionNote::Grouped { .. } => {}
        }
    }
    let step = cost.change_pct.map_or(3, Colour::step);
    match (verdict.status, cost.verdict) {
        (FunctionStatus::New, _) => Colour::New,
        (FunctionStatus::Gone, _) => Colour::Gone,
        (FunctionStatus::Both, Verdict::Regressed) => Colour::Regressed(step),
        (FunctionStatus::Both, _) => Colour::Improved(step),
    }
}

fn hover(verdict: &FunctionVerdict, per_operation: bool) -> Vec<String> {
    let mut lines = vec![
        format!("self {}", cost_text(&verdict.self_cost, per_operation)),
        format!(
            "with callees {}",
            cost_text(&verdict.inclusive, per_operation)
        ),
    ];
    match verdict.status {
        FunctionStatus::New => lines.push("seen in head only".to_string()),
        FunctionStatus::Gone => lines.push("seen in base only".to_string()),
        FunctionStatus::Both => {}
    }
    lines.extend(verdict.notes.iter().map(note_text));
    lines
}

fn cost_text(cost: &CostVerdict, per_operation: bool) -> String {
    let mut parts = Vec::new();
    if per_operation {
        parts.push(format!(
            "{} → {} ns/op",
            number::value(cost.base_ns_per_op),
            number::value(cost.head_ns_per_op)
        ));
    }
    let interval = cost.ci95_pct.map_or(String::new(), |ci| {
        format!(" (95 %: {})", number::interval(ci))
    });
    parts.extend(
        cost.change_pct
            .map(|change| number::change(change) + &interval),
    );
    parts.extend(cost.p_adjusted.map(|p| format!("p adj. {}", number::p(p))));
    parts.push(
        match cost.verdict {
            Verdict::Regressed => "regressed",
            Verdict::Improved => "improved",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided => "no evidence",
        }
        .to_string(),
    );
    parts.join(" · ")
}

/// Shades functions whose share differs by more than sampling alone explains, for want of runs.
///
/// Counts are taken as Poisson, which holds within one run and says nothing of how runs differ:
/// this can never be called significant. The interval of the log ratio of shares is
/// ln((h + ½) / H) - ln((b + ½) / B) ± z √(1/(h + ½) + 1/(b + ½)), at .05 over all functions
/// (Bonferroni).
pub fn poisson(tree: &DiffTree) -> Vec<Judged> {
    let totals = [tree.total(Side::Base), tree.total(Side::Head)];
    let tests = tree.functions.len().max(1) as f64;
    let z = Normal::standard().inverse_cdf(1.0 - POISSON_ALPHA / (2.0 * tests));
    tree.tallies
        .iter()
        .map(|tally| {
            let sum = |counts: &[u64], side: Side| -> u64 {
                counts
                    .iter()
                    .zip(&tree.sides)
                    .filter(|&(_, &s)| s == side)
                    .map(|(n, _)| n)
                    .sum()
            };
            let bounds = |counts: &[u64]| {
                ratio_bounds(
                    [sum(counts, Side::Base), sum(counts, Side::Head)],
                    totals,
                    z,
                )
            };
            let own = bounds(&tally.own);
            let beyond = match own {
                Some([lo, _]) if lo > 0.0 => Colour::BeyondPoissonUp,
                Some([_, hi]) if hi < 0.0 => Colour::BeyondPoissonDown,
                _ => Colour::Unchanged,
            };
            let line = |what: &str, bounds: Option<[f64; 2]>| {
                bounds.map(|[lo, hi]| {
                    let pct = |log: f64| (log.exp() - 1.0) * 100.0;
                    format!(
                        "{what} {} by Poisson bounds",
                        number::interval([pct(lo), pct(hi)])
                    )
                })
            };
            Judged {
                colour: beyond,
                lines: [
                    line("self", own),
                    line("with callees", bounds(&tally.inclusive)),
                    Some("one run a side: not significant".to_string()),
                ]
                .into_iter()
                .flatten()
                .collect(),
            }
        })
        .collect()
}

/// Bounds of the log ratio of two shares; none where a side is empty or the function unseen.
fn ratio_bounds(counts: [u64; 2], totals: [u64; 2], z: f64) -> Option<[f64; 2]> {
    if totals.contains(&0) || counts == [0, 0] {
        return None;
    }
    let [b, h] = counts.map(|n| n as f64 + 0.5);
    let [base, head] = totals.map(|n| n as f64);
    let log = (h / head).ln() - (b / base).ln();
    let half = z * (1.0 / h + 1.0 / b).sqrt();
    Some([log - half, log + half])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::format::folded::{Column, parse};
    use crate::report::diff::Run;
    use crate::report::sample::report;

    fn tree(base: &'static str, head: &'static str) -> DiffTree {
        let run = |side, text: &'static str| Run {
            side,
            lines: parse(text.as_bytes(), Column::Head).unwrap(),
        };
        DiffTree::build(vec![run(Side::Base, base), run(Side::Head, head)], 0.0)
    }

    fn of(tree: &DiffTree, judged: &[Judged], name: &str) -> Colour {
        let at = tree.functions.iter().position(|f| f.name == name).unwrap();
        judged[at].colour
    }

    #[test]
    fn colour_follows_the_verdict_and_nothing_else() {
        let text =
            "s;execute;accountClientMemory 1\ns;execute;lookup 5\ns;execute;parse_header 1\n";
        let other = "s;execute;accountClientMemory 1\ns;execute;lookup 500\ns;execute;bucketOf 1\n";
        let tree = tree(text, other);
        let judged = verdicts(&tree, &report().functions, &[]);
        assert_eq!(
            of(&tree, &judged, "accountClientMemory"),
            Colour::Regressed(3)
        );
        assert_eq!(of(&tree, &judged, "parse_header"), Colour::Moved);
        assert_eq!(of(&tree, &judged, "bucketOf"), Colour::Gone);
        assert_eq!(of(&tree, &judged, "lookup"), Colour::Unchanged);
        assert_eq!(of(&tree, &judged, "execute"), Colour::Unchanged);
        assert_eq!(of(&tree, &judged, "s"), Colour::Unchanged);
    }

    #[test]
    fn poisson_bounds_widen_with_the_number_of_functions() {
        // ln 2 = .693; √(1/400.5 + 1/200.5) = .0865: eight deviations.
        let bounds = ratio_bounds([200, 400], [10_000, 10_000], 1.96).unwrap();
        assert!((bounds[0] - (400.5f64 / 200.5).ln() + 1.96 * 0.08651).abs() < 1e-3);
        assert_eq!(ratio_bounds([0, 0], [5, 5], 1.96), None);
        assert_eq!(ratio_bounds([1, 0], [5, 0], 1.96), None);
        let tree = tree("m;a 200\nm;b 9800\n", "m;a 400\nm;b 9600\n");
        let judged = poisson(&tree);
        assert_eq!(of(&tree, &judged, "a"), Colour::BeyondPoissonUp);
        assert_eq!(of(&tree, &judged, "b"), Colour::Unchanged);
    }
}

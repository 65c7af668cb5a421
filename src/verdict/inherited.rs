//! Inherited changes: an inclusive cost that changed because of functions further down.

use super::model::{CostVerdict, FunctionNote, FunctionVerdict};
use super::relations::Relations;

/// Part of a change that something must explain for the change to be its.
pub const EXPLAINED: f64 = 0.5;

/// Adds [`FunctionNote::Inherited`] where it holds. Where all the functions that a change comes
/// from are excused themselves, so is the change; if they are indirect, only where `carries` says
/// that this holds for the heir too.
pub fn note(
    functions: &mut [FunctionVerdict],
    relations: &Relations,
    carries: &dyn Fn(usize, &[&FunctionVerdict]) -> bool,
) {
    let found: Vec<(usize, Vec<usize>)> = (0..functions.len())
        .filter(|&f| functions[f].is_flagged() && functions[f].notes.is_empty())
        .filter_map(|f| Some((f, sources(f, functions, relations)?)))
        .collect();
    let excuses: Vec<Option<FunctionNote>> = found
        .iter()
        .map(|(heir, from)| {
            let from: Vec<&FunctionVerdict> = from.iter().map(|&f| &functions[f]).collect();
            excuse(&from).filter(|note| *note != FunctionNote::Indirect || carries(*heir, &from))
        })
        .collect();
    for ((function, from), excuse) in found.into_iter().zip(excuses) {
        let from = from.iter().map(|&f| functions[f].name.clone()).collect();
        let notes = &mut functions[function].notes;
        notes.push(FunctionNote::Inherited { from });
        notes.extend(excuse);
    }
}

/// The flagged descendants with a self change of their own that explain a function's inclusive
/// change, the largest first.
fn sources(
    function: usize,
    functions: &[FunctionVerdict],
    relations: &Relations,
) -> Option<Vec<usize>> {
    let change = &functions[function].inclusive;
    let own = &functions[function].self_cost;
    if !change.verdict.is_flagged() || own.verdict.is_flagged() {
        return None;
    }
    let alike = |cost: &CostVerdict| cost.change_points * change.change_points > 0.0;
    let mut from: Vec<usize> = relations
        .descendants(function)
        .into_iter()
        .filter(|&d| functions[d].self_cost.verdict.is_flagged() && alike(&functions[d].self_cost))
        .collect();
    let explained: f64 = from
        .iter()
        .map(|&d| functions[d].self_cost.change_points.abs())
        .sum();
    if from.is_empty() || explained < EXPLAINED * change.change_points.abs() {
        return None;
    }
    from.sort_by(|&a, &b| {
        let size = |f: usize| functions[f].self_cost.change_points.abs();
        size(b).total_cmp(&size(a)).then(a.cmp(&b))
    });
    Some(from)
}

fn excuse(from: &[&FunctionVerdict]) -> Option<FunctionNote> {
    let mut excuses = from.iter().map(|function| {
        function
            .notes
            .iter()
            .find(|note| matches!(note, FunctionNote::Moved { .. } | FunctionNote::Indirect))
    });
    let first = excuses.next()??;
    let all: Option<Vec<&FunctionNote>> = excuses.collect();
    // Of mixed excuses the weaker one counts.
    match all?.contains(&&FunctionNote::Indirect) {
        true => Some(FunctionNote::Indirect),
        false => Some(first.clone()),
    }
}

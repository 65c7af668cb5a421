//! Which functions changed at the culprit, and whether its diff touches them.

use std::collections::BTreeMap;

use crate::profile::{FunctionId, Profile, canonical_name};
use crate::repo::{FileChange, Hunk};
use crate::report::{Explanation, Touched};
use crate::verdict::{FunctionNote, FunctionStatus, FunctionVerdict};

/// Functions that are explained at most.
const MOST: usize = 20;

/// Where a function was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    file: String,
    lines: [u32; 2],
}

/// Ranks the flagged functions: the one that was looked for, those whose lines the diff touches, then
/// by the size of their change.
pub fn explain(
    functions: &[FunctionVerdict],
    parent: &[&Profile],
    culprit: &[&Profile],
    changes: &[FileChange],
    target: Option<&FunctionId>,
) -> Vec<Explanation> {
    let [before, after] = [parent, culprit].map(places);
    let mut explained: Vec<Explanation> = functions
        .iter()
        .filter(|function| function.is_flagged() && !is_inherited(function))
        .map(|function| {
            let is_gone = function.status == FunctionStatus::Gone;
            let places = if is_gone { &before } else { &after };
            let place = places.get(&(function.name.clone(), function.module.clone()));
            let cost = match function.self_cost.verdict.is_flagged() {
                true => &function.self_cost,
                false => &function.inclusive,
            };
            let (touched, file) = match place {
                Some(place) => touched(place, changes, is_gone),
                None => (Touched::Unknown, None),
            };
            Explanation {
                function: function.name.clone(),
                module: function.module.clone(),
                verdict: cost.verdict,
                change_points: cost.change_points,
                change_pct: cost.change_pct,
                touched,
                file: file.or_else(|| place.map(|place| in_tree(&place.file).to_owned())),
                lines: place.map(|place| place.lines),
            }
        })
        .collect();
    explained.sort_by(|a, b| {
        let size = |e: &Explanation| e.change_points.abs();
        let is_other = |e: &Explanation| {
            target.is_none_or(|id| id.name != e.function || id.module != e.module)
        };
        (is_other(a).cmp(&is_other(b)))
            .then(a.touched.cmp(&b.touched))
            .then(size(b).total_cmp(&size(a)))
            .then_with(|| a.function.cmp(&b.function))
    });
    explained.truncate(MOST);
    explained
}

/// Whether the change is that of functions which it calls, and which are listed themselves.
fn is_inherited(function: &FunctionVerdict) -> bool {
    let notes = &mut function.notes.iter();
    notes.any(|note| matches!(note, FunctionNote::Inherited { .. }))
}

/// The file and the sampled lines of every function that has them, by name and module.
fn places(profiles: &[&Profile]) -> BTreeMap<(String, String), Place> {
    let mut places: BTreeMap<(String, String), Place> = BTreeMap::new();
    for profile in profiles {
        for frame in &profile.frames {
            let Some(module) = profile.modules.get(frame.module as usize) else {
                continue;
            };
            for symbol in &frame.symbols {
                let (Some(file), Some(line)) = (&symbol.file, symbol.line) else {
                    continue;
                };
                let name = canonical_name(&symbol.name).into_owned();
                let key = (name, module.file_name().to_owned());
                let place = places.entry(key).or_insert_with(|| Place {
                    file: file.clone(),
                    lines: [line, line],
                });
                if place.file == *file && line > 0 {
                    place.lines = [place.lines[0].min(line), place.lines[1].max(line)];
                }
            }
        }
    }
    places
}

/// Whether a diff touches a place, and the place's file as the tree names it.
fn touched(place: &Place, changes: &[FileChange], is_gone: bool) -> (Touched, Option<String>) {
    let path = |change: &FileChange| match is_gone {
        true => change.old_path.clone(),
        false => change.new_path.clone(),
    };
    // Of several changed files whose names fit, the one with the longest name is meant.
    let change = changes
        .iter()
        .filter_map(|change| Some((path(change)?, change)))
        .filter(|(path, _)| is_file(&place.file, path))
        .max_by_key(|(path, _)| path.len());
    let Some((path, change)) = change else {
        return (Touched::No, None);
    };
    let [first, last] = place.lines;
    let touches = |hunk: &Hunk| match is_gone {
        true => touches_old(hunk, first, last),
        false => hunk.touches_new(first, last),
    };
    match change.hunks.iter().any(touches) {
        true => (Touched::Lines, Some(path)),
        false => (Touched::File, Some(path)),
    }
}

/// A file's name as the tree has it, where it was built from the tree.
fn in_tree(named: &str) -> &str {
    match named.rsplit_once("/build/source/") {
        Some((_, path)) => path,
        None => named,
    }
}

/// Whether debug information's name of a file, absolute or relative, means a path of the tree.
fn is_file(named: &str, path: &str) -> bool {
    let named = named.trim_start_matches("./");
    match named.strip_suffix(path) {
        Some("") => true,
        Some(before) => before.ends_with('/'),
        // A name that is relative to a directory below the root.
        None => !named.starts_with('/') && path.ends_with(&format!("/{named}")),
    }
}

fn touches_old(hunk: &Hunk, first: u32, last: u32) -> bool {
    let end = match hunk.old_lines {
        0 => hunk.old_start.saturating_add(1),
        lines => hunk.old_start.saturating_add(lines - 1),
    };
    hunk.old_start <= last && first <= end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::ChangeKind;

    fn change(path: &str, new_start: u32, new_lines: u32) -> FileChange {
        FileChange {
            kind: ChangeKind::Modified,
            old_path: Some(path.to_owned()),
            new_path: Some(path.to_owned()),
            hunks: vec![Hunk {
                old_start: 5,
                old_lines: 2,
                new_start,
                new_lines,
            }],
        }
    }

    #[test]
    fn a_place_is_looked_up_in_the_diff() {
        let place = |file: &str| Place {
            file: file.to_owned(),
            lines: [10, 20],
        };
        let changes = [change("src/db.c", 15, 3), change("db.c", 100, 1)];
        for (file, is_gone, expected) in [
            ("/store/build/source/src/db.c", false, Touched::Lines),
            ("src/db.c", false, Touched::Lines),
            ("db.c", false, Touched::Lines),
            ("/store/build/source/db.c", false, Touched::File),
            ("/usr/include/adb.c", false, Touched::No),
            ("src/db.c", true, Touched::File),
        ] {
            let (touched, _) = touched(&place(file), &changes, is_gone);
            assert_eq!(touched, expected, "{file}");
        }
    }
}

//! Functions of two levels compared, as rows, and the pictures of what was sampled.

use unicode_width::UnicodeWidthStr;

use crate::report::diff;
use crate::report::escape::plain;
use crate::report::flamegraph;
use crate::report::headline::{change_text, function_verdict, telling_cost};
use crate::report::number;
use crate::report::write::{WriteError, difference, folded};
use crate::verdict::FunctionVerdict;

use super::model::{MatrixReport, Results};
use super::results::word;
use super::text::cell_name;

/// Unflagged functions that are listed after the flagged ones.
const UNFLAGGED_ROWS: usize = 5;

/// Stacks of a cell over all its data points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellStacks {
    /// Number of the cell.
    pub cell: usize,
    /// Its levels.
    pub name: String,
    /// Folded lines.
    pub lines: Vec<String>,
}

/// Head of a table of functions.
pub const HEAD: [&str; 7] = [
    "verdict",
    "cost",
    "base",
    "head",
    "change",
    "p adj.",
    "function (share of samples, %)",
];

/// What is compared.
pub fn caption(results: &Results) -> String {
    let place = match results.place.is_empty() {
        true => String::new(),
        false => format!(", {}", results.place),
    };
    format!(
        "Functions: {axis}={head} compared with {axis}={base}{place}",
        axis = results.axis,
        head = results.head,
        base = results.base,
    )
}

/// The rows that are shown, and how many are not.
pub fn rows(results: &Results) -> (Vec<[String; 7]>, usize) {
    let mut left = UNFLAGGED_ROWS;
    let all = results.groups.iter().chain(&results.functions);
    let rows: Vec<[String; 7]> = all
        .filter(|function| {
            let flagged = function_verdict(function).is_flagged();
            left -= usize::from(!flagged && left > 0);
            flagged || left > 0
        })
        .map(row)
        .collect();
    let hidden = results.groups.len() + results.functions.len() - rows.len();
    (rows, hidden)
}

fn row(function: &FunctionVerdict) -> [String; 7] {
    let (which, cost) = telling_cost(function);
    [
        word(cost.verdict).to_owned(),
        which.to_owned(),
        number::share(cost.base_share_pct),
        number::share(cost.head_share_pct),
        change_text(function, cost),
        cost.p_adjusted.map_or("–".to_owned(), number::p),
        plain(&function.name).into_owned(),
    ]
}

/// The table as lines of text.
pub fn text(results: &Results) -> Vec<String> {
    let (rows, hidden) = rows(results);
    let rows: Vec<[String; 7]> = [HEAD.map(str::to_owned)].into_iter().chain(rows).collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].width())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    let pad = " ".repeat(width - cell.width());
                    match column {
                        0 | 1 | 6 => format!("{cell}{pad}"),
                        _ => format!("{pad}{cell}"),
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect();
    if hidden > 0 {
        lines.push(format!("{hidden} more without evidence of a change"));
    }
    lines
}

/// Files with what was sampled: stacks and a flame graph of each cell, a flame graph diff of each
/// two that are compared.
pub fn files(
    report: &MatrixReport,
    stacks: &[CellStacks],
) -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    let mut files = Vec::new();
    for cell in stacks {
        let name = file_name(&cell.name);
        let title = report
            .cells
            .get(cell.cell)
            .map_or(cell.name.clone(), |of| cell_name(report, &of.levels));
        let svg = flamegraph(&title, None, &cell.lines)?;
        files.push((format!("{name}.folded"), folded(&cell.lines)));
        files.push((format!("{name}.svg"), svg));
    }
    for results in &report.results {
        let of = |number: usize| stacks.iter().find(|cell| cell.cell == number);
        let (Some(base), Some(head)) = (of(results.cells[0]), of(results.cells[1])) else {
            continue;
        };
        let (lines, others) = (folded(&base.lines), folded(&head.lines));
        let (tree, judged) = difference(&results.functions, &results.groups, &lines, &others)?;
        let title = caption(results);
        let options = diff::Options {
            title: &title,
            subtitle: "",
            labels: [&results.base, &results.head],
        };
        let names = [&base.name, &head.name].map(|name| file_name(name));
        let svg = diff::render(&tree, &judged, &options);
        files.push((format!("diff {}.svg", names.join(" to ")), svg.into_bytes()));
    }
    Ok(files)
}

/// A cell's name as that of a file.
fn file_name(name: &str) -> String {
    let safe = |c: char| match c {
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    let name: String = name.chars().map(safe).collect();
    // A name that begins with a dot would be hidden, or be a directory.
    match name.starts_with('.') {
        true => format!("_{name}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_in_their_directory() {
        for (name, file) in [
            ("never, R:R", "never, R_R"),
            ("../x", "_.._x"),
            ("a\nb", "a_b"),
        ] {
            assert_eq!(file_name(name), file);
        }
    }
}

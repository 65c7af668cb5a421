//! Two levels compared in every metric at once: means, ratio, interval and verdict.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::report::escape::plain;
use crate::report::number;
use crate::verdict::{MetricVerdict, Verdict};

use super::model::Results;

/// The ratio of head to base in per cent, from the mean paired log ratio.
fn ratio(verdict: &MetricVerdict) -> String {
    if has_no_ratio(verdict) {
        return "–".to_owned();
    }
    format!("{:.2}", 100.0 + verdict.change_pct)
}

/// Nothing is a multiple of nothing.
fn has_no_ratio(verdict: &MetricVerdict) -> bool {
    verdict.base_mean == 0.0 || verdict.head_mean == 0.0
}

fn interval(verdict: &MetricVerdict) -> String {
    match verdict.ci95_pct {
        Some([lo, hi]) if !has_no_ratio(verdict) => {
            format!("[{:.2}, {:.2}]", 100.0 + lo, 100.0 + hi)
        }
        _ => "–".to_owned(),
    }
}

/// The verdict as a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "regressed",
        Verdict::Improved => "improved",
        Verdict::Equivalent => "equivalent",
        Verdict::Undecided => "undecided",
    }
}

/// Head of the table.
pub fn head(results: &Results) -> [String; 6] {
    [
        match results.place.is_empty() {
            true => "metric".to_owned(),
            false => results.place.clone(),
        },
        format!("{}={}", results.axis, results.base),
        format!("{}={}", results.axis, results.head),
        "ratio %".to_owned(),
        "95 % interval".to_owned(),
        "verdict".to_owned(),
    ]
}

/// One row of the table.
fn row(verdict: &MetricVerdict) -> [String; 6] {
    let name = match number::unit_beside(&verdict.unit) {
        "" => verdict.name.clone(),
        unit => format!("{} ({unit})", verdict.name),
    };
    [
        name,
        number::quantity(verdict.base_mean, &verdict.unit),
        number::quantity(verdict.head_mean, &verdict.unit),
        ratio(verdict),
        interval(verdict),
        word(verdict.verdict).to_owned(),
    ]
}

/// All rows: the metrics that were judged, then those that a side lacks.
pub fn rows(results: &Results) -> Vec<[String; 6]> {
    let absent = results.absent.iter().map(|(name, reason)| {
        let none = || "–".to_owned();
        [name.clone(), none(), none(), none(), none(), reason.clone()]
    });
    results.metrics.iter().map(row).chain(absent).collect()
}

/// The table as text.
pub fn text(out: &mut String, results: &Results) {
    let mut rows = vec![head(results)];
    rows.extend(self::rows(results));
    let shown = |cell: &String| plain(cell).to_string();
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            let cells = rows.iter().map(|row| shown(&row[column]).width());
            cells.max().unwrap_or(0)
        })
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = shown(cell);
            let pad = " ".repeat(width - cell.width());
            let _ = match column {
                0 | 5 => write!(line, "{cell}{pad}  "),
                _ => write!(line, "{pad}{cell}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for warning in &results.warnings {
        let _ = writeln!(out, "{}", plain(warning));
    }
}

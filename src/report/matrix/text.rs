//! The tables as text and as Markdown: "Mean [95 % CI]", baseline / other.

use std::fmt::Write as _;

use crate::report::escape::plain;

use super::model::{MatrixReport, MetricReport, PairTable, Results, TableCell};
use super::scale::Scale;
use super::{functions, results};

/// The tables as text, each with a sentence of per cents below.
pub fn render(report: &MatrixReport) -> String {
    let mut out = String::new();
    if is_one_table(report) {
        for results in &report.results {
            results::text(&mut out, results);
            out.push('\n');
        }
        of_functions(&mut out, report);
        notes(&mut out, report);
        return out;
    }
    for (number, table) in report.tables.iter().enumerate() {
        let scale = Scale::of(table);
        let mut rows = vec![vec![corner(report, table, &scale)]];
        rows[0].extend(table.columns.iter().map(|column| plain(column).to_string()));
        if table.columns == [""] {
            rows[0][1] = format!("{} / {}", plain(&table.base), plain(&table.head));
        }
        let mut grid = vec![rows.remove(0).into_iter().map(|head| vec![head]).collect()];
        for (row, cells) in table.rows.iter().zip(&table.cells) {
            let mut lines = vec![vec![plain(row).to_string()]];
            lines.extend(cells.iter().map(|cell| lines_of(cell, &scale)));
            grid.push(lines);
        }
        boxed(&mut out, &grid);
        let _ = writeln!(out, "Table {}. {}\n", number + 1, caption(table));
        sentence(&mut out, table);
        out.push('\n');
    }
    of_functions(&mut out, report);
    notes(&mut out, report);
    out
}

/// The functions of every two levels, where they were sampled.
fn of_functions(out: &mut String, report: &MatrixReport) {
    let sampled = |results: &&Results| !results.functions.is_empty();
    for results in report.results.iter().filter(sampled) {
        let _ = writeln!(out, "{}", plain(&functions::caption(results)));
        for line in functions::text(results) {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
}

/// Whether one table of all metrics says it all: there is one axis and there are several metrics.
pub fn is_one_table(report: &MatrixReport) -> bool {
    report.axes.len() == 1 && report.metrics.len() > 1 && !report.results.is_empty()
}

/// The same for a web page or a pull request.
pub fn markdown(report: &MatrixReport) -> String {
    let mut out = String::new();
    if is_one_table(report) {
        for results in &report.results {
            let mut line = |cells: &[String; 6]| {
                let cells: Vec<String> = cells.iter().map(|cell| md(cell)).collect();
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            };
            line(&results::head(results));
            line(&["---", "--:", "--:", "--:", "--:", "---"].map(str::to_owned));
            results::rows(results).iter().for_each(line);
            out.push('\n');
        }
    }
    let tables = match is_one_table(report) {
        true => &[],
        false => report.tables.as_slice(),
    };
    for (number, table) in tables.iter().enumerate() {
        let scale = Scale::of(table);
        let _ = writeln!(out, "**Table {}.** {}\n", number + 1, md(&caption(table)));
        let _ = write!(out, "| {} |", md(&corner(report, table, &scale)));
        for column in &table.columns {
            let head = match column.is_empty() {
                true => format!("{} / {}", table.base, table.head),
                false => column.clone(),
            };
            let _ = write!(out, " {} |", md(&head));
        }
        let _ = writeln!(out, "\n| --- |{}", " --- |".repeat(table.columns.len()));
        for (row, cells) in table.rows.iter().zip(&table.cells) {
            let _ = write!(out, "| {} |", md(row));
            for cell in cells {
                let _ = write!(out, " {} |", md(&lines_of(cell, &scale).join(" ")));
            }
            out.push('\n');
        }
        out.push('\n');
        let mut below = String::new();
        sentence(&mut below, table);
        out.push_str(&md_lines(&below));
        out.push('\n');
    }
    let sampled = |results: &&Results| !results.functions.is_empty();
    for results in report.results.iter().filter(sampled) {
        let _ = writeln!(out, "**{}**\n", md(&functions::caption(results)));
        let mut line = |cells: &[String; 7]| {
            let cells: Vec<String> = cells.iter().map(|cell| md(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        };
        line(&functions::HEAD.map(str::to_owned));
        line(&["---", "---", "--:", "--:", "--:", "--:", "---"].map(str::to_owned));
        functions::rows(results).0.iter().for_each(line);
        out.push('\n');
    }
    let mut below = String::new();
    notes(&mut below, report);
    out.push_str(&md_lines(&below));
    out
}

fn md(text: &str) -> String {
    let text = plain(text).to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' | '@' | '#'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Each line as an item of a list, a line that is indented deeper as one below it.
fn md_lines(text: &str) -> String {
    text.lines()
        .map(|line| format!("- {}\n", md(line.trim_start())))
        .collect()
}

fn corner(report: &MatrixReport, table: &PairTable, scale: &Scale) -> String {
    let unit = report
        .metrics
        .iter()
        .find(|metric| metric.name == table.metric);
    format!(
        "Mean {}{} [95% CI]",
        scale.word,
        plain(unit.map_or("", unit_or_name))
    )
}

fn unit_or_name(metric: &MetricReport) -> &str {
    match metric.unit.is_empty() {
        true => &metric.name,
        false => &metric.unit,
    }
}

fn caption(table: &PairTable) -> String {
    let (axis, base, head) = (&table.axis, &table.base, &table.head);
    format!(
        "{}: {axis}={head} compared with {axis}={base}",
        table.metric
    )
}

/// What a cell holds, line by line.
pub fn lines_of(cell: &TableCell, scale: &Scale) -> Vec<String> {
    match cell {
        TableCell::Compared(compared) => vec![
            format!(
                "{} / {}",
                scale.write(compared.base_mean),
                scale.write(compared.head_mean)
            ),
            format!(
                "[{}, {}]",
                scale.write(compared.ci95[0]),
                scale.write(compared.ci95[1])
            ),
        ],
        TableCell::Constant {
            base_mean,
            head_mean,
        } => vec![format!(
            "{} / {}",
            scale.write(*base_mean),
            scale.write(*head_mean)
        )],
        TableCell::Failed(_) => vec!["failed".to_owned()],
        TableCell::Absent(_) => vec!["absent".to_owned()],
        TableCell::LeftOut => vec!["–".to_owned()],
    }
}

/// Each combination's change in per cent, or `no significance`.
pub fn change(cell: &TableCell) -> String {
    match cell {
        TableCell::Compared(compared) => match compared.change_pct {
            Some([lo, hi]) => format!("[{lo:.2}, {hi:.2}]%"),
            None => "no significance".to_owned(),
        },
        TableCell::Constant {
            base_mean,
            head_mean,
        } if base_mean == head_mean => "all values are equal".to_owned(),
        TableCell::Constant { .. } => "every value of a side is the same: no test".to_owned(),
        // The reason is told once, with the cell.
        TableCell::Failed(_) => "failed".to_owned(),
        TableCell::Absent(reason) => format!("absent: {reason}"),
        TableCell::LeftOut => "left out".to_owned(),
    }
}

fn sentence(out: &mut String, table: &PairTable) {
    for (row, cells) in table.rows.iter().zip(&table.cells) {
        for (column, cell) in table.columns.iter().zip(cells) {
            if *cell == TableCell::LeftOut {
                continue;
            }
            let mut place = Vec::new();
            if !column.is_empty() {
                place.push(column.clone());
            }
            if !table.row_axis.is_empty() {
                place.push(format!("{}={row}", table.row_axis));
            }
            let place = match place.is_empty() {
                true => table.metric.clone(),
                false => place.join(", "),
            };
            let p = match cell {
                TableCell::Compared(compared) => format!("  (p = {})", p_text(compared.p)),
                _ => String::new(),
            };
            let _ = writeln!(out, "  {}: {}{p}", plain(&place), plain(&change(cell)));
        }
    }
}

fn p_text(p: f64) -> String {
    match p {
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.1e}"),
    }
}

/// Failed cells with their reasons, and warnings.
fn notes(out: &mut String, report: &MatrixReport) {
    for cell in &report.cells {
        let Some(failure) = &cell.failure else {
            continue;
        };
        let name = cell_name(report, &cell.levels);
        let done = cell.values.values().next().map_or(0, Vec::len);
        let after = match done {
            0 => String::new(),
            1 => " after one data point".to_owned(),
            done => format!(" after {done} data points"),
        };
        let _ = writeln!(out, "failed: {}{after}:", plain(&name));
        for line in failure.lines() {
            let _ = writeln!(out, "  {}", plain(line));
        }
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "warning: {}", plain(warning));
    }
}

/// A cell's axes and levels.
pub fn cell_name(report: &MatrixReport, levels: &[String]) -> String {
    let pairs = report.axes.iter().zip(levels);
    let named = pairs.map(|(axis, level)| format!("{}={level}", axis.name));
    named.collect::<Vec<_>>().join(", ")
}

/// A grid of cells of several lines, in a frame.
fn boxed(out: &mut String, grid: &[Vec<Vec<String>>]) {
    use unicode_width::UnicodeWidthStr;

    let columns = grid.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let lines = grid.iter().filter_map(|row| row.get(column)).flatten();
        lines.map(|line| line.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let rule: String = widths
        .iter()
        .map(|width| format!("+{}", "-".repeat(width + 2)))
        .chain(["+\n".to_owned()])
        .collect();
    out.push_str(&rule);
    for row in grid {
        let height = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            for (cell, width) in row.iter().zip(&widths) {
                let text = cell.get(line).map_or("", String::as_str);
                let pad = " ".repeat(width - text.width());
                let _ = write!(out, "| {text}{pad} ");
            }
            out.push_str("|\n");
        }
        out.push_str(&rule);
    }
}

//! The tables as one page that needs nothing else, with every data point drawn.

use std::fmt::Write as _;

use crate::report::escape::xml;
use crate::report::html::STYLE;

use super::model::{CellReport, MatrixReport, PairTable, Results, TableCell};
use super::scale::Scale;
use super::text::{cell_name, change, is_one_table, lines_of};
use super::{functions, results};

/// Renders the page.
pub fn render(report: &MatrixReport) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>perfblame matrix</title><style>{STYLE}{OWN_STYLE}</style>\n<main>\n<h1>{}</h1>\n",
        xml(&title(report))
    );
    let _ = writeln!(
        out,
        "<p>{} cells, {} data points each, seed {}; {}. Means with the 95 % interval of their difference (Welch).</p>",
        report.cells.len(),
        report.points,
        report.seed,
        xml(&report.created)
    );
    for warning in &report.warnings {
        let _ = writeln!(out, "<p class=\"warning\">{}</p>", xml(warning));
    }
    // As in the text: one table of all metrics where it says it all, else a table for each.
    if is_one_table(report) {
        for results in &report.results {
            results_table(&mut out, results);
        }
    } else {
        for (number, table) in report.tables.iter().enumerate() {
            one_table(&mut out, number + 1, table, report);
        }
    }
    let sampled = |results: &&Results| !results.functions.is_empty();
    for results in report.results.iter().filter(sampled) {
        function_table(&mut out, results);
    }
    for metric in &report.metrics {
        let _ = writeln!(
            out,
            "<h2>Data points: {}{}</h2>",
            xml(&metric.name),
            xml(&match metric.unit.is_empty() {
                true => String::new(),
                false => format!(" ({})", metric.unit),
            })
        );
        points(&mut out, &metric.name, report);
    }
    let _ = writeln!(
        out,
        "<h2>Plan and machine</h2><pre>{}</pre><pre>{}</pre></main></html>",
        xml(&serde_json::to_string_pretty(&report.plan).unwrap_or_default()),
        xml(&serde_json::to_string_pretty(&report.machine).unwrap_or_default())
    );
    out
}

const OWN_STYLE: &str = "
main { max-width: 70rem; margin: auto; padding: 1rem }
.matrix { border-collapse: collapse; margin: .5rem 0 1rem; width: auto }
.matrix th, .matrix td { border: 1px solid currentColor !important; padding: .3rem .6rem; text-align: left; vertical-align: top; width: auto }
.scroll { overflow-x: auto }
.strip { width: 100%; height: auto; max-width: 46rem }
.strip circle { fill: currentColor; fill-opacity: .45 }
.strip line { stroke: currentColor }
.strip text { fill: currentColor; font-size: 11px }
pre { overflow-x: auto }
";

fn title(report: &MatrixReport) -> String {
    let axes: Vec<&str> = report.axes.iter().map(|axis| axis.name.as_str()).collect();
    axes.join(" × ")
}

fn one_table(out: &mut String, number: usize, table: &PairTable, report: &MatrixReport) {
    let scale = Scale::of(table);
    let unit = report
        .metrics
        .iter()
        .find(|metric| metric.name == table.metric);
    let _ = writeln!(
        out,
        "<h2>Table {number}. {}: {} compared with {}</h2><div class=\"scroll\"><table class=\"matrix\"><tr><th>Mean {}{} [95 % CI]</th>",
        xml(&table.metric),
        xml(&format!("{}={}", table.axis, table.head)),
        xml(&format!("{}={}", table.axis, table.base)),
        scale.word,
        xml(unit.map_or("", |metric| &metric.unit))
    );
    for column in &table.columns {
        let column = match column.is_empty() {
            true => format!("{} / {}", table.base, table.head),
            false => column.clone(),
        };
        let _ = write!(out, "<th>{}</th>", xml(&column));
    }
    out.push_str("</tr>\n");
    for (row, cells) in table.rows.iter().zip(&table.cells) {
        let _ = write!(out, "<tr><th>{}</th>", xml(row));
        for cell in cells {
            let lines: Vec<String> = lines_of(cell, &scale)
                .iter()
                .map(|line| xml(line).to_string())
                .collect();
            let verdict = match cell {
                TableCell::LeftOut => String::new(),
                cell => format!("<br><b>{}</b>", xml(&change(cell))),
            };
            let _ = write!(out, "<td>{}{verdict}</td>", lines.join("<br>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn results_table(out: &mut String, results: &Results) {
    out.push_str("<h2>Verdicts</h2><div class=\"scroll\"><table class=\"matrix\"><tr>");
    for cell in results::head(results) {
        let _ = write!(out, "<th>{}</th>", xml(&cell));
    }
    out.push_str("</tr>\n");
    for row in results::rows(results) {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", xml(&cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

fn function_table(out: &mut String, results: &Results) {
    let (rows, hidden) = functions::rows(results);
    let caption = functions::caption(results);
    let _ = write!(
        out,
        "<h2>{}</h2><div class=\"scroll\"><table class=\"matrix\"><tr>",
        xml(&caption)
    );
    for cell in functions::HEAD {
        let _ = write!(out, "<th>{}</th>", xml(cell));
    }
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", xml(&cell));
        }
        out.push_str("</tr>\n");
    }
    let _ = writeln!(
        out,
        "</table></div><p>{hidden} more without evidence of a change.</p>"
    );
}

/// Every data point of every cell on one scale, with a stroke at the mean.
fn points(out: &mut String, metric: &str, report: &MatrixReport) {
    let values = |cell: &CellReport| cell.values.get(metric).cloned().unwrap_or_default();
    let all: Vec<f64> = report.cells.iter().flat_map(values).collect();
    let Some((low, high)) = range(&all) else {
        out.push_str("<p>There are none.</p>\n");
        return;
    };
    const LEFT: f64 = 260.0;
    const WIDTH: f64 = 700.0;
    const STEP: f64 = 22.0;
    let x = |value: f64| {
        let along = match high > low {
            true => (value - low) / (high - low),
            false => 0.5,
        };
        LEFT + 10.0 + along * (WIDTH - LEFT - 30.0)
    };
    let height = STEP * report.cells.len() as f64 + 24.0;
    let _ = writeln!(
        out,
        "<svg class=\"strip\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"data points of {}\">",
        xml(metric)
    );
    for (row, cell) in report.cells.iter().enumerate() {
        let y = STEP * row as f64 + 14.0;
        let name = cell_name(report, &cell.levels);
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            xml(&name)
        );
        let points = values(cell);
        for value in &points {
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{value}</title></circle>",
                x(*value)
            );
        }
        if !points.is_empty() {
            let mean = x(points.iter().sum::<f64>() / points.len() as f64);
            let _ = write!(
                out,
                "<line x1=\"{mean:.1}\" x2=\"{mean:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"2\"/>",
                y - 8.0,
                y + 8.0
            );
        }
        out.push('\n');
    }
    let bottom = height - 4.0;
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{bottom:.1}\">{low}</text><text x=\"{:.1}\" y=\"{bottom:.1}\" text-anchor=\"end\">{high}</text></svg>",
        x(low),
        x(high)
    );
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

//! Writes a search's report and everything beside it.

use std::path::{Path, PathBuf};

use super::model::BisectReport;
use super::{html, markdown, picture};
use crate::report::{Profiles, WriteError, html as compare_html, write_all as write_compare};
use crate::report::{write_atomically, xml};

/// Writes `report.html`, `report.json`, `report.md` and `posterior.svg` into `dir`, which is made if
/// it is not there; and, where culprit and parent were compared, the folded stacks and flame graphs
/// that a comparison writes.
///
/// Each file appears whole or not at all. Returns the paths.
pub fn write_all(
    dir: &Path,
    report: &BisectReport,
    profiles: &Profiles,
) -> Result<Vec<PathBuf>, WriteError> {
    std::fs::create_dir_all(dir).map_err(|source| WriteError::Io {
        path: dir.to_path_buf(),
        source,
    })?;
    let mut written = Vec::new();
    let comparison = match &report.comparison {
        Some(comparison) => {
            written = write_compare(dir, comparison, profiles)?;
            let path = dir.join("report.html");
            Some(std::fs::read_to_string(&path).map_err(|source| WriteError::Io { path, source })?)
        }
        None => None,
    };
    let drawn = report.lines.iter().map(|line| picture::svg(line, true));
    let files = [
        ("report.html", page(report, comparison.as_deref())),
        ("report.json", json(report)),
        ("report.md", markdown::render(report)),
        (
            "posterior.svg",
            drawn.into_iter().next().unwrap_or_default(),
        ),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        write_atomically(&path, text.as_bytes())?;
        if !written.contains(&path) {
            written.push(path);
        }
    }
    Ok(written)
}

/// Renders the report as indented JSON with a final newline.
pub fn json(report: &BisectReport) -> String {
    let mut text =
        serde_json::to_string_pretty(report).expect("the report has no keys that are not strings");
    text.push('\n');
    text
}

/// Renders the page: around the page of the comparison of culprit and parent, or, without one, on a
/// page of its own.
pub fn page(report: &BisectReport, comparison: Option<&str>) -> String {
    let header = html::header(report);
    let sections = html::sections(report);
    if let Some(page) = comparison
        && let Some((before, rest)) = page.split_once("<h1>")
        && let Some((_, rest)) = rest.split_once("</header>")
        && let Some((between, rest)) = rest.split_once("<main>")
    {
        return format!("{before}{header}</header>{between}<main>{sections}{rest}");
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{}: {}</title><style>{}</style></head>\
         <body><header><div class=\"top\"><span class=\"brand\">perfblame</span></div>{header}</header>\
         <main>{sections}</main><footer class=\"dim small\">perfblame {} · {} · experiment {} · seed {}</footer>\
         </body></html>\n",
        report.outcome.word(),
        xml(super::sentence::short(&report.bad.commit)),
        compare_html::STYLE,
        xml(&report.tool_version),
        xml(&report.created),
        xml(&report.experiment),
        report.seed
    )
}

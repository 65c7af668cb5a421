//! The files of a matrix.

use std::path::Path;

use crate::report::write::{WriteError, write_atomically};

use super::functions::{self, CellStacks};
use super::model::MatrixReport;
use super::{csv, html, text};

/// Writes `raw.csv`, the tables as text, Markdown, CSV and HTML, and `matrix.json` into a directory,
/// and the stacks of the cells that were sampled with their pictures.
pub fn write_matrix(
    dir: &Path,
    report: &MatrixReport,
    stacks: &[CellStacks],
) -> Result<(), WriteError> {
    let failed = |source| WriteError::Io {
        path: dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut json = serde_json::to_vec_pretty(report).map_err(|error| failed(error.into()))?;
    json.push(b'\n');
    let files = [
        ("raw.csv", csv::raw(report).map_err(failed)?),
        ("tables.csv", csv::comparisons(report).map_err(failed)?),
        ("tables.txt", text::render(report).into_bytes()),
        ("tables.md", text::markdown(report).into_bytes()),
        ("matrix.html", html::render(report).into_bytes()),
        ("matrix.json", json),
    ];
    for (name, bytes) in files {
        write_atomically(&dir.join(name), &bytes)?;
    }
    for (name, bytes) in functions::files(report, stacks)? {
        write_atomically(&dir.join(name), &bytes)?;
    }
    Ok(())
}

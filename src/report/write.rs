//! Writes a report and everything beside it into a directory.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::profile::format::folded::{Column, FoldedError, parse};
use crate::verdict::FunctionVerdict;

use super::diff::{self, DiffTree, Judged, Run};
use super::{CompareReport, FlameGraphError, flamegraph, headline, html, json, markdown, text};

/// Share below which a frame is left out of the picture: a tenth of a pixel.
const MIN_SHARE: f64 = 1e-4;

/// The stacks of both arms, over all trials, as `profile::merged_folded_lines` gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profiles {
    /// Folded lines of the base arm.
    pub base: Vec<String>,
    /// Folded lines of the head arm.
    pub head: Vec<String>,
}

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file system refused.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A picture could not be drawn.
    #[error(transparent)]
    FlameGraph(#[from] FlameGraphError),
    /// The lines of an arm are not folded stacks.
    #[error("the folded stacks of {arm}")]
    Folded {
        /// The arm.
        arm: &'static str,
        /// The line at fault.
        source: FoldedError,
    },
}

/// Writes `report.html`, `report.json`, `report.md`, `base.folded`, `head.folded`, `base.svg`,
/// `head.svg` and `diff.svg` into `dir`, which is made if it is not there.
///
/// Each file appears whole or not at all. Returns the paths in the order above. The same report
/// and profiles give the same bytes.
pub fn write_all(
    dir: &Path,
    report: &CompareReport,
    profiles: &Profiles,
) -> Result<Vec<PathBuf>, WriteError> {
    fs::create_dir_all(dir).map_err(|source| WriteError::Io {
        path: dir.to_path_buf(),
        source,
    })?;
    let title = |arm: &str, side: &super::Side| {
        format!("{arm}: {} {}", text::short(&side.commit), side.subject_line)
    };
    let base_svg = flamegraph(&title("base", &report.base), None, &profiles.base)?;
    let head_svg = flamegraph(&title("head", &report.head), None, &profiles.head)?;
    let (base_folded, head_folded) = (folded(&profiles.base), folded(&profiles.head));
    let (tree, judged) = difference(
        &report.functions,
        &report.groups,
        &base_folded,
        &head_folded,
    )?;
    let headline = headline(report);
    let diff_svg = diff::render(
        &tree,
        &judged,
        &diff::Options {
            title: &format!(
                "{} → {}: {}",
                text::short(&report.base.commit),
                text::short(&report.head.commit),
                report.head.subject_line
            ),
            subtitle: &format!("{}: {}", headline.outcome.word(), headline.text()),
            labels: ["base", "head"],
        },
    );
    let page = html::render(report, &tree, &judged);
    let files: [(&str, Vec<u8>); 8] = [
        ("report.html", page.into_bytes()),
        ("report.json", json::render(report).into_bytes()),
        ("report.md", markdown::render(report).into_bytes()),
        ("base.folded", base_folded),
        ("head.folded", head_folded),
        ("base.svg", base_svg),
        ("head.svg", head_svg),
        ("diff.svg", diff_svg.into_bytes()),
    ];
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = dir.join(name);
        write_atomically(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// The tree of both arms, and what the verdicts say of its functions.
pub(super) fn difference(
    functions: &[FunctionVerdict],
    groups: &[FunctionVerdict],
    base: &[u8],
    head: &[u8],
) -> Result<(DiffTree, Vec<Judged>), WriteError> {
    let run = |side, arm, text| {
        let lines =
            parse(text, Column::Only).map_err(|source| WriteError::Folded { arm, source })?;
        Ok::<_, WriteError>(Run { side, lines })
    };
    let runs = vec![
        run(diff::Side::Base, "base", base)?,
        run(diff::Side::Head, "head", head)?,
    ];
    let tree = DiffTree::build(runs, MIN_SHARE);
    let judged = diff::verdicts(&tree, functions, groups);
    Ok((tree, judged))
}

/// Folded lines as the bytes of a file.
pub(super) fn folded(lines: &[String]) -> Vec<u8> {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text.into_bytes()
}

/// Writes a file under another name in the same directory, then renames it over `path`.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let io = |source| WriteError::Io {
        path: path.to_path_buf(),
        source,
    };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".perfblame-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(dir)
        .map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

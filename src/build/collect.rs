//! From a built source tree to the files of the artifact.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::plan::ArtifactPath;
use crate::repo::glob_regex;

use super::artifact::ArtifactFile;
use super::cache::Outcome;
use super::compiler::is_executable;
use super::elf::ElfFile;
use super::environment::SOURCE_TIME;
use super::error::BuildError;
use super::failure::FailureReason;
use super::libraries::needed_libraries;
use super::program_digest::program_digest;

/// Why nothing was collected.
#[derive(Debug)]
pub(super) enum NotCollected {
    /// The build did not make what it should.
    Failed(FailureReason),
    /// It could not be copied.
    Error(BuildError),
}

impl From<BuildError> for NotCollected {
    fn from(error: BuildError) -> Self {
        Self::Error(error)
    }
}

/// Copies the artifact out of a built tree into `destination`, which must not exist, and digests it.
pub(super) fn collect(
    source: &Path,
    wanted: &[ArtifactPath],
    destination: &Path,
) -> Result<Outcome, NotCollected> {
    let mut all = Vec::new();
    list(source, Path::new(""), &mut all);
    let (main, mut files) = match wanted {
        [] => {
            let main = only_program(source, &all).map_err(NotCollected::Failed)?;
            (main.clone(), vec![main])
        }
        wanted => wanted_files(source, wanted, &all).map_err(NotCollected::Failed)?,
    };
    let libraries = needed_libraries(source, &files, &all);
    let library_path: BTreeSet<String> = libraries
        .iter()
        .map(|path| path.parent().unwrap_or(Path::new("")).display().to_string())
        .collect();
    files.extend(libraries);
    files.sort();
    files.dedup();
    let mut warnings = Vec::new();
    let mut kept = Vec::new();
    let mut digest = Sha256::new();
    for path in &files {
        let content = copy(source, path, destination)?;
        if let Some(elf) = ElfFile::parse(&content) {
            warnings.extend(warning(source, path, &elf));
        }
        let own = program_digest(&content);
        let name = path.to_string_lossy().into_owned();
        digest.update((name.len() as u64).to_le_bytes());
        digest.update(&name);
        digest.update([u8::from(is_executable(&source.join(path)))]);
        digest.update(own);
        kept.push(ArtifactFile {
            path: name,
            size: content.len() as u64,
            digest: hex(&own),
        });
    }
    Ok(Outcome::Built {
        digest: hex(&digest.finalize()),
        main: main.to_string_lossy().into_owned(),
        files: kept,
        library_path: library_path.into_iter().collect(),
        warnings,
    })
}

/// The only program that the build made.
fn only_program(source: &Path, all: &[PathBuf]) -> Result<PathBuf, FailureReason> {
    let mut made = programs(source, all);
    match made.len() {
        0 => Err(FailureReason::NothingMade),
        1 => Ok(made.remove(0)),
        _ => Err(FailureReason::Several { made: names(&made) }),
    }
}

/// Programs that were made by the build and are not its own tools, in order of their paths.
fn programs(source: &Path, all: &[PathBuf]) -> Vec<PathBuf> {
    let is_by_the_way = |path: &PathBuf| {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let in_cargo = parts.first().is_some_and(|part| part == "target");
        parts.iter().any(|part| {
            [
                "CMakeFiles",
                "meson-private",
                "meson-info",
                "autom4te.cache",
            ]
            .contains(&part.as_ref())
                || in_cargo && ["build", "deps", "examples", "incremental"].contains(&part.as_ref())
        })
    };
    let is_made = |path: &PathBuf| {
        let path = source.join(path);
        let made = fs::symlink_metadata(&path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.mtime() != SOURCE_TIME);
        made && is_executable(&path)
            && fs::read(&path)
                .ok()
                .and_then(|content| ElfFile::parse(&content))
                .is_some_and(|elf| elf.is_program)
    };
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".so") || name.contains(".so.")
    };
    all.iter()
        .filter(|path| !is_by_the_way(path) && !is_library(path) && is_made(path))
        .cloned()
        .collect()
}

/// The files that the plan names, and the main one among them.
fn wanted_files(
    source: &Path,
    wanted: &[ArtifactPath],
    all: &[PathBuf],
) -> Result<(PathBuf, Vec<PathBuf>), FailureReason> {
    let mut files = Vec::new();
    let mut main = None;
    for pattern in wanted {
        let pattern = pattern.as_str();
        let literal = Path::new(pattern);
        let found: Vec<PathBuf> = if source.join(literal).is_file() {
            vec![behind_libtool(source, literal)]
        } else {
            // A directory is everything below it, which a glob is too.
            let regex = glob_regex(pattern, false).ok();
            let is_match = |path: &&PathBuf| {
                let bytes = path.as_os_str().as_encoded_bytes();
                regex.as_ref().is_some_and(|regex| regex.is_match(bytes))
                    && source.join(path).is_file()
            };
            all.iter().filter(is_match).cloned().collect()
        };
        if found.is_empty() {
            return Err(FailureReason::Missing {
                artifact: pattern.to_owned(),
                made: names(&programs(source, all)),
            });
        }
        let first = match source.join(literal).is_dir() {
            true => literal.to_owned(),
            false => found[0].clone(),
        };
        main.get_or_insert(first);
        files.extend(found);
    }
    let main = main.unwrap_or_default();
    Ok((main, files))
}

/// Libtool leaves a script where the program should be, and the program in `.libs`: the script is
/// not what is to be measured.
fn behind_libtool(source: &Path, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let real = path.with_file_name(".libs").join(name);
    let content = fs::read(source.join(path)).unwrap_or_default();
    let start = String::from_utf8_lossy(&content[..content.len().min(400)]).into_owned();
    let is_wrapper = start.starts_with("#!") && start.contains("temporary wrapper script");
    if is_wrapper && source.join(&real).is_file() {
        real
    } else {
        path.to_owned()
    }
}

/// All files below a directory, symbolic links to files too, in order; paths relative to the root.
pub(super) fn list(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(root.join(directory))
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = directory.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(root, &path, files),
            Ok(_) => files.push(path),
            Err(_) => {}
        }
    }
}

/// Copies a file, with what a link leads to in place of the link.
fn copy(source: &Path, path: &Path, destination: &Path) -> Result<Vec<u8>, BuildError> {
    let (from, to) = (source.join(path), destination.join(path));
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(BuildError::io(parent))?;
    }
    fs::copy(&from, &to).map_err(BuildError::io(&to))?;
    fs::read(&to).map_err(BuildError::io(&to))
}

fn warning(source: &Path, path: &Path, elf: &ElfFile) -> Option<String> {
    let path = path.display();
    let leads_here = |directory: &String| Path::new(directory).starts_with(source);
    if !elf.has_symbols {
        Some(format!(
            "{path} has no symbol table: functions cannot be named (does the build strip it?)"
        ))
    } else if elf.has_rpath && elf.search_path.iter().any(leads_here) {
        Some(format!(
            "{path} has a search path (DT_RPATH) into the build directory; \
             link with -Wl,--enable-new-dtags so that the kept libraries are used"
        ))
    } else if !elf.has_debug_info {
        Some(format!(
            "{path} has no debug information: lines and inlined functions are unknown"
        ))
    } else {
        None
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

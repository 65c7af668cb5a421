//! Shared libraries that a build made and its programs need.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::ElfFile;

/// Finds the shared libraries in the source tree that the given files need, directly or through each
/// other. A library of the same name elsewhere on the machine is not the commit's own.
///
/// Paths are relative to the source tree, and may be symbolic links.
pub(super) fn needed_libraries(source: &Path, files: &[PathBuf], all: &[PathBuf]) -> Vec<PathBuf> {
    let mut by_name: BTreeMap<&str, Vec<&PathBuf>> = BTreeMap::new();
    for path in all {
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| name.contains(".so")) {
            by_name.entry(name).or_default().push(path);
        }
    }
    let mut found = BTreeSet::new();
    let mut queue: VecDeque<PathBuf> = files.iter().cloned().collect();
    while let Some(path) = queue.pop_front() {
        let content = fs::read(source.join(&path)).unwrap_or_default();
        let Some(elf) = ElfFile::parse(&content) else {
            continue;
        };
        let origin = source.join(path.parent().unwrap_or(Path::new("")));
        for name in &elf.needed {
            let candidates = by_name.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            let searched = elf.search_path.iter().find_map(|directory| {
                let directory = expand_origin(directory, &origin);
                candidates
                    .iter()
                    .find(|path| is_in(&source.join(path), &directory))
            });
            let library = searched.or(candidates.first()).copied();
            let is_new = |library: &&PathBuf| !files.contains(library) && !found.contains(*library);
            if let Some(library) = library.filter(is_new).cloned() {
                queue.push_back(library.clone());
                found.insert(library);
            }
        }
    }
    found.into_iter().collect()
}

fn expand_origin(directory: &str, origin: &Path) -> PathBuf {
    let origin = origin.to_string_lossy();
    PathBuf::from(
        directory
            .replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin),
    )
}

fn is_in(file: &Path, directory: &Path) -> bool {
    let parent = file
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    parent.is_some() && parent == fs::canonicalize(directory).ok()
}

//! Turns an exported tree into that of another commit, by writing only what differs.
//!
//! Files that stay keep their times, so that `make` builds again only what depends on the others.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::error::RepoError;
use super::export::{ExportOptions, ExportReport, io, write};
use super::listing::{Entry, EntryKind, Listing};
use super::repository::Repository;
use super::revision::Revision;

/// What an exported tree holds: of each path its kind and the id of its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest(BTreeMap<PathBuf, String>);

impl Manifest {
    /// What the export of a commit holds.
    pub fn of(
        repository: &Repository,
        revision: &Revision,
        options: &ExportOptions,
    ) -> Result<Self, RepoError> {
        Ok(Self::listed(&Listing::of(repository, revision, options)?))
    }

    fn listed(listing: &Listing) -> Self {
        let entries = listing.entries.iter();
        Self(
            entries
                .map(|entry| (entry.path.clone(), state(entry)))
                .collect(),
        )
    }

    /// As bytes for [`Self::parse`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, state) in &self.0 {
            bytes.extend(state.as_bytes());
            bytes.push(b' ');
            bytes.extend(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        for line in bytes.strip_suffix(&[0])?.split(|&byte| byte == 0) {
            let space = line.iter().position(|&byte| byte == b' ')?;
            let state = std::str::from_utf8(&line[..space]).ok()?;
            let path = PathBuf::from(OsString::from_vec(line[space + 1..].to_vec()));
            entries.insert(path, state.to_owned());
        }
        Some(Self(entries))
    }
}

/// Kind and content as one word.
fn state(entry: &Entry) -> String {
    match entry.kind {
        EntryKind::Directory => "directory".to_owned(),
        EntryKind::File => format!("file:{}", entry.id),
        EntryKind::Executable => format!("executable:{}", entry.id),
        EntryKind::Symlink => format!("link:{}", entry.id),
    }
}

impl Repository {
    /// Turns a directory that holds the export of another commit, `held`, into that of `revision`.
    /// What differs is written anew with the present time; `options.mtime` is not used.
    ///
    /// Not all or nothing: after an error the directory holds neither.
    pub fn refresh(
        &self,
        revision: &Revision,
        directory: &Path,
        held: &Manifest,
        options: &ExportOptions,
    ) -> Result<(ExportReport, Manifest), RepoError> {
        let listing = Listing::of(self, revision, options)?;
        let wanted = Manifest::listed(&listing);
        // Backwards, so that what a directory holds goes before it.
        for (path, state) in held.0.iter().rev() {
            if wanted.0.get(path) != Some(state) {
                remove(&directory.join(path))?;
            }
        }
        let (files, bytes) = listing.totals();
        let mut report = ExportReport {
            files,
            bytes,
            ..ExportReport::default()
        };
        for entry in &listing.entries {
            if held.0.get(&entry.path) == wanted.0.get(&entry.path) {
                continue;
            }
            let repository = match entry.submodule {
                Some(number) => &listing.repositories[number],
                None => self,
            };
            if let Some(pointer) = write(repository, entry, &directory.join(&entry.path))? {
                let path = entry.path.display();
                report
                    .missing_lfs
                    .push(format!("{path} (sha256 {})", pointer.digest));
            }
        }
        report.submodules = listing.submodules;
        report.skipped_submodules = listing.skipped_submodules;
        Ok((report, wanted))
    }
}

/// Removes a file, a link, or a directory with whatever a build left in it.
fn remove(path: &Path) -> Result<(), RepoError> {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let removed = match is_directory {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path, error)),
        _ => Ok(()),
    }
}

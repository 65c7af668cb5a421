//! Writes a commit's tree into a clean directory, without git's checkout machinery.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use serde::{Deserialize, Serialize};

use super::error::RepoError;
use super::lfs::{self, Pointer};
use super::listing::{Entry, EntryKind, Listing};
use super::repository::Repository;
use super::revision::Revision;

/// How a tree is exported.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// Modification time of every file and directory, in seconds since 1970. The same for every
    /// commit, so that what a build derives from times does not differ between commits.
    pub mtime: i64,
    /// Submodules to leave empty, by path.
    pub skip_submodules: Vec<String>,
}

/// A submodule whose content was exported too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExportedSubmodule {
    /// Its path in the tree.
    pub path: String,
    /// Its commit.
    pub commit: String,
    /// The git directory that the content was taken from.
    pub source: PathBuf,
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExportReport {
    /// Number of files and symbolic links.
    pub files: u64,
    /// Their sizes in bytes, LFS files counted as their pointers.
    pub bytes: u64,
    /// Submodules with content.
    pub submodules: Vec<ExportedSubmodule>,
    /// Submodules left empty because that was asked for.
    pub skipped_submodules: Vec<String>,
    /// Files that Git LFS keeps and whose content is not on this machine: they were written as the
    /// pointers that the tree holds.
    pub missing_lfs: Vec<String>,
}

impl Repository {
    /// Writes the tree of a commit into `destination`, which must not exist or be empty.
    ///
    /// All or nothing: the files are written beside it and renamed at the end. Modes, symbolic links
    /// (dangling ones too) and submodules are as the commit has them, LFS files where their content
    /// is in `.git/lfs`; contents are the blobs' own bytes, so neither `export-ignore` nor line-end
    /// nor other filters of `.gitattributes` are applied. Nothing of the repository is changed.
    pub fn export(
        &self,
        revision: &Revision,
        destination: &Path,
        options: &ExportOptions,
    ) -> Result<ExportReport, RepoError> {
        let taken = || RepoError::DestinationTaken {
            path: destination.to_owned(),
        };
        if fs::read_dir(destination).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(taken());
        }
        let parent = match destination.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let listing = Listing::of(self, revision, options)?;
        let (files, bytes) = listing.totals();
        let needed = check_space(parent, files, bytes)?;
        let part = tempfile::Builder::new()
            .prefix(PART_PREFIX)
            .tempdir_in(parent)
            .map_err(|error| io(parent, error))?;
        let mut report = ExportReport {
            files,
            bytes,
            ..ExportReport::default()
        };
        for entry in &listing.entries {
            let repository = match entry.submodule {
                Some(number) => &listing.repositories[number],
                None => self,
            };
            let path = part.path().join(&entry.path);
            let missing = write(repository, entry, &path).map_err(|error| match error {
                RepoError::Io { source, .. } if source.kind() == ErrorKind::StorageFull => {
                    disk_full(parent, needed)
                }
                error => error,
            })?;
            if let Some(pointer) = missing {
                report.missing_lfs.push(format!(
                    "{} (sha256 {})",
                    entry.path.display(),
                    pointer.digest
                ));
            }
        }
        set_times(part.path(), &listing.entries, options.mtime)?;
        report.submodules = listing.submodules;
        report.skipped_submodules = listing.skipped_submodules;
        let written = part.keep();
        match fs::rename(&written, destination) {
            Ok(()) => Ok(report),
            Err(error) => {
                let _ = fs::remove_dir_all(&written);
                match error.kind() {
                    ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => Err(taken()),
                    _ => Err(io(destination, error)),
                }
            }
        }
    }
}

/// Names of unfinished exports begin so; a killed one may be swept.
pub const PART_PREFIX: &str = ".export-";

/// Writes an entry; the pointer of an LFS file whose content is missing comes back.
pub(super) fn write(
    repository: &Repository,
    entry: &Entry,
    path: &Path,
) -> Result<Option<Pointer>, RepoError> {
    if entry.kind == EntryKind::Directory {
        return match fs::create_dir(path) {
            Ok(()) => set_mode(path, 0o755).map(|()| None),
            Err(error) => Err(io(path, error)),
        };
    }
    let blob = repository
        .git
        .find_blob(entry.id)
        .map_err(|error| repository.object_error(entry.id, &error))?;
    let content = blob.content();
    let mode = match entry.kind {
        EntryKind::Symlink => {
            let target = std::ffi::OsStr::from_bytes(content);
            return match symlink(target, path) {
                Ok(()) => Ok(None),
                Err(error) => Err(io(path, error)),
            };
        }
        EntryKind::Executable => 0o755,
        _ => 0o644,
    };
    // Never through a link, never over a file: a hostile tree finds neither.
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|error| io(path, error))?;
    let pointer = lfs::Pointer::parse(content);
    let stored = pointer
        .as_ref()
        .and_then(|pointer| pointer.open(repository));
    let missing = match (pointer, stored) {
        (_, Some(mut stored)) => {
            std::io::copy(&mut stored, &mut file).map_err(|error| io(path, error))?;
            None
        }
        (pointer, None) => {
            file.write_all(content).map_err(|error| io(path, error))?;
            pointer
        }
    };
    set_mode(path, mode)?;
    Ok(missing)
}

/// The mode that git says, whatever the user's umask.
fn set_mode(path: &Path, mode: u32) -> Result<(), RepoError> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|error| io(path, error))
}

fn set_times(root: &Path, entries: &[Entry], seconds: i64) -> Result<(), RepoError> {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    let set = |path: &Path| {
        rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| io(path, error.into()))
    };
    // Backwards, because writing into a directory changes its time.
    for entry in entries.iter().rev() {
        set(&root.join(&entry.path))?;
    }
    set_mode(root, 0o755)?;
    set(root)
}

/// The space that the files will take, in bytes, if there is that much.
fn check_space(parent: &Path, files: u64, bytes: u64) -> Result<u64, RepoError> {
    let stat = rustix::fs::statvfs(parent).map_err(|error| io(parent, error.into()))?;
    // Every file fills its last block only in part.
    let needed = bytes.saturating_add(files.saturating_mul(stat.f_frsize.min(4096)) / 2);
    if needed <= stat.f_bavail.saturating_mul(stat.f_frsize) {
        Ok(needed)
    } else {
        Err(disk_full(parent, needed))
    }
}

fn disk_full(path: &Path, needed: u64) -> RepoError {
    let stat = rustix::fs::statvfs(path);
    let free = stat.map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    RepoError::DiskFull {
        path: path.to_owned(),
        needed_mib: needed.div_ceil(1 << 20),
        free_mib: free >> 20,
    }
}

pub(super) fn io(path: &Path, source: std::io::Error) -> RepoError {
    RepoError::Io {
        path: path.to_owned(),
        source,
    }
}

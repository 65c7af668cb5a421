//! The whole content of a commit, submodules included, listed and checked before a byte is written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use git2::{ObjectType, Oid};

use super::error::RepoError;
use super::export::{ExportOptions, ExportedSubmodule};
use super::repository::Repository;
use super::revision::Revision;
use super::submodule::Submodules;

/// What a tree entry becomes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Directory,
    File,
    Executable,
    Symlink,
}

/// An entry to be written; directories come before what is in them.
#[derive(Debug)]
pub(super) struct Entry {
    /// Relative to the root of the export; of plain names only.
    pub path: PathBuf,
    pub kind: EntryKind,
    /// The blob; zero for a directory.
    pub id: Oid,
    /// Which of [`Listing::repositories`] holds the blob; `None` for the repository itself.
    pub submodule: Option<usize>,
    /// Size in bytes.
    pub size: u64,
}

/// Everything that an export will write.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub entries: Vec<Entry>,
    /// Repositories of submodules.
    pub repositories: Vec<Repository>,
    pub submodules: Vec<ExportedSubmodule>,
    pub skipped_submodules: Vec<String>,
}

impl Listing {
    /// Lists a commit; an object that is missing and an entry that is hostile are found here.
    pub fn of(
        repository: &Repository,
        revision: &Revision,
        options: &ExportOptions,
    ) -> Result<Self, RepoError> {
        let mut listing = Self::default();
        let walk = Walk {
            repository,
            number: None,
            commit: &revision.id,
            options,
        };
        walk.commit(
            &mut listing,
            PathBuf::new(),
            repository.oid(&revision.tree)?,
        )?;
        Ok(listing)
    }

    /// Number of files and symbolic links, and their sizes in bytes.
    pub fn totals(&self) -> (u64, u64) {
        let files = self
            .entries
            .iter()
            .filter(|entry| entry.kind != EntryKind::Directory);
        files.fold((0, 0), |(count, bytes), entry| {
            (count + 1, bytes + entry.size)
        })
    }
}

/// The walk through one repository's tree.
struct Walk<'a> {
    repository: &'a Repository,
    number: Option<usize>,
    commit: &'a str,
    options: &'a ExportOptions,
}

impl Walk<'_> {
    fn commit(&self, listing: &mut Listing, root: PathBuf, tree: Oid) -> Result<(), RepoError> {
        let mut links = Vec::new();
        self.tree(listing, &mut links, &root, tree)?;
        if links.is_empty() {
            return Ok(());
        }
        let submodules = Submodules::of(self.repository, tree)?;
        for (path, id) in links {
            let shown = path.display().to_string();
            let is_skipped = |skip: &String| skip.trim_end_matches('/') == shown;
            if self.options.skip_submodules.iter().any(is_skipped) {
                listing.skipped_submodules.push(shown);
                continue;
            }
            let inside = path.strip_prefix(&root).unwrap_or(&path);
            let (found, source) = submodules.find(self.repository, inside, &shown, id)?;
            let tree = found.commit(id)?.tree_id();
            let walk = Walk {
                repository: &found,
                number: Some(listing.repositories.len()),
                commit: &id.to_string(),
                options: self.options,
            };
            // The place is taken first: a submodule's own submodules are numbered after it.
            listing
                .repositories
                .push(Repository::open_exactly(found.git.path())?);
            listing.submodules.push(ExportedSubmodule {
                path: shown,
                commit: id.to_string(),
                source,
            });
            walk.commit(listing, path, tree)?;
        }
        Ok(())
    }

    fn tree(
        &self,
        listing: &mut Listing,
        links: &mut Vec<(PathBuf, Oid)>,
        directory: &std::path::Path,
        id: Oid,
    ) -> Result<(), RepoError> {
        let git = &self.repository.git;
        let tree = git
            .find_tree(id)
            .map_err(|error| self.repository.object_error(id, &error))?;
        let mut names = HashSet::new();
        for entry in &tree {
            let name = entry.name_bytes();
            let path = directory.join(OsStr::from_bytes(name));
            let hostile = hostility(name)
                .or((!names.insert(name.to_vec())).then_some("the tree holds this name twice"));
            if let Some(reason) = hostile {
                return Err(RepoError::HostileEntry {
                    path: path.to_string_lossy().into_owned(),
                    commit: self.commit.to_owned(),
                    reason,
                });
            }
            let mut push = |kind, id, size| {
                listing.entries.push(Entry {
                    path: path.clone(),
                    kind,
                    id,
                    submodule: self.number,
                    size,
                });
            };
            match entry.kind() {
                Some(ObjectType::Tree) => {
                    push(EntryKind::Directory, Oid::ZERO_SHA1, 0);
                    self.tree(listing, links, &path, entry.id())?;
                }
                Some(ObjectType::Commit) => {
                    push(EntryKind::Directory, Oid::ZERO_SHA1, 0);
                    links.push((path, entry.id()));
                }
                _ => {
                    let (size, _) = git
                        .odb()
                        .and_then(|odb| odb.read_header(entry.id()))
                        .map_err(|error| self.repository.object_error(entry.id(), &error))?;
                    let kind = match entry.filemode() {
                        0o120000 => EntryKind::Symlink,
                        mode if mode & 0o100 != 0 => EntryKind::Executable,
                        _ => EntryKind::File,
                    };
                    push(kind, entry.id(), size as u64);
                }
            }
        }
        Ok(())
    }
}

/// Why a name may not be written; `None` for an honest one.
fn hostility(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() || name == b"." || name == b".." {
        Some("it is no file name")
    } else if name.contains(&b'/') || name.contains(&0) {
        Some("its name holds a character that no file name holds")
    } else if name.eq_ignore_ascii_case(b".git") {
        Some("it would pass for a git directory")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_tree_or_pass_for_git_are_hostile() {
        for name in ["", ".", "..", "a/b", "/etc", "a\0b", ".git", ".GIT", ".Git"] {
            assert!(hostility(name.as_bytes()).is_some(), "{name:?}");
        }
        for name in ["a", "...", ".gitignore", ".github", "git", "a b", "-rf"] {
            assert!(hostility(name.as_bytes()).is_none(), "{name:?}");
        }
    }
}

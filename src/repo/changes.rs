//! What a commit changed: files, and line ranges in them.

use git2::{Delta, DiffFindOptions, DiffOptions, Patch};
use serde::{Deserialize, Serialize};

use super::error::RepoError;
use super::repository::Repository;
use super::revision::Revision;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode changed.
    Modified,
    /// It has another name, and perhaps other content.
    Renamed,
}

/// A range of lines on both sides of a change, without context. Lines count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hunk {
    /// First old line; with no old lines, the line after which lines were added.
    pub old_start: u32,
    /// Number of old lines.
    pub old_lines: u32,
    /// First new line; with no new lines, the line after which lines were removed.
    pub new_start: u32,
    /// Number of new lines.
    pub new_lines: u32,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileChange {
    /// What happened.
    pub kind: ChangeKind,
    /// Path before, relative to the root; absent for an added file.
    pub old_path: Option<String>,
    /// Path after; absent for a deleted file.
    pub new_path: Option<String>,
    /// Changed line ranges in order; empty for a binary file or a change of mode only.
    pub hunks: Vec<Hunk>,
}

impl Hunk {
    /// Whether the new side touches the lines from `first` to `last`, both included. A removal
    /// touches the lines on both sides of the gap.
    pub fn touches_new(&self, first: u32, last: u32) -> bool {
        let end = match self.new_lines {
            0 => self.new_start.saturating_add(1),
            lines => self.new_start.saturating_add(lines - 1),
        };
        self.new_start <= last && first <= end
    }
}

impl Repository {
    /// What a commit changed against its first parent; the first commit of all adds every file.
    pub fn changes(&self, revision: &Revision) -> Result<Vec<FileChange>, RepoError> {
        match revision.parents.first() {
            Some(parent) => {
                let parent = self.revision(parent)?;
                self.changes_between(Some(&parent), revision)
            }
            None => self.changes_between(None, revision),
        }
    }

    /// What changed from `base` to `head`; without `base`, everything was added.
    pub fn changes_between(
        &self,
        base: Option<&Revision>,
        head: &Revision,
    ) -> Result<Vec<FileChange>, RepoError> {
        let find_tree = |revision: &Revision| {
            let id = self.oid(&revision.tree)?;
            self.git
                .find_tree(id)
                .map_err(|error| self.object_error(id, &error))
        };
        let old = base.map(find_tree).transpose()?;
        let new = find_tree(head)?;
        self.diff(old.as_ref(), &new)
            .map_err(|error| self.git_error("compare two trees", error))
    }

    fn diff(
        &self,
        old: Option<&git2::Tree<'_>>,
        new: &git2::Tree<'_>,
    ) -> Result<Vec<FileChange>, git2::Error> {
        let mut options = DiffOptions::new();
        options.context_lines(0).interhunk_lines(0);
        let mut diff = self
            .git
            .diff_tree_to_tree(old, Some(new), Some(&mut options))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        let mut changes = Vec::new();
        for (index, delta) in diff.deltas().enumerate() {
            let kind = match delta.status() {
                Delta::Added | Delta::Copied => ChangeKind::Added,
                Delta::Deleted => ChangeKind::Deleted,
                Delta::Renamed => ChangeKind::Renamed,
                _ => ChangeKind::Modified,
            };
            let path = |file: git2::DiffFile<'_>| {
                file.path_bytes()
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            changes.push(FileChange {
                kind,
                old_path: path(delta.old_file()).filter(|_| kind != ChangeKind::Added),
                new_path: path(delta.new_file()).filter(|_| kind != ChangeKind::Deleted),
                hunks: hunks(Patch::from_diff(&diff, index)?)?,
            });
        }
        Ok(changes)
    }
}

fn hunks(patch: Option<Patch<'_>>) -> Result<Vec<Hunk>, git2::Error> {
    let Some(patch) = patch else {
        return Ok(Vec::new());
    };
    (0..patch.num_hunks())
        .map(|index| {
            let (hunk, _) = patch.hunk(index)?;
            Ok(Hunk {
                old_start: hunk.old_start(),
                old_lines: hunk.old_lines(),
                new_start: hunk.new_start(),
                new_lines: hunk.new_lines(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_touches_the_lines_that_it_covers_and_the_edges_of_a_gap() {
        let hunk = |new_start, new_lines| Hunk {
            old_start: 1,
            old_lines: 1,
            new_start,
            new_lines,
        };
        for (hunk, first, last, expected) in [
            (hunk(10, 3), 1, 9, false),
            (hunk(10, 3), 1, 10, true),
            (hunk(10, 3), 12, 20, true),
            (hunk(10, 3), 13, 20, false),
            (hunk(10, 0), 10, 10, true),
            (hunk(10, 0), 11, 20, true),
            (hunk(10, 0), 12, 20, false),
            (hunk(0, 0), 1, 5, true),
        ] {
            assert_eq!(
                hunk.touches_new(first, last),
                expected,
                "{hunk:?} {first}-{last}"
            );
        }
    }
}

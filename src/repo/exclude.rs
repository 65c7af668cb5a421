//! Where a repository's store is, and how it is kept out of `git status`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::RepoError;
use super::repository::Repository;

/// Name of the store's directory.
const STORE: &str = ".perfblame";

impl Repository {
    /// Where the store of this repository is kept unless the user says otherwise.
    ///
    /// That is `.perfblame` in the root of the working tree; of the main one for a linked worktree,
    /// so that all worktrees share builds; and inside the git directory of a bare repository, where
    /// git leaves names that it does not know alone.
    pub fn default_store(&self) -> PathBuf {
        let main = match self.git.is_worktree() {
            true => Self::open_exactly(self.git.commondir()).ok(),
            false => None,
        };
        main.as_ref().unwrap_or(self).directory().join(STORE)
    }

    /// Adds the store's directory to `info/exclude`, once, where it lies in a working tree and is
    /// not ignored already.
    pub fn exclude_store(&self, store: &Path) -> Result<(), RepoError> {
        let store = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
        let main = match self.git.is_worktree() {
            true => Self::open_exactly(self.git.commondir()).ok(),
            false => None,
        };
        for repository in [Some(self), main.as_ref()].into_iter().flatten() {
            let inside = repository
                .work_tree()
                .and_then(|root| store.strip_prefix(root).ok())
                .filter(|inside| !inside.as_os_str().is_empty());
            if let Some(inside) = inside {
                return repository.exclude(inside);
            }
        }
        Ok(())
    }

    fn exclude(&self, inside: &Path) -> Result<(), RepoError> {
        let is_ignored = self.git.is_path_ignored(inside.join("store.sqlite"));
        if is_ignored.unwrap_or(false) {
            return Ok(());
        }
        let directory = self.git.commondir().join("info");
        let path = directory.join("exclude");
        let io = |source| RepoError::Io {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&directory).map_err(io)?;
        let mut text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io(error)),
        };
        let line = format!("/{}/", inside.display());
        if text
            .split(|byte| *byte == b'\n')
            .any(|old| old == line.as_bytes())
        {
            return Ok(());
        }
        if text.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
        // Through a rename, so that git never reads half a file.
        let part = tempfile::NamedTempFile::new_in(&directory).map_err(io)?;
        fs::write(part.path(), &text).map_err(io)?;
        if let Ok(metadata) = fs::metadata(&path) {
            fs::set_permissions(part.path(), metadata.permissions()).map_err(io)?;
        }
        part.persist(&path)
            .map(drop)
            .map_err(|error| io(error.error))
    }
}

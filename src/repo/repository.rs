//! Opening a repository, wherever in it the caller stands.

use std::path::{Path, PathBuf};
use std::sync::Once;

use git2::{ErrorCode, RepositoryOpenFlags};

use super::error::RepoError;

/// A git repository: with a working tree, bare, a linked worktree, or a submodule's checkout.
///
/// Nothing here writes to the working tree, the index, the references or the objects.
pub struct Repository {
    pub(super) git: git2::Repository,
}

impl Repository {
    /// Opens the repository that `path` lies in: the directory itself or the nearest one above it.
    pub fn open(path: &Path) -> Result<Self, RepoError> {
        Self::open_with(path, RepositoryOpenFlags::empty())
    }

    /// Opens the repository at exactly `path`, without looking upwards.
    pub(super) fn open_exactly(path: &Path) -> Result<Self, RepoError> {
        Self::open_with(path, RepositoryOpenFlags::NO_SEARCH)
    }

    fn open_with(path: &Path, flags: RepositoryOpenFlags) -> Result<Self, RepoError> {
        accept_partial_clones();
        let none: [&Path; 0] = [];
        git2::Repository::open_ext(path, flags, none)
            .map(|git| Self { git })
            .map_err(|error| open_error(path.to_owned(), error))
    }

    /// The directory that stands for the repository in messages and for `git -C`: the working
    /// tree, or the git directory of a bare one.
    pub fn directory(&self) -> &Path {
        let directory = self.git.workdir().unwrap_or_else(|| self.git.path());
        // Without the slash that libgit2 puts at the end.
        directory.components().as_path()
    }

    /// The working tree's root; `None` for a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.git.workdir()
    }

    /// Whether history was cut off by `--depth`.
    pub fn is_shallow(&self) -> bool {
        self.git.is_shallow()
    }

    /// The remote that a partial clone left objects at; `None` for a full clone.
    pub(super) fn promisor_remote(&self) -> Option<String> {
        let config = self.git.config().ok()?;
        let mut entries = config.entries(Some(r"remote\..*\.promisor")).ok()?;
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.name().ok()?;
            let remote = name.strip_prefix("remote.")?.strip_suffix(".promisor")?;
            if entry.value().ok() == Some("true") {
                return Some(remote.to_owned());
            }
        }
        None
    }

    /// Wraps what libgit2 says about one object.
    pub(super) fn object_error(&self, object: git2::Oid, error: &git2::Error) -> RepoError {
        match self.promisor_remote() {
            Some(remote) if error.code() == ErrorCode::NotFound => RepoError::NotFetched {
                object: object.to_string(),
                repository: self.directory().to_owned(),
                remote,
            },
            _ => RepoError::Damaged {
                object: object.to_string(),
                repository: self.directory().to_owned(),
                reason: error.message().to_owned(),
            },
        }
    }

    /// Wraps what libgit2 says about a whole operation.
    pub(super) fn git_error(&self, doing: &str, source: git2::Error) -> RepoError {
        RepoError::Git {
            doing: doing.to_owned(),
            repository: self.directory().to_owned(),
            source,
        }
    }
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Repository")
            .field(&self.directory())
            .finish()
    }
}

/// A partial clone is an ordinary repository with objects missing: reading works, and a missing
/// object is reported as such. libgit2 refuses the format unless told that its caller knows this.
fn accept_partial_clones() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: libgit2 keeps the list in a static variable; `Once` makes this the only write, and
        // every repository is opened through this room, after it.
        #[allow(unsafe_code)]
        let outcome = unsafe { git2::opts::set_extensions(&["partialclone"]) };
        // If it fails, partial clones are refused with libgit2's own words.
        let _ = outcome;
    });
}

fn open_error(path: PathBuf, error: git2::Error) -> RepoError {
    if !path.exists() {
        return RepoError::NoSuchPath { path };
    }
    let text = error.message();
    match error.code() {
        ErrorCode::NotFound => RepoError::NotARepository { path },
        ErrorCode::Owner => RepoError::ForeignOwner { path },
        _ if text.contains("extension") || text.contains("object format") => {
            RepoError::UnsupportedFormat {
                path,
                reason: text.to_owned(),
            }
        }
        _ => RepoError::Git {
            doing: "open the repository".to_owned(),
            repository: path,
            source: error,
        },
    }
}

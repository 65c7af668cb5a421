//! What can go wrong between perfblame and a repository.

use std::path::PathBuf;

/// Why a repository could not answer.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// The directory does not exist.
    #[error("{} does not exist; name the repository with --repo DIR", path.display())]
    NoSuchPath {
        /// The path as given.
        path: PathBuf,
    },
    /// Neither the directory nor one above it is a repository.
    #[error(
        "{} is not in a git repository; run inside one, or name it with --repo DIR",
        path.display()
    )]
    NotARepository {
        /// The path as given.
        path: PathBuf,
    },
    /// Git's own protection against other users' repositories.
    #[error(
        "the repository at {} belongs to another user, and git's safe.directory does not allow it; \
         if you trust it: git config --global --add safe.directory {}",
        path.display(),
        std::path::absolute(path).unwrap_or_else(|_| path.clone()).display()
    )]
    ForeignOwner {
        /// The path as given.
        path: PathBuf,
    },
    /// An on-disk format that libgit2 cannot read.
    #[error(
        "the repository at {} is in a format that cannot be read ({reason}); \
         measure a clone of it in the default format (SHA-1 objects, reference files)",
        path.display()
    )]
    UnsupportedFormat {
        /// The path as given.
        path: PathBuf,
        /// What libgit2 said.
        reason: String,
    },
    /// No such revision.
    #[error("unknown revision `{name}` in {}{hint}", repository.display())]
    UnknownRevision {
        /// The revision as given.
        name: String,
        /// The repository's directory.
        repository: PathBuf,
        /// What may be meant, or what to do; empty or begins with `; `.
        hint: String,
    },
    /// Several things go by that name.
    #[error("revision `{name}` is ambiguous; it may be {}", candidates.join(", "))]
    AmbiguousRevision {
        /// The revision as given.
        name: String,
        /// The candidates, each with its kind and subject line.
        candidates: Vec<String>,
    },
    /// The name stands for a tree or a blob.
    #[error("revision `{name}` is a {kind}, not a commit")]
    NotACommit {
        /// The revision as given.
        name: String,
        /// `tree`, `blob` or the like.
        kind: String,
    },
    /// A range where a single commit is asked for.
    #[error("`{name}` is a range; give its two ends as two revisions, the baseline first")]
    IsRange {
        /// The revision as given.
        name: String,
    },
    /// An object that a partial clone left at its server.
    #[error(
        "object {object} was not fetched by this partial clone; fetch all with \
         `git -C {repository} config --unset-all remote.{remote}.partialclonefilter; \
         git -C {repository} fetch --refetch {remote}`",
        repository = repository.display()
    )]
    NotFetched {
        /// The object's id.
        object: String,
        /// The repository's directory.
        repository: PathBuf,
        /// The remote that holds it.
        remote: String,
    },
    /// An object that should be there and is not, or is damaged.
    #[error(
        "object {object} is missing or damaged in {repository} ({reason}); `git -C {repository} fsck` says more",
        repository = repository.display()
    )]
    Damaged {
        /// The object's id.
        object: String,
        /// The repository's directory.
        repository: PathBuf,
        /// What libgit2 said.
        reason: String,
    },
    /// A path under `subject.paths` that cannot be understood.
    #[error("path `{pathspec}` cannot be understood: {reason}")]
    BadPathspec {
        /// The path as given.
        pathspec: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing of a commit lies under `subject.paths`.
    #[error(
        "commit {commit} has nothing under {}; check subject.paths",
        pathspecs.join(", ")
    )]
    NothingMatches {
        /// The commit.
        commit: String,
        /// The paths as given.
        pathspecs: Vec<String>,
    },
    /// A submodule's commit is nowhere on this machine.
    #[error(
        "submodule `{path}` (url {url}) is needed at commit {commit}, which is not in this clone; \
         fetch it with `{remedy}`, or list it under build.skip-submodules"
    )]
    SubmoduleMissing {
        /// Its path in the tree.
        path: String,
        /// The commit that the tree names.
        commit: String,
        /// Its URL from `.gitmodules`, or `unknown`.
        url: String,
        /// A command that fetches it.
        remedy: String,
    },
    /// A tree entry that no honest tree holds.
    #[error("refusing to export `{path}` of commit {commit}: {reason}")]
    HostileEntry {
        /// The entry's path.
        path: String,
        /// The commit.
        commit: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// The place for an export is taken.
    #[error("cannot export to {}: it exists and is not empty", path.display())]
    DestinationTaken {
        /// The place.
        path: PathBuf,
    },
    /// No room.
    #[error(
        "the disk is full at {}: {needed_mib} MiB are needed, {free_mib} MiB are free",
        path.display()
    )]
    DiskFull {
        /// The place.
        path: PathBuf,
        /// Size of the exported files in MiB, rounded up.
        needed_mib: u64,
        /// Free space in MiB.
        free_mib: u64,
    },
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Anything else that libgit2 reports.
    #[error("cannot {doing} in {}: {source}", repository.display())]
    Git {
        /// What was to be done.
        doing: String,
        /// The repository's directory.
        repository: PathBuf,
        /// What libgit2 said.
        source: git2::Error,
    },
}

//! What can go wrong with a store.

use std::path::{Path, PathBuf};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was ever stored there.
    #[error(
        "there is no store at {}; experiments are stored there once something was measured \
         (--store DIR names another place)",
        path.display()
    )]
    NoStore {
        /// The store's directory.
        path: PathBuf,
    },
    /// A database of something else.
    #[error("{} is not a perfblame store; name another place with --store DIR", path.display())]
    NotAStore {
        /// The database file.
        path: PathBuf,
    },
    /// Written by a later version.
    #[error(
        "the store {} has schema version {found}, and this perfblame knows version {known}: \
         use the newer perfblame that wrote it, or another store with --store DIR",
        path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The version known here.
        known: i64,
    },
    /// The database file is damaged.
    #[error(
        "the store {} is damaged ({reason}); move it aside with `mv {} {}.damaged` and go on with a \
         new one (builds and blobs stay usable)",
        path.display(), path.display(), path.display()
    )]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
    /// Another process kept the database for too long.
    #[error(
        "the store {} is locked by another process and stayed so for {seconds} s; \
         wait for the other perfblame, or use another store with --store DIR",
        path.display()
    )]
    Busy {
        /// The database file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// No room.
    #[error(
        "the disk is full at {} ({free_mib} MiB are free); make room, or use another disk with --store DIR",
        path.display()
    )]
    DiskFull {
        /// The file that was written.
        path: PathBuf,
        /// Free space in MiB.
        free_mib: u64,
    },
    /// No experiment has an id that begins so.
    #[error("there is no experiment `{id}`; `perfblame history` lists them")]
    UnknownExperiment {
        /// The id as given.
        id: String,
    },
    /// Several experiments have ids that begin so.
    #[error("experiment id `{id}` is ambiguous; it may be {}", candidates.join(", "))]
    AmbiguousExperiment {
        /// The id as given.
        id: String,
        /// The full ids.
        candidates: Vec<String>,
    },
    /// A living process works on the experiment.
    #[error(
        "experiment {id} is being run by another perfblame (process {pid}); wait for it, or stop it"
    )]
    StillRunning {
        /// The experiment.
        id: String,
        /// The process that runs it.
        pid: String,
    },
    /// A blob is not there, or not what its name says.
    #[error("the stored file {digest} is {what} in {}", path.display())]
    Blob {
        /// Its digest.
        digest: String,
        /// `missing` or `damaged`.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Anything else that SQLite reports.
    #[error("the store {} failed: {source}", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

/// How long a database that another process writes to is waited for, in seconds.
pub(super) const BUSY_SECONDS: u64 = 30;

impl StoreError {
    /// Sorts what SQLite says by what the user can do about it.
    pub(super) fn of_database(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt {
                reason: source.to_string(),
                path,
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy {
                path,
                seconds: BUSY_SECONDS,
            },
            Some(ErrorCode::DiskFull) => Self::DiskFull {
                free_mib: free_mib(&path),
                path,
            },
            _ => Self::Database { path, source },
        }
    }

    /// Sorts a failed file operation.
    pub(super) fn of_io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull {
                free_mib: free_mib(&path),
                path,
            },
            _ => Self::Io { path, source },
        }
    }
}

fn free_mib(path: &Path) -> u64 {
    let there = path.ancestors().find(|path| path.exists());
    there
        .and_then(|path| rustix::fs::statvfs(path).ok())
        .map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize) >> 20)
}

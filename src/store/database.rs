//! The database file: opening, schema, versions.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::{BUSY_SECONDS, StoreError};

/// Version of the schema that this code writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks the file as a perfblame store: "pblm".
const APPLICATION_ID: i64 = 0x7062_6c6d;

/// Statement `n` brings schema version `n` to `n + 1`. What was released is never edited.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE experiments (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        finished_ms INTEGER,
        base TEXT,
        head TEXT,
        seed TEXT NOT NULL,
        plan TEXT NOT NULL,
        machine TEXT NOT NULL,
        perfblame TEXT NOT NULL,
        state TEXT NOT NULL,
        summary TEXT,
        outcome TEXT
    ) STRICT;
    CREATE TABLE trials (
        id INTEGER PRIMARY KEY,
        experiment TEXT NOT NULL REFERENCES experiments(id),
        block INTEGER NOT NULL,
        arm TEXT NOT NULL,
        position INTEGER NOT NULL,
        started_ms INTEGER NOT NULL,
        ended_ms INTEGER NOT NULL,
        state TEXT NOT NULL,
        result TEXT NOT NULL,
        profile TEXT
    ) STRICT;
    CREATE INDEX trials_of_experiment ON trials(experiment, block, position);
    CREATE TABLE builds (
        id INTEGER PRIMARY KEY,
        experiment TEXT REFERENCES experiments(id),
        at_ms INTEGER NOT NULL,
        revision TEXT NOT NULL,
        key TEXT NOT NULL,
        digest TEXT,
        cached INTEGER NOT NULL,
        seconds REAL NOT NULL,
        failure TEXT
    ) STRICT;
    CREATE INDEX builds_of_experiment ON builds(experiment);
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        experiment TEXT NOT NULL REFERENCES experiments(id),
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_experiment ON events(experiment);
"];

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(super) directory: PathBuf,
    pub(super) database: Connection,
}

impl Store {
    /// Opens the store in a directory and makes it where there is none.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(directory).map_err(|error| StoreError::of_io(directory, error))?;
        Self::connect(directory, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that must be there, for commands that only look.
    pub fn open_existing(directory: &Path) -> Result<Self, StoreError> {
        if !database_path(directory).exists() {
            return Err(StoreError::NoStore {
                path: directory.to_owned(),
            });
        }
        Self::connect(directory, OpenFlags::empty())
    }

    /// The store's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn connect(directory: &Path, create: OpenFlags) -> Result<Self, StoreError> {
        let path = database_path(directory);
        let failed = |error| StoreError::of_database(&path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let mut database = Connection::open_with_flags(&path, flags).map_err(failed)?;
        database
            .busy_timeout(Duration::from_secs(BUSY_SECONDS))
            .map_err(failed)?;
        set_pragmas(&database).map_err(failed)?;
        migrate(&mut database, &path)?;
        let verdict: String = database
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(failed)?;
        if verdict != "ok" {
            return Err(StoreError::Corrupt {
                path,
                reason: verdict,
            });
        }
        Ok(Self {
            directory: directory.to_owned(),
            database,
        })
    }

    /// Wraps what SQLite says.
    pub(super) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::of_database(&database_path(&self.directory), error)
    }
}

fn database_path(directory: &Path) -> PathBuf {
    directory.join("store.sqlite")
}

fn set_pragmas(database: &Connection) -> rusqlite::Result<()> {
    // Where the file system cannot share memory (NFS), SQLite stays with its rollback journal: as
    // safe, with more waiting.
    database.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // What is stored must outlive a power cut too; a write every few seconds can afford it.
    database.pragma_update(None, "synchronous", "FULL")?;
    database.pragma_update(None, "foreign_keys", true)
}

fn migrate(database: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::of_database(path, error);
    let number = |transaction: &Connection, pragma| {
        transaction.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0))
    };
    if number(database, "user_version").map_err(failed)? == SCHEMA_VERSION
        && number(database, "application_id").map_err(failed)? == APPLICATION_ID
    {
        return Ok(());
    }
    // Two processes may find the same old version; the second sees what the first has done.
    let transaction = database
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = number(&transaction, "user_version").map_err(failed)?;
    let tables = number(&transaction, "schema_version").map_err(failed)?;
    let owner = number(&transaction, "application_id").map_err(failed)?;
    if owner != APPLICATION_ID && (tables != 0 || found != 0 || owner != 0) {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
        });
    }
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        });
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction
        .pragma_update(None, "user_version", SCHEMA_VERSION)
        .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION_ID))
        .and_then(|()| transaction.commit())
        .map_err(failed)
}

/// Milliseconds since 1970; zero for times before.
pub(super) fn milliseconds(time: SystemTime) -> i64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time of a number of milliseconds since 1970.
pub(super) fn time_of(milliseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

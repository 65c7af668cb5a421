//! Builds and other events of an experiment: what a search needs to go on where it was.

use std::time::SystemTime;

use rusqlite::params;
use serde_json::Value;

use super::database::{Store, milliseconds, time_of};
use super::error::StoreError;

/// A build that an experiment asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildRecord {
    /// Commit id.
    pub revision: String,
    /// Cache key.
    pub key: String,
    /// Content digest of the artifact; absent for a failure.
    pub digest: Option<String>,
    /// Whether it was there already.
    pub cached: bool,
    /// Seconds that the build took, when it was done.
    pub seconds: f64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// Something that happened in an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Number in order of storing.
    pub id: i64,
    /// When.
    pub at: SystemTime,
    /// What, in the words of the room that stored it.
    pub kind: String,
    /// The particulars.
    pub body: Value,
}

impl Store {
    /// Keeps a build of an experiment.
    pub fn put_build(&self, experiment: &str, build: &BuildRecord) -> Result<(), StoreError> {
        self.database
            .execute(
                "INSERT INTO builds
                 (experiment, at_ms, revision, key, digest, cached, seconds, failure)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    experiment,
                    milliseconds(SystemTime::now()),
                    build.revision,
                    build.key,
                    build.digest,
                    build.cached,
                    build.seconds,
                    build.failure,
                ],
            )
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    /// The builds of an experiment in order.
    pub fn builds(&self, experiment: &str) -> Result<Vec<BuildRecord>, StoreError> {
        let mut statement = self
            .database
            .prepare("SELECT * FROM builds WHERE experiment = ?1 ORDER BY id")
            .map_err(|error| self.failed(error))?;
        let rows = statement.query_map([experiment], |row| {
            Ok(BuildRecord {
                revision: row.get("revision")?,
                key: row.get("key")?,
                digest: row.get("digest")?,
                cached: row.get("cached")?,
                seconds: row.get("seconds")?,
                failure: row.get("failure")?,
            })
        });
        rows.and_then(Iterator::collect)
            .map_err(|error| self.failed(error))
    }

    /// Keeps an event of an experiment.
    pub fn put_event(&self, experiment: &str, kind: &str, body: &Value) -> Result<(), StoreError> {
        self.database
            .execute(
                "INSERT INTO events (experiment, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4)",
                params![
                    experiment,
                    milliseconds(SystemTime::now()),
                    kind,
                    body.to_string()
                ],
            )
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    /// The events of an experiment in order.
    pub fn events(&self, experiment: &str) -> Result<Vec<Event>, StoreError> {
        let mut statement = self
            .database
            .prepare("SELECT * FROM events WHERE experiment = ?1 ORDER BY id")
            .map_err(|error| self.failed(error))?;
        let rows = statement.query_map([experiment], |row| {
            Ok(Event {
                id: row.get("id")?,
                at: time_of(row.get("at_ms")?),
                kind: row.get("kind")?,
                body: row.get("body")?,
            })
        });
        rows.and_then(Iterator::collect)
            .map_err(|error| self.failed(error))
    }
}

//! Trials, each kept as soon as it ends.

use std::time::SystemTime;

use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blob::BlobDigest;
use super::database::{Store, milliseconds, time_of};
use super::error::StoreError;

/// Whether a trial gave numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialState {
    /// It did; its result may be judged.
    Complete,
    /// It did not; its result says why.
    Failed,
}

/// A trial that has just ended.
#[derive(Debug, Clone)]
pub struct NewTrial {
    /// The block that it belongs to.
    pub block: u32,
    /// Name of its arm: `base`, `head`, a commit id, or a cell of a matrix.
    pub arm: String,
    /// Its place within the block, from 0.
    pub position: u32,
    /// When it began.
    pub started: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// Whether it gave numbers.
    pub state: TrialState,
    /// All that it gave, or why it failed.
    pub result: Value,
    /// Its profile, stored by [`Store::put_blob`].
    pub profile: Option<BlobDigest>,
}

/// A stored trial.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// Number in order of storing.
    pub id: i64,
    /// The experiment.
    pub experiment: String,
    /// The block that it belongs to.
    pub block: u32,
    /// Name of its arm.
    pub arm: String,
    /// Its place within the block.
    pub position: u32,
    /// When it began.
    pub started: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// Whether it gave numbers.
    pub state: TrialState,
    /// All that it gave, or why it failed.
    pub result: Value,
    /// Its profile.
    pub profile: Option<BlobDigest>,
}

impl Store {
    /// Keeps a trial of an experiment; it is on disk when this returns.
    pub fn put_trial(&self, experiment: &str, trial: &NewTrial) -> Result<i64, StoreError> {
        self.database
            .execute(
                "INSERT INTO trials
                 (experiment, block, arm, position, started_ms, ended_ms, state, result, profile)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    experiment,
                    trial.block,
                    trial.arm,
                    trial.position,
                    milliseconds(trial.started),
                    milliseconds(trial.ended),
                    match trial.state {
                        TrialState::Complete => "complete",
                        TrialState::Failed => "failed",
                    },
                    trial.result.to_string(),
                    trial.profile.as_ref().map(BlobDigest::as_str),
                ],
            )
            .map_err(|error| self.failed(error))?;
        Ok(self.database.last_insert_rowid())
    }

    /// The trials of an experiment in the order in which they ended.
    pub fn trials(&self, experiment: &str) -> Result<Vec<StoredTrial>, StoreError> {
        let mut statement = self
            .database
            .prepare("SELECT * FROM trials WHERE experiment = ?1 ORDER BY id")
            .map_err(|error| self.failed(error))?;
        let rows = statement.query_map([experiment], |row| {
            let state: String = row.get("state")?;
            let profile: Option<String> = row.get("profile")?;
            Ok(StoredTrial {
                id: row.get("id")?,
                experiment: row.get("experiment")?,
                block: row.get("block")?,
                arm: row.get("arm")?,
                position: row.get("position")?,
                started: time_of(row.get("started_ms")?),
                ended: time_of(row.get("ended_ms")?),
                state: match state.as_str() {
                    "complete" => TrialState::Complete,
                    _ => TrialState::Failed,
                },
                result: row.get("result")?,
                profile: profile.as_deref().and_then(BlobDigest::parse),
            })
        });
        rows.and_then(Iterator::collect)
            .map_err(|error| self.failed(error))
    }
}

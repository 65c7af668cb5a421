//! Experiments: what was asked, by whom it is run, and what came of it.

use std::path::PathBuf;
use std::time::SystemTime;

use rand::RngExt;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::database::{Store, milliseconds, time_of};
use super::error::StoreError;
use super::lock::FileLock;

/// An experiment that is about to start.
#[derive(Debug, Clone)]
pub struct NewExperiment {
    /// `compare`, `bisect` or `matrix`.
    pub kind: String,
    /// Commit id of the baseline, where there is one.
    pub base: Option<String>,
    /// Commit id of the other side, where there is one.
    pub head: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The exact plan.
    pub plan: Value,
    /// The machine that it runs on.
    pub machine: Value,
}

/// Where an experiment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentState {
    /// A living process works on it.
    Running,
    /// Ended with an outcome.
    Done,
    /// Ended with an error.
    Failed,
    /// Stopped by the user, or its process died; it may be resumed.
    Interrupted,
}

impl ExperimentState {
    /// The state in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A stored experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Experiment {
    /// Six hex digits.
    pub id: String,
    /// `compare`, `bisect` or `matrix`.
    pub kind: String,
    /// When it began.
    #[serde(rename = "created-ms", serialize_with = "as_milliseconds")]
    pub created: SystemTime,
    /// The same in words, in this machine's time zone.
    pub created_local: String,
    /// When it ended; `None` while it runs or where its process died.
    #[serde(rename = "finished-ms", serialize_with = "as_optional_milliseconds")]
    pub finished: Option<SystemTime>,
    /// Commit id of the baseline.
    pub base: Option<String>,
    /// Commit id of the other side.
    pub head: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The exact plan.
    pub plan: Value,
    /// The machine that it ran on.
    pub machine: Value,
    /// Version of perfblame that ran it.
    pub perfblame: String,
    /// Where it stands.
    pub state: ExperimentState,
    /// The verdict in a line, once there is one.
    pub summary: Option<String>,
    /// All that came of it: the report, or the error.
    pub outcome: Option<Value>,
}

/// How an experiment ended.
#[derive(Debug, Clone)]
pub struct Finish {
    /// Any state but running.
    pub state: ExperimentState,
    /// The verdict, or the error, in a line.
    pub summary: String,
    /// All that came of it.
    pub outcome: Value,
}

/// An experiment that this process runs. Dropped without [`Store::finish`], it counts as
/// interrupted.
#[derive(Debug)]
pub struct RunningExperiment {
    /// The experiment's id.
    pub id: String,
    lock: FileLock,
}

impl Store {
    /// Begins an experiment and gives it an id.
    pub fn begin(&self, new: &NewExperiment) -> Result<RunningExperiment, StoreError> {
        loop {
            let id = format!("{:06x}", rand::rng().random_range(0..1u32 << 24));
            // The lock first: nobody may see an experiment that runs and is not locked.
            let lock = self.lock(&id)?;
            let inserted = self
                .database
                .execute(
                    "INSERT OR IGNORE INTO experiments
                     (id, kind, created_ms, base, head, seed, plan, machine, perfblame, state)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'running')",
                    params![
                        id,
                        new.kind,
                        milliseconds(SystemTime::now()),
                        new.base,
                        new.head,
                        new.seed.to_string(),
                        new.plan.to_string(),
                        new.machine.to_string(),
                        env!("CARGO_PKG_VERSION"),
                    ],
                )
                .map_err(|error| self.failed(error))?;
            if inserted == 1 {
                return Ok(RunningExperiment { id, lock });
            }
        }
    }

    /// Takes over an experiment whose process is gone.
    pub fn resume(&self, id: &str) -> Result<RunningExperiment, StoreError> {
        let id = self.experiment(id)?.id;
        let lock = self.lock(&id)?;
        self.database
            .execute(
                "UPDATE experiments SET state = 'running', finished_ms = NULL WHERE id = ?1",
                [&id],
            )
            .map_err(|error| self.failed(error))?;
        Ok(RunningExperiment { id, lock })
    }

    /// Ends an experiment.
    pub fn finish(&self, running: RunningExperiment, finish: &Finish) -> Result<(), StoreError> {
        self.database
            .execute(
                "UPDATE experiments SET state = ?2, summary = ?3, outcome = ?4, finished_ms = ?5
                 WHERE id = ?1",
                params![
                    running.id,
                    finish.state.as_str(),
                    finish.summary,
                    finish.outcome.to_string(),
                    milliseconds(SystemTime::now()),
                ],
            )
            .map_err(|error| self.failed(error))?;
        running.lock.remove();
        Ok(())
    }

    /// The experiment whose id begins so.
    pub fn experiment(&self, id: &str) -> Result<Experiment, StoreError> {
        let wanted = id.trim().to_ascii_lowercase();
        let is_prefix = !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ids = if is_prefix {
            let sql = "SELECT id FROM experiments WHERE id GLOB ?1 || '*' ORDER BY id LIMIT 11";
            let mut statement = self
                .database
                .prepare(sql)
                .map_err(|error| self.failed(error))?;
            let rows = statement.query_map([&wanted], |row| row.get::<_, String>(0));
            rows.and_then(Iterator::collect::<Result<Vec<String>, _>>)
                .map_err(|error| self.failed(error))?
        } else {
            Vec::new()
        };
        match ids.as_slice() {
            [] => Err(StoreError::UnknownExperiment { id: id.to_owned() }),
            [only] => self
                .select(&format!("WHERE id = '{only}'"))?
                .pop()
                .ok_or_else(|| StoreError::UnknownExperiment { id: id.to_owned() }),
            _ => Err(StoreError::AmbiguousExperiment {
                id: id.to_owned(),
                candidates: ids,
            }),
        }
    }

    /// The experiment that began last.
    pub fn latest(&self) -> Result<Option<Experiment>, StoreError> {
        let id: Option<String> = self
            .database
            .query_row(
                "SELECT id FROM experiments ORDER BY created_ms DESC, rowid DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.failed(error))?;
        id.map(|id| self.experiment(&id)).transpose()
    }

    /// All experiments, the latest first.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        self.select("ORDER BY created_ms DESC, rowid DESC")
    }

    fn select(&self, clause: &str) -> Result<Vec<Experiment>, StoreError> {
        let sql = format!(
            "SELECT *, datetime(created_ms / 1000, 'unixepoch', 'localtime') AS created_local
             FROM experiments {clause}"
        );
        let mut statement = self
            .database
            .prepare(&sql)
            .map_err(|error| self.failed(error))?;
        let rows = statement.query_map([], |row| self.read(row));
        rows.and_then(Iterator::collect)
            .map_err(|error| self.failed(error))
    }

    fn read(&self, row: &Row<'_>) -> rusqlite::Result<Experiment> {
        let id: String = row.get("id")?;
        let state: String = row.get("state")?;
        let state = match state.as_str() {
            "done" => ExperimentState::Done,
            "failed" => ExperimentState::Failed,
            "running" if FileLock::is_held(&self.lock_path(&id)) => ExperimentState::Running,
            _ => ExperimentState::Interrupted,
        };
        Ok(Experiment {
            kind: row.get("kind")?,
            created: time_of(row.get("created_ms")?),
            created_local: row.get("created_local")?,
            finished: row.get::<_, Option<i64>>("finished_ms")?.map(time_of),
            base: row.get("base")?,
            head: row.get("head")?,
            seed: row.get::<_, String>("seed")?.parse().unwrap_or(0),
            plan: row.get("plan")?,
            machine: row.get("machine")?,
            perfblame: row.get("perfblame")?,
            state,
            summary: row.get("summary")?,
            outcome: row.get("outcome")?,
            id,
        })
    }

    fn lock_path(&self, id: &str) -> PathBuf {
        self.directory.join("running").join(format!("{id}.lock"))
    }

    fn lock(&self, id: &str) -> Result<FileLock, StoreError> {
        let path = self.lock_path(id);
        let directory = self.directory.join("running");
        std::fs::create_dir_all(&directory)
            .map_err(|error| StoreError::of_io(&directory, error))?;
        // A second try, because somebody who only looks holds the lock for an instant.
        for _ in 0..20 {
            let lock = FileLock::try_acquire(&path);
            if let Some(lock) = lock.map_err(|error| StoreError::of_io(&path, error))? {
                return Ok(lock);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Err(StoreError::StillRunning {
            id: id.to_owned(),
            pid: FileLock::holder(&path).map_or("unknown".to_owned(), |pid| pid.to_string()),
        })
    }
}

fn as_milliseconds<S: serde::Serializer>(time: &SystemTime, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_i64(milliseconds(*time))
}

fn as_optional_milliseconds<S: serde::Serializer>(
    time: &Option<SystemTime>,
    out: S,
) -> Result<S::Ok, S::Error> {
    time.map(milliseconds).serialize(out)
}

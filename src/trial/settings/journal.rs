//! What settings were before they were changed: on disk before the change, gone after the restoring.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::executor::Cancel;
use crate::store::FileLock;

use super::access::{self, Place};
use super::value;
use super::{LeftOver, SettingError};

/// Names a directory for the journal in place of `/run/perfblame`.
const STATE_DIR: &str = "PERFBLAME_STATE_DIR";
/// How long a trial waits for the settings of another run's trial.
const PATIENCE: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(50);
const JOURNAL: &str = "settings.json";
const LOCK: &str = "settings.lock";
/// Held by whoever starts trials that set the machine, for one trial.
const TURN: &str = "settings.turn";

/// A setting that is about to be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Change {
    /// The setting.
    pub name: String,
    /// Where.
    pub place: Place,
    /// What is to be written to get back.
    pub was: String,
}

/// The journal, locked by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    changes: Vec<Change>,
    _lock: FileLock,
}

impl Journal {
    /// Opens the machine's journal, with whatever a killed process left in it. Waits for a trial of
    /// another run that has settings of its own.
    pub fn open(cancel: &Cancel) -> Result<Self, SettingError> {
        let dir = state_dir();
        let until = Instant::now() + PATIENCE;
        loop {
            match Self::open_in(&dir) {
                Err(SettingError::Busy { .. }) if Instant::now() < until && !cancel.is_set() => {
                    std::thread::sleep(PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// Opens it if a killed process left something; `None` if not, or if that process lives.
    pub fn open_left_over() -> Result<Option<Self>, SettingError> {
        let dir = state_dir();
        if !dir.join(JOURNAL).exists() {
            return Ok(None);
        }
        match Self::open_in(&dir) {
            Ok(journal) => Ok(Some(journal)),
            Err(SettingError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the journal of a directory.
    pub fn open_in(dir: &Path) -> Result<Self, SettingError> {
        let path = dir.join(JOURNAL);
        let failed = |source| SettingError::Journal {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(dir).map_err(failed)?;
        // What stands in the journal is written and run: it must be one's own.
        let owner = std::fs::metadata(dir).map_err(failed)?.uid();
        if owner != nix::unistd::geteuid().as_raw() {
            return Err(failed(std::io::Error::other(
                "the directory belongs to another user; name one of your own by PERFBLAME_STATE_DIR",
            )));
        }
        let lock = dir.join(LOCK);
        let Some(held) = FileLock::try_acquire(&lock).map_err(failed)? else {
            let holder = FileLock::holder(&lock).map(|pid| pid.to_string());
            return Err(SettingError::Busy {
                holder: holder.unwrap_or_else(|| "unknown".to_owned()),
            });
        };
        let changes = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| failed(std::io::Error::other(error)))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        Ok(Self {
            path,
            changes,
            _lock: held,
        })
    }

    /// Notes a change; it is on disk when this returns.
    pub fn note(&mut self, change: Change) -> Result<(), SettingError> {
        self.changes.push(change);
        self.write()
    }

    /// Forgets the last change, which was not made after all.
    pub fn forget_last(&mut self) -> Result<(), SettingError> {
        self.changes.pop();
        self.write()
    }

    /// The error of a restoring that failed, for whoever finds what another run left.
    pub fn left_over(&self, error: &SettingError) -> SettingError {
        let change = self.changes.first();
        SettingError::LeftOver {
            name: change.map_or_else(String::new, |change| change.name.clone()),
            was: change.map_or_else(String::new, |change| change.was.clone()),
            reason: error.to_string(),
            path: self.path.clone(),
        }
    }

    /// Restores everything, the last change first, and empties the journal. Returns the names.
    ///
    /// # Errors
    /// The first that could not be restored; the others are, and the journal keeps that one.
    pub fn restore(&mut self) -> Result<Vec<String>, SettingError> {
        let mut names = Vec::new();
        let mut kept = Vec::new();
        let mut failure = None;
        while let Some(change) = self.changes.pop() {
            match restore_one(&change) {
                Ok(()) => names.push(change.name),
                Err(error) => {
                    kept.insert(0, change);
                    failure.get_or_insert(error);
                }
            }
        }
        self.changes = kept;
        self.write()?;
        match failure {
            Some(error) => Err(error),
            None => Ok(names),
        }
    }

    /// Lets go of the journal without restoring, as a killed process does.
    #[cfg(test)]
    pub fn abandon(self) {}

    fn write(&self) -> Result<(), SettingError> {
        let written = match self.changes.is_empty() {
            true => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            false => self.write_whole(),
        };
        written.map_err(|source| SettingError::Journal {
            path: self.path.clone(),
            source,
        })
    }

    fn write_whole(&self) -> std::io::Result<()> {
        let part = self.path.with_extension("part");
        let mut file = std::fs::File::create(&part)?;
        file.write_all(&serde_json::to_vec(&self.changes)?)?;
        file.sync_all()?;
        std::fs::rename(&part, &self.path)
    }
}

/// Writes back what was, and looks whether that is what is there now: a write that ends with an error
/// may have done it all the same, and one that does not may not.
fn restore_one(change: &Change) -> Result<(), SettingError> {
    let Change { name, place, was } = change;
    if value::is(&access::read(name, place)?, was) {
        return Ok(());
    }
    let written = access::write(name, place, was, "");
    let now = access::read(name, place)?;
    if value::is(&now, was) {
        return Ok(());
    }
    written?;
    Err(SettingError::NotTaken {
        name: name.clone(),
        value: was.clone(),
        place: place.to_string(),
        got: now.trim().to_owned(),
    })
}

/// Waits until no other run has a trial with settings under way. Held until the trial is over; its own
/// time does not run meanwhile. `None` when cancelled.
pub fn turn(cancel: &Cancel) -> Result<Option<FileLock>, SettingError> {
    let path = state_dir().join(TURN);
    let failed = |source| SettingError::Journal {
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(state_dir()).map_err(failed)?;
    FileLock::acquire(&path, &mut |_| {}, &|| cancel.is_set()).map_err(failed)
}

/// What a killed process left; none where there is nothing, or where its process lives.
pub fn peek() -> Option<LeftOver> {
    peek_in(&state_dir())
}

fn peek_in(dir: &Path) -> Option<LeftOver> {
    let path = dir.join(JOURNAL);
    let changes: Vec<Change> = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
    let names: Vec<String> = changes.into_iter().map(|change| change.name).collect();
    let is_left = !names.is_empty() && !FileLock::is_held(&dir.join(LOCK));
    is_left.then_some(LeftOver { path, names })
}

/// Where the journal is: it goes with a reboot, as the settings do.
fn state_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os(STATE_DIR) {
        return PathBuf::from(dir);
    }
    let machine = PathBuf::from("/run/perfblame");
    if nix::unistd::geteuid().is_root() {
        return machine;
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) => PathBuf::from(dir).join("perfblame"),
        None => std::env::temp_dir().join(format!("perfblame-{}", nix::unistd::geteuid())),
    }
}

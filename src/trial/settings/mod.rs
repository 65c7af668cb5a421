//! Settings of the machine: applied for a trial, read back, and restored whatever happens.
//!
//! What a setting was is written to a journal before it is changed, so that the next start can
//! restore what a killed process left. Settings belong to the machine, and so does the journal:
//! one process at a time changes them.

mod access;
mod journal;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::executor::Cancel;
use crate::plan::CustomSetting;
use crate::plan::settings::place;

use journal::{Change, Journal};

pub use journal::turn;

/// Why a setting could not be made, or not be restored.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The name or its definition.
    #[error("{0}")]
    Unknown(String),
    /// The kernel has no such file.
    #[error(
        "setting {name}: this kernel has no {path}; leave the setting out, or use a kernel that has it"
    )]
    Absent {
        /// The setting.
        name: String,
        /// The file.
        path: String,
    },
    /// It cannot be read.
    #[error("setting {name}: cannot read {place}: {reason}")]
    Read {
        /// The setting.
        name: String,
        /// File or command.
        place: String,
        /// What the system said.
        reason: String,
    },
    /// It cannot be written.
    #[error("setting {name}: cannot write `{value}` to {place}: {reason}{hint}")]
    Write {
        /// The setting.
        name: String,
        /// The value.
        value: String,
        /// File or command.
        place: String,
        /// What the system said.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// It was written, and reads as something else.
    #[error("setting {name}: wrote `{value}` to {place}, and it reads `{got}`")]
    NotTaken {
        /// The setting.
        name: String,
        /// The value.
        value: String,
        /// File or command.
        place: String,
        /// What it reads.
        got: String,
    },
    /// What an earlier run left cannot be restored.
    #[error(
        "an earlier run left setting {name} changed, and it cannot be restored to `{was}` ({reason}): restore it by hand, and remove {}",
        path.display()
    )]
    LeftOver {
        /// The setting.
        name: String,
        /// Its value before.
        was: String,
        /// Why it cannot be restored.
        reason: String,
        /// The journal.
        path: PathBuf,
    },
    /// Another process has changed settings and still runs.
    #[error(
        "another perfblame (process {holder}) has changed settings of this machine; wait for it to end"
    )]
    Busy {
        /// Its process id.
        holder: String,
    },
    /// The journal.
    #[error("cannot keep the settings' journal {}: {source}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Settings that are in force. Dropping them restores what was.
#[derive(Debug)]
pub struct Applied {
    journal: Option<Journal>,
}

impl Applied {
    /// Applies settings, one after the other; where one fails, those before it are restored.
    ///
    /// # Errors
    /// See [`SettingError`]; nothing is changed then.
    pub fn apply(
        settings: &BTreeMap<String, String>,
        own: &BTreeMap<String, CustomSetting>,
        cancel: &Cancel,
    ) -> Result<Self, SettingError> {
        if settings.is_empty() {
            // What an earlier trial left is not what this one is to run under. Where it cannot be restored,
            // that stops nobody who sets nothing: whoever reports says so.
            let _ = recover();
            return Ok(Self { journal: None });
        }
        let mut journal = Journal::open(cancel)?;
        journal
            .restore()
            .map_err(|error| journal.left_over(&error))?;
        let mut applied = Self {
            journal: Some(journal),
        };
        applied.set_all(settings, own)?;
        Ok(applied)
    }

    fn set_all(
        &mut self,
        settings: &BTreeMap<String, String>,
        own: &BTreeMap<String, CustomSetting>,
    ) -> Result<(), SettingError> {
        for (name, value) in settings {
            let places = place(name, own).map_err(SettingError::Unknown)?;
            self.set(name, &access::resolve(name, &places)?, value)?;
        }
        Ok(())
    }

    fn set(
        &mut self,
        name: &str,
        places: &[access::Place],
        value: &str,
    ) -> Result<(), SettingError> {
        for place in places {
            let was = access::read(name, place)?;
            if value::is(&was, value) {
                continue;
            }
            let change = Change {
                name: name.to_owned(),
                place: place.clone(),
                was: value::to_write(&was),
            };
            if let Some(journal) = &mut self.journal {
                journal.note(change)?;
            }
            if let Err(error) = access::write(name, place, value, &was) {
                // A write that was refused has changed nothing: there is nothing to restore then.
                let unchanged = access::read(name, place).is_ok_and(|now| now == was);
                if let Some(journal) = self.journal.as_mut().filter(|_| unchanged) {
                    journal.forget_last()?;
                }
                return Err(error);
            }
            let got = access::read(name, place)?;
            if !value::is(&got, value) {
                return Err(SettingError::NotTaken {
                    name: name.to_owned(),
                    value: value.to_owned(),
                    place: place.to_string(),
                    got: got.trim().to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Restores what was, and says what could not be restored.
    pub fn restore(mut self) -> Result<(), SettingError> {
        self.undo()
    }

    fn undo(&mut self) -> Result<(), SettingError> {
        match self.journal.take() {
            Some(mut journal) => journal.restore().map(|_| ()),
            None => Ok(()),
        }
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        // Whoever did not call `restore` has an error of its own to tell.
        let _ = self.undo();
    }
}

/// Restores what a killed process left. Returns the names of the settings; none where there is
/// nothing, or where another process that has changed settings still runs.
pub fn recover() -> Result<Vec<String>, SettingError> {
    match Journal::open_left_over()? {
        Some(mut journal) => journal.restore().map_err(|error| journal.left_over(&error)),
        None => Ok(Vec::new()),
    }
}

/// What a killed process left changed, and nobody has restored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOver {
    /// The journal.
    pub path: PathBuf,
    /// The settings' names.
    pub names: Vec<String>,
}

/// Looks for what a killed process left, and changes nothing.
pub fn left_over() -> Option<LeftOver> {
    journal::peek()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(dir: &std::path::Path, names: &[&str]) -> BTreeMap<String, CustomSetting> {
        let own = names.iter().map(|name| {
            let path = dir.join(name);
            std::fs::write(&path, "old\n").unwrap();
            let path = Some(path.display().to_string());
            let setting = CustomSetting {
                path,
                ..CustomSetting::default()
            };
            ((*name).to_owned(), setting)
        });
        own.collect()
    }

    fn settings(names: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = names.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn nothing_to_set_touches_nothing() {
        let cancel = Cancel::default();
        let applied = Applied::apply(&BTreeMap::new(), &BTreeMap::new(), &cancel).unwrap();
        assert!(applied.journal.is_none());
        applied.restore().unwrap();
    }

    #[test]
    fn a_setting_that_fails_restores_those_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open_in(&dir.path().join("state")).unwrap();
        let own = own(dir.path(), &["a", "b"]);
        std::fs::remove_file(dir.path().join("b")).unwrap();
        let mut applied = Applied {
            journal: Some(journal),
        };
        let wanted = settings(&[("a", "new"), ("b", "new")]);
        let error = applied.set_all(&wanted, &own).unwrap_err();
        assert!(matches!(error, SettingError::Absent { .. }), "{error}");
        let read = || std::fs::read_to_string(dir.path().join("a")).unwrap();
        assert_eq!(read(), "new");
        drop(applied);
        assert_eq!(read(), "old");
    }

    #[test]
    fn what_a_killed_process_left_is_restored_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let own = own(dir.path(), &["a"]);
        let mut applied = Applied {
            journal: Some(Journal::open_in(&state).unwrap()),
        };
        applied.set_all(&settings(&[("a", "new")]), &own).unwrap();
        // As if killed: the lock is free, nothing was restored.
        applied.journal.take().unwrap().abandon();
        let read = || std::fs::read_to_string(dir.path().join("a")).unwrap();
        assert_eq!(read(), "new");
        let mut journal = Journal::open_in(&state).unwrap();
        assert_eq!(journal.restore().unwrap(), ["a"]);
        assert_eq!(read(), "old");
        assert!(journal.restore().unwrap().is_empty());
    }

    /// A setting that is a file, written by a program.
    fn written_by(dir: &std::path::Path, write: &str) -> BTreeMap<String, CustomSetting> {
        let path = dir.join("a");
        std::fs::write(&path, "old\n").unwrap();
        let file = path.display().to_string();
        let words = |words: &[&str]| {
            crate::plan::CommandLine(words.iter().map(|word| (*word).to_owned()).collect())
        };
        let setting = CustomSetting {
            path: None,
            read: Some(words(&["cat", &file])),
            write: Some(words(&["sh", "-c", write, "sh", &file, "{value}"])),
        };
        BTreeMap::from([("a".to_owned(), setting)])
    }

    #[test]
    fn restoring_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        // Takes every value but the one that was there, and says nothing of it.
        let own = written_by(dir.path(), "[ $2 = old ] || echo $2 > $1");
        let mut applied = Applied {
            journal: Some(Journal::open_in(&dir.path().join("state")).unwrap()),
        };
        applied.set_all(&settings(&[("a", "new")]), &own).unwrap();
        let error = applied.restore().unwrap_err();
        assert!(matches!(error, SettingError::NotTaken { .. }), "{error}");
        // It is not forgotten.
        let mut journal = Journal::open_in(&dir.path().join("state")).unwrap();
        journal.restore().unwrap_err();

        // Fails, and has done it all the same.
        let dir = tempfile::tempdir().unwrap();
        let own = written_by(dir.path(), "echo $2 > $1; [ $2 != old ]");
        let mut applied = Applied {
            journal: Some(Journal::open_in(&dir.path().join("state")).unwrap()),
        };
        applied.set_all(&settings(&[("a", "new")]), &own).unwrap();
        applied.restore().unwrap();
    }

    #[test]
    fn what_a_program_leaves_running_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let own = written_by(dir.path(), "echo $2 > $1; sleep 20 &");
        let mut applied = Applied {
            journal: Some(Journal::open_in(&dir.path().join("state")).unwrap()),
        };
        let started = std::time::Instant::now();
        applied.set_all(&settings(&[("a", "new")]), &own).unwrap();
        applied.restore().unwrap();
        assert!(started.elapsed().as_secs() < 15);
    }

    #[test]
    fn one_process_at_a_time_changes_settings() {
        let dir = tempfile::tempdir().unwrap();
        let _first = Journal::open_in(dir.path()).unwrap();
        let error = Journal::open_in(dir.path()).unwrap_err();
        let me = std::process::id().to_string();
        assert!(error.to_string().contains(&me), "{error}");
    }
}

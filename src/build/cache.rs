//! Artifacts and failures on disk, by cache key.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::repo::Revision;

use super::artifact::{Artifact, ArtifactFile};
use super::error::BuildError;
use super::failure::Failure;

/// Version of [`Entry`] on disk; an entry of another version is not there.
const VERSION: u32 = 1;

/// What is known of a key: `STORE/artifacts/KEY/entry.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Entry {
    pub version: u32,
    /// Id of the commit that was built.
    pub built_from: String,
    pub system: Option<String>,
    pub steps: Vec<String>,
    pub compiler: String,
    pub build_ms: u64,
    pub outcome: Outcome,
}

/// How it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(super) enum Outcome {
    /// An artifact, in `files` beside the entry.
    Built {
        digest: String,
        main: String,
        files: Vec<ArtifactFile>,
        library_path: Vec<String>,
        warnings: Vec<String>,
    },
    /// A commit that does not build.
    Failed { failure: Failure },
}

/// The directory of all entries.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    directory: PathBuf,
}

impl Entry {
    /// An entry of the present version.
    pub fn new(built_from: &Revision, compiler: &str, outcome: Outcome) -> Self {
        Self {
            version: VERSION,
            built_from: built_from.id.clone(),
            system: None,
            steps: Vec::new(),
            compiler: compiler.to_owned(),
            build_ms: 0,
            outcome,
        }
    }
}

impl Cache {
    /// The cache of a store.
    pub fn of_store(store: &Path) -> Self {
        Self {
            directory: store.join("artifacts"),
        }
    }

    /// Where the log of a key is.
    pub fn log(&self, key: &str) -> PathBuf {
        self.directory.join(key).join("build.log")
    }

    /// Reads what is known of a key. An entry that is of another version, damaged or has lost files
    /// counts as not there: building again mends it.
    pub fn entry(&self, key: &str) -> Option<Entry> {
        let directory = self.directory.join(key);
        let text = fs::read(directory.join("entry.json")).ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        let is_whole = match &entry.outcome {
            Outcome::Built { files, .. } => files.iter().all(|file| {
                fs::metadata(directory.join("files").join(&file.path))
                    .is_ok_and(|metadata| metadata.len() == file.size)
            }),
            Outcome::Failed { .. } => true,
        };
        (entry.version == VERSION && is_whole).then_some(entry)
    }

    /// An entry as the artifact, or the failure, of a revision.
    pub fn outcome(
        &self,
        key: &str,
        entry: Entry,
        revision: &Revision,
        cached: bool,
    ) -> Result<Artifact, Failure> {
        let directory = self.directory.join(key);
        let log = self.log(key);
        match entry.outcome {
            Outcome::Failed { failure } => Err(Failure {
                cached,
                log,
                ..failure
            }),
            Outcome::Built {
                digest,
                main,
                files,
                library_path,
                warnings,
            } => {
                let dir = directory.join("files");
                Ok(Artifact {
                    key: key.to_owned(),
                    digest,
                    main: dir.join(main),
                    files,
                    library_path: library_path.iter().map(|path| dir.join(path)).collect(),
                    dir,
                    log,
                    cached,
                    revision: revision.clone(),
                    built_from: entry.built_from,
                    system: entry.system,
                    steps: entry.steps,
                    compiler: entry.compiler,
                    build_time: Duration::from_millis(entry.build_ms),
                    warnings,
                })
            }
        }
    }

    /// Makes an empty directory for a new entry, to be given to [`Self::publish`].
    pub fn stage(&self, key: &str) -> Result<PathBuf, BuildError> {
        let staged = self.directory.join(format!("{NEW_PREFIX}{key}"));
        remove(&staged)?;
        fs::create_dir_all(&staged).map_err(BuildError::io(&staged))?;
        Ok(staged)
    }

    /// Makes a staged directory the entry of its key, all or nothing, durably.
    pub fn publish(&self, key: &str, staged: &Path, entry: &Entry) -> Result<(), BuildError> {
        let path = staged.join("entry.json");
        let text = serde_json::to_vec_pretty(entry).map_err(|error| BuildError::Io {
            path: path.clone(),
            source: error.into(),
        })?;
        fs::write(&path, text).map_err(BuildError::io(&path))?;
        sync_tree(staged).map_err(BuildError::io(staged))?;
        let place = self.directory.join(key);
        let old = self.directory.join(format!("{OLD_PREFIX}{key}"));
        if place.exists() {
            fs::rename(&place, &old).map_err(BuildError::io(&place))?;
        }
        fs::rename(staged, &place).map_err(BuildError::io(&place))?;
        remove(&old)?;
        File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(BuildError::io(&self.directory))
    }

    /// Removes what a killed build left unfinished. Only for the holder of the workshop's lock.
    pub fn sweep(&self) -> Result<(), BuildError> {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(NEW_PREFIX) || name.starts_with(OLD_PREFIX) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

const NEW_PREFIX: &str = ".new-";
const OLD_PREFIX: &str = ".old-";

/// Removes a directory tree or a file; that it is not there is no error. Directories that a build
/// made unwritable are made writable first.
pub(super) fn remove(path: &Path) -> Result<(), BuildError> {
    let first = remove_once(path);
    if first.is_ok() {
        return Ok(());
    }
    make_writable(path);
    remove_once(path).map_err(BuildError::io(path))
}

fn remove_once(path: &Path) -> std::io::Result<()> {
    let outcome = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match outcome {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn make_writable(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let is_directory = fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_dir());
    if is_directory {
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o755));
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            make_writable(&entry.path());
        }
    }
}

fn sync_tree(path: &Path) -> std::io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            sync_tree(&entry?.path())?;
        }
    }
    if metadata.is_dir() || metadata.is_file() {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

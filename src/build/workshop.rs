//! The place that every commit is built at.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::executor::Cancel;
use crate::store::FileLock;

use super::cache::remove;
use super::environment::Places;
use super::error::BuildError;

/// `STORE/build`: locked by one build at a time, in this process or another.
#[derive(Debug, Clone)]
pub(super) struct Workshop {
    root: PathBuf,
    source: PathBuf,
    inputs: PathBuf,
    shims: PathBuf,
    temporary: PathBuf,
    kernel_source: PathBuf,
}

/// Name of the directory that stays from one kernel to the next.
const KERNEL: &str = "kernel";

/// A workshop that nobody else builds in.
#[derive(Debug)]
pub(super) struct OpenWorkshop<'a> {
    pub places: Places<'a>,
    /// Log of the build, until it is put beside the artifact.
    pub log: PathBuf,
    lock: PathBuf,
    kernel_source: &'a Path,
    _held: FileLock,
}

impl Workshop {
    /// The workshop of a store; its path is made absolute, because builds write it down.
    pub fn of_store(store: &Path) -> Result<Self, BuildError> {
        let root = store.join("build");
        fs::create_dir_all(&root).map_err(BuildError::io(&root))?;
        let root = fs::canonicalize(&root).map_err(BuildError::io(&root))?;
        Ok(Self {
            source: root.join("source"),
            inputs: root.join("inputs"),
            shims: root.join("shims"),
            temporary: root.join("tmp"),
            kernel_source: root.join(KERNEL).join("source"),
            root,
        })
    }

    /// Where the source tree of every commit is put.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// Where the source tree of every kernel is put.
    pub fn kernel_source(&self) -> &Path {
        &self.kernel_source
    }

    /// Waits until nobody builds here, and clears away what the last build left, finished or killed.
    pub fn open(
        &self,
        waits: &mut dyn FnMut(Option<u32>),
        cancel: &Cancel,
    ) -> Result<OpenWorkshop<'_>, BuildError> {
        let path = self.root.join("lock");
        let held = FileLock::acquire(&path, waits, &|| cancel.is_set())
            .map_err(BuildError::io(&path))?
            .ok_or(BuildError::Interrupted)?;
        clear(&self.root, &path)?;
        fs::create_dir(&self.temporary).map_err(BuildError::io(&self.temporary))?;
        Ok(OpenWorkshop {
            places: Places {
                workshop: &self.root,
                source: &self.source,
                inputs: &self.inputs,
                shims: &self.shims,
                temporary: &self.temporary,
            },
            log: self.root.join("build.log"),
            lock: path,
            kernel_source: &self.kernel_source,
            _held: held,
        })
    }
}

impl OpenWorkshop<'_> {
    /// The places of a kernel's build.
    pub fn kernel_places(&self) -> Places<'_> {
        Places {
            source: self.kernel_source,
            ..self.places
        }
    }

    /// The directory that stays from one kernel to the next.
    pub fn kernel(&self) -> PathBuf {
        self.places.workshop.join(KERNEL)
    }

    /// Writes the files that the caller gave.
    pub fn put_inputs(&self, inputs: &BTreeMap<String, Vec<u8>>) -> Result<(), BuildError> {
        let directory = self.places.inputs;
        fs::create_dir(directory).map_err(BuildError::io(directory))?;
        for (name, content) in inputs {
            let path = directory.join(name);
            fs::write(&path, content).map_err(BuildError::io(&path))?;
        }
        Ok(())
    }

    /// Clears everything away after a build that succeeded; the tree of one that failed stays until
    /// the next, to be looked at.
    pub fn clear(self) -> Result<(), BuildError> {
        clear(self.places.workshop, &self.lock)
    }
}

/// Removes everything in the workshop but its lock and what kernels are built upon.
fn clear(root: &Path, lock: &Path) -> Result<(), BuildError> {
    for entry in fs::read_dir(root).map_err(BuildError::io(root))? {
        let entry = entry.map_err(BuildError::io(root))?;
        if entry.path() != lock && entry.file_name() != KERNEL {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

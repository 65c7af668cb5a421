//! The source and object trees that stay in the workshop between kernels.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::repo::{ExportOptions, ExportReport, Manifest, Repository, Revision};

use super::super::cache::remove;
use super::super::error::BuildError;

/// `STORE/build/kernel`.
#[derive(Debug)]
pub struct KeptTrees {
    root: PathBuf,
    /// The source tree.
    pub source: PathBuf,
    /// What was made of it.
    pub objects: PathBuf,
}

impl KeptTrees {
    /// The trees of a workshop.
    pub fn in_workshop(root: &Path, source: &Path) -> Self {
        Self {
            objects: root.join("objects"),
            source: source.to_owned(),
            root: root.to_owned(),
        }
    }

    /// Makes the source tree that of a revision, and keeps objects that were made by the same
    /// `recipe`; says whether there are any. From here on the trees count as damaged until
    /// [`Self::seal`].
    pub fn prepare(
        &self,
        repository: &Repository,
        revision: &Revision,
        options: &ExportOptions,
        recipe: &str,
        anew: bool,
    ) -> Result<(ExportReport, Manifest, bool), BuildError> {
        let held = self.held();
        let made_by = fs::read_to_string(self.recipe_file()).ok();
        for file in [self.manifest_file(), self.recipe_file()] {
            remove(&file)?;
        }
        let keeps_objects = !anew
            && held.is_some()
            && made_by.as_deref() == Some(&digest(recipe))
            && self.objects.is_dir();
        if !keeps_objects {
            remove(&self.objects)?;
        }
        let (report, manifest) = match held {
            Some(held) => repository.refresh(revision, &self.source, &held, options)?,
            None => {
                remove(&self.source)?;
                fs::create_dir_all(&self.root).map_err(BuildError::io(&self.root))?;
                let report = repository.export(revision, &self.source, options)?;
                (report, Manifest::of(repository, revision, options)?)
            }
        };
        fs::create_dir_all(&self.objects).map_err(BuildError::io(&self.objects))?;
        Ok((report, manifest, keeps_objects))
    }

    /// Says that `make` came to its own end, so that the next kernel can be built upon this one.
    pub fn seal(&self, manifest: &Manifest, recipe: &str) -> Result<(), BuildError> {
        let write = |path: PathBuf, content: &[u8]| {
            fs::write(&path, content).map_err(BuildError::io(&path))
        };
        write(self.recipe_file(), digest(recipe).as_bytes())?;
        // Last: without it nothing is kept.
        write(self.manifest_file(), &manifest.to_bytes())
    }

    fn held(&self) -> Option<Manifest> {
        let bytes = fs::read(self.manifest_file()).ok()?;
        self.source.is_dir().then(|| Manifest::parse(&bytes))?
    }

    fn manifest_file(&self) -> PathBuf {
        self.root.join("manifest")
    }

    fn recipe_file(&self) -> PathBuf {
        self.root.join("recipe")
    }
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! What a build gives.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::repo::Revision;

/// The file of a kernel that is booted.
pub(super) const KERNEL_IMAGE: &str = "bzImage";
/// The file of a kernel that holds all code and symbols.
pub(super) const KERNEL_CODE: &str = "vmlinux";

/// The built files of one revision under one recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Cache key: tree under `subject.paths`, recipe, compiler.
    pub key: String,
    /// Digest of what the files do, 64 hex digits: two artifacts with the same digest are the same
    /// program, see [`super::program_digest()`].
    pub digest: String,
    /// Root of the files; each has the path here that it had in the source tree.
    pub dir: PathBuf,
    /// The main file, absolute.
    pub main: PathBuf,
    /// All files, sorted by path.
    pub files: Vec<ArtifactFile>,
    /// Directories of shared libraries that were built too, for `LD_LIBRARY_PATH`; absolute.
    pub library_path: Vec<PathBuf>,
    /// The build's log.
    pub log: PathBuf,
    /// Whether it was there already.
    pub cached: bool,
    /// The revision that was asked for.
    pub revision: Revision,
    /// Id of the commit that was in fact built: another one where both have the same key.
    pub built_from: String,
    /// What the build was recognised as; `None` where the plan has steps.
    pub system: Option<String>,
    /// The steps that were run.
    pub steps: Vec<String>,
    /// The compilers, as they name themselves.
    pub compiler: String,
    /// What the build took, when it was done.
    pub build_time: Duration,
    /// What a reader must know: no symbols, missing LFS files, skipped submodules.
    pub warnings: Vec<String>,
}

impl Artifact {
    /// Whether both are the same program, so that measuring one against the other shows noise only.
    pub fn is_same_program(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Where the artifact is a kernel, the file that holds its code and symbols.
    pub fn kernel_code(&self) -> Option<&ArtifactFile> {
        let is_kernel = self.main.file_name()? == KERNEL_IMAGE;
        let mut files = self.files.iter();
        files.find(|file| is_kernel && file.path == KERNEL_CODE)
    }
}

/// A file of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArtifactFile {
    /// Path relative to the source tree.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Digest of what the file does, 64 hex digits.
    pub digest: String,
}

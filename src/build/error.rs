//! What can go wrong between a commit and its artifact.

use std::path::{Path, PathBuf};

use crate::executor::ProcessError;
use crate::repo::RepoError;

use super::failure::Failure;
use super::kernel::KernelTool;

/// Why there is no artifact.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The commit cannot be exported, or its tree cannot be read.
    #[error(transparent)]
    Repository(#[from] RepoError),
    /// The commit does not build: a fact about the commit, kept so that it is not found out twice.
    #[error("commit {commit} \"{subject_line}\" does not build: {failure}")]
    Failed {
        /// Short id of the commit that was asked for.
        commit: String,
        /// First line of its message.
        subject_line: String,
        /// What happened.
        failure: Box<Failure>,
    },
    /// No build system was recognised.
    #[error(
        "no build system was recognised in commit {commit} (looked for Cargo.toml, configure, \
         Makefile, meson.build, CMakeLists.txt, autogen.sh, configure.ac); \
         say how to build it with build.steps and build.artifact"
    )]
    NotRecognised {
        /// Short id of the commit.
        commit: String,
    },
    /// A tool that the recognised build needs is not installed.
    #[error(
        "{tool} is not installed, and commit {commit} is built with {system}; install it or name other build.steps"
    )]
    NoTool {
        /// The tool.
        tool: String,
        /// What the build was recognised as.
        system: String,
        /// Short id of the commit.
        commit: String,
    },
    /// Tools that a kernel is built with are not installed.
    #[error(
        "{} {} not installed, and commit {commit} is a kernel; as root: apt-get install {}",
        names(missing), if missing.len() == 1 { "is" } else { "are" }, packages(missing)
    )]
    NoKernelTools {
        /// The tools.
        missing: Vec<KernelTool>,
        /// Short id of the commit.
        commit: String,
    },
    /// The kernel's Makefile refuses the place of the store.
    #[error(
        "kernels cannot be built at {}: their Makefile takes no path with a space or a colon; \
         keep the store elsewhere with --store DIR",
        path.display()
    )]
    KernelPath {
        /// The place.
        path: PathBuf,
    },
    /// No room.
    #[error(
        "the disk is full at {} ({free_mib} MiB are free) while building commit {commit}; make room, \
         or keep the store on another disk with --store DIR; the log is {}",
        path.display(), log.display()
    )]
    DiskFull {
        /// Where.
        path: PathBuf,
        /// Free space in MiB.
        free_mib: u64,
        /// Short id of the commit.
        commit: String,
        /// The build's log.
        log: PathBuf,
    },
    /// The user wished to stop.
    #[error("interrupted while building")]
    Interrupted,
    /// A step could not be started or watched.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The names as a list in a sentence.
fn names(missing: &[KernelTool]) -> String {
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    names.join(", ")
}

fn packages(missing: &[KernelTool]) -> String {
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    packages.join(" ")
}

impl BuildError {
    /// Whether the commit is at fault and not the machine: a search then skips it and goes on.
    pub fn is_about_commit(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::NotRecognised { .. } => true,
            Self::Repository(error) => matches!(
                error,
                RepoError::SubmoduleMissing { .. }
                    | RepoError::HostileEntry { .. }
                    | RepoError::NothingMatches { .. }
                    | RepoError::NotFetched { .. }
                    | RepoError::Damaged { .. }
            ),
            _ => false,
        }
    }

    /// For `map_err`: a failed operation on a file.
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

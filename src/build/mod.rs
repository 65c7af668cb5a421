//! From a commit's tree to an artifact: recipe, runner, cache.
//!
//! Every commit is built at one and the same place, the *workshop* `STORE/build/source`: a build
//! writes its own path into what it makes (`__FILE__`, debug information, search paths), and equal
//! code must give equal files. The artifact is then copied to `STORE/artifacts/KEY/files`, where KEY
//! is made of the tree under `subject.paths`, the recipe, and the compiler; failures are kept there
//! too.

mod artifact;
mod builder;
mod cache;
mod collect;
mod compiler;
mod elf;
mod environment;
mod error;
mod failure;
mod kernel;
mod key;
mod libraries;
mod log;
mod program_digest;
mod recognise;
mod request;
mod runner;
mod shims;
mod work;
mod workshop;

pub use artifact::{Artifact, ArtifactFile};
pub use builder::Builder;
pub use error::BuildError;
pub use failure::{Failure, FailureReason};
pub use kernel::{KernelTool, missing_kernel_tools};
pub use program_digest::program_digest;
pub use recognise::{BuildSystem, Recognised, recognise};
pub use request::{BuildEvent, BuildRequest, Known, Reuse};

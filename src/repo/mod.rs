//! What is asked of git, through git2.
//!
//! The user's checkout, index, references and objects are only read. The one thing that is ever
//! written is a line in `info/exclude`, so that the store does not show up in `git status`.

mod changes;
mod class;
mod error;
mod exclude;
mod export;
mod history;
mod lfs;
mod listing;
mod pathspec;
mod refresh;
mod repository;
mod revision;
mod submodule;

pub use changes::{ChangeKind, FileChange, Hunk};
pub use class::PathsDigester;
pub use error::RepoError;
pub use export::{ExportOptions, ExportReport, ExportedSubmodule, PART_PREFIX};
pub use history::Walk;
pub use pathspec::{Pathspecs, glob_regex};
pub use refresh::Manifest;
pub use repository::Repository;
pub use revision::Revision;

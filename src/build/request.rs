//! What a build is asked, and what it tells while it goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::{Recipe, SubjectKind};
use crate::repo::{PathsDigester, Repository, Revision};

use super::artifact::Artifact;
use super::failure::Failure;

/// What is to be built.
#[derive(Debug, Clone, Copy)]
pub struct BuildRequest<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The revision.
    pub revision: &'a Revision,
    /// What kind of thing it is.
    pub kind: SubjectKind,
    /// How.
    pub recipe: &'a Recipe,
    /// What of the tree matters: `subject.paths`.
    pub paths: &'a PathsDigester,
    /// Files that steps find under `{inputs}`, by name; their content is part of the cache key.
    pub inputs: &'a BTreeMap<String, Vec<u8>>,
    /// Which earlier builds count.
    pub reuse: Reuse,
}

/// Which earlier builds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Artifacts and failures: a broken commit is not built again. For `bisect`.
    Everything,
    /// Artifacts only: what failed may work now. For `compare`.
    Artifacts,
    /// None: build anew. For `--rebuild`.
    Nothing,
}

/// What is known of a revision without building it.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// It was built.
    Artifact(Box<Artifact>),
    /// It does not build.
    Failure(Box<Failure>),
    /// It was never built; the key is the one that its build would have.
    Nothing {
        /// Cache key.
        key: String,
    },
}

/// What a build is doing, for whoever waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildEvent {
    /// Another build goes on in this store, in the process named, and is waited for.
    Waiting {
        /// Process id.
        holder: Option<u32>,
    },
    /// The tree is being written.
    Exporting,
    /// A step begins.
    Step {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        count: usize,
        /// The command.
        command: String,
    },
    /// Something that the user should know.
    Note {
        /// In a sentence.
        text: String,
    },
    /// It was built.
    Built {
        /// How long that took.
        time: Duration,
    },
}

//! A repository, a store beside it, and a builder.

// Each test crate uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfblame::build::{Artifact, BuildError, BuildEvent, BuildRequest, Builder, Known, Reuse};
use perfblame::executor::{Cancel, Supervisor};
use perfblame::plan::{Recipe, SubjectKind};
use perfblame::repo::{PathsDigester, Pathspecs, Repository};

use crate::repository::TestRepository;

/// What a test builds with.
pub struct Builds {
    pub repository: TestRepository,
    pub store: PathBuf,
    pub kind: SubjectKind,
    pub recipe: Recipe,
    pub paths: Vec<String>,
    pub reuse: Reuse,
    pub inputs: BTreeMap<String, Vec<u8>>,
    pub events: Vec<BuildEvent>,
}

impl Builds {
    /// Builds of a repository whose store is where perfblame puts it.
    pub fn of(repository: TestRepository) -> Self {
        let store = repository.path().join(".perfblame");
        Self {
            repository,
            store,
            kind: SubjectKind::Program,
            recipe: Recipe::default(),
            paths: Vec::new(),
            reuse: Reuse::Everything,
            inputs: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Builds with these steps and artifact paths.
    pub fn with_steps(repository: TestRepository, steps: &[&str], artifact: &[&str]) -> Self {
        let mut builds = Self::of(repository);
        builds.recipe.steps = steps.iter().map(|step| (*step).to_owned()).collect();
        builds.name_artifact(artifact);
        builds
    }

    pub fn name_artifact(&mut self, paths: &[&str]) {
        let path = |path: &&str| (*path).to_owned().try_into().unwrap();
        self.recipe.artifact = paths.iter().map(path).collect();
    }

    /// Builds a revision.
    pub fn build(&mut self, revision: &str) -> Result<Artifact, BuildError> {
        self.build_until(revision, &Cancel::default())
    }

    /// Builds a revision unless cancelled.
    pub fn build_until(&mut self, revision: &str, cancel: &Cancel) -> Result<Artifact, BuildError> {
        let mut events = Vec::new();
        let outcome = self.ask(revision, cancel, |builder, request| {
            builder.build(request, &mut |event| events.push(event))
        });
        self.events = events;
        outcome
    }

    /// What is known of a revision.
    pub fn known(&self, revision: &str) -> Known {
        self.ask(revision, &Cancel::default(), |builder, request| {
            builder.known(request)
        })
        .unwrap()
    }

    fn ask<T>(
        &self,
        revision: &str,
        cancel: &Cancel,
        question: impl FnOnce(&Builder, &BuildRequest<'_>) -> T,
    ) -> T {
        let repository = Repository::open(self.repository.path()).unwrap();
        let revision = repository.resolve(revision).unwrap();
        let paths = PathsDigester::new(Pathspecs::parse(&self.paths).unwrap());
        let supervisor = Supervisor::at(Path::new(env!("CARGO_BIN_EXE_perfblame")));
        let builder = Builder::new(&self.store, supervisor, cancel.clone()).unwrap();
        let request = BuildRequest {
            repository: &repository,
            revision: &revision,
            kind: self.kind,
            recipe: &self.recipe,
            paths: &paths,
            inputs: &self.inputs,
            reuse: self.reuse,
        };
        question(&builder, &request)
    }
}

/// Runs an artifact as a trial does; its standard output.
pub fn run(artifact: &Artifact) -> String {
    let path = std::env::join_paths(&artifact.library_path).unwrap();
    let output = std::process::Command::new(&artifact.main)
        .env("LD_LIBRARY_PATH", path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

//! Builds a revision, or finds that it was built before.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::executor::{Cancel, Supervisor};
use crate::plan::SubjectKind;
use crate::repo::Revision;

use super::artifact::Artifact;
use super::cache::{Cache, Entry, Outcome};
use super::compiler::Compilers;
use super::error::BuildError;
use super::failure::{Failure, FailureReason};
use super::kernel;
use super::key::KeyParts;
use super::request::{BuildEvent, BuildRequest, Known, Reuse};
use super::work::Work;
use super::workshop::Workshop;

/// Builds revisions in the workshop of a store.
#[derive(Debug)]
pub struct Builder {
    workshop: Workshop,
    pub(super) cache: Cache,
    pub(super) supervisor: Supervisor,
    pub(super) cancel: Cancel,
    compilers: Compilers,
}

impl Builder {
    /// A builder that keeps everything in a store's directory.
    pub fn new(store: &Path, supervisor: Supervisor, cancel: Cancel) -> Result<Self, BuildError> {
        let workshop = Workshop::of_store(store)?;
        let store = fs::canonicalize(store).map_err(BuildError::io(store))?;
        Ok(Self {
            workshop,
            cache: Cache::of_store(&store),
            supervisor,
            cancel,
            compilers: Compilers::default(),
        })
    }

    /// What is known of a revision, without building it.
    pub fn known(&self, request: &BuildRequest<'_>) -> Result<Known, BuildError> {
        let (key, _) = self.key(request)?;
        Ok(match self.cache.entry(&key) {
            Some(entry) => match self.cache.outcome(&key, entry, request.revision, true) {
                Ok(artifact) => Known::Artifact(Box::new(artifact)),
                Err(failure) => Known::Failure(Box::new(failure)),
            },
            None => Known::Nothing { key },
        })
    }

    /// Builds a revision unless it was built before; `tell` hears how it goes.
    pub fn build(
        &self,
        request: &BuildRequest<'_>,
        tell: &mut dyn FnMut(BuildEvent),
    ) -> Result<Artifact, BuildError> {
        let (key, compiler) = self.key(request)?;
        if let Some(outcome) = self.reused(&key, request) {
            return outcome;
        }
        let mut waits = |holder| tell(BuildEvent::Waiting { holder });
        let workshop = self.workshop.open(&mut waits, &self.cancel)?;
        // Whoever was waited for may have built just this.
        if let Some(outcome) = self.reused(&key, request) {
            return outcome;
        }
        self.cache.sweep()?;
        let started = Instant::now();
        let work = Work {
            builder: self,
            request,
            workshop: &workshop,
            key: &key,
        };
        let mut entry = Entry::new(
            request.revision,
            &compiler,
            Outcome::Failed {
                failure: work.failure(FailureReason::NothingMade),
            },
        );
        let staged = self.cache.stage(&key)?;
        let files = staged.join("files");
        entry.outcome = match request.kind {
            SubjectKind::Kernel => work.make_kernel(&mut entry, &files, tell),
            SubjectKind::Program | SubjectKind::Installed => work.make(&mut entry, &files, tell),
        }
        .map_err(|error| work.disk_or(error))?;
        let time = started.elapsed();
        entry.build_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let log = staged.join("build.log");
        fs::copy(&workshop.log, &log).map_err(BuildError::io(&log))?;
        self.cache.publish(&key, &staged, &entry)?;
        if matches!(entry.outcome, Outcome::Built { .. }) {
            workshop.clear()?;
            tell(BuildEvent::Built { time });
        }
        self.cache
            .outcome(&key, entry, request.revision, false)
            .map_err(|failure| failed(request.revision, failure))
    }

    fn reused(
        &self,
        key: &str,
        request: &BuildRequest<'_>,
    ) -> Option<Result<Artifact, BuildError>> {
        if request.reuse == Reuse::Nothing {
            return None;
        }
        let entry = self.cache.entry(key)?;
        match self.cache.outcome(key, entry, request.revision, true) {
            Ok(artifact) => Some(Ok(artifact)),
            Err(failure) => {
                (request.reuse == Reuse::Everything).then(|| Err(failed(request.revision, failure)))
            }
        }
    }

    /// The cache key of a request, and the compilers in it.
    fn key(&self, request: &BuildRequest<'_>) -> Result<(String, String), BuildError> {
        let recipe = request.recipe;
        if request.kind == SubjectKind::Kernel {
            return self.kernel_key(request);
        }
        let steps = recipe.steps.join("\n");
        let uses_rust = match recipe.steps.is_empty() {
            true => request
                .repository
                .has_file(request.revision, "Cargo.toml")?,
            false => steps.contains("cargo") || steps.contains("rustc"),
        };
        let compiler = self.compilers.identity(&recipe.env, uses_rust);
        let parts = KeyParts {
            tree: &request.paths.digest(request.repository, request.revision)?,
            recipe,
            inputs: request.inputs,
            compiler: &compiler,
            source: self.workshop.source(),
            kernel: &[],
        };
        Ok((parts.key(), compiler))
    }

    fn kernel_key(&self, request: &BuildRequest<'_>) -> Result<(String, String), BuildError> {
        let BuildRequest {
            repository,
            revision,
            recipe,
            ..
        } = *request;
        let compiler = kernel::compiler_identity(recipe);
        let parts = KeyParts {
            tree: &request.paths.digest(repository, revision)?,
            recipe,
            inputs: request.inputs,
            compiler: &compiler,
            source: self.workshop.kernel_source(),
            kernel: &kernel::key_parts(recipe, repository, revision)?,
        };
        Ok((parts.key(), compiler))
    }
}

fn failed(revision: &Revision, failure: Failure) -> BuildError {
    BuildError::Failed {
        commit: revision.short.clone(),
        subject_line: revision.subject_line.clone(),
        failure: Box::new(failure),
    }
}

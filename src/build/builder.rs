//! Builds a revision, or finds that it was built before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::executor::{Cancel, Supervisor};
use crate::plan::{Recipe, SubjectKind};
use crate::repo::{ExportOptions, ExportReport, PathsDigester, RepoError, Repository, Revision};

use super::artifact::Artifact;
use super::cache::{Cache, Entry, Outcome, remove};
use super::collect::{NotCollected, collect};
use super::compiler::{Compilers, find_program};
use super::environment::{Environment, SOURCE_TIME, fill};
use super::error::BuildError;
use super::failure::{Failure, FailureReason};
use super::kernel;
use super::key::KeyParts;
use super::log;
use super::recognise::{Recognised, recognise};
use super::runner::Runner;
use super::workshop::{OpenWorkshop, Workshop};

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

/// Builds revisions in the workshop of a store.
#[derive(Debug)]
pub struct Builder {
    workshop: Workshop,
    cache: Cache,
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

/// One build in an open workshop.
pub(super) struct Work<'a> {
    pub builder: &'a Builder,
    pub request: &'a BuildRequest<'a>,
    pub workshop: &'a OpenWorkshop<'a>,
    pub key: &'a str,
}

impl Work<'_> {
    fn make(
        &self,
        entry: &mut Entry,
        files: &Path,
        tell: &mut dyn FnMut(BuildEvent),
    ) -> Result<Outcome, BuildError> {
        let recipe = self.request.recipe;
        let places = self.workshop.places;
        tell(BuildEvent::Exporting);
        let report = self.export()?;
        self.workshop.put_inputs(self.request.inputs)?;
        let recognised = match recipe.steps.is_empty() {
            true => self.recognise()?,
            false => None,
        };
        let jobs = recipe.jobs.map_or_else(available_jobs, |jobs| jobs.get());
        let steps = recognised
            .as_ref()
            .map_or(&recipe.steps, |found| &found.steps);
        entry.system = recognised.as_ref().map(|found| found.system.to_string());
        entry.steps = steps.iter().map(|step| fill(step, places, jobs)).collect();
        let environment = Environment::prepare(places, recipe, recognised.as_ref(), jobs)
            .map_err(BuildError::io(places.shims))?;
        fs::write(&self.workshop.log, self.heading(entry))
            .map_err(BuildError::io(&self.workshop.log))?;
        let runner = Runner {
            supervisor: &self.builder.supervisor,
            cancel: &self.builder.cancel,
            environment: &environment,
            source: places.source,
            scripts: places.workshop,
            log: &self.workshop.log,
            limit: recipe.timeout.0,
        };
        let count = entry.steps.len();
        let reason = runner.run(&entry.steps, &mut |index, command| {
            tell(BuildEvent::Step {
                number: index + 1,
                count,
                command: command.to_owned(),
            });
        })?;
        if let Some(reason) = reason {
            return self.disk_or_failure(reason);
        }
        match collect(places.source, &recipe.artifact, files) {
            Ok(outcome) => Ok(with_warnings(outcome, &report)),
            Err(NotCollected::Failed(_)) if entry.steps.is_empty() => {
                Err(BuildError::NotRecognised {
                    commit: self.request.revision.short.clone(),
                })
            }
            Err(NotCollected::Failed(reason)) => self.disk_or_failure(reason),
            Err(NotCollected::Error(error)) => Err(error),
        }
    }

    fn export(&self) -> Result<ExportReport, RepoError> {
        let options = ExportOptions {
            mtime: SOURCE_TIME,
            skip_submodules: self.request.recipe.skip_submodules.clone(),
        };
        let BuildRequest {
            repository,
            revision,
            ..
        } = self.request;
        repository.export(revision, self.workshop.places.source, &options)
    }

    /// What the tree is built with; `None` where the plan names files that need no building.
    fn recognise(&self) -> Result<Option<Recognised>, BuildError> {
        let commit = self.request.revision.short.clone();
        let Some(found) = recognise(self.workshop.places.source) else {
            return match self.request.recipe.artifact.is_empty() {
                true => Err(BuildError::NotRecognised { commit }),
                false => Ok(None),
            };
        };
        let own = self.request.recipe.env.get("PATH").cloned();
        let path = own
            .or_else(|| std::env::var("PATH").ok())
            .unwrap_or_default();
        match found
            .tools
            .iter()
            .find(|tool| find_program(tool, &path).is_none())
        {
            Some(tool) => Err(BuildError::NoTool {
                tool: (*tool).to_owned(),
                system: found.system.to_string(),
                commit,
            }),
            None => Ok(Some(found)),
        }
    }

    pub fn heading(&self, entry: &Entry) -> String {
        let Revision {
            id, subject_line, ..
        } = self.request.revision;
        let compiler = &entry.compiler;
        format!("# commit {id} {subject_line}\n# compilers {compiler}\n")
    }

    pub fn failure(&self, reason: FailureReason) -> Failure {
        Failure {
            reason,
            last_lines: log::telling_lines(&log::end_of(&self.workshop.log)),
            log: self.builder.cache.log(self.key),
            cached: false,
        }
    }

    /// A full disk says nothing about the commit, and is not remembered as its fault.
    pub fn disk_or_failure(&self, reason: FailureReason) -> Result<Outcome, BuildError> {
        let said = log::end_of(&self.workshop.log).contains("No space left on device");
        match said || self.free_bytes() < ALMOST_NOTHING {
            true => Err(self.disk_full()),
            false => Ok(Outcome::Failed {
                failure: self.failure(reason),
            }),
        }
    }

    /// What cannot be written or started on a full disk fails in many ways; that is the reason.
    fn disk_or(&self, error: BuildError) -> BuildError {
        let is_disk = match &error {
            BuildError::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            BuildError::Process(_) => self.free_bytes() < ALMOST_NOTHING,
            _ => false,
        };
        if is_disk { self.disk_full() } else { error }
    }

    fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(self.workshop.places.workshop)
            .map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn disk_full(&self) -> BuildError {
        let free_mib = self.free_bytes() >> 20;
        // What filled it is not left there; if it cannot be removed, the next build tries again.
        let _ = remove(self.workshop.places.source);
        let _ = remove(&self.workshop.kernel());
        BuildError::DiskFull {
            path: self.workshop.places.workshop.to_owned(),
            free_mib,
            commit: self.request.revision.short.clone(),
            log: self.workshop.log.clone(),
        }
    }
}

/// Free space below which a failure is put down to the disk, in bytes.
const ALMOST_NOTHING: u64 = 1 << 20;

pub(super) fn available_jobs() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |jobs| u32::try_from(jobs.get()).unwrap_or(u32::MAX))
}

pub(super) fn with_warnings(mut outcome: Outcome, report: &ExportReport) -> Outcome {
    if let Outcome::Built { warnings, .. } = &mut outcome {
        if let Some(first) = report.missing_lfs.first() {
            warnings.push(format!(
                "{} files were built as the pointers that Git LFS keeps in the tree, {first} among \
                 them: their content is not here (`git lfs fetch origin COMMIT` brings it)",
                report.missing_lfs.len()
            ));
        }
        for path in &report.skipped_submodules {
            warnings.push(format!(
                "submodule {path} was left empty (build.skip-submodules)"
            ));
        }
    }
    outcome
}

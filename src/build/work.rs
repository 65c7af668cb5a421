//! One build in an open workshop: the tree, the steps, what they made, and why they failed.

use std::fs;
use std::path::Path;

use crate::repo::{ExportOptions, ExportReport, RepoError, Revision};

use super::builder::Builder;
use super::cache::{Entry, Outcome, remove};
use super::collect::{NotCollected, collect};
use super::compiler::find_program;
use super::environment::{Environment, SOURCE_TIME, fill};
use super::error::BuildError;
use super::failure::{Failure, FailureReason};
use super::log;
use super::recognise::{Recognised, recognise};
use super::request::{BuildEvent, BuildRequest};
use super::runner::Runner;
use super::workshop::OpenWorkshop;

/// One build in an open workshop.
pub(super) struct Work<'a> {
    pub builder: &'a Builder,
    pub request: &'a BuildRequest<'a>,
    pub workshop: &'a OpenWorkshop<'a>,
    pub key: &'a str,
}

impl Work<'_> {
    pub fn make(
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
    pub fn disk_or(&self, error: BuildError) -> BuildError {
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

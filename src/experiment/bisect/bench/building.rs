//! Builds: what they cost, and what came of them.

use std::collections::HashMap;
use std::time::Instant;

use crate::build::{Artifact, BuildError, BuildEvent, BuildRequest, Known, Reuse};
use crate::experiment::ExperimentError;
use crate::experiment::bisect::ends::shown;
use crate::experiment::bisect::line::Line;
use crate::experiment::bisect::request::Measured;
use crate::experiment::progress::Progress;
use crate::repo::Revision;
use crate::store::BuildRecord;

use super::{Bench, Outcome, Skip};

/// Seconds of a build before one was seen.
const UNSEEN_BUILD_SECONDS: f64 = 60.0;

impl Bench<'_> {
    /// Expected seconds of the builds of a line's classes, by the first commit's id; 0 where nothing
    /// is to be built. Commits that are known not to build are given to `skip`.
    pub fn build_seconds(
        &mut self,
        line: &Line,
        skip: &mut dyn FnMut(&Revision, String),
    ) -> Result<HashMap<String, f64>, ExperimentError> {
        let mut seconds = HashMap::new();
        let expected = match self.build_times.is_empty() {
            true => UNSEEN_BUILD_SECONDS,
            false => crate::stats::mean(&self.build_times).max(0.1),
        };
        for class in &line.classes {
            let commit = class.first();
            let known = match self.request.measured {
                Measured::Script { .. } => 0.0,
                _ if self.artifacts.contains_key(&commit.id) => 0.0,
                _ => match self.builder.known(&self.build_request(commit)) {
                    Ok(Known::Artifact(artifact)) if self.reuse != Reuse::Nothing => {
                        self.artifacts.insert(commit.id.clone(), *artifact);
                        0.0
                    }
                    Ok(Known::Failure(failure)) if self.reuse == Reuse::Everything => {
                        skip(commit, format!("does not build: {failure}"));
                        0.0
                    }
                    Ok(_) => expected,
                    Err(error) if error.is_about_commit() => {
                        skip(commit, error.to_string());
                        0.0
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            seconds.insert(commit.id.clone(), known);
        }
        Ok(seconds)
    }

    /// The artifact of a commit, built if need be.
    pub fn artifact(
        &mut self,
        revision: &Revision,
        progress: &mut dyn Progress,
    ) -> Result<Outcome<Artifact>, ExperimentError> {
        if let Some(artifact) = self.artifacts.get(&revision.id) {
            return Ok(Ok(artifact.clone()));
        }
        let request = self.build_request(revision);
        let known = match self.builder.known(&request) {
            Ok(known) => known,
            Err(error) if error.is_about_commit() => return Ok(Err(Skip(error.to_string()))),
            Err(error) => return Err(error.into()),
        };
        let (key, is_there) = match &known {
            Known::Artifact(artifact) => (artifact.key.clone(), self.reuse != Reuse::Nothing),
            Known::Failure(_) => (String::new(), self.reuse == Reuse::Everything),
            Known::Nothing { key } => (key.clone(), false),
        };
        if !is_there && self.builds_left() == Some(0) {
            return Err(ExperimentError::Budget("builds"));
        }
        let started = Instant::now();
        let mut waited = None;
        let built = self.builder.build(&request, &mut |event| match event {
            BuildEvent::Waiting { holder } => waited = holder,
            BuildEvent::Exporting => progress.note(&format!("building {}", shown(revision))),
            BuildEvent::Step { .. } | BuildEvent::Note { .. } | BuildEvent::Built { .. } => {}
        });
        if let Some(holder) = waited {
            progress.note(&format!("waited for another build (process {holder})"));
        }
        let (digest, failure) = match &built {
            Ok(artifact) => (Some(artifact.digest.clone()), None),
            Err(BuildError::Interrupted) => return Err(ExperimentError::Interrupted),
            Err(error) if error.is_about_commit() => (None, Some(error.to_string())),
            Err(_) => return Err(built.err().map_or(ExperimentError::Interrupted, Into::into)),
        };
        let seconds = started.elapsed().as_secs_f64();
        if !is_there {
            let record = BuildRecord {
                revision: revision.id.clone(),
                key,
                digest,
                cached: false,
                seconds,
                failure,
            };
            self.surroundings
                .store
                .put_build(self.experiment, &record)?;
            self.builds += 1;
            self.build_times.push(seconds);
        }
        match built {
            Ok(artifact) => {
                self.artifacts.insert(revision.id.clone(), artifact.clone());
                Ok(Ok(artifact))
            }
            Err(error) => Ok(Err(Skip(error.to_string()))),
        }
    }

    /// What was built of a commit in this process.
    pub fn built(&self, commit: &str) -> Option<&Artifact> {
        self.artifacts.get(commit)
    }

    fn build_request<'r>(&'r self, revision: &'r Revision) -> BuildRequest<'r> {
        BuildRequest {
            repository: self.surroundings.repository,
            revision,
            kind: self.request.plan.subject.kind,
            recipe: &self.request.plan.build,
            paths: self.paths,
            inputs: &self.inputs,
            reuse: self.reuse,
        }
    }
}

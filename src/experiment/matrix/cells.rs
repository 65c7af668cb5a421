//! Makes the cells ready: what is built is built once for all cells that share it.

use std::collections::BTreeMap;

use crate::build::Artifact;
use crate::trial::Placement;

use super::super::arms::build_revision;
use super::super::compare::{Surroundings, place};
use super::super::error::ExperimentError;
use super::super::job::ProgramFiles;
use super::super::progress::Progress;
use super::identity::Commits;
use super::request::{CellPlan, MatrixRequest, MatrixSurroundings};

/// A cell that can be measured.
#[derive(Debug)]
pub struct ReadyCell<'a> {
    /// What it is.
    pub planned: &'a CellPlan,
    /// What was built; none for an installed program.
    pub artifact: Option<Artifact>,
    /// Who runs where.
    pub placement: Placement,
}

impl ReadyCell<'_> {
    /// The files that a trial runs.
    pub fn files(&self) -> ProgramFiles<'_> {
        self.artifact
            .as_ref()
            .map(ProgramFiles::from)
            .unwrap_or_default()
    }
}

/// Makes every cell ready. One that cannot be carries its reason, and the others go on.
pub fn ready<'a>(
    request: &'a MatrixRequest,
    commits: &Commits,
    surroundings: &MatrixSurroundings<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<Result<ReadyCell<'a>, String>>, ExperimentError> {
    let mut built: BTreeMap<String, Result<Artifact, String>> = BTreeMap::new();
    let mut cells = Vec::new();
    for planned in &request.plan.cells {
        cells.push(one(
            (planned, commits.get(&planned.name)),
            request,
            surroundings,
            &mut built,
            progress,
        )?);
    }
    Ok(cells)
}

fn one<'a>(
    (planned, commit): (&'a CellPlan, Option<&String>),
    request: &MatrixRequest,
    surroundings: &MatrixSurroundings<'_>,
    built: &mut BTreeMap<String, Result<Artifact, String>>,
    progress: &mut dyn Progress,
) -> Result<Result<ReadyCell<'a>, String>, ExperimentError> {
    let placement = match place(&planned.plan) {
        Ok(placement) => placement,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let artifact = match (&planned.revision, surroundings.repository) {
        (Some(revision), Some(repository)) => {
            let revision = match repository.resolve(commit.unwrap_or(revision)) {
                Ok(revision) => revision,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let recipe = serde_json::to_string(&planned.plan.build).unwrap_or_default();
            let key = format!("{} {recipe}", revision.id);
            if !built.contains_key(&key) {
                let around = Surroundings {
                    repository,
                    store: surroundings.store,
                    supervisor: surroundings.supervisor,
                    cancel: surroundings.cancel,
                };
                let name = planned.revision.as_deref().unwrap_or_default();
                let build = build_revision(
                    &revision,
                    name,
                    &planned.plan,
                    request.reuse,
                    &around,
                    progress,
                );
                let outcome = match build {
                    Err(ExperimentError::Interrupted) => return Err(ExperimentError::Interrupted),
                    outcome => outcome.map_err(|error| error.to_string()),
                };
                built.insert(key.clone(), outcome);
            }
            match built.get(&key) {
                Some(Ok(artifact)) => Some(artifact.clone()),
                Some(Err(reason)) => return Ok(Err(reason.clone())),
                None => None,
            }
        }
        _ => None,
    };
    Ok(Ok(ReadyCell {
        planned,
        artifact,
        placement,
    }))
}

//! What each cell was when its matrix began, so that a matrix goes on as what it was.
//!
//! Revisions are names that move, and files that a plan names can be replaced. Of a matrix that goes on,
//! commits are those of its beginning; anything else that has changed ends it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::repo::Repository;
use crate::store::{BlobDigest, Store};

use super::super::error::ExperimentError;
use super::super::progress::Progress;
use super::request::{CellPlan, MatrixPlan};

/// Kind of the stored event.
const CELLS: &str = "matrix-cells";

/// A cell as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Identity {
    /// The commit that its revision named; none for an installed program, or a name of nothing.
    commit: Option<String>,
    /// Digest of its whole plan, with the text of the files that a build reads.
    plan: String,
    /// Digest of the kernel that its guest boots.
    kernel: Option<String>,
}

impl Identity {
    fn of(cell: &CellPlan, repository: Option<&Repository>) -> Self {
        let mut plan = serde_json::to_value(&cell.plan).unwrap_or_default();
        if let Some(fields) = plan.as_object_mut() {
            // Compared by itself; more data points are welcome.
            fields.remove("matrix");
        }
        let commit = match (&cell.revision, repository) {
            (Some(name), Some(repository)) => repository.resolve(name).ok(),
            _ => None,
        };
        let guest = cell.plan.guest.as_ref();
        let kernel = guest.and_then(|guest| std::fs::read(guest.kernel.as_ref()?).ok());
        Self {
            commit: commit.map(|revision| revision.id),
            plan: BlobDigest::of(plan.to_string().as_bytes()).to_string(),
            kernel: kernel.map(|bytes| BlobDigest::of(&bytes).to_string()),
        }
    }
}

/// Cells by their names.
type Identities = BTreeMap<String, Identity>;

/// Commits of cells, by the cell's name.
pub type Commits = BTreeMap<String, String>;

/// Notes what the cells are.
pub fn note(
    store: &Store,
    experiment: &str,
    plan: &MatrixPlan,
    repository: Option<&Repository>,
) -> Result<Commits, ExperimentError> {
    let cells = plan.cells.iter();
    let now: Identities = cells
        .map(|cell| (cell.name.clone(), Identity::of(cell, repository)))
        .collect();
    let body = serde_json::to_value(&now).unwrap_or_default();
    store.put_event(experiment, CELLS, &body)?;
    Ok(commits(now))
}

/// The commits with which a matrix goes on.
///
/// # Errors
/// A cell that is not what it was.
pub fn take_up(
    store: &Store,
    experiment: &str,
    plan: &MatrixPlan,
    repository: Option<&Repository>,
    progress: &mut dyn Progress,
) -> Result<Commits, ExperimentError> {
    let events = store.events(experiment)?;
    let Some(noted) = events.iter().find(|event| event.kind == CELLS) else {
        // Begun by a version that did not note them.
        return Ok(Commits::new());
    };
    let then: Identities = serde_json::from_value(noted.body.clone()).unwrap_or_default();
    for cell in &plan.cells {
        let Some(was) = then.get(&cell.name) else {
            continue;
        };
        let now = Identity::of(cell, repository);
        let changed = [
            (was.plan != now.plan, "its plan, or a file that it names,"),
            (was.kernel != now.kernel, "the kernel of its guest"),
        ];
        if let Some((_, what)) = changed.iter().find(|(is_other, _)| *is_other) {
            return Err(ExperimentError::NotResumable {
                id: experiment.to_owned(),
                reason: format!(
                    "{what} was another one for the cell {}; without --resume a new matrix begins",
                    cell.name
                ),
            });
        }
        if let (Some(was), Some(now), Some(name)) = (&was.commit, &now.commit, &cell.revision)
            && was != now
        {
            progress.note(&format!(
                "{}: {name} is another commit now; it goes on with {}",
                cell.name,
                was.get(..12).unwrap_or(was)
            ));
        }
    }
    Ok(commits(then))
}

fn commits(cells: Identities) -> Commits {
    let named = cells.into_iter();
    named
        .filter_map(|(name, cell)| Some((name, cell.commit?)))
        .collect()
}

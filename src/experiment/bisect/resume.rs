//! Going on with a stored search: whether its commits are still there, and what has changed.

use std::path::PathBuf;

use crate::experiment::ExperimentError;
use crate::repo::Repository;
use crate::store::{Experiment, ExperimentState, Store};

use super::ends::{Ends, shown};
use super::journal::{Journal, Start};

/// A stored search that can go on.
pub struct Resumable {
    /// Its id.
    pub id: String,
    /// How it began.
    pub start: Start,
}

/// What may be another way when a search goes on.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Time of this process.
    pub max_time_ms: Option<u64>,
    /// Builds of the whole search.
    pub max_builds: Option<u32>,
    /// Where the report goes.
    pub out: Option<PathBuf>,
}

/// Finds a stored search: by its id, or else the latest, one that is not done before one that is.
pub fn resumable(store: &Store, id: Option<&str>) -> Result<Resumable, ExperimentError> {
    let experiment = match id {
        Some(id) => store.experiment(id)?,
        None => latest(store)?,
    };
    if experiment.kind != "bisect" {
        return Err(ExperimentError::NotResumable {
            reason: format!("it is a {} and no bisect", experiment.kind),
            id: experiment.id,
        });
    }
    let (_, start) = Journal::read(store, &experiment.id)?;
    Ok(Resumable {
        id: experiment.id,
        start,
    })
}

fn latest(store: &Store) -> Result<Experiment, ExperimentError> {
    let mut searches: Vec<Experiment> = store
        .experiments()?
        .into_iter()
        .filter(|experiment| experiment.kind == "bisect")
        .collect();
    let open = searches
        .iter()
        .position(|experiment| experiment.state == ExperimentState::Interrupted);
    match searches.is_empty() {
        true => Err(ExperimentError::Ends(
            "there is no search in this store; `perfblame bisect GOOD BAD` begins one".to_owned(),
        )),
        false => Ok(searches.swap_remove(open.unwrap_or(0))),
    }
}

impl Resumable {
    /// Lays flags of this run over what was asked.
    pub fn overlay(&mut self, overrides: &Overrides) {
        let request = &mut self.start.request;
        if overrides.max_time_ms.is_some() {
            request.limits.max_time_ms = overrides.max_time_ms;
        }
        if overrides.max_builds.is_some() {
            request.limits.max_builds = overrides.max_builds;
        }
        if let Some(out) = &overrides.out {
            request.out.clone_from(out);
        }
    }

    /// The ends as they were, and what has become of the names since.
    ///
    /// The search is about commits, so it goes on with those that it began with, as long as they are
    /// there; where GOOD or BAD now name others, the user is told whether history went on or was
    /// rewritten.
    pub fn ends(&self, repository: &Repository) -> Result<Ends, ExperimentError> {
        let start = &self.start;
        let find = |id: &str| {
            repository
                .revision(id)
                .map_err(|error| ExperimentError::NotResumable {
                    id: self.id.clone(),
                    reason: format!(
                        "history was rewritten, and its commit {} is gone ({error}); begin a new \
                         search, which builds only what was not built before",
                        id.get(..10).unwrap_or(id)
                    ),
                })
        };
        let (old, new) = (find(&start.old)?, find(&start.new)?);
        let mut notes = start.notes.clone();
        match Ends::resolve(repository, &start.request.good, &start.request.bad) {
            Ok(now) => {
                for (name, was, is) in [("GOOD", &old, &now.old), ("BAD", &new, &now.new)] {
                    if was.id == is.id {
                        continue;
                    }
                    let what = match repository.is_ancestor(was, is)? {
                        true => "history went on since the search began",
                        false => "history was rewritten since the search began",
                    };
                    notes.push(format!(
                        "{what}: {name}'s end was {} and would now be {}; the search goes on with \
                         the commits that it began with",
                        shown(was),
                        shown(is)
                    ));
                }
            }
            Err(error) => notes.push(format!(
                "GOOD and BAD can no longer be told from their names ({}); the search goes on with \
                 the commits that it began with",
                error.to_string().lines().next().unwrap_or_default()
            )),
        }
        Ok(Ends {
            old,
            new,
            swapped: start.swapped,
            notes,
        })
    }
}

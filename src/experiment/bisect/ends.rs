//! The ends of a search: which commit is the older one, and what the user must be told of it.

use crate::experiment::ExperimentError;
use crate::repo::{Repository, Revision};

/// The ends of a search, the older one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The older end: an ancestor of the other.
    pub old: Revision,
    /// The newer end.
    pub new: Revision,
    /// Whether the user called the newer one GOOD.
    pub swapped: bool,
    /// What the user must be told.
    pub notes: Vec<String>,
}

impl Ends {
    /// Resolves GOOD and BAD. Where neither is an ancestor of the other, their merge base stands for
    /// GOOD.
    pub fn resolve(
        repository: &Repository,
        good: &str,
        bad: &str,
    ) -> Result<Self, ExperimentError> {
        let (good_commit, bad_commit) = (repository.resolve(good)?, repository.resolve(bad)?);
        if good_commit.id == bad_commit.id {
            return Err(ExperimentError::Ends(format!(
                "{good} and {bad} are the same commit {}: there is nothing between them",
                shown(&good_commit)
            )));
        }
        if repository.is_ancestor(&good_commit, &bad_commit)? {
            return Ok(Self {
                old: good_commit,
                new: bad_commit,
                swapped: false,
                notes: Vec::new(),
            });
        }
        if repository.is_ancestor(&bad_commit, &good_commit)? {
            let note = format!(
                "GOOD ({good}) is newer than BAD ({bad}): the ends are swapped, and the search runs \
                 from {} to {}",
                shown(&bad_commit),
                shown(&good_commit)
            );
            return Ok(Self {
                old: bad_commit,
                new: good_commit,
                swapped: true,
                notes: vec![note],
            });
        }
        let Some(base) = repository.merge_base(&good_commit, &bad_commit)? else {
            return Err(ExperimentError::Ends(format!(
                "{good} and {bad} have no commit in common: between unrelated histories there is \
                 nothing to search; `perfblame compare {good} {bad}` compares them"
            )));
        };
        let note = format!(
            "GOOD ({good}) is not an ancestor of BAD ({bad}): the search begins at their merge base \
             {}, which is measured in its place",
            shown(&base)
        );
        Ok(Self {
            old: base,
            new: bad_commit,
            swapped: false,
            notes: vec![note],
        })
    }
}

/// A commit in a message.
pub fn shown(revision: &Revision) -> String {
    format!("{} {}", revision.short, revision.subject_line)
}

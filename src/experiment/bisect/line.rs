//! A line of history as a search sees it: classes of commits that cannot differ.

use crate::experiment::ExperimentError;
use crate::repo::{PathsDigester, RepoError, Repository, Revision, Walk};

use super::ends::shown;

/// Commits next to each other whose trees agree under `subject.paths`: one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The commits, the oldest first: the one that made the difference.
    pub commits: Vec<Revision>,
    /// Digest of the tree under `subject.paths`; absent where nothing of the commit is under them.
    pub digest: Option<String>,
}

impl Class {
    /// The commit that stands for the class: the one that made it differ from the class before.
    pub fn first(&self) -> &Revision {
        &self.commits[0]
    }
}

/// A line of history: first parents from an older commit to a newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Classes, oldest first. The first holds the older end, the last the newer one.
    pub classes: Vec<Class>,
    /// Number of commits after the older end.
    pub commits: usize,
}

impl Line {
    /// The line of first parents that ends at `new`, from `old` on. Where `old` came into it by a merge, the
    /// line begins before its first commit: that one is not built upon `old`.
    pub fn between(
        repository: &Repository,
        paths: &PathsDigester,
        old: &Revision,
        new: &Revision,
    ) -> Result<Self, ExperimentError> {
        let commits = repository.between(old, new, Walk::FirstParent)?;
        let before = commits.first().and_then(|first| first.parents.first());
        let old = match before {
            Some(before) if *before != old.id => repository.revision(before)?,
            _ => old.clone(),
        };
        let mut classes = vec![Class {
            digest: digest(repository, paths, &old)?,
            commits: vec![old.clone()],
        }];
        let count = commits.len();
        for commit in commits {
            let digest = digest(repository, paths, &commit)?;
            match classes.last_mut() {
                Some(last) if digest.is_some() && last.digest == digest => {
                    last.commits.push(commit)
                }
                _ => classes.push(Class {
                    commits: vec![commit],
                    digest,
                }),
            }
        }
        if classes.iter().all(|class| class.digest.is_none()) {
            return Err(ExperimentError::Ends(format!(
                "no commit from {} to {} has anything under subject.paths; check them",
                shown(&old),
                shown(new)
            )));
        }
        Ok(Self {
            classes,
            commits: count,
        })
    }

    /// The part of the line from one class to another, both included.
    pub fn part(&self, from: usize, to: usize) -> Self {
        let classes = self.classes[from..=to].to_vec();
        let commits = classes
            .iter()
            .skip(1)
            .map(|class| class.commits.len())
            .sum();
        Self { classes, commits }
    }
}

fn digest(
    repository: &Repository,
    paths: &PathsDigester,
    revision: &Revision,
) -> Result<Option<String>, ExperimentError> {
    match paths.digest(repository, revision) {
        Ok(digest) => Ok(Some(digest)),
        Err(RepoError::NothingMatches { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

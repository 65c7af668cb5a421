//! Walks through history, and the questions that a search asks of it.

use git2::{Oid, Sort};

use super::error::RepoError;
use super::repository::Repository;
use super::revision::Revision;

/// Which commits a walk visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Every commit, those of merged branches too.
    Full,
    /// Only first parents: a merged branch is one step, its merge commit.
    FirstParent,
}

impl Repository {
    /// The commits that can be reached from `head` and not from `base`, oldest first, `head` last;
    /// every commit comes after its parents.
    pub fn between(
        &self,
        base: &Revision,
        head: &Revision,
        walk: Walk,
    ) -> Result<Vec<Revision>, RepoError> {
        let ids = self
            .walk_ids(self.oid(&base.id)?, self.oid(&head.id)?, walk)
            .map_err(|error| self.git_error("walk through history", error))?;
        ids.into_iter()
            .map(|id| self.revision_of(&self.commit(id)?))
            .collect()
    }

    fn walk_ids(&self, base: Oid, head: Oid, walk: Walk) -> Result<Vec<Oid>, git2::Error> {
        let mut revwalk = self.git.revwalk()?;
        revwalk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        if walk == Walk::FirstParent {
            revwalk.simplify_first_parent()?;
        }
        revwalk.push(head)?;
        revwalk.hide(base)?;
        let mut ids = revwalk.collect::<Result<Vec<_>, _>>()?;
        ids.reverse();
        Ok(ids)
    }

    /// Whether `ancestor` can be reached from `descendant` (a commit reaches itself).
    pub fn is_ancestor(
        &self,
        ancestor: &Revision,
        descendant: &Revision,
    ) -> Result<bool, RepoError> {
        if ancestor.id == descendant.id {
            return Ok(true);
        }
        self.git
            .graph_descendant_of(self.oid(&descendant.id)?, self.oid(&ancestor.id)?)
            .map_err(|error| self.git_error("walk through history", error))
    }

    /// The best common ancestor; `None` where the histories are unrelated.
    pub fn merge_base(&self, a: &Revision, b: &Revision) -> Result<Option<Revision>, RepoError> {
        match self.git.merge_base(self.oid(&a.id)?, self.oid(&b.id)?) {
            Ok(id) => Ok(Some(self.revision_of(&self.commit(id)?)?)),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(self.git_error("find the merge base", error)),
        }
    }

    pub(super) fn oid(&self, id: &str) -> Result<Oid, RepoError> {
        Oid::from_str(id).map_err(|error| self.git_error(&format!("read the id `{id}`"), error))
    }
}

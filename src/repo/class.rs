//! Which commits cannot differ: those whose trees agree under `subject.paths`.

use std::cell::RefCell;
use std::collections::HashMap;

use git2::{ObjectType, Oid};
use sha2::{Digest, Sha256};

use super::error::RepoError;
use super::pathspec::{Pathspecs, Reach};
use super::repository::Repository;
use super::revision::Revision;

type TreeDigest = Option<[u8; 32]>;

/// Digests of commits' trees under a list of pathspecs; remembers every subtree that it has seen,
/// so that a walk through history costs only what each commit changed.
#[derive(Debug, Default)]
pub struct PathsDigester {
    pathspecs: Pathspecs,
    seen: RefCell<HashMap<(Oid, Vec<u8>), TreeDigest>>,
}

impl PathsDigester {
    /// Makes a digester for these pathspecs.
    pub fn new(pathspecs: Pathspecs) -> Self {
        Self {
            pathspecs,
            seen: RefCell::default(),
        }
    }

    /// The pathspecs.
    pub fn pathspecs(&self) -> &Pathspecs {
        &self.pathspecs
    }

    /// A digest of everything of the commit's tree that is under the pathspecs: the tree's own id
    /// (40 hex digits) where that is all, else a SHA-256 (64 hex digits) over paths, modes and ids.
    ///
    /// Two commits with the same digest cannot differ where it matters. A commit of which nothing is
    /// under the pathspecs is an error, because a misspelt path would make all commits alike.
    pub fn digest(
        &self,
        repository: &Repository,
        revision: &Revision,
    ) -> Result<String, RepoError> {
        if self.pathspecs.is_everything() {
            return Ok(revision.tree.clone());
        }
        let tree = repository.oid(&revision.tree)?;
        match self.tree_digest(repository, tree, b"")? {
            Some(digest) => Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect()),
            None => Err(RepoError::NothingMatches {
                commit: revision.short.clone(),
                pathspecs: self.pathspecs.texts().to_vec(),
            }),
        }
    }

    fn tree_digest(
        &self,
        repository: &Repository,
        id: Oid,
        prefix: &[u8],
    ) -> Result<TreeDigest, RepoError> {
        let key = (id, prefix.to_vec());
        if let Some(digest) = self.seen.borrow().get(&key) {
            return Ok(*digest);
        }
        let tree = repository
            .git
            .find_tree(id)
            .map_err(|error| repository.object_error(id, &error))?;
        let mut hash = Sha256::new();
        let mut is_empty = true;
        for entry in &tree {
            let mut path = prefix.to_vec();
            path.extend_from_slice(entry.name_bytes());
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            let content: Option<Vec<u8>> = if !is_tree {
                let has_file = self.pathspecs.has_file(&path);
                has_file.then(|| entry.id().as_bytes().to_vec())
            } else {
                match self.pathspecs.reach(&path) {
                    Reach::Whole => Some(entry.id().as_bytes().to_vec()),
                    Reach::None => None,
                    Reach::Part => {
                        let below = [path.as_slice(), b"/"].concat();
                        self.tree_digest(repository, entry.id(), &below)?
                            .map(|digest| digest.to_vec())
                    }
                }
            };
            if let Some(content) = content {
                is_empty = false;
                hash.update(format!("{:o} {} ", entry.filemode(), path.len()));
                hash.update(&path);
                hash.update(&content);
            }
        }
        let digest = (!is_empty).then(|| hash.finalize().into());
        self.seen.borrow_mut().insert(key, digest);
        Ok(digest)
    }
}

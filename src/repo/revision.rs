//! From a name to a commit.

use git2::{ErrorCode, ObjectType, Oid};
use serde::{Deserialize, Serialize};

use super::error::RepoError;
use super::repository::Repository;

/// A resolved commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Revision {
    /// Commit id, 40 hex digits.
    pub id: String,
    /// The shortest unambiguous id, at least 7 digits.
    pub short: String,
    /// First paragraph of the message on one line.
    pub subject_line: String,
    /// When the change was written, in seconds since 1970.
    pub author_time: i64,
    /// Id of the commit's tree, 40 hex digits.
    pub tree: String,
    /// Ids of the parents, the first parent first.
    pub parents: Vec<String>,
}

impl Repository {
    /// Resolves anything that `git rev-parse` takes for a single commit.
    ///
    /// Stricter than git in one thing: a name that is both a tag and a branch, of different
    /// commits, is ambiguous, because a measurement of the wrong one looks like any other.
    pub fn resolve(&self, name: &str) -> Result<Revision, RepoError> {
        if name.contains("..") {
            return Err(RepoError::IsRange {
                name: name.to_owned(),
            });
        }
        self.refuse_two_references(name)?;
        let object = match self.git.revparse_single(name) {
            Ok(object) => object,
            Err(error) if error.code() == ErrorCode::Ambiguous => {
                let (base, rest) = split_suffix(name);
                let id = self.only_commit(name, base)?;
                return self.resolve(&format!("{id}{rest}"));
            }
            Err(error) => return Err(self.unknown(name, &error)),
        };
        let kind = object.kind().map_or("object", |kind| kind.str()).to_owned();
        match object.peel_to_commit() {
            Ok(commit) => self.revision_of(&commit),
            Err(_) => Err(RepoError::NotACommit {
                name: name.to_owned(),
                kind,
            }),
        }
    }

    /// The revision of a commit whose full id is known.
    pub fn revision(&self, id: &str) -> Result<Revision, RepoError> {
        match Oid::from_str(id) {
            Ok(oid) => self.revision_of(&self.commit(oid)?),
            Err(_) => self.resolve(id),
        }
    }

    /// Whether the commit's tree has a file or directory at this path.
    pub fn has_file(&self, revision: &Revision, path: &str) -> Result<bool, RepoError> {
        let id = self.oid(&revision.tree)?;
        let tree = self
            .git
            .find_tree(id)
            .map_err(|error| self.object_error(id, &error))?;
        Ok(tree.get_path(std::path::Path::new(path)).is_ok())
    }

    /// The content of a file of a commit as text, with what is no text replaced; `None` where there is
    /// no file of that path.
    pub fn file_text(&self, revision: &Revision, path: &str) -> Result<Option<String>, RepoError> {
        let id = self.oid(&revision.tree)?;
        let tree = self
            .git
            .find_tree(id)
            .map_err(|error| self.object_error(id, &error))?;
        let Ok(entry) = tree.get_path(std::path::Path::new(path)) else {
            return Ok(None);
        };
        if entry.kind() != Some(git2::ObjectType::Blob) {
            return Ok(None);
        }
        let blob = self
            .git
            .find_blob(entry.id())
            .map_err(|error| self.object_error(entry.id(), &error))?;
        Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
    }

    pub(super) fn commit(&self, id: Oid) -> Result<git2::Commit<'_>, RepoError> {
        self.git
            .find_commit(id)
            .map_err(|error| self.object_error(id, &error))
    }

    pub(super) fn revision_of(&self, commit: &git2::Commit<'_>) -> Result<Revision, RepoError> {
        let short = commit
            .as_object()
            .short_id()
            .map_err(|error| self.object_error(commit.id(), &error))?;
        let subject = commit.summary_bytes().unwrap_or_default();
        Ok(Revision {
            id: commit.id().to_string(),
            short: String::from_utf8_lossy(&short).into_owned(),
            subject_line: String::from_utf8_lossy(subject).into_owned(),
            author_time: commit.author().when().seconds(),
            tree: commit.tree_id().to_string(),
            parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        })
    }

    fn refuse_two_references(&self, name: &str) -> Result<(), RepoError> {
        let (base, _) = split_suffix(name);
        let mut found: Vec<(String, Oid)> = Vec::new();
        for prefix in ["refs/tags/", "refs/heads/", "refs/remotes/"] {
            let full = format!("{prefix}{base}");
            let commit = self
                .git
                .find_reference(&full)
                .and_then(|reference| reference.peel_to_commit());
            if let Ok(commit) = commit {
                found.push((full, commit.id()));
            }
        }
        if found.iter().all(|(_, id)| *id == found[0].1) {
            return Ok(());
        }
        Err(RepoError::AmbiguousRevision {
            name: name.to_owned(),
            candidates: found
                .iter()
                .map(|(full, id)| format!("{full} ({})", self.describe(*id)))
                .collect(),
        })
    }

    /// The only commit among the objects whose ids begin so, as git picks it.
    fn only_commit(&self, name: &str, prefix: &str) -> Result<Oid, RepoError> {
        let prefix = prefix.to_ascii_lowercase();
        let mut ids = Vec::new();
        let odb = self
            .git
            .odb()
            .map_err(|error| self.git_error("read the objects", error))?;
        odb.foreach(|id| {
            if id.to_string().starts_with(&prefix) {
                ids.push(*id);
            }
            true
        })
        .map_err(|error| self.git_error("list the objects", error))?;
        ids.sort_unstable();
        ids.dedup();
        let mut commits = ids.iter().filter(|id| self.git.find_commit(**id).is_ok());
        match (commits.next(), commits.next()) {
            (Some(only), None) => Ok(*only),
            _ => Err(RepoError::AmbiguousRevision {
                name: name.to_owned(),
                candidates: ids.iter().map(|id| self.describe(*id)).collect(),
            }),
        }
    }

    /// An object in a line: short id, kind, and a commit's subject.
    fn describe(&self, id: Oid) -> String {
        let short: String = id.to_string().chars().take(10).collect();
        if let Ok(commit) = self.git.find_commit(id) {
            let subject = commit.summary_bytes().unwrap_or_default();
            return format!("{short} commit \"{}\"", String::from_utf8_lossy(subject));
        }
        let kind = self
            .git
            .find_object(id, None)
            .ok()
            .and_then(|object| object.kind())
            .unwrap_or(ObjectType::Any);
        format!("{short} {}", kind.str())
    }

    fn unknown(&self, name: &str, error: &git2::Error) -> RepoError {
        let directory = self.directory().display();
        let is_unborn = error.code() == ErrorCode::UnbornBranch
            || self.git.head().is_err() && self.git.references().is_ok_and(|all| all.count() == 0);
        let hint = if is_unborn {
            "; it has no commits yet".to_owned()
        } else if self.is_shallow() {
            format!(
                "; the clone is shallow, and the commit may lie beyond its edge: \
                 `git -C {directory} fetch --unshallow`"
            )
        } else {
            match self.similar_references(name) {
                similar if similar.is_empty() => format!(
                    "; if it is newer than this clone: `git -C {directory} fetch --all --tags`"
                ),
                similar => format!("; there is {}", similar.join(", ")),
            }
        };
        RepoError::UnknownRevision {
            name: name.to_owned(),
            repository: self.directory().to_owned(),
            hint,
        }
    }

    /// References whose last part is the name, or that hold the name in another case.
    fn similar_references(&self, name: &str) -> Vec<String> {
        let (base, _) = split_suffix(name);
        let wanted = base.to_lowercase();
        let Ok(references) = self.git.references() else {
            return Vec::new();
        };
        let mut similar: Vec<String> = references
            .flatten()
            .filter_map(|reference| reference.shorthand().ok().map(str::to_owned))
            .filter(|short| {
                let short = short.to_lowercase();
                short == wanted || short.ends_with(&format!("/{wanted}"))
            })
            .collect();
        similar.sort();
        similar.truncate(5);
        similar
    }
}

/// Splits `v1.2~3^2` into the name and what is done to it.
fn split_suffix(name: &str) -> (&str, &str) {
    let end = name
        .find(['~', '^', ':'])
        .or_else(|| name.find("@{"))
        .unwrap_or(name.len());
    name.split_at(end)
}

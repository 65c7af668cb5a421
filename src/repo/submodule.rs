//! Where a submodule's content is found on this machine.

use std::path::{Path, PathBuf};

use git2::Oid;

use super::error::RepoError;
use super::repository::Repository;

/// What a commit's `.gitmodules` says.
#[derive(Debug, Default)]
pub(super) struct Submodules {
    known: Vec<Submodule>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Submodule {
    name: String,
    path: String,
    url: String,
}

impl Submodules {
    /// Reads `.gitmodules` of a tree; a tree without one knows none.
    pub fn of(repository: &Repository, tree: Oid) -> Result<Self, RepoError> {
        let object_error = |id| move |error| repository.object_error(id, &error);
        let tree = repository.git.find_tree(tree).map_err(object_error(tree))?;
        let Some(entry) = tree.get_name(".gitmodules") else {
            return Ok(Self::default());
        };
        let blob = repository
            .git
            .find_blob(entry.id())
            .map_err(object_error(entry.id()))?;
        Ok(Self {
            known: parse(&String::from_utf8_lossy(blob.content())),
        })
    }

    /// Finds a repository that holds the submodule's commit, and its git directory: git's own copy
    /// under `modules/`, or the submodule's checkout.
    ///
    /// `path` is where the tree has it, `shown` where it is in the whole export.
    pub fn find(
        &self,
        repository: &Repository,
        path: &Path,
        shown: &str,
        commit: Oid,
    ) -> Result<(Repository, PathBuf), RepoError> {
        let known = self
            .known
            .iter()
            .find(|known| Path::new(&known.path) == path);
        for place in places(repository, path, known) {
            let Ok(found) = Repository::open_exactly(&place) else {
                continue;
            };
            if found.git.find_commit(commit).is_ok() {
                let source = found.git.path().to_owned();
                return Ok((found, source));
            }
        }
        let url = known.map_or("unknown", |known| known.url.as_str());
        let remedy = match repository.work_tree() {
            None => format!(
                "git clone --recurse-submodules {url}` and --repo of a full checkout, `git submodule update --init"
            ),
            Some(root) if root.join(path).join(".git").exists() => {
                format!("git -C {} fetch {url} {commit}", root.join(path).display())
            }
            Some(root) => format!(
                "git -C {} submodule update --init --recursive {}",
                root.display(),
                path.display()
            ),
        };
        Err(RepoError::SubmoduleMissing {
            path: shown.to_owned(),
            commit: commit.to_string(),
            url: url.to_owned(),
            remedy,
        })
    }
}

fn places(repository: &Repository, path: &Path, known: Option<&Submodule>) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    // A name that leaves `modules/` is an attack that git refuses too (CVE-2018-11235).
    let is_inside = |name: &&Submodule| !name.name.split('/').any(|part| part == "..");
    if let Some(known) = known.filter(is_inside) {
        names.insert(0, PathBuf::from(&known.name));
    }
    let git = &repository.git;
    let mut places = Vec::new();
    for directory in [git.path(), git.commondir()] {
        places.extend(
            names
                .iter()
                .map(|name| directory.join("modules").join(name)),
        );
    }
    places.extend(git.workdir().map(|root| root.join(path)));
    places
}

/// Reads the sections and keys of `.gitmodules`. Git's own reader would follow `include.path` out of
/// a file that a stranger wrote.
fn parse(text: &str) -> Vec<Submodule> {
    let mut known: Vec<Submodule> = Vec::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section
                .strip_prefix("submodule")
                .and_then(|rest| rest.trim().strip_suffix(']'))
                .map(|name| unquote(name.trim()));
            is_inside = name.is_some();
            known.extend(name.map(|name| Submodule {
                name,
                ..Submodule::default()
            }));
        } else if let (true, Some((key, value)), Some(last)) =
            (is_inside, line.split_once('='), known.last_mut())
        {
            match key.trim().to_ascii_lowercase().as_str() {
                "path" => last.path = unquote(value.trim()),
                "url" => last.url = unquote(value.trim()),
                _ => {}
            }
        }
    }
    known
}

fn unquote(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.map_or_else(
        || text.to_owned(),
        |inner| inner.replace("\\\"", "\"").replace("\\\\", "\\"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_keys_are_read_and_others_left_alone() {
        let text = "[core]\n\tpath = no\n[submodule \"deps/lib\"]\n\tpath = deps/lib\n\turl = ../lib\n\
                    \tbranch = main\n# a comment\n[submodule \"o \\\"q\\\"\"]\n  PATH=\"with space\"\n";
        let known = parse(text);
        assert_eq!(known.len(), 2);
        assert_eq!(
            known[0],
            Submodule {
                name: "deps/lib".to_owned(),
                path: "deps/lib".to_owned(),
                url: "../lib".to_owned()
            }
        );
        assert_eq!(known[1].name, "o \"q\"");
        assert_eq!(known[1].path, "with space");
    }
}

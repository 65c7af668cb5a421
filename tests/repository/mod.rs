//! Real git repositories in temporary directories, made with the git program.

// Each test crate uses its part of this.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A repository with a working tree, in a directory of its own inside a temporary directory.
pub struct TestRepository {
    outer: TempDir,
    path: PathBuf,
}

impl TestRepository {
    /// An empty repository.
    pub fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("repository");
        fs::create_dir(&path).unwrap();
        let repository = Self { outer, path };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// A repository with one commit of these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit("first");
        repository
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory beside the repository, for clones and exports.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.outer.path().join(name)
    }

    /// Runs git in the repository; its standard output without the last line end.
    pub fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.path, arguments)
    }

    /// Writes a file into the working tree; a text that begins with `#!` becomes executable.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Commits the whole working tree; the new commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Writes one file and commits it.
    pub fn commit_file(&self, path: &str, text: &str, message: &str) -> String {
        self.write(path, text);
        self.commit(message)
    }

    /// Everything in the git directory and the working tree, with times and contents: to see that
    /// nothing was touched.
    pub fn snapshot(&self) -> Vec<(PathBuf, std::time::SystemTime, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.path, &mut files);
        files.sort();
        files
    }
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, std::time::SystemTime, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            collect(&path, files);
        } else {
            let content = fs::read(&path).unwrap_or_default();
            files.push((path, metadata.modified().unwrap(), content));
        }
    }
}

/// Runs git in a directory, away from the user's own settings; its standard output.
pub fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = try_git_in(directory, arguments);
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// Runs git in a directory.
pub fn try_git_in(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory);
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_AUTHOR_NAME", "A. Author"),
        ("GIT_AUTHOR_EMAIL", "author@example.org"),
        ("GIT_AUTHOR_DATE", "2020-01-02T03:04:05Z"),
        ("GIT_COMMITTER_NAME", "C. Committer"),
        ("GIT_COMMITTER_EMAIL", "committer@example.org"),
        ("GIT_COMMITTER_DATE", "2020-01-02T03:04:06Z"),
    ] {
        command.env(name, value);
    }
    command.output().unwrap()
}

//! What the integration tests share: throw-away git repositories and the real binary.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A git repository of its own in a temporary directory.
pub struct TestRepo {
    dir: TempDir,
}

impl TestRepo {
    /// An empty repository.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("pb").tempdir().unwrap();
        let repo = Self { dir };
        std::fs::create_dir(repo.path()).unwrap();
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// Its working tree.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// A path beside it that goes with it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs git and returns what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.invalid",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Writes files and commits everything; returns the commit.
    pub fn commit(&self, message: &str, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            let path = self.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// `perfblame compare` on this repository with store and report beside it.
    pub fn compare(&self, arguments: &[&str]) -> Ran {
        perfblame(self.path().as_path(), &{
            let mut all = vec![
                "compare".to_owned(),
                "--store".to_owned(),
                self.beside("store").display().to_string(),
            ];
            all.extend(["--out".to_owned(), self.beside("out").display().to_string()]);
            all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
            all
        })
    }

    /// The report that the last comparison wrote.
    pub fn report(&self) -> serde_json::Value {
        let text = std::fs::read_to_string(self.beside("out/report.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// What a run of the binary gave.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; 128 and the signal where one ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Whether either output holds a text.
    pub fn says(&self, text: &str) -> bool {
        self.out.contains(text) || self.err.contains(text)
    }

    /// Asserts an error of code 2 whose text holds all of these.
    #[track_caller]
    pub fn refused(&self, said: &[&str]) {
        assert_eq!(self.code, 2, "{self:#?}");
        for text in said {
            assert!(self.err.contains(text), "`{text}` is not in: {}", self.err);
        }
    }
}

/// Runs the real binary.
pub fn perfblame<S: AsRef<std::ffi::OsStr>>(dir: &Path, arguments: &[S]) -> Ran {
    let output = command().args(arguments).current_dir(dir).output().unwrap();
    ran(output)
}

/// The real binary, with nothing of the caller's terminal.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfblame"));
    command.env("NO_COLOR", "1").env_remove("RUST_LOG");
    command
}

/// Output as text.
pub fn ran(output: Output) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let code = output
        .status
        .code()
        .or(output.status.signal().map(|signal| 128 + signal));
    Ran {
        code: code.unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

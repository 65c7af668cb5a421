//! Which compilers a build would use: part of the cache key, because another compiler makes
//! another program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Asks the compilers once for each set of variables: they do not change while we look.
#[derive(Debug, Default)]
pub(super) struct Compilers {
    asked: RefCell<BTreeMap<Question, String>>,
}

/// The recipe's variables, and whether the tree holds Rust.
type Question = (BTreeMap<String, String>, bool);

impl Compilers {
    /// See [`compiler_identity`].
    pub fn identity(&self, env: &BTreeMap<String, String>, uses_rust: bool) -> String {
        self.asked
            .borrow_mut()
            .entry((env.clone(), uses_rust))
            .or_insert_with(|| compiler_identity(env, uses_rust))
            .clone()
    }
}

/// The value of a variable as the build will see it.
fn variable(env: &BTreeMap<String, String>, name: &str) -> Option<String> {
    let value = env.get(name).cloned().or_else(|| std::env::var(name).ok());
    value.filter(|value| !value.trim().is_empty())
}

/// What the compilers that a build would use say of themselves; missing ones are left out.
///
/// C and C++ compilers are taken from `CC` and `CXX`, else `cc` and `c++`; `rustc` is asked only
/// for a tree that holds Rust.
fn compiler_identity(env: &BTreeMap<String, String>, uses_rust: bool) -> String {
    let path = variable(env, "PATH");
    let ask = |command: &str, arguments: &[&str]| -> Option<String> {
        let words = shell_words::split(command).ok()?;
        let (program, first) = words.split_first()?;
        let mut command = Command::new(program);
        if let Some(path) = &path {
            command.env("PATH", path);
        }
        let output = command
            .args(first)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let mut lines = Vec::new();
    for (name, default) in [("CC", "cc"), ("CXX", "c++")] {
        let command = variable(env, name).unwrap_or_else(|| default.to_owned());
        let version = ask(&command, &["--version"]);
        // The rest is the licence.
        let version = version.as_deref().and_then(|text| text.lines().next());
        let target = ask(&command, &["-dumpmachine"]).unwrap_or_default();
        lines.extend(version.map(|version| format!("{version} [{target}]")));
    }
    if uses_rust {
        let command = variable(env, "RUSTC").unwrap_or_else(|| "rustc".to_owned());
        lines.extend(ask(&command, &["-vV"]).map(|text| text.replace('\n', ", ")));
    }
    lines.dedup();
    lines.join("; ")
}

/// Finds a program as the shell does.
pub(super) fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

/// Whether a path is a file that somebody may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

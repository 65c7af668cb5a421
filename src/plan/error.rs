//! What can be wrong with a plan.

use std::path::PathBuf;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A directory, a pipe, or far too large.
    #[error("{} is not a plan: it must be a regular file of at most a megabyte", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// A key or a value is not allowed.
    #[error("{layer}{}: {}{message}", at_line(*line), at_key(key))]
    Invalid {
        /// The file, preset or flag.
        layer: String,
        /// Line, where known.
        line: Option<usize>,
        /// Dotted key; empty where unknown.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// No preset has that name.
    #[error("there is no preset `{name}`; there are: {known}")]
    UnknownPreset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Nothing says what to run.
    #[error(
        "nothing says what to run: {file}; write a perfblame.toml with a [server] or a [command] \
         section into the repository, or name a preset with --preset ({known})"
    )]
    NoWorkload {
        /// What was found of the file.
        file: String,
        /// The presets there are.
        known: String,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(":{line}")).unwrap_or_default()
}

fn at_key(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("`{key}`: ")
    }
}

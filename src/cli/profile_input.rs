//! Profiles that a user names on the command line.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The folded stacks of one file.
pub struct FoldedInput {
    /// The file.
    pub path: PathBuf,
    /// Its stacks as folded text.
    pub text: Vec<u8>,
}

impl FoldedInput {
    /// Reads every file, in any format that perfblame knows.
    pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<FoldedInput>> {
        paths
            .iter()
            .map(|path| {
                Ok(FoldedInput {
                    path: path.clone(),
                    text: read_bytes(path)?,
                })
            })
            .collect()
    }
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

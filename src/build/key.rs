//! The cache key: everything that decides what a build makes.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::plan::Recipe;

use super::environment::BUILD_VARIABLES;

/// Version of what this room does with a recipe; another version makes other artifacts.
const VERSION: &str = "1";

/// What enters a cache key.
#[derive(Debug)]
pub(super) struct KeyParts<'a> {
    /// Digest of the tree under `subject.paths`.
    pub tree: &'a str,
    /// The recipe as the plan has it. Its time limit and its number of jobs change nothing.
    pub recipe: &'a Recipe,
    /// Files that the caller gave, by name.
    pub inputs: &'a BTreeMap<String, Vec<u8>>,
    /// What the compilers say of themselves.
    pub compiler: &'a str,
    /// Where the source tree lies: it is in the debug information.
    pub source: &'a Path,
    /// What else a kernel is made of.
    pub kernel: &'a [(&'static str, String)],
}

impl KeyParts<'_> {
    /// The key, 32 hex digits. Of one length, because the length of a program's path moves its stack,
    /// and that can change its speed.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |name: &str, value: &[u8]| {
            for part in [name.as_bytes(), value] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        };
        add("version", VERSION.as_bytes());
        add("tree", self.tree.as_bytes());
        add("compiler", self.compiler.as_bytes());
        add("source", self.source.as_os_str().as_encoded_bytes());
        add("compiler-flags", self.recipe.compiler_flags.as_bytes());
        add("rust-flags", self.recipe.rust_flags.as_bytes());
        for step in &self.recipe.steps {
            add("step", step.as_bytes());
        }
        for path in &self.recipe.artifact {
            add("artifact", path.as_str().as_bytes());
        }
        for submodule in &self.recipe.skip_submodules {
            add("skip-submodule", submodule.as_bytes());
        }
        for name in BUILD_VARIABLES {
            if let (false, Ok(value)) = (self.recipe.env.contains_key(name), std::env::var(name)) {
                add(name, value.as_bytes());
            }
        }
        for (name, value) in &self.recipe.env {
            add(name, value.as_bytes());
        }
        for (name, content) in self.inputs {
            add("input", name.as_bytes());
            add("content", content);
        }
        for (name, value) in self.kernel {
            add(name, value.as_bytes());
        }
        let digest = hash.finalize();
        digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tree: &str, compiler: &str, change: impl FnOnce(&mut Recipe)) -> String {
        let mut recipe = Recipe::default();
        change(&mut recipe);
        KeyParts {
            tree,
            recipe: &recipe,
            inputs: &BTreeMap::new(),
            compiler,
            source: Path::new("/source"),
            kernel: &[],
        }
        .key()
    }

    #[test]
    fn what_changes_the_artifact_changes_the_key_and_nothing_else_does() {
        let plain = key("t", "cc 1", |_| {});
        assert_eq!(plain.len(), 32);
        let same: [fn(&mut Recipe); 2] = [
            |recipe| recipe.timeout = crate::plan::Length::seconds(1),
            |recipe| recipe.jobs = std::num::NonZeroU32::new(7),
        ];
        for change in same {
            assert_eq!(key("t", "cc 1", change), plain);
        }
        let others: [fn(&mut Recipe); 5] = [
            |recipe| recipe.steps.push("make".to_owned()),
            |recipe| recipe.artifact.push("x".to_owned().try_into().unwrap()),
            |recipe| recipe.compiler_flags.clear(),
            |recipe| recipe.skip_submodules.push("x".to_owned()),
            |recipe| {
                recipe.env.insert("CC".to_owned(), "clang".to_owned());
            },
        ];
        let mut keys: Vec<String> = others.map(|change| key("t", "cc 1", change)).to_vec();
        keys.extend([plain, key("u", "cc 1", |_| {}), key("t", "cc 2", |_| {})]);
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}

//! `[build]`: how an artifact is made of a commit's tree.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer, Serialize};

use super::duration::Length;

/// How an artifact is made of a commit's tree: `[build]` in the plan.
///
/// Without steps the build system is recognised; without artifact paths the one executable that
/// the build made is taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recipe {
    /// Shell commands, run one after the other by `sh -eu -c` in the root of the source tree.
    /// `{jobs}` is the number of jobs, `{source}` the source tree; other braces are the shell's.
    #[serde(deserialize_with = "steps")]
    pub steps: Vec<String>,
    /// Files, globs or directories to keep, relative to the source tree; the first is the main one.
    pub artifact: Vec<ArtifactPath>,
    /// Variables added to the environment of the steps.
    #[serde(deserialize_with = "environment")]
    pub env: BTreeMap<String, String>,
    /// Flags appended to every call of a C or C++ compiler, whatever flags the project chose.
    pub compiler_flags: String,
    /// Flags appended to every call of `rustc`, likewise.
    pub rust_flags: String,
    /// Time limit of all steps together.
    pub timeout: Length,
    /// Jobs that run at a time; by default as many as there are CPUs.
    pub jobs: Option<NonZeroU32>,
    /// Submodules that the build does without; any other must be there.
    pub skip_submodules: Vec<String>,
    /// Of a kernel: the configuration that the build begins with, a target of the kernel's Makefile
    /// (`tinyconfig`) or a file beside the plan or in the source tree. By default `defconfig`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Of a kernel: what is merged into the configuration, the later over the earlier; files beside
    /// the plan or in the source tree, or lines such as `CONFIG_LRU_GEN=y` themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fragments: Vec<String>,
    /// Of a kernel: variables for every call of make, such as `LLVM=1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub make_args: Vec<String>,
    /// Of a kernel: whether its modules are built and installed into the artifact.
    #[serde(skip_serializing_if = "is_false")]
    pub modules: bool,
    /// Of a kernel: whether the options that a guest cannot boot without are merged before the
    /// fragments.
    #[serde(skip_serializing_if = "is_true")]
    pub guest_options: bool,
    /// Of a kernel: contents of configuration files by the names that `config` and `fragments` have
    /// for them; those beside the plan are read with the plan.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config_files: BTreeMap<String, String>,
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Debug information for symbols and lines, frame pointers for call chains.
const COMPILER_FLAGS: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    "-g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
} else {
    "-g -fno-omit-frame-pointer"
};

impl Default for Recipe {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            artifact: Vec::new(),
            env: BTreeMap::new(),
            compiler_flags: COMPILER_FLAGS.to_owned(),
            rust_flags: "-C force-frame-pointers=yes".to_owned(),
            timeout: Length::seconds(3600),
            jobs: None,
            skip_submodules: Vec::new(),
            config: None,
            fragments: Vec::new(),
            make_args: Vec::new(),
            modules: false,
            guest_options: true,
            config_files: BTreeMap::new(),
        }
    }
}

/// A path or glob inside the source tree: relative, without `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactPath(String);

impl ArtifactPath {
    /// The path as written, with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ArtifactPath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let trimmed = text.trim_start_matches("./").trim_end_matches('/');
        if trimmed.is_empty() || trimmed.contains('\0') {
            return Err("an artifact path is empty".to_owned());
        }
        if trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..") {
            return Err(format!(
                "artifact path `{text}` leaves the source tree; name it relative to the tree's root"
            ));
        }
        Ok(Self(trimmed.to_owned()))
    }
}

impl From<ArtifactPath> for String {
    fn from(path: ArtifactPath) -> Self {
        path.0
    }
}

fn steps<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let steps = Vec::<String>::deserialize(input)?;
    match steps
        .iter()
        .find(|step| step.trim().is_empty() || step.contains('\0'))
    {
        Some(_) => Err(serde::de::Error::custom("a build step is empty")),
        None => Ok(steps),
    }
}

fn environment<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeMap<String, String>, D::Error> {
    let env = BTreeMap::<String, String>::deserialize(input)?;
    match env
        .iter()
        .find(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0'))
    {
        Some((name, _)) => Err(serde::de::Error::custom(format!(
            "`{name}` cannot be the name of an environment variable, or its value holds a null byte"
        ))),
        None => Ok(env),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_the_default() {
        assert_eq!(toml::from_str::<Recipe>("").unwrap(), Recipe::default());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let recipe: Recipe = toml::from_str(
            "steps = ['make -j{jobs}']\nartifact = ['./src/server', 'lib/']\ntimeout = '90m'\n\
             jobs = 3\n[env]\nCC = 'clang'",
        )
        .unwrap();
        assert_eq!(recipe.artifact[0].as_str(), "src/server");
        assert_eq!(recipe.artifact[1].as_str(), "lib");
        assert_eq!(recipe.timeout, Length::seconds(5400));
        let text = toml::to_string(&recipe).unwrap();
        assert_eq!(toml::from_str::<Recipe>(&text).unwrap(), recipe);
    }

    #[test]
    fn impossible_values_are_refused_by_what_is_wrong_with_them() {
        for (text, said) in [
            ("artifact = ['../x']", "leaves the source tree"),
            ("artifact = ['/bin/sh']", "leaves the source tree"),
            ("artifact = ['./']", "empty"),
            ("steps = ['make', ' ']", "step is empty"),
            ("jobs = 0", "nonzero"),
            ("timeout = 'soon'", "soon"),
            ("env = { 'A=B' = 'x' }", "A=B"),
            ("step = ['make']", "unknown field `step`"),
        ] {
            let error = toml::from_str::<Recipe>(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

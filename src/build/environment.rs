//! The environment that build steps run in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::plan::Recipe;

use super::recognise::Recognised;
use super::shims::make_shims;

/// The time that a build believes its sources to be from: the same for every commit, so that
/// `__DATE__` and archives do not make equal code differ. 9 September 2001.
pub(super) const SOURCE_TIME: i64 = 1_000_000_000;

/// Variables that describe somebody else's build or repository.
fn is_foreign(name: &str) -> bool {
    // A git hook or `git bisect run` sets GIT_DIR, and a build that asks git for its version would
    // be told that of the user's checkout.
    name.starts_with("GIT_")
        || name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_BIN_")
        || name.starts_with("CARGO_MANIFEST_")
        || [
            "CARGO",
            "CARGO_CRATE_NAME",
            "CARGO_PRIMARY_PACKAGE",
            "CARGO_TARGET_DIR",
            "CARGO_TARGET_TMPDIR",
            "CARGO_BUILD_TARGET_DIR",
            "OUT_DIR",
            "DESTDIR",
            "MAKEFLAGS",
            "MAKEOVERRIDES",
            "MAKELEVEL",
            "MFLAGS",
        ]
        .contains(&name)
}

/// Whether a shell can unset it.
fn is_shell_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Variables of the user's own environment that change what a build makes.
pub(super) const BUILD_VARIABLES: [&str; 26] = [
    "AR",
    "AS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CC",
    "CFLAGS",
    "CMAKE_BUILD_TYPE",
    "CMAKE_GENERATOR",
    "CMAKE_PREFIX_PATH",
    "CPATH",
    "CPP",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LD",
    "LDFLAGS",
    "LDLIBS",
    "LIBRARY_PATH",
    "OPTIMIZATION",
    "PKG_CONFIG_PATH",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// What is set and unset for the steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Environment {
    pub set: BTreeMap<String, String>,
    pub unset: BTreeSet<String>,
}

/// The places of a build.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// The workshop, in which all others are.
    pub workshop: &'a Path,
    /// The source tree.
    pub source: &'a Path,
    /// Files that the caller gave.
    pub inputs: &'a Path,
    /// An empty directory for compilers' scripts.
    pub shims: &'a Path,
    /// A directory for temporary files.
    pub temporary: &'a Path,
}

impl Environment {
    /// Makes the scripts and says what the steps' environment is: the user's own, without what
    /// describes another build, with what makes builds repeatable, with the recipe's own on top.
    pub fn prepare(
        places: Places<'_>,
        recipe: &Recipe,
        recognised: Option<&Recognised>,
        jobs: u32,
    ) -> std::io::Result<Self> {
        let mut set = BTreeMap::new();
        let mut put = |name: &str, value: &str| {
            set.insert(name.to_owned(), value.to_owned());
        };
        put("LC_ALL", "C.UTF-8");
        put("TZ", "UTC");
        put("SOURCE_DATE_EPOCH", &SOURCE_TIME.to_string());
        put("ZERO_AR_DATE", "1");
        put(
            "GIT_CEILING_DIRECTORIES",
            &places.workshop.display().to_string(),
        );
        put("TMPDIR", &places.temporary.display().to_string());
        for (name, value) in recognised.iter().flat_map(|found| &found.env) {
            put(name, &fill(value, places, jobs));
        }
        for (name, value) in &recipe.env {
            put(name, &fill(value, places, jobs));
        }
        let path = set
            .get("PATH")
            .cloned()
            .or_else(|| std::env::var("PATH").ok());
        let shims = make_shims(places.shims, recipe, &path.unwrap_or_default())?;
        set.extend(shims);
        let unset = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| is_foreign(name) && is_shell_name(name) && !set.contains_key(name))
            .collect();
        Ok(Self { set, unset })
    }
}

/// Fills in `{jobs}`, `{source}` and `{inputs}`; other braces are the shell's.
pub(super) fn fill(text: &str, places: Places<'_>, jobs: u32) -> String {
    text.replace("{jobs}", &jobs.to_string())
        .replace("{source}", &places.source.display().to_string())
        .replace("{inputs}", &places.inputs.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_another_build_is_foreign() {
        for name in [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "MAKEFLAGS",
            "CARGO_PKG_NAME",
            "CARGO_TARGET_DIR",
        ] {
            assert!(is_foreign(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CC",
            "GITHUB_ACTIONS",
            "CARGO_NET_OFFLINE",
        ] {
            assert!(!is_foreign(name), "{name}");
        }
    }

    #[test]
    fn only_known_braces_are_filled_in() {
        let places = Places {
            workshop: Path::new("/w"),
            source: Path::new("/w/source"),
            inputs: Path::new("/w/inputs"),
            shims: Path::new("/w/shims"),
            temporary: Path::new("/w/tmp"),
        };
        let text = fill("make -j{jobs} O={source}/o ${X} {a,b} '{print}'", places, 3);
        assert_eq!(text, "make -j3 O=/w/source/o ${X} {a,b} '{print}'");
    }
}

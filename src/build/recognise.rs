//! Which build system a source tree has, and the ordinary command that builds it.

use std::fmt;
use std::path::Path;

use regex::Regex;

/// A build system that is recognised by its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildSystem {
    /// `Cargo.toml`.
    Cargo,
    /// `configure`, or what makes it.
    Autotools,
    /// `Makefile`.
    Make,
    /// `meson.build`.
    Meson,
    /// `CMakeLists.txt`.
    CMake,
}

impl fmt::Display for BuildSystem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Cargo => "Cargo",
            Self::Autotools => "configure and make",
            Self::Make => "make",
            Self::Meson => "Meson",
            Self::CMake => "CMake",
        })
    }
}

/// How a recognised tree is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The build system.
    pub system: BuildSystem,
    /// Its ordinary commands; `{jobs}` and `{source}` as in a recipe.
    pub steps: Vec<String>,
    /// Variables that the commands need; `{source}` as in a recipe.
    pub env: Vec<(String, String)>,
    /// Programs that must be installed.
    pub tools: Vec<&'static str>,
}

/// Out-of-tree builds are made in this directory of the source tree.
const BUILD_DIRECTORY: &str = "_build";

/// Recognises a source tree's build system; `None` where it has none that is known.
///
/// A tree with several is built with the first of: Cargo, a `configure` script, a Makefile of its
/// own (not one that only calls CMake, Meson or Ninja), Meson, CMake, what makes a `configure`
/// script, any other Makefile. Optimisation is the project's own; where it leaves that to whoever
/// builds it (CMake and Meson without a build type), it is `-O2`.
pub fn recognise(source: &Path) -> Option<Recognised> {
    let has = |name: &str| source.join(name).is_file();
    let read = |name: &str| {
        let content = std::fs::read(source.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&content).into_owned()
    };
    let makefile = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find(|name| has(name));
    let is_own = |name: &str| !calls_another_build_system(&read(name));
    if has("Cargo.toml") {
        Some(cargo())
    } else if has("configure") {
        Some(autotools(&[], "configure"))
    } else if makefile.is_some_and(is_own) {
        Some(make())
    } else if has("meson.build") {
        Some(meson(&read("meson.build")))
    } else if has("CMakeLists.txt") {
        Some(cmake(&read("CMakeLists.txt")))
    } else if has("autogen.sh") {
        Some(autotools(&["NOCONFIGURE=1 sh ./autogen.sh"], "autogen.sh"))
    } else if has("configure.ac") || has("configure.in") {
        Some(autotools(&["autoreconf -fi"], "configure.ac"))
    } else {
        makefile.map(|_| make())
    }
}

fn recognised(system: BuildSystem, steps: &[&str], tools: &[&'static str]) -> Recognised {
    Recognised {
        system,
        steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        env: Vec::new(),
        tools: tools.to_vec(),
    }
}

fn make() -> Recognised {
    recognised(BuildSystem::Make, &["make -j{jobs}"], &["make"])
}

fn autotools(before: &[&str], from: &str) -> Recognised {
    // Through the shell: the script may have lost its executable bit.
    let steps = [before, &["sh ./configure", "make -j{jobs}"]].concat();
    let tools: &[_] = match from {
        "configure" => &["make"],
        _ => &["make", "autoconf", "automake"],
    };
    recognised(BuildSystem::Autotools, &steps, tools)
}

fn cargo() -> Recognised {
    let env = [
        // The user's shared target directory would mix the commits.
        ("CARGO_TARGET_DIR", "{source}/target"),
        ("CARGO_INCREMENTAL", "0"),
        ("CARGO_PROFILE_RELEASE_DEBUG", "limited"),
        ("CARGO_PROFILE_RELEASE_STRIP", "none"),
        ("CARGO_PROFILE_RELEASE_SPLIT_DEBUGINFO", "off"),
    ];
    Recognised {
        env: env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..recognised(
            BuildSystem::Cargo,
            &["cargo build --release -j{jobs}"],
            &["cargo"],
        )
    }
}

fn meson(text: &str) -> Recognised {
    // Without a build type Meson does not optimise; a project's own choice is its users' choice.
    let has_choice = matches(
        text,
        r"\b(buildtype|optimization)=(release|debugoptimized|minsize|[123s])\b",
    );
    let choice = if has_choice {
        ""
    } else {
        " --buildtype=debugoptimized"
    };
    let setup = format!("meson setup {BUILD_DIRECTORY}{choice}");
    let compile = format!("meson compile -C {BUILD_DIRECTORY} -j {{jobs}}");
    recognised(BuildSystem::Meson, &[&setup, &compile], &["meson", "ninja"])
}

fn cmake(text: &str) -> Recognised {
    let has_choice = matches(
        text,
        r#"(?is)\bset\s*\(\s*CMAKE_BUILD_TYPE\s+"?(Release|RelWithDebInfo)"#,
    );
    let choice = if has_choice {
        ""
    } else {
        " -DCMAKE_BUILD_TYPE=RelWithDebInfo"
    };
    let configure = format!("cmake -S . -B {BUILD_DIRECTORY}{choice}");
    let build = format!("cmake --build {BUILD_DIRECTORY} -j {{jobs}}");
    recognised(BuildSystem::CMake, &[&configure, &build], &["cmake"])
}

/// Whether a Makefile is only a short way to type `cmake` and the like.
fn calls_another_build_system(makefile: &str) -> bool {
    matches(
        makefile,
        r"(?m)^(\t|.*\b(cmake|meson|ninja)\s*[:?]?=).*\b(cmake|CMAKE|meson|MESON|ninja)\b",
    )
}

fn matches(text: &str, pattern: &str) -> bool {
    Regex::new(pattern)
        .expect("the pattern is a constant that the tests compile")
        .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system_of(files: &[(&str, &str)]) -> Option<(BuildSystem, String)> {
        let tree = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(tree.path().join(name), text).unwrap();
        }
        recognise(tree.path()).map(|found| (found.system, found.steps.join("; ")))
    }

    #[test]
    fn a_tree_with_several_build_systems_is_built_with_the_ordinary_one() {
        use BuildSystem::*;
        let own = ("Makefile", "all:\n\tcc -o x x.c\n");
        let wrapper = ("Makefile", "all:\n\tcmake --build build\n");
        let cmake_file = ("CMakeLists.txt", "project(x)");
        let meson_file = ("meson.build", "project('x', 'c')");
        for (files, expected) in [
            (vec![], None),
            (vec![("README", "")], None),
            (vec![own], Some(Make)),
            (vec![("GNUmakefile", "all:")], Some(Make)),
            (vec![wrapper], Some(Make)),
            (vec![own, cmake_file], Some(Make)),
            (vec![wrapper, cmake_file], Some(CMake)),
            (vec![own, meson_file], Some(Make)),
            (vec![meson_file, cmake_file], Some(Meson)),
            (vec![own, ("configure", "")], Some(Autotools)),
            (vec![own, ("configure.ac", "")], Some(Make)),
            (vec![("configure.ac", "")], Some(Autotools)),
            (
                vec![("autogen.sh", ""), ("configure.ac", "")],
                Some(Autotools),
            ),
            (vec![cmake_file, ("configure.ac", "")], Some(CMake)),
            (vec![own, ("Cargo.toml", "")], Some(Cargo)),
        ] {
            assert_eq!(
                system_of(&files).map(|found| found.0),
                expected,
                "{files:?}"
            );
        }
    }

    #[test]
    fn a_build_type_is_given_only_where_the_project_has_none() {
        for (name, text, given) in [
            ("CMakeLists.txt", "project(x)", true),
            ("CMakeLists.txt", "set(CMAKE_BUILD_TYPE Debug)", true),
            (
                "CMakeLists.txt",
                "if(NOT CMAKE_BUILD_TYPE)\n set( CMAKE_BUILD_TYPE \"Release\" CACHE STRING x)\nendif()",
                false,
            ),
            ("meson.build", "project('x', 'c')", true),
            (
                "meson.build",
                "project('x', 'c', default_options: ['buildtype=debug'])",
                true,
            ),
            (
                "meson.build",
                "project('x', 'c', default_options: ['buildtype=release'])",
                false,
            ),
            (
                "meson.build",
                "project('x', 'c', default_options: ['optimization=3'])",
                false,
            ),
        ] {
            let (_, steps) = system_of(&[(name, text)]).unwrap();
            assert_eq!(
                steps.to_lowercase().contains("buildtype=debugoptimized")
                    || steps.contains("CMAKE_BUILD_TYPE=RelWithDebInfo"),
                given,
                "{text}: {steps}"
            );
        }
    }
}

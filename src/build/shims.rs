//! Compilers in front of the compilers.
//!
//! A flag such as `-fno-omit-frame-pointer` is to be added to every compilation, and nothing else is
//! to change. `CFLAGS` in the environment cannot do that: a Makefile with `CFLAGS = -O2` does not see
//! it, one with `CFLAGS ?= -O3` and autoconf's `-g -O2` lose their own, and where a project appends
//! it, an `-O2` in it undoes an `-O3`. So the build's `PATH` begins with a directory of scripts that
//! call the compiler of the same name with the flags appended, as ccache does it; and Cargo is given
//! a `RUSTC_WRAPPER`, because `RUSTFLAGS` would put the project's own `.cargo/config.toml` aside.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::plan::Recipe;

use super::compiler::is_executable;

/// Makes the scripts for a recipe in an empty directory and returns what they need in the
/// environment. `path` is the build's own `PATH`.
pub(super) fn make_shims(
    directory: &Path,
    recipe: &Recipe,
    path: &str,
) -> std::io::Result<BTreeMap<String, String>> {
    fs::create_dir_all(directory)?;
    let variable = |name: &str| {
        let value = recipe.env.get(name).cloned();
        let value = value.or_else(|| std::env::var(name).ok());
        value.filter(|value| !value.is_empty())
    };
    let mut env = BTreeMap::new();
    if !recipe.compiler_flags.trim().is_empty() {
        let compilers = compilers(path);
        for (name, compiler) in &compilers {
            write_shim(&directory.join(name), compiler, &recipe.compiler_flags)?;
        }
        let joined = format!("{}:{path}", directory.display());
        env.insert("PATH".to_owned(), joined);
        for name in ["CC", "CXX"] {
            let named = variable(name).and_then(|value| named_compiler(&value, &compilers));
            if let Some(compiler) = named {
                let shim = directory.join(format!("{name}-of-environment"));
                write_shim(&shim, &compiler, &recipe.compiler_flags)?;
                env.insert(name.to_owned(), shim.display().to_string());
            }
        }
    }
    if !recipe.rust_flags.trim().is_empty() {
        let shim = directory.join("rustc-wrapper");
        let wrapper = variable("RUSTC_WRAPPER")
            .map(|wrapper| format!("{} ", shell_words::quote(&wrapper)))
            .unwrap_or_default();
        let line = format!("exec {wrapper}\"$@\" {}", recipe.rust_flags);
        write_script(&shim, &line)?;
        env.insert("RUSTC_WRAPPER".to_owned(), shim.display().to_string());
    }
    Ok(env)
}

/// A compiler as a script calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Compiler {
    /// The compiler itself.
    program: PathBuf,
    /// A cache that is called in front of it.
    launcher: Option<PathBuf>,
}

/// The C and C++ compilers of this machine for this machine, by name, as `PATH` finds them.
///
/// Where `PATH` finds a link to ccache first, the script calls ccache with the next compiler of that
/// name: ccache would look for that by itself, and find the script.
fn compilers(path: &str) -> BTreeMap<String, Compiler> {
    let native = format!(
        r"^({}(-\w+)*-linux-\w+-|musl-)?(cc|gcc|clang|c\+\+|g\+\+|clang\+\+)(-\d+(\.\d+)*)?$",
        std::env::consts::ARCH
    );
    let native = Regex::new(&native).expect("the pattern is a constant that the tests compile");
    let mut launchers: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut found: BTreeMap<String, Compiler> = BTreeMap::new();
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let program = entry.path();
            if !native.is_match(&name) || found.contains_key(&name) || !is_executable(&program) {
                continue;
            }
            if let Some(launcher) = launcher(&program) {
                launchers.entry(name).or_insert(launcher);
            } else {
                let launcher = launchers.get(&name).cloned();
                found.insert(name, Compiler { program, launcher });
            }
        }
    }
    found
}

/// The compiler that `CC` names by its whole path, which no script in `PATH` stands before.
fn named_compiler(value: &str, compilers: &BTreeMap<String, Compiler>) -> Option<Compiler> {
    let program = PathBuf::from(value);
    if !program.is_absolute() || !is_executable(&program) {
        return None;
    }
    match launcher(&program) {
        None => Some(Compiler {
            program,
            launcher: None,
        }),
        launcher => Some(Compiler {
            program: compilers
                .get(program.file_name()?.to_str()?)?
                .program
                .clone(),
            launcher,
        }),
    }
}

/// The compiler cache that a compiler's name is a link to.
fn launcher(program: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(program).ok()?;
    let name = real.file_name()?.to_str()?;
    let is_launcher = ["ccache", "sccache", "distcc", "icecc"].contains(&name);
    is_launcher.then_some(real)
}

fn write_shim(shim: &Path, compiler: &Compiler, flags: &str) -> std::io::Result<()> {
    let real = fs::canonicalize(&compiler.program)?;
    let is_clang = real.to_string_lossy().contains("clang");
    // Clang warns of a flag that a link has no use for, which -Werror makes an error.
    let quiet = if is_clang { " -Qunused-arguments" } else { "" };
    let words = compiler.launcher.iter().chain([&compiler.program]);
    let words = shell_words::join(words.map(|word| word.to_string_lossy()));
    write_script(shim, &format!("exec {words} \"$@\" {flags}{quiet}"))?;
    // ccache takes a compiler whose size and time have not changed for the same one.
    let modified = fs::metadata(&real)?.modified()?;
    File::options()
        .write(true)
        .open(shim)?
        .set_modified(modified)
}

fn write_script(path: &Path, line: &str) -> std::io::Result<()> {
    fs::write(path, format!("#!/bin/sh\n{line}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_for_this_machine_are_found_and_other_tools_are_not() {
        let bin = tempfile::tempdir().unwrap();
        let triple = format!("{}-pc-linux-gnu-gcc-12", std::env::consts::ARCH);
        let names = ["cc", "gcc", "g++", "clang++-17", "musl-gcc", "c++", &triple];
        let others = [
            "gcc-ar",
            "arm-none-eabi-gcc",
            "ccache",
            "gccgo",
            "cc1",
            "clangd",
            "tcc",
        ];
        for name in names.iter().chain(&others) {
            write_script(&bin.path().join(name), "true").unwrap();
        }
        fs::write(bin.path().join("clang"), "no executable").unwrap();
        let found = compilers(&bin.path().display().to_string());
        let mut expected = names.map(str::to_owned);
        expected.sort();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), expected);
    }
    #[test]
    fn a_compiler_cache_is_called_with_the_compiler_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let (masks, bin, shims) = (root.join("masks"), root.join("bin"), root.join("shims"));
        fs::create_dir(&masks).unwrap();
        fs::create_dir(&bin).unwrap();
        write_script(&bin.join("ccache"), "echo cached \"$@\"; \"$@\"").unwrap();
        write_script(&bin.join("gcc"), "echo real \"$@\"").unwrap();
        std::os::unix::fs::symlink("../bin/ccache", masks.join("gcc")).unwrap();
        let path = format!("{}:{}", masks.display(), bin.display());
        let mut recipe = Recipe {
            compiler_flags: "-g -x".to_owned(),
            ..Recipe::default()
        };
        let mask = masks.join("gcc").display().to_string();
        recipe.env.insert("CC".to_owned(), mask);
        let env = make_shims(&shims, &recipe, &path).unwrap();
        assert_eq!(env["PATH"], format!("{}:{path}", shims.display()));
        for shim in [shims.join("gcc"), PathBuf::from(&env["CC"])] {
            let output = std::process::Command::new(&shim)
                .args(["-c", "a b.c"])
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let gcc = bin.join("gcc");
            let expected = format!(
                "cached {} -c a b.c -g -x\nreal -c a b.c -g -x\n",
                gcc.display()
            );
            assert_eq!(said, expected);
            let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
            assert_eq!(time(&shim), time(&gcc));
        }
    }
}

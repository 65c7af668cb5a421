//! Compilers in front of the compilers.
//!
//! A flag such as `-fno-omit-frame-pointer` is to be added to every compilation, and nothing else is
//! to change. `CFLAGS` in the environment cannot do that: a Makefile with `CFLAGS = -O2` does not see
//! it, one with `CFLAGS ?= -O3` and autoconf's `-g -O2` lose their own, and where a project appends
//! it, an `-O2` in it undoes an `-O3`. So the build's `PATH` begins with a directory of scripts that
//! call the compiler of the same name with the flags appended, as ccache does it; and Cargo is given
//! a `RUSTC_WRAPPER`, because `RUSTFLAGS` would put the project's own `.cargo/config.toml` aside.

use std::collections::BTreeMap;
use std::fs;
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
    let mut env = BTreeMap::new();
    if !recipe.compiler_flags.trim().is_empty() {
        for (name, compiler) in compilers(path) {
            write_shim(&directory.join(name), &compiler, &recipe.compiler_flags)?;
        }
        let joined = format!("{}:{path}", directory.display());
        env.insert("PATH".to_owned(), joined);
        // A compiler that the environment names by its whole path is not looked up.
        for name in ["CC", "CXX"] {
            let value = recipe
                .env
                .get(name)
                .cloned()
                .or_else(|| std::env::var(name).ok());
            let compiler = value.map(PathBuf::from);
            if let Some(compiler) =
                compiler.filter(|path| path.is_absolute() && is_executable(path))
            {
                let shim = directory.join(format!("{name}-of-environment"));
                write_shim(&shim, &compiler, &recipe.compiler_flags)?;
                env.insert(name.to_owned(), shim.display().to_string());
            }
        }
    }
    if !recipe.rust_flags.trim().is_empty() {
        let shim = directory.join("rustc-wrapper");
        let wrapper = recipe
            .env
            .get("RUSTC_WRAPPER")
            .cloned()
            .or_else(|| std::env::var("RUSTC_WRAPPER").ok())
            .filter(|wrapper| !wrapper.is_empty())
            .map(|wrapper| format!("{} ", shell_words::quote(&wrapper)))
            .unwrap_or_default();
        write_script(
            &shim,
            &format!("exec {wrapper}\"$@\" {}", recipe.rust_flags),
        )?;
        env.insert("RUSTC_WRAPPER".to_owned(), shim.display().to_string());
    }
    Ok(env)
}

/// The C and C++ compilers of this machine for this machine, by name, as `PATH` finds them.
fn compilers(path: &str) -> BTreeMap<String, PathBuf> {
    let native = format!(
        r"^({}(-\w+)*-linux-\w+-|musl-)?(cc|gcc|clang|c\+\+|g\+\+|clang\+\+)(-\d+(\.\d+)*)?$",
        std::env::consts::ARCH
    );
    let native = Regex::new(&native).expect("the pattern is a constant that the tests compile");
    let mut found = BTreeMap::new();
    for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if native.is_match(&name) && is_executable(&entry.path()) {
                found.entry(name).or_insert_with(|| entry.path());
            }
        }
    }
    found
}

fn write_shim(shim: &Path, compiler: &Path, flags: &str) -> std::io::Result<()> {
    let real = fs::canonicalize(compiler).unwrap_or_default();
    let is_clang = real.to_string_lossy().contains("clang");
    // Clang warns of a flag that a link has no use for, which -Werror makes an error.
    let quiet = if is_clang { " -Qunused-arguments" } else { "" };
    let compiler = compiler.display().to_string();
    let compiler = shell_words::quote(&compiler);
    write_script(shim, &format!("exec {compiler} \"$@\" {flags}{quiet}"))
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
}

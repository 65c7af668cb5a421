//! The programs that a kernel is built with, and the packages that they come in.

use std::io::Write;
use std::process::{Command, Stdio};

use super::super::compiler::find_program;
use super::configuration::Configuration;

/// A program or a header that is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTool {
    /// Its name.
    pub name: &'static str,
    /// Debian's package that holds it.
    pub package: &'static str,
}

/// What every kernel is built with.
const ALWAYS: [(&str, &str); 6] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];

/// What an option needs. A name that ends with `.h` is a header of a program that runs here.
const BY_OPTION: [(&str, &str, &str); 8] = [
    ("OBJTOOL", "gelf.h", "libelf-dev"),
    ("KERNEL_XZ", "xz", "xz-utils"),
    ("KERNEL_LZ4", "lz4", "lz4"),
    ("KERNEL_ZSTD", "zstd", "zstd"),
    ("KERNEL_LZO", "lzop", "lzop"),
    ("DEBUG_INFO_BTF", "pahole", "dwarves"),
    ("SYSTEM_TRUSTED_KEYRING", "openssl/opensslv.h", "libssl-dev"),
    ("IKHEADERS", "cpio", "cpio"),
];

/// The tools for every kernel that `path` does not hold; `compiler` stands in for gcc.
pub fn missing_tools(path: &str, compiler: &str) -> Vec<KernelTool> {
    let program = compiler.split_whitespace().next().unwrap_or("gcc");
    let missing = |name: &str| {
        let name = if name == "gcc" { program } else { name };
        !name.contains('/') && find_program(name, path).is_none()
    };
    ALWAYS
        .iter()
        .filter(|(name, _)| missing(name))
        .map(|&(name, package)| match name == "gcc" && program != "gcc" {
            true if program.starts_with("clang") => KernelTool {
                name: "clang",
                package: "clang lld llvm",
            },
            _ => KernelTool { name, package },
        })
        .collect()
}

/// What a configuration needs beyond that.
pub fn missing_for(configuration: &Configuration, modules: bool, path: &str) -> Vec<KernelTool> {
    let options = BY_OPTION
        .iter()
        .filter(|(option, _, _)| configuration.is_on(option))
        .map(|&(_, name, package)| (name, package));
    let modules = (modules && configuration.is_on("MODULES")).then_some(("depmod", "kmod"));
    options
        .chain(modules)
        .filter(|(name, _)| match name.ends_with(".h") {
            true => !has_header(name, path),
            false => find_program(name, path).is_none() && !in_sbin(name),
        })
        .map(|(name, package)| KernelTool { name, package })
        .collect()
}

/// `depmod` lies where not everybody's PATH leads, and is found there by the kernel's scripts.
fn in_sbin(name: &str) -> bool {
    find_program(name, "/usr/sbin:/sbin").is_some()
}

/// Whether the compiler finds a header.
fn has_header(name: &str, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut child = Command::new("gcc")
            .args(["-E", "-x", "c", "-"])
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            writeln!(input, "#include <{name}>")?;
        }
        Ok(child.wait()?.success())
    };
    // Without a gcc to ask, the build itself will say it.
    ask().unwrap_or(true)
}

/// What this machine lacks for building a kernel with the usual configurations.
pub fn missing_kernel_tools() -> Vec<KernelTool> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut missing = missing_tools(&path, "gcc");
    let usual = Configuration::parse("CONFIG_OBJTOOL=y\n");
    missing.extend(missing_for(&usual, false, &path));
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_path_holds_no_tool() {
        let names: Vec<_> = missing_tools("", "gcc").iter().map(|t| t.name).collect();
        assert_eq!(names, ["make", "gcc", "ld", "flex", "bison", "bc"]);
        let clang: Vec<_> = missing_tools("", "clang-15 -x")
            .iter()
            .map(|t| t.package)
            .collect();
        assert!(clang.contains(&"clang lld llvm"), "{clang:?}");
        let configuration = Configuration::parse("CONFIG_KERNEL_LZO=y\n");
        let expected = KernelTool {
            name: "lzop",
            package: "lzop",
        };
        if !in_sbin("lzop") {
            assert_eq!(missing_for(&configuration, false, ""), [expected]);
        }
    }
}

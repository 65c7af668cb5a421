//! What goes into a kernel besides its tree: configuration, fragments, arguments, compiler.

use std::process::{Command, Stdio};

use crate::plan::{Recipe, is_inline_fragment};
use crate::repo::{RepoError, Repository, Revision};

/// Version of what this room does with them; another version makes other kernels.
const VERSION: &str = "1";

/// The options that a guest cannot do without.
const GUEST_OPTIONS: &str = include_str!("guest.config");

/// The configuration where the plan names none.
const DEFAULT_CONFIG: &str = "defconfig";

/// What the configuration begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A target of the kernel's Makefile.
    Target(String),
    /// The text of a file.
    Text(String),
}

/// What is merged into the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The file as the plan names it, or what the lines are.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether it is perfblame's own list of what a guest needs.
    pub is_own: bool,
}

impl Fragment {
    /// Where one of its lines stands, for the user.
    pub fn place(&self, line: usize) -> String {
        match self.is_own || self.name == INLINE {
            true => self.name.clone(),
            false => format!("{}:{line}", self.name),
        }
    }
}

/// Name of lines that stand in the plan itself.
const INLINE: &str = "build.fragments";

/// Base and fragments of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// What the configuration begins with.
    pub base: Base,
    /// What is merged into it, in order.
    pub fragments: Vec<Fragment>,
    /// Fragments that are neither beside the plan nor in the commit.
    pub missing: Vec<String>,
}

impl Inputs {
    /// Reads the files that the recipe names, from the plan or else from the commit.
    pub fn of(
        recipe: &Recipe,
        repository: &Repository,
        revision: &Revision,
    ) -> Result<Self, RepoError> {
        let text = |name: &str| -> Result<Option<String>, RepoError> {
            match recipe.config_files.get(name) {
                Some(text) => Ok(Some(text.clone())),
                None => repository.file_text(revision, name),
            }
        };
        let name = recipe.config.as_deref().unwrap_or(DEFAULT_CONFIG);
        let base = match text(name)? {
            Some(text) => Base::Text(text),
            None => Base::Target(name.to_owned()),
        };
        let mut fragments = Vec::new();
        let mut missing = Vec::new();
        if recipe.guest_options {
            fragments.push(Fragment {
                name: "perfblame's options for a guest".to_owned(),
                text: GUEST_OPTIONS.to_owned(),
                is_own: true,
            });
        }
        for name in &recipe.fragments {
            let (name, text) = match is_inline_fragment(name) {
                true => (INLINE, Some(unindented(name))),
                false => (name.as_str(), text(name)?),
            };
            match text {
                Some(text) => fragments.push(Fragment {
                    name: name.to_owned(),
                    text,
                    is_own: false,
                }),
                None => missing.push(name.to_owned()),
            }
        }
        Ok(Self {
            base,
            fragments,
            missing,
        })
    }
}

/// Lines of the plan itself may be indented; the kernel's scripts take options at a line's beginning.
fn unindented(lines: &str) -> String {
    lines
        .lines()
        .map(|line| line.trim().to_owned() + "\n")
        .collect()
}

/// What of a kernel's recipe enters its cache key, besides what every recipe has.
pub fn key_parts(
    recipe: &Recipe,
    repository: &Repository,
    revision: &Revision,
) -> Result<Vec<(&'static str, String)>, RepoError> {
    let inputs = Inputs::of(recipe, repository, revision)?;
    let mut parts = vec![("kernel", VERSION.to_owned())];
    parts.push(match inputs.base {
        Base::Target(name) => ("config-target", name),
        Base::Text(text) => ("config-text", text),
    });
    let fragments = inputs.fragments.into_iter();
    parts.extend(fragments.map(|fragment| ("fragment", fragment.text)));
    parts.extend(inputs.missing.into_iter().map(|name| ("missing", name)));
    let arguments = recipe.make_args.iter();
    parts.extend(arguments.map(|argument| ("make-arg", argument.clone())));
    parts.push(("modules", recipe.modules.to_string()));
    Ok(parts)
}

/// The value of a variable of make.
fn argument<'r>(recipe: &'r Recipe, name: &str) -> Option<&'r str> {
    let arguments = recipe.make_args.iter().rev();
    let mut pairs = arguments.filter_map(|argument| argument.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(value).filter(|value| !value.is_empty())
}

/// The compiler that the kernel's Makefile calls: it heeds no variable of the environment.
pub fn compiler(recipe: &Recipe) -> String {
    tool(recipe, "CC", "clang", "gcc")
}

/// The program that takes debug information off, of the same tools.
pub fn objcopy(recipe: &Recipe) -> String {
    tool(recipe, "OBJCOPY", "llvm-objcopy", "objcopy")
}

/// A tool as the kernel's Makefile names it: by its own variable, by `LLVM=1`, `LLVM=-15` or
/// `LLVM=/usr/lib/llvm/bin/`, or by `CROSS_COMPILE`.
fn tool(recipe: &Recipe, variable: &str, llvm: &str, gnu: &str) -> String {
    if let Some(named) = argument(recipe, variable) {
        return named.to_owned();
    }
    match argument(recipe, "LLVM") {
        Some(version) if version.starts_with('-') => format!("{llvm}{version}"),
        Some(prefix) if prefix.ends_with('/') => format!("{prefix}{llvm}"),
        Some(_) => llvm.to_owned(),
        None => format!(
            "{}{gnu}",
            argument(recipe, "CROSS_COMPILE").unwrap_or_default()
        ),
    }
}

/// What compiler and linker of a kernel say of themselves; missing ones are left out.
pub fn compiler_identity(recipe: &Recipe) -> String {
    let path = recipe.env.get("PATH");
    let ask = |command: String| -> Option<String> {
        let words = shell_words::split(&command).ok()?;
        let (program, first) = words.split_first()?;
        let mut command = Command::new(program);
        command.envs(path.map(|path| ("PATH", path)));
        let output = command
            .args(first)
            .arg("--version")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next()?.trim().to_owned();
        (output.status.success() && !line.is_empty()).then_some(line)
    };
    let both = [
        ask(compiler(recipe)),
        ask(tool(recipe, "LD", "ld.lld", "ld")),
    ];
    both.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_the_one_that_the_makefile_calls() {
        for (arguments, expected, linker_expected) in [
            (&[][..], "gcc", "ld"),
            (&["LLVM=1"], "clang", "ld.lld"),
            (&["LLVM=-15"], "clang-15", "ld.lld-15"),
            (&["CC=gcc-11", "KCFLAGS=-O3"], "gcc-11", "ld"),
            (
                &["CROSS_COMPILE=x86_64-linux-gnu-"],
                "x86_64-linux-gnu-gcc",
                "x86_64-linux-gnu-ld",
            ),
        ] {
            let recipe = Recipe {
                make_args: arguments.iter().map(|a| (*a).to_owned()).collect(),
                ..Recipe::default()
            };
            assert_eq!(compiler(&recipe), expected);
            let objcopy_expected = linker_expected.replace("ld.lld", "llvm-objcopy");
            let objcopy_expected = match objcopy_expected.strip_suffix("ld") {
                Some(prefix) => format!("{prefix}objcopy"),
                None => objcopy_expected,
            };
            assert_eq!(objcopy(&recipe), objcopy_expected);
            assert_eq!(tool(&recipe, "LD", "ld.lld", "ld"), linker_expected);
        }
    }
}

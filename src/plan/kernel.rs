//! What a plan says of a kernel's configuration, and the files that it names.

use std::path::Path;

use super::Recipe;
use super::model::{Plan, SubjectKind};

/// Bytes above which a file is no configuration.
const LARGEST_FILE: u64 = 1 << 20;

/// Variables of make that are perfblame's own to set.
const OWN_VARIABLES: [&str; 8] = [
    "O",
    "KBUILD_OUTPUT",
    "INSTALL_MOD_PATH",
    "KCONFIG_CONFIG",
    "KBUILD_BUILD_TIMESTAMP",
    "KBUILD_BUILD_USER",
    "KBUILD_BUILD_HOST",
    "KBUILD_BUILD_VERSION",
];

/// Whether an entry of `build.fragments` is itself the lines, and no file's name.
pub fn is_inline_fragment(entry: &str) -> bool {
    let entry = entry.trim_start();
    entry.starts_with("CONFIG_") || entry.starts_with("# CONFIG_") || entry.contains('\n')
}

/// The first fault of what a plan says of a kernel's build: key and message.
pub(super) fn check(plan: &Plan) -> Option<(String, String)> {
    match plan.subject.kind {
        SubjectKind::Kernel => kernel(&plan.build),
        SubjectKind::Program | SubjectKind::Installed => other(&plan.build),
    }
    .map(|(key, message)| (format!("build.{key}"), message))
}

fn kernel(recipe: &Recipe) -> Option<(&'static str, String)> {
    let default = Recipe::default();
    let unused = [
        ("steps", !recipe.steps.is_empty()),
        ("artifact", !recipe.artifact.is_empty()),
        (
            "compiler-flags",
            recipe.compiler_flags != default.compiler_flags,
        ),
        ("rust-flags", recipe.rust_flags != default.rust_flags),
    ];
    if let Some((key, _)) = unused.iter().find(|(_, is_set)| *is_set) {
        let message = "has no use for a kernel, which its own Makefile builds: say build.config, \
                       build.fragments and build.make-args (such as KCFLAGS=-O3)";
        return Some((key, message.to_owned()));
    }
    let names = recipe.config.iter().map(|name| ("config", name));
    let mut names = names.chain(recipe.fragments.iter().map(|name| ("fragments", name)));
    if let Some((key, _)) = names.find(|(_, name)| name.trim().is_empty() || name.contains('\0')) {
        return Some((key, "holds an empty name".to_owned()));
    }
    if recipe.config.as_deref().is_some_and(is_inline_fragment) {
        let message = "is a target of the kernel's Makefile, such as defconfig, or a file; lines \
                       stand in build.fragments";
        return Some(("config", message.to_owned()));
    }
    recipe
        .make_args
        .iter()
        .find_map(|argument| Some(("make-args", make_argument(argument)?)))
}

/// What is wrong with an argument for make.
fn make_argument(argument: &str) -> Option<String> {
    let name = argument.split_once('=').map(|(name, _)| name);
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match name {
        Some(name) if OWN_VARIABLES.contains(&name) => {
            Some(format!("`{name}` is set by perfblame: leave it out"))
        }
        Some(name) if is_name(name) && !argument.contains(['\0', '\n']) => None,
        _ => Some(format!(
            "`{argument}` is not of the form NAME=VALUE, such as LLVM=1 or KCFLAGS=-O3"
        )),
    }
}

fn other(recipe: &Recipe) -> Option<(&'static str, String)> {
    let given = [
        ("config", recipe.config.is_some()),
        ("fragments", !recipe.fragments.is_empty()),
        ("make-args", !recipe.make_args.is_empty()),
        ("modules", recipe.modules),
        ("guest-options", !recipe.guest_options),
        ("config-files", !recipe.config_files.is_empty()),
    ];
    let (key, _) = given.iter().find(|(_, is_set)| *is_set)?;
    let message = "is for kernels: set subject.kind = \"kernel\", or leave it out";
    Some((key, message.to_owned()))
}

/// Reads the configuration files that lie beside the plan into the plan: what it says is then all
/// that there is to know. Files that are not there may be in the source tree.
pub(super) fn read_files(plan: &mut Plan, beside: &Path) -> Result<(), (String, String)> {
    if plan.subject.kind != SubjectKind::Kernel {
        return Ok(());
    }
    let recipe = &mut plan.build;
    let config = recipe.config.iter().map(|name| ("build.config", name));
    let fragments = recipe
        .fragments
        .iter()
        .map(|name| ("build.fragments", name))
        .filter(|(_, name)| !is_inline_fragment(name));
    for (key, name) in config.chain(fragments) {
        let path = beside.join(name);
        let Ok(metadata) = std::fs::metadata(&path) else {
            continue;
        };
        if recipe.config_files.contains_key(name) || !metadata.is_file() {
            continue;
        }
        let refuse = |what: String| (key.to_owned(), format!("{}: {what}", path.display()));
        if metadata.len() > LARGEST_FILE {
            return Err(refuse(
                "a configuration is at most a megabyte long".to_owned(),
            ));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| refuse(error.to_string()))?;
        recipe.config_files.insert(name.clone(), text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: SubjectKind, build: &str) -> Option<(String, String)> {
        let mut plan = Plan {
            build: toml::from_str(build).unwrap(),
            ..Plan::default()
        };
        plan.subject.kind = kind;
        check(&plan)
    }

    #[test]
    fn what_no_kernel_can_be_built_with_is_refused() {
        for (build, key, said) in [
            ("steps = ['make']", "build.steps", "its own Makefile"),
            ("artifact = ['vmlinux']", "build.artifact", "its own"),
            (
                "compiler-flags = '-O3'",
                "build.compiler-flags",
                "KCFLAGS=-O3",
            ),
            ("fragments = ['']", "build.fragments", "empty name"),
            ("config = 'CONFIG_SMP=y'", "build.config", "build.fragments"),
            ("make-args = ['LLVM']", "build.make-args", "NAME=VALUE"),
            ("make-args = ['O=x']", "build.make-args", "set by perfblame"),
            ("make-args = ['-k']", "build.make-args", "NAME=VALUE"),
        ] {
            let (at, message) = fault(SubjectKind::Kernel, build).unwrap();
            assert_eq!(at, key, "{build}");
            assert!(message.contains(said), "{build}: {message}");
        }
        for build in [
            "",
            "config = 'tinyconfig'\nfragments = ['a.config', 'CONFIG_SMP=y']\n\
             make-args = ['LLVM=1', 'KCFLAGS=-O3 -g']\nmodules = true",
        ] {
            assert_eq!(fault(SubjectKind::Kernel, build), None, "{build}");
        }
    }

    #[test]
    fn keys_of_kernels_are_refused_where_there_is_none() {
        for build in [
            "config = 'x'",
            "fragments = ['x']",
            "make-args = ['A=b']",
            "modules = true",
        ] {
            let (_, message) = fault(SubjectKind::Program, build).unwrap();
            assert!(message.contains("subject.kind"), "{build}: {message}");
        }
    }

    #[test]
    fn files_beside_the_plan_become_part_of_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.config"), "CONFIG_SMP=y\n").unwrap();
        let mut plan = Plan {
            build: toml::from_str("fragments = ['a.config', 'arch/x.config', 'CONFIG_A=y']")
                .unwrap(),
            ..Plan::default()
        };
        plan.subject.kind = SubjectKind::Kernel;
        read_files(&mut plan, dir.path()).unwrap();
        let files: Vec<_> = plan.build.config_files.into_iter().collect();
        assert_eq!(
            files,
            [("a.config".to_owned(), "CONFIG_SMP=y\n".to_owned())]
        );
    }
}

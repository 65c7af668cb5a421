//! The calls of the kernel's own Makefile.

use std::path::Path;

use shell_words::quote;

use crate::plan::Recipe;

use super::super::compiler::find_program;
use super::inputs::{Base, compiler, objcopy};

/// Name of the directory of the object tree that holds what we put there.
pub const OWN: &str = "perfblame";

/// Variables that make equal trees give equal kernels.
pub const FIXED: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "Sun Sep  9 01:46:40 UTC 2001"),
    ("KBUILD_BUILD_USER", "perfblame"),
    ("KBUILD_BUILD_HOST", "perfblame"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// Variables of the user's environment that would make another kernel.
pub fn is_foreign(name: &str) -> bool {
    name.starts_with("KBUILD_")
        || name.starts_with("KCONFIG_")
        || [
            "ARCH",
            "CROSS_COMPILE",
            "LLVM",
            "LLVM_IAS",
            "KCFLAGS",
            "KCPPFLAGS",
            "KAFLAGS",
            "LOCALVERSION",
            "INSTALL_MOD_PATH",
            "INSTALL_MOD_STRIP",
            "CONFIG_",
            "SRCARCH",
            "SUBARCH",
        ]
        .contains(&name)
}

/// How make is called for one tree.
#[derive(Debug)]
pub struct Make<'a> {
    /// Source tree.
    pub source: &'a Path,
    /// Object tree.
    pub objects: &'a Path,
    /// The recipe.
    pub recipe: &'a Recipe,
    /// Whether compilers are called through ccache.
    pub ccache: bool,
    /// Jobs that run at a time.
    pub jobs: u32,
}

/// Whether compilers can be called through ccache: it is there, and the plan names no other way.
pub fn uses_ccache(recipe: &Recipe, path: &str) -> bool {
    let named = recipe
        .make_args
        .iter()
        .any(|argument| argument.starts_with("CC=") || argument.starts_with("HOSTCC="));
    !named && find_program("ccache", path).is_some()
}

impl Make<'_> {
    /// The commands that configure the tree: base, fragments, and what follows from them.
    pub fn configure(&self, base: &Base, fragments: usize) -> Vec<String> {
        let objects = path(self.objects);
        let mut steps = vec![match base {
            Base::Target(target) => self.call(&quote(target)),
            Base::Text(_) => format!("cp {objects}/{OWN}/base.config {objects}/.config"),
        }];
        if fragments > 0 {
            let names: Vec<String> = (0..fragments).map(fragment_file).collect();
            steps.push(format!(
                "cd {objects} && sh {}/scripts/kconfig/merge_config.sh -m .config {}",
                path(self.source),
                names.join(" ")
            ));
        }
        steps.push(self.call("olddefconfig"));
        steps
    }

    /// The commands that build it.
    pub fn build(&self) -> Vec<String> {
        let objects = path(self.objects);
        let modules = if self.recipe.modules { " modules" } else { "" };
        let mut steps = vec![self.call(&format!("-j{} bzImage{modules}", self.jobs))];
        if self.recipe.modules {
            steps.push(self.call(&format!(
                "INSTALL_MOD_PATH={objects}/{OWN}/installed INSTALL_MOD_STRIP=1 modules_install"
            )));
        }
        let strip = objcopy(self.recipe);
        steps.push(format!(
            "{strip} --strip-debug {objects}/vmlinux {objects}/{OWN}/vmlinux"
        ));
        steps
    }

    fn is_llvm(&self) -> bool {
        let mut arguments = self.recipe.make_args.iter();
        arguments.any(|argument| argument.starts_with("LLVM="))
    }

    fn call(&self, what: &str) -> String {
        let mut words = vec![
            "make".to_owned(),
            "-C".to_owned(),
            path(self.source),
            format!("O={}", path(self.objects)),
        ];
        if self.ccache {
            let compiler = compiler(self.recipe);
            let host = if self.is_llvm() { &compiler } else { "gcc" };
            words.push(format!("CC='ccache {compiler}'"));
            words.push(format!("HOSTCC='ccache {host}'"));
        }
        let arguments = self.recipe.make_args.iter();
        words.extend(arguments.map(|argument| quote(argument).into_owned()));
        words.push(what.to_owned());
        words.join(" ")
    }
}

/// A fragment's file, relative to the object tree: the kernel's script splits names at spaces.
pub fn fragment_file(number: usize) -> String {
    format!("{OWN}/fragment-{number:02}.config")
}

fn path(path: &Path) -> String {
    quote(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_trees_and_arguments() {
        let recipe = Recipe {
            make_args: vec!["KCFLAGS=-O3 -g".to_owned()],
            modules: true,
            ..Recipe::default()
        };
        let make = Make {
            source: Path::new("/s"),
            objects: Path::new("/o"),
            recipe: &recipe,
            ccache: true,
            jobs: 2,
        };
        let call = "make -C /s O=/o CC='ccache gcc' HOSTCC='ccache gcc' 'KCFLAGS=-O3 -g'";
        assert_eq!(
            make.configure(&Base::Target("tinyconfig".to_owned()), 2),
            [
                format!("{call} tinyconfig"),
                "cd /o && sh /s/scripts/kconfig/merge_config.sh -m .config \
                 perfblame/fragment-00.config perfblame/fragment-01.config"
                    .to_owned(),
                format!("{call} olddefconfig"),
            ]
        );
        assert_eq!(
            make.build(),
            [
                format!("{call} -j2 bzImage modules"),
                format!(
                    "{call} INSTALL_MOD_PATH=/o/perfblame/installed INSTALL_MOD_STRIP=1 modules_install"
                ),
                "objcopy --strip-debug /o/vmlinux /o/perfblame/vmlinux".to_owned(),
            ]
        );
    }
}

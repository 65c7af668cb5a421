//! Which of the functions that were seen have the same machine code in both arms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::build::Artifact;
use crate::code::{Alike, compare_functions};
use crate::profile::{FunctionId, Profile, canonical_name};
use crate::verdict::CodeComparison;

/// Compares the artifacts of two arms, for the functions that the profiles hold.
///
/// Nothing is known where the artifacts differ in anything but programs: a script or a
/// configuration that changed can make any function do other work.
pub fn compare_code(base: &Artifact, head: &Artifact, profiles: &[&Profile]) -> CodeComparison {
    let seen = Seen::of(profiles);
    let Some(same) = same_by_module(base, head, &seen) else {
        return CodeComparison::default();
    };
    let mut comparison = CodeComparison::default();
    for (id, outer) in seen.outer {
        let Some(names) = same.get(&id.module) else {
            continue;
        };
        if let Some(before) = names.renamed.get(&id.name).filter(|_| outer.len() == 1) {
            let before = FunctionId {
                name: before.clone(),
                module: id.module.clone(),
            };
            comparison.renamed.insert(id.clone(), before);
        }
        let is_same = outer.iter().all(|name| names.same.contains(name));
        let known = match is_same {
            true => &mut comparison.same,
            false => &mut comparison.changed,
        };
        known.insert(id);
    }
    comparison
}

/// Functions by what holds their code.
#[derive(Default)]
struct Seen {
    /// For each function the functions of the symbol table in which its code lies: itself, or
    /// those into which it was inlined.
    outer: BTreeMap<FunctionId, BTreeSet<String>>,
}

impl Seen {
    fn of(profiles: &[&Profile]) -> Self {
        let mut seen = Self::default();
        for profile in profiles {
            for frame in &profile.frames {
                let module = profile.modules.get(frame.module as usize);
                let (Some(module), Some(outer)) = (module, frame.symbols.last()) else {
                    continue;
                };
                let outer = in_symbol_table(&canonical_name(&outer.name)).to_owned();
                for symbol in &frame.symbols {
                    let id = FunctionId {
                        name: canonical_name(&symbol.name).into_owned(),
                        module: module.file_name().to_owned(),
                    };
                    seen.outer.entry(id).or_default().insert(outer.clone());
                }
            }
        }
        seen
    }

    fn wanted(&self, module: &str) -> BTreeSet<&str> {
        let of_module = self.outer.iter().filter(|(id, _)| id.module == module);
        of_module
            .flat_map(|(_, outer)| outer.iter().map(String::as_str))
            .collect()
    }
}

/// The name without the source file that tells it from others: all of a name count as one.
fn in_symbol_table(name: &str) -> &str {
    match name.split_once(" [") {
        Some((bare, rest)) if rest.ends_with(']') => bare,
        _ => name,
    }
}

/// The kernel's name among the modules of a profile.
const KERNEL: &str = "[kernel]";

/// Functions that are alike by module; `None` where something else differs.
fn same_by_module(
    base: &Artifact,
    head: &Artifact,
    seen: &Seen,
) -> Option<BTreeMap<String, Alike>> {
    let mut by_module: BTreeMap<String, Alike> = BTreeMap::new();
    if let (Some(old), Some(new)) = (base.kernel_code(), head.kernel_code()) {
        // What else a kernel consists of is made of its code, or says how that was configured.
        let read = |artifact: &Artifact, path: &str| std::fs::read(artifact.dir.join(path)).ok();
        let (old, new) = (read(base, &old.path)?, read(head, &new.path)?);
        let same = compare_functions(&old, &new, &seen.wanted(KERNEL))?;
        by_module.insert(KERNEL.to_owned(), same);
        return Some(by_module);
    }
    for file in &base.files {
        let twin = head.files.iter().find(|twin| twin.path == file.path)?;
        let name = Path::new(&file.path).file_name()?.to_str()?.to_owned();
        let wanted = seen.wanted(&name);
        let alike = if file.digest == twin.digest {
            Alike {
                same: wanted.into_iter().map(str::to_owned).collect(),
                ..Alike::default()
            }
        } else {
            let read = |artifact: &Artifact| std::fs::read(artifact.dir.join(&file.path)).ok();
            compare_functions(&read(base)?, &read(head)?, &wanted)?
        };
        // Two files of one name are one module in a profile.
        match by_module.get_mut(&name) {
            Some(known) => {
                known.same.retain(|function| alike.same.contains(function));
                known.renamed.clear();
            }
            None => {
                by_module.insert(name, alike);
            }
        }
    }
    (base.files.len() == head.files.len()).then_some(by_module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_told_apart_is_looked_up_without_its_file() {
        assert_eq!(in_symbol_table("init [list.c]"), "init");
        assert_eq!(in_symbol_table("operator[]"), "operator[]");
        assert_eq!(in_symbol_table("[unknown]"), "[unknown]");
    }
}

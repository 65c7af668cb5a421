//! Where options are defined in a kernel's tree, and what they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where an option is defined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// `FILE:LINE` in the source tree.
    pub place: String,
    /// What it says it depends on, all of which must hold.
    pub depends: Vec<String>,
}

/// Architectures whose options cannot be set on another one.
const ARCHITECTURES: &str = "arch";

/// Finds the definitions of options in the `Kconfig` files of a source tree. What is defined several
/// times is given once, at its first place in order of paths; one that is not there is not defined.
pub fn definitions(source: &Path, names: &BTreeSet<&str>) -> BTreeMap<String, Definition> {
    let mut found = BTreeMap::new();
    if !names.is_empty() {
        search(source, Path::new(""), names, &mut found);
    }
    found
}

fn search(
    source: &Path,
    directory: &Path,
    names: &BTreeSet<&str>,
    found: &mut BTreeMap<String, Definition>,
) {
    let mut entries: Vec<_> = fs::read_dir(source.join(directory))
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let path = directory.join(&name);
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let name = name.to_string_lossy();
        if kind.is_dir() {
            let is_foreign =
                directory == Path::new(ARCHITECTURES) && !["x86", "Kconfig"].contains(&&*name);
            if !is_foreign {
                search(source, &path, names, found);
            }
        } else if kind.is_file() && name.starts_with("Kconfig") {
            let text = fs::read(source.join(&path)).unwrap_or_default();
            read(&path, &String::from_utf8_lossy(&text), names, found);
        }
    }
}

fn read(path: &Path, text: &str, names: &BTreeSet<&str>, found: &mut BTreeMap<String, Definition>) {
    let mut current: Option<Definition> = None;
    let mut name = "";
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        match first {
            "config" | "menuconfig" => {
                let defined = words.next().unwrap_or_default();
                keep(name, current.take(), found);
                if names.contains(defined) {
                    name = defined;
                    current = Some(Definition {
                        place: format!("{}:{}", path.display(), at + 1),
                        depends: Vec::new(),
                    });
                }
            }
            "choice" | "endchoice" | "menu" | "endmenu" | "if" | "endif" | "source" | "comment"
                if !line.starts_with([' ', '\t']) =>
            {
                keep(name, current.take(), found);
            }
            "depends" => {
                let Some(definition) = &mut current else {
                    continue;
                };
                let mut condition = words.skip(1).collect::<Vec<_>>().join(" ");
                while condition.ends_with('\\') {
                    condition.pop();
                    let (_, more) = lines.next().unwrap_or_default();
                    condition.push_str(more.trim());
                }
                definition.depends.push(condition);
            }
            _ => {}
        }
    }
    keep(name, current, found);
}

fn keep(name: &str, definition: Option<Definition>, found: &mut BTreeMap<String, Definition>) {
    if let Some(definition) = definition {
        found.entry(name.to_owned()).or_insert(definition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_with_what_it_depends_on() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("arch/arm")).unwrap();
        let text = "menu \"x\"\nconfig A\n\tbool \"a\"\n\tdepends on B && \\\n\t\tC\n\tdepends on D\n\
                    \thelp\n\t  config E is not defined here.\nendmenu\nmenuconfig F\n\tbool\n";
        fs::write(dir.path().join("Kconfig"), text).unwrap();
        fs::write(dir.path().join("arch/arm/Kconfig"), "config G\n").unwrap();
        let found = definitions(dir.path(), &BTreeSet::from(["A", "F", "G", "H"]));
        let expected = BTreeMap::from([
            (
                "A".to_owned(),
                Definition {
                    place: "Kconfig:2".to_owned(),
                    depends: vec!["B && C".to_owned(), "D".to_owned()],
                },
            ),
            (
                "F".to_owned(),
                Definition {
                    place: "Kconfig:10".to_owned(),
                    depends: Vec::new(),
                },
            ),
        ]);
        assert_eq!(found, expected);
    }
}

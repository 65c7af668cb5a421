//! Functions of the same name in different source files of one module.

use std::collections::{HashMap, HashSet};

use object::{Object, ObjectSymbol, ReadRef, SymbolKind};

use super::demangle::demangle;
use crate::profile::{Symbol, canonical_name};

/// Names that several local functions of a module share. To tell them apart, their source file is
/// added to the name.
///
/// Whether a name is repeated is a property of the module and not of a recording, so that every
/// recording of a build names a function alike.
#[derive(Debug, Default)]
pub struct RepeatedNames(HashSet<String>);

impl RepeatedNames {
    /// Finds names that stand at different addresses in the symbol table.
    pub fn of<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Self {
        let mut first_at: HashMap<&[u8], u64> = HashMap::new();
        let mut repeated = HashSet::new();
        for symbol in object.symbols() {
            if symbol.kind() != SymbolKind::Text || !symbol.is_local() || symbol.address() == 0 {
                continue;
            }
            let Some(name) = symbol.name_bytes().ok().and_then(source_name) else {
                continue;
            };
            let first = *first_at.entry(name).or_insert(symbol.address());
            if first != symbol.address() {
                repeated.insert(demangle(&String::from_utf8_lossy(name)));
            }
        }
        Self(repeated)
    }

    /// Adds the source file to a repeated name: `init [list.c]`.
    pub fn tell_apart(&self, symbol: &mut Symbol) {
        if self.0.is_empty() {
            return;
        }
        let Some(file) = &symbol.file else {
            return;
        };
        let name = canonical_name(&symbol.name);
        if self.0.contains(name.as_ref()) {
            let file = file.rsplit('/').next().unwrap_or(file);
            symbol.name = format!("{name} [{file}]");
        }
    }
}

/// The name in the source; `None` for parts and copies of a function, which share its name. What
/// link-time optimisation numbers is the same name in several files.
fn source_name(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().position(|b| *b == b'.').filter(|at| *at > 0);
    match dot {
        Some(at) if name[at..].starts_with(b".lto_priv.") => Some(&name[..at]),
        Some(_) => None,
        None => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_copies_are_no_repetitions() {
        assert_eq!(source_name(b"f"), Some(&b"f"[..]));
        assert_eq!(source_name(b"f.lto_priv.0"), Some(&b"f"[..]));
        for name in ["f.part.0", "f.cold", "f.constprop.1.isra.0"] {
            assert_eq!(source_name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_repeated_name_gets_its_file() {
        let names = RepeatedNames(HashSet::from(["init".to_owned()]));
        let told = |name: &str, file: Option<&str>| {
            let mut symbol = Symbol {
                name: name.to_owned(),
                file: file.map(str::to_owned),
                line: None,
                inlined: false,
            };
            names.tell_apart(&mut symbol);
            let canonical = canonical_name(&symbol.name).into_owned();
            assert_eq!(canonical, canonical_name(&canonical));
            canonical
        };
        assert_eq!(told("init", Some("/src/list.c")), "init [list.c]");
        assert_eq!(told("init.part.0", Some("tree.c")), "init [tree.c]");
        assert_eq!(told("init", None), "init");
        assert_eq!(told("initial", Some("list.c")), "initial");
    }
}

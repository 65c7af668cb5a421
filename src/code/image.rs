//! A linked file as a map from addresses to what lies there.

use std::collections::HashMap;

use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE};
use object::{
    Architecture, BinaryFormat, Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable,
    RelocationFlags, RelocationTarget, SectionKind, SymbolKind,
};

use crate::profile::canonical_name;
use crate::symbol::demangle;

/// A loaded section.
struct Section<'d> {
    start: u64,
    end: u64,
    /// Empty for sections that hold zeros only.
    content: &'d [u8],
    is_code: bool,
}

/// A function or an object that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Address of its first byte.
    pub start: u64,
    /// Address after its last byte.
    pub end: u64,
    /// Canonical name.
    pub name: String,
    /// Whether it is a function.
    pub is_code: bool,
}

/// A linked x86-64 file.
pub struct Image<'d> {
    sections: Vec<Section<'d>>,
    functions: Vec<Named>,
    /// Of several names of one place one.
    named: Vec<Named>,
    /// Symbols whose addresses the dynamic linker writes, by the address it writes them to.
    imports: HashMap<u64, String>,
    /// Addresses of the file itself that the dynamic linker writes, by the same.
    pointers: HashMap<u64, u64>,
    /// Whether the file is loaded where it says, so that its code holds addresses as numbers.
    pub is_fixed: bool,
}

impl<'d> Image<'d> {
    /// Reads a file; `None` for what is no linked ELF file for x86-64, or has no symbol table.
    pub fn read(content: &'d [u8]) -> Option<Self> {
        let file = object::File::parse(content).ok()?;
        let is_linked = matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic);
        if file.format() != BinaryFormat::Elf
            || file.architecture() != Architecture::X86_64
            || !is_linked
        {
            return None;
        }
        let mut sections: Vec<Section<'d>> = file
            .sections()
            .filter(|section| section.address() != 0 && section.size() > 0)
            .filter(|section| section.kind() != SectionKind::UninitializedTls)
            .map(|section| Section {
                start: section.address(),
                end: section.address().saturating_add(section.size()),
                content: section.data().unwrap_or_default(),
                is_code: section.kind() == SectionKind::Text,
            })
            .collect();
        sections.sort_by_key(|section| section.start);
        let mut named = named(&file);
        let functions = named.iter().filter(|n| n.is_code).cloned().collect();
        named.dedup_by(|later, first| later.start == first.start);
        if named.is_empty() {
            return None;
        }
        let (imports, pointers) = dynamic(&file);
        Some(Self {
            sections,
            functions,
            named,
            imports,
            pointers,
            is_fixed: file.kind() == ObjectKind::Executable,
        })
    }

    /// Functions by all their names, ascending by address.
    pub fn functions(&self) -> &[Named] {
        &self.functions
    }

    /// The named function or object that holds an address.
    pub fn find(&self, address: u64) -> Option<&Named> {
        let after = self.named.partition_point(|named| named.start <= address);
        let named = self.named.get(after.checked_sub(1)?)?;
        (address < named.end).then_some(named)
    }

    /// The symbol whose address the dynamic linker writes at an address.
    pub fn import(&self, address: u64) -> Option<&str> {
        self.imports.get(&address).map(String::as_str)
    }

    /// The address that stands at an address once the file is loaded, where it is one.
    pub fn pointer(&self, address: u64) -> Option<u64> {
        if let Some(&target) = self.pointers.get(&address) {
            return Some(target);
        }
        let word = self.bytes(address, 8)?;
        let target = u64::from_le_bytes(word.try_into().ok()?);
        (self.is_fixed && self.section(target).is_some()).then_some(target)
    }

    /// The file's content from an address on: at most so many bytes, and none beyond the section.
    pub fn content(&self, address: u64, most: usize) -> Option<&'d [u8]> {
        let section = self.section(address)?;
        let from = usize::try_from(address - section.start).ok()?;
        let rest = section.content.get(from..)?;
        Some(&rest[..rest.len().min(most)])
    }

    /// Exactly so many bytes at an address.
    pub fn bytes(&self, address: u64, count: usize) -> Option<&'d [u8]> {
        self.content(address, count)
            .filter(|bytes| bytes.len() == count)
    }

    /// Whether an address lies in the file.
    pub fn holds(&self, address: u64) -> bool {
        self.section(address).is_some()
    }

    /// Whether an address lies in code.
    pub fn is_code(&self, address: u64) -> bool {
        self.section(address).is_some_and(|section| section.is_code)
    }

    fn section(&self, address: u64) -> Option<&Section<'d>> {
        let after = self
            .sections
            .partition_point(|section| section.start <= address);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (address < section.end).then_some(section)
    }
}

fn named(file: &object::File<'_>) -> Vec<Named> {
    let mut named: Vec<Named> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.address() != 0 && symbol.size() > 0)
        .filter_map(|symbol| {
            let is_code = match symbol.kind() {
                SymbolKind::Text => true,
                SymbolKind::Data => false,
                _ => return None,
            };
            let name = demangle(&String::from_utf8_lossy(symbol.name_bytes().ok()?));
            Some(Named {
                start: symbol.address(),
                end: symbol.address().saturating_add(symbol.size()),
                name: canonical_name(&name).into_owned(),
                is_code,
            })
        })
        .collect();
    // Of aliases the same one stays in every build.
    named.sort_by(|a, b| (a.start, b.end, &a.name).cmp(&(b.start, a.end, &b.name)));
    named
}

fn dynamic(file: &object::File<'_>) -> (HashMap<u64, String>, HashMap<u64, u64>) {
    let (mut imports, mut pointers) = (HashMap::new(), HashMap::new());
    let table = file.dynamic_symbol_table();
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            continue;
        };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => table
                .as_ref()
                .and_then(|table| table.symbol_by_index(index).ok()),
            _ => None,
        };
        let name = symbol.as_ref().and_then(|symbol| symbol.name().ok());
        match (r_type, name) {
            (R_X86_64_RELATIVE, _) => {
                pointers.insert(address, relocation.addend() as u64);
            }
            (R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT, Some(name)) => {
                imports.insert(address, name.to_owned());
            }
            (_, Some(name)) => {
                imports.insert(address, format!("{name}+{:x}", relocation.addend()));
            }
            _ => {}
        }
    }
    pointers.extend(resolvers(file));
    (imports, pointers)
}

/// Resolvers of functions that are chosen when the program starts, by the address of the choice. A
/// static program has no dynamic symbols, so that they are read from the section itself.
fn resolvers(file: &object::File<'_>) -> Vec<(u64, u64)> {
    let sections = file.sections();
    let content = sections
        .filter(|section| matches!(section.name(), Ok(".rela.plt" | ".rela.iplt" | ".rela.dyn")))
        .filter_map(|section| section.data().ok());
    content
        .flat_map(|content| content.chunks_exact(24))
        .filter_map(|entry| {
            let word =
                |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
            let kind = word(8)? as u32;
            (kind == R_X86_64_IRELATIVE.0).then_some(())?;
            Some((word(0)?, word(16)?))
        })
        .collect()
}

//! What an ELF file says about how it is run.

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{BinaryFormat, Endianness, FileKind, Object, ObjectKind};

/// The parts of an ELF file that decide what it is and what it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ElfFile {
    /// Whether it can be started: linked, and not a shared library.
    pub is_program: bool,
    /// Whether it has a symbol table.
    pub has_symbols: bool,
    /// Whether it has debug information.
    pub has_debug_info: bool,
    /// Names of the shared libraries that it needs.
    pub needed: Vec<String>,
    /// Directories that they are searched in, unexpanded.
    pub search_path: Vec<String>,
    /// Whether the search path is of the old kind, which `LD_LIBRARY_PATH` does not override.
    pub has_rpath: bool,
}

impl ElfFile {
    /// Reads a file's content; `None` for what is no linked ELF file.
    pub fn parse(content: &[u8]) -> Option<Self> {
        let mut elf = match FileKind::parse(content).ok()? {
            FileKind::Elf32 => parse_dynamic::<FileHeader32<Endianness>>(content)?,
            FileKind::Elf64 => parse_dynamic::<FileHeader64<Endianness>>(content)?,
            _ => return None,
        };
        let file = object::File::parse(content).ok()?;
        if file.format() != BinaryFormat::Elf || file.kind() == ObjectKind::Relocatable {
            return None;
        }
        // A library has an entry point of 0; a program that is linked statically has no interpreter.
        elf.is_program = match file.kind() {
            ObjectKind::Executable => true,
            ObjectKind::Dynamic => elf.is_program || file.entry() != 0,
            _ => false,
        };
        elf.has_symbols = file.symbols().next().is_some();
        elf.has_debug_info = file.has_debug_symbols();
        Some(elf)
    }
}

fn parse_dynamic<Header: FileHeader<Endian = Endianness>>(content: &[u8]) -> Option<ElfFile> {
    let header = Header::parse(content).ok()?;
    let endian = header.endian().ok()?;
    let mut elf = ElfFile::default();
    let segments = header.program_headers(endian, content).ok()?;
    elf.is_program = segments
        .iter()
        .any(|segment| segment.p_type(endian) == PT_INTERP);
    let sections = header.sections(endian, content).ok()?;
    let table = sections.dynamic_table(endian, content).ok()?;
    for entry in table.iter() {
        let text = || {
            let bytes = table.string(entry).ok()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        match entry.tag {
            DT_NEEDED => elf.needed.extend(text()),
            DT_RPATH | DT_RUNPATH => {
                elf.has_rpath |= entry.tag == DT_RPATH;
                let paths = text().unwrap_or_default();
                elf.search_path.extend(paths.split(':').map(str::to_owned));
            }
            _ => {}
        }
    }
    Some(elf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program_that_needs_the_c_library() {
        let content = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = ElfFile::parse(&content).unwrap();
        assert!(elf.is_program && elf.has_symbols && elf.has_debug_info);
        assert!(elf.needed.iter().any(|name| name.starts_with("libc.so")));
    }

    #[test]
    fn what_is_no_elf_file_is_none() {
        for content in [b"".as_slice(), b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01"] {
            assert_eq!(ElfFile::parse(content), None);
        }
    }
}

//! When two files are the same program.

use object::elf::SHF_ALLOC;
use object::{BinaryFormat, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags};
use sha2::{Digest, Sha256};

/// Digests what makes a file the program that it is.
///
/// For an ELF file that is everything that is loaded (code, data, dynamic linking) except the build
/// id, and every name: the symbol table, and the names in the debug information, where functions
/// stand that were inlined. Line numbers are not in it: a commit that only adds a comment makes the
/// same program, and one that renames a function does not. Any other file is digested byte by byte.
pub fn program_digest(content: &[u8]) -> [u8; 32] {
    elf_digest(content, &[b".note.gnu.build-id"]).unwrap_or_else(|| Sha256::digest(content).into())
}

/// Digests what makes a `vmlinux` the kernel that it is: as [`program_digest`], without the line
/// numbers of its warnings (`__bug_table`) and the notes, among which its build id is.
pub(super) fn kernel_digest(content: &[u8]) -> [u8; 32] {
    elf_digest(content, &[b".note.gnu.build-id", b".notes", b"__bug_table"])
        .unwrap_or_else(|| Sha256::digest(content).into())
}

/// `None` for what is no ELF file, is not linked, or has no table of sections. Sections of the names
/// `without` are left out.
fn elf_digest(content: &[u8], without: &[&[u8]]) -> Option<[u8; 32]> {
    let file = object::File::parse(content).ok()?;
    if file.format() != BinaryFormat::Elf || file.kind() == ObjectKind::Relocatable {
        return None;
    }
    let mut hash = Sha256::new();
    let mut add = |name: &[u8], place: &str, content: &[u8]| {
        for part in [name, place.as_bytes(), content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    };
    let kind = format!("{:?} {:?}", file.architecture(), file.kind());
    add(b"", &format!("{kind} {:x}", file.entry()), b"");
    let mut loaded = 0;
    for section in file.sections() {
        let name = section.name_bytes().ok()?;
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            return None;
        };
        let is_loaded = sh_flags.0 & SHF_ALLOC.0 != 0;
        loaded += usize::from(is_loaded);
        if !without.contains(&name) && (is_loaded || name == b".debug_str") {
            let place = format!(
                "{:x} {:x} {:x}",
                section.address(),
                section.size(),
                sh_flags.0
            );
            add(name, &place, section.data().ok()?);
        }
    }
    if loaded == 0 {
        return None;
    }
    for symbol in file.symbols() {
        let place = format!("{:x} {:x}", symbol.address(), symbol.size());
        add(symbol.name_bytes().ok()?, &place, b"");
    }
    Some(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_elf_file_is_digested_byte_by_byte() {
        for content in [
            b"".as_slice(),
            b"#!/bin/sh\n",
            b"\x7fELF",
            b"\x7fELF garbage garbage",
        ] {
            assert_eq!(
                program_digest(content),
                <[u8; 32]>::from(Sha256::digest(content))
            );
        }
    }

    #[test]
    fn a_linked_program_differs_from_its_bytes() {
        let content = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_ne!(
            program_digest(&content),
            <[u8; 32]>::from(Sha256::digest(&content))
        );
    }
}

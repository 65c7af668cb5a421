//! The vDSO: a shared object that the kernel maps into every process, with no file.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Returns the bytes of the vDSO, read from this process's own mapping: the kernel gives all
/// processes of one kind the same.
pub fn image() -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let mut bytes = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_vdso_is_an_elf_file_with_symbols() {
        let bytes = super::image().unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        assert!(!super::super::elf::ElfSymbols::of(&object).is_empty());
    }
}

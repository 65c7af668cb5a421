//! A file in memory.

use std::fs::File;
use std::ops::Deref;

use memmap2::Mmap;

/// The bytes of a file, read as they are needed.
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file; `None` if it is empty or no ordinary file.
    pub fn of(file: &File) -> Option<Self> {
        // SAFETY: the mapping is private to this type and handed out as bytes only. Another process
        // that truncates the file meanwhile would end this one by SIGBUS; addr2line and perf take
        // the same risk, and the kernel forbids it for a program that runs.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(file) };
        map.ok().map(Self)
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

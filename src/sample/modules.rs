//! The files, kernels and regions that sampled code lies in.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::code_map::Region;
use crate::profile::{Module, ModuleKind};
use crate::symbol::{ModuleFile, Segments, build_id_of, open_regular, vdso_image};
use crate::unwind::UnwindInfo;

/// `EMFILE`: this process may open no more files.
const TOO_MANY_FILES: i32 = rustix::io::Errno::MFILE.raw_os_error();

/// Index of the kernel in every table.
pub const KERNEL: u32 = 0;
/// Index of code that lies in no known mapping.
pub const UNKNOWN: u32 = 1;

/// All modules met so far.
#[derive(Debug)]
pub struct ModuleTable {
    entries: Vec<Entry>,
    index: HashMap<Key, u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    path: Vec<u8>,
    build_id: Option<Vec<u8>>,
    /// Code made at run time is told apart by process.
    jit_pid: Option<u32>,
}

#[derive(Debug)]
struct Entry {
    path: Vec<u8>,
    build_id: Option<Vec<u8>>,
    kind: ModuleKind,
    jit_pid: Option<u32>,
    file: Option<File>,
    looked_for: bool,
    unwind: Option<(Segments, UnwindInfo)>,
}

impl Default for ModuleTable {
    fn default() -> Self {
        let special = |path: &[u8], kind| Entry {
            path: path.to_vec(),
            build_id: None,
            kind,
            jit_pid: None,
            file: None,
            looked_for: true,
            unwind: None,
        };
        Self {
            entries: vec![
                special(b"[kernel]", ModuleKind::Kernel),
                special(b"[unknown]", ModuleKind::Unknown),
            ],
            index: HashMap::new(),
        }
    }
}

impl ModuleTable {
    /// Returns the index of the module that a mapping of a process belongs to.
    pub fn intern(&mut self, pid: u32, path: &[u8], build_id: Option<&[u8]>) -> u32 {
        let kind = kind_of(path);
        let path = match kind {
            ModuleKind::Jit => b"[jit]",
            _ => path,
        };
        let key = Key {
            path: path.to_vec(),
            build_id: build_id.map(<[u8]>::to_vec),
            jit_pid: (kind == ModuleKind::Jit).then_some(pid),
        };
        let entries = &mut self.entries;
        *self.index.entry(key).or_insert_with_key(|key| {
            entries.push(Entry {
                path: key.path.clone(),
                build_id: key.build_id.clone(),
                kind,
                jit_pid: key.jit_pid,
                file: None,
                looked_for: kind != ModuleKind::User,
                unwind: None,
            });
            entries.len() as u32 - 1
        })
    }

    /// Opens the module's file while a process that maps it is alive, so that it can be read even
    /// if it is deleted or its process and mount namespace are gone.
    pub fn open(&mut self, region: &Region, pid: u32) {
        let Some(entry) = self.entries.get_mut(region.module as usize) else {
            return;
        };
        if entry.looked_for {
            return;
        }
        entry.looked_for = true;
        for candidate in candidates(&entry.path, region, pid) {
            let file = match open_regular(&candidate) {
                Ok(file) => file,
                Err(error) if error.raw_os_error() == Some(TOO_MANY_FILES) => {
                    // Another of its samples tries again.
                    entry.looked_for = false;
                    return;
                }
                Err(_) => continue,
            };
            let build_id = build_id_of(&file);
            match (&entry.build_id, build_id) {
                (Some(wanted), Some(found)) if *wanted != found => continue,
                (None, Some(found)) => entry.build_id = Some(found),
                _ => {}
            }
            entry.file = Some(file);
            return;
        }
    }

    /// Returns what is added to addresses in the module's file to get those in the region, and the
    /// file's call frame information; `None` where it has none.
    pub fn unwind_info(&mut self, region: &Region, pid: u32) -> Option<(u64, UnwindInfo)> {
        self.open(region, pid);
        let entry = self.entries.get_mut(region.module as usize)?;
        let (segments, info) = entry.unwind.get_or_insert_with(|| match entry.kind {
            ModuleKind::Vdso => match vdso_image() {
                Some(image) => (Segments::of_image(&image), UnwindInfo::of_image(&image)),
                None => Default::default(),
            },
            _ => match &entry.file {
                Some(file) => (Segments::of_file(file), UnwindInfo::of_file(file)),
                None => Default::default(),
            },
        });
        if info.is_empty() {
            return None;
        }
        let address = segments.address_of(region.file_offset)?;
        Some((region.start.wrapping_sub(address), info.clone()))
    }

    /// Number of modules.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns what kind of module it is.
    pub fn kind(&self, module: u32) -> ModuleKind {
        self.entries
            .get(module as usize)
            .map_or(ModuleKind::Unknown, |entry| entry.kind)
    }

    /// Returns the processes that ran code made at run time, each once.
    pub fn jit_processes(&self) -> Vec<u32> {
        let mut processes: Vec<u32> = self
            .entries
            .iter()
            .filter_map(|entry| entry.jit_pid)
            .collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// Returns the modules as a profile holds them and where to read their symbols.
    pub fn into_parts(self) -> (Vec<Module>, Vec<ModuleFile>) {
        self.entries
            .into_iter()
            .map(|entry| {
                let module = Module {
                    path: String::from_utf8_lossy(&entry.path).into_owned(),
                    build_id: entry.build_id.as_deref().map(hexadecimal),
                    kind: entry.kind,
                };
                let file = ModuleFile {
                    file: entry.file,
                    path: PathBuf::from(OsStr::from_bytes(&entry.path)),
                    jit_pid: entry.jit_pid,
                };
                (module, file)
            })
            .unzip()
    }
}

/// Where the file of a mapping may be found: as the process sees it, as the kernel keeps it, and
/// as this process sees it.
fn candidates(path: &[u8], region: &Region, pid: u32) -> [PathBuf; 3] {
    let own = Path::new(OsStr::from_bytes(path));
    let inside = own.strip_prefix("/").unwrap_or(own);
    let range = format!("{:x}-{:x}", region.start, region.end);
    let process = Path::new("/proc").join(pid.to_string());
    [
        process.join("root").join(inside),
        process.join("map_files").join(range),
        own.to_owned(),
    ]
}

fn kind_of(path: &[u8]) -> ModuleKind {
    let starts = |prefix: &[u8]| path.starts_with(prefix);
    if starts(b"[vdso]") {
        ModuleKind::Vdso
    } else if starts(b"[vsyscall]") || starts(b"[uprobes]") {
        ModuleKind::Unknown
    } else if path.is_empty()
        || starts(b"//anon")
        || starts(b"[")
        || starts(b"/memfd:")
        || starts(b"/dev/zero")
        || starts(b"/anon_hugepage")
        || starts(b"/SYSV")
    {
        ModuleKind::Jit
    } else {
        ModuleKind::User
    }
}

/// Lower-case hexadecimal digits of bytes.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

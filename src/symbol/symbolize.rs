//! Names for all frames of a profile.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::ReadCache;

use super::debug_info::DebugInfo;
use super::demangle::demangle;
use super::elf::{ElfSymbols, Segments};
use super::kernel::KernelSymbols;
use super::perf_map::PerfMap;
use super::thread_start::is_thread_start;
use super::vdso;
use crate::plan::CallGraph;
use crate::profile::{Frame, Module, ModuleKind, Profile, Symbol};

/// Where a module's symbols can be read.
#[derive(Debug, Default)]
pub struct ModuleFile {
    /// The file, held open since it was sampled.
    pub file: Option<File>,
    /// Its path, as the sampled process saw it.
    pub path: PathBuf,
    /// The process, for code made at run time.
    pub jit_pid: Option<u32>,
}

/// Names the functions at every frame that has none yet. `files` stand in the order of the
/// profile's modules; frames of files come in with offsets in the file, and leave with addresses
/// as the file's symbols have them. Returns what must be said of it.
pub fn symbolize(profile: &mut Profile, files: &[ModuleFile]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut by_module: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, frame) in profile.frames.iter().enumerate() {
        by_module.entry(frame.module).or_default().push(at);
    }
    for (module, mut frames) in by_module {
        frames.sort_by_key(|at| profile.frames[*at].address);
        let no_file = ModuleFile::default();
        let file = files.get(module as usize).unwrap_or(&no_file);
        let kind = profile
            .modules
            .get(module as usize)
            .map_or(ModuleKind::Unknown, |module| module.kind);
        match kind {
            ModuleKind::User => user(profile, &frames, file, &mut warnings),
            ModuleKind::Vdso => in_vdso(profile, &frames),
            ModuleKind::Jit => jit(profile, &frames, file),
            ModuleKind::Kernel | ModuleKind::KernelModule => {
                kernel(profile, &frames, &mut warnings);
            }
            ModuleKind::Unknown => {}
        }
    }
    if profile.event.call_graph == CallGraph::Fp {
        mark_broken_chains(profile);
    }
    warnings
}

fn user(profile: &mut Profile, frames: &[usize], file: &ModuleFile, warnings: &mut Vec<String>) {
    let Some(open) = &file.file else {
        return;
    };
    let cache = ReadCache::new(open);
    let Ok(object) = object::File::parse(&cache) else {
        return;
    };
    let segments = Segments::of(&object);
    let symbols = ElfSymbols::of(&object);
    let mut debug_info = DebugInfo::open(&path_of(open, &file.path));
    for at in frames {
        let frame = &mut profile.frames[*at];
        if let Some(address) = segments.address_of(frame.address) {
            frame.address = address;
        }
        let from_table = || symbols.find(&object, frame.address);
        let mut found = match &mut debug_info {
            Some(debug_info) => debug_info.find(frame.address),
            None => Vec::new(),
        };
        match found.last_mut() {
            Some(outermost) if outermost.name.is_empty() => match from_table() {
                Some(name) => outermost.name = demangle(&name),
                None => found.clear(),
            },
            Some(_) => {}
            None => found.extend(from_table().map(|name| plain(demangle(&name)))),
        }
        for symbol in &mut found {
            if symbol.name.is_empty() {
                symbol.name = "[inlined]".to_owned();
            }
        }
        frame.symbols = found;
    }
    if let Some(damaged) = debug_info.map(|info| info.damaged()).filter(|n| *n > 0) {
        warnings.push(format!(
            "debug information of {} is damaged: {damaged} addresses have a name from the symbol \
             table or none",
            file.path.display()
        ));
    }
}

/// The path by which an open file is read once more: its own, if it still is that file, so that
/// what lies beside it is found too.
fn path_of(file: &File, path: &Path) -> PathBuf {
    let same = match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => open.dev() == there.dev() && open.ino() == there.ino(),
        _ => false,
    };
    match same {
        true => path.to_owned(),
        false => PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
    }
}

fn in_vdso(profile: &mut Profile, frames: &[usize]) {
    let Some(image) = vdso::image() else {
        return;
    };
    let Ok(object) = object::File::parse(&*image) else {
        return;
    };
    let symbols = ElfSymbols::of(&object);
    for at in frames {
        let frame = &mut profile.frames[*at];
        frame.symbols = symbols
            .find(&object, frame.address)
            .map(plain)
            .into_iter()
            .collect();
    }
}

fn jit(profile: &mut Profile, frames: &[usize], file: &ModuleFile) {
    let Some(map) = file.jit_pid.and_then(PerfMap::of_process) else {
        return;
    };
    for at in frames {
        let frame = &mut profile.frames[*at];
        let name = map.find(frame.address);
        frame.symbols = name
            .map(|name| plain(name.to_owned()))
            .into_iter()
            .collect();
    }
}

fn kernel(profile: &mut Profile, frames: &[usize], warnings: &mut Vec<String>) {
    let Some(symbols) = KernelSymbols::read() else {
        warnings.push(
            "kernel functions have no names, because kernel.kptr_restrict hides their addresses"
                .to_owned(),
        );
        return;
    };
    let mut modules: HashMap<String, u32> = HashMap::new();
    let Profile {
        frames: all,
        modules: known,
        ..
    } = profile;
    for at in frames {
        let frame: &mut Frame = &mut all[*at];
        let Some(symbol) = symbols.find(frame.address) else {
            continue;
        };
        frame.symbols = vec![plain(symbol.name.to_owned())];
        if let Some(module) = symbol.module {
            frame.module = *modules
                .entry(format!("[{module}]"))
                .or_insert_with_key(|path| {
                    known.push(Module {
                        path: path.clone(),
                        build_id: None,
                        kind: ModuleKind::KernelModule,
                    });
                    known.len() as u32 - 1
                });
        }
    }
}

fn plain(name: String) -> Symbol {
    Symbol {
        name,
        file: None,
        line: None,
        inlined: false,
    }
}

/// Marks stacks whose chain of frame pointers ended before the thread's start.
fn mark_broken_chains(profile: &mut Profile) {
    let whole: Vec<bool> = profile
        .frames
        .iter()
        .map(|frame| match profile.modules.get(frame.module as usize) {
            Some(module) => match module.kind {
                ModuleKind::Kernel | ModuleKind::KernelModule => true,
                _ => {
                    let function = frame.symbols.last().map(|symbol| symbol.name.as_str());
                    is_thread_start(function, module.file_name())
                }
            },
            None => false,
        })
        .collect();
    for stack in &mut profile.stacks {
        let outermost = stack.frames.last().and_then(|at| whole.get(*at as usize));
        stack.truncated = !outermost.copied().unwrap_or(false);
    }
}

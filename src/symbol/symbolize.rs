//! Names for all frames of a profile.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::debug_file::DebugFile;
use super::debug_info::DebugInfo;
use super::demangle::demangle;
use super::elf::{ElfSymbols, Segments};
use super::kernel::KernelSymbols;
use super::mapped::MappedFile;
use super::perf_map::{PerfMap, PerfMaps};
use super::repeated::RepeatedNames;
use super::thread_start::{ends_frame_pointers, is_thread_start};
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
/// profile's modules, `maps` are those that processes had. Returns what must be said of it.
pub fn symbolize(profile: &mut Profile, files: &[ModuleFile], maps: &PerfMaps) -> Vec<String> {
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
            ModuleKind::Jit => jit(profile, &frames, file, maps),
            ModuleKind::Kernel | ModuleKind::KernelModule => {
                kernel(profile, &frames, &mut warnings);
            }
            ModuleKind::Unknown => {}
        }
    }
    if profile.event.call_graph != CallGraph::None {
        settle_endings(profile);
    }
    warnings
}

fn user(profile: &mut Profile, frames: &[usize], file: &ModuleFile, warnings: &mut Vec<String>) {
    let Some(open) = &file.file else {
        return;
    };
    let own = MappedFile::of(open);
    let Some(object) = own.as_ref().and_then(|bytes| parsed(bytes)) else {
        warnings.push(damaged(
            file,
            "it is no ELF file",
            "its functions have no names",
        ));
        return;
    };
    let segments = Segments::of(&object);
    let own_path = path_of(open, &file.path);
    let debug_file = DebugFile::find(&object, &own_path, &file.path);
    let separate = (debug_file.path != own_path)
        .then(|| MappedFile::of(&File::open(&debug_file.path).ok()?))
        .flatten();
    let objects: Vec<object::File<'_>> = separate
        .as_ref()
        .and_then(|bytes| parsed(bytes))
        .into_iter()
        .chain([object])
        .collect();
    let tables: Vec<ElfSymbols> = objects.iter().map(ElfSymbols::of).collect();
    let repeated = objects.first().map(RepeatedNames::of).unwrap_or_default();
    let from_tables = |address| {
        let mut tables = tables.iter().zip(&objects);
        tables.find_map(|(table, object)| table.find(object, address))
    };
    let mut debug_info = match DebugInfo::open(&debug_file) {
        Ok(debug_info) => Some(debug_info),
        Err(error) => {
            warnings.push(damaged(file, &error, "inlined functions are not seen"));
            None
        }
    };
    let mut told = false;
    for at in frames {
        let frame = &mut profile.frames[*at];
        let Some(address) = segments.address_of(frame.address) else {
            continue;
        };
        let found = debug_info.as_mut().map(|info| info.find(address));
        let found = found.unwrap_or_default();
        told |= !found.is_empty();
        frame.symbols = complete(found, || from_tables(address));
        for symbol in &mut frame.symbols {
            repeated.tell_apart(symbol);
        }
    }
    // A look that costs something, only where there is a reason for it.
    if !told && debug_info.is_some() && !DebugInfo::units_are_sound(&debug_file) {
        let what = "its units cannot be read";
        warnings.push(damaged(file, what, "inlined functions are not seen"));
    }
    if let Some(count) = debug_info.map(|info| info.damaged()).filter(|n| *n > 0) {
        let what = format!("{count} addresses cannot be read");
        warnings.push(damaged(
            file,
            &what,
            "they have their name from the symbol table",
        ));
    }
}

fn parsed(bytes: &[u8]) -> Option<object::File<'_>> {
    object::File::parse(bytes).ok()
}

/// Fills what debug information does not tell from the symbol table.
fn complete(mut found: Vec<Symbol>, from_table: impl FnOnce() -> Option<String>) -> Vec<Symbol> {
    match found.last_mut() {
        // In C++, what only one file sees has its bare name in debug information.
        Some(outermost) if !outermost.name.contains("::") => match from_table() {
            Some(name) if outermost.name.is_empty() || is_mangled(&name) => {
                outermost.name = demangle(&name);
            }
            None if outermost.name.is_empty() => return Vec::new(),
            _ => {}
        },
        Some(_) => {}
        None => found.extend(from_table().map(|name| plain(demangle(&name)))),
    }
    for symbol in &mut found {
        if symbol.name.is_empty() {
            symbol.name = "[inlined]".to_owned();
        }
    }
    found
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

fn damaged(file: &ModuleFile, what: &str, effect: &str) -> String {
    format!(
        "debug information of {}: {what}; {effect}",
        file.path.display()
    )
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

fn jit(profile: &mut Profile, frames: &[usize], file: &ModuleFile, maps: &PerfMaps) {
    let Some(pid) = file.jit_pid else {
        return;
    };
    let now = PerfMap::of_process(pid);
    for at in frames {
        let frame = &mut profile.frames[*at];
        let name = now.as_ref().and_then(|map| map.find(frame.address));
        let name = name.or_else(|| maps.find(pid, frame.address));
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

/// Settles which stacks are whole, now that their outermost functions have names.
fn settle_endings(profile: &mut Profile) {
    let frame_pointers = profile.event.call_graph == CallGraph::Fp;
    let endings: Vec<Option<Ending>> = profile
        .frames
        .iter()
        .map(|frame| {
            let module = profile.modules.get(frame.module as usize);
            let kind = module.map(|module| module.kind);
            if matches!(kind, Some(ModuleKind::Kernel | ModuleKind::KernelModule)) {
                return None;
            }
            let function = frame.symbols.last().map(|symbol| symbol.name.as_str());
            let file_name = module.map_or("", Module::file_name);
            Some(Ending {
                named: function.is_some(),
                is_start: match frame_pointers {
                    true => ends_frame_pointers(function, file_name),
                    false => function.is_some_and(is_thread_start),
                },
            })
        })
        .collect();
    for stack in &mut profile.stacks {
        let mut outermost_first = stack.frames.iter().rev();
        let outermost = outermost_first.next();
        let Some(Some(ending)) = outermost.and_then(|at| endings.get(*at as usize)) else {
            continue;
        };
        // A function of the C library without a name starts a thread only if it calls something.
        let is_start = ending.is_start && (ending.named || outermost_first.next().is_some());
        if is_start {
            stack.truncated = false;
        } else if frame_pointers {
            stack.truncated = true;
        }
    }
}

/// What the outermost user frame of a stack tells.
struct Ending {
    named: bool,
    is_start: bool,
}

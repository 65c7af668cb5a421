//! A profile from stacks of names, as other tools give them.

use std::collections::HashMap;

use crate::plan::CallGraph;
use crate::profile::{
    Accounting, EventInfo, Frame, Module, ModuleKind, Profile, SCHEMA, Stack, Symbol,
};

use super::error::FormatError;

/// Mark above the thread's name of a stack that did not reach its thread's start.
pub(super) const TRUNCATED: &str = "[truncated]";

/// Most that a profile may hold: a small file can repeat a deep stack or a long name without end.
const MOST_HELD: u64 = 250_000_000;

/// Interns frames and stacks.
pub(super) struct Builder {
    profile: Profile,
    modules: HashMap<Module, u32>,
    frames: HashMap<Frame, u32>,
    named: HashMap<String, u32>,
    stacks: HashMap<(String, Vec<u32>, bool), usize>,
    /// Frames of all stacks, and their threads' names in units of four bytes.
    held: u64,
}

impl Builder {
    /// Starts a profile of an event whose counts are samples.
    pub(super) fn new(event: &str, unit: &str) -> Self {
        Self {
            profile: Profile {
                schema: SCHEMA.to_string(),
                event: EventInfo {
                    name: event.to_string(),
                    unit: unit.to_string(),
                    frequency_hz: 0,
                    call_graph: CallGraph::Fp,
                },
                duration_ns: 0,
                modules: Vec::new(),
                frames: Vec::new(),
                stacks: Vec::new(),
                accounting: Accounting::default(),
            },
            modules: HashMap::new(),
            frames: HashMap::new(),
            named: HashMap::new(),
            held: 0,
            stacks: HashMap::new(),
        }
    }

    pub(super) fn set_duration(&mut self, nanoseconds: u64) {
        self.profile.duration_ns = nanoseconds;
    }

    /// The number of a frame that is known by its text as in folded lines, with its marks; the
    /// functions inlined in it follow its name, joined by `;`.
    pub(super) fn named(&mut self, text: &str) -> u32 {
        if let Some(&frame) = self.named.get(text) {
            return frame;
        }
        let mut parts = text.split(';').map(parts_of);
        let (module, symbol) = parts.next().unwrap_or_else(|| parts_of("[unknown]"));
        let module = self.module(module);
        let mut symbols: Vec<Symbol> = symbol.into_iter().collect();
        symbols.extend(parts.filter_map(|(_, symbol)| symbol));
        symbols.reverse();
        let frame = self.frame(Frame {
            module,
            address: 0,
            symbols,
        });
        self.named.insert(text.to_string(), frame);
        frame
    }

    /// The number of a module.
    pub(super) fn module(&mut self, module: Module) -> u32 {
        if let Some(&number) = self.modules.get(&module) {
            return number;
        }
        let number = self.profile.modules.len() as u32;
        self.profile.modules.push(module.clone());
        self.modules.insert(module, number);
        number
    }

    /// The number of a frame.
    pub(super) fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&number) = self.frames.get(&frame) {
            return number;
        }
        let number = self.profile.frames.len() as u32;
        self.profile.frames.push(frame.clone());
        self.frames.insert(frame, number);
        number
    }

    /// Adds samples of a stack, frames innermost first.
    pub(super) fn add(
        &mut self,
        thread: &str,
        frames: Vec<u32>,
        truncated: bool,
        count: u64,
        weight: u64,
    ) -> Result<(), FormatError> {
        let samples = &mut self.profile.accounting.samples;
        *samples = samples.checked_add(count).ok_or_else(|| {
            FormatError::content("counts", "they add up to more than 64 bits hold")
        })?;
        if count == 0 {
            return Ok(());
        }
        if truncated {
            self.profile.accounting.truncated += count;
        }
        let bare = frames
            .first()
            .and_then(|&frame| self.profile.frames.get(frame as usize))
            .is_none_or(|frame| frame.symbols.is_empty());
        if bare {
            self.profile.accounting.unsymbolized += count;
        }
        let stacks = &mut self.profile.stacks;
        let key = (thread.to_string(), frames, truncated);
        match self.stacks.get(&key) {
            Some(&at) => {
                stacks[at].count += count;
                stacks[at].weight = stacks[at].weight.saturating_add(weight);
            }
            None => {
                self.held += key.1.len() as u64 + key.0.len() as u64 / 4;
                if self.held > MOST_HELD {
                    return Err(FormatError::content(
                        "stacks",
                        "they hold more frames than fit into memory; sample less, or fold them first",
                    ));
                }
                stacks.push(Stack {
                    thread: key.0.clone(),
                    frames: key.1.clone(),
                    truncated,
                    count,
                    weight,
                });
                self.stacks.insert(key, stacks.len() - 1);
            }
        }
        Ok(())
    }

    /// Adds samples of a stack whose names are root first, the thread's before them.
    pub(super) fn add_names<'a>(
        &mut self,
        thread: &str,
        names: impl Iterator<Item = &'a str>,
        count: u64,
        weight: u64,
    ) -> Result<(), FormatError> {
        let mut names = names.peekable();
        let truncated = names.next_if(|&name| name == TRUNCATED).is_some();
        let mut frames = Vec::new();
        let mut frame = String::new();
        for name in names {
            let inlined = name.ends_with("_[i]") && !frame.is_empty();
            if inlined {
                frame.push(';');
            } else if !frame.is_empty() {
                frames.push(self.named(&frame));
                frame.clear();
            }
            frame.push_str(if name.is_empty() { "[unknown]" } else { name });
        }
        if !frame.is_empty() {
            frames.push(self.named(&frame));
        }
        frames.reverse();
        self.add(thread, frames, truncated, count, weight)
    }

    pub(super) fn finish(self) -> Profile {
        self.profile
    }
}

/// The module and symbol that a frame's text tells of; no symbol where the text is a module's
/// name in brackets.
fn parts_of(text: &str) -> (Module, Option<Symbol>) {
    let (name, kind, inlined) = if let Some(name) = text.strip_suffix("_[k]") {
        (name, ModuleKind::Kernel, false)
    } else if let Some(name) = text.strip_suffix("_[j]") {
        (name, ModuleKind::Jit, false)
    } else if let Some(name) = text.strip_suffix("_[i]") {
        (name, ModuleKind::Unknown, true)
    } else {
        (text, ModuleKind::Unknown, false)
    };
    let path = match kind {
        ModuleKind::Kernel => "[kernel]",
        ModuleKind::Jit => "[jit]",
        _ => "[unknown]",
    };
    let module = |path: &str, kind| Module {
        path: path.to_string(),
        build_id: None,
        kind,
    };
    if let Some(inner) = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
    {
        return match (inner, kind) {
            ("unknown", _) | ("jit", _) | ("kernel", _) => (module(name, kind_of_path(name)), None),
            (_, ModuleKind::Kernel) => (module(inner, ModuleKind::KernelModule), None),
            ("vdso", _) => (module(name, ModuleKind::Vdso), None),
            _ => (module(inner, ModuleKind::User), None),
        };
    }
    let symbol = Symbol {
        name: name.to_string(),
        file: None,
        line: None,
        inlined,
    };
    (module(path, kind), Some(symbol))
}

/// The kind of a module whose path is all that is known.
pub(super) fn kind_of_path(path: &str) -> ModuleKind {
    match path {
        "[vdso]" => ModuleKind::Vdso,
        "[jit]" => ModuleKind::Jit,
        "" | "[unknown]" | "unknown" => ModuleKind::Unknown,
        _ if path.starts_with("[kernel") || path.starts_with("[guest.kernel") => ModuleKind::Kernel,
        // perf names a loadable module in brackets or by its file.
        _ if path.starts_with('[') || path.contains(".ko") => ModuleKind::KernelModule,
        _ => ModuleKind::User,
    }
}

//! From a finished recording to a profile.

use rustix::time::{ClockId, clock_gettime};

use super::availability::Chosen;
use super::context_tree::CountedStack;
use super::fold::Folder;
use super::window::{Windows, clock_ns};
use crate::profile::{Accounting, EventInfo, Frame, Profile, SCHEMA, Stack};
use crate::symbol::{PerfMaps, symbolize};

/// What the reader of the rings hands over.
#[derive(Debug)]
pub struct Recording {
    /// Event and attributes.
    pub chosen: Chosen,
    /// Modules, frames and stacks.
    pub folder: Folder,
    /// What must be said of the recording.
    pub warnings: Vec<String>,
    /// CPU time of the reading thread, in nanoseconds.
    pub reader_cpu_ns: u64,
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// A recording that has stopped, whose functions have no names yet.
#[derive(Debug)]
pub struct Detached {
    recording: Recording,
    windows: Windows,
    /// Maps of the code that processes made, as they were when the recording stopped.
    maps: PerfMaps,
}

impl Detached {
    /// A recording and its windows.
    pub(super) fn new(recording: Recording, windows: Windows) -> Self {
        Self {
            recording,
            windows,
            maps: PerfMaps::default(),
        }
    }

    /// Keeps what only processes that run can tell: their maps, as they see `/tmp`.
    pub(super) fn with_maps(self) -> Self {
        let maps = PerfMaps::of(self.jit_processes());
        Self { maps, ..self }
    }

    /// Names the functions of every stack. A map that a process wrote when it ended
    /// (`-XX:+DumpPerfMapAtExit`) comes before what was there when the recording stopped.
    #[must_use]
    pub fn profile(self) -> Profile {
        profile_of(self.recording, &self.windows, &self.maps)
    }

    /// The processes that ran code made at run time.
    #[must_use]
    pub fn jit_processes(&self) -> Vec<u32> {
        self.recording.folder.modules.jit_processes()
    }
}

/// Builds the profile and names its functions.
fn profile_of(recording: Recording, windows: &Windows, maps: &PerfMaps) -> Profile {
    let cpu_before = thread_cpu_ns();
    let Recording {
        chosen,
        folder,
        warnings,
        reader_cpu_ns,
    } = recording;
    let accounting = Accounting {
        lost: folder.losses.lost,
        throttled: folder.losses.throttled,
        warnings,
        ..Accounting::default()
    };
    let stacks = folder
        .stacks
        .stacks()
        .map(|stack| named(stack, &folder))
        .collect();
    let folded_away = folder.stacks.folded_away();
    let damaged = folder.losses.damaged;
    let frames = folder
        .frames
        .into_places()
        .into_iter()
        .map(|(module, address)| Frame {
            module,
            address,
            symbols: Vec::new(),
        })
        .collect();
    let (modules, files) = folder.modules.into_parts();
    let mut profile = Profile {
        schema: SCHEMA.to_owned(),
        event: EventInfo {
            name: chosen.event.name,
            unit: chosen.event.unit.to_owned(),
            frequency_hz: chosen.attributes.frequency_hz,
            call_graph: chosen.attributes.call_graph,
        },
        duration_ns: windows.total_ns(clock_ns()),
        modules,
        frames,
        stacks,
        accounting,
    };
    let warnings = symbolize(&mut profile, &files, maps);
    profile.accounting.warnings.extend(warnings);
    if damaged > 0 {
        let text = format!("{damaged} records of the kernel could not be read");
        profile.accounting.warnings.push(text);
    }
    if folded_away > 0 {
        let text = format!(
            "{folded_away} samples kept their innermost frame only: there are too many different \
             stacks"
        );
        profile.accounting.warnings.push(text);
    }
    count(&mut profile);
    profile.accounting.sampler_cpu_ns = reader_cpu_ns + (thread_cpu_ns() - cpu_before);
    profile
}

fn named(stack: CountedStack, folder: &Folder) -> Stack {
    Stack {
        thread: folder.thread_names.get(stack.thread).to_owned(),
        frames: stack.frames,
        truncated: stack.truncated,
        count: stack.count,
        weight: stack.weight,
    }
}

/// Counts samples by what is known of their stacks.
fn count(profile: &mut Profile) {
    let accounting = &mut profile.accounting;
    for stack in &profile.stacks {
        let innermost = stack.frames.first();
        let frame = innermost.and_then(|frame| profile.frames.get(*frame as usize));
        let module = frame.and_then(|frame| profile.modules.get(frame.module as usize));
        let name = module.map_or("[unknown]", |module| module.file_name());
        let of_module = accounting.modules.entry(name.to_owned()).or_default();
        accounting.samples += stack.count;
        of_module.samples += stack.count;
        if stack.truncated {
            accounting.truncated += stack.count;
            of_module.truncated += stack.count;
        }
        if frame.is_none_or(|frame| frame.symbols.is_empty()) {
            accounting.unsymbolized += stack.count;
            of_module.unsymbolized += stack.count;
        }
    }
}

//! The profile of one recording: counted stacks of interned frames.
//!
//! A frame is an address in a module, so that a profile can be kept without symbols and be
//! symbolized later, once per distinct frame, from the module with the same build id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::CallGraph;

/// Version of the JSON form of [`Profile`]. A reader refuses what it does not know.
pub const SCHEMA: &str = "perfblame.profile/1";

/// Counted stacks of one recording, with what was lost on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was sampled.
    pub event: EventInfo,
    /// Length of the recording in nanoseconds of wall time.
    pub duration_ns: u64,
    /// Files, kernels and regions that frames lie in.
    pub modules: Vec<Module>,
    /// Distinct code addresses.
    pub frames: Vec<Frame>,
    /// Distinct stacks with their counts.
    pub stacks: Vec<Stack>,
    /// What was taken and what was lost.
    pub accounting: Accounting,
}

/// What an event counts, and how often it was sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventInfo {
    /// The kernel's name of the event: `cycles`, `cpu-clock`, …
    pub name: String,
    /// Unit of [`Stack::weight`]: `cycles` for hardware, `ns` for `cpu-clock`.
    pub unit: String,
    /// Requested sampling frequency in hertz.
    pub frequency_hz: u64,
    /// How call chains were taken.
    pub call_graph: CallGraph,
}

/// Where code lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path in the file system of the sampled process, or `[kernel]`, `[vdso]`, `[jit]`, `[unknown]`.
    pub path: String,
    /// ELF build id in lower-case hexadecimal, where known.
    pub build_id: Option<String>,
    /// What kind of thing it is.
    pub kind: ModuleKind,
}

impl Module {
    /// Returns the path's last part; the whole path for `[kernel]` and its like.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        match path.rsplit_once('/') {
            Some((_, name)) if !name.is_empty() => name,
            _ => path,
        }
    }
}

/// Kinds of module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleKind {
    /// An executable or shared object.
    User,
    /// The kernel's own text.
    Kernel,
    /// A loadable kernel module.
    KernelModule,
    /// The virtual dynamic shared object.
    Vdso,
    /// Code made at run time.
    Jit,
    /// No mapping was known at the address.
    Unknown,
}

/// One code address and, once symbolized, the functions that stand there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index into [`Profile::modules`].
    pub module: u32,
    /// Offset in the module's file, which is the same in every process and needs no file to be
    /// known; for the kernel and code made at run time the absolute address. Already moved back by
    /// one for return addresses, so that it lies in the call.
    pub address: u64,
    /// The function that holds the address last, the functions inlined there before it,
    /// innermost first. Empty: not symbolized, or nothing known.
    pub symbols: Vec<Symbol>,
}

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Symbol {
    /// Demangled name as the build gave it, without parameters (perf's convention); see
    /// [`canonical_name`](super::canonical_name) for comparing across builds.
    pub name: String,
    /// Source file, where debug information tells.
    pub file: Option<String>,
    /// Source line, where debug information tells.
    pub line: Option<u32>,
    /// Whether the function was inlined at this address.
    pub inlined: bool,
}

/// A distinct stack and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Name of the thread (`comm`).
    pub thread: String,
    /// Indices into [`Profile::frames`], innermost (the sampled instruction) first; kernel frames
    /// come before user frames.
    pub frames: Vec<u32>,
    /// Whether the chain ended before the thread's start.
    pub truncated: bool,
    /// Number of samples.
    pub count: u64,
    /// Sum of sample periods in [`EventInfo::unit`].
    pub weight: u64,
}

/// What became of the samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// Samples in [`Profile::stacks`].
    pub samples: u64,
    /// Records that the kernel dropped because a ring was full.
    pub lost: u64,
    /// Times that the kernel throttled the event.
    pub throttled: u64,
    /// Samples whose call chain did not reach the thread's start.
    pub truncated: u64,
    /// Samples whose innermost frame has no symbol.
    pub unsymbolized: u64,
    /// The same by file name of the innermost frame's module.
    #[serde(default)]
    pub modules: BTreeMap<String, ModuleAccounting>,
    /// CPU time of the sampler itself in nanoseconds.
    pub sampler_cpu_ns: u64,
    /// What the sampler wants to be said in a report.
    pub warnings: Vec<String>,
}

/// What became of the samples whose innermost frame lies in one module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleAccounting {
    /// Samples.
    pub samples: u64,
    /// Samples without a symbol.
    pub unsymbolized: u64,
    /// Samples whose call chain did not reach the thread's start.
    pub truncated: u64,
}

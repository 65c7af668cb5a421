//! Records as the kernel writes them into a ring, read from bytes.
//!
//! Every length and offset in a record is checked, so that a damaged recording gives an error and
//! no more. The layout is that of `perf_event_open(2)` for the one sample format that
//! [`attributes`](super::attributes) asks for.

mod parse;
mod reader;

pub use parse::{parse, time_of};
pub use reader::{RecordError, Words};

/// Number of user registers in a sample; see [`USER_REGISTERS`].
pub const REGISTER_COUNT: usize = USER_REGISTERS.count_ones() as usize;

/// The registers that unwinding needs, as a mask of `enum perf_event_x86_regs`: BP, SP, IP.
#[cfg(target_arch = "x86_64")]
pub const USER_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The registers that unwinding needs, as a mask of `enum perf_event_arm_regs`: X29, LR, SP, PC.
#[cfg(not(target_arch = "x86_64"))]
pub const USER_REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// What a sample holds beside instruction pointer, thread, time and period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// A call chain follows the period.
    pub call_chain: bool,
    /// User registers and a copy of the user stack follow the call chain.
    pub user_state: bool,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// An executable region was mapped.
    Mmap(Mmap<'a>),
    /// A thread got a name.
    Comm {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The name, at most 15 bytes.
        name: &'a [u8],
        /// Whether by `exec`, which also replaces the address space.
        exec: bool,
    },
    /// A thread or process was made.
    Fork {
        /// Process of the new thread.
        pid: u32,
        /// The new thread.
        tid: u32,
        /// Process of the maker.
        parent_pid: u32,
        /// Thread of the maker.
        parent_tid: u32,
    },
    /// A thread ended.
    Exit {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
    },
    /// The kernel dropped records because the ring was full.
    Lost {
        /// How many.
        count: u64,
    },
    /// The kernel slowed sampling down.
    Throttle,
    /// Any other record.
    Other,
}

/// In which mode the CPU was when a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuMode {
    /// Kernel.
    Kernel,
    /// User.
    User,
    /// Hypervisor, guest, or not told.
    Other,
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Mode of the sampled instruction.
    pub mode: CpuMode,
    /// The sampled instruction.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub time: u64,
    /// What the event counted since the last sample.
    pub period: u64,
    /// The call chain, innermost first, with the kernel's context marks in it.
    pub call_chain: Words<'a>,
    /// User registers and stack, where they were asked for and the thread has any.
    pub user: Option<UserState<'a>>,
}

/// The user half of a thread when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserState<'a> {
    /// Values of [`USER_REGISTERS`], lowest bit first.
    pub registers: [u64; REGISTER_COUNT],
    /// The stack from the stack pointer upwards; as much as could be copied.
    pub stack: &'a [u8],
}

/// An executable mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mmap<'a> {
    /// Process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset of the first byte in the file.
    pub file_offset: u64,
    /// Path as the process sees it; `//anon`, `[vdso]` and the like for what is no file.
    pub path: &'a [u8],
    /// Build id of the file, where the kernel could read it.
    pub build_id: Option<&'a [u8]>,
}

//! From addresses to names: debug information with inlined functions, ELF symbols, kallsyms, the
//! vDSO, perf maps of run-time compilers.
//!
//! A profile is symbolized once, at its end: the distinct addresses of a module in order, one
//! module after the other, so that only one module's tables are in memory.

mod debug_file;
mod debug_info;
mod demangle;
mod elf;
mod intervals;
mod kernel;
mod mapped;
mod perf_map;
mod regular;
mod repeated;
mod symbolize;
mod thread_start;
mod vdso;

pub use demangle::demangle;
pub use elf::{Segments, build_id_of};
pub use kernel::kernel_symbols_readable;
pub use perf_map::PerfMaps;
pub use regular::open_regular;
pub use symbolize::{ModuleFile, symbolize};
pub use vdso::image as vdso_image;

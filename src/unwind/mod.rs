//! From registers and stack to a call chain, by call frame information.
//!
//! framehop does the work; this room gives it the sections of ELF files, and takes single steps, so
//! that a module is read only when a chain passes through it. Where a module has no call frame
//! information for an address, the frame pointer is followed.

mod info;
mod walker;

pub use info::UnwindInfo;
pub use walker::{Ending, Placement, Registers, RuleCache, Walker};

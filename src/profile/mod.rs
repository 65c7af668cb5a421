//! Counted stacks, per-function tables, folded stacks. Pure.

mod canonical;
#[cfg(test)]
mod example;
mod folded;
pub mod format;
mod functions;
mod merge;
mod model;
mod quality;

pub use canonical::canonical_name;
pub use folded::{folded_lines, merged_folded_lines};
pub use functions::{FunctionCounts, FunctionGroup, FunctionId, FunctionTable, UNKNOWN_FUNCTION};
pub use model::{
    Accounting, EventInfo, Frame, Module, ModuleAccounting, ModuleKind, Profile, SCHEMA, Stack,
    Symbol,
};
pub use quality::Doubt;

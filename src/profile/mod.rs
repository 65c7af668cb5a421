//! Counted stacks, per-function tables, folded stacks. Pure.

mod functions;
mod model;

pub use functions::{FunctionCounts, FunctionId, FunctionTable};
pub use model::{
    Accounting, CallGraph, EventInfo, Frame, Module, ModuleKind, Profile, SCHEMA, Stack, Symbol,
};

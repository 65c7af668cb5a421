//! Kernels: configured from a base and fragments, built out of tree by their own Makefile.
//!
//! Source and objects stay in the workshop from one commit to the next, and only what differs between
//! two commits is written anew, so that `make` compiles only what depends on it. What an interrupted
//! build left, and what another configuration or compiler made, is never built upon.

mod collect;
mod configuration;
mod definition;
mod inputs;
mod kept;
mod make;
mod requests;
mod tools;
mod work;

pub(super) use inputs::{compiler_identity, key_parts};
pub use tools::{KernelTool, missing_kernel_tools};

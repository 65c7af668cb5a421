//! The per-function table of a profile.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A function as compared across builds: canonical name, and the module's file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionId {
    /// Canonical name.
    pub name: String,
    /// File name of the module without its directory; `[kernel]` for the kernel.
    pub module: String,
}

/// Samples of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCounts {
    /// Samples whose innermost function it is.
    pub self_samples: u64,
    /// Samples whose stack holds it, counted once a stack however often it recurs.
    pub inclusive_samples: u64,
}

/// Samples by function of one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionTable {
    /// All samples of the trial.
    pub total_samples: u64,
    /// Counts by function.
    pub rows: BTreeMap<FunctionId, FunctionCounts>,
    /// Samples whose stack holds the caller directly above the callee, by (caller, callee),
    /// counted once a stack; inlined frames are frames. Tells who is related to whom when cost
    /// moves from one function to another.
    pub calls: BTreeMap<(FunctionId, FunctionId), u64>,
    /// Counts by group name: a sample is the group's own if its innermost function is a member,
    /// and inclusive if its stack holds any member, counted once a stack.
    pub groups: BTreeMap<String, FunctionCounts>,
}

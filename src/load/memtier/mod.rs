//! Results in memtier_benchmark's forms: its text table, its JSON keys, its HDR files, so that
//! scripts which read its output read ours.

mod hdr;
mod json;
mod summary;
mod table;

pub use hdr::write_files;
pub use json::{Server, document};
pub use summary::{Row, RunSummary};
pub use table::{latency_distribution, table};

/// Percentiles where none are asked for.
pub const DEFAULT_PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

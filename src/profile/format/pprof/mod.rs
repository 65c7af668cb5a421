//! pprof's `profile.proto`, gzipped as its tools write it.
//!
//! Of several sample values the first whose unit is a count is taken as the number of samples,
//! and the one that is the profile's default as its weight. The thread is a label.

mod read;
mod write;

use super::protobuf::{Fields, Value};

pub(super) use read::read;
pub(super) use write::write;

/// Labels that name a thread, ours first.
const THREAD_LABELS: [&str; 3] = ["thread", "thread_name", "comm"];

/// Label of a stack that did not reach its thread's start.
const TRUNCATED_LABEL: &str = "truncated";

/// Whether bytes are a message whose first fields pprof knows.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    let known = fields.by_ref().take(16).all(|(field, value)| {
        matches!(
            (field, value),
            (1..=6 | 11 | 13, Value::Bytes(_)) | (7..=10 | 12 | 14, Value::Number(_)) | (13, _)
        )
    });
    known && !fields.damaged
}

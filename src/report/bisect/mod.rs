//! The report of a search: one value, and every form of it.

mod git_log;
mod html;
pub mod markdown;
mod model;
mod picture;
#[cfg(test)]
mod sample;
mod sentence;
pub mod text;
mod write;

pub use model::{
    BISECT_SCHEMA, Belief, BisectOutcome, BisectReport, CertificateReport, ChangeReport,
    CulpritReport, End, Explanation, FurtherCulprit, MeasuredKind, MeasuredValue, SearchedLine,
    SkippedCommit, Touched, TrialCounts,
};
pub use picture::svg;
pub use sentence::sentence;
pub use write::{json, page, write_all};

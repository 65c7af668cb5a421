//! What a person or a script reads: text, JSON, Markdown, HTML and flame graphs.
//!
//! A report is one value, [`CompareReport`], and every form of it is a pure function of that value
//! and of the folded stacks of both arms. The same value gives the same bytes.

pub mod bisect;
pub mod diff;
mod escape;
mod flamegraph;
pub mod github;
mod headline;
pub mod html;
pub mod json;
pub mod markdown;
pub mod matrix;
mod model;
mod number;
mod remarks;
#[cfg(test)]
mod sample;
pub mod text;
mod write;

pub use bisect::{
    BISECT_SCHEMA, Belief, BisectOutcome, BisectReport, CertificateReport, ChangeReport,
    CulpritReport, End, Explanation, FurtherCulprit, MeasuredKind, MeasuredValue, SearchedLine,
    SkippedCommit, Touched, TrialCounts,
};
pub use escape::{plain, xml};
pub use flamegraph::{FlameGraphError, flamegraph};
pub use headline::{Headline, Outcome, Segment, headline};
pub use model::{CompareReport, SCHEMA, SampleCounts, Side, TrialArm, TrialRecord, UnknownSchema};
pub use write::{Profiles, WriteError, write_all, write_atomically};

//! Throughput and function verdicts from trials. Pure.

mod model;

pub use crate::plan::Direction;
pub use model::{
    Comparison, CostVerdict, Explained, FunctionNote, FunctionStatus, FunctionVerdict,
    GroupProposal, MetricVerdict, TrialMeasurement, Verdict, WelchSummary,
};

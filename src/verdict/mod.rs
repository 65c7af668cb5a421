//! Throughput and function verdicts from trials. Pure.

mod compare;
mod costs;
mod forecast;
mod functions;
mod hypotheses;
mod indirect;
mod inherited;
mod metric;
mod model;
mod moved;
mod outlook;
mod paired;
mod relations;
mod sequential;

pub use crate::plan::Direction;
pub use compare::{compare, compare_knowing};
pub use forecast::{Forecast, forecast};
pub use model::{
    CodeComparison, Comparison, CostVerdict, Explained, FunctionNote, FunctionStatus,
    FunctionVerdict, GroupProposal, MetricVerdict, TrialMeasurement, Verdict, WelchSummary,
};
pub use sequential::{Decision, Purchase, StopReason, decide, what_more_blocks_buy};

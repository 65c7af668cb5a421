//! Throughput and function verdicts from trials. Pure.

mod model;

pub use model::{
    Comparison, CostVerdict, Direction, FunctionNote, FunctionStatus, FunctionVerdict,
    MetricVerdict, TrialMeasurement, Verdict, WelchSummary,
};

//! Compare, bisect, matrix: what to run next, and when to stop.

mod arms;
mod attempt;
pub mod bisect;
mod compare;
mod ended;
mod error;
mod guest;
mod job;
mod judge;
pub mod matrix;
mod measure;
mod notes;
mod possible;
mod progress;
mod rules;
mod same_code;
mod schedule;
mod staged;
mod trials;
mod workspace;

pub use compare::{CompareRequest, Surroundings, compare};
pub use error::ExperimentError;
pub use progress::{Progress, SearchState, Silent};

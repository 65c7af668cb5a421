//! Matrix: every combination of levels measured equally often, in random order over the whole.

mod cells;
mod points;
mod request;
mod run;
mod summary;

pub use request::{MatrixPlan, MatrixRequest, MatrixSurroundings};
pub use run::matrix;

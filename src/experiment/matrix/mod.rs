//! Matrix: every combination of levels measured equally often, in random order over the whole.

mod cells;
mod host_kernel;
mod identity;
mod levels;
mod points;
mod request;
mod run;
mod summary;

pub use host_kernel::reboot;
pub use request::{MatrixPlan, MatrixRequest, MatrixSurroundings, Resume};
pub use run::matrix;

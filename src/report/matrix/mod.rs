//! What comes of a matrix: the raw values, and a table for every two levels of an axis.

mod csv;
mod functions;
mod html;
mod model;
mod results;
mod scale;
mod tables;
mod text;
mod write;

pub use csv::raw;
pub use functions::CellStacks;
pub use html::render as html;
pub use model::{
    AxisReport, CellReport, Compared, MATRIX_SCHEMA, MatrixReport, MetricReport, PairTable,
    Results, TableCell,
};
pub use tables::tables;
pub use text::{cell_name, markdown, render as text};
pub use write::write_matrix;

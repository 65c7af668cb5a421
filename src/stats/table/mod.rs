//! Welch's test over a table of measurements: one row a value, columns that say what was measured.

mod error;
mod groups;
mod r_format;
mod read;

pub use error::TableError;
pub use groups::{GroupTest, GroupsError, compare_groups};
pub use r_format::{p_value, significant, significant_together};
pub use read::{Columns, Row, Table, read_table};

//! What can be wrong with a table.

use thiserror::Error;

/// Why bytes are no table of measurements.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TableError {
    /// Bytes that are no text.
    #[error("line {line}: not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Where.
        line: u64,
    },
    /// No header, or nothing below it.
    #[error("there is no measurement: a header line and at least one row below it are needed")]
    Empty,
    /// A column that is not there.
    #[error("line {line}: there is no column `{name}`; the columns are: {known}")]
    NoColumn {
        /// Line of the header.
        line: u64,
        /// The column asked for.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// A column that is there twice.
    #[error("line {line}: two columns are called `{name}`")]
    ColumnTwice {
        /// Line of the header.
        line: u64,
        /// Its name.
        name: String,
    },
    /// A column with two jobs.
    #[error("the column `{0}` is named twice: --compare, --within and --value need different ones")]
    SameColumn(String),
    /// A row with too few or too many fields.
    #[error("line {line}: {found} fields where the header has {expected}")]
    Ragged {
        /// Where.
        line: u64,
        /// Fields in the row.
        found: usize,
        /// Fields in the header.
        expected: usize,
    },
    /// A field that should be a finite number.
    #[error("line {line}, column `{column}`: `{text}` is not a finite number")]
    NotANumber {
        /// Where.
        line: u64,
        /// In which column.
        column: String,
        /// What stands there.
        text: String,
    },
    /// A row that repeats the key of another.
    #[error(
        "line {line}: the same {columns} as on line {first} ({key}); a measurement counts once"
    )]
    Duplicate {
        /// The later row.
        line: u64,
        /// The earlier row.
        first: u64,
        /// Names of the columns of the key.
        columns: String,
        /// Their fields.
        key: String,
    },
    /// What the CSV reader said.
    #[error("line {line}: {message}")]
    Csv {
        /// Where.
        line: u64,
        /// Its words.
        message: String,
    },
}

//! Why a profile cannot be read or written.

use thiserror::Error;

use super::folded::FoldedError;

/// Why a profile cannot be read or written.
#[derive(Debug, Error)]
pub enum FormatError {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// None of the known forms.
    #[error(
        "this is no profile that perfblame knows: it reads folded stacks, `perf script` text, \
         perf.data, pprof, speedscope, Firefox processed profiles and its own JSON, each also gzipped"
    )]
    Unknown,
    /// A recording that needs the binaries to be read.
    #[error("perf.data holds addresses and not names: it is read with the binaries beside it")]
    PerfData,
    /// Compressed data that ends early or is damaged.
    #[error("the gzip data is damaged or cut short")]
    Gzip(#[source] std::io::Error),
    /// More than is sensible came out of the compression.
    #[error("the gzip data holds more than {} GiB", super::gzip::MOST >> 30)]
    GzipTooLarge,
    /// A wrong folded line.
    #[error(transparent)]
    Folded(#[from] FoldedError),
    /// Not JSON, or not of the shape that the form asks for.
    #[error("the JSON is not in order")]
    Json(#[from] serde_json::Error),
    /// JSON in order, but what it says is not.
    #[error("{place}: {problem}")]
    Content {
        /// Where in the file.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// A version that is not known.
    #[error(
        "the profile has schema {found:?}, but this version of perfblame reads only {:?}",
        crate::profile::SCHEMA
    )]
    Schema {
        /// The version found.
        found: String,
    },
    /// A form that is read and not written.
    #[error("perfblame does not write {0}; it writes folded, json, pprof, speedscope and firefox")]
    ReadOnly(&'static str),
}

impl FormatError {
    pub(super) fn content(place: impl Into<String>, problem: impl Into<String>) -> Self {
        FormatError::Content {
            place: place.into(),
            problem: problem.into(),
        }
    }
}

//! Where everything measured is kept: SQLite and blobs.
//!
//! The store is a directory, `.perfblame` by default:
//!
//! ```text
//! store.sqlite      experiments, trials, builds and events
//! blobs/ab/cdef….gz profiles and other files, by the SHA-256 of their content
//! running/ID.lock   held for as long as the process that runs experiment ID lives
//! build/            the workshop: the place that every commit is built at
//! artifacts/        built files, by cache key
//! ```
//!
//! Each write is durable when its function returns. Several processes may use one store at once.
//! This room knows nothing of what is measured: plans, results and outcomes are JSON values.

mod blob;
mod database;
mod error;
mod event;
mod experiment;
mod lock;
mod trial;

pub use blob::BlobDigest;
pub use database::{SCHEMA_VERSION, Store};
pub use error::StoreError;
pub use event::{BuildRecord, Event};
pub use experiment::{Experiment, ExperimentState, Finish, NewExperiment, RunningExperiment};
pub use lock::FileLock;
pub use trial::{NewTrial, StoredTrial, TrialState};

//! Bisect: which commit made the change, searched with a posterior and certified with fresh blocks.
//!
//! Everything that a search learns is an answer about commits in the store; a search that goes on
//! is told all of its answers again and asks for the next one.

mod alike;
mod bench;
mod certify;
mod ends;
mod explain;
mod field;
mod find;
mod function_cost;
mod function_name;
mod journal;
mod line;
mod meter;
mod outcome;
mod request;
mod resume;
mod run;
mod script;
mod searcher;

pub use ends::Ends;
pub use request::{BisectRequest, Limits, Measured, Towards};
pub use resume::{Overrides, Resumable, resumable};
pub use run::{Begin, bisect, peek};

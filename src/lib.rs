//! perfblame: did this commit make it slower, which function, and which commit was it?
//!
//! The rooms of the house, from the top down. A room imports only from rooms below it; the lower a
//! room, the purer: `verdict`, `bisect`, `profile` and `stats` do no I/O and take no clock and no
//! random source that is not handed in.

pub mod cli;

pub mod experiment;
pub mod report;

pub mod bisect;
pub mod verdict;

pub mod trial;

pub mod build;
pub mod executor;

pub mod code;
pub mod load;
pub mod sample;
pub mod symbol;
pub mod unwind;

pub mod profile;
pub mod repo;
pub mod stats;
pub mod store;

pub mod plan;

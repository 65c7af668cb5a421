//! Forms in which profiles are kept and exchanged. Pure parsers and writers.

pub mod folded;

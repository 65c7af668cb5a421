//! `report.html`: one file that needs nothing else and asks nothing of any network.
//!
//! The page is a template, filled once: what is filled in is escaped by whoever makes it and is
//! never looked at again.

mod facts;
mod functions;
mod page;
mod plot;

pub use page::{STYLE, render};

//! The differential flame graph: what changed between two sets of profiles, coloured by evidence.
//!
//! Stacks of both sides become one tree of frames ([`DiffTree`]), each frame with the samples of
//! either side. Colour comes from the verdict on the frame's function and from nothing else: a
//! frame without evidence is grey however much its width differs.

mod builder;
mod colour;
mod data;
mod function;
mod intern;
mod saved;
mod siblings;
mod stacks;
mod svg;
mod tree;

pub use builder::MAX_DEPTH;
pub use colour::Colour;
pub use function::{Judged, poisson, verdicts};
pub use saved::SavedRuns;
pub use stacks::{Lines, SortedStacks};
pub use svg::{Options, render};
pub(super) use svg::{SCRIPT, STYLE, element, page_data};
pub use tree::{DiffTree, FrameNode, Function, FunctionRuns, Run, Side, Source};

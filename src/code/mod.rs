//! Whether a function's machine code is the same in two builds.
//!
//! A function that moved has other addresses in it, and is the same all the same. So addresses and
//! displacements are replaced by what they mean: the symbol they point at, the content of a
//! constant without a name, the instruction that a jump within the function goes to. Padding does
//! not count. What a function refers to directly is looked at too: a table or a constant with other
//! content is another function's work, even where every instruction is the same.
//!
//! x86-64 only; of other architectures nothing is known.

mod body;
mod image;
mod same;

pub use same::{Alike, compare_functions};

//! Frame texts to functions: several spellings of a frame are one function.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::profile::canonical_name;

use super::tree::Function;

/// Functions by the text of their frames: a million stacks name few functions.
pub(super) struct Interner {
    by_text: HashMap<Box<[u8]>, u32, BuildHasherDefault<FrameHasher>>,
    by_function: HashMap<Function, u32>,
    functions: Vec<Function>,
}

impl Interner {
    pub(super) fn new() -> Self {
        Self {
            by_text: HashMap::default(),
            by_function: HashMap::new(),
            functions: Vec::new(),
        }
    }

    /// The number of the function that a frame's text names.
    pub(super) fn intern(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.by_text.get(text) {
            return number;
        }
        let function = function_of(&String::from_utf8_lossy(text));
        let next = self.functions.len() as u32;
        let number = *self.by_function.entry(function).or_insert_with_key(|f| {
            self.functions.push(f.clone());
            next
        });
        self.by_text.insert(text.into(), number);
        number
    }

    pub(super) fn into_functions(self) -> Vec<Function> {
        self.functions
    }
}

/// Drops the marks that say how a frame came to be (`_[k]`, `_[i]`, `_[j]`) and what differs from
/// build to build. Only the kernel's mark makes another function.
fn function_of(text: &str) -> Function {
    let (name, kernel) = match text.strip_suffix("_[k]") {
        Some(name) => (name, true),
        None => (
            text.strip_suffix("_[i]")
                .or_else(|| text.strip_suffix("_[j]"))
                .unwrap_or(text),
            false,
        ),
    };
    let name = match canonical_name(name) {
        name if name.is_empty() => Cow::Borrowed("[unknown]"),
        name => name,
    };
    Function {
        name: name.into_owned(),
        kernel,
    }
}

/// FxHash, as in rustc: names are short and many, and nobody gains by making them collide.
#[derive(Default)]
pub(super) struct FrameHasher(u64);

impl FrameHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FrameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    fn finish(&self) -> u64 {
        // The table takes the upper bits for one thing and the lower for another.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_function_are_one() {
        let mut names = Interner::new();
        let plain = names.intern(b"read");
        assert_eq!(names.intern(b"read_[i]"), plain);
        assert_eq!(names.intern(b"read.part.0"), plain);
        assert_ne!(names.intern(b"read_[k]"), plain);
        assert_eq!(names.intern(b"\xff"), names.intern(b"\xfe"));
        assert_eq!(names.into_functions()[0].name, "read");
    }
}

//! A hash for small integer keys that nobody chooses to our harm.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`FastHasher`]s.
pub type FastHash = BuildHasherDefault<FastHasher>;

/// Multiplies and folds, as FxHash does; each sample hashes every frame twice.
#[derive(Debug, Default, Clone, Copy)]
pub struct FastHasher(u64);

impl FastHasher {
    fn mix(&mut self, word: u64) {
        let word = (self.0 ^ word).wrapping_add(0x2545_f491_4f6c_dd1d);
        let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_ne_bytes(word));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
}

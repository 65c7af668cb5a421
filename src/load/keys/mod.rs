//! Which key comes next: the key patterns of memtier_benchmark, drawn without allocation.

mod gaussian;
mod rng;
mod sequence;
mod zipf;

pub use gaussian::Gaussian;
pub use rng::Rng;
pub use sequence::{Sequence, parallel_part};
pub use zipf::Zipf;

use crate::plan::load::{KeyPattern, LoadSpec};

/// The keys of one command of one client.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// Uniform from `min`, over `count` keys (0 stands for 2^64).
    Uniform {
        /// Least key.
        min: u64,
        /// Number of keys.
        count: u64,
    },
    /// One after the other.
    Sequence(Sequence),
    /// Normal around a median.
    Gaussian(Gaussian),
    /// Zipf from the least key on.
    Zipf(Zipf),
}

impl KeySource {
    /// Keys of client `client` (counted over all threads) under `pattern`. The specification must
    /// have passed [`LoadSpec::check`].
    pub fn new(pattern: KeyPattern, spec: &LoadSpec, client: u64) -> KeySource {
        let (min, max) = (spec.key_minimum, spec.key_maximum);
        match pattern {
            KeyPattern::Random => KeySource::Uniform {
                min,
                count: (max - min).wrapping_add(1),
            },
            KeyPattern::Sequential => KeySource::Sequence(Sequence::new(min, max)),
            KeyPattern::Parallel => {
                let (first, last) = parallel_part(min, max, spec.connections(), client);
                KeySource::Sequence(Sequence::new(first, last))
            }
            KeyPattern::Gaussian => {
                KeySource::Gaussian(Gaussian::new(min, max, spec.key_median, spec.key_stddev))
            }
            KeyPattern::Zipf => KeySource::Zipf(Zipf::new(
                min.max(1),
                max.max(1),
                spec.key_zipf_exp.unwrap_or(1.0),
            )),
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        match self {
            KeySource::Uniform { min, count } => *min + rng.below(*count),
            KeySource::Sequence(sequence) => sequence.draw(),
            KeySource::Gaussian(gaussian) => gaussian.draw(rng),
            KeySource::Zipf(zipf) => zipf.draw(rng),
        }
    }
}

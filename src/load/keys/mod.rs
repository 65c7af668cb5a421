//! Which key comes next: the key patterns of memtier_benchmark and the request distributions of YCSB,
//! drawn without allocation.

pub mod exponential;
mod gaussian;
mod rng;
mod sequence;
mod zipf;
pub mod zipfian;

pub use exponential::Exponential;
pub use gaussian::Gaussian;
pub use rng::Rng;
pub use sequence::{Sequence, parallel_part};
pub use zipf::Zipf;
pub use zipfian::{ScrambledZipfian, Zipfian};

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
    /// YCSB's zipfian ranks, counted from `first` upwards or, for the latest, downwards.
    Zipfian {
        /// The key of rank 0.
        first: u64,
        /// Whether greater ranks are lesser keys.
        down: bool,
        /// Which rank.
        ranks: Zipfian,
    },
    /// YCSB's zipfian keys, scattered.
    ScrambledZipfian(ScrambledZipfian),
    /// YCSB's exponential keys.
    Exponential(Exponential),
}

impl KeySource {
    /// Keys of client `client` (counted over all threads) under `pattern`. The specification must
    /// have passed [`LoadSpec::check`].
    pub fn new(pattern: KeyPattern, spec: &LoadSpec, client: u64) -> KeySource {
        let (min, max) = (spec.key_minimum, spec.key_maximum);
        // 0 stands for 2^64.
        let count = (max - min).wrapping_add(1);
        let constant = spec.key_zipf_exp.unwrap_or(zipfian::ZIPFIAN_CONSTANT);
        let ranked = |first, down| KeySource::Zipfian {
            first,
            down,
            ranks: Zipfian::new((max - min).saturating_add(1), constant),
        };
        match pattern {
            KeyPattern::Random => KeySource::Uniform { min, count },
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
            KeyPattern::Zipfian => ranked(min, false),
            KeyPattern::Latest => ranked(max, true),
            KeyPattern::Scrambled => {
                KeySource::ScrambledZipfian(ScrambledZipfian::new(min, count, constant))
            }
            KeyPattern::Exponential => KeySource::Exponential(Exponential::new(
                min,
                max,
                spec.key_exp_percentile.unwrap_or(exponential::PERCENTILE),
                spec.key_exp_fraction.unwrap_or(exponential::FRACTION),
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
            KeySource::Zipfian { first, down, ranks } => match down {
                false => *first + ranks.draw(rng),
                true => *first - ranks.draw(rng),
            },
            KeySource::ScrambledZipfian(keys) => keys.draw(rng),
            KeySource::Exponential(keys) => keys.draw(rng),
        }
    }
}

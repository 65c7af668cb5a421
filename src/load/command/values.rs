//! The values that commands carry: their sizes, bytes and expiries.

use std::sync::Arc;

use crate::load::keys::Rng;
use crate::plan::load::{LoadSpec, SizePattern};

/// Random values begin at a random byte of so many spare ones.
const RANDOM_SPARE: usize = 64 << 10;

/// Sizes, bytes and expiries of the values of one client.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    sizes: Sizes,
    bytes: Arc<[u8]>,
    random: bool,
    expiry: Option<crate::plan::load::Range>,
    rng: Rng,
}

#[derive(Debug, Clone)]
enum Sizes {
    Fixed(usize),
    Random {
        min: u64,
        max: u64,
    },
    Spread {
        min: u64,
        max: u64,
        key_minimum: u64,
        key_span: u64,
    },
    Weighted {
        ends: Arc<[(u64, usize)]>,
        total: u64,
    },
}

impl Values {
    /// Values of `spec`; `rng` only serves sizes, bytes and expiries.
    pub fn new(spec: &LoadSpec, rng: Rng) -> Values {
        let sizes = if let Some(list) = &spec.data_size_list {
            let mut total = 0;
            let ends = list
                .0
                .iter()
                .map(|(size, weight)| {
                    total += u64::from(*weight);
                    (total, *size as usize)
                })
                .collect();
            Sizes::Weighted { ends, total }
        } else if let Some(range) = spec.data_size_range {
            let (min, max) = (u64::from(range.min), u64::from(range.max));
            match spec.data_size_pattern {
                SizePattern::Random => Sizes::Random { min, max },
                SizePattern::Spread => Sizes::Spread {
                    min,
                    max,
                    key_minimum: spec.key_minimum,
                    key_span: (spec.key_maximum - spec.key_minimum).max(1),
                },
            }
        } else {
            Sizes::Fixed(spec.data_size as usize)
        };
        let largest = match &sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Random { max, .. } | Sizes::Spread { max, .. } => *max as usize,
            Sizes::Weighted { ends, .. } => ends.iter().map(|(_, size)| *size).max().unwrap_or(1),
        };
        let bytes = if spec.random_data {
            let mut bytes = vec![0; largest + RANDOM_SPARE];
            let mut filler = rng.clone();
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&filler.next_u64().to_le_bytes()[..chunk.len()]);
            }
            bytes
        } else {
            vec![b'x'; largest]
        };
        Values {
            sizes,
            bytes: bytes.into(),
            random: spec.random_data,
            expiry: spec.expiry_range,
            rng,
        }
    }

    /// The same values for another client, sharing the bytes.
    pub fn with_rng(&self, rng: Rng) -> Values {
        Values {
            rng,
            ..self.clone()
        }
    }

    /// The value that every command carries, where there is one.
    pub fn constant(&self) -> Option<&[u8]> {
        match self.sizes {
            Sizes::Fixed(size) if !self.random => Some(&self.bytes[..size]),
            _ => None,
        }
    }

    /// Size of the next value in bytes, for key `key`.
    pub fn size(&mut self, key: u64) -> usize {
        match &self.sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Random { min, max } => (min + self.rng.below(max - min + 1)) as usize,
            Sizes::Spread {
                min,
                max,
                key_minimum,
                key_span,
            } => {
                let along = u128::from(key.saturating_sub(*key_minimum).min(*key_span));
                let grown = u128::from(max - min) * along / u128::from(*key_span);
                *min as usize + grown as usize
            }
            Sizes::Weighted { ends, total } => {
                let draw = self.rng.below(*total);
                let index = ends.partition_point(|(end, _)| *end <= draw);
                ends.get(index).map_or(1, |(_, size)| *size)
            }
        }
    }

    /// Appends a value of `size` bytes.
    pub fn value(&mut self, size: usize, out: &mut Vec<u8>) {
        let start = if self.random {
            self.rng.below((self.bytes.len() - size + 1) as u64) as usize
        } else {
            0
        };
        out.extend_from_slice(&self.bytes[start..start + size]);
    }

    /// Seconds until the next value expires; 0 for never.
    pub fn expiry(&mut self) -> u64 {
        self.expiry.map_or(0, |range| {
            u64::from(range.min) + self.rng.below(u64::from(range.max - range.min) + 1)
        })
    }
}

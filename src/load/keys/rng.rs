//! The generator's own source of pseudo-random numbers, so that a fixed workload stays the same
//! whatever version of a library is used.

/// xoshiro256++ 1.0 of Blackman and Vigna, seeded by SplitMix64
/// (<https://prng.di.unimi.it/>, public domain).
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Begins the sequence of `seed`, of which there is one for each `stream`.
    pub fn new(seed: u64, stream: u64) -> Rng {
        let mut mix = seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f);
        Rng {
            state: std::array::from_fn(|_| split_mix(&mut mix)),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform below `bound`, without bias (Lemire 2019, "Fast random integer generation in an
    /// interval"); a bound of 0 stands for 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return self.next_u64();
        }
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference implementation from the state 1, 2, 3, 4.
    #[test]
    fn agrees_with_the_reference() {
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        let expected = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
        ];
        for value in expected {
            assert_eq!(rng.next_u64(), value);
        }
    }

    /// First outputs of the reference SplitMix64 from 1234567.
    #[test]
    fn seeding_agrees_with_the_reference() {
        let mut state = 1234567;
        assert_eq!(split_mix(&mut state), 6457827717110365317);
        assert_eq!(split_mix(&mut state), 3203168211198807973);
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence_and_another_stream_another() {
        let draw = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            (0..8).map(|_| rng.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 0), draw(7, 0));
        assert_ne!(draw(7, 0), draw(7, 1));
        assert_ne!(draw(7, 0), draw(8, 0));
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::new(3, 0);
        for bound in [1, 2, 3, 1000, (1 << 63) + 1, u64::MAX] {
            for _ in 0..1000 {
                assert!(rng.below(bound) < bound);
            }
        }
    }
}

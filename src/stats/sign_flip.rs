//! Sign flips of paired differences: the permutation test of blocks.
//!
//! Where two arms are the same, swapping them within a block changes nothing but the sign of the
//! block's difference, so that every pattern of signs is as likely as the one that was seen. This
//! holds whatever the distribution (Fisher 1935; Pitman 1937).

use super::random::SplitMix64;

/// Patterns of signs over blocks. The first pattern is the one that was seen (all `+`); the first
/// block's sign is `+` in all, since a pattern and its mirror image give the same two-sided answer.
#[derive(Debug, Clone)]
pub struct SignFlips {
    blocks: usize,
    signs: Vec<f64>,
    exact: bool,
}

impl SignFlips {
    /// Enumerates all `2^(blocks-1)` patterns where there are at most `most`; else a random subgroup
    /// of them by `seed`, of the largest power of two that is at most `most`.
    ///
    /// A subgroup is what makes a test by some of the patterns exact, as by all: applying any of
    /// its patterns to the data leaves the set of patterns as it is (Hemerik & Goeman 2018). A set
    /// that is drawn freely is exact only on average over draws.
    pub fn new(blocks: usize, most: usize, seed: u64) -> Self {
        let free = blocks.saturating_sub(1);
        let most_dimensions = most.max(2).ilog2() as usize;
        let exact = free <= most_dimensions;
        let generators = match exact {
            true => (0..free).map(|g| only(g + 1, blocks)).collect(),
            false => generators(blocks, most_dimensions, &mut SplitMix64::new(seed)),
        };
        let mut signs = vec![1.0; blocks];
        for pattern in 1..1usize << generators.len() {
            // The pattern without its last bit, times that bit's generator.
            let before = (pattern & (pattern - 1)) * blocks;
            let generator: &Vec<f64> = &generators[pattern.trailing_zeros() as usize];
            for (block, sign) in generator.iter().enumerate() {
                signs.push(signs[before + block] * sign);
            }
        }
        Self {
            blocks,
            signs,
            exact,
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Number of patterns, the one that was seen included.
    pub fn len(&self) -> usize {
        self.signs.len().checked_div(self.blocks).unwrap_or(0)
    }

    /// Whether there are no patterns, as there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all patterns are there.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The patterns: ±1 by block.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.signs.chunks_exact(self.blocks.max(1))
    }
}

/// The pattern in which one block alone is flipped.
fn only(flipped: usize, blocks: usize) -> Vec<f64> {
    (0..blocks)
        .map(|block| if block == flipped { -1.0 } else { 1.0 })
        .collect()
}

/// Independent patterns, as many as `dimensions`, the first block's sign `+` in all: each flips a
/// block that no other flips, and half of those that are no such block.
fn generators(blocks: usize, dimensions: usize, random: &mut SplitMix64) -> Vec<Vec<f64>> {
    let mut order: Vec<usize> = (1..blocks).collect();
    for last in (1..order.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        order.swap(last, other);
    }
    let (own, shared) = order.split_at(dimensions.min(order.len()));
    own.iter()
        .map(|&block| {
            let mut pattern = only(block, blocks);
            for &other in shared {
                if random.next_u64() & 1 == 1 {
                    pattern[other] = -1.0;
                }
            }
            pattern
        })
        .collect()
}

/// Two-sided p of the mean of paired differences: the part of the sign patterns whose mean is at
/// least as far from 0 as the one that was seen. All `2^n` patterns up to 20 blocks, `2^16` random
/// ones by `seed` beyond. 1 without differences.
pub fn sign_flip_p(differences: &[f64], seed: u64) -> f64 {
    let n = differences.len();
    if n == 0 {
        return 1.0;
    }
    let seen = differences.iter().sum::<f64>();
    let scale: f64 = differences.iter().map(|d| d.abs()).sum();
    // Sums of the same numbers in another order differ by rounding.
    let least = seen.abs() - 1e-12 * scale;
    if n <= 20 {
        // A Gray code changes one sign at a time.
        let patterns = 1u64 << (n - 1);
        let mut sum = seen;
        let mut signs = vec![1.0; n];
        let mut count = 1u64;
        for k in 1..patterns {
            let block = k.trailing_zeros() as usize;
            signs[block] = -signs[block];
            sum += 2.0 * signs[block] * differences[block];
            count += u64::from(sum.abs() >= least);
        }
        return count as f64 / patterns as f64;
    }
    let mut random = SplitMix64::new(seed);
    let patterns = 1u64 << 16;
    let mut count = 1u64;
    for _ in 1..patterns {
        let mut sum = 0.0;
        for chunk in differences.chunks(64) {
            let bits = random.next_u64();
            for (i, d) in chunk.iter().enumerate() {
                sum += if bits >> i & 1 == 1 { -d } else { *d };
            }
        }
        count += u64::from(sum.abs() >= least);
    }
    count as f64 / patterns as f64
}

/// Smallest number of blocks whose sign-flip test can reach `alpha`: `2 / 2^n ≤ alpha`.
pub fn blocks_to_reach(alpha: f64) -> u32 {
    (1..64)
        .find(|&n| 2.0 / 2f64.powi(n as i32) <= alpha * (1.0 + 1e-12))
        .unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_two_over_two_to_the_n() {
        for n in 1..=20u32 {
            let differences: Vec<f64> = (0..n).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
            assert_eq!(sign_flip_p(&differences, 1), 2.0 / 2f64.powi(n as i32));
        }
    }

    #[test]
    fn darwin_s_maize() {
        // Fisher (1935), The Design of Experiments, section 21: of 2^15 sign patterns, 1726 give a
        // sum of differences at least as far from 0 as Darwin's 314 eighths of an inch.
        let eighths = [
            49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0,
            -48.0,
        ];
        assert_eq!(eighths.iter().sum::<f64>(), 314.0);
        assert_eq!(sign_flip_p(&eighths, 1), 1726.0 / 32768.0);
        let mut longer = eighths.to_vec();
        longer.extend([0.0; 9]);
        let drawn = sign_flip_p(&longer, 7);
        assert!((drawn - 1726.0 / 32768.0).abs() < 0.004, "{drawn}");
    }

    #[test]
    fn patterns_are_distinct_and_begin_with_what_was_seen() {
        let flips = SignFlips::new(6, 4096, 1);
        assert!(flips.is_exact());
        assert_eq!(flips.len(), 32);
        let bits = |p: &[f64]| p.iter().map(|s| *s as i8).collect::<Vec<i8>>();
        let distinct: std::collections::BTreeSet<Vec<i8>> = flips.iter().map(bits).collect();
        assert_eq!(distinct.len(), 32);
        assert!(flips.iter().all(|p| p[0] == 1.0));
        let drawn = SignFlips::new(100, 500, 1);
        assert!(!drawn.is_exact());
        assert_eq!(drawn.len(), 256);
        let set: std::collections::BTreeSet<Vec<i8>> = drawn.iter().map(bits).collect();
        assert_eq!(set.len(), 256);
        // A group: the product of any two is there.
        for one in set.iter().step_by(17) {
            for other in &set {
                let product: Vec<i8> = one.iter().zip(other).map(|(a, b)| a * b).collect();
                assert!(set.contains(&product));
            }
        }
        assert!(set.iter().all(|pattern| pattern[0] == 1));
        assert!(drawn.iter().next().unwrap().iter().all(|s| *s == 1.0));
        assert!(SignFlips::new(0, 10, 1).is_empty());
    }

    #[test]
    fn six_blocks_for_five_per_cent() {
        assert_eq!(blocks_to_reach(0.05), 6);
        assert_eq!(blocks_to_reach(0.03125), 6);
        assert_eq!(blocks_to_reach(0.01), 8);
    }

    #[test]
    fn nothing_and_all_zero_are_no_evidence() {
        assert_eq!(sign_flip_p(&[], 1), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 8], 1), 1.0);
    }
}

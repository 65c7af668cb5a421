//! The order of trials: blocks one after the other, the arms of a block in random order.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// A trial to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Block, from 0.
    pub block: u32,
    /// Arm, from 0.
    pub arm: usize,
    /// Place within the block, from 0.
    pub place: usize,
}

/// The slots of a range of blocks, in the order in which they are to be run.
///
/// A block's order depends on the seed and the block alone, so that an experiment that goes on
/// later, or is made longer, goes on as it would have gone.
pub fn slots(blocks: std::ops::Range<u32>, arms: usize, seed: u64) -> Vec<Slot> {
    blocks
        .flat_map(|block| {
            let mut order: Vec<usize> = (0..arms).collect();
            order.shuffle(&mut block_rng(seed, block));
            order
                .into_iter()
                .enumerate()
                .map(move |(place, arm)| Slot { block, arm, place })
        })
        .collect()
}

fn block_rng(seed: u64, block: u32) -> StdRng {
    let mut bytes = [0u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..12].copy_from_slice(&block.to_le_bytes());
    StdRng::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_is_in_every_block_once() {
        let slots = slots(0..20, 3, 7);
        for block in 0..20 {
            let mut arms: Vec<usize> = slots
                .iter()
                .filter(|slot| slot.block == block)
                .map(|slot| slot.arm)
                .collect();
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 2]);
        }
    }

    #[test]
    fn both_orders_occur_and_the_seed_decides() {
        let first = |seed| -> Vec<usize> {
            slots(0..64, 2, seed)
                .iter()
                .filter(|slot| slot.place == 0)
                .map(|slot| slot.arm)
                .collect()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        let heads = first(1).iter().filter(|&&arm| arm == 1).count();
        // 64 fair flips leave 16..=48 with a chance below 1e-4; the seed is fixed.
        assert!((16..=48).contains(&heads), "{heads}");
    }

    #[test]
    fn more_blocks_do_not_change_the_first_ones() {
        assert_eq!(slots(0..4, 2, 9), slots(0..8, 2, 9)[..8]);
    }
}

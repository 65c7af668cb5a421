//! Blocks: the trials of base and head that ran next to each other.

use std::collections::BTreeMap;

use super::model::TrialMeasurement;

/// The trials of one block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Trial of the base arm.
    pub base: &'a TrialMeasurement,
    /// Trial of the head arm.
    pub head: &'a TrialMeasurement,
}

/// Blocks with both arms, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub struct Blocks<'a> {
    /// The blocks.
    pub blocks: Vec<Block<'a>>,
    /// Trials that have no partner, or a later trial in their place.
    pub unpaired: usize,
}

impl<'a> Blocks<'a> {
    /// Pairs trials by block. Of several trials of an arm in a block the last counts: a trial is
    /// repeated because it was disturbed.
    pub fn pair(base: &'a [TrialMeasurement], head: &'a [TrialMeasurement]) -> Self {
        let by_block = |trials: &'a [TrialMeasurement]| -> BTreeMap<u32, &'a TrialMeasurement> {
            trials.iter().map(|trial| (trial.block, trial)).collect()
        };
        let (bases, heads) = (by_block(base), by_block(head));
        let blocks: Vec<Block<'a>> = bases
            .iter()
            .filter_map(|(number, &base)| heads.get(number).map(|&head| Block { base, head }))
            .collect();
        let unpaired = base.len() + head.len() - 2 * blocks.len();
        Self { blocks, unpaired }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(block: u32, ops: f64) -> TrialMeasurement {
        TrialMeasurement {
            block,
            profiled_ops: ops,
            profiled_cpu_ns: 1.0,
            metrics: BTreeMap::new(),
            functions: None,
        }
    }

    #[test]
    fn the_last_trial_of_a_block_counts_and_the_rest_is_unpaired() {
        let base = [trial(2, 1.0), trial(0, 2.0), trial(2, 3.0)];
        let head = [trial(0, 4.0), trial(1, 5.0), trial(2, 6.0)];
        let paired = Blocks::pair(&base, &head);
        let ops: Vec<(f64, f64)> = paired
            .blocks
            .iter()
            .map(|b| (b.base.profiled_ops, b.head.profiled_ops))
            .collect();
        assert_eq!(ops, [(2.0, 4.0), (3.0, 6.0)]);
        assert_eq!(paired.unpaired, 2);
    }
}

//! Looks at growing data that are declared before the first.

/// One look: when, and at which level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Number of blocks.
    pub blocks: u32,
    /// Level of this look.
    pub alpha: f64,
}

/// Declared looks whose levels add up to `alpha`: a union bound, so that the chance of a false
/// flag at any look stays within `alpha` whatever ties the looks to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    looks: Vec<Look>,
}

/// Parts of `alpha` that three looks spend: later looks have more data, and get more.
const SPENT: [f64; 3] = [0.2, 0.3, 0.5];

impl Looks {
    /// Three looks, each at twice the blocks of the one before, the last at `most`; fewer where an
    /// early one could not flag anything at its level, and then its part goes to the next. At
    /// `alpha` 0.05 and 32 blocks: 8 at 0.01, 16 at 0.015, 32 at 0.025.
    pub fn declare(alpha: f64, most: u32) -> Self {
        let mut looks = Vec::new();
        let mut saved = 0.0;
        for (i, part) in SPENT.iter().enumerate() {
            let blocks = most >> (SPENT.len() - 1 - i);
            let level = saved + alpha * part;
            let last = i + 1 == SPENT.len();
            if last || super::blocks_to_reach(level) <= blocks {
                looks.push(Look {
                    blocks,
                    alpha: level,
                });
                saved = 0.0;
            } else {
                saved = level;
            }
        }
        Self { looks }
    }

    /// One look, at these blocks, with all of `alpha`.
    pub fn once(alpha: f64, blocks: u32) -> Self {
        Self {
            looks: vec![Look { blocks, alpha }],
        }
    }

    /// The looks in order.
    pub fn all(&self) -> &[Look] {
        &self.looks
    }

    /// The look that is due at exactly this many blocks.
    pub fn at(&self, blocks: u32) -> Option<Look> {
        self.looks.iter().copied().find(|l| l.blocks == blocks)
    }

    /// The first look after this many blocks.
    pub fn after(&self, blocks: u32) -> Option<Look> {
        self.looks.iter().copied().find(|l| l.blocks > blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(alpha: f64, most: u32) -> Vec<(u32, f64)> {
        let looks = Looks::declare(alpha, most);
        looks
            .all()
            .iter()
            .map(|l| (l.blocks, (l.alpha * 1e6).round() / 1e6))
            .collect()
    }

    #[test]
    fn levels_add_up() {
        assert_eq!(declared(0.05, 32), [(8, 0.01), (16, 0.015), (32, 0.025)]);
        // Four blocks can not reach 0.01, nor eight 0.001.
        assert_eq!(declared(0.05, 16), [(8, 0.025), (16, 0.025)]);
        assert_eq!(declared(0.005, 32), [(16, 0.0025), (32, 0.0025)]);
        assert_eq!(declared(0.05, 3), [(3, 0.05)]);
        for most in 1..100 {
            for alpha in [0.2, 0.05, 0.001] {
                let looks = Looks::declare(alpha, most);
                let sum: f64 = looks.all().iter().map(|l| l.alpha).sum();
                assert!((sum - alpha).abs() < 1e-12, "{most} {alpha}");
                assert!(looks.all().windows(2).all(|w| w[0].blocks < w[1].blocks));
                assert_eq!(looks.all().last().map(|l| l.blocks), Some(most));
            }
        }
    }

    #[test]
    fn a_look_is_found_by_its_blocks() {
        let looks = Looks::declare(0.05, 32);
        assert_eq!(looks.at(16).map(|l| l.blocks), Some(16));
        assert_eq!(looks.at(10), None);
        assert_eq!(looks.after(8).map(|l| l.blocks), Some(16));
        assert_eq!(looks.after(32), None);
        assert_eq!(Looks::once(0.05, 10).at(10).map(|l| l.alpha), Some(0.05));
    }
}

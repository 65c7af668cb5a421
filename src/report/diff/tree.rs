//! Both sides' stacks as one tree of frames.

use super::builder::Builder;
use super::stacks::{Lines, SortedStacks, in_order};

use crate::profile::format::folded::FoldedLine;

/// One side of the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What was before.
    Base,
    /// What is after.
    Head,
}

/// The stacks of one recording.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// Its side.
    pub side: Side,
    /// Its stacks, in any order.
    pub lines: Vec<FoldedLine<'a>>,
}

/// A function as frames name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// Canonical name.
    pub name: String,
    /// Whether it is the kernel's.
    pub kernel: bool,
}

/// Samples of one function in each run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionRuns {
    /// Samples in the function itself, by run.
    pub own: Vec<u64>,
    /// Samples in it and all that it calls, by run; recursion counts once.
    pub inclusive: Vec<u64>,
}

/// A frame of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameNode {
    /// Callers between it and the root, which has depth 0 and stands for everything.
    pub depth: u32,
    /// Index into [`DiffTree::functions`]; without meaning for the root.
    pub function: u32,
    /// Samples of the base side in the frame and all above it.
    pub base: u64,
    /// Samples of the head side in the frame and all above it.
    pub head: u64,
    /// Samples of the base side in the frame itself.
    pub base_self: u64,
    /// Samples of the head side in the frame itself.
    pub head_self: u64,
}

/// Both sides' stacks as one tree.
#[derive(Debug, Clone)]
pub struct DiffTree {
    /// Functions in the order in which they were met.
    pub functions: Vec<Function>,
    /// Samples of each function, by run.
    pub tallies: Vec<FunctionRuns>,
    /// Side of each run.
    pub sides: Vec<Side>,
    /// All samples of each run.
    pub totals: Vec<u64>,
    /// Frames in pre-order, the root first, siblings by name.
    pub frames: Vec<FrameNode>,
    /// Frames that were deeper than is drawn.
    pub too_deep: u64,
}

impl DiffTree {
    /// Builds the tree. A frame whose share is below `min_share` (0 to 1) on both sides is left
    /// out; the samples of its functions are tallied all the same.
    pub fn build(runs: Vec<Run<'_>>, min_share: f64) -> DiffTree {
        let sources = runs
            .into_iter()
            .map(|run| Source {
                side: run.side,
                total: run.lines.iter().map(|line| line.count).sum(),
                stacks: Lines::new(run.lines),
            })
            .collect();
        match Self::build_from(sources, min_share) {
            Ok(tree) => tree,
            Err(impossible) => match impossible {},
        }
    }

    /// Builds the tree from stacks that come ordered by bytes, one at a time, so that they need not
    /// all be in memory. Fails where reading them fails.
    pub fn build_from<S: SortedStacks>(
        sources: Vec<Source<S>>,
        min_share: f64,
    ) -> Result<DiffTree, S::Error> {
        let sides: Vec<Side> = sources.iter().map(|source| source.side).collect();
        let totals: Vec<u64> = sources.iter().map(|source| source.total).collect();
        let mut builder = Builder::new(&sides, &totals, min_share);
        let mut stacks: Vec<S> = sources.into_iter().map(|source| source.stacks).collect();
        in_order(&mut stacks, |run, stack, count| {
            builder.add(run, stack, count);
        })?;
        Ok(builder.finish(sides, totals))
    }

    /// All samples of a side.
    pub fn total(&self, side: Side) -> u64 {
        let of_side = self.sides.iter().zip(&self.totals);
        of_side
            .filter(|&(&s, _)| s == side)
            .fold(0, |sum, (_, &total)| sum.saturating_add(total))
    }
}

/// The stacks of one recording, ordered by bytes.
#[derive(Debug)]
pub struct Source<S> {
    /// Its side.
    pub side: Side,
    /// All its samples.
    pub total: u64,
    /// Its stacks.
    pub stacks: S,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::format::folded::{Column, parse};
    use crate::report::diff::MAX_DEPTH;

    fn tree(base: &str, head: &str, min_share: f64) -> DiffTree {
        let run = |side, text: &'static str| Run {
            side,
            lines: parse(text.as_bytes(), Column::Head).unwrap(),
        };
        // Tests may leak their few bytes.
        let base: &'static str = base.to_string().leak();
        let head: &'static str = head.to_string().leak();
        DiffTree::build(
            vec![run(Side::Base, base), run(Side::Head, head)],
            min_share,
        )
    }

    fn show(tree: &DiffTree) -> Vec<String> {
        tree.frames
            .iter()
            .map(|f| {
                let name = match f.depth {
                    0 => "all",
                    _ => &tree.functions[f.function as usize].name,
                };
                let pad = " ".repeat(f.depth as usize);
                format!(
                    "{pad}{name} {} {} self {} {}",
                    f.base, f.head, f.base_self, f.head_self
                )
            })
            .collect()
    }

    #[test]
    fn both_sides_in_one_tree() {
        let tree = tree(
            "a;b;c 3\na;b 2\na.x;b 1\nd 4\n",
            "a;b;c 5\na;gone? 1\na;b;c;a 2\n",
            0.0,
        );
        assert_eq!(
            show(&tree),
            [
                "all 10 8 self 0 0",
                " a 5 8 self 0 0",
                "  b 5 7 self 2 0",
                "   c 3 7 self 3 5",
                "    a 0 2 self 0 2",
                "  gone? 0 1 self 0 1",
                " a.x 1 0 self 0 0",
                "  b 1 0 self 1 0",
                " d 4 0 self 4 0",
            ]
        );
        let a = tree.functions.iter().position(|f| f.name == "a").unwrap();
        // Recursion counts once.
        assert_eq!(tree.tallies[a].inclusive, [5, 8]);
        assert_eq!(tree.tallies[a].own, [0, 2]);
    }

    /// By bytes, `f` and `f;g` stand apart when there is an `f2`.
    #[test]
    fn a_frame_that_is_met_twice_is_one() {
        let tree = tree("f 1\nf2;g 2\nf;g 3\nf;g2;h 4\n", "f 5\nf-x 6\nf;g 7\n", 0.2);
        assert_eq!(
            show(&tree),
            [
                "all 10 18 self 0 0",
                " f 8 12 self 1 5",
                "  g 3 7 self 3 7",
                "  g2 4 0 self 0 0",
                "   h 4 0 self 4 0",
                " f-x 0 6 self 0 6",
                " f2 2 0 self 0 0",
                "  g 2 0 self 2 0",
            ]
        );
    }

    #[test]
    fn spellings_merge_with_all_above_them() {
        let tree = tree(
            "m;f;g;h 1\nm;f.part.0;g;h 2\nm;f.cold 4\nm;f(int);g.isra.1;h 8\n",
            "",
            0.0,
        );
        assert_eq!(
            show(&tree),
            [
                "all 15 0 self 0 0",
                " m 15 0 self 0 0",
                "  f 15 0 self 4 0",
                "   g 11 0 self 0 0",
                "    h 11 0 self 11 0",
            ]
        );
    }

    #[test]
    fn what_is_narrow_on_both_sides_is_left_out_but_tallied() {
        let tree = tree("a;x 1\na;y 99\n", "a;x 1\na;y 98\na;z 1\n", 0.05);
        assert_eq!(
            show(&tree),
            [
                "all 100 100 self 0 0",
                " a 100 100 self 0 0",
                "  y 99 98 self 99 98",
            ]
        );
        let x = tree.functions.iter().position(|f| f.name == "x").unwrap();
        assert_eq!(tree.tallies[x].inclusive, [1, 1]);
    }

    #[test]
    fn depth_and_emptiness_are_no_matter() {
        let deep = format!("{} 1\n", vec!["f"; 200_000].join(";"));
        let tree = tree(&deep, "", 0.0);
        assert_eq!(tree.frames.len(), MAX_DEPTH + 1);
        assert_eq!(tree.too_deep, 198_500);
        assert_eq!(tree.tallies[0].inclusive, [1, 0]);
        assert_eq!(super::DiffTree::build(vec![], 0.1).frames.len(), 1);
    }

    /// Against the plain way: every stack counted into every one of its prefixes.
    #[test]
    fn agrees_with_counting_prefixes() {
        use std::collections::BTreeMap;
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut texts = [String::new(), String::new()];
        let mut expected: BTreeMap<Vec<String>, [u64; 2]> = BTreeMap::new();
        for _ in 0..500 {
            let side = next(2) as usize;
            let stack: Vec<String> = (0..=next(5)).map(|_| format!("f{}", next(4))).collect();
            let count = 1 + next(9);
            texts[side] += &format!("{} {count}\n", stack.join(";"));
            for length in 1..=stack.len() {
                expected.entry(stack[..length].to_vec()).or_default()[side] += count;
            }
        }
        let tree = tree(&texts[0], &texts[1], 0.0);
        let mut path: Vec<String> = Vec::new();
        let mut found = BTreeMap::new();
        for frame in &tree.frames[1..] {
            path.truncate(frame.depth as usize - 1);
            path.push(tree.functions[frame.function as usize].name.clone());
            found.insert(path.clone(), [frame.base, frame.head]);
        }
        assert_eq!(found, expected);
    }
}

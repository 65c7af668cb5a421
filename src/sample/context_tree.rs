//! Distinct stacks with their counts, as a tree that grows from the thread's start.

use std::collections::HashMap;

use super::fast_hash::FastHash;

/// Nodes that a tree may have: about 64 bytes each.
const MOST_NODES: usize = 500_000;
const NO_PARENT: u32 = u32::MAX;

/// Counted stacks. A node is a frame below its caller; the top of a tree is a thread's name and
/// whether the stack was whole.
#[derive(Debug)]
pub struct ContextTree {
    nodes: Vec<Node>,
    index: HashMap<(u32, u32), u32, FastHash>,
    most_nodes: usize,
    folded_away: u64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    /// A frame's index; at the top `thread << 1 | truncated`.
    frame: u32,
    count: u64,
    weight: u64,
}

/// A stack as it was added, with its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedStack {
    /// Index of the thread's name.
    pub thread: u32,
    /// Whether it ended before the thread's start.
    pub truncated: bool,
    /// Frames, innermost first.
    pub frames: Vec<u32>,
    /// Number of samples.
    pub count: u64,
    /// Sum of periods.
    pub weight: u64,
}

impl Default for ContextTree {
    fn default() -> Self {
        Self::with_limit(MOST_NODES)
    }
}

impl ContextTree {
    /// Makes an empty tree that stops to grow at a number of nodes.
    pub fn with_limit(most_nodes: usize) -> Self {
        Self {
            nodes: Vec::new(),
            index: HashMap::default(),
            most_nodes,
            folded_away: 0,
        }
    }

    /// Counts a sample; frames innermost first. Where the tree is full, a stack that is not in it
    /// keeps its innermost frame only.
    pub fn add(&mut self, thread: u32, truncated: bool, frames: &[u32], weight: u64) {
        let full = self.nodes.len() >= self.most_nodes;
        let at = match self.descend(thread, truncated, frames.iter().rev(), !full) {
            Some(at) => at,
            None => {
                self.folded_away += 1;
                let innermost = frames.first().into_iter();
                match self.descend(thread, true, innermost, true) {
                    Some(at) => at,
                    None => return,
                }
            }
        };
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.count += 1;
            node.weight = node.weight.saturating_add(weight);
        }
    }

    fn descend<'a>(
        &mut self,
        thread: u32,
        truncated: bool,
        outermost_first: impl Iterator<Item = &'a u32>,
        grow: bool,
    ) -> Option<u32> {
        let top = thread << 1 | u32::from(truncated);
        let mut at = self.child(NO_PARENT, top, grow)?;
        for frame in outermost_first {
            at = self.child(at, *frame, grow)?;
        }
        Some(at)
    }

    fn child(&mut self, parent: u32, frame: u32, grow: bool) -> Option<u32> {
        if let Some(at) = self.index.get(&(parent, frame)) {
            return Some(*at);
        }
        let at = u32::try_from(self.nodes.len()).ok()?;
        if !grow || at == NO_PARENT {
            return None;
        }
        self.nodes.push(Node {
            parent,
            frame,
            count: 0,
            weight: 0,
        });
        self.index.insert((parent, frame), at);
        Some(at)
    }

    /// Samples whose stack was cut to the innermost frame because the tree was full.
    pub fn folded_away(&self) -> u64 {
        self.folded_away
    }

    /// Number of nodes.
    #[cfg(test)]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns every stack that was counted.
    pub fn stacks(&self) -> impl Iterator<Item = CountedStack> + '_ {
        self.nodes.iter().filter(|node| node.count > 0).map(|leaf| {
            let mut frames = Vec::new();
            let mut node = leaf;
            while let Some(parent) = self.nodes.get(node.parent as usize) {
                frames.push(node.frame);
                node = parent;
            }
            CountedStack {
                thread: node.frame >> 1,
                truncated: node.frame & 1 == 1,
                frames,
                count: leaf.count,
                weight: leaf.weight,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(tree: &ContextTree) -> Vec<(u32, bool, Vec<u32>, u64, u64)> {
        let mut all: Vec<_> = tree
            .stacks()
            .map(|s| (s.thread, s.truncated, s.frames, s.count, s.weight))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn stacks_come_out_as_they_went_in() {
        let mut tree = ContextTree::default();
        tree.add(0, false, &[3, 2, 1], 10);
        tree.add(0, false, &[3, 2, 1], 5);
        tree.add(0, false, &[2, 1], 1);
        tree.add(0, true, &[2, 1], 1);
        tree.add(1, false, &[], 7);
        assert_eq!(
            counts(&tree),
            [
                (0, false, vec![2, 1], 1, 1),
                (0, false, vec![3, 2, 1], 2, 15),
                (0, true, vec![2, 1], 1, 1),
                (1, false, vec![], 1, 7),
            ]
        );
    }

    #[test]
    fn a_full_tree_keeps_the_innermost_frame() {
        let mut tree = ContextTree::with_limit(3);
        tree.add(0, false, &[2, 1], 1);
        tree.add(0, false, &[9, 8, 7], 1);
        tree.add(0, false, &[9, 6], 1);
        tree.add(0, false, &[2, 1], 1);
        assert_eq!(
            counts(&tree),
            [(0, false, vec![2, 1], 2, 2), (0, true, vec![9], 2, 2),]
        );
        assert_eq!(tree.folded_away(), 2);
    }
}

//! Grows the tree in one pass over stacks that are ordered by bytes.
//!
//! Only frames that are wide enough to be drawn are kept, which bounds memory by the picture and
//! not by the number of stacks.

use super::intern::Interner;
use super::siblings::{Frames, ROOT};
use super::stacks::common_prefix;
use super::tree::{DiffTree, FrameNode, FunctionRuns, Side};

/// Deepest frame that is kept: beyond it a picture is higher than browsers draw.
pub const MAX_DEPTH: usize = 1_500;

/// A frame that the present stack has.
struct Open {
    node: u32,
    /// Where the frame ends in the stack's text.
    end: usize,
    /// Whether no frame below it is of the same function.
    outermost: bool,
}

pub(super) struct Builder {
    names: Interner,
    tallies: Vec<FunctionRuns>,
    /// How often each function is open.
    open_functions: Vec<u32>,
    frames: Frames,
    open: Vec<Open>,
    /// Samples of each open frame by run: one row a frame, the root's first.
    samples: Vec<u64>,
    previous: Vec<u8>,
    /// Place of each run's side in pairs: base 0, head 1.
    side_of: Vec<usize>,
}

impl Builder {
    /// Begins with runs of these sides and samples; see [`DiffTree::build`] for `min_share`.
    pub(super) fn new(sides: &[Side], totals: &[u64], min_share: f64) -> Self {
        let least = [Side::Base, Side::Head].map(|side| {
            let total: f64 = sides
                .iter()
                .zip(totals)
                .filter(|&(&s, _)| s == side)
                .map(|(_, &total)| total as f64)
                .sum();
            // An empty side holds nothing wide enough.
            if total > 0.0 { total * min_share } else { 1.0 }
        });
        Self {
            names: Interner::new(),
            tallies: Vec::new(),
            open_functions: Vec::new(),
            frames: Frames::new(least, MAX_DEPTH),
            open: Vec::new(),
            samples: vec![0; sides.len()],
            previous: Vec::new(),
            side_of: sides
                .iter()
                .map(|&side| usize::from(side == Side::Head))
                .collect(),
        }
    }

    /// Adds a run's next stack.
    pub(super) fn add(&mut self, run: usize, stack: &[u8], count: u64) {
        let common = common_prefix(&self.previous, stack);
        while let Some(top) = self.open.last() {
            let shared = top.end <= common && matches!(stack.get(top.end), None | Some(b';'));
            if shared {
                break;
            }
            self.close();
        }
        let mut at = self.open.last().map_or(0, |top| top.end + 1);
        while at <= stack.len() {
            let rest = stack.get(at..).unwrap_or_default();
            let end = at + memchr::memchr(b';', rest).unwrap_or(rest.len());
            self.open(&stack[at.min(end)..end], end);
            at = end + 1;
        }
        self.previous.truncate(common);
        self.previous.extend_from_slice(&stack[common..]);
        let row = self.open.len() * self.side_of.len();
        self.samples[row + run] += count;
        let top = self.open.last();
        let node = self.frames.get_mut(top.map_or(ROOT, |top| top.node));
        let own = &mut node.own[self.side_of[run]];
        *own = own.saturating_add(count);
        if top.is_some() {
            self.tallies[node.function as usize].own[run] += count;
        }
    }

    fn open(&mut self, text: &[u8], end: usize) {
        let runs = self.side_of.len();
        let function = self.names.intern(text);
        if function as usize == self.tallies.len() {
            self.tallies.push(FunctionRuns {
                own: vec![0; runs],
                inclusive: vec![0; runs],
            });
            self.open_functions.push(0);
        }
        let parent = self.open.last().map_or(ROOT, |top| top.node);
        let node = self.frames.add_child(parent, function);
        let open = &mut self.open_functions[function as usize];
        *open += 1;
        self.open.push(Open {
            node,
            end,
            outermost: *open == 1,
        });
        self.samples.resize(self.samples.len() + runs, 0);
    }

    fn close(&mut self) {
        let Some(top) = self.open.pop() else {
            return;
        };
        let runs = self.side_of.len();
        let row = self.samples.len() - runs;
        let (below, samples) = self.samples.split_at_mut(row);
        let parent_row = &mut below[row - runs..];
        let node = self.frames.get_mut(top.node);
        let function = node.function as usize;
        let tally = &mut self.tallies[function];
        for run in 0..runs {
            parent_row[run] += samples[run];
            if top.outermost {
                tally.inclusive[run] += samples[run];
            }
            let all = &mut node.all[self.side_of[run]];
            *all = all.saturating_add(samples[run]);
        }
        self.open_functions[function] -= 1;
        self.samples.truncate(row);
        let depth = self.open.len() + 1;
        self.frames.settle_children(top.node, depth);
    }

    /// Ends the tree.
    pub(super) fn finish(mut self, sides: Vec<Side>, totals: Vec<u64>) -> DiffTree {
        while !self.open.is_empty() {
            self.close();
        }
        for (run, &samples) in self.samples.iter().enumerate() {
            let all = &mut self.frames.get_mut(ROOT).all[self.side_of[run]];
            *all = all.saturating_add(samples);
        }
        self.frames.settle_children(ROOT, 0);
        let functions = self.names.into_functions();
        let mut frames = Vec::new();
        let mut pending = vec![(ROOT, 0u32)];
        let mut children: Vec<u32> = Vec::new();
        while let Some((number, depth)) = pending.pop() {
            let node = self.frames.get(number);
            let ([base, head], [base_self, head_self]) = (node.all, node.own);
            frames.push(FrameNode {
                depth,
                function: node.function,
                base,
                head,
                base_self,
                head_self,
            });
            children.clear();
            children.extend(self.frames.children(number));
            // Taken from the end, so the last by name goes in first.
            children.sort_unstable_by(|&a, &b| {
                let name = |node: u32| &functions[self.frames.get(node).function as usize];
                name(b).cmp(name(a))
            });
            pending.extend(children.iter().map(|&child| (child, depth + 1)));
        }
        DiffTree {
            functions,
            tallies: self.tallies,
            sides,
            totals,
            frames,
            too_deep: self.frames.too_deep,
        }
    }
}

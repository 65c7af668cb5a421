//! Both sides' stacks as one tree of frames, built in one pass over sorted lines.
//!
//! Sorted, the stacks that share a frame stand together, so that a frame is complete when a stack
//! comes that does not have it. Only frames that are wide enough to be drawn are kept, which
//! bounds memory by the picture and not by the number of stacks.

use std::cmp::Ordering;

use crate::profile::format::folded::FoldedLine;

use super::intern::Interner;

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

/// Deepest frame that is kept: beyond it a picture is higher than browsers draw.
const MAX_DEPTH: usize = 1_500;

impl DiffTree {
    /// Builds the tree. A frame whose share is below `min_share` (0 to 1) on both sides is left
    /// out; the samples of its functions are tallied all the same.
    pub fn build(runs: Vec<Run<'_>>, min_share: f64) -> DiffTree {
        let sides: Vec<Side> = runs.iter().map(|run| run.side).collect();
        let totals: Vec<u64> = runs
            .iter()
            .map(|run| run.lines.iter().map(|line| line.count).sum())
            .collect();
        let mut lines: Vec<RunLine<'_>> =
            Vec::with_capacity(runs.iter().map(|r| r.lines.len()).sum());
        for (number, run) in runs.into_iter().enumerate() {
            lines.extend(run.lines.iter().map(|line| RunLine {
                stack: line.stack,
                count: line.count,
                run: number as u32,
            }));
        }
        // Stable, since it takes what is sorted already (as most files are) as it comes.
        lines.sort_by(|a, b| frame_order(a.stack, b.stack));

        let mut builder = Builder::new(&sides, &totals, min_share);
        for line in &lines {
            builder.add(line);
        }
        drop(lines);
        builder.finish(sides, totals)
    }

    /// All samples of a side.
    pub fn total(&self, side: Side) -> u64 {
        let of_side = self.sides.iter().zip(&self.totals);
        of_side
            .filter(|&(&s, _)| s == side)
            .fold(0, |sum, (_, &total)| sum.saturating_add(total))
    }
}

struct RunLine<'a> {
    stack: &'a [u8],
    count: u64,
    run: u32,
}

/// Orders stacks such that those which share their first frames stand together: by bytes, the
/// end of a frame before everything else.
fn frame_order(a: &[u8], b: &[u8]) -> Ordering {
    let common = common_prefix(a, b);
    let rank = |stack: &[u8]| match stack.get(common) {
        None => 0,
        Some(b';') => 1,
        Some(&byte) => 2 + u16::from(byte),
    };
    rank(a).cmp(&rank(b))
}

/// The number of bytes that two texts share from their beginning.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a8, _) = a.as_chunks::<8>();
    let (b8, _) = b.as_chunks::<8>();
    let mut at = 0;
    for (x, y) in a8.iter().zip(b8) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..]
        .iter()
        .zip(&b[at..])
        .take_while(|(x, y)| x == y)
        .count()
}

/// No frame: end of a list.
const NONE: u32 = u32::MAX;

/// A frame while the tree is built, in lists of siblings.
#[derive(Clone, Copy)]
struct Node {
    function: u32,
    first_child: u32,
    next_sibling: u32,
    base: u64,
    head: u64,
    base_self: u64,
    head_self: u64,
}

/// A frame that the present stack has.
struct Open {
    node: u32,
    /// Where the frame ends in the stack's text.
    end: usize,
    /// Whether no frame below it is of the same function.
    outermost: bool,
}

struct Builder<'a> {
    names: Interner<'a>,
    tallies: Vec<FunctionRuns>,
    /// How often each function is open.
    open_functions: Vec<u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    open: Vec<Open>,
    /// Samples of each open frame by run: one row a frame, the root's first.
    samples: Vec<u64>,
    previous: &'a [u8],
    base_runs: Vec<bool>,
    min_base: f64,
    min_head: f64,
    too_deep: u64,
    scratch: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(sides: &[Side], totals: &[u64], min_share: f64) -> Self {
        let least = |side: Side| {
            let total: f64 = sides
                .iter()
                .zip(totals)
                .filter(|&(&s, _)| s == side)
                .map(|(_, &total)| total as f64)
                .sum();
            // An empty side holds nothing wide enough.
            if total > 0.0 { total * min_share } else { 1.0 }
        };
        let mut builder = Self {
            names: Interner::new(),
            tallies: Vec::new(),
            open_functions: Vec::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            open: Vec::new(),
            samples: vec![0; sides.len()],
            previous: b"",
            base_runs: sides.iter().map(|&side| side == Side::Base).collect(),
            min_base: least(Side::Base),
            min_head: least(Side::Head),
            too_deep: 0,
            scratch: Vec::new(),
        };
        builder.new_node(0);
        builder
    }

    fn new_node(&mut self, function: u32) -> u32 {
        let node = Node {
            function,
            first_child: NONE,
            next_sibling: NONE,
            base: 0,
            head: 0,
            base_self: 0,
            head_self: 0,
        };
        match self.free.pop() {
            Some(number) => {
                self.nodes[number as usize] = node;
                number
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        }
    }

    fn add(&mut self, line: &RunLine<'a>) {
        let stack = line.stack;
        let common = common_prefix(self.previous, stack);
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
        self.previous = stack;
        let row = self.open.len() * self.base_runs.len();
        self.samples[row + line.run as usize] += line.count;
        let top = self.open.last();
        let node = &mut self.nodes[top.map_or(0, |top| top.node) as usize];
        if self.base_runs[line.run as usize] {
            node.base_self += line.count;
        } else {
            node.head_self += line.count;
        }
        if let Some(top) = top {
            let function = self.nodes[top.node as usize].function;
            self.tallies[function as usize].own[line.run as usize] += line.count;
        }
    }

    fn open(&mut self, text: &'a [u8], end: usize) {
        let runs = self.base_runs.len();
        let function = self.names.intern(text);
        if function as usize == self.tallies.len() {
            self.tallies.push(FunctionRuns {
                own: vec![0; runs],
                inclusive: vec![0; runs],
            });
            self.open_functions.push(0);
        }
        let parent = self.open.last().map_or(0, |top| top.node);
        let node = self.new_node(function);
        self.nodes[node as usize].next_sibling = self.nodes[parent as usize].first_child;
        self.nodes[parent as usize].first_child = node;
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
        let runs = self.base_runs.len();
        let row = self.samples.len() - runs;
        let (below, samples) = self.samples.split_at_mut(row);
        let parent_row = &mut below[row - runs..];
        let node = &mut self.nodes[top.node as usize];
        let function = node.function as usize;
        let tally = &mut self.tallies[function];
        for run in 0..runs {
            parent_row[run] += samples[run];
            if top.outermost {
                tally.inclusive[run] += samples[run];
            }
            if self.base_runs[run] {
                node.base += samples[run];
            } else {
                node.head += samples[run];
            }
        }
        self.open_functions[function] -= 1;
        self.samples.truncate(row);
        let depth = self.open.len() + 1;
        self.settle_children(top.node, depth);
    }

    /// Makes siblings of one function one frame, and drops what is too narrow to be drawn.
    fn settle_children(&mut self, node: u32, depth: usize) {
        let mut pending = vec![];
        self.settle_one(node, depth, &mut pending);
        // Merging two siblings brings their children together, which may merge in turn.
        while let Some(node) = pending.pop() {
            self.settle_one(node, depth, &mut pending);
        }
    }

    fn settle_one(&mut self, node: u32, depth: usize, merged: &mut Vec<u32>) {
        let first = self.nodes[node as usize].first_child;
        if first == NONE {
            return;
        }
        let mut children = std::mem::take(&mut self.scratch);
        children.clear();
        let mut at = first;
        while at != NONE {
            children.push(at);
            at = self.nodes[at as usize].next_sibling;
        }
        if children.len() > 1 {
            children.sort_unstable_by_key(|&child| (self.nodes[child as usize].function, child));
            children.dedup_by(|next, kept| {
                let (from, into) = (*next, *kept);
                if self.nodes[from as usize].function != self.nodes[into as usize].function {
                    return false;
                }
                self.absorb(from, into);
                merged.push(into);
                true
            });
        }
        let too_deep = depth >= MAX_DEPTH;
        let mut list = NONE;
        for &child in &children {
            let Node { base, head, .. } = self.nodes[child as usize];
            let wide = base as f64 >= self.min_base || head as f64 >= self.min_head;
            if wide && !too_deep {
                self.nodes[child as usize].next_sibling = list;
                list = child;
            } else {
                self.too_deep += u64::from(wide);
                self.release(child);
                merged.retain(|&kept| kept != child);
            }
        }
        self.nodes[node as usize].first_child = list;
        self.scratch = children;
    }

    /// Adds a frame and its children to another one of the same function.
    fn absorb(&mut self, from: u32, into: u32) {
        let source = self.nodes[from as usize];
        let mut last = source.first_child;
        if last != NONE {
            while self.nodes[last as usize].next_sibling != NONE {
                last = self.nodes[last as usize].next_sibling;
            }
            self.nodes[last as usize].next_sibling = self.nodes[into as usize].first_child;
            self.nodes[into as usize].first_child = source.first_child;
        }
        let target = &mut self.nodes[into as usize];
        target.base += source.base;
        target.head += source.head;
        target.base_self += source.base_self;
        target.head_self += source.head_self;
        self.free.push(from);
    }

    /// Gives a frame and all above it back.
    fn release(&mut self, node: u32) {
        let start = self.free.len();
        self.free.push(node);
        let mut at = start;
        while at < self.free.len() {
            let mut child = self.nodes[self.free[at] as usize].first_child;
            while child != NONE {
                self.free.push(child);
                child = self.nodes[child as usize].next_sibling;
            }
            at += 1;
        }
    }

    fn finish(mut self, sides: Vec<Side>, totals: Vec<u64>) -> DiffTree {
        while !self.open.is_empty() {
            self.close();
        }
        for (run, &samples) in self.samples.iter().enumerate() {
            let root = &mut self.nodes[0];
            if self.base_runs[run] {
                root.base += samples;
            } else {
                root.head += samples;
            }
        }
        self.settle_children(0, 0);
        let functions = self.names.into_functions();
        let mut frames = Vec::new();
        let mut pending = vec![(0u32, 0u32)];
        let mut children = Vec::new();
        while let Some((number, depth)) = pending.pop() {
            let node = self.nodes[number as usize];
            frames.push(FrameNode {
                depth,
                function: node.function,
                base: node.base,
                head: node.head,
                base_self: node.base_self,
                head_self: node.head_self,
            });
            children.clear();
            let mut child = node.first_child;
            while child != NONE {
                children.push(child);
                child = self.nodes[child as usize].next_sibling;
            }
            // Taken from the end, so the last by name goes in first.
            children.sort_unstable_by(|&a, &b| {
                let name = |node: u32| &functions[self.nodes[node as usize].function as usize];
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
            too_deep: self.too_deep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::format::folded::{Column, parse};

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

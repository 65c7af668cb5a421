//! Frames while a tree grows: lists of siblings in one array, whose places are used again.

/// No frame: end of a list.
const NONE: u32 = u32::MAX;

/// The root, which stands for everything.
pub(super) const ROOT: u32 = 0;

/// A frame.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) function: u32,
    first_child: u32,
    next_sibling: u32,
    /// Samples in the frame and all above it: base, head.
    pub(super) all: [u64; 2],
    /// Samples in the frame itself: base, head.
    pub(super) own: [u64; 2],
}

/// All frames.
pub(super) struct Frames {
    nodes: Vec<Node>,
    free: Vec<u32>,
    scratch: Vec<u32>,
    /// Least samples of a frame that is drawn: base, head. A frame is kept that has either.
    least: [f64; 2],
    deepest: usize,
    /// Frames that were wide enough and too deep.
    pub(super) too_deep: u64,
}

impl Frames {
    /// Begins with the root. Frames deeper than `deepest` are not kept.
    pub(super) fn new(least: [f64; 2], deepest: usize) -> Self {
        let mut frames = Self {
            nodes: Vec::new(),
            free: Vec::new(),
            scratch: Vec::new(),
            least,
            deepest,
            too_deep: 0,
        };
        frames.new_node(0);
        frames
    }

    pub(super) fn get(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    pub(super) fn get_mut(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    fn new_node(&mut self, function: u32) -> u32 {
        let node = Node {
            function,
            first_child: NONE,
            next_sibling: NONE,
            all: [0; 2],
            own: [0; 2],
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

    /// Adds a frame of a function above another.
    pub(super) fn add_child(&mut self, parent: u32, function: u32) -> u32 {
        let node = self.new_node(function);
        self.nodes[node as usize].next_sibling = self.nodes[parent as usize].first_child;
        self.nodes[parent as usize].first_child = node;
        node
    }

    /// The frames above a frame.
    pub(super) fn children(&self, node: u32) -> impl Iterator<Item = u32> {
        let next = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(next(self.get(node).first_child), move |&child| {
            next(self.get(child).next_sibling)
        })
    }

    /// Makes siblings of one function one frame, and drops what is too narrow to be drawn.
    pub(super) fn settle_children(&mut self, node: u32, depth: usize) {
        let mut pending = vec![];
        self.settle_one(node, depth, &mut pending);
        // Merging two siblings brings their children together, which may merge in turn.
        while let Some(node) = pending.pop() {
            self.settle_one(node, depth, &mut pending);
        }
    }

    fn settle_one(&mut self, node: u32, depth: usize, merged: &mut Vec<u32>) {
        let mut children = std::mem::take(&mut self.scratch);
        children.clear();
        children.extend(self.children(node));
        if children.is_empty() {
            self.scratch = children;
            return;
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
        let too_deep = depth >= self.deepest;
        let mut list = NONE;
        for &child in &children {
            let all = self.nodes[child as usize].all;
            let wide = (0..2).any(|side| all[side] as f64 >= self.least[side]);
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
        if let Some(last) = self.children(from).last() {
            self.nodes[last as usize].next_sibling = self.nodes[into as usize].first_child;
            self.nodes[into as usize].first_child = source.first_child;
        }
        let target = &mut self.nodes[into as usize];
        for side in 0..2 {
            target.all[side] = target.all[side].saturating_add(source.all[side]);
            target.own[side] = target.own[side].saturating_add(source.own[side]);
        }
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
}

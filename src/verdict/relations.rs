//! Who calls whom, from the stacks of all trials.

use std::collections::{BTreeSet, VecDeque};

use super::costs::Costs;

/// Callers and callees of each function, by index in [`Costs::ids`].
#[derive(Debug, Clone)]
pub struct Relations {
    callers: Vec<Vec<usize>>,
    callees: Vec<Vec<usize>>,
}

impl Relations {
    /// Reads the caller-callee pairs of the costs.
    pub fn new(costs: &Costs<'_>) -> Self {
        let mut callers = vec![Vec::new(); costs.ids.len()];
        let mut callees = vec![Vec::new(); costs.ids.len()];
        for &(caller, callee) in costs.calls.keys() {
            callers[callee].push(caller);
            callees[caller].push(callee);
        }
        Self { callers, callees }
    }

    /// Functions that call it directly.
    pub fn callers(&self, function: usize) -> &[usize] {
        &self.callers[function]
    }

    /// Functions that share a caller with it.
    pub fn siblings(&self, function: usize) -> BTreeSet<usize> {
        let mut siblings: BTreeSet<usize> = self.callers[function]
            .iter()
            .flat_map(|&caller| self.callees[caller].iter().copied())
            .collect();
        siblings.remove(&function);
        siblings
    }

    /// Callers and callees.
    pub fn neighbours(&self, function: usize) -> BTreeSet<usize> {
        self.callers[function]
            .iter()
            .chain(&self.callees[function])
            .copied()
            .collect()
    }

    /// All functions that it calls, directly or through others.
    pub fn descendants(&self, function: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut queue = VecDeque::from([function]);
        while let Some(next) = queue.pop_front() {
            for &callee in &self.callees[next] {
                if callee != function && seen.insert(callee) {
                    queue.push_back(callee);
                }
            }
        }
        seen
    }
}

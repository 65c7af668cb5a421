//! Several recordings as one.

use std::collections::HashMap;
use std::hash::Hash;

use super::canonical::canonical_name;
use super::model::{Accounting, Frame, Module, Profile, Stack};

impl Profile {
    /// Adds recordings of the same event up to one: the same modules, frames and stacks are counted
    /// together. `None` where there is none.
    #[must_use]
    pub fn merged(profiles: impl IntoIterator<Item = Profile>) -> Option<Profile> {
        let mut profiles = profiles.into_iter();
        let first = profiles.next()?;
        let mut merger = Merger::default();
        let mut merged = Profile {
            modules: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            accounting: Accounting::default(),
            duration_ns: 0,
            schema: first.schema.clone(),
            event: first.event.clone(),
        };
        for profile in std::iter::once(first).chain(profiles) {
            merged.duration_ns += profile.duration_ns;
            add_accounting(&mut merged.accounting, &profile.accounting);
            merger.add(&profile);
        }
        merged.modules = merger.modules.items;
        merged.frames = merger.frames.items;
        merged.stacks = merger.stacks;
        Some(merged)
    }
}

impl Profile {
    /// Adds a mark to the names of all threads and functions, `main [MARK]`, so that a recording
    /// stays apart from others that it is merged with. Names are canonical afterwards.
    pub fn mark(&mut self, mark: &str) {
        for symbol in self.frames.iter_mut().flat_map(|frame| &mut frame.symbols) {
            symbol.name = format!("{} [{mark}]", canonical_name(&symbol.name));
        }
        for stack in &mut self.stacks {
            stack.thread = format!("{} [{mark}]", stack.thread);
        }
    }
}

#[derive(Default)]
struct Merger {
    modules: Interned<Module>,
    frames: Interned<Frame>,
    stacks: Vec<Stack>,
    stack_places: HashMap<(String, Vec<u32>, bool), usize>,
}

impl Merger {
    fn add(&mut self, profile: &Profile) {
        let modules: Vec<u32> = profile
            .modules
            .iter()
            .map(|module| self.modules.place(module.clone()))
            .collect();
        let frames: Vec<u32> = profile
            .frames
            .iter()
            .map(|frame| {
                let module = modules
                    .get(frame.module as usize)
                    .copied()
                    .unwrap_or(frame.module);
                self.frames.place(Frame {
                    module,
                    ..frame.clone()
                })
            })
            .collect();
        for stack in &profile.stacks {
            let chain: Vec<u32> = stack
                .frames
                .iter()
                .filter_map(|frame| frames.get(*frame as usize).copied())
                .collect();
            let key = (stack.thread.clone(), chain.clone(), stack.truncated);
            let place = *self.stack_places.entry(key).or_insert_with(|| {
                self.stacks.push(Stack {
                    frames: chain,
                    count: 0,
                    weight: 0,
                    ..stack.clone()
                });
                self.stacks.len() - 1
            });
            self.stacks[place].count += stack.count;
            self.stacks[place].weight += stack.weight;
        }
    }
}

/// Distinct items, each with its place.
struct Interned<T> {
    items: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    fn place(&mut self, item: T) -> u32 {
        *self.places.entry(item).or_insert_with_key(|item| {
            self.items.push(item.clone());
            (self.items.len() - 1) as u32
        })
    }
}

/// Adds one recording's numbers and warnings to others'.
pub(super) fn add_accounting(sum: &mut Accounting, one: &Accounting) {
    sum.samples += one.samples;
    sum.lost += one.lost;
    sum.throttled += one.throttled;
    sum.truncated += one.truncated;
    sum.unsymbolized += one.unsymbolized;
    for (name, module) in &one.modules {
        let of_module = sum.modules.entry(name.clone()).or_default();
        of_module.samples += module.samples;
        of_module.unsymbolized += module.unsymbolized;
        of_module.truncated += module.truncated;
    }
    sum.sampler_cpu_ns += one.sampler_cpu_ns;
    for warning in &one.warnings {
        if !sum.warnings.contains(warning) {
            sum.warnings.push(warning.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::example_profile;
    use super::super::{Profile, folded_lines, merged_folded_lines};

    #[test]
    fn merging_counts_what_folding_both_counts() {
        let mut other = example_profile();
        // Another order of the same things must not matter.
        let last = other.frames.len() as u32 - 1;
        other.frames.reverse();
        for stack in &mut other.stacks {
            stack
                .frames
                .iter_mut()
                .for_each(|frame| *frame = last - *frame);
        }
        let both = [example_profile(), other];
        let expected = merged_folded_lines(&both);
        let merged = Profile::merged(both).unwrap();
        assert_eq!(folded_lines(&merged), expected);
        assert_eq!(merged.frames.len(), example_profile().frames.len());
        assert_eq!(
            merged.accounting.samples,
            2 * example_profile().accounting.samples
        );
    }

    #[test]
    fn nothing_merges_to_nothing() {
        assert_eq!(Profile::merged([]), None);
    }
}

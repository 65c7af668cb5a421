//! The per-function table of a profile.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::canonical::canonical_name;
use super::model::Profile;

/// Name of a frame without a symbol.
pub const UNKNOWN_FUNCTION: &str = "[unknown]";

/// A function as compared across builds: canonical name, and the module's file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionId {
    /// Canonical name; [`UNKNOWN_FUNCTION`] where there is no symbol.
    pub name: String,
    /// File name of the module without its directory; `[kernel]` for the kernel.
    pub module: String,
}

/// Samples of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCounts {
    /// Samples whose innermost function it is.
    pub self_samples: u64,
    /// Samples whose stack holds it, counted once a stack however often it recurs.
    pub inclusive_samples: u64,
}

/// Samples by function of one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionTable {
    /// All samples of the trial.
    pub total_samples: u64,
    /// Counts by function.
    pub rows: BTreeMap<FunctionId, FunctionCounts>,
    /// Samples whose stack holds the caller directly above the callee, by (caller, callee),
    /// counted once a stack; inlined frames are frames. Tells who is related to whom when cost
    /// moves from one function to another.
    pub calls: BTreeMap<(FunctionId, FunctionId), u64>,
    /// Counts by group name: a sample is the group's own if its innermost function is a member,
    /// and inclusive if its stack holds any member, counted once a stack.
    pub groups: BTreeMap<String, FunctionCounts>,
}

/// A named set of functions, such as all of an allocator's.
pub struct FunctionGroup<'a> {
    /// Key in [`FunctionTable::groups`].
    pub name: String,
    /// Whether a function belongs to it.
    pub holds: &'a dyn Fn(&FunctionId) -> bool,
}

impl FunctionTable {
    /// Counts the samples of each function of a symbolized profile. An inlined function is a
    /// function like any other: the code that was inlined counts as its own.
    #[must_use]
    pub fn from_profile(profile: &Profile) -> Self {
        Self::from_profile_grouped(profile, &[])
    }

    /// Does the same, and counts groups of functions beside it.
    #[must_use]
    pub fn from_profile_grouped(profile: &Profile, groups: &[FunctionGroup<'_>]) -> Self {
        let functions = FrameFunctions::of(profile);
        let groups_of: Vec<Vec<usize>> = functions
            .ids
            .iter()
            .map(|id| {
                (0..groups.len())
                    .filter(|g| (groups[*g].holds)(id))
                    .collect()
            })
            .collect();
        let mut by_function = Tally::new(functions.ids.len());
        let mut by_group = Tally::new(groups.len());
        let mut calls: HashMap<(usize, usize), u64> = HashMap::new();
        let mut calls_of_stack = HashSet::new();
        let mut total_samples = 0;
        for (at, stack) in profile.stacks.iter().enumerate() {
            total_samples += stack.count;
            calls_of_stack.clear();
            let mut callee = None;
            let of_stack = stack
                .frames
                .iter()
                .filter_map(|frame| functions.by_frame.get(*frame as usize))
                .flatten();
            for function in of_stack {
                let innermost = callee.is_none();
                by_function.count(*function, at, innermost, stack.count);
                for group in &groups_of[*function] {
                    by_group.count(*group, at, innermost, stack.count);
                }
                if let Some(callee) = callee
                    && calls_of_stack.insert((*function, callee))
                {
                    *calls.entry((*function, callee)).or_default() += stack.count;
                }
                callee = Some(*function);
            }
        }
        Self {
            total_samples,
            calls: calls
                .into_iter()
                .map(|((caller, callee), count)| {
                    let ids = &functions.ids;
                    ((ids[caller].clone(), ids[callee].clone()), count)
                })
                .collect(),
            groups: groups
                .iter()
                .map(|group| group.name.clone())
                .zip(by_group.counts)
                .collect(),
            rows: functions
                .ids
                .into_iter()
                .zip(by_function.counts)
                .filter(|(_, counts)| counts.inclusive_samples > 0)
                .collect(),
        }
    }
}

/// Counts of things that stand in stacks, each once a stack.
struct Tally {
    counts: Vec<FunctionCounts>,
    /// The last stack in which each was met, so that recursion counts once.
    met_in: Vec<usize>,
}

impl Tally {
    fn new(things: usize) -> Self {
        Self {
            counts: vec![FunctionCounts::default(); things],
            met_in: vec![usize::MAX; things],
        }
    }

    fn count(&mut self, thing: usize, stack: usize, innermost: bool, samples: u64) {
        if innermost {
            self.counts[thing].self_samples += samples;
        }
        if self.met_in[thing] != stack {
            self.met_in[thing] = stack;
            self.counts[thing].inclusive_samples += samples;
        }
    }
}

/// Which functions stand at each frame, innermost first.
struct FrameFunctions {
    ids: Vec<FunctionId>,
    by_frame: Vec<Vec<usize>>,
}

impl FrameFunctions {
    fn of(profile: &Profile) -> Self {
        let mut index: HashMap<FunctionId, usize> = HashMap::new();
        let mut ids = Vec::new();
        let mut intern = |id: FunctionId| {
            *index.entry(id).or_insert_with_key(|id| {
                ids.push(id.clone());
                ids.len() - 1
            })
        };
        let by_frame = profile
            .frames
            .iter()
            .map(|frame| {
                let module = profile
                    .modules
                    .get(frame.module as usize)
                    .map_or("[unknown]", |module| module.file_name())
                    .to_owned();
                if frame.symbols.is_empty() {
                    return vec![intern(FunctionId {
                        name: UNKNOWN_FUNCTION.to_owned(),
                        module,
                    })];
                }
                frame
                    .symbols
                    .iter()
                    .map(|symbol| {
                        intern(FunctionId {
                            name: canonical_name(&symbol.name).into_owned(),
                            module: module.clone(),
                        })
                    })
                    .collect()
            })
            .collect();
        Self { ids, by_frame }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::example_profile;
    use super::*;

    #[test]
    fn recursion_counts_once_and_inlined_functions_count() {
        let table = FunctionTable::from_profile(&example_profile());
        assert_eq!(table.total_samples, 10);
        let rows: Vec<(&str, &str, u64, u64)> = table
            .rows
            .iter()
            .map(|(id, c)| {
                (
                    id.name.as_str(),
                    id.module.as_str(),
                    c.self_samples,
                    c.inclusive_samples,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("[unknown]", "[kernel]", 3, 3),
                ("[unknown]", "libc.so.6", 2, 2),
                ("add", "srv", 5, 8),
                ("main", "srv", 0, 8),
                ("read", "[kernel]", 0, 3),
                ("work;er", "srv", 0, 8),
            ]
        );
    }

    #[test]
    fn calls_and_groups_count_once_a_stack() {
        let alphabetical = FunctionGroup {
            name: "a-m".into(),
            holds: &|id: &FunctionId| id.name.as_str() < "n" && !id.name.starts_with('['),
        };
        let table = FunctionTable::from_profile_grouped(&example_profile(), &[alphabetical]);
        let calls: Vec<(&str, &str, u64)> = table
            .calls
            .iter()
            .map(|((caller, callee), n)| (caller.name.as_str(), callee.name.as_str(), *n))
            .collect();
        assert_eq!(
            calls,
            [
                ("add", "read", 3),
                ("main", "work;er", 8),
                ("read", "[unknown]", 3),
                ("work;er", "add", 8),
                ("work;er", "work;er", 3),
            ]
        );
        assert_eq!(
            table.groups["a-m"],
            FunctionCounts {
                self_samples: 5,
                inclusive_samples: 8
            }
        );
    }

    #[test]
    fn indices_out_of_range_are_passed_over() {
        let mut profile = example_profile();
        profile.stacks[0].frames.push(999);
        profile.frames[0].module = 999;
        let table = FunctionTable::from_profile(&profile);
        assert_eq!(table.total_samples, 10);
    }
}

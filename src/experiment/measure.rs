//! From a trial's outcome to what is judged.

use std::collections::BTreeMap;

use crate::profile::{FunctionGroup, FunctionId, FunctionTable, Profile, canonical_name};
use crate::trial::TrialResult;
use crate::verdict::TrialMeasurement;

/// What is judged of one trial. Without a profile, functions are left out.
///
/// `groups` names functions that are judged as one, by the group's name.
pub fn measurement(
    block: u32,
    result: &TrialResult,
    profile: Option<&Profile>,
    groups: &BTreeMap<String, Vec<String>>,
) -> TrialMeasurement {
    let window = result.profiled.as_ref();
    TrialMeasurement {
        block,
        profiled_ops: window.map_or(0.0, |window| window.ops as f64),
        profiled_cpu_ns: window.map_or(0.0, |window| window.usage.cpu_ns() as f64),
        metrics: result.metrics.clone(),
        functions: profile.map(|profile| grouped(profile, groups)),
    }
}

fn grouped(profile: &Profile, groups: &BTreeMap<String, Vec<String>>) -> FunctionTable {
    let holds: Vec<_> = groups
        .values()
        .map(|members| {
            move |id: &FunctionId| {
                members
                    .iter()
                    .any(|member| id.name == *member || id.name == canonical_name(member))
            }
        })
        .collect();
    let groups: Vec<FunctionGroup<'_>> = groups
        .keys()
        .zip(&holds)
        .map(|(name, holds)| FunctionGroup {
            name: name.clone(),
            holds,
        })
        .collect();
    FunctionTable::from_profile_grouped(profile, &groups)
}

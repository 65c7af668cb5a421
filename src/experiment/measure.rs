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

/// The same for all trials of an experiment. Of several profiled phases, each counts as if it had
/// done as many operations in every trial as it did in the mean: a phase of a fixed length is as
/// expensive for a fast server as for a slow one, and only its cost by the operation tells them apart.
pub fn measurements<'a>(
    trials: impl Iterator<Item = (u32, &'a TrialResult, Option<&'a Profile>)> + Clone,
    groups: &BTreeMap<String, Vec<String>>,
    typical: &BTreeMap<String, f64>,
) -> Vec<TrialMeasurement> {
    trials
        .map(|(block, result, profile)| {
            let mut one = measurement(block, result, profile, groups);
            let factors: BTreeMap<String, f64> = result
                .profiled_phases
                .iter()
                .filter_map(|(phase, window)| {
                    let factor = typical.get(phase)? / window.ops.max(1) as f64;
                    Some((format!(" [{phase}]"), factor))
                })
                .collect();
            if !factors.is_empty() {
                rescale(&mut one, &factors, groups);
            }
            one
        })
        .collect()
}

/// Mean operations of each profiled phase, where there are several.
pub fn typical_ops<'a>(results: impl Iterator<Item = &'a TrialResult>) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (phase, window) in results.flat_map(|result| &result.profiled_phases) {
        let sum = sums.entry(phase.clone()).or_default();
        sum.0 += window.ops as f64;
        sum.1 += 1.0;
    }
    sums.into_iter()
        .map(|(phase, (ops, trials))| (phase, ops / trials))
        .collect()
}

/// Multiplies the samples of marked functions, and the CPU time by as much as all samples together.
fn rescale(
    trial: &mut TrialMeasurement,
    factors: &BTreeMap<String, f64>,
    groups: &BTreeMap<String, Vec<String>>,
) {
    let Some(table) = &mut trial.functions else {
        return;
    };
    let of_name = |name: &str| {
        factors
            .iter()
            .find_map(|(mark, factor)| name.ends_with(mark.as_str()).then_some(*factor))
            .unwrap_or(1.0)
    };
    let factor = |id: &FunctionId| of_name(&id.name);
    let scaled = |samples: u64, factor: f64| (samples as f64 * factor).round() as u64;
    let own = |table: &FunctionTable| -> u64 {
        let rows = table.rows.values();
        rows.map(|counts| counts.self_samples).sum()
    };
    let before = own(table);
    for (id, counts) in &mut table.rows {
        let factor = factor(id);
        counts.self_samples = scaled(counts.self_samples, factor);
        counts.inclusive_samples = scaled(counts.inclusive_samples, factor);
    }
    for ((caller, _), samples) in &mut table.calls {
        *samples = scaled(*samples, factor(caller));
    }
    for (name, counts) in &mut table.groups {
        // A group lies in one phase, or it is counted as it is.
        let mut factors = groups.get(name).into_iter().flatten().map(|f| of_name(f));
        let first = factors.next().unwrap_or(1.0);
        if factors.all(|factor| factor == first) {
            counts.self_samples = scaled(counts.self_samples, first);
            counts.inclusive_samples = scaled(counts.inclusive_samples, first);
        }
    }
    let after = own(table);
    if before > 0 && after > 0 {
        let ratio = after as f64 / before as f64;
        table.total_samples = scaled(table.total_samples, ratio);
        trial.profiled_cpu_ns *= ratio;
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

//! From a trial's outcome to what is judged.

use crate::profile::{FunctionTable, Profile};
use crate::trial::TrialResult;
use crate::verdict::TrialMeasurement;

/// What is judged of one trial. Without a profile, functions are left out.
pub fn measurement(
    block: u32,
    result: &TrialResult,
    profile: Option<&Profile>,
) -> TrialMeasurement {
    let window = result.profiled.as_ref();
    TrialMeasurement {
        block,
        profiled_ops: window.map_or(0.0, |window| window.ops as f64),
        profiled_cpu_ns: window.map_or(0.0, |window| window.usage.cpu_ns() as f64),
        metrics: result.metrics.clone(),
        functions: profile.map(FunctionTable::from_profile),
    }
}

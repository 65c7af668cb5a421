//! The profiles of a trial's phases as one.

use std::collections::BTreeMap;

use crate::plan::Phase;
use crate::profile::Profile;
use crate::sample::Detached;

use super::super::error::TrialError;
use super::super::outcome::WindowResult;
use super::super::profiling::named;
use super::super::usage::UsageDelta;

/// A phase that was sampled.
pub struct SampledPhase<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its length, operations (one where it is not measured by them), and what the server used.
    pub window: WindowResult,
    /// The recording.
    pub recording: Detached,
}

/// What a trial's sampled phases give.
#[derive(Debug, Default)]
pub struct PhaseProfiles {
    /// All profiles together. Of several phases each has its name behind all names of functions.
    pub profile: Option<Profile>,
    /// The window of the only phase, or of all together as one operation.
    pub whole: Option<WindowResult>,
    /// The windows of several phases.
    pub by_phase: BTreeMap<String, WindowResult>,
}

/// Names and merges the profiles, once the server has ended.
pub fn profiles(mut sampled: Vec<SampledPhase<'_>>) -> Result<PhaseProfiles, TrialError> {
    const LENGTHEN: &str = "the phase";
    if sampled.len() < 2 {
        let Some(only) = sampled.pop() else {
            return Ok(PhaseProfiles::default());
        };
        return Ok(PhaseProfiles {
            profile: Some(named(only.recording, LENGTHEN)?),
            whole: Some(only.window),
            by_phase: BTreeMap::new(),
        });
    }
    let mut all = PhaseProfiles::default();
    let mut profiles = Vec::new();
    let mut usage = UsageDelta::default();
    let mut duration_ns = 0;
    for SampledPhase {
        phase,
        window,
        recording,
    } in sampled
    {
        let mut profile = named(recording, LENGTHEN)?;
        profile.mark(&phase.name);
        profiles.push(profile);
        usage.add(&window.usage);
        duration_ns += window.duration_ns;
        all.by_phase.insert(phase.name.clone(), window);
    }
    all.profile = Profile::merged(profiles);
    all.whole = Some(WindowResult {
        duration_ns,
        ops: 1,
        usage,
    });
    Ok(all)
}

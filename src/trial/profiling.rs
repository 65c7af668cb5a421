//! The profile of a stretch of a server's trial: attached before it, named after the server's end.

use crate::plan::SampleSpec;
use crate::profile::Profile;
use crate::sample::{Detached, Recorder, SampleError};

use super::error::{TrialError, refuse_untrusted};
use super::job::{SampledScope, TrialJob};
use super::scope::whole_cpus;

/// Turns an error of the sampler into the trial's.
pub fn sampling(error: SampleError) -> TrialError {
    TrialError::Sampling(error.to_string())
}

/// Attaches to a server's process tree, or to its CPUs where the job says so; no sample counts
/// before the recorder is enabled.
pub fn attach(spec: &SampleSpec, job: &TrialJob, pid: u32) -> Result<Recorder, TrialError> {
    match job.sampled {
        SampledScope::Subject => Recorder::attach(spec, pid),
        SampledScope::SubjectCpus => whole_cpus(spec, job),
    }
    .map_err(sampling)
}

/// Names the functions of a recording, once the server has ended: a run-time compiler may have
/// written its map only then. Such maps are removed: they are large, nobody else asked for them,
/// and a later process of the same number would be named by them.
///
/// `lengthen` names the keys of the plan that make a stretch longer.
pub fn named(recording: Detached, lengthen: &str) -> Result<Profile, TrialError> {
    let processes = recording.jit_processes();
    let profile = recording.profile();
    for pid in processes {
        let _ = std::fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
    if profile.accounting.samples == 0 {
        return Err(TrialError::Sampling(format!(
            "no sample was taken in the whole window: lengthen {lengthen} or raise sampling.frequency-hz"
        )));
    }
    refuse_untrusted(&profile)?;
    Ok(profile)
}

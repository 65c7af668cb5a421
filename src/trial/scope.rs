//! Sampling of the subject's CPUs, whatever runs on them: the kernel's own threads count there.

use crate::plan::{CpuList, SampleSpec};
use crate::sample::{Recorder, SampleError, Target};

use super::disturbance::Disturbance;
use super::error::TrialError;
use super::job::{SampledScope, TrialJob};
use super::usage::UsageDelta;
use super::windows::pin_this_process;

/// Attaches to the subject's CPUs. No sample counts before the recorder is enabled.
pub fn whole_cpus(spec: &SampleSpec, job: &TrialJob) -> Result<Recorder, SampleError> {
    Recorder::attach_to(spec, Target::Everything, Some(job.subject_cpus.clone()))
}

/// Keeps this process off the subject's CPUs where there are others and it would be sampled.
pub fn aside(job: &TrialJob) -> Result<(), TrialError> {
    let all = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let others = all
        .trim()
        .parse::<CpuList>()
        .unwrap_or_default()
        .without(&job.subject_cpus);
    match (job.sampled, others.as_slice()) {
        (SampledScope::Subject, _) | (_, []) => Ok(()),
        (SampledScope::SubjectCpus, others) => pin_this_process(others),
    }
}

/// Time that CPUs were busy since boot, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    user_ns: u64,
    system_ns: u64,
}

/// How busy the subject's CPUs have been.
pub fn busy(job: &TrialJob) -> Busy {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    of_cpus(&text, &job.subject_cpus, tick_ns)
}

fn of_cpus(stat: &str, cpus: &CpuList, tick_ns: u64) -> Busy {
    let mut busy = Busy::default();
    for cpu in cpus.as_slice() {
        let name = format!("cpu{cpu}");
        let line = stat
            .lines()
            .find(|line| line.split_ascii_whitespace().next() == Some(name.as_str()));
        // user, nice, system, idle, iowait, irq, softirq
        let ticks: Vec<u64> = line
            .into_iter()
            .flat_map(|line| line.split_ascii_whitespace().skip(1))
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        busy.user_ns += (at(0) + at(1)) * tick_ns;
        busy.system_ns += (at(2) + at(5) + at(6)) * tick_ns;
    }
    busy
}

/// The CPU time that a profile of this scope is of: the subject's, or that of all that ran on its
/// CPUs since `before`.
pub fn usage_of(job: &TrialJob, subject: UsageDelta, before: Busy) -> UsageDelta {
    match job.sampled {
        SampledScope::Subject => subject,
        SampledScope::SubjectCpus => {
            let now = busy(job);
            UsageDelta {
                user_ns: now.user_ns.saturating_sub(before.user_ns),
                system_ns: now.system_ns.saturating_sub(before.system_ns),
                ..subject
            }
        }
    }
}

/// What disturbed a trial of this scope: all that runs on the subject's CPUs is the subject's doing.
pub fn disturbance_of(job: &TrialJob, seen: Disturbance) -> Disturbance {
    match job.sampled {
        SampledScope::Subject => seen,
        SampledScope::SubjectCpus => Disturbance {
            foreign_pct: 0.0,
            ..seen
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_was_neither_idle_nor_waiting() {
        let stat = "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 50 4 5 6\ncpu10 1 0 0 0 0 0 0 0\n";
        let of = |list: &str| of_cpus(stat, &list.parse().unwrap(), 10);
        assert_eq!(
            of("0"),
            Busy {
                user_ns: 30,
                system_ns: 120
            }
        );
        assert_eq!(
            of("0,10"),
            Busy {
                user_ns: 40,
                system_ns: 120
            }
        );
        assert_eq!(of("1"), Busy::default());
    }
}

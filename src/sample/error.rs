//! Why a recording cannot be made, and what to do about it.

use std::io;

use super::availability::Finding;

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The kernel or a sandbox forbids sampling.
    #[error("sampling is not permitted here ({source}){}", in_words(findings))]
    NotPermitted {
        /// Settings that may be the cause, with the mend.
        findings: Vec<Finding>,
        /// What the kernel said.
        source: io::Error,
    },
    /// The process may not be looked at by this user.
    #[error(
        "process {pid} belongs to another user or may not be traced ({source}); run perfblame as \
         its owner or as root"
    )]
    ForeignProcess {
        /// The process.
        pid: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no such process, or it has ended.
    #[error("there is no process {pid}: it has ended, or the number is wrong")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// The machine has no such CPU, or it is offline.
    #[error("there is no CPU {cpu}; online are {online}")]
    NoCpu {
        /// The CPU.
        cpu: u32,
        /// The CPUs that are there.
        online: String,
    },
    /// The name is no event that perfblame knows.
    #[error("event `{name}` is unknown; known are: {known}")]
    UnknownEvent {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// The machine does not have the event.
    #[error(
        "event `{name}` cannot be sampled on this machine ({source}); what can: {supported}{}",
        in_words(findings)
    )]
    UnsupportedEvent {
        /// The name.
        name: String,
        /// Names that work here.
        supported: String,
        /// Settings that may be the cause, with the mend.
        findings: Vec<Finding>,
        /// What the kernel said.
        source: io::Error,
    },
    /// The frequency is zero or above the kernel's limit.
    #[error(
        "{requested} samples a second is not possible: from 1 to {limit} \
         (kernel.perf_event_max_sample_rate)"
    )]
    Frequency {
        /// Requested, in hertz.
        requested: u64,
        /// The kernel's limit, in hertz.
        limit: u64,
    },
    /// Not even the smallest ring could be mapped.
    #[error(
        "no memory for the sample buffers ({source}); allow more with \
         `sysctl kernel.perf_event_mlock_kb=4096` or `ulimit -l unlimited`"
    )]
    RingMemory {
        /// What the kernel said.
        source: io::Error,
    },
    /// Too many threads and CPUs for the limit of open files.
    #[error(
        "sampling needs {needed} open files (threads times CPUs) and the limit is {limit}; raise it \
         with `ulimit -n {needed}`"
    )]
    OpenFiles {
        /// How many are needed, about.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// The command could not be started.
    #[error("cannot start `{command}`: {source}")]
    Launch {
        /// The program's name.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something that should not fail did.
    #[error("sampling failed: {what}: {source}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The thread that reads the rings ended by itself.
    #[error("the thread that reads the samples ended unexpectedly; this is a bug in perfblame")]
    ReaderDied,
}

impl SampleError {
    /// Wraps a system error that has no better name.
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

fn in_words(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("; {finding}"))
        .collect()
}

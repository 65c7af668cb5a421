//! What a run's threads share, are told, and hand over.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::error::LoadError;
use super::keys::parallel_part;
use super::recorder::Recorder;
use super::series::Collector;
use crate::plan::load::{DEFAULT_REQUESTS, KeyPattern, KeyPatterns, LoadSpec, Requests};

/// What the threads of a run hear from outside.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Stop now.
    pub stop: AtomicBool,
    /// Index of the window that replies count in.
    pub window: AtomicU32,
    /// Set by the caller of the whole program.
    pub cancel: Arc<AtomicBool>,
}

impl Control {
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }
}

/// What one thread counted in one window.
#[derive(Debug)]
pub(crate) struct WindowPart {
    pub window: u32,
    pub recorder: Recorder,
    pub cpu_ns: u64,
}

/// What one thread hands over when it ends.
#[derive(Debug)]
pub(crate) struct Report {
    pub parts: Vec<WindowPart>,
    /// When it read its last reply, in nanoseconds of the monotonic clock.
    pub last_reply_ns: u64,
}

/// When a run began and when it ends, in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub start_ns: u64,
    /// `u64::MAX` where the run ends otherwise.
    pub deadline_ns: u64,
}

/// What a thread needs to hand in its seconds.
#[derive(Debug, Clone)]
pub(crate) struct Seconds {
    pub collector: Arc<Mutex<Collector>>,
    pub thread: usize,
}

/// How long a run lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// As the specification says.
    Specified,
    /// Until it is stopped.
    Endless,
}

/// Binds the calling thread to one CPU.
pub(crate) fn pin(cpu: usize) -> Result<(), LoadError> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(LoadError::Pin {
            cpu,
            source: Errno::INVAL.into(),
        });
    }
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| LoadError::Pin {
        cpu,
        source: source.into(),
    })
}

/// Requests of client `id`, `u64::MAX` for no limit.
pub(crate) fn requests(spec: &LoadSpec, length: Length, id: u64) -> u64 {
    if length == Length::Endless || spec.test_time.is_some() {
        return u64::MAX;
    }
    match spec.requests {
        None => DEFAULT_REQUESTS,
        Some(Requests::Count(count)) => count,
        Some(Requests::AllKeys) => {
            const PARALLEL: KeyPatterns = KeyPatterns {
                set: KeyPattern::Parallel,
                get: KeyPattern::Parallel,
            };
            if spec.key_pattern == PARALLEL {
                // Its own part, to the last key and no further.
                let (first, last) =
                    parallel_part(spec.key_minimum, spec.key_maximum, spec.connections(), id);
                (last - first).saturating_add(1)
            } else {
                (spec.key_maximum - spec.key_minimum).max(1)
            }
        }
    }
}

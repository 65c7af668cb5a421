//! A run: one of a length that is given, or one that goes on until it is ended.

use std::sync::atomic::Ordering;

use crate::plan::load::LoadSpec;

use super::clock::monotonic_ns;
use super::control::Length;
use super::error::LoadError;
use super::options::RunOptions;
use super::outcome::{LoadOutcome, WindowId, WindowStats};
use super::target::Target;
use super::threads::Threads;

/// A run under way that goes on until it is finished. Its threads end with it.
#[derive(Debug)]
pub struct Running {
    threads: Threads,
    /// Windows so far, with the time at which each was entered.
    windows: Vec<(WindowId, u64)>,
}

impl Running {
    /// Connects, and begins to load without an end; `requests` and `test-time` of the
    /// specification do not matter. Replies count in the window `first` from the start.
    ///
    /// # Errors
    /// The specification is impossible, or a connection could not be had.
    pub fn start(
        spec: &LoadSpec,
        target: &Target,
        options: &RunOptions,
        first: WindowId,
    ) -> Result<Running, LoadError> {
        let threads = Threads::start(spec, target, options, Length::Endless)?;
        let windows = vec![(first, threads.started_ns)];
        Ok(Running { threads, windows })
    }

    /// From now on replies count in another window. May be called often, also for a window that
    /// there was before: its parts are added up.
    pub fn enter(&mut self, window: WindowId) {
        self.windows.push((window, monotonic_ns()));
        let index = (self.windows.len() - 1) as u32;
        self.threads.control.window.store(index, Ordering::Release);
    }

    /// Says whether the run still goes well.
    ///
    /// # Errors
    /// What has ended it. The error is handed out once; [`Running::finish`] must not be expected
    /// to give windows after that.
    pub fn check(&self) -> Result<(), LoadError> {
        self.threads.check()
    }

    /// Ends the run, and returns what each window came to, in the order in which they were first
    /// entered.
    ///
    /// # Errors
    /// Anything that went wrong in any window: nothing of the run counts then.
    pub fn finish(self) -> Result<Vec<WindowStats>, LoadError> {
        let Running {
            mut threads,
            windows,
        } = self;
        let end_ns = monotonic_ns();
        let reports = threads.finish()?;
        Ok(threads.windows(reports, &windows, end_ns))
    }
}

/// Puts a load on a server until it has been answered, or its time is up.
///
/// # Errors
/// The specification is impossible, a connection could not be had, the server closed, stalled or
/// answered wrongly, or the caller cancelled. Nothing counts then.
pub fn run(
    spec: &LoadSpec,
    target: &Target,
    options: &RunOptions,
) -> Result<LoadOutcome, LoadError> {
    let mut threads = Threads::start(spec, target, options, Length::Specified)?;
    let reports = threads.join(options)?;
    let last_reply_ns = reports.iter().map(|report| report.last_reply_ns).max();
    let end_ns = match spec.test_time {
        // A server that fell silent before the time was up did nothing in the rest of it.
        Some(seconds) => threads
            .started_ns
            .saturating_add(seconds.saturating_mul(1_000_000_000)),
        None => last_reply_ns.unwrap_or(threads.started_ns),
    };
    let seed = threads.shared.seed;
    let mut windows = threads.windows(reports, &[(WindowId(0), threads.started_ns)], end_ns);
    match windows.pop() {
        Some(total) => Ok(LoadOutcome {
            total,
            series: threads.series(),
            started_unix_ns: threads.started_unix_ns,
            seed,
        }),
        None => Err(LoadError::Thread),
    }
}

//! The progress of a series that is run in stages, as one.

use std::time::{Duration, Instant};

use super::progress::Progress;

/// Tells of all stages as of one series of trials.
pub struct Staged<'a> {
    inner: &'a mut dyn Progress,
    all: usize,
    done: usize,
    measured: u32,
    started: Instant,
}

impl<'a> Staged<'a> {
    /// A series of so many trials in all.
    pub fn new(inner: &'a mut dyn Progress, all: usize) -> Self {
        Self {
            inner,
            all,
            done: 0,
            measured: 0,
            started: Instant::now(),
        }
    }

    /// The last stage is over.
    pub fn end(self) {
        self.inner.finished();
    }
}

impl Progress for Staged<'_> {
    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }

    fn trials(&mut self, _all: usize, done: usize) {
        self.done += done;
        self.inner.trials(self.all, self.done);
    }

    fn trial(&mut self, block: u32, arm: &str) {
        self.inner.trial(block, arm);
    }

    fn trial_done(&mut self, _left: Duration) {
        self.done += 1;
        self.measured += 1;
        let each = self.started.elapsed() / self.measured;
        let left = self.all.saturating_sub(self.done);
        self.inner
            .trial_done(each.saturating_mul(left.try_into().unwrap_or(u32::MAX)));
    }
}

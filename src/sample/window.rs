//! When samples count.

use std::sync::{Arc, Mutex, PoisonError};

/// The spans of time in which samples count, in `CLOCK_MONOTONIC` nanoseconds.
///
/// Events run from the moment they are attached; a sample outside every window is dropped by its
/// time. So a window begins and ends at one instant on all CPUs, however many events there are.
#[derive(Debug, Clone, Default)]
pub struct Windows(Vec<(u64, u64)>);

impl Windows {
    /// Returns whether a moment lies in a window.
    pub fn hold(&self, time: u64) -> bool {
        self.0
            .iter()
            .rev()
            .any(|(start, end)| *start <= time && time < *end)
    }

    /// Returns the length of all windows; an open one lasts until `now`.
    pub fn total_ns(&self, now: u64) -> u64 {
        self.0
            .iter()
            .map(|(start, end)| (*end).min(now).saturating_sub(*start))
            .sum()
    }

    /// Opens a window; no effect while one is open.
    pub fn open(&mut self, now: u64) {
        if !self.is_open() {
            self.0.push((now, u64::MAX));
        }
    }

    /// Closes the open window; no effect where none is open.
    pub fn close(&mut self, now: u64) {
        if let Some((_, end)) = self.0.last_mut()
            && *end == u64::MAX
        {
            *end = now;
        }
    }

    fn is_open(&self) -> bool {
        self.0.last().is_some_and(|(_, end)| *end == u64::MAX)
    }
}

/// Windows that the recorder's owner moves and the reader of the rings looks at.
#[derive(Debug, Clone, Default)]
pub struct SharedWindows(Arc<Mutex<Windows>>);

impl SharedWindows {
    /// Returns the windows as they are now.
    pub fn now(&self) -> Windows {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes the windows.
    pub fn change(&self, change: impl FnOnce(&mut Windows)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the clock of records and windows: `CLOCK_MONOTONIC` in nanoseconds.
pub fn clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_count_in_windows_only() {
        let mut windows = Windows::default();
        assert!(!windows.hold(5));
        windows.close(1);
        windows.open(10);
        windows.open(12);
        assert_eq!(windows.total_ns(30), 20);
        windows.close(20);
        windows.close(25);
        windows.open(40);
        let held: Vec<u64> = (0..50).filter(|time| windows.hold(*time)).collect();
        let expected: Vec<u64> = (10..20).chain(40..50).collect();
        assert_eq!(held, expected);
        assert_eq!(windows.total_ns(45), 15);
    }
}

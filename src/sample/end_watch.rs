//! Waits for processes to end without looking at them in between.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::procfs::is_running;

/// Pause between looks at what the kernel tells nothing of: a thread that does not lead its process.
const LOOK: Duration = Duration::from_millis(250);

/// Watches processes, or threads, for their end.
#[derive(Debug)]
pub struct EndWatch {
    told: Vec<OwnedFd>,
    looked_at: Vec<u32>,
    endless: bool,
    wake_ups: u64,
}

impl EndWatch {
    /// Watches processes; one that has ended already is not waited for.
    #[must_use]
    pub fn of(pids: &[u32]) -> Self {
        let mut watch = Self {
            told: Vec::new(),
            looked_at: Vec::new(),
            endless: false,
            wake_ups: 0,
        };
        for pid in pids.iter().filter(|pid| is_running(**pid)) {
            let raw = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            match raw.map(|raw| pidfd_open(raw, PidfdFlags::empty())) {
                Some(Ok(fd)) => watch.told.push(fd),
                _ => watch.looked_at.push(*pid),
            }
        }
        watch
    }

    /// Watches nothing, which never ends.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self {
            endless: true,
            ..Self::of(&[])
        }
    }

    /// Waits until all have ended, `wake` becomes readable, or the time is over.
    pub fn wait(&mut self, wake: BorrowedFd<'_>, limit: Option<Duration>) {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        while self.endless || !self.told.is_empty() || !self.looked_at.is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            let look = (!self.looked_at.is_empty()).then_some(LOOK);
            let pause = match (left, look) {
                (Some(left), Some(look)) => Some(left.min(look)),
                (left, look) => left.or(look),
            };
            if self.pause(wake, pause) {
                return;
            }
            self.looked_at.retain(|pid| is_running(*pid));
        }
    }

    /// Returns whether `wake` is readable.
    fn pause(&mut self, wake: BorrowedFd<'_>, pause: Option<Duration>) -> bool {
        self.wake_ups += 1;
        let timeout = pause.map(|pause| Timespec {
            tv_sec: pause.as_secs() as i64,
            tv_nsec: i64::from(pause.subsec_nanos()),
        });
        let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        let told = self.told.iter();
        fds.extend(told.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        // An interrupted wait is a short one.
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return false;
        }
        let mut readable: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let woken = readable.remove(0);
        let mut ended = readable.into_iter();
        self.told.retain(|_| !ended.next().unwrap_or(false));
        woken
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    fn quiet() -> OwnedFd {
        eventfd(0, EventfdFlags::CLOEXEC).unwrap()
    }

    #[test]
    fn the_end_of_a_process_is_waited_for_without_looking() {
        let mut child = Command::new("sleep").arg("0.5").spawn().unwrap();
        let mut watch = EndWatch::of(&[child.id()]);
        watch.wait(quiet().as_fd(), Some(Duration::from_secs(60)));
        // Nobody has collected it yet, and it counts as ended.
        assert!(!is_running(child.id()));
        assert!(watch.wake_ups <= 2, "{}", watch.wake_ups);
        child.wait().unwrap();
        watch.wait(quiet().as_fd(), None);
    }

    #[test]
    fn a_descriptor_and_the_time_end_the_wait() {
        let wake = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
        EndWatch::of_nothing().wait(wake.as_fd(), None);
        EndWatch::of(&[std::process::id()]).wait(wake.as_fd(), None);
        let mut watch = EndWatch::of_nothing();
        watch.wait(quiet().as_fd(), Some(Duration::from_millis(20)));
        assert!(watch.wake_ups >= 1);
    }

    #[test]
    fn a_thread_that_does_not_lead_its_process_is_waited_for_too() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ending) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            tell.send(tid as u32).unwrap();
            let _ = ending.recv();
        });
        let tid = told.recv().unwrap();
        let mut watch = EndWatch::of(&[tid, u32::MAX]);
        watch.wait(quiet().as_fd(), Some(Duration::from_millis(10)));
        assert!(is_running(tid));
        drop(end);
        watch.wait(quiet().as_fd(), None);
        assert!(!is_running(tid));
        thread.join().unwrap();
    }
}

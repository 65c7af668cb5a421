//! Process trees, read from `/proc`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::process_stat::ProcessStat;

/// A process named so that a later process with the same number is not taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ProcessId {
    /// The number.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

impl ProcessId {
    /// Names a process that is alive now (a zombie counts); `None` where there is none.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = ProcessStat::read(pid)?;
        Some(Self {
            pid,
            start_ticks: stat.start_ticks,
        })
    }

    /// Whether that very process is alive and no zombie.
    pub fn is_alive(self) -> bool {
        ProcessStat::read(self.pid)
            .is_some_and(|stat| stat.start_ticks == self.start_ticks && stat.state != 'Z')
    }
}

/// All living descendants of a process, parents before children, the process itself not included.
pub fn descendants(root: i32) -> Vec<ProcessId> {
    let mut children: HashMap<i32, Vec<ProcessId>> = HashMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(stat) = ProcessStat::read(pid).filter(|stat| stat.state != 'Z') {
            children.entry(stat.parent).or_default().push(ProcessId {
                pid,
                start_ticks: stat.start_ticks,
            });
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while next < found.len() {
        let below = children.remove(&found[next].pid).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found
}

/// Ends all descendants of a process: SIGTERM, then SIGKILL to what is left after `grace`.
///
/// `reap` is called between looks, so that a parent can collect its zombies. Returns the number of
/// processes that had to be killed.
pub fn end_tree(root: i32, grace: Duration, mut reap: impl FnMut()) -> usize {
    let deadline = Instant::now() + grace;
    let mut told = std::collections::HashSet::new();
    let mut killed = std::collections::HashSet::new();
    loop {
        reap();
        let living = descendants(root);
        if living.is_empty() {
            return killed.len();
        }
        let late = Instant::now() >= deadline;
        for process in living {
            let pid = Pid::from_raw(process.pid);
            // Errors mean that it ended meanwhile, which the next look shows.
            if late {
                let _ = kill(pid, Signal::SIGKILL);
                killed.insert(process);
            } else if told.insert(process) {
                let _ = kill(pid, Signal::SIGTERM);
                // A stopped process takes SIGTERM only once it goes on.
                let _ = kill(pid, Signal::SIGCONT);
            }
        }
        if Instant::now() >= deadline + Duration::from_secs(10) {
            // In uninterruptible sleep: nothing more can be done, and waiting forever helps nobody.
            return killed.len();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_start_time_is_not() {
        let me = ProcessId::of(std::process::id() as i32).unwrap();
        assert!(me.is_alive());
        let stranger = ProcessId {
            start_ticks: me.start_ticks + 1,
            ..me
        };
        assert!(!stranger.is_alive());
    }
}

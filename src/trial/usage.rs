//! CPU time, memory and context switches of a running process tree, read from the kernel.

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use crate::executor::{ProcessId, ProcessStat};

/// Usage of a process tree since it started, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User and system CPU time of all threads, ended ones included, in nanoseconds.
    pub cpu_ns: u64,
    /// Part of [`Self::cpu_ns`] spent in user mode, from the kernel's tick accounting.
    pub user_ns: u64,
    /// Resident set of all processes, in bytes; shared pages count once for each.
    pub rss_bytes: u64,
    /// Voluntary and involuntary context switches of the threads that are alive.
    pub context_switches: u64,
    /// Minor and major page faults.
    pub page_faults: u64,
}

/// Usage between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsageDelta {
    /// User CPU time in nanoseconds.
    pub user_ns: u64,
    /// System CPU time in nanoseconds.
    pub system_ns: u64,
    /// Resident set at the end, in bytes.
    pub rss_bytes: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Page faults.
    pub page_faults: u64,
}

impl UsageDelta {
    /// User and system CPU time in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Adds a later stretch; the resident set is the larger one.
    pub fn add(&mut self, other: &Self) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.rss_bytes = self.rss_bytes.max(other.rss_bytes);
        self.context_switches += other.context_switches;
        self.page_faults += other.page_faults;
    }
}

impl Usage {
    /// Reads the usage of all the processes given. One that ends meanwhile counts with what was
    /// read of it; its parent then holds it among its ended children.
    pub fn of(processes: &[ProcessId]) -> Self {
        let mut total = Self::default();
        for process in processes {
            let one = of_process(*process);
            total.cpu_ns += one.cpu_ns;
            total.user_ns += one.user_ns;
            total.rss_bytes += one.rss_bytes;
            total.context_switches += one.context_switches;
            total.page_faults += one.page_faults;
        }
        total
    }

    /// What was used since an earlier moment.
    ///
    /// The kernel's user and system times advance by clock ticks while the CPU clock counts
    /// nanoseconds, so the split is taken from the ticks and the sum from the clock.
    pub fn since(&self, earlier: &Self) -> UsageDelta {
        let cpu_ns = self.cpu_ns.saturating_sub(earlier.cpu_ns);
        let user_ns = self.user_ns.saturating_sub(earlier.user_ns).min(cpu_ns);
        UsageDelta {
            user_ns,
            system_ns: cpu_ns - user_ns,
            rss_bytes: self.rss_bytes,
            context_switches: self
                .context_switches
                .saturating_sub(earlier.context_switches),
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
        }
    }
}

fn of_process(process: ProcessId) -> Usage {
    let pid = process.pid;
    // Another process may have got the number meanwhile.
    let Some(stat) = ProcessStat::read(pid).filter(|stat| stat.start_ticks == process.start_ticks)
    else {
        return Usage::default();
    };
    let [user, system] = stat.own_ticks;
    let [children_user, children_system] = stat.children_ticks;
    let clock_ns = cpu_clock_ns(pid).unwrap_or((user + system) * tick_ns());
    // Scaled to the precise sum, so that user and system add up to it.
    let own_user = match user + system {
        0 => 0,
        ticks => (clock_ns as u128 * u128::from(user) / u128::from(ticks)) as u64,
    };
    Usage {
        cpu_ns: clock_ns + (children_user + children_system) * tick_ns(),
        user_ns: own_user + children_user * tick_ns(),
        rss_bytes: stat.resident_pages * page_bytes(),
        context_switches: context_switches(pid),
        page_faults: stat.page_faults,
    }
}

/// CPU time of the whole thread group, ended threads included, in nanoseconds.
fn cpu_clock_ns(pid: i32) -> Option<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock.now().ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

fn context_switches(pid: i32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .flat_map(|status| {
            status
                .lines()
                .filter(|line| line.contains("voluntary_ctxt_switches:"))
                .filter_map(|line| line.rsplit(char::is_whitespace).next()?.parse::<u64>().ok())
                .collect::<Vec<_>>()
        })
        .sum()
}

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_cpu_shows_and_sleeping_does_not() {
        let me = [ProcessId::of(std::process::id() as i32).unwrap()];
        let before = Usage::of(&me);
        let mut sum = 0u64;
        while Usage::of(&me).since(&before).cpu_ns() < 30_000_000 {
            sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(7));
        }
        let delta = Usage::of(&me).since(&before);
        assert!(delta.cpu_ns() >= 30_000_000, "{sum}");
        assert!(delta.rss_bytes > 100_000);
        assert_eq!(delta.cpu_ns(), delta.user_ns + delta.system_ns);
    }

    #[test]
    fn the_split_never_exceeds_the_sum() {
        let earlier = Usage {
            cpu_ns: 100,
            user_ns: 0,
            ..Usage::default()
        };
        let later = Usage {
            cpu_ns: 200,
            user_ns: 500,
            ..Usage::default()
        };
        let delta = later.since(&earlier);
        assert_eq!((delta.user_ns, delta.system_ns), (100, 0));
    }

    #[test]
    fn a_process_that_is_gone_uses_nothing() {
        let gone = ProcessId {
            pid: i32::MAX,
            start_ticks: 0,
        };
        assert_eq!(Usage::of(&[gone]), Usage::default());
    }
}

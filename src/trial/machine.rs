//! What is known of the machine that a trial ran on, and of its state meanwhile.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine, as a report shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Machine {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that are online.
    pub cpus: usize,
    /// Whether it is a virtual machine, as far as the CPU tells.
    pub hypervisor: bool,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Settings that move benchmarks, by name; what cannot be read is left out.
    pub settings: BTreeMap<String, String>,
}

const SETTINGS: [(&str, &str); 9] = [
    (
        "governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    ("no-turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("smt", "/sys/devices/system/cpu/smt/control"),
    (
        "transparent-hugepage",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("randomize-va-space", "/proc/sys/kernel/randomize_va_space"),
    ("swappiness", "/proc/sys/vm/swappiness"),
    ("overcommit-memory", "/proc/sys/vm/overcommit_memory"),
    (
        "clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
];

impl Machine {
    /// Reads what the kernel tells.
    pub fn read() -> Self {
        let uname = nix::sys::utsname::uname();
        let kernel = uname
            .map(|name| name.release().to_string_lossy().into_owned())
            .unwrap_or_default();
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let value = |key: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            kernel,
            cpu_model: value("model name")
                .or_else(|| value("CPU part"))
                .unwrap_or_default(),
            cpus: cpuinfo
                .lines()
                .filter(|line| line.starts_with("processor"))
                .count(),
            hypervisor: value("flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory_bytes: memory_bytes(),
            settings: SETTINGS
                .iter()
                .filter_map(|(name, path)| Some(((*name).to_owned(), setting(path)?)))
                .collect(),
        }
    }
}

fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// A setting's value; of a choice such as `always [madvise] never` the chosen one.
fn setting(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    Some(chosen.map_or(text.trim(), |(chosen, _)| chosen).to_owned())
}

/// CPU time of the whole machine since boot, in clock ticks, by what it went to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineTicks {
    busy: u64,
    idle: u64,
    steal: u64,
}

/// What else happened on the machine during a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Disturbance {
    /// Share of all CPU time that the hypervisor gave to others, in per cent.
    pub steal_pct: f64,
    /// Share of all CPU time that was busy, in per cent.
    pub busy_pct: f64,
    /// Load average over one minute at the window's end.
    pub load_average: f64,
}

impl MachineTicks {
    /// Reads `/proc/stat`.
    pub fn now() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let field: Vec<u64> = line
            .split_ascii_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let at = |index: usize| field.get(index).copied().unwrap_or(0);
        Self {
            busy: at(0) + at(1) + at(2) + at(5) + at(6),
            idle: at(3) + at(4),
            steal: at(7),
        }
    }

    /// What happened between an earlier moment and this one.
    pub fn since(&self, earlier: &Self) -> Disturbance {
        let (busy, idle, steal) = (
            self.busy.saturating_sub(earlier.busy),
            self.idle.saturating_sub(earlier.idle),
            self.steal.saturating_sub(earlier.steal),
        );
        let all = (busy + idle + steal).max(1) as f64;
        Disturbance {
            steal_pct: 100.0 * steal as f64 / all,
            busy_pct: 100.0 * busy as f64 / all,
            load_average: load_average(),
        }
    }
}

fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace()
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_time() {
        let before = MachineTicks::parse("cpu  100 0 50 800 10 1 2 30 0 0\n");
        let after = MachineTicks::parse("cpu  160 0 70 810 10 1 2 40 0 0\n");
        let disturbance = after.since(&before);
        assert_eq!(disturbance.steal_pct, 10.0);
        assert_eq!(disturbance.busy_pct, 80.0);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let machine = Machine::read();
        assert!(!machine.kernel.is_empty());
        assert!(machine.cpus >= 1 && machine.memory_bytes > 1 << 20);
    }
}

//! What is known of the machine that a trial ran on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcome::{GuestRecord, TrialResult};

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
    /// The guests that the trials ran in, where they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestRecord>,
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
    /// The machine with the guest that its first trial ran in.
    pub fn with_guest_of<'a>(&self, mut results: impl Iterator<Item = &'a TrialResult>) -> Self {
        Self {
            guest: results.next().and_then(|result| result.guest.clone()),
            ..self.clone()
        }
    }

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
            settings: settings(),
            guest: None,
        }
    }
}

/// Settings that move benchmarks, by name, as they are now.
pub fn settings() -> BTreeMap<String, String> {
    SETTINGS
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), setting(path)?)))
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let machine = Machine::read();
        assert!(!machine.kernel.is_empty());
        assert!(machine.cpus >= 1 && machine.memory_bytes > 1 << 20);
    }
}

//! What else happened on the machine during a trial, and whether it was too much.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::settings;
use crate::plan::DisturbanceLimits;

/// What else happened on the machine during a window, and the state that the machine was in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Disturbance {
    /// Share of all CPU time that the hypervisor gave to others, in per cent.
    pub steal_pct: f64,
    /// Share of all CPU time that was busy, in per cent.
    pub busy_pct: f64,
    /// The same as [`Self::steal_pct`] on the subject's CPUs.
    pub subject_steal_pct: f64,
    /// Share of the time of the subject's CPUs that neither the subject nor this trial's own process
    /// used, and that was not idle, in per cent. Interrupts do not count: the subject's own are
    /// among them.
    pub foreign_pct: f64,
    /// Load average over one minute at the window's end.
    pub load_average: f64,
    /// Mean frequency of the subject's CPUs at the window's end, in megahertz, where it can be seen.
    pub frequency_mhz: Option<f64>,
    /// Times that the subject's CPUs were slowed down for their temperature, where it can be seen.
    pub throttled: Option<u64>,
    /// Settings that move benchmarks, by name: governor, turbo, huge pages, address randomisation.
    pub settings: BTreeMap<String, String>,
}

impl Disturbance {
    /// Says what exceeds the limits, if anything does. Nothing that was measured of the subject
    /// plays a part, so that to repeat such a trial favours no result.
    pub fn exceeds(&self, limits: &DisturbanceLimits) -> Option<String> {
        let cases = [
            (
                self.subject_steal_pct,
                limits.steal_pct,
                "the hypervisor took",
            ),
            (self.foreign_pct, limits.foreign_pct, "other processes took"),
        ];
        let said: Vec<String> = cases
            .iter()
            .filter(|(value, limit, _)| value > limit)
            .map(|(value, _, who)| format!("{who} {value:.0} % of the subject's CPUs"))
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// CPU time since boot, in clock ticks, by what it went to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    /// User, nice and system.
    processes: u64,
    interrupts: u64,
    idle: u64,
    steal: u64,
}

impl Ticks {
    fn parse(line: &str) -> Self {
        let field: Vec<u64> = line
            .split_ascii_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let at = |index: usize| field.get(index).copied().unwrap_or(0);
        Self {
            processes: at(0) + at(1) + at(2),
            interrupts: at(5) + at(6),
            idle: at(3) + at(4),
            steal: at(7),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            processes: self.processes.saturating_sub(earlier.processes),
            interrupts: self.interrupts.saturating_sub(earlier.interrupts),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            processes: self.processes + other.processes,
            interrupts: self.interrupts + other.interrupts,
            idle: self.idle + other.idle,
            steal: self.steal + other.steal,
        }
    }

    fn all(&self) -> f64 {
        (self.processes + self.interrupts + self.idle + self.steal).max(1) as f64
    }
}

/// CPU time used in a window by those who may use it, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entitled {
    /// By the subject.
    pub subject_ns: u64,
    /// By this trial's own process on the subject's CPUs.
    pub own_ns: u64,
}

/// A moment at which the machine was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    machine: Ticks,
    subject: Ticks,
    cpus: Vec<usize>,
    throttled: Option<u64>,
}

impl Watch {
    /// Looks at the machine; `cpus` are the subject's.
    pub fn begin(cpus: &[usize]) -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            throttled: sum(cpus, "thermal_throttle/core_throttle_count"),
            ..Self::of(&text, cpus)
        }
    }

    fn of(text: &str, cpus: &[usize]) -> Self {
        let line = |name: &str| {
            let holds = |line: &&str| line.split_ascii_whitespace().next() == Some(name);
            text.lines().find(holds).map(Ticks::parse)
        };
        let subject = cpus
            .iter()
            .filter_map(|cpu| line(&format!("cpu{cpu}")))
            .fold(Ticks::default(), |sum, ticks| sum.plus(&ticks));
        Self {
            machine: line("cpu").unwrap_or_default(),
            subject,
            cpus: cpus.to_vec(),
            throttled: None,
        }
    }

    /// Looks once more, and says what happened since.
    pub fn end(&self, entitled: Entitled) -> Disturbance {
        let now = Self::begin(&self.cpus);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let count = self.cpus.len().max(1) as f64;
        Disturbance {
            load_average: load_average(),
            frequency_mhz: sum(&self.cpus, "cpufreq/scaling_cur_freq")
                .map(|kilohertz| kilohertz as f64 / 1000.0 / count),
            throttled: now
                .throttled
                .zip(self.throttled)
                .map(|(now, before)| now.saturating_sub(before)),
            settings: settings(),
            ..now.since(self, entitled, tick_ns)
        }
    }

    fn since(&self, earlier: &Self, entitled: Entitled, tick_ns: u64) -> Disturbance {
        let machine = self.machine.since(&earlier.machine);
        let subject = self.subject.since(&earlier.subject);
        let pct = |ticks: f64, of: &Ticks| 100.0 * ticks / of.all();
        let used = (entitled.subject_ns + entitled.own_ns) as f64 / tick_ns as f64;
        Disturbance {
            steal_pct: pct(machine.steal as f64, &machine),
            busy_pct: pct((machine.processes + machine.interrupts) as f64, &machine),
            subject_steal_pct: pct(subject.steal as f64, &subject),
            foreign_pct: pct((subject.processes as f64 - used).max(0.0), &subject),
            ..Disturbance::default()
        }
    }
}

/// Sum over CPUs of a number that the kernel shows of each; `None` where it does not.
fn sum(cpus: &[usize], file: &str) -> Option<u64> {
    let mut sum = 0;
    for cpu in cpus {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        let text = std::fs::read_to_string(path).ok()?;
        sum += text.trim().parse::<u64>().ok()?;
    }
    (!cpus.is_empty()).then_some(sum)
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

    /// `/proc/stat` of three CPUs: user, nice, system, idle, iowait, irq, softirq, steal.
    fn stat(cpus: [[u64; 8]; 3]) -> String {
        let mut text = String::new();
        let line = |name: &str, ticks: &[u64]| {
            let fields: Vec<String> = ticks.iter().map(u64::to_string).collect();
            format!("{name} {} 0 0\n", fields.join(" "))
        };
        let all: Vec<u64> = (0..8)
            .map(|i| cpus.iter().map(|cpu| cpu[i]).sum())
            .collect();
        text += &line("cpu ", &all);
        for (number, cpu) in cpus.iter().enumerate() {
            text += &line(&format!("cpu{number}"), cpu);
        }
        text + "intr 5\n"
    }

    #[test]
    fn what_is_foreign_is_what_nobody_else_used() {
        const TICK: u64 = 10_000_000;
        let idle = [0, 0, 0, 100, 0, 0, 0, 0];
        // CPU 1 is the subject's: 100 ticks a case.
        for (ticks, subject, own, foreign, steal) in [
            ([60, 0, 20, 20, 0, 0, 0, 0], 80, 0, 0.0, 0.0),
            ([60, 0, 20, 20, 0, 0, 0, 0], 50, 10, 20.0, 0.0),
            ([60, 5, 15, 0, 10, 4, 6, 0], 80, 0, 0.0, 0.0),
            ([60, 0, 10, 10, 0, 0, 0, 20], 70, 0, 0.0, 20.0),
            // The CPU clock counts finer than ticks.
            ([60, 0, 20, 20, 0, 0, 0, 0], 83, 0, 0.0, 0.0),
        ] {
            let before = Watch::of(&stat([[0; 8]; 3]), &[1]);
            let after = Watch::of(&stat([idle, ticks, [90, 0, 0, 10, 0, 0, 0, 0]]), &[1]);
            let entitled = Entitled {
                subject_ns: subject * TICK,
                own_ns: own * TICK,
            };
            let seen = after.since(&before, entitled, TICK);
            assert_eq!(seen.foreign_pct, foreign, "{ticks:?}");
            assert_eq!(seen.subject_steal_pct, steal, "{ticks:?}");
        }
    }

    #[test]
    fn the_limits_decide_and_nothing_else() {
        let limits = DisturbanceLimits::default();
        for (steal, foreign, said) in [
            (0.0, 0.0, None),
            (5.0, 10.0, None),
            (
                5.1,
                0.0,
                Some("the hypervisor took 5 % of the subject's CPUs"),
            ),
            (
                0.0,
                40.0,
                Some("other processes took 40 % of the subject's CPUs"),
            ),
            (
                9.0,
                11.0,
                Some(
                    "the hypervisor took 9 % of the subject's CPUs, other processes took 11 % of the subject's CPUs",
                ),
            ),
        ] {
            let seen = Disturbance {
                steal_pct: 99.0,
                busy_pct: 99.0,
                load_average: 99.0,
                subject_steal_pct: steal,
                foreign_pct: foreign,
                ..Disturbance::default()
            };
            assert_eq!(seen.exceeds(&limits).as_deref(), said, "{steal} {foreign}");
        }
    }

    #[test]
    fn a_processor_that_is_not_there_takes_nothing() {
        let watch = Watch::of("", &[7]);
        let seen = watch.since(&watch, Entitled::default(), 10_000_000);
        assert_eq!(seen, Disturbance::default());
        assert_eq!(sum(&[usize::MAX], "cpufreq/scaling_cur_freq"), None);
        assert_eq!(sum(&[], "x"), None);
    }

    #[test]
    fn results_that_know_less_are_read() {
        let text = r#"{"steal-pct": 1.0, "busy-pct": 2.0, "load-average": 3.0}"#;
        let seen: Disturbance = serde_json::from_str(text).unwrap();
        assert_eq!((seen.steal_pct, seen.foreign_pct), (1.0, 0.0));
    }
}

//! Chooses CPUs for the subject and for the load where the plan leaves it open.

use std::collections::BTreeMap;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::plan::{CpuList, Cpus};

use super::error::TrialError;

/// Where a CPU sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    package: usize,
    core: usize,
}

/// The CPUs that perfblame may use, and where they sit.
#[derive(Debug, Clone)]
pub struct Topology {
    seats: BTreeMap<usize, Seat>,
}

/// CPUs of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Of the server or the command.
    pub subject: CpuList,
    /// Of the load; empty for a command.
    pub load: CpuList,
}

impl Topology {
    /// Reads the affinity of this process and the kernel's topology.
    pub fn read() -> Result<Self, TrialError> {
        let allowed = sched_getaffinity(Pid::from_raw(0))
            .map_err(|error| TrialError::Setup(format!("cannot read the CPU affinity: {error}")))?;
        let cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
        let number = |cpu: usize, name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
            std::fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        let seat = |cpu| Seat {
            package: number(cpu, "physical_package_id").unwrap_or(0),
            core: number(cpu, "core_id").unwrap_or(cpu),
        };
        Ok(Self {
            seats: cpus.map(|cpu| (cpu, seat(cpu))).collect(),
        })
    }

    /// All of them.
    pub fn all(&self) -> CpuList {
        CpuList::new(self.seats.keys().copied().collect())
    }

    /// Places a command: on the CPUs that the plan names, else on one.
    pub fn place_command(&self, wished: &Cpus) -> Result<Placement, TrialError> {
        let subject = match &wished.subject {
            Some(cpus) => self.existing("cpus.subject", cpus)?,
            None => self.default_subject(&CpuList::default())?,
        };
        Ok(Placement {
            subject,
            load: CpuList::default(),
        })
    }

    /// Places a server and its load on CPUs of their own: where the plan leaves it open, on other
    /// cores of the same package.
    pub fn place_server(
        &self,
        wished: &Cpus,
        load_threads: usize,
    ) -> Result<Placement, TrialError> {
        let load = wished
            .load
            .as_ref()
            .map(|cpus| self.existing("cpus.load", cpus))
            .transpose()?;
        let subject = match &wished.subject {
            Some(cpus) => self.existing("cpus.subject", cpus)?,
            None => self.default_subject(load.as_ref().unwrap_or(&CpuList::default()))?,
        };
        let load = match load {
            Some(cpus) => cpus,
            None => self.default_load(&subject, load_threads),
        };
        if load.as_slice().is_empty() || !subject.common(&load).as_slice().is_empty() {
            return Err(TrialError::Setup(format!(
                "server and load need CPUs of their own: the server has {subject}, and this process may use {}; \
                 allow more CPUs, or set cpus.subject and cpus.load",
                self.all()
            )));
        }
        Ok(Placement { subject, load })
    }

    fn existing(&self, key: &str, cpus: &CpuList) -> Result<CpuList, TrialError> {
        let missing = cpus.without(&self.all());
        if missing.as_slice().is_empty() {
            return Ok(cpus.clone());
        }
        Err(TrialError::Setup(format!(
            "`{key}` names CPU {missing}, which is not there or not allowed; this process may use {}",
            self.all()
        )))
    }

    /// One CPU that is not taken; not CPU 0, which most interrupts go to, if others suffice.
    fn default_subject(&self, taken: &CpuList) -> Result<CpuList, TrialError> {
        let free = self.all().without(taken);
        let free = free.as_slice();
        let chosen = match free {
            [0, next, _, ..] => Some(*next),
            _ => free.first().copied(),
        };
        chosen.map(|cpu| CpuList::new(vec![cpu])).ok_or_else(|| {
            TrialError::Setup(format!(
                "no CPU is left for the subject: the load has {taken}"
            ))
        })
    }

    /// As many CPUs as the load has threads, nearest first: same package, another core.
    fn default_load(&self, subject: &CpuList, threads: usize) -> CpuList {
        let seats: Vec<Seat> = subject
            .as_slice()
            .iter()
            .filter_map(|cpu| self.seats.get(cpu))
            .copied()
            .collect();
        let mut free: Vec<(bool, bool, usize)> = self
            .all()
            .without(subject)
            .as_slice()
            .iter()
            .filter_map(|cpu| self.seats.get(cpu).map(|seat| (cpu, seat)))
            .map(|(cpu, seat)| {
                let shares_core = seats.contains(seat);
                let other_package = !seats.iter().any(|other| other.package == seat.package);
                (shares_core, other_package, *cpu)
            })
            .collect();
        free.sort_unstable();
        CpuList::new(
            free.into_iter()
                .take(threads.max(1))
                .map(|(_, _, cpu)| cpu)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs `n` and `n + cores` are threads of one core; two packages of half the cores each.
    fn machine(cores: usize, threads: usize) -> Topology {
        let seat = |cpu: usize| Seat {
            package: (cpu % cores) * 2 / cores.max(1),
            core: cpu % cores,
        };
        Topology {
            seats: (0..cores * threads).map(|cpu| (cpu, seat(cpu))).collect(),
        }
    }

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn the_load_goes_to_other_cores_of_the_same_package() {
        for (topology, threads, subject, load) in [
            (machine(2, 1), 1, "0", "1"),
            (machine(8, 1), 2, "1", "0,2"),
            (machine(8, 2), 3, "1", "0,2-3"),
            (machine(8, 2), 4, "1", "0,2-3,8"),
        ] {
            let placement = topology.place_server(&Cpus::default(), threads).unwrap();
            assert_eq!(
                placement,
                Placement {
                    subject: list(subject),
                    load: list(load)
                }
            );
        }
    }

    #[test]
    fn what_is_not_there_or_shared_is_refused() {
        let wish = |subject: Option<&str>, load: Option<&str>| Cpus {
            subject: subject.map(list),
            load: load.map(list),
        };
        let refused = |cpus: usize, wished: &Cpus| {
            machine(cpus, 1)
                .place_server(wished, 1)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(2, &wish(Some("7"), None)).contains("CPU 7"));
        assert!(refused(2, &wish(None, Some("0-3"))).contains("CPU 2-3"));
        assert!(refused(1, &wish(None, None)).contains("CPUs of their own"));
        assert!(refused(2, &wish(Some("0-1"), None)).contains("CPUs of their own"));
        assert!(refused(2, &wish(None, Some("0-1"))).contains("no CPU is left"));
    }
}

//! Chooses CPUs for the subject and for the load where the plan leaves it open.

use std::collections::BTreeMap;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::plan::{CpuList, Cpus};

use super::error::TrialError;

/// Where a CPU sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    package: usize,
    /// The first CPU of its core, which names the core whatever numbers cores have.
    core: usize,
}

/// Where the kernel tells of CPUs.
const SYSFS: &str = "/sys/devices/system/cpu";

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
        Ok(Self::of(Path::new(SYSFS), cpus))
    }

    /// The topology that a tree of sysfs tells of some CPUs. What it does not tell (a virtual
    /// machine's package is -1, or there is none) is one package of cores with one thread each.
    fn of(sysfs: &Path, cpus: impl Iterator<Item = usize>) -> Self {
        let text = |cpu: usize, name: &str| {
            let path = sysfs.join(format!("cpu{cpu}/topology/{name}"));
            std::fs::read_to_string(path).ok()
        };
        let first_thread = |cpu: usize| {
            // The older name of the two is there in all kernels.
            let threads: CpuList = text(cpu, "thread_siblings_list")?.trim().parse().ok()?;
            threads.as_slice().first().copied()
        };
        let package = |cpu| text(cpu, "physical_package_id")?.trim().parse().ok();
        let seat = |cpu| Seat {
            package: package(cpu).unwrap_or(0),
            core: first_thread(cpu).unwrap_or(cpu),
        };
        Self {
            seats: cpus.map(|cpu| (cpu, seat(cpu))).collect(),
        }
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

    /// As many CPUs as the load has threads, the best first: other cores of the same package, one
    /// thread of each before their second threads; then other packages; and last the threads that
    /// share a core with the subject, since they take half of it away.
    fn default_load(&self, subject: &CpuList, threads: usize) -> CpuList {
        let seats: Vec<Seat> = subject
            .as_slice()
            .iter()
            .filter_map(|cpu| self.seats.get(cpu))
            .copied()
            .collect();
        let mut threads_of: BTreeMap<Seat, usize> = BTreeMap::new();
        let free = self.all().without(subject);
        let mut free: Vec<(bool, bool, usize, usize)> = free
            .as_slice()
            .iter()
            .filter_map(|cpu| self.seats.get(cpu).map(|seat| (cpu, seat)))
            .map(|(cpu, seat)| {
                let shares_core = seats.contains(seat);
                let other_package = !seats.iter().any(|other| other.package == seat.package);
                let before = threads_of.entry(*seat).or_default();
                let thread = *before;
                *before += 1;
                (shares_core, other_package, thread, *cpu)
            })
            .collect();
        free.sort_unstable();
        let chosen = free.into_iter().take(threads.max(1));
        CpuList::new(chosen.map(|(_, _, _, cpu)| cpu).collect())
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

    /// A tree of sysfs as the kernel shows it: for each CPU its package and the threads of its core.
    fn recorded(cpus: &[(&str, &str)]) -> Topology {
        let root = tempfile::tempdir().unwrap();
        for (cpu, (package, threads)) in cpus.iter().enumerate() {
            let dir = root.path().join(format!("cpu{cpu}/topology"));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("physical_package_id"), format!("{package}\n")).unwrap();
            std::fs::write(dir.join("thread_siblings_list"), format!("{threads}\n")).unwrap();
        }
        Topology::of(root.path(), 0..cpus.len())
    }

    /// Two Xeon X5670 with 6 cores of 2 threads: even CPUs in one package, odd ones in the other.
    fn two_sockets() -> Topology {
        let threads: Vec<String> = (0..24)
            .map(|cpu| format!("{},{}", cpu % 12, cpu % 12 + 12))
            .collect();
        let cpus: Vec<(&str, &str)> = threads
            .iter()
            .enumerate()
            .map(|(cpu, threads)| (["1", "0"][cpu % 2], threads.as_str()))
            .collect();
        recorded(&cpus)
    }

    /// One package of 4 cores, whose threads have neighbouring numbers.
    fn one_socket() -> Topology {
        let threads = ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"];
        recorded(&threads.map(|threads| ("0", threads)))
    }

    /// A virtual machine of two CPUs without threads.
    fn virtual_machine() -> Topology {
        recorded(&[("0", "0"), ("0", "1")])
    }

    #[test]
    fn recorded_machines_have_the_clients_on_other_cores_of_the_package() {
        for (topology, subject, threads, load) in [
            // Three clients, as in the measurement that this machine was used for.
            (two_sockets(), None, 3, "3,5,7"),
            (two_sockets(), Some("0"), 3, "2,4,6"),
            // All other cores once, then their second threads, then the other package.
            (two_sockets(), Some("0"), 5, "2,4,6,8,10"),
            (two_sockets(), Some("0"), 6, "2,4,6,8,10,14"),
            (two_sockets(), Some("0"), 11, "1,2,4,6,8,10,14,16,18,20,22"),
            // The subject's own core comes last.
            (two_sockets(), Some("0"), 22, "1-11,13-23"),
            (two_sockets(), Some("0"), 23, "1-23"),
            (one_socket(), None, 2, "2,4"),
            (one_socket(), Some("0"), 4, "2,4,6,3"),
            (one_socket(), Some("0-1"), 4, "2,4,6,3"),
            (one_socket(), Some("0"), 7, "1-7"),
            (virtual_machine(), None, 3, "1"),
            (virtual_machine(), Some("1"), 1, "0"),
        ] {
            let wished = Cpus {
                subject: subject.map(list),
                load: None,
            };
            let placement = topology.place_server(&wished, threads).unwrap();
            assert_eq!(placement.load, list(load), "{subject:?} {threads}");
        }
        // Nothing told is one package.
        let bare = Topology::of(Path::new("/nonexistent"), 0..4);
        let placement = bare.place_server(&Cpus::default(), 2).unwrap();
        assert_eq!(placement.load, list("0,2"));
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

//! QEMU's threads on the plan's CPUs: each of the guest's CPUs on one of its own.

use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::super::guarded::Guarded;

/// How long QEMU may take to make its threads.
const PATIENCE: Duration = Duration::from_secs(10);

/// The host's CPUs under the guest's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCpus {
    /// The host's CPU of each of the guest's, in order.
    pub of_guest: Vec<usize>,
    /// CPUs of QEMU's other threads: its event loop, and who reads files for the guest.
    pub of_others: Vec<usize>,
}

/// What a thread of QEMU is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// One of the guest's CPUs.
    Cpu(usize),
    /// All of them in turn.
    AllCpus,
    /// Anything else.
    Other,
}

fn role(name: &str) -> Role {
    if name.starts_with("ALL CPUs/") {
        return Role::AllCpus;
    }
    let number = name
        .strip_prefix("CPU ")
        .and_then(|rest| rest.split_once('/')?.0.parse().ok());
    number.map_or(Role::Other, Role::Cpu)
}

/// Pins the threads of a QEMU that has started. Returns a reason where its CPUs cannot be pinned.
pub fn pin(qemu: &mut Guarded, cpus: &HostCpus) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let threads = threads(qemu);
        let of_cpus = threads
            .iter()
            .filter(|(_, role)| *role != Role::Other)
            .count();
        let all = threads.iter().any(|(_, role)| *role == Role::AllCpus)
            || of_cpus >= cpus.of_guest.len();
        if all {
            return threads
                .iter()
                .try_for_each(|(tid, role)| set(*tid, *role, cpus));
        }
        // One that has ended has more to say than that it could not be pinned.
        if qemu.has_ended() {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(format!(
                "QEMU made {of_cpus} of {} threads for the guest's CPUs",
                cpus.of_guest.len()
            ));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn threads(qemu: &Guarded) -> Vec<(i32, Role)> {
    let mut found = Vec::new();
    for process in qemu.processes() {
        let dir = format!("/proc/{}/task", process.pid);
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            if let Some(tid) = entry.file_name().to_str().and_then(|tid| tid.parse().ok()) {
                found.push((tid, role(name.trim_end())));
            }
        }
    }
    found
}

fn set(tid: i32, role: Role, cpus: &HostCpus) -> Result<(), String> {
    let wanted = match role {
        Role::Cpu(number) => cpus.of_guest.get(number).map(std::slice::from_ref),
        // The subject's CPUs come last.
        Role::AllCpus => cpus.of_guest.last().map(std::slice::from_ref),
        Role::Other => Some(cpus.of_others.as_slice()),
    };
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    let pinned = wanted
        .iter()
        .try_for_each(|cpu| set.set(*cpu))
        .and_then(|()| sched_setaffinity(Pid::from_raw(tid), &set));
    match (pinned, role) {
        // A helper that has ended meanwhile.
        (Ok(()), _) | (Err(_), Role::Other) => Ok(()),
        (Err(error), _) => Err(format!("cannot pin a CPU of the guest: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_names() {
        for (name, expected) in [
            ("CPU 0/TCG", Role::Cpu(0)),
            ("CPU 11/KVM", Role::Cpu(11)),
            ("ALL CPUs/TCG", Role::AllCpus),
            ("qemu-system-x86", Role::Other),
            ("worker", Role::Other),
            ("CPU x/TCG", Role::Other),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}

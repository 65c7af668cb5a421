//! Which CPU of the host is under which of the guest, and who runs there.

use crate::executor::guest::HostCpus;
use crate::plan::{CpuList, Guest};
use crate::trial::Placement;

/// Who runs where, in the guest and under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GuestCpus {
    /// The host's CPUs under the guest's.
    pub host: HostCpus,
    /// The guest's CPUs of subject and load.
    pub guest: Placement,
}

impl GuestCpus {
    /// One CPU for all.
    fn one(host: &Placement) -> Self {
        let first = CpuList::new(vec![0]);
        let load = host.load.as_slice();
        Self {
            host: HostCpus {
                of_guest: host
                    .subject
                    .as_slice()
                    .first()
                    .copied()
                    .into_iter()
                    .collect(),
                of_others: load.to_vec(),
            },
            guest: Placement {
                load: match load {
                    [] => CpuList::default(),
                    _ => first.clone(),
                },
                subject: first,
            },
        }
    }

    /// The guest's CPUs are numbered so: those that are the kernel's own, then the load's, then the
    /// subject's, so that what a kernel does on its first CPU disturbs the subject least.
    ///
    /// # Errors
    /// Where `guest.cpus` is fewer than the plan's CPUs, or more than there are.
    pub fn of(guest: &Guest, host: &Placement, allowed: &CpuList) -> Result<Self, String> {
        if guest.icount.is_some() {
            return Ok(Self::one(host));
        }
        let (subject, load) = (host.subject.as_slice(), host.load.as_slice());
        let used = subject.len() + load.len();
        let free = allowed.without(&host.subject).without(&host.load);
        let free = free.as_slice();
        let count = match guest.cpus {
            Some(cpus) => cpus.get() as usize,
            // A command's trial needs a place beside the command.
            None => used.max((1 + usize::from(!free.is_empty())).min(2)),
        };
        if count < used {
            return Err(format!(
                "guest.cpus is {count}, and subject and load have {used} CPUs (cpus.subject, cpus.load): each is one of the guest's"
            ));
        }
        let own = count - used;
        if own > free.len() {
            return Err(format!(
                "guest.cpus is {count}, and this process may use {} CPUs: each of the guest's needs one",
                allowed.as_slice().len()
            ));
        }
        let of_guest: Vec<usize> = free[..own]
            .iter()
            .chain(load)
            .chain(subject)
            .copied()
            .collect();
        let others = of_guest[..own + load.len()].to_vec();
        let range = |from: usize, to: usize| CpuList::new((from..to).collect());
        Ok(Self {
            guest: Placement {
                subject: range(own + load.len(), count),
                load: range(own, own + load.len()),
            },
            host: HostCpus {
                of_others: match others.is_empty() {
                    true => allowed.as_slice().to_vec(),
                    false => others,
                },
                of_guest,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(subject: &str, load: &str) -> Placement {
        let list = |text: &str| match text {
            "" => CpuList::default(),
            text => text.parse().unwrap(),
        };
        Placement {
            subject: list(subject),
            load: list(load),
        }
    }

    fn of(
        subject: &str,
        load: &str,
        cpus: Option<u32>,
        allowed: &str,
    ) -> Result<GuestCpus, String> {
        let guest = Guest {
            cpus: cpus.and_then(std::num::NonZeroU32::new),
            ..Guest::default()
        };
        GuestCpus::of(&guest, &placement(subject, load), &allowed.parse().unwrap())
    }

    #[test]
    fn each_cpu_of_the_guest_has_one_of_the_hosts() {
        for (case, on_host, subject, load, others) in [
            (("0", "1", None, "0-1"), vec![1, 0], "1", "0", vec![1]),
            (
                ("2-3", "1", None, "0-3"),
                vec![1, 2, 3],
                "1-2",
                "0",
                vec![1],
            ),
            (
                ("2", "1", Some(4), "0-3"),
                vec![0, 3, 1, 2],
                "3",
                "2",
                vec![0, 3, 1],
            ),
            // A command.
            (("1", "", None, "0-1"), vec![0, 1], "1", "", vec![0]),
            (("0", "", None, "0"), vec![0], "0", "", vec![0]),
        ] {
            let (of_subject, of_load, cpus, allowed) = case;
            let got = of(of_subject, of_load, cpus, allowed).unwrap();
            assert_eq!(got.host.of_guest, on_host, "{case:?}");
            assert_eq!(got.guest, placement(subject, load), "{case:?}");
            assert_eq!(got.host.of_others, others, "{case:?}");
        }
    }

    #[test]
    fn a_guest_whose_instructions_are_counted_has_one_cpu() {
        let guest = Guest {
            icount: Some(6),
            ..Guest::default()
        };
        for (subject, load, in_guest) in [("1", "0", "0"), ("1", "", "")] {
            let of =
                GuestCpus::of(&guest, &placement(subject, load), &"0-1".parse().unwrap()).unwrap();
            assert_eq!(of.host.of_guest, [1]);
            assert_eq!(of.guest, placement("0", in_guest));
        }
    }

    #[test]
    fn too_few_and_too_many_cpus_are_refused() {
        assert!(
            of("0", "1", Some(1), "0-1")
                .unwrap_err()
                .contains("guest.cpus is 1")
        );
        assert!(
            of("0", "1", Some(3), "0-1")
                .unwrap_err()
                .contains("may use 2 CPUs")
        );
    }
}

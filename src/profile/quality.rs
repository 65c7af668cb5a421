//! Whether a recording can be trusted.

use super::merge::add_accounting;
use super::model::Accounting;

/// Something that a reader must know of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// What it is, and what to do about it.
    pub text: String,
    /// Whether the recording must not be used.
    pub unusable: bool,
}

/// A kind of flaw: its share of samples from which on it is said, and from which on the recording
/// is not used.
struct Limit {
    doubtful: f64,
    unusable: f64,
}

/// Lost samples are not lost at random: they are those of the busiest moments.
const LOST: Limit = Limit {
    doubtful: 0.01,
    unusable: 0.10,
};

/// Inclusive costs of callers are too low by up to this share; self costs are right.
const TRUNCATED: Limit = Limit {
    doubtful: 0.05,
    unusable: f64::INFINITY,
};

/// A throttled event takes samples at another rate for up to a second, and says so in the periods.
const THROTTLED: Limit = Limit {
    doubtful: 0.01,
    unusable: 0.50,
};

/// Costs without a name cannot be compared. The build is like that, and another trial of it would
/// be too; what has a name and the throughput can still be judged.
const UNSYMBOLIZED: Limit = Limit {
    doubtful: 0.05,
    unusable: f64::INFINITY,
};

impl Accounting {
    /// Adds up what became of the samples of several recordings. Warnings, which are about one
    /// recording each, are left out.
    #[must_use]
    pub fn sum<'a>(recordings: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for recording in recordings {
            add_accounting(&mut sum, recording);
        }
        sum.warnings.clear();
        sum
    }

    /// Returns what casts doubt on the recording; nothing if nothing does.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        let taken = self.samples as f64;
        let mut doubts = Vec::new();
        let mut check = |part: u64, whole: f64, limit: &Limit, text: &dyn Fn(f64) -> String| {
            let share = part as f64 / whole.max(1.0);
            if share >= limit.doubtful {
                doubts.push(Doubt {
                    text: text(100.0 * share),
                    unusable: share >= limit.unusable,
                });
            }
        };
        check(self.lost, taken + self.lost as f64, &LOST, &|share| {
            format!(
                "{share:.1} % of the samples were lost: the sampler got too little CPU time; give \
                 it a CPU of its own or lower the frequency"
            )
        });
        check(self.throttled, taken, &THROTTLED, &|share| {
            format!(
                "the kernel throttled sampling {} times ({share:.1} % of the samples); lower the \
                 frequency, or raise kernel.perf_cpu_time_max_percent",
                self.throttled
            )
        });
        check(self.truncated, taken, &TRUNCATED, &|share| {
            format!(
                "{share:.1} % of the stacks end before their thread's start{}, so callers count too \
                 little; build with frame pointers, or sample with call-graph `dwarf`",
                self.worst(|module| module.truncated)
            )
        });
        check(self.unsymbolized, taken, &UNSYMBOLIZED, &|share| {
            format!(
                "{share:.1} % of the samples have no function name{}; build without stripping, or \
                 install debug symbols (for the C library Debian's libc6-dbg)",
                self.worst(|module| module.unsymbolized)
            )
        });
        doubts
    }

    /// Names the module with the most of something.
    fn worst(&self, count: impl Fn(&super::model::ModuleAccounting) -> u64) -> String {
        self.modules
            .iter()
            .max_by_key(|(_, module)| count(module))
            .filter(|(_, module)| count(module) > 0)
            .map_or_else(String::new, |(name, _)| {
                format!(" (most of them in {name})")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::ModuleAccounting;
    use super::*;

    #[test]
    fn doubts_grow_with_the_share() {
        let of = |lost, truncated, unsymbolized| {
            let accounting = Accounting {
                samples: 1000,
                lost,
                truncated,
                unsymbolized,
                ..Accounting::default()
            };
            let doubts = accounting.doubts();
            (doubts.len(), doubts.iter().any(|doubt| doubt.unusable))
        };
        assert_eq!(of(0, 0, 0), (0, false));
        assert_eq!(of(9, 49, 49), (0, false));
        assert_eq!(of(20, 50, 50), (3, false));
        assert_eq!(of(200, 0, 0), (1, true));
        assert_eq!(of(0, 1000, 0), (1, false));
        assert_eq!(of(0, 0, 1000), (1, false));
        assert_eq!(Accounting::default().doubts(), []);
        let throttled = |times| Accounting {
            samples: 1000,
            throttled: times,
            ..Accounting::default()
        };
        assert_eq!(throttled(9).doubts(), []);
        assert!(!throttled(10).doubts()[0].unusable);
        assert!(throttled(500).doubts()[0].unusable);
    }

    #[test]
    fn the_worst_module_is_named() {
        let module = |unsymbolized| ModuleAccounting {
            samples: 50,
            unsymbolized,
            truncated: 0,
        };
        let accounting = Accounting {
            samples: 100,
            unsymbolized: 40,
            modules: [("a.so", module(10)), ("b.so", module(30))]
                .map(|(name, module)| (name.to_owned(), module))
                .into(),
            ..Accounting::default()
        };
        let twice = Accounting::sum([&accounting, &accounting]);
        assert_eq!(twice.samples, 200);
        assert_eq!(twice.modules["b.so"].unsymbolized, 60);
        let doubts = twice.doubts();
        assert_eq!(doubts.len(), 1);
        assert!(doubts[0].text.starts_with("40.0 %"), "{}", doubts[0].text);
        assert!(doubts[0].text.contains("b.so"), "{}", doubts[0].text);
    }
}

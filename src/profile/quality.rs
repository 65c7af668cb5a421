//! Whether a recording can be trusted.

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

/// Costs without a name cannot be compared.
const UNSYMBOLIZED: Limit = Limit {
    doubtful: 0.10,
    unusable: 0.95,
};

impl Accounting {
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
                 install debug symbols",
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
        assert_eq!(of(9, 49, 99), (0, false));
        assert_eq!(of(20, 50, 100), (3, false));
        assert_eq!(of(200, 0, 0), (1, true));
        assert_eq!(of(0, 1000, 0), (1, false));
        assert_eq!(of(0, 0, 960), (1, true));
        assert_eq!(Accounting::default().doubts(), []);
    }
}

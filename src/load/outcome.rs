//! What a load comes to.

use hdrhistogram::Histogram;

pub use super::command::Role;

/// Names a stretch of a continuous run; chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(
    /// The name.
    pub u32,
);

/// Longest latency that is told apart, in nanoseconds: an hour. Longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Latencies of operations in nanoseconds, to three digits.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum_ns: u128,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            // The lower bound makes 16 ns the finest step, which is below what a clock read takes.
            histogram: Histogram::new_with_bounds(16, LONGEST_NS, 3)
                .expect("the bounds are constants that the library allows"),
            sum_ns: 0,
        }
    }
}

impl Latency {
    /// Counts `count` operations of `ns` nanoseconds each.
    #[inline]
    pub fn record(&mut self, ns: u64, count: u64) {
        self.histogram.saturating_record_n(ns.max(1), count);
        self.sum_ns += u128::from(ns) * u128::from(count);
    }

    /// Adds the operations of another.
    pub fn merge(&mut self, other: &Latency) {
        // Both have the same bounds: nothing can be out of range.
        let _ = self.histogram.add(&other.histogram);
        self.sum_ns += other.sum_ns;
    }

    /// Number of operations.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Arithmetic mean in nanoseconds; 0 without operations.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 {
            0.0
        } else {
            self.sum_ns as f64 / self.count() as f64
        }
    }

    /// Least latency in nanoseconds; 0 without operations.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 {
            0
        } else {
            self.histogram.min()
        }
    }

    /// Greatest latency in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }

    /// The latency that `percentile` per cent of the operations do not exceed, in nanoseconds;
    /// 0 without operations.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        if self.count() == 0 {
            0
        } else {
            self.histogram.value_at_percentile(percentile)
        }
    }

    /// The histogram itself; values in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }
}

/// What one command came to in one window.
#[derive(Debug, Clone)]
pub struct CommandStats {
    /// Name of the command.
    pub name: String,
    /// What it counts as.
    pub role: Role,
    /// Replies that came, none of them an error.
    pub ops: u64,
    /// Keys that were found; of reads only.
    pub hits: u64,
    /// Keys that were not found; of reads only.
    pub misses: u64,
    /// Bytes sent for them.
    pub sent_bytes: u64,
    /// Bytes received for them.
    pub received_bytes: u64,
    /// From sending to the reply; under an open loop from when sending was due.
    pub latency: Latency,
}

/// What happened between entering a window and entering the next one.
#[derive(Debug, Clone)]
pub struct WindowStats {
    /// Which window.
    pub id: WindowId,
    /// Its length in nanoseconds of wall time.
    pub duration_ns: u64,
    /// CPU time that all client threads took, in nanoseconds. A thread changes windows with the
    /// first reply that it reads in the new one.
    pub client_cpu_ns: u64,
    /// CPU time of the client thread that took most, in nanoseconds. Close to
    /// [`WindowStats::duration_ns`], the client was the limit, not the server.
    pub busiest_client_cpu_ns: u64,
    /// By command, in the order of the specification.
    pub commands: Vec<CommandStats>,
}

impl WindowStats {
    fn sum(&self, value: impl Fn(&CommandStats) -> u64) -> u64 {
        self.commands.iter().map(value).sum()
    }

    fn sum_role(&self, role: Role, value: impl Fn(&CommandStats) -> u64) -> u64 {
        self.commands
            .iter()
            .filter(|command| command.role == role)
            .map(value)
            .sum()
    }

    /// Operations of all commands.
    pub fn ops(&self) -> u64 {
        self.sum(|command| command.ops)
    }

    /// SETs.
    pub fn sets(&self) -> u64 {
        self.sum_role(Role::Set, |command| command.ops)
    }

    /// GETs.
    pub fn gets(&self) -> u64 {
        self.sum_role(Role::Get, |command| command.ops)
    }

    /// Keys found by GETs.
    pub fn hits(&self) -> u64 {
        self.sum(|command| command.hits)
    }

    /// Keys that GETs did not find.
    pub fn misses(&self) -> u64 {
        self.sum(|command| command.misses)
    }

    /// Bytes sent and received.
    pub fn bytes(&self) -> u64 {
        self.sum(|command| command.sent_bytes + command.received_bytes)
    }

    /// Operations per second; 0 for an empty window.
    pub fn ops_per_second(&self) -> f64 {
        if self.duration_ns == 0 {
            0.0
        } else {
            self.ops() as f64 * 1e9 / self.duration_ns as f64
        }
    }

    /// Share of the window that the busiest client thread was on its CPU, 0 to 1.
    pub fn client_busy(&self) -> f64 {
        if self.duration_ns == 0 {
            0.0
        } else {
            self.busiest_client_cpu_ns as f64 / self.duration_ns as f64
        }
    }

    /// Latencies of all commands together.
    pub fn latency(&self) -> Latency {
        let mut latency = Latency::default();
        for command in &self.commands {
            latency.merge(&command.latency);
        }
        latency
    }
}

/// What a bounded run came to.
#[derive(Debug, Clone)]
pub struct LoadOutcome {
    /// The whole run as one window.
    pub total: WindowStats,
    /// Second by second, where [`super::RunOptions::series`] asks for it.
    pub series: Vec<super::Second>,
    /// When loading began, in nanoseconds since 1970.
    pub started_unix_ns: u128,
    /// Seed of the keys, which differs from the specification's under `randomize`.
    pub seed: u64,
}

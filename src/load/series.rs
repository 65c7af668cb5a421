//! What happened in each second of a run.
//!
//! The threads hand in a second when they have left it; once all have, only its summary is kept,
//! so that a long run takes little memory.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

/// Latencies of one second, to two digits: small enough to be made anew every second.
#[derive(Debug, Clone)]
pub(crate) struct SecondLatency {
    histogram: Histogram<u64>,
    sum_ns: u128,
}

impl Default for SecondLatency {
    fn default() -> Self {
        SecondLatency {
            histogram: Histogram::new_with_bounds(256, 3_600_000_000_000, 2)
                .expect("the bounds are constants that the library allows"),
            sum_ns: 0,
        }
    }
}

impl SecondLatency {
    #[inline]
    pub fn record(&mut self, ns: u64, count: u64) {
        self.histogram.saturating_record_n(ns.max(1), count);
        self.sum_ns += u128::from(ns) * u128::from(count);
    }

    fn merge(&mut self, other: &SecondLatency) {
        // Both have the same bounds: nothing can be out of range.
        let _ = self.histogram.add(&other.histogram);
        self.sum_ns += other.sum_ns;
    }
}

/// Counts of one command in one second.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecondCounts {
    pub ops: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub latency: SecondLatency,
}

impl SecondCounts {
    fn merge(&mut self, other: &SecondCounts) {
        self.ops += other.ops;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.latency.merge(&other.latency);
    }

    fn summary(&self, percentiles: &[f64]) -> SecondStats {
        let histogram = &self.latency.histogram;
        SecondStats {
            ops: self.ops,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            latency_sum_ns: self.latency.sum_ns,
            min_ns: if histogram.is_empty() {
                0
            } else {
                histogram.min()
            },
            max_ns: histogram.max(),
            percentiles_ns: percentiles
                .iter()
                .map(|percentile| histogram.value_at_percentile(*percentile))
                .collect(),
        }
    }
}

/// One command, or all of them, in one second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondStats {
    /// Replies that came.
    pub ops: u64,
    /// Bytes sent for them.
    pub sent_bytes: u64,
    /// Bytes received for them.
    pub received_bytes: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_sum_ns: u128,
    /// Least latency in nanoseconds; 0 without operations.
    pub min_ns: u64,
    /// Greatest latency in nanoseconds.
    pub max_ns: u64,
    /// Latencies in nanoseconds at the percentiles that were asked for; 0 without operations.
    pub percentiles_ns: Vec<u64>,
}

/// One second of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Second {
    /// Number of the second, counted from 0 at the start.
    pub second: u64,
    /// By command, in the order of the specification.
    pub commands: Vec<SecondStats>,
    /// All commands together.
    pub total: SecondStats,
}

/// Puts the threads' seconds together.
#[derive(Debug)]
pub(crate) struct Collector {
    percentiles: Vec<f64>,
    /// Seconds that some thread has not left.
    open: BTreeMap<u64, Vec<SecondCounts>>,
    /// The second that each thread is in; `u64::MAX` once it has ended.
    now: Vec<u64>,
    closed: Vec<Second>,
}

impl Collector {
    /// For that many threads.
    pub fn new(threads: usize, percentiles: &[f64]) -> Collector {
        Collector {
            percentiles: percentiles.to_vec(),
            open: BTreeMap::new(),
            now: vec![0; threads],
            closed: Vec::new(),
        }
    }

    /// A thread has left a second, in which it counted `counts`, and is in `next` now.
    pub fn leave(&mut self, thread: usize, second: u64, counts: Vec<SecondCounts>, next: u64) {
        match self.open.entry(second) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(counts);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                for (mine, theirs) in entry.get_mut().iter_mut().zip(&counts) {
                    mine.merge(theirs);
                }
            }
        }
        if let Some(now) = self.now.get_mut(thread) {
            *now = next;
        }
        let all_left = self.now.iter().copied().min().unwrap_or(u64::MAX);
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= all_left {
                break;
            }
            let (second, counts) = entry.remove_entry();
            let mut total = SecondCounts::default();
            for command in &counts {
                total.merge(command);
            }
            self.closed.push(Second {
                second,
                commands: counts
                    .iter()
                    .map(|command| command.summary(&self.percentiles))
                    .collect(),
                total: total.summary(&self.percentiles),
            });
        }
    }

    /// Operations in the last whole second, and its number.
    pub fn latest(&self) -> Option<(u64, u64)> {
        let last = self.closed.last()?;
        Some((last.second, last.total.ops))
    }

    /// All seconds; every thread must have ended.
    pub fn take(&mut self) -> Vec<Second> {
        std::mem::take(&mut self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ops: u64, ns: u64) -> Vec<SecondCounts> {
        let mut counts = SecondCounts {
            ops,
            sent_bytes: ops * 2,
            received_bytes: ops * 3,
            ..SecondCounts::default()
        };
        counts.latency.record(ns, ops);
        vec![counts]
    }

    #[test]
    fn a_second_is_closed_when_the_last_thread_leaves_it() {
        let mut collector = Collector::new(2, &[50.0]);
        collector.leave(0, 0, counts(10, 1_000_000), 1);
        assert_eq!(collector.latest(), None);
        collector.leave(1, 0, counts(30, 3_000_000), 2);
        assert_eq!(collector.latest(), Some((0, 40)));
        collector.leave(0, 1, counts(5, 1_000_000), u64::MAX);
        collector.leave(1, 2, counts(1, 1_000_000), u64::MAX);
        let seconds = collector.take();
        let ops: Vec<_> = seconds.iter().map(|s| (s.second, s.total.ops)).collect();
        assert_eq!(ops, [(0, 40), (1, 5), (2, 1)]);
        let first = &seconds[0].total;
        assert_eq!((first.sent_bytes, first.received_bytes), (80, 120));
        assert_eq!(first.latency_sum_ns, 100_000_000);
        let near = |value: u64, expected: f64| (value as f64 / expected - 1.0).abs() < 0.01;
        assert!(near(first.min_ns, 1e6) && near(first.max_ns, 3e6));
        assert!(near(first.percentiles_ns[0], 3e6));
    }
}

//! What one client thread counts in one window.

use super::command::CommandTemplate;
use super::outcome::{CommandStats, Latency};
use super::series::SecondCounts;

/// Counts of one command.
#[derive(Debug, Default)]
pub(crate) struct CommandRecorder {
    pub ops: u64,
    pub hits: u64,
    pub misses: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    latency: Latency,
    /// Counts of the second under way, where a series is wanted.
    second: Option<Box<SecondCounts>>,
    /// `ops`, `sent_bytes` and `received_bytes` when the second began.
    mark: [u64; 3],
}

impl CommandRecorder {
    /// Records the latency of `count` operations.
    #[inline]
    pub fn latency(&mut self, ns: u64, count: u64) {
        self.latency.record(ns, count);
        if let Some(second) = &mut self.second {
            second.latency.record(ns, count);
        }
    }

    fn take_second(&mut self) -> Option<SecondCounts> {
        let mut counts = std::mem::take(&mut **self.second.as_mut()?);
        let now = [self.ops, self.sent_bytes, self.received_bytes];
        let [ops, sent, received] = std::mem::replace(&mut self.mark, now);
        counts.ops = self.ops - ops;
        counts.sent_bytes = self.sent_bytes - sent;
        counts.received_bytes = self.received_bytes - received;
        Some(counts)
    }
}

/// Counts of all commands of one thread in one window.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// By command, in the order of the specification.
    pub commands: Vec<CommandRecorder>,
}

impl Recorder {
    /// Nothing counted yet; with `seconds` what is counted can be taken out second by second.
    pub fn new(commands: usize, seconds: bool) -> Recorder {
        let command = |_| CommandRecorder {
            second: seconds.then(Box::default),
            ..CommandRecorder::default()
        };
        Recorder {
            commands: (0..commands).map(command).collect(),
        }
    }

    /// What was counted since the last call, by command.
    pub fn take_second(&mut self) -> Vec<SecondCounts> {
        self.commands
            .iter_mut()
            .filter_map(CommandRecorder::take_second)
            .collect()
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Recorder) {
        for (mine, theirs) in self.commands.iter_mut().zip(&other.commands) {
            mine.ops += theirs.ops;
            mine.hits += theirs.hits;
            mine.misses += theirs.misses;
            mine.sent_bytes += theirs.sent_bytes;
            mine.received_bytes += theirs.received_bytes;
            mine.latency.merge(&theirs.latency);
        }
    }

    /// Puts the commands' names to the counts.
    pub fn into_stats<'a>(
        self,
        templates: impl Iterator<Item = &'a CommandTemplate>,
    ) -> Vec<CommandStats> {
        self.commands
            .into_iter()
            .zip(templates)
            .map(|(counts, template)| CommandStats {
                name: template.name.clone(),
                role: template.role,
                ops: counts.ops,
                hits: counts.hits,
                misses: counts.misses,
                sent_bytes: counts.sent_bytes,
                received_bytes: counts.received_bytes,
                latency: counts.latency,
            })
            .collect()
    }
}

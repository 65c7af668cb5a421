//! What one client thread counts in one window.

use super::command::CommandTemplate;
use super::outcome::{CommandStats, Latency};

/// Counts of one command.
#[derive(Debug, Default)]
pub(crate) struct CommandRecorder {
    pub ops: u64,
    pub hits: u64,
    pub misses: u64,
    pub bytes: u64,
    pub latency: Latency,
}

/// Counts of all commands of one thread in one window.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// By command, in the order of the specification.
    pub commands: Vec<CommandRecorder>,
}

impl Recorder {
    /// Nothing counted yet.
    pub fn new(commands: usize) -> Recorder {
        Recorder {
            commands: (0..commands).map(|_| CommandRecorder::default()).collect(),
        }
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Recorder) {
        for (mine, theirs) in self.commands.iter_mut().zip(&other.commands) {
            mine.ops += theirs.ops;
            mine.hits += theirs.hits;
            mine.misses += theirs.misses;
            mine.bytes += theirs.bytes;
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
                bytes: counts.bytes,
                latency: counts.latency,
            })
            .collect()
    }
}

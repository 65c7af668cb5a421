//! Records of many rings in the order of their times.
//!
//! Each ring holds one CPU's records, nearly in order; between rings there is no order. A record
//! may be written a moment after its time was taken, so after a round over all rings only what is
//! older than the start of the round *before* can be let go: by then every ring has been read once
//! more.

use super::record::{RecordError, time_of};

/// Rounds whose bytes may still be waited for.
const ROUNDS: usize = 3;

/// Holds records back until nothing older can come.
#[derive(Debug, Default)]
pub struct TimeMerge {
    /// Bytes by round, reused.
    arenas: [Vec<u8>; ROUNDS],
    arena: usize,
    waiting: Vec<Entry>,
    ready: Vec<Entry>,
    last_round: u64,
    this_round: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    time: u64,
    arena: usize,
    start: usize,
    len: usize,
}

impl TimeMerge {
    /// Starts a round of reading all rings; `now` is the clock of the records.
    pub fn begin_round(&mut self, now: u64) {
        self.last_round = self.this_round;
        self.this_round = now;
        self.arena = (self.arena + 1) % ROUNDS;
        debug_assert!(self.waiting.iter().all(|entry| entry.arena != self.arena));
        self.arenas[self.arena].clear();
    }

    /// Takes one record of this round.
    pub fn push(&mut self, record: &[u8]) -> Result<(), RecordError> {
        let time = time_of(record)?;
        let arena = &mut self.arenas[self.arena];
        self.waiting.push(Entry {
            time,
            arena: self.arena,
            start: arena.len(),
            len: record.len(),
        });
        arena.extend_from_slice(record);
        Ok(())
    }

    /// Hands on, oldest first, what nothing older can follow.
    pub fn end_round(&mut self, each: impl FnMut(&[u8])) {
        self.release(self.last_round, each);
    }

    /// Hands on all that is left, oldest first.
    pub fn finish(&mut self, each: impl FnMut(&[u8])) {
        self.release(u64::MAX, each);
    }

    fn release(&mut self, until: u64, mut each: impl FnMut(&[u8])) {
        // A record that is two rounds old has waited long enough, whatever its time says: a clock
        // that runs wild must not make the wait endless.
        let oldest = (self.arena + 1) % ROUNDS;
        self.ready.clear();
        let ready = &mut self.ready;
        self.waiting.retain(|entry| {
            let keep = entry.time > until && entry.arena != oldest;
            if !keep {
                ready.push(*entry);
            }
            keep
        });
        // Stable, so that records of the same time and ring keep their order.
        ready.sort_by_key(|entry| entry.time);
        for entry in ready {
            each(&self.arenas[entry.arena][entry.start..entry.start + entry.len]);
        }
    }
}

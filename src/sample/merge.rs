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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode::Encoded;
    use super::*;

    /// Records of a ring in one round, by time; each carries its own number as its count.
    type Rounds = Vec<Vec<Vec<u64>>>;

    /// Feeds rounds of rings to a merge; returns the times in the order of release.
    fn merged(rounds: &Rounds, starts: &[u64]) -> Vec<u64> {
        let mut merge = TimeMerge::default();
        let mut released = Vec::new();
        let mut take = |bytes: &[u8]| released.push(time_of(bytes).unwrap());
        for (rings, start) in rounds.iter().zip(starts) {
            merge.begin_round(*start);
            for time in rings.iter().flatten() {
                merge.push(&Encoded::lost(1, *time).0).unwrap();
            }
            merge.end_round(&mut take);
        }
        merge.finish(&mut take);
        released
    }

    #[test]
    fn what_may_still_be_preceded_waits() {
        let mut merge = TimeMerge::default();
        let mut released = Vec::new();
        merge.begin_round(100);
        merge.push(&Encoded::lost(1, 90).0).unwrap();
        merge.push(&Encoded::lost(1, 110).0).unwrap();
        merge.end_round(|_| panic!("too early"));
        merge.begin_round(200);
        // Written late by another CPU.
        merge.push(&Encoded::lost(1, 80).0).unwrap();
        merge.push(&Encoded::lost(1, 190).0).unwrap();
        merge.end_round(|bytes| released.push(time_of(bytes).unwrap()));
        assert_eq!(released, [80, 90]);
        merge.begin_round(300);
        merge.end_round(|bytes| released.push(time_of(bytes).unwrap()));
        assert_eq!(released, [80, 90, 110, 190]);
    }

    #[test]
    fn damaged_records_are_refused() {
        let mut merge = TimeMerge::default();
        merge.begin_round(1);
        assert!(merge.push(&[]).is_err());
        assert!(merge.push(&[1, 2, 3]).is_err());
        merge.finish(|_| panic!("nothing was taken"));
    }

    proptest! {
        /// Records that reach a ring before the round after next are released in order of time,
        /// and none is lost or doubled.
        #[test]
        fn records_come_out_in_order(
            records in proptest::collection::vec((0_u64..1000, 0_usize..4, 0_usize..2), 0..200),
        ) {
            let starts: Vec<u64> = (1..=12).map(|round| round * 100).collect();
            let mut rounds: Rounds = vec![vec![Vec::new(); 4]; starts.len()];
            for (time, ring, late) in &records {
                // Read in the first round that starts after it, or in the one after that.
                let first = starts.iter().position(|start| start > time).unwrap();
                rounds[first + late][*ring].push(*time);
            }
            let released = merged(&rounds, &starts);
            let mut expected: Vec<u64> = records.iter().map(|(time, _, _)| *time).collect();
            expected.sort_unstable();
            prop_assert_eq!(released, expected);
        }

        /// Whatever the times, nothing is lost or doubled.
        #[test]
        fn nothing_is_lost(
            rounds in proptest::collection::vec(
                proptest::collection::vec(proptest::collection::vec(any::<u64>(), 0..5), 0..4),
                0..8,
            ),
            starts in proptest::collection::vec(any::<u64>(), 8),
        ) {
            let mut released = merged(&rounds, &starts);
            let mut expected: Vec<u64> = rounds.iter().flatten().flatten().copied().collect();
            released.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(released, expected);
        }
    }
}

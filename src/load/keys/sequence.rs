//! Keys one after the other (patterns S and P).

/// From the first key to the last, and from the first again.
#[derive(Debug, Clone)]
pub struct Sequence {
    first: u64,
    last: u64,
    next: u64,
}

impl Sequence {
    /// Begins at `first`; `last` must not be less.
    pub fn new(first: u64, last: u64) -> Sequence {
        Sequence {
            first,
            last,
            next: first,
        }
    }

    /// The next key.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        let key = self.next;
        self.next = if key >= self.last {
            self.first
        } else {
            key + 1
        };
        key
    }
}

/// First and last key of client `client` of `clients` under pattern P.
///
/// memtier_benchmark gives every client `(max - min) / clients + 1` keys and the last one the
/// rest. Where that would run over the end before the last client (0 to 10 with 7 clients), the
/// keys are dealt out evenly instead: the first `keys % clients` clients get one more. Both ways
/// every key belongs to exactly one client. `clients` must not exceed the number of keys.
pub fn parallel_part(min: u64, max: u64, clients: u64, client: u64) -> (u64, u64) {
    let length = u128::from(max - min);
    let (count, index) = (u128::from(clients), u128::from(client));
    let part = length / count + 1;
    let (first, past) = if part * (count - 1) <= length {
        let past = if index + 1 == count {
            length + 1
        } else {
            part * (index + 1)
        };
        (part * index, past)
    } else {
        let (each, extra) = ((length + 1) / count, (length + 1) % count);
        let start = |index: u128| each * index + index.min(extra);
        (start(index), start(index + 1))
    };
    // Both are at most `length`, which came from a u64.
    (min + first as u64, min + (past - 1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_wraps() {
        let mut sequence = Sequence::new(3, 5);
        let keys: Vec<u64> = (0..7).map(|_| sequence.draw()).collect();
        assert_eq!(keys, [3, 4, 5, 3, 4, 5, 3]);
    }

    #[test]
    fn the_formula_of_the_original_where_it_holds() {
        assert_eq!(parallel_part(0, 10_000_000, 200, 0), (0, 50_000));
        assert_eq!(parallel_part(0, 10_000_000, 200, 1), (50_001, 100_001));
        assert_eq!(
            parallel_part(0, 10_000_000, 200, 199),
            (9_950_199, 10_000_000)
        );
    }

    #[test]
    fn parts_cover_every_key_once() {
        let mut cases = vec![(1, 1_000_000, 100), (0, 10, 7), (5, 5, 1), (0, 99, 100)];
        for length in 1..60 {
            for clients in 1..=length {
                cases.push((17, 16 + length, clients));
            }
        }
        cases.push((0, u64::MAX, 3));
        for (min, max, clients) in cases {
            let mut expected = u128::from(min);
            for client in 0..clients {
                let (first, last) = parallel_part(min, max, clients, client);
                assert_eq!(u128::from(first), expected, "{min}..{max} / {clients}");
                assert!(last >= first && last <= max, "{min}..{max} / {clients}");
                expected = u128::from(last) + 1;
            }
            assert_eq!(expected, u128::from(max) + 1, "{min}..{max} / {clients}");
        }
    }
}

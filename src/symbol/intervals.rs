//! Named address ranges.

/// A symbol: a range of addresses and something that leads to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval<T> {
    /// First address.
    pub start: u64,
    /// One past the last address; equal to `start` where the size is not known.
    pub end: u64,
    /// The better of several symbols with the same range has the higher rank.
    pub rank: u8,
    /// What leads to the name.
    pub name: T,
}

/// Symbols by address, which may nest and overlap.
#[derive(Debug, Clone)]
pub struct Intervals<T> {
    sorted: Vec<Interval<T>>,
}

/// How far before an address the symbol that holds it may stand, in symbols.
const MOST_NESTED: usize = 16;

impl<T: Copy> Intervals<T> {
    /// Sorts symbols. One without a size reaches to the next.
    pub fn new(mut symbols: Vec<Interval<T>>) -> Self {
        symbols.sort_by_key(|symbol| (symbol.start, symbol.end, symbol.rank));
        let mut next_start = u64::MAX;
        for at in (0..symbols.len()).rev() {
            let start = symbols[at].start;
            let following = symbols.get(at + 1).map_or(u64::MAX, |next| next.start);
            if following != start {
                next_start = following;
            }
            if symbols[at].end == start && next_start != u64::MAX {
                symbols[at].end = next_start;
                symbols[at].rank = 0;
            }
        }
        symbols.sort_by_key(|symbol| (symbol.start, symbol.end, symbol.rank));
        Self { sorted: symbols }
    }

    /// Returns the symbol that holds an address: of several the one that starts last, of those the
    /// one of highest rank.
    pub fn find(&self, address: u64) -> Option<&Interval<T>> {
        let after = self
            .sorted
            .partition_point(|symbol| symbol.start <= address);
        let before = &self.sorted[..after];
        let mut best: Option<&Interval<T>> = None;
        for symbol in before.iter().rev().take(MOST_NESTED) {
            if best.is_some_and(|best| best.start != symbol.start) {
                break;
            }
            if address < symbol.end && best.is_none_or(|best| best.rank < symbol.rank) {
                best = Some(symbol);
            }
        }
        best
    }

    /// Returns whether there is none.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_symbol_holds_an_address() {
        let symbol = |start, end, rank, name| Interval {
            start,
            end,
            rank,
            name,
        };
        let symbols = Intervals::new(vec![
            symbol(0x10, 0x20, 1, "weak"),
            symbol(0x10, 0x20, 2, "global"),
            symbol(0x30, 0x30, 1, "label"),
            symbol(0x40, 0x80, 1, "outer"),
            symbol(0x50, 0x60, 1, "inner"),
            symbol(0x90, 0x90, 1, "last"),
        ]);
        let cases = [
            (0x0f, None),
            (0x10, Some("global")),
            (0x1f, Some("global")),
            (0x20, None),
            (0x30, Some("label")),
            (0x3f, Some("label")),
            (0x4f, Some("outer")),
            (0x55, Some("inner")),
            (0x60, Some("outer")),
            (0x80, None),
            (0x90, None),
            (u64::MAX, None),
        ];
        for (address, name) in cases {
            assert_eq!(symbols.find(address).map(|s| s.name), name, "{address:#x}");
        }
        assert!(Intervals::<u8>::new(Vec::new()).find(0).is_none());
    }
}

//! Stacks of several recordings, merged in the order in which a tree grows.
//!
//! Ordered by bytes, as most folded files are, all stacks that have a frame and something above it
//! stand together, so that the frame is complete when a stack comes that does not have it. A stack
//! that ends in the frame may stand apart from them (`f`, `f2;g`, `f;g`): the frame is met twice
//! then, and one of the two has nothing above it.

use std::cmp::Ordering;
use std::convert::Infallible;

use crate::profile::format::folded::FoldedLine;

/// Stacks of one recording ordered by bytes, one at a time.
pub trait SortedStacks {
    /// Why the next stack cannot be read.
    type Error;

    /// The present stack (frames joined by `;`, root first) and its samples; none after the last.
    fn current(&self) -> Option<(&[u8], u64)>;

    /// Goes on to the next stack.
    fn advance(&mut self) -> Result<(), Self::Error>;
}

/// Stacks in memory.
#[derive(Debug)]
pub struct Lines<'a> {
    lines: Vec<FoldedLine<'a>>,
    at: usize,
}

impl<'a> Lines<'a> {
    /// Orders lines.
    pub fn new(mut lines: Vec<FoldedLine<'a>>) -> Self {
        // Stable, since it takes what is sorted already (as most files are) as it comes.
        lines.sort_by(|a, b| a.stack.cmp(b.stack));
        Self { lines, at: 0 }
    }
}

impl SortedStacks for Lines<'_> {
    type Error = Infallible;

    fn current(&self) -> Option<(&[u8], u64)> {
        let line = self.lines.get(self.at)?;
        Some((line.stack, line.count))
    }

    fn advance(&mut self) -> Result<(), Infallible> {
        self.at += 1;
        Ok(())
    }
}

/// Calls back for every stack of all recordings in their order: recording, stack, samples. Of
/// equal stacks the first recording's comes first.
pub(super) fn in_order<S: SortedStacks>(
    sources: &mut [S],
    mut each: impl FnMut(usize, &[u8], u64),
) -> Result<(), S::Error> {
    let order = |sources: &[S], a: usize, b: usize| {
        let stack = |run: usize| sources[run].current().map_or(&[][..], |(stack, _)| stack);
        stack(a).cmp(stack(b)).then(a.cmp(&b))
    };
    // Recordings that have stacks left, the one with the first stack last.
    let mut waiting: Vec<usize> = (0..sources.len())
        .filter(|&run| sources[run].current().is_some())
        .collect();
    waiting.sort_by(|&a, &b| order(sources, b, a));
    while let Some(run) = waiting.pop() {
        // As long as it is first, nothing else moves.
        while let Some((stack, count)) = sources[run].current() {
            each(run, stack, count);
            sources[run].advance()?;
            let next = waiting.last();
            if next.is_some_and(|&next| order(sources, run, next) == Ordering::Greater) {
                break;
            }
        }
        if sources[run].current().is_some() {
            let at = waiting.partition_point(|&other| order(sources, other, run).is_gt());
            waiting.insert(at, run);
        }
    }
    Ok(())
}

/// The number of bytes that two texts share from their beginning.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a8, _) = a.as_chunks::<8>();
    let (b8, _) = b.as_chunks::<8>();
    let mut at = 0;
    for (x, y) in a8.iter().zip(b8) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..]
        .iter()
        .zip(&b[at..])
        .take_while(|(x, y)| x == y)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::format::folded::{Column, parse};

    #[test]
    fn several_recordings_are_merged() {
        let mut sources: Vec<Lines<'_>> = ["c 1\na 2\n", "", "b 3\nc 4\n", "a 5\nd 6\n"]
            .iter()
            .map(|text| Lines::new(parse(text.as_bytes(), Column::Only).unwrap()))
            .collect();
        let mut seen = Vec::new();
        let merged = in_order(&mut sources, |run, stack, count| {
            seen.push((run, stack[0], count));
        });
        assert_eq!(merged, Ok(()));
        let expected = [
            (0, b'a', 2),
            (3, b'a', 5),
            (2, b'b', 3),
            (0, b'c', 1),
            (2, b'c', 4),
            (3, b'd', 6),
        ];
        assert_eq!(seen, expected);
    }
}

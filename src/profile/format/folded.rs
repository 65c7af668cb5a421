//! Reads folded stacks: one line a stack, root first, frames joined by `;`, then a space and a
//! count. What compares two profiles (`difffolded.pl`, inferno-diff-folded) writes two counts.

use thiserror::Error;

use crate::profile::{Profile, folded_lines};

use super::builder::Builder;
use super::error::FormatError;

/// Which count of a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The only one: a number before it belongs to the last frame's name.
    Only,
    /// The first of two: what was before.
    Base,
    /// The last of two: what is after.
    Head,
}

/// A stack and its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedLine<'a> {
    /// Frames joined by `;`, root first. Not necessarily UTF-8.
    pub stack: &'a [u8],
    /// Number of samples.
    pub count: u64,
}

/// What is wrong with a folded file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct FoldedError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: FoldedProblem,
}

/// What is wrong with a folded line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoldedProblem {
    /// No number at the end.
    #[error("no count at its end; a folded line is `frame;frame;frame COUNT`")]
    NoCount,
    /// A number below zero.
    #[error("the count {0} is negative; a profile has no negative samples")]
    Negative(String),
    /// A number with a fraction.
    #[error("the count {0} is not a whole number; scale the counts first")]
    Fraction(String),
    /// A number beyond 64 bits.
    #[error("the count {0} is beyond 64 bits")]
    TooLarge(String),
    /// The sum of all counts is beyond 64 bits.
    #[error("the counts up to here add up to more than 64 bits hold")]
    Overflow,
}

/// Reads all lines of a folded file.
///
/// Blank lines are passed over, and lines that begin with `#` and have no count. Where every line
/// ends in two numbers, `column` says which is taken; where any does not, there is only one.
/// Stacks without samples are left out.
pub fn parse(text: &[u8], column: Column) -> Result<Vec<FoldedLine<'_>>, FoldedError> {
    let mut parser = LineParser::new(column, has_two_columns(text));
    // A guess that spares growing: most lines are longer than this.
    let mut lines = Vec::with_capacity(text.len() / 128);
    for line in text.split(|&b| b == b'\n') {
        lines.extend(parser.next(line)?);
    }
    Ok(lines)
}

/// Reads folded text a line at a time.
#[derive(Debug)]
pub struct LineParser {
    column: Column,
    two: bool,
    line: usize,
    total: u64,
}

impl LineParser {
    /// Begins a text whose lines all end in two counts ([`ends_in_two_counts`]) or not.
    pub fn new(column: Column, two: bool) -> Self {
        Self {
            column,
            two: two && column != Column::Only,
            line: 0,
            total: 0,
        }
    }

    /// All samples so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Reads the next line, without its end; nothing comes of blank lines, comments and stacks
    /// without samples.
    pub fn next<'a>(&mut self, line: &'a [u8]) -> Result<Option<FoldedLine<'a>>, FoldedError> {
        self.line += 1;
        let at = |problem| FoldedError {
            line: self.line,
            problem,
        };
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Ok(None);
        }
        let (rest, last) = match split_count(line) {
            Some(split) => split,
            None if line.starts_with(b"#") => return Ok(None),
            None => return Err(at(FoldedProblem::NoCount)),
        };
        let (stack, token) = match self.two.then(|| split_count(rest)).flatten() {
            Some((stack, _)) if self.column == Column::Head => (stack, last),
            Some((stack, first)) => (stack, first),
            None => (rest, last),
        };
        let count = match parse_count(token) {
            Ok(count) => count,
            Err(_) if line.starts_with(b"#") => return Ok(None),
            Err(problem) => return Err(at(problem)),
        };
        if count == 0 {
            return Ok(None);
        }
        self.total = self
            .total
            .checked_add(count)
            .ok_or_else(|| at(FoldedProblem::Overflow))?;
        Ok(Some(FoldedLine { stack, count }))
    }
}

/// Reads folded text as a profile. The first frame is the thread's name; of two counts the last is
/// taken. Marks such as `_[k]` are understood; what is not UTF-8 is replaced.
pub(super) fn read(text: &[u8]) -> Result<Profile, FormatError> {
    profile_of(&parse(text, Column::Head)?)
}

/// Makes a profile of folded lines.
pub fn profile_of(lines: &[FoldedLine<'_>]) -> Result<Profile, FormatError> {
    let mut builder = Builder::new("samples", "samples");
    for line in lines {
        let stack = String::from_utf8_lossy(line.stack);
        let mut names = stack.split(';');
        let thread = names.next().unwrap_or_default();
        builder.add_names(thread, names, line.count, line.count)?;
    }
    Ok(builder.finish())
}

/// Writes a profile as folded text.
pub(super) fn write(profile: &Profile) -> Vec<u8> {
    let mut text = folded_lines(profile).join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text.into_bytes()
}

/// Whether a text looks like folded stacks: its first lines that are neither blank nor comments
/// have a count, and none is empty before it.
pub fn looks_folded(text: &[u8]) -> bool {
    let mut lines = text
        .split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .take(3)
        .peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            !line.starts_with(b" ")
                && !line.starts_with(b"\t")
                && split_count(line).is_some_and(|(_, count)| looks_numeric(count))
        })
}

/// What stands before the last space, and after it.
fn split_count(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().rposition(|&b| b == b' ' || b == b'\t')?;
    let stack = line[..space].trim_ascii_end();
    (!stack.is_empty()).then_some((stack, &line[space + 1..]))
}

fn looks_numeric(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|&b| b.is_ascii_digit() || b == b'.')
}

fn has_two_columns(text: &[u8]) -> bool {
    let mut any = false;
    for line in text.split(|&b| b == b'\n') {
        match ends_in_two_counts(line) {
            Some(false) => return false,
            Some(true) => any = true,
            None => {}
        }
    }
    any
}

/// Whether a line ends in two counts; nothing for blank lines and comments.
pub fn ends_in_two_counts(line: &[u8]) -> Option<bool> {
    let line = line.trim_ascii_end();
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let two = split_count(line).is_some_and(|(rest, last)| {
        looks_numeric(last) && split_count(rest).is_some_and(|(_, first)| looks_numeric(first))
    });
    Some(two)
}

fn parse_count(token: &[u8]) -> Result<u64, FoldedProblem> {
    let mut count = 0u64;
    let whole = match token.iter().position(|&b| b == b'.') {
        Some(dot) if dot > 0 && token[dot + 1..].iter().all(|&b| b == b'0') => &token[..dot],
        _ => token,
    };
    if whole.is_empty() {
        return Err(FoldedProblem::NoCount);
    }
    for &digit in whole {
        if !digit.is_ascii_digit() {
            return Err(wrong_count(token));
        }
        count = count
            .checked_mul(10)
            .and_then(|count| count.checked_add(u64::from(digit - b'0')))
            .ok_or_else(|| wrong_count(token))?;
    }
    Ok(count)
}

/// Says why a token is no count.
fn wrong_count(token: &[u8]) -> FoldedProblem {
    let text = String::from_utf8_lossy(token).into_owned();
    match text.parse::<f64>() {
        Ok(value) if value.is_nan() || value.is_infinite() => FoldedProblem::NoCount,
        Ok(value) if value < 0.0 => FoldedProblem::Negative(text),
        Ok(value) if value.fract() != 0.0 || text.contains(['e', 'E', '.']) => {
            FoldedProblem::Fraction(text)
        }
        Ok(_) if !text.starts_with('+') => FoldedProblem::TooLarge(text),
        _ => FoldedProblem::NoCount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, column: Column) -> Vec<(String, u64)> {
        parse(text.as_bytes(), column)
            .unwrap()
            .into_iter()
            .map(|line| (String::from_utf8_lossy(line.stack).into_owned(), line.count))
            .collect()
    }

    #[test]
    fn one_and_two_columns() {
        let one = "a;b 3\n\n# made by a script\na;c d 4\r\na;zero 0\n";
        assert_eq!(
            read(one, Column::Base),
            [("a;b".to_string(), 3), ("a;c d".to_string(), 4)]
        );
        let two = "a;b 3 5\na;c 0 2\n";
        assert_eq!(read(two, Column::Base), [("a;b".to_string(), 3)]);
        assert_eq!(
            read(two, Column::Head),
            [("a;b".to_string(), 5), ("a;c".to_string(), 2)]
        );
        // A name that ends in a number makes no second column while other lines have one.
        let mixed = "a;thread 7 3\na;c 2\n";
        assert_eq!(
            read(mixed, Column::Base),
            [("a;thread 7".to_string(), 3), ("a;c".to_string(), 2)]
        );
    }

    #[test]
    fn wrong_counts_are_named_with_their_line() {
        for (text, line, problem) in [
            ("a 1\nb\n", 2, FoldedProblem::NoCount),
            ("a x\n", 1, FoldedProblem::NoCount),
            ("a -3\n", 1, FoldedProblem::Negative("-3".into())),
            ("a 1.5\n", 1, FoldedProblem::Fraction("1.5".into())),
            ("a 1e3\n", 1, FoldedProblem::Fraction("1e3".into())),
            (
                "a 18446744073709551616\n",
                1,
                FoldedProblem::TooLarge("18446744073709551616".into()),
            ),
            ("a 18446744073709551615\nb 1\n", 2, FoldedProblem::Overflow),
        ] {
            assert_eq!(
                parse(text.as_bytes(), Column::Head),
                Err(FoldedError { line, problem })
            );
        }
        assert_eq!(
            read("a 9007199254740993\n", Column::Head)[0].1,
            (1 << 53) + 1
        );
        assert_eq!(read("a 12.0\n", Column::Head)[0].1, 12);
    }

    #[test]
    fn folded_is_told_from_other_text() {
        assert!(looks_folded(b"a;b 1\na;c 2\n"));
        assert!(looks_folded(b"# comment\nmain 12\n"));
        assert!(!looks_folded(b""));
        assert!(!looks_folded(b"{\"a\": 1}\n"));
        assert!(!looks_folded(
            b"srv 1 2.3: 999 cpu-clock:\n\tabc main (x)\n"
        ));
    }
}

//! Folded stacks that are read from their file a line at a time, so that a profile of a million
//! stacks need not be in memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::Context as _;

use crate::profile::format::folded::{Column, LineParser, ends_in_two_counts, looks_folded};
use crate::report::diff::SortedStacks;

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 18;

/// A folded file whose stacks are ordered by bytes.
pub struct FoldedFile {
    lines: Lines,
    parser: LineParser,
    total: u64,
    /// The present stack; its text ends where its count begins.
    present: Option<(usize, u64)>,
    name: String,
}

impl FoldedFile {
    /// Reads a file through once and begins anew at its first stack. None where it is something
    /// else, or not in order: then it has to be read as a whole.
    pub fn open(path: &Path, column: Column) -> anyhow::Result<Option<Self>> {
        let name = path.display().to_string();
        let open = || -> anyhow::Result<Lines> {
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            Ok(Lines::new(file))
        };
        if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Ok(None);
        }
        let mut lines = open()?;
        let start = lines.reader.fill_buf()?;
        if !looks_folded(start) {
            return Ok(None);
        }
        let mut two = column != Column::Only;
        while two && lines.next()? {
            two = ends_in_two_counts(&lines.line).unwrap_or(true);
        }
        let mut lines = open()?;
        let mut parser = LineParser::new(column, two);
        let mut previous = Vec::new();
        while lines.next()? {
            let Some(line) = parser
                .next(&lines.line)
                .with_context(|| not_in_order(&name))?
            else {
                continue;
            };
            if line.stack < previous.as_slice() {
                return Ok(None);
            }
            previous.clear();
            previous.extend_from_slice(line.stack);
        }
        let mut file = Self {
            lines: open()?,
            total: parser.total(),
            parser: LineParser::new(column, two),
            present: None,
            name,
        };
        file.advance()?;
        Ok(Some(file))
    }

    /// All samples.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl SortedStacks for FoldedFile {
    type Error = anyhow::Error;

    fn current(&self) -> Option<(&[u8], u64)> {
        let (end, count) = self.present?;
        Some((&self.lines.line[..end], count))
    }

    fn advance(&mut self) -> anyhow::Result<()> {
        self.present = None;
        while self.lines.next()? {
            let line = self.parser.next(&self.lines.line);
            if let Some(line) = line.with_context(|| not_in_order(&self.name))? {
                self.present = Some((line.stack.len(), line.count));
                break;
            }
        }
        Ok(())
    }
}

/// What is said of a file with a wrong line.
pub fn not_in_order(name: &str) -> String {
    format!("{name} is not in order")
}

/// The lines of a file, one at a time.
struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    fn new(file: File) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, file),
            line: Vec::new(),
        }
    }

    /// Goes on to the next line, without its end; false after the last.
    fn next(&mut self) -> std::io::Result<bool> {
        self.line.clear();
        if self.reader.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        Ok(true)
    }
}

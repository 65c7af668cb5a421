//! Names of code made at run time, from the map files that run-time compilers write for perf.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::intervals::{Interval, Intervals};
use super::regular::open_regular;

/// The maps of some processes.
#[derive(Debug, Default)]
pub struct PerfMaps(BTreeMap<u32, PerfMap>);

impl PerfMaps {
    /// Reads the maps that some processes have now.
    pub fn of(processes: impl IntoIterator<Item = u32>) -> Self {
        let processes = processes.into_iter();
        Self(
            processes
                .filter_map(|pid| Some((pid, PerfMap::of_process(pid)?)))
                .collect(),
        )
    }

    /// Returns the name of the function that holds an address of a process.
    pub fn find(&self, pid: u32, address: u64) -> Option<&str> {
        self.0.get(&pid)?.find(address)
    }
}

/// Bytes of a map that are read: more than any virtual machine has written.
const LONGEST: u64 = 1 << 30;

/// The functions in a `/tmp/perf-PID.map`.
#[derive(Debug)]
pub struct PerfMap {
    text: String,
    intervals: Intervals<(usize, usize)>,
}

impl PerfMap {
    /// Reads the map of a process, as the process itself sees `/tmp` and its own number; a
    /// process that has ended is looked for in this process's `/tmp`.
    pub fn of_process(pid: u32) -> Option<Self> {
        let inside = PathBuf::from(format!("/proc/{pid}/root"))
            .join(format!("tmp/perf-{}.map", inner_pid(pid)));
        let outside = PathBuf::from(format!("/tmp/perf-{pid}.map"));
        let text = read(&inside).or_else(|_| read(&outside)).ok()?;
        Some(Self::parse(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Reads lines of `START SIZE NAME`, numbers in hexadecimal. What is no such line is passed
    /// over. Code that replaced other code stands later in the file, and wins.
    fn parse(text: String) -> Self {
        let mut symbols = Vec::new();
        let mut at = 0;
        for line in text.split('\n') {
            if let Some((start, size, name_at)) = parse_line(line) {
                symbols.push(Interval {
                    start,
                    end: start.saturating_add(size),
                    rank: 0,
                    name: (at + name_at, at + line.trim_end().len()),
                });
            }
            at += line.len() + 1;
        }
        let mut current: Vec<Interval<(usize, usize)>> = Vec::with_capacity(symbols.len());
        let mut taken = BTreeMap::new();
        for symbol in symbols.into_iter().rev() {
            let overlaps = taken
                .range(..symbol.end.max(symbol.start.saturating_add(1)))
                .next_back()
                .is_some_and(|(_, end)| *end > symbol.start);
            if !overlaps {
                taken.insert(symbol.start, symbol.end);
                current.push(symbol);
            }
        }
        Self {
            intervals: Intervals::new(current),
            text,
        }
    }

    /// Returns the name of the function that holds an address.
    pub fn find(&self, address: u64) -> Option<&str> {
        let (start, end) = self.intervals.find(address)?.name;
        self.text.get(start..end)
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_regular(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

fn parse_line(line: &str) -> Option<(u64, u64, usize)> {
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let number = |text: &str| {
        let text = text.strip_prefix("0x").unwrap_or(text);
        u64::from_str_radix(text, 16).ok()
    };
    let name_at = line.len() - name.len();
    (!name.trim().is_empty()).then_some((number(start)?, number(size)?, name_at))
}

/// The process's number in its own namespace.
fn inner_pid(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))
        .and_then(|numbers| numbers.split_ascii_whitespace().last()?.parse().ok())
        .unwrap_or(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_code_replaces_earlier_code() {
        let text = "7f00 100 old a\n\
            7f80 10 old b\n\
            7f00 40 new a\r\n\
            nonsense\n\
            zz 10 c\n\
            0x8000 0x10 LazyCompile:~f /srv/a.js:3\n\
            9000 10\n";
        let map = PerfMap::parse(text.to_owned());
        assert_eq!(map.find(0x7f20), Some("new a"));
        assert_eq!(map.find(0x7f50), None);
        assert_eq!(map.find(0x7f85), Some("old b"));
        assert_eq!(map.find(0x8001), Some("LazyCompile:~f /srv/a.js:3"));
        assert_eq!(map.find(0x9001), None);
    }
}

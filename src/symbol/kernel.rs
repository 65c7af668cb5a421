//! Names of kernel functions, from `/proc/kallsyms`.

use std::fs;
use std::io::{BufRead, BufReader};

use super::intervals::{Interval, Intervals};

const KALLSYMS: &str = "/proc/kallsyms";

/// Returns whether addresses in `/proc/kallsyms` are shown to this process.
#[must_use]
pub fn kernel_symbols_readable() -> bool {
    let Ok(file) = fs::File::open(KALLSYMS) else {
        return false;
    };
    // The first symbols may lie at address zero (per-CPU data); text follows soon.
    BufReader::new(file)
        .split(b'\n')
        .take(2000)
        .map_while(Result::ok)
        .filter_map(|line| parse_line(&line).map(|symbol| symbol.address))
        .any(|address| address != 0)
}

/// The kernel's text symbols and those of its modules.
pub struct KernelSymbols {
    text: Vec<u8>,
    intervals: Intervals<(usize, usize)>,
}

/// A kernel function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// Name.
    pub name: &'a str,
    /// The loadable module that it belongs to.
    pub module: Option<&'a str>,
}

impl KernelSymbols {
    /// Reads the running kernel's symbols; `None` if they are hidden.
    pub fn read() -> Option<Self> {
        Self::parse(fs::read(KALLSYMS).ok()?)
    }

    fn parse(text: Vec<u8>) -> Option<Self> {
        let mut symbols = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = text[start..]
                .iter()
                .position(|b| *b == b'\n')
                .map_or(text.len(), |len| start + len);
            if let Some(line) = parse_line(&text[start..end])
                && line.address != 0
                && line.is_text
            {
                symbols.push(Interval {
                    start: line.address,
                    end: line.address,
                    rank: u8::from(line.is_global),
                    name: (start + line.name_at, end),
                });
            }
            start = end + 1;
        }
        (!symbols.is_empty()).then(|| Self {
            intervals: Intervals::new(symbols),
            text,
        })
    }

    /// Returns the function that holds an address.
    pub fn find(&self, address: u64) -> Option<KernelSymbol<'_>> {
        let (start, end) = self.intervals.find(address)?.name;
        let text = std::str::from_utf8(self.text.get(start..end)?).ok()?;
        let (name, module) = match text.split_once('\t') {
            Some((name, module)) => (name, Some(module)),
            None => (text, None),
        };
        let module = module.map(|module| module.trim_matches(['[', ']']));
        Some(KernelSymbol { name, module })
    }
}

struct Line {
    address: u64,
    is_text: bool,
    is_global: bool,
    name_at: usize,
}

/// Reads `ffffffff81000000 T _text` or `ffffffffc0000000 t init<TAB>[module]`.
fn parse_line(line: &[u8]) -> Option<Line> {
    let space = line.iter().position(|b| *b == b' ')?;
    let mut address = 0_u64;
    for digit in &line[..space] {
        let digit = char::from(*digit).to_digit(16)?;
        address = address.checked_mul(16)? | u64::from(digit);
    }
    let kind = *line.get(space + 1)?;
    (line.get(space + 2) == Some(&b' ')).then_some(Line {
        address,
        is_text: matches!(kind, b't' | b'T' | b'w' | b'W'),
        is_global: kind == b'T',
        name_at: space + 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_symbols() {
        let text = b"0000000000000000 A fixed_percpu_data\n\
            ffffffff81000000 T _text\n\
            ffffffff81000000 t startup\n\
            ffffffff81000100 t do_it\n\
            ffffffff81000180 D jiffies\n\
            ffffffff81000200 T end\n\
            nonsense\n\
            ffffffffc0000000 t init\t[nf_tables]\n\
            ffffffffc0000100 t exit\t[nf_tables]\n";
        let symbols = KernelSymbols::parse(text.to_vec()).unwrap();
        let find = |address| symbols.find(address).map(|s| (s.name, s.module));
        assert_eq!(find(0xffff_ffff_8100_0010), Some(("_text", None)));
        assert_eq!(find(0xffff_ffff_8100_0190), Some(("do_it", None)));
        assert_eq!(
            find(0xffff_ffff_c000_0004),
            Some(("init", Some("nf_tables")))
        );
        assert_eq!(find(0x1000), None);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        let text = b"0000000000000000 T _text\n0000000000000000 t do_it\n".to_vec();
        assert!(KernelSymbols::parse(text).is_none());
    }
}

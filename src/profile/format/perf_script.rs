//! The text that `perf script` prints: a head line a sample, then a line a frame, then a blank one.

use crate::profile::{Frame, Module, Profile, Symbol};

use super::builder::{Builder, kind_of_path};
use super::error::FormatError;

/// Whether the first lines are a sample of `perf script`.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1 << 16)];
    let text = String::from_utf8_lossy(start);
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let Some(head) = lines.next().and_then(head) else {
        return false;
    };
    head.inline.is_some() || lines.next().is_some_and(|line| frame_line(line).is_some())
}

/// The head of a sample.
struct Head<'a> {
    thread: &'a str,
    event: &'a str,
    period: Option<u64>,
    /// A sample without callers has its frame on the head line.
    inline: Option<&'a str>,
}

/// Whether a word is `PID` or `PID/TID`; perf prints -1 where it knows none.
fn is_id(word: &str) -> bool {
    !word.is_empty()
        && word.split('/').all(|id| {
            let digits = id.strip_prefix('-').unwrap_or(id);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        })
}

/// Whether a word is a time: `seconds.fraction:`.
fn is_time(word: &str) -> bool {
    word.strip_suffix(':')
        .and_then(|time| time.split_once('.'))
        .is_some_and(|parts| {
            [parts.0, parts.1]
                .iter()
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// Reads `comm pid/tid [cpu] time: period event:`, of which any part between may be missing.
fn head(line: &str) -> Option<Head<'_>> {
    if line.starts_with(['\t', ' ']) && frame_line(line).is_some() {
        return None;
    }
    // The name of a thread may hold spaces and numbers: the process id is the last number before
    // the time, or the first one where no time is printed.
    let line = line.trim_start();
    let timed = line.split(' ').any(is_time);
    let mut at = 0;
    let mut id = None;
    for word in line.split(' ') {
        if is_time(word) {
            break;
        }
        if at > 0 && is_id(word) && (id.is_none() || timed) {
            id = Some((at, at + word.len()));
        }
        at += word.len() + 1;
    }
    let (start, at) = id?;
    let thread = Some(line[..start].trim());
    let thread = thread.filter(|name| !name.is_empty())?;
    let rest = line.get(at..)?;
    // `1234.567890:` ends what is of no matter here.
    let (_, after_time) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
    let after_time = after_time.trim_start();
    let (period, event_text) = match after_time.split_once(' ') {
        Some((number, rest))
            if number.bytes().all(|b| b.is_ascii_digit()) && !number.is_empty() =>
        {
            (number.parse().ok(), rest.trim_start())
        }
        _ => (None, after_time),
    };
    // Event names hold colons (`cycles:u`, `sched:sched_switch`): the one before a space ends it.
    let (event, inline) = match event_text.find(": ").or_else(|| event_text.rfind(':')) {
        Some(end) => (&event_text[..end], event_text[end + 1..].trim()),
        None => (event_text.trim(), ""),
    };
    let inline = (!inline.is_empty() && frame_line(inline).is_some()).then_some(inline);
    Some(Head {
        thread,
        event: event.trim_end_matches(':'),
        period,
        inline,
    })
}

/// Reads `address name+offset (module)`.
fn frame_line(line: &str) -> Option<(u64, &str, &str)> {
    let line = line.trim();
    let (address, rest) = line.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let rest = rest.trim_start();
    // A file that was replaced has `(deleted)` within the brackets.
    let bare = rest
        .strip_suffix(" (deleted))")
        .or_else(|| rest.strip_suffix(')'));
    let (name, module) = match bare.and_then(|bare| bare.rfind(" (")) {
        Some(at) => (&rest[..at], &rest[at + 2..rest.len() - 1]),
        None => match rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
        {
            Some(module) => ("", module),
            None => (rest, ""),
        },
    };
    let name = match name.rfind("+0x") {
        Some(at) if name[at + 3..].bytes().all(|b| b.is_ascii_hexdigit()) => &name[..at],
        _ => name,
    };
    Some((address, name.trim(), module))
}

pub(super) fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let text = String::from_utf8_lossy(bytes);
    let first_event = text
        .lines()
        .find_map(|line| (!line.starts_with('#')).then(|| head(line)).flatten())
        .map_or(String::new(), |head| head.event.to_string());
    let unit = match first_event.as_str() {
        name if name.contains("clock") => "ns",
        name if name.contains("cycles") => "cycles",
        _ => "events",
    };
    let mut builder = Builder::new(&first_event, unit);
    let mut pending: Option<(Head<'_>, Vec<u32>, Vec<Symbol>)> = None;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            finish(&mut builder, pending.take())?;
            continue;
        }
        if line.starts_with(['\t', ' '])
            && let Some((_, frames, inlined)) = &mut pending
        {
            let Some((address, name, module)) = frame_line(line) else {
                return Err(FormatError::content(
                    format!("line {}", number + 1),
                    "it is no frame; a frame is `address name (module)`",
                ));
            };
            let symbol = symbol_of(name);
            if module == "inlined" {
                inlined.extend(symbol.map(|symbol| Symbol {
                    inlined: true,
                    ..symbol
                }));
                continue;
            }
            let mut symbols = std::mem::take(inlined);
            symbols.extend(symbol);
            frames.push(add_frame(&mut builder, address, module, symbols));
            continue;
        }
        finish(&mut builder, pending.take())?;
        let Some(head) = head(line) else {
            return Err(FormatError::content(
                format!("line {}", number + 1),
                "it is neither the head of a sample nor a frame",
            ));
        };
        let mut frames = Vec::new();
        if let Some((address, name, module)) = head.inline.and_then(frame_line) {
            frames.push(add_frame(
                &mut builder,
                address,
                module,
                symbol_of(name).into_iter().collect(),
            ));
        }
        pending = Some((head, frames, Vec::new()));
    }
    finish(&mut builder, pending)?;
    Ok(builder.finish())
}

fn finish(
    builder: &mut Builder,
    sample: Option<(Head<'_>, Vec<u32>, Vec<Symbol>)>,
) -> Result<(), FormatError> {
    match sample {
        Some((head, frames, _)) => {
            builder.add(head.thread, frames, false, 1, head.period.unwrap_or(1))
        }
        None => Ok(()),
    }
}

fn symbol_of(name: &str) -> Option<Symbol> {
    (!name.is_empty() && name != "[unknown]").then(|| Symbol {
        name: name.to_string(),
        file: None,
        line: None,
        inlined: false,
    })
}

fn add_frame(builder: &mut Builder, address: u64, module: &str, symbols: Vec<Symbol>) -> u32 {
    let path = match module {
        "" => "[unknown]",
        _ if module.starts_with("[kernel") => "[kernel]",
        path => path,
    };
    let module = builder.module(Module {
        path: path.to_string(),
        build_id: None,
        kind: kind_of_path(path),
    });
    // Addresses differ within a function and do not matter once it has a name.
    let address = if symbols.is_empty() { address } else { 0 };
    builder.frame(Frame {
        module,
        address,
        symbols,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::folded_lines;

    const TEXT: &str = "\
# captured on    : today
srv 12/13 [001] 1234.567890:    1001001 cpu-clock:u: 
\t            55d0 inner+0x12 (/usr/bin/srv)
\t            55d0 helper (inlined)
\t            4410 main+0x3 (/usr/bin/srv)
\tffffffffffff [unknown] ([unknown])

my thread  99 1234.567891:          1 cycles: 
\tffffffff8100 do_idle+0x4 ([kernel.kallsyms])
\t        7f00 [unknown] (/lib/libc.so.6)

srv 12/13 [001] 1234.567892:    1001001 cpu-clock:u:      55d0 leaf+0x1 (/usr/bin/srv)
";

    #[test]
    fn samples_become_stacks() {
        assert!(looks_like(TEXT.as_bytes()));
        let profile = read(TEXT.as_bytes()).unwrap();
        assert_eq!(
            folded_lines(&profile),
            [
                "my thread;[libc.so.6];do_idle_[k] 1",
                "srv;[unknown];main;helper_[i];inner 1",
                "srv;leaf 1",
            ]
        );
        assert_eq!(profile.event.name, "cpu-clock:u");
        assert_eq!(profile.event.unit, "ns");
        assert_eq!(profile.stacks[0].weight, 1_001_001);
    }

    #[test]
    fn the_name_of_a_thread_may_hold_numbers() {
        for (line, thread) in [
            ("worker 1  47/48 [000] 100.011: 1 cycles: ", "worker 1"),
            ("worker 1  47 100.011: 1 cycles: ", "worker 1"),
            ("kworker/0:1-ev 12 [001] 3.5: cycles: ", "kworker/0:1-ev"),
            ("srv 47/48 1001 cycles: ", "srv"),
            (":-1    -1 [000] 3.5: 1 cycles: ", ":-1"),
        ] {
            assert_eq!(head(line).map(|head| head.thread), Some(thread), "{line}");
        }
    }

    #[test]
    fn names_with_brackets_and_spaces() {
        for (line, name, module) in [
            (
                "55 std::map<int, foo (bar)>::at(int)+0xff (/bin/srv)",
                "std::map<int, foo (bar)>::at(int)",
                "/bin/srv",
            ),
            ("55 f+0x1 (/bin/srv (deleted))", "f", "/bin/srv (deleted)"),
            ("55 (/bin/srv)", "", "/bin/srv"),
            ("55 f", "f", ""),
        ] {
            assert_eq!(frame_line(line), Some((0x55, name, module)));
        }
    }

    #[test]
    fn what_is_neither_is_named_with_its_line() {
        let error = read(b"srv 1 2.3: 1 cycles:\n\tzz not a frame\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: it is no frame; a frame is `address name (module)`"
        );
        assert!(read(b"srv 1 2.3: 1 cycles:\n\t12 f (m)\ngarbage\n").is_err());
    }
}

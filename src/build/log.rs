//! The lines of a build's log that say why it failed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// This much of the log's end is looked at, in bytes.
const END: u64 = 256 * 1024;

/// Lines shown from the end, and lines shown from before that speak of an error.
const LAST: usize = 12;
const ERRORS: usize = 6;

/// The end of a log, read with what is no text replaced.
pub(super) fn end_of(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        let mut bytes = Vec::new();
        file.take(END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last lines, and before them the last that speak of an error: with several jobs at work, the
/// others go on for a while after the one that failed.
pub(super) fn telling_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST));
    let speaks = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        line.contains("error") || line.contains("undefined reference") || line.contains("fatal")
    };
    let mut errors: Vec<&str> = before.iter().filter(speaks).copied().collect();
    let surplus = errors.len().saturating_sub(ERRORS);
    errors.drain(..surplus);
    if !errors.is_empty() {
        errors.push("…");
    }
    errors.extend(last);
    errors.into_iter().map(shortened).collect()
}

/// Compiler command lines can be thousands of characters long.
fn shortened(line: &str) -> String {
    const LONGEST: usize = 300;
    let line = &without_colour(line);
    let clean = |text: &str| text.replace(|c: char| c.is_control() && c != '\t', "");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", clean(&line[..end])),
        None => clean(line),
    }
}

/// A line without the escape sequences that colour it.
fn without_colour(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        text.push_str(end.map_or("", |end| &part[end + 1..]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_others_wrote_past_is_shown_before_the_last_lines() {
        let mut text = String::from("cc a.c\na.c:3: error: no such thing\n");
        for number in 0..20 {
            text.push_str(&format!("cc {number}.c\n\n"));
        }
        let lines = telling_lines(&text);
        assert_eq!(lines[0], "a.c:3: error: no such thing");
        assert_eq!(lines[1], "…");
        assert_eq!(lines[2], "cc 8.c");
        assert_eq!(lines.len(), 2 + LAST);
    }

    #[test]
    fn a_short_log_is_shown_whole_and_a_long_line_in_part() {
        assert_eq!(telling_lines("one\ntwo\n"), ["one", "two"]);
        assert_eq!(telling_lines(""), [""; 0]);
        let lines = telling_lines(&"é".repeat(1000));
        assert_eq!(lines[0].chars().count(), 301);
        assert_eq!(
            telling_lines("a \u{1b}[1;31mred\u{1b}[0m b\u{7}"),
            ["a red b"]
        );
    }
}

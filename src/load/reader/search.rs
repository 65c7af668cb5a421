//! Finding lines.

use super::ReaderError;

/// Longest part of a line that is quoted.
const QUOTED: usize = 200;

/// Lines of the output. A carriage return ends a line too: progress is written over itself.
pub fn lines(output: &str) -> impl Iterator<Item = &str> {
    output.split(['\n', '\r']).map(str::trim_end)
}

/// A line as a message shows it.
pub fn quote(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The only thing that `find` finds in a line; `None` where there is none.
pub fn only<'a, T>(
    output: &'a str,
    what: &str,
    mut find: impl FnMut(&'a str) -> Option<T>,
) -> Result<Option<(&'a str, T)>, ReaderError> {
    let mut found: Option<(&str, T)> = None;
    for line in lines(output) {
        let Some(value) = find(line) else {
            continue;
        };
        if let Some((first, _)) = &found {
            return Err(ReaderError::Twice {
                what: what.to_owned(),
                first: quote(first),
                second: quote(line),
                hint: "",
            });
        }
        found = Some((line, value));
    }
    Ok(found)
}

/// Like [`only`], where there must be one.
pub fn one<'a, T>(
    output: &'a str,
    what: &str,
    find: impl FnMut(&'a str) -> Option<T>,
) -> Result<(&'a str, T), ReaderError> {
    only(output, what, find)?.ok_or_else(|| missing(output, what))
}

/// Says that `what` is not there.
pub fn missing(output: &str, what: &str) -> ReaderError {
    let last = lines(output).filter(|line| !line.trim().is_empty()).last();
    ReaderError::Missing {
        what: what.to_owned(),
        last: quote(last.unwrap_or_default()),
    }
}

/// A finite number that is not negative, as every one of these is.
pub fn number(text: &str, line: &str) -> Result<f64, ReaderError> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(ReaderError::Malformed {
            expected: "a number".to_owned(),
            line: quote(line),
        }),
    }
}

/// An error where a line says that something failed.
pub fn refuse(output: &str, mut failed: impl FnMut(&str) -> bool) -> Result<(), ReaderError> {
    match lines(output).find(|line| failed(line)) {
        Some(line) => Err(ReaderError::Failed { line: quote(line) }),
        None => Ok(()),
    }
}

/// The word after `prefix` in a line that begins with it, spaces before it aside.
pub fn after<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    line.trim_start()
        .strip_prefix(prefix)?
        .split_whitespace()
        .next()
}

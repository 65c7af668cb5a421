//! Which form a file is in.

use super::{folded, perf_script};

/// A form of profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One line a stack.
    Folded,
    /// perfblame's own JSON.
    Json,
    /// The text that `perf script` prints.
    PerfScript,
    /// The file that `perf record` writes.
    PerfData,
    /// Google's pprof, a protocol buffer.
    Pprof,
    /// speedscope's JSON.
    Speedscope,
    /// The Firefox Profiler's processed profile, JSON.
    Firefox,
}

impl Format {
    /// Its name in messages and after `--to`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Folded => "folded",
            Format::Json => "json",
            Format::PerfScript => "perf script text",
            Format::PerfData => "perf.data",
            Format::Pprof => "pprof",
            Format::Speedscope => "speedscope",
            Format::Firefox => "firefox",
        }
    }

    /// The form that a file's name asks for, without `.gz`.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".speedscope.json", ".speedscope"]) {
            Some(Format::Speedscope)
        } else if ends(&[".firefox.json", ".firefox", ".fxprof.json"]) {
            Some(Format::Firefox)
        } else if ends(&[".pb", ".pprof", ".prof"]) {
            Some(Format::Pprof)
        } else if ends(&[".json"]) {
            Some(Format::Json)
        } else if ends(&[".folded", ".collapsed", ".txt"]) {
            Some(Format::Folded)
        } else {
            None
        }
    }
}

/// Tells the form of uncompressed bytes by their content.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(b"PERFILE2") || bytes.starts_with(b"2ELIFREP") {
        return Some(Format::PerfData);
    }
    let text = bytes.trim_ascii_start();
    if text.first() == Some(&b'{') {
        return detect_json(text);
    }
    // A protocol buffer of pprof begins with its first field, the sample types: a tag of 0x0a.
    if bytes.first() == Some(&0x0a) && super::pprof::looks_like(bytes) {
        return Some(Format::Pprof);
    }
    if perf_script::looks_like(bytes) {
        return Some(Format::PerfScript);
    }
    folded::looks_folded(bytes).then_some(Format::Folded)
}

/// Tells JSON forms by the keys that they must have; a key may stand after megabytes of data.
fn detect_json(text: &[u8]) -> Option<Format> {
    let has = |needle: &str| memchr::memmem::find(text, needle.as_bytes()).is_some();
    if has("speedscope.app/file-format-schema.json") {
        Some(Format::Speedscope)
    } else if has("\"perfblame.profile/") {
        Some(Format::Json)
    } else if has("\"threads\"") && has("\"meta\"") {
        Some(Format::Firefox)
    } else if has("\"shared\"") && has("\"profiles\"") {
        Some(Format::Speedscope)
    } else {
        None
    }
}

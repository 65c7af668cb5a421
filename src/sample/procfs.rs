//! What `/proc` tells of running processes.

use std::collections::HashMap;
use std::fs;
use std::io;

/// An executable mapping of a running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLine {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Offset in the file.
    pub file_offset: u64,
    /// Path, `[vdso]`, `[heap]`, or empty.
    pub path: Vec<u8>,
}

/// Returns the executable mappings of a process; none if it has ended.
pub fn executable_maps(pid: u32) -> Vec<MapLine> {
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.split(|b| *b == b'\n').filter_map(map_line).collect()
}

/// Reads a line of `/proc/PID/maps` if it is an executable mapping.
fn map_line(line: &[u8]) -> Option<MapLine> {
    // start-end perms offset dev inode path
    let mut rest = line;
    let mut field = || {
        let start = rest.iter().position(|b| *b != b' ')?;
        let tail = &rest[start..];
        let end = tail.iter().position(|b| *b == b' ').unwrap_or(tail.len());
        let (field, tail) = tail.split_at(end);
        rest = tail;
        std::str::from_utf8(field).ok()
    };
    let (range, permissions, offset) = (field()?, field()?, field()?);
    let (_device, _inode) = (field()?, field()?);
    if permissions.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let path_at = rest.iter().position(|b| *b != b' ').unwrap_or(rest.len());
    Some(MapLine {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        file_offset: u64::from_str_radix(offset, 16).ok()?,
        path: unescape(&rest[path_at..]),
    })
}

/// The kernel writes a line break in a path as `\012`.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, tail)) = rest.split_first() {
        match rest.strip_prefix(b"\\012") {
            Some(tail) => {
                plain.push(b'\n');
                rest = tail;
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

/// Returns the threads of a process.
///
/// # Errors
///
/// `NotFound` if it has ended.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    Ok(numbers(fs::read_dir(format!("/proc/{pid}/task"))?))
}

/// Returns the process that a thread belongs to.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// Returns a process and all its living descendants, parents first.
pub fn process_tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in all_processes() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(pid) = tree.get(next) {
        tree.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    tree
}

/// Returns all processes.
pub fn all_processes() -> Vec<u32> {
    fs::read_dir("/proc").map(numbers).unwrap_or_default()
}

/// Returns the name of a thread (`comm`).
pub fn thread_name(pid: u32, tid: u32) -> Option<Vec<u8>> {
    let mut name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    Some(name)
}

/// Returns whether a process exists and is no zombie.
pub fn is_running(pid: u32) -> bool {
    stat_fields(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

fn parent(pid: u32) -> Option<u32> {
    stat_fields(pid).map(|(_, parent)| parent)
}

/// State and parent; the name before them may hold anything, parentheses too.
fn stat_fields(pid: u32) -> Option<(char, u32)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn numbers(entries: fs::ReadDir) -> Vec<u32> {
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = |text: &str| map_line(text.as_bytes());
        let path = |text: &str| line(text).map(|map| String::from_utf8(map.path).unwrap());
        let libc =
            line("7f01-7f02 r-xp 00028000 fe:00 1234                       /lib/a b.so").unwrap();
        assert_eq!(
            (libc.start, libc.end, libc.file_offset),
            (0x7f01, 0x7f02, 0x28000)
        );
        assert_eq!(libc.path, b"/lib/a b.so");
        assert_eq!(path("1-2 r-xp 0 00:00 0 "), Some(String::new()));
        assert_eq!(path("1-2 r-xp 0 00:00 0"), Some(String::new()));
        assert_eq!(path("1-2 rwxp 0 00:00 0   [vdso]"), Some("[vdso]".into()));
        assert_eq!(
            path("1-2 r-xp 0 00:00 7 /a (deleted)"),
            Some("/a (deleted)".into())
        );
        assert_eq!(path("1-2 r-xp 0 00:00 7 /a\\012b"), Some("/a\nb".into()));
        for none in [
            "1-2 rw-p 0 00:00 0 /a",
            "",
            "1-2",
            "x-y r-xp 0 0 0",
            "1 r-xp 0 0 0",
        ] {
            assert_eq!(line(none), None, "{none}");
        }
    }

    #[test]
    fn this_process_is_found() {
        let pid = std::process::id();
        assert!(is_running(pid));
        assert!(threads(pid).unwrap().contains(&pid));
        assert!(process_tree(pid).contains(&pid));
        assert!(executable_maps(pid).iter().any(|map| map.path == b"[vdso]"));
        assert!(!is_running(u32::MAX));
        assert!(threads(u32::MAX).is_err());
    }
}

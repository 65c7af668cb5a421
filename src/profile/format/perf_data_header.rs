//! Whether the sizes that a perf.data file states of its parts can be true.
//!
//! The reader that follows takes them at their word, and would make room for what a damaged file states.
//! The layout is that of the kernel's `perf.data-file-format.txt`.

use super::error::FormatError;

const HEADER: usize = 104;
/// Size of the shortest `perf_event_attr` there was (`PERF_ATTR_SIZE_VER0`), and more than of any.
const ATTRIBUTE: std::ops::RangeInclusive<u64> = 64..=4096;
/// The section that describes events (`HEADER_EVENT_DESC`).
const EVENT_DESC: usize = 12;
/// A record that is followed by bytes which are not in its size (`PERF_RECORD_AUXTRACE`).
const AUXTRACE: u32 = 71;

/// Numbers of a file of either byte order.
#[derive(Debug, Clone, Copy)]
struct Numbers<'b> {
    bytes: &'b [u8],
    is_little: bool,
}

impl<'b> Numbers<'b> {
    fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self.is_little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        })
    }

    fn u64(self, at: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(match self.is_little {
            true => u64::from_le_bytes(bytes),
            false => u64::from_be_bytes(bytes),
        })
    }

    /// The section whose place and size stand at `at`.
    fn section(self, at: usize) -> Option<Self> {
        let from = usize::try_from(self.u64(at)?).ok()?;
        let size = usize::try_from(self.u64(at.checked_add(8)?)?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(size)?)?;
        Some(Self { bytes, ..self })
    }
}

/// Checks the header of a file, and its records where `is_piped` says that there is no more of a header
/// than the magic and a size.
pub(super) fn check(bytes: &[u8], is_piped: bool) -> Result<(), FormatError> {
    let is_little = !bytes.starts_with(b"2ELIFREP");
    let file = Numbers { bytes, is_little };
    let found = match is_piped {
        true => check_records(Numbers {
            bytes: bytes.get(16..).unwrap_or_default(),
            ..file
        }),
        false => check_file(file),
    };
    match found {
        Ok(()) => Ok(()),
        Err(part) => Err(FormatError::content(
            "perf.data",
            format!("it is damaged or cut short: {part} cannot be as long as it says"),
        )),
    }
}

fn check_file(file: Numbers<'_>) -> Result<(), &'static str> {
    let header = "its header";
    let size = file.u64(16).ok_or(header)?;
    // What is stated of an attribute holds the place of its ids too.
    if !ATTRIBUTE.contains(&size.saturating_sub(16)) {
        return Err("an event's description");
    }
    let attributes = file.section(24).ok_or("the list of events")?;
    let size = usize::try_from(size).map_err(|_| header)?;
    for at in (0..attributes.bytes.len()).step_by(size) {
        let ids = Numbers {
            bytes: attributes.bytes.get(at..at + size).ok_or("an event")?,
            ..file
        };
        let place = [ids.u64(size - 16), ids.u64(size - 8)].map(Option::unwrap_or_default);
        let end = place[0].checked_add(place[1]);
        if end.is_none_or(|end| end > file.bytes.len() as u64) {
            return Err("an event's list of ids");
        }
    }
    let data = file.section(40).ok_or("its data")?;
    let data_end = file.u64(40).zip(file.u64(48));
    let data_end = data_end.and_then(|(from, size)| usize::try_from(from.checked_add(size)?).ok());
    if file.bytes.len() < HEADER {
        return Err(header);
    }
    let words = (0..4).filter_map(|word| file.u64(72 + 8 * word));
    let set = words.enumerate().flat_map(|(word, bits)| {
        (0..64)
            .filter(move |bit| bits >> bit & 1 == 1)
            .map(move |bit| 64 * word + bit)
    });
    let mut at = data_end.ok_or("its data")?;
    for feature in set {
        let section = file.section(at).ok_or("a section after its data")?;
        if feature == EVENT_DESC {
            check_descriptions(section).ok_or("an event's description")?;
        }
        at += 16;
    }
    check_records(data)
}

/// The number of events and of the ids of each.
fn check_descriptions(section: Numbers<'_>) -> Option<()> {
    let (events, size) = (section.u32(0)?, section.u32(4)? as usize);
    let mut at = 8usize;
    for _ in 0..events {
        at = at.checked_add(size)?;
        let ids = section.u32(at)? as usize;
        let name = section.u32(at.checked_add(4)?)? as usize;
        at = at.checked_add(8)?.checked_add(name)?;
        at = at.checked_add(ids.checked_mul(8)?)?;
        if at > section.bytes.len() {
            return None;
        }
    }
    Some(())
}

/// Records one after the other. What follows the last whole one is the reader's to judge.
fn check_records(data: Numbers<'_>) -> Result<(), &'static str> {
    let mut at = 0usize;
    while let (Some(kind), Some(misc_and_size)) = (data.u32(at), data.u32(at + 4)) {
        let size = match data.is_little {
            true => misc_and_size >> 16,
            false => misc_and_size & 0xffff,
        } as usize;
        if size < 8 {
            break;
        }
        if kind == AUXTRACE {
            let follows = data.u64(at + 8).unwrap_or_default();
            let left = data.bytes.len().saturating_sub(at + size);
            if follows > left as u64 {
                return Err("a trace among its records");
            }
            at += follows as usize;
        }
        at += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a file without events and records.
    fn empty() -> Vec<u8> {
        let mut bytes = b"PERFILE2".to_vec();
        for number in [104u64, 128 + 16, 104, 0, 104, 0, 0, 0, 0, 0, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    fn with(at: usize, number: u64) -> Vec<u8> {
        let mut bytes = empty();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    #[test]
    fn what_cannot_be_is_refused() {
        check(&empty(), false).unwrap();
        for (at, number) in [
            (16, 0),
            (16, u64::MAX),
            (24, u64::MAX),
            (32, 1 << 63),
            (48, u64::MAX),
            (48, 1),
            // A section that is not there.
            (72, 1 << 12),
        ] {
            check(&with(at, number), false).unwrap_err();
        }
        for end in 0..104 {
            check(&empty()[..end], false).unwrap_err();
        }
        let mut trace = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
        trace.extend(71u32.to_le_bytes());
        trace.extend([0, 0, 48, 0]);
        trace.extend((1u64 << 62).to_le_bytes());
        check(&trace, true).unwrap_err();
    }
}

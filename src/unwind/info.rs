//! The call frame information of an ELF file.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use gimli::{BaseAddresses, EhFrame, NativeEndian, UnwindSection};
use object::{Object, ObjectSection, ReadCache, ReadRef};

/// Sections that are larger hold no call frame information of a real program.
const LARGEST_SECTION: u64 = 512 << 20;

/// The sections that unwinding needs, shared by all processes that map the file.
#[derive(Debug, Clone, Default)]
pub struct UnwindInfo {
    eh_frame: Option<(Range<u64>, Arc<[u8]>)>,
    eh_frame_hdr: Option<(Range<u64>, Arc<[u8]>)>,
    debug_frame: Option<(Range<u64>, Arc<[u8]>)>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    signal_trampolines: Vec<Range<u64>>,
}

impl UnwindInfo {
    /// Reads a file's sections; nothing where it is no ELF file or has none.
    pub fn of_file(file: &File) -> Self {
        let cache = ReadCache::new(file);
        match object::File::parse(&cache) {
            Ok(object) => Self::of_object(&object),
            Err(_) => Self::default(),
        }
    }

    /// Reads the sections of an ELF file in memory.
    pub fn of_image(image: &[u8]) -> Self {
        match object::File::parse(image) {
            Ok(object) => Self::of_object(&object),
            Err(_) => Self::default(),
        }
    }

    fn of_object<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Self {
        let section = |name: &str| {
            let section = object.section_by_name(name)?;
            let start = section.address();
            Some((start..start.checked_add(section.size())?, section))
        };
        let data = |name: &str| {
            let (range, section) = section(name)?;
            if section.size() > LARGEST_SECTION {
                return None;
            }
            let data = section.uncompressed_data().ok()?;
            Some((range, Arc::from(data.as_ref())))
        };
        let eh_frame = data(".eh_frame");
        let eh_frame_hdr = data(".eh_frame_hdr").filter(|(hdr, bytes)| {
            let frames = eh_frame.as_ref().map(|(range, _)| range);
            frames.is_some_and(|frames| is_sound_index(bytes, hdr.start, frames))
        });
        Self {
            eh_frame_hdr,
            // Only where there is nothing better.
            debug_frame: match eh_frame {
                Some(_) => None,
                None => data(".debug_frame"),
            },
            text: section(".text").map(|(range, _)| range),
            got: section(".got").map(|(range, _)| range),
            signal_trampolines: match &eh_frame {
                Some((range, data)) => signal_trampolines(range.start, data),
                None => Vec::new(),
            },
            eh_frame,
        }
    }

    /// Addresses of the code that a signal handler returns to.
    pub(super) fn signal_trampolines(&self) -> &[Range<u64>] {
        &self.signal_trampolines
    }

    /// Returns the sections as framehop takes them.
    pub(super) fn sections(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let range = |section: &Option<(Range<u64>, Arc<[u8]>)>| {
            section.as_ref().map(|(range, _)| range.clone())
        };
        let data = |section: &Option<(Range<u64>, Arc<[u8]>)>| {
            section.as_ref().map(|(_, data)| Arc::clone(data))
        };
        ExplicitModuleSectionInfo {
            text_svma: self.text.clone(),
            got_svma: self.got.clone(),
            eh_frame_svma: range(&self.eh_frame),
            eh_frame: data(&self.eh_frame),
            eh_frame_hdr_svma: range(&self.eh_frame_hdr),
            eh_frame_hdr: data(&self.eh_frame_hdr),
            debug_frame: data(&self.debug_frame),
            ..ExplicitModuleSectionInfo::default()
        }
    }

    /// Returns whether there is any call frame information.
    pub fn is_empty(&self) -> bool {
        self.eh_frame.is_none() && self.debug_frame.is_none()
    }
}

/// Returns whether an `.eh_frame_hdr` is the usual sorted table and all of it points into
/// `.eh_frame`. Without it framehop makes an index of its own; with a damaged one it goes astray.
///
/// The format is that of the Linux Standard Base: version 1, then the encodings of the pointer to
/// `.eh_frame` (0x1b: relative to itself), of the count (0x03) and of the table (0x3b: relative to
/// the header), all in four bytes.
fn is_sound_index(bytes: &[u8], start: u64, frames: &Range<u64>) -> bool {
    let word = |at: usize| -> Option<i64> {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(i32::from_le_bytes(bytes.try_into().ok()?).into())
    };
    if bytes.get(..4) != Some(&[1, 0x1b, 0x03, 0x3b]) {
        return false;
    }
    let (Some(pointer), Some(count)) = (word(4), word(8)) else {
        return false;
    };
    if start.wrapping_add(4).wrapping_add_signed(pointer) != frames.start {
        return false;
    }
    let count = count as u32 as usize;
    let Some(table) = count
        .checked_mul(8)
        .and_then(|len| bytes.get(12..len.checked_add(12)?))
    else {
        return false;
    };
    let mut last = i32::MIN;
    table.chunks_exact(8).all(|entry| {
        let half = |at: usize| {
            i32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
        };
        let (function, frame) = (half(0), half(4));
        let is_sorted = last <= function;
        last = function;
        is_sorted && frames.contains(&start.wrapping_add_signed(frame.into()))
    })
}

/// Finds the functions whose frame holds the registers of interrupted code: those with an `S` in the
/// augmentation of their CIE.
fn signal_trampolines(address: u64, eh_frame: &[u8]) -> Vec<Range<u64>> {
    // Only C libraries have any; a look at the bytes spares the rest of the world the parsing.
    let augmented = |mark: &[u8]| eh_frame.windows(mark.len()).any(|bytes| bytes == mark);
    if !augmented(b"zRS\0") && !augmented(b"zS\0") && !augmented(b"zRSB\0") {
        return Vec::new();
    }
    let mut section = EhFrame::new(eh_frame, NativeEndian);
    section.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(address);
    let mut found = Vec::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        if fde.cie().is_signal_trampoline() {
            let start = fde.initial_address();
            found.push(start..start.saturating_add(fde.len()));
        }
    }
    found
}

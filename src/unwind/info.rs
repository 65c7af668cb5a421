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
        Self {
            eh_frame_hdr: data(".eh_frame_hdr"),
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

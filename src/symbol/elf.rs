//! What an ELF file tells: build id, where its segments go, its symbols, where its debug
//! information is.

use std::fs::File;

use object::elf::PF_X;
use object::{
    Object, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SegmentFlags, SymbolIndex, SymbolKind,
};

use super::intervals::{Interval, Intervals};

/// Returns the build id of an ELF file, if it is one and has one.
#[must_use]
pub fn build_id_of(file: &File) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    object.build_id().ok()?.map(<[u8]>::to_vec)
}

/// Where the parts of a file lie in memory, as the file itself states it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segments(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    file_start: u64,
    file_end: u64,
    address: u64,
    executable: bool,
}

impl Segments {
    /// Reads a file's loadable segments; none where it is no ELF file.
    #[must_use]
    pub fn of_file(file: &File) -> Self {
        let cache = ReadCache::new(file);
        object::File::parse(&cache).map_or_else(|_| Self::default(), |object| Self::of(&object))
    }

    /// Reads the loadable segments of an ELF file in memory.
    #[must_use]
    pub fn of_image(image: &[u8]) -> Self {
        object::File::parse(image).map_or_else(|_| Self::default(), |object| Self::of(&object))
    }

    /// Reads the loadable segments.
    pub fn of<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Self {
        Self(
            object
                .segments()
                .map(|segment| {
                    let (offset, size) = segment.file_range();
                    Segment {
                        file_start: offset,
                        file_end: offset.saturating_add(size),
                        address: segment.address(),
                        executable: matches!(
                            segment.flags(),
                            SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X)
                        ),
                    }
                })
                .collect(),
        )
    }

    /// Returns the address, as the file's symbols have it, of an offset in the file. Code lies in
    /// an executable segment; others are asked only where none fits.
    #[must_use]
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        let holds = |segment: &&Segment| {
            segment.file_start <= file_offset && file_offset < segment.file_end
        };
        let executable = self
            .0
            .iter()
            .filter(|segment| segment.executable)
            .find(holds);
        let segment = executable.or_else(|| self.0.iter().find(holds))?;
        Some((file_offset - segment.file_start).wrapping_add(segment.address))
    }
}

/// The functions in an ELF file's symbol tables, ordinary and dynamic.
pub struct ElfSymbols {
    intervals: Intervals<(bool, SymbolIndex)>,
}

impl ElfSymbols {
    /// Reads the tables.
    pub fn of<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Self {
        let ordinary = object.symbols().map(|symbol| (false, symbol));
        let dynamic = object.dynamic_symbols().map(|symbol| (true, symbol));
        let intervals = ordinary
            .chain(dynamic)
            .filter(|(_, symbol)| symbol.is_definition() && symbol.address() != 0)
            .filter_map(|(is_dynamic, symbol)| {
                let rank = match symbol.kind() {
                    SymbolKind::Text => 2,
                    // Entry points in assembly often have no type.
                    SymbolKind::Unknown | SymbolKind::Label => 0,
                    _ => return None,
                };
                let binding = match (symbol.is_weak(), symbol.is_global()) {
                    (false, true) => 1,
                    _ => 0,
                };
                Some(Interval {
                    start: symbol.address(),
                    end: symbol.address().saturating_add(symbol.size()),
                    rank: 2 * rank + binding,
                    name: (is_dynamic, symbol.index()),
                })
            })
            .collect();
        Self {
            intervals: Intervals::new(intervals),
        }
    }

    /// Returns the mangled name of the function that holds an address.
    pub fn find<'data, R: ReadRef<'data>>(
        &self,
        object: &object::File<'data, R>,
        address: u64,
    ) -> Option<String> {
        let (is_dynamic, index) = self.intervals.find(address)?.name;
        let table = match is_dynamic {
            true => object.dynamic_symbol_table(),
            false => object.symbol_table(),
        };
        let symbol = object::ObjectSymbolTable::symbol_by_index(&table?, index).ok()?;
        let name = symbol.name_bytes().ok()?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// Returns whether there are none.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_addresses_by_their_segment() {
        let segment = |file_start, file_end, address, executable| Segment {
            file_start,
            file_end,
            address,
            executable,
        };
        let segments = Segments(vec![
            segment(0, 0x1000, 0, false),
            segment(0x800, 0x2000, 0x40_1800, true),
            segment(0x2000, 0x3000, 0x40_4000, false),
        ]);
        let cases = [
            (0x10, Some(0x10)),
            (0x800, Some(0x40_1800)),
            (0x1fff, Some(0x40_2fff)),
            (0x2000, Some(0x40_4000)),
            (0x3000, None),
        ];
        for (offset, address) in cases {
            assert_eq!(segments.address_of(offset), address, "{offset:#x}");
        }
    }

    #[test]
    fn this_program_has_its_own_functions() {
        let file = File::open("/proc/self/exe").unwrap();
        let cache = ReadCache::new(&file);
        let object = object::File::parse(&cache).unwrap();
        let symbols = ElfSymbols::of(&object);
        let main = object
            .symbols()
            .find(|symbol| symbol.name() == Ok("main"))
            .unwrap();
        assert_eq!(
            symbols.find(&object, main.address()).as_deref(),
            Some("main")
        );
    }

    #[test]
    fn what_is_no_elf_file_has_no_build_id() {
        assert_eq!(build_id_of(&File::open("/etc/passwd").unwrap()), None);
        assert_eq!(build_id_of(&File::open("/dev/null").unwrap()), None);
    }
}

//! Which module lies where in a process.

/// An executable region of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Offset of the first byte in the module's file.
    pub file_offset: u64,
    /// Index of the module.
    pub module: u32,
}

/// The executable regions of a process, by address, without overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeMap {
    regions: Vec<Region>,
}

impl CodeMap {
    /// Adds a region; what it covers is no longer what it was. The kernel does not tell when a
    /// region is unmapped, so a new one is the only sign.
    pub fn insert(&mut self, new: Region) {
        if new.start >= new.end {
            return;
        }
        let from = self.regions.partition_point(|old| old.end <= new.start);
        let to = self.regions.partition_point(|old| old.start < new.end);
        let mut pieces = Vec::with_capacity(3);
        for old in &self.regions[from..to] {
            if old.start < new.start {
                pieces.push(Region {
                    end: new.start,
                    ..*old
                });
            }
        }
        pieces.push(new);
        for old in &self.regions[from..to] {
            if old.end > new.end {
                pieces.push(Region {
                    start: new.end,
                    file_offset: old.file_offset.wrapping_add(new.end - old.start),
                    ..*old
                });
            }
        }
        self.regions.splice(from..to, pieces);
    }

    /// Returns the region that holds an address.
    pub fn find(&self, address: u64) -> Option<&Region> {
        let at = self.regions.partition_point(|region| region.end <= address);
        self.regions
            .get(at)
            .filter(|region| region.start <= address)
    }

    /// Returns all regions by address.
    #[cfg(test)]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: u64, end: u64, module: u32) -> Region {
        Region {
            start,
            end,
            file_offset: 0x1000,
            module,
        }
    }

    #[test]
    fn a_new_region_takes_what_it_covers() {
        let mut map = CodeMap::default();
        map.insert(region(0x100, 0x400, 1));
        map.insert(region(0x200, 0x300, 2));
        assert_eq!(
            map.regions(),
            [
                region(0x100, 0x200, 1),
                region(0x200, 0x300, 2),
                Region {
                    file_offset: 0x1200,
                    ..region(0x300, 0x400, 1)
                },
            ]
        );
        map.insert(region(0x150, 0x350, 3));
        assert_eq!(map.regions().len(), 3);
        assert_eq!(map.find(0x14f).map(|r| r.module), Some(1));
        assert_eq!(map.find(0x150).map(|r| r.module), Some(3));
        assert_eq!(map.find(0x34f).map(|r| r.module), Some(3));
        assert_eq!(
            map.find(0x350).map(|r| (r.module, r.file_offset)),
            Some((1, 0x1250))
        );
        map.insert(region(0, u64::MAX, 4));
        assert_eq!(map.regions().len(), 1);
        map.insert(region(5, 5, 5));
        assert_eq!(map.find(5).map(|r| r.module), Some(4));
        assert_eq!(map.find(u64::MAX), None);
    }
}

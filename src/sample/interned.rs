//! Frames and names, each kept once.

use std::collections::HashMap;

use super::fast_hash::FastHash;

/// Distinct frames.
#[derive(Debug, Default)]
pub struct FrameTable {
    places: Vec<(u32, u64)>,
    index: HashMap<(u32, u64), u32, FastHash>,
}

impl FrameTable {
    /// Returns the index of a module and address.
    pub fn intern(&mut self, place: (u32, u64)) -> u32 {
        *self.index.entry(place).or_insert_with(|| {
            self.places.push(place);
            self.places.len() as u32 - 1
        })
    }

    /// Number of frames.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns module and address of every frame, by index.
    pub fn into_places(self) -> Vec<(u32, u64)> {
        self.places
    }
}

/// Names that are kept apart. A program that gives each of its threads another name has no end of them.
const MOST_NAMES: usize = 20_000;
/// What stands for all further ones.
const OTHERS: &[u8] = b"[other threads]";

/// Distinct names.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    index: HashMap<Vec<u8>, u32>,
}

impl Names {
    /// Returns the index of a name.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if let Some(at) = self.index.get(name) {
            return *at;
        }
        if self.names.len() >= MOST_NAMES && name != OTHERS {
            return self.intern(OTHERS);
        }
        let at = self.names.len() as u32;
        self.names.push(match name {
            b"" => "[unknown]".to_owned(),
            _ => String::from_utf8_lossy(name).into_owned(),
        });
        self.index.insert(name.to_vec(), at);
        at
    }

    /// Number of names.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns a name.
    pub fn get(&self, at: u32) -> &str {
        self.names
            .get(at as usize)
            .map_or("[unknown]", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_share_one() {
        let mut names = Names::default();
        for number in 0..2 * MOST_NAMES {
            names.intern(format!("worker-{number}").as_bytes());
        }
        assert_eq!(names.len(), MOST_NAMES + 1);
        let late = names.intern(b"late");
        assert_eq!(names.get(late), "[other threads]");
        let early = names.intern(b"worker-7");
        assert_eq!(names.get(early), "worker-7");
    }
}

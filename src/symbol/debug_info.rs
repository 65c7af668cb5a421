//! Functions, inlined ones among them, from debug information.

use std::fs::File;

use addr2line::Loader;
use object::{Object, ObjectSection};

use super::debug_file::DebugFile;
use super::demangle::demangle;
use super::mapped::MappedFile;
use crate::profile::Symbol;

/// The debug information of one module.
pub struct DebugInfo {
    loader: Loader,
    damaged: u64,
}

impl DebugInfo {
    /// Opens debug information.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn open(file: &DebugFile) -> Result<Self, String> {
        let loader = Loader::new_with_sup(&file.path, file.supplement.as_ref());
        match loader {
            Ok(loader) => Ok(Self { loader, damaged: 0 }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the functions at an address, innermost first; empty where nothing is known. Only the
    /// last is not inlined. A function without a name has an empty one.
    pub fn find(&mut self, address: u64) -> Vec<Symbol> {
        match self.read(address) {
            Some(symbols) => symbols,
            None => {
                self.damaged += 1;
                Vec::new()
            }
        }
    }

    fn read(&self, address: u64) -> Option<Vec<Symbol>> {
        let mut frames = self.loader.find_frames(address).ok()?;
        let mut symbols: Vec<Symbol> = Vec::new();
        while let Some(frame) = frames.next().ok()? {
            let name = match &frame.function {
                Some(function) => demangle(&function.raw_name().ok()?),
                None => String::new(),
            };
            let location = frame.location.as_ref();
            symbols.push(Symbol {
                name,
                file: location
                    .and_then(|location| location.file)
                    .map(str::to_owned),
                line: location.and_then(|location| location.line),
                inlined: true,
            });
        }
        if let Some(last) = symbols.last_mut() {
            last.inlined = false;
        }
        Some(symbols)
    }

    /// Returns whether every unit's header and abbreviations can be read. The loader passes over a
    /// unit where they cannot.
    pub fn units_are_sound(file: &DebugFile) -> bool {
        let Some(bytes) = File::open(&file.path)
            .ok()
            .and_then(|file| MappedFile::of(&file))
        else {
            return false;
        };
        let Ok(object) = object::File::parse(&*bytes) else {
            return false;
        };
        let section = |name| {
            let section = object.section_by_name(name);
            section.and_then(|section| section.uncompressed_data().ok())
        };
        let (Some(info), Some(abbrev)) = (section(".debug_info"), section(".debug_abbrev")) else {
            // There are none.
            return true;
        };
        let abbrev = gimli::DebugAbbrev::new(&abbrev, gimli::NativeEndian);
        let mut units = gimli::DebugInfo::new(&info, gimli::NativeEndian).units();
        loop {
            match units.next() {
                Ok(Some(unit)) if unit.abbreviations(&abbrev).is_ok() => {}
                Ok(None) => return true,
                _ => return false,
            }
        }
    }

    /// Number of addresses whose debug information could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }
}

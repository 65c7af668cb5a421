//! Functions, inlined ones among them, from debug information.

use addr2line::Loader;

use super::debug_file::DebugFile;
use super::demangle::demangle;
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

    /// Number of addresses whose debug information could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }
}

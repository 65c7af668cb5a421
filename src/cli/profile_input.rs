//! Profiles that a user names on the command line.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::profile::format::{self, Format, perf_data};
use crate::profile::{ModuleKind, Profile, folded_lines};
use crate::symbol::{ModuleFile, PerfMaps, build_id_of, open_regular, symbolize};

/// The folded stacks of one file.
pub struct FoldedInput {
    /// The file.
    pub path: PathBuf,
    /// Its stacks as folded text.
    pub text: Vec<u8>,
}

impl FoldedInput {
    /// Reads every file, in any format that perfblame knows. Folded text is left as it is.
    pub fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<FoldedInput>> {
        paths
            .iter()
            .map(|path| {
                let bytes = read_bytes(path)?;
                let plain = format::decompress(&bytes).with_context(|| named(path))?;
                let text = if plain.is_empty() || format::detect(&plain) == Some(Format::Folded) {
                    match plain {
                        // Not copied: such a file may be half of the memory.
                        std::borrow::Cow::Borrowed(_) => bytes,
                        std::borrow::Cow::Owned(plain) => plain,
                    }
                } else {
                    let profile = profile_of(path, &plain)?;
                    let mut text = folded_lines(&profile).join("\n");
                    text.push('\n');
                    text.into_bytes()
                };
                Ok(FoldedInput {
                    path: path.clone(),
                    text,
                })
            })
            .collect()
    }
}

/// Reads a profile in any format, with names for its addresses.
pub fn read_profile(path: &Path) -> anyhow::Result<Profile> {
    let bytes = read_bytes(path)?;
    let plain = format::decompress(&bytes).with_context(|| named(path))?;
    profile_of(path, &plain)
}

fn profile_of(path: &Path, bytes: &[u8]) -> anyhow::Result<Profile> {
    if format::detect(bytes) != Some(Format::PerfData) {
        return format::read(bytes).with_context(|| named(path));
    }
    let recording = perf_data::read(bytes).with_context(|| named(path))?;
    let profile = named_addresses(recording);
    for warning in &profile.accounting.warnings {
        let text = format!("warning: {}: {warning}", path.display());
        say!("{}", super::exit::shown(&text));
    }
    Ok(profile)
}

/// Names the addresses of a recording from the files that it was made of, as far as they are
/// still here and still the same.
fn named_addresses(recording: perf_data::PerfRecording) -> Profile {
    let mut profile = recording.profile;
    let mut warnings = Vec::new();
    let files: Vec<ModuleFile> = profile
        .modules
        .iter()
        .map(|module| {
            let path = PathBuf::from(&module.path);
            let mut file = None;
            if module.kind == ModuleKind::User {
                file = open_regular(&path).ok();
                let found = file.as_ref().and_then(build_id_of).map(hex);
                if let (Some(expected), Some(found)) = (&module.build_id, found)
                    && *expected != found
                {
                    warnings.push(format!("{} is not the file that ran", module.path));
                    file = None;
                }
            }
            ModuleFile {
                file,
                path,
                jit_pid: None,
            }
        })
        .collect();
    // Symbols of a kernel that was started anew, or on another machine, would be wrong names.
    let foreign = recording.kernel_start != kernel_start();
    if foreign {
        for module in &mut profile.modules {
            if module.kind == ModuleKind::Kernel {
                module.kind = ModuleKind::Unknown;
            }
        }
    }
    warnings.extend(symbolize(&mut profile, &files, &PerfMaps::default()));
    if foreign {
        for module in profile.modules.iter_mut().filter(|m| m.path == "[kernel]") {
            module.kind = ModuleKind::Kernel;
        }
    }
    profile.accounting.warnings.extend(warnings);
    profile
}

fn hex(bytes: Vec<u8>) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where this machine's kernel has its text; none where that may not be read.
fn kernel_start() -> Option<u64> {
    let symbols = std::fs::read_to_string("/proc/kallsyms").ok()?;
    let line = symbols.lines().find(|line| line.ends_with(" _text"))?;
    let address = u64::from_str_radix(line.split(' ').next()?, 16).ok()?;
    (address != 0).then_some(address)
}

fn named(path: &Path) -> String {
    format!("cannot read {} as a profile", path.display())
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

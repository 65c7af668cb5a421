//! Forms in which profiles are kept and exchanged. Pure parsers and writers.
//!
//! A form is told by its content, so that an ending may lie. Everything is read into a
//! [`Profile`]; counts of samples go in and out without loss.

mod builder;
mod error;
mod firefox;
pub mod folded;
mod gzip;
mod json;
mod kind;
pub mod perf_data;
mod perf_data_header;
mod perf_script;
mod pprof;
mod protobuf;
mod speedscope;

pub use error::FormatError;
pub use gzip::{compress, decompress};
pub use kind::{Format, detect};

use super::Profile;

/// Reads a profile in any known form, compressed by gzip or not.
pub fn read(bytes: &[u8]) -> Result<Profile, FormatError> {
    let bytes = decompress(bytes)?;
    match detect(&bytes) {
        Some(Format::Folded) => folded::read(&bytes),
        Some(Format::Json) => json::read(&bytes),
        Some(Format::PerfScript) => perf_script::read(&bytes),
        Some(Format::Pprof) => pprof::read(&bytes),
        Some(Format::Speedscope) => speedscope::read(&bytes),
        Some(Format::Firefox) => firefox::read(&bytes),
        Some(Format::PerfData) => Err(FormatError::PerfData),
        None if bytes.is_empty() => Err(FormatError::Empty),
        None => Err(FormatError::Unknown),
    }
}

/// Writes a symbolized profile.
pub fn write(profile: &Profile, format: Format) -> Result<Vec<u8>, FormatError> {
    match format {
        Format::Folded => Ok(folded::write(profile)),
        Format::Json => json::write(profile),
        Format::Pprof => pprof::write(profile),
        Format::Speedscope => speedscope::write(profile),
        Format::Firefox => firefox::write(profile),
        Format::PerfScript | Format::PerfData => Err(FormatError::ReadOnly(format.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{example::example_profile, folded_lines};

    const OUT: [Format; 5] = [
        Format::Folded,
        Format::Json,
        Format::Pprof,
        Format::Speedscope,
        Format::Firefox,
    ];

    #[test]
    fn every_form_gives_back_every_count() {
        let mut profile = example_profile();
        profile.stacks[0].count = 9_000_000_000;
        let lines = folded_lines(&profile);
        for format in OUT {
            let bytes = write(&profile, format).unwrap();
            let bytes = decompress(&bytes).unwrap();
            assert_eq!(detect(&bytes), Some(format), "{format:?}");
            let again = read(&bytes).unwrap();
            assert_eq!(folded_lines(&again), lines, "{format:?}");
            assert_eq!(
                again.accounting.samples,
                profile.stacks.iter().map(|s| s.count).sum::<u64>()
            );
            // And once more through gzip.
            assert_eq!(
                folded_lines(&read(&compress(&bytes)).unwrap()),
                lines,
                "{format:?}"
            );
        }
    }

    #[test]
    fn every_form_takes_what_names_may_hold() {
        let evil = "a<script>&\"'\\\u{202e}\u{1b}[31m漢";
        let text = format!(
            "srv;{evil};[libc.so.6];write_[k];[kernel]_[k] 3\nx;f;y_[i];z_[j] 9007199254740993\n"
        );
        let profile = read(text.as_bytes()).unwrap();
        let lines = folded_lines(&profile);
        assert_eq!(lines.len(), 2);
        for format in OUT {
            if format == Format::Firefox {
                // Its entries hold 31 bits each; so many samples it refuses.
                assert!(write(&profile, format).is_err());
                continue;
            }
            let again = read(&write(&profile, format).unwrap()).unwrap();
            assert_eq!(folded_lines(&again), lines, "{format:?}");
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let profile = example_profile();
        for format in OUT {
            let bytes = write(&profile, format).unwrap();
            let plain = decompress(&bytes).unwrap().into_owned();
            let step = (plain.len() / 97).max(1);
            for cut in (0..plain.len()).step_by(step) {
                let _ = read(&plain[..cut]);
                let mut bent = plain.clone();
                bent[cut] ^= 0x55;
                let _ = read(&bent);
            }
        }
        let gz = compress(b"a;b 1\n");
        assert!(matches!(
            read(&gz[..gz.len() - 9]),
            Err(FormatError::Gzip(_))
        ));
        assert!(matches!(read(b""), Err(FormatError::Empty)));
        assert!(matches!(read(b"\x00\x01\x02"), Err(FormatError::Unknown)));
        assert!(matches!(read(b"PERFILE2"), Err(FormatError::PerfData)));
    }
}

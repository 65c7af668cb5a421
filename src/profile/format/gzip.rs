//! Compression by gzip.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::error::FormatError;

/// Most bytes that come out of a compressed file.
pub(super) const MOST: u64 = 8 << 30;

/// Decompresses bytes that gzip made; others stay as they are.
pub fn decompress(bytes: &[u8]) -> Result<Cow<'_, [u8]>, FormatError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(MOST + 1)
        .read_to_end(&mut out)
        .map_err(FormatError::Gzip)?;
    if out.len() as u64 > MOST {
        return Err(FormatError::GzipTooLarge);
    }
    Ok(Cow::Owned(out))
}

/// Compresses; the same bytes give the same bytes, without time and name.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

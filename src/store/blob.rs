//! Files by the digest of their content, compressed with gzip.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::database::Store;
use super::error::StoreError;

/// SHA-256 of a blob's content before compression, 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobDigest(String);

impl BlobDigest {
    /// The digest of a content.
    pub fn of(content: &[u8]) -> Self {
        let digest = Sha256::digest(content);
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads 64 hex digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digest = text.len() == 64
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_digest.then(|| Self(text.to_owned()))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for BlobDigest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no SHA-256 digest"))
    }
}

impl From<BlobDigest> for String {
    fn from(digest: BlobDigest) -> Self {
        digest.0
    }
}

impl Store {
    /// Keeps a content; it is on disk when this returns. The same content is kept once.
    pub fn put_blob(&self, content: &[u8]) -> Result<BlobDigest, StoreError> {
        let digest = BlobDigest::of(content);
        let path = self.blob_path(&digest);
        if path.exists() {
            return Ok(digest);
        }
        let directory = path.parent().unwrap_or(&self.directory);
        fs::create_dir_all(directory)
            .and_then(|()| write_whole(directory, &path, content))
            .map_err(|error| StoreError::of_io(&path, error))?;
        Ok(digest)
    }

    /// Reads a content back and checks that it is the one that was kept.
    pub fn blob(&self, digest: &BlobDigest) -> Result<Vec<u8>, StoreError> {
        let path = self.blob_path(digest);
        let wrong = |what| StoreError::Blob {
            digest: digest.to_string(),
            what,
            path: path.clone(),
        };
        let file = File::open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => wrong("missing"),
            _ => StoreError::of_io(&path, error),
        })?;
        let mut content = Vec::new();
        let read = GzDecoder::new(file).read_to_end(&mut content);
        if read.is_err() || BlobDigest::of(&content) != *digest {
            return Err(wrong("damaged"));
        }
        Ok(content)
    }

    fn blob_path(&self, digest: &BlobDigest) -> PathBuf {
        let (start, rest) = digest.0.split_at(2);
        self.directory
            .join("blobs")
            .join(start)
            .join(format!("{rest}.gz"))
    }
}

fn write_whole(directory: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
    let part = tempfile::NamedTempFile::new_in(directory)?;
    let mut encoder = GzEncoder::new(part, Compression::default());
    encoder.write_all(content)?;
    let part = encoder.finish()?;
    part.as_file().sync_all()?;
    part.persist(path)?;
    // The name, and that of the directory where it is the first in it.
    for directory in directory.ancestors().take(2) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

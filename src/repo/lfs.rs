//! Git LFS: files that the tree holds only a pointer to.

use std::fs::File;

use super::repository::Repository;

/// A pointer as the LFS specification, version 1, writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    /// SHA-256 of the content, 64 hex digits.
    pub digest: String,
    /// Size of the content in bytes.
    pub size: u64,
}

/// The specification keeps pointers below this size.
const LARGEST: usize = 1024;

impl Pointer {
    /// Reads a blob; `None` where it is an ordinary file.
    pub fn parse(blob: &[u8]) -> Option<Self> {
        if blob.len() >= LARGEST || !blob.starts_with(b"version https://git-lfs.github.com/spec/") {
            return None;
        }
        let text = std::str::from_utf8(blob).ok()?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let digest = value("oid sha256:")?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            digest: is_digest.then(|| digest.to_ascii_lowercase())?,
            size: value("size ")?.parse().ok()?,
        })
    }

    /// Opens the content where an earlier `git lfs fetch` or checkout left it.
    pub fn open(&self, repository: &Repository) -> Option<File> {
        let path = repository
            .git
            .commondir()
            .join("lfs/objects")
            .join(&self.digest[..2])
            .join(&self.digest[2..4])
            .join(&self.digest);
        let file = File::open(path).ok()?;
        let is_whole = file.metadata().ok()?.len() == self.size;
        is_whole.then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";

    #[test]
    fn the_example_of_the_specification_is_a_pointer() {
        let text = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\nsize 12345\n"
        );
        assert_eq!(
            Pointer::parse(text.as_bytes()),
            Some(Pointer {
                digest: DIGEST.to_owned(),
                size: 12345
            })
        );
    }

    #[test]
    fn an_ordinary_file_is_none() {
        for text in [
            String::new(),
            "version 1\n".to_owned(),
            format!("oid sha256:{DIGEST}\nsize 1\n"),
            "version https://git-lfs.github.com/spec/v1\noid sha256:../../x\nsize 1\n".to_owned(),
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{DIGEST}\n"),
        ] {
            assert_eq!(Pointer::parse(text.as_bytes()), None, "{text}");
        }
    }
}

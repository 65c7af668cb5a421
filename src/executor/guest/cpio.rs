//! Archives of the form that a kernel unpacks as its first file system: cpio, "newc".
//!
//! Written here rather than by the `cpio` program, since an archive made so may hold device nodes
//! without root's rights, and is the same bytes every time.

/// An archive in the making.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// The name that ends an archive.
const TRAILER: &str = "TRAILER!!!";

impl Archive {
    /// Adds a directory.
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file with its permissions.
    pub fn file(&mut self, name: &str, permissions: u32, content: &[u8]) {
        self.entry(name, REGULAR | permissions, (0, 0), content);
    }

    /// Adds a character device.
    pub fn character_device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE | 0o600, (major, minor), &[]);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    /// `initramfs-buffer-format.rst` of the kernel names the fields: magic, ino, mode, uid, gid,
    /// nlink, mtime, filesize, device (2), rdev (2), namesize, check.
    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inode += 1;
        let fields = [
            self.inode,
            mode,
            0,
            0,
            1,
            0,
            content.len() as u32,
            0,
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_fields_and_is_padded() {
        let mut archive = Archive::default();
        archive.file("init", 0o755, b"abcde");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000081ed"), "{text}");
        // Header, name with its zero, padding to 4; content, padding to 4.
        assert_eq!(&bytes[110..115], b"init\0");
        assert_eq!(&bytes[116..121], b"abcde");
        assert_eq!(&bytes[124..130], b"070701");
        assert!(text.contains("TRAILER!!!"));
        assert_eq!(bytes.len() % 4, 0);
    }
}

//! Files that are opened by paths which others have chosen.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file to read. A pipe or a device in its place is refused, and does not make this wait
/// for a writer.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_does_not_make_it_wait() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(open_regular(&pipe).is_err());
        assert!(open_regular(Path::new("/dev/zero")).is_err());
        assert!(open_regular(dir.path()).is_err());
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        open_regular(&file).unwrap();
    }
}

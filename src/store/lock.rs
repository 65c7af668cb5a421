//! Locks that the kernel releases when their holder dies, by `kill -9` too.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

/// An exclusive `flock` on a file; dropping it, or dying, releases it. Programs that the holder
/// starts do not inherit it.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

/// Time between two looks at a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(100);

impl FileLock {
    /// Takes the lock if nobody holds it; `None` if somebody does.
    pub fn try_acquire(path: &Path) -> std::io::Result<Option<Self>> {
        loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            if !flock(&file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(None);
            }
            // The last holder may have removed the file between opening and locking: then this is a
            // lock on a file that nobody else will ever see.
            if !is_at(&file, path) {
                continue;
            }
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())?;
            return Ok(Some(Self {
                file,
                path: path.to_owned(),
            }));
        }
    }

    /// Takes the lock and waits for its holder; `waits` is told once who that is. `None` when
    /// `stop` says so meanwhile.
    pub fn acquire(
        path: &Path,
        waits: &mut dyn FnMut(Option<u32>),
        stop: &dyn Fn() -> bool,
    ) -> std::io::Result<Option<Self>> {
        let mut told = false;
        let mut looked = false;
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if stop() {
                return Ok(None);
            }
            // A holder writes its number just after it took the lock: a second look finds it.
            let holder = Self::holder(path);
            if !told && (holder.is_some() || looked) {
                told = true;
                waits(holder);
            }
            looked = true;
            std::thread::sleep(PAUSE);
        }
    }

    /// The process that took the lock last, as it wrote it into the file.
    pub fn holder(path: &Path) -> Option<u32> {
        let mut text = String::new();
        File::open(path).ok()?.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Whether some process holds the lock. Only looks: no holder is disturbed.
    pub fn is_held(path: &Path) -> bool {
        File::open(path)
            .and_then(|file| flock(&file, FlockOperation::NonBlockingLockShared))
            .is_ok_and(|free| !free)
    }

    /// Releases the lock and removes its file.
    pub fn remove(self) {
        // While it is held: whoever waits sees that the file is gone and makes a new one.
        let _ = std::fs::remove_file(&self.path);
        drop(self.file);
    }
}

/// Takes a lock without waiting; whether it was free.
fn flock(file: &File, operation: FlockOperation) -> std::io::Result<bool> {
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_free_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert!(!FileLock::is_held(&path));
        let lock = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::is_held(&path));
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert_eq!(FileLock::holder(&path), Some(std::process::id()));
        drop(lock);
        assert!(!FileLock::is_held(&path));
        FileLock::try_acquire(&path).unwrap().unwrap().remove();
        assert!(!path.exists());
    }

    #[test]
    fn one_who_waits_is_told_the_holder_and_can_be_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let _held = FileLock::try_acquire(&path).unwrap().unwrap();
        let mut holders = Vec::new();
        let looks = std::cell::Cell::new(0);
        let stop = || looks.replace(looks.get() + 1) == 2;
        let lock = FileLock::acquire(&path, &mut |holder| holders.push(holder), &stop).unwrap();
        assert!(lock.is_none());
        assert_eq!(holders, [Some(std::process::id())]);
    }
}

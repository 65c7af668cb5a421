//! Where trials run: a directory of this process in the store, gone when it ends.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::store::FileLock;

/// Name of the file whose lock says that a workspace is in use.
const IN_USE: &str = "lock";
/// Name of the file beside the workspaces whose lock is held while one is made or swept.
const DOOR: &str = "door";
/// Name of the file, beside the workspaces and in one, that remembers test boots with KVM.
const KVM_MEMORY: &str = "kvm.json";

/// A directory for the trials of one process. Dropping it removes it.
///
/// Its lock goes with the process, so that the next start can tell what a killed one left behind.
#[derive(Debug)]
pub struct Workspace {
    dir: PathBuf,
    _in_use: FileLock,
}

impl Workspace {
    /// Makes a workspace below `root`, and removes those that no living process holds.
    pub fn new(root: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(root)?;
        // A guest sees the host's root elsewhere, where links that begin with `/` lead nowhere.
        let root = &std::fs::canonicalize(root)?;
        // Nobody may take a workspace whose lock is about to be taken for one that is left.
        let door = FileLock::acquire(&root.join(DOOR), &mut |_| {}, &|| false)?;
        sweep(root);
        let dir = tempfile::Builder::new()
            .prefix("")
            .rand_bytes(4)
            // A server that runs as another user must get through.
            .permissions(std::fs::Permissions::from_mode(0o711))
            .tempdir_in(root)?
            .keep();
        let in_use = FileLock::try_acquire(&dir.join(IN_USE))?;
        drop(door);
        let in_use = in_use.ok_or(std::io::ErrorKind::WouldBlock)?;
        Ok(Self {
            dir,
            _in_use: in_use,
        })
    }

    /// Where it is remembered whether KVM boots a kernel here.
    pub fn kvm_memory(&self) -> PathBuf {
        self.dir.with_file_name(KVM_MEMORY)
    }

    /// The same for what holds for this process alone.
    pub fn kvm_memory_of_this_run(&self) -> PathBuf {
        self.dir.join(KVM_MEMORY)
    }

    /// The directory of one trial, made now. Short, since Unix sockets live below it.
    pub fn trial_dir(&self, number: usize) -> std::io::Result<PathBuf> {
        let dir = self.dir.join(number.to_string());
        std::fs::create_dir(&dir)?;
        Ok(dir)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Removes workspaces whose lock is free. What cannot be removed stays: it harms nobody.
fn sweep(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let dir = entry.path();
        if dir.is_dir() && !FileLock::is_held(&dir.join(IN_USE)) {
            let _ = std::fs::remove_dir_all(&dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_goes_with_its_owner_and_leaves_others_alone() {
        let root = tempfile::tempdir().unwrap();
        let mine = Workspace::new(root.path()).unwrap();
        let other = Workspace::new(root.path()).unwrap();
        assert!(mine.trial_dir(0).unwrap().is_dir());
        drop(other);
        assert!(mine.dir.is_dir());
        let mine_dir = mine.dir.clone();
        drop(mine);
        assert!(!mine_dir.exists());
    }

    #[test]
    fn what_a_killed_process_left_is_swept() {
        let root = tempfile::tempdir().unwrap();
        let stale = root.path().join("dead");
        std::fs::create_dir(&stale).unwrap();
        std::fs::write(stale.join(IN_USE), "").unwrap();
        let _mine = Workspace::new(root.path()).unwrap();
        assert!(!stale.exists());
    }
}

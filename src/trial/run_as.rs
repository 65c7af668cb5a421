//! The user that a server runs as, and whether that user can reach the trial's directory.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, User, chown, geteuid};

use crate::executor::guard::RunAs;

use super::error::TrialError;

/// Looks the user up and makes the run directory that user's. `None` where perfblame is not root:
/// the server then runs as whoever runs perfblame.
pub fn run_as(name: Option<&str>, run_dir: &Path) -> Result<Option<RunAs>, TrialError> {
    let Some(name) = name.filter(|_| geteuid().is_root()) else {
        return Ok(None);
    };
    let user = User::from_name(name)
        .ok()
        .flatten()
        .ok_or_else(|| {
            TrialError::Setup(format!(
                "there is no user `{name}` (server.user): install the server's package, or name another user"
            ))
        })?;
    let run_as = RunAs {
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
    };
    if let Some(closed) = closed_to(run_as, run_dir) {
        return Err(TrialError::Setup(format!(
            "the user `{name}` (server.user) may not enter {}, where the trial's directory is: keep the store elsewhere with --store DIR",
            closed.display()
        )));
    }
    let owner = (Uid::from_raw(run_as.uid), Gid::from_raw(run_as.gid));
    chown(run_dir, Some(owner.0), Some(owner.1)).map_err(|errno| TrialError::File {
        what: "cannot give away the run directory",
        path: run_dir.to_owned(),
        source: errno.into(),
    })?;
    Ok(Some(run_as))
}

/// The first directory above that the user may not enter.
fn closed_to(user: RunAs, dir: &Path) -> Option<&Path> {
    dir.ancestors().skip(1).find(|above| {
        let Ok(metadata) = std::fs::metadata(above) else {
            return false;
        };
        let mode = metadata.mode();
        let enter = match () {
            () if metadata.uid() == user.uid => mode & 0o100,
            () if metadata.gid() == user.gid => mode & 0o010,
            () => mode & 0o001,
        };
        enter == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_closed_directory_is_found() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let nobody = RunAs {
            uid: 65534,
            gid: 65534,
        };
        let mode = |mode| {
            std::fs::set_permissions(outer.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o700);
        assert_eq!(closed_to(nobody, &inner), Some(outer.path()));
        mode(0o711);
        assert_eq!(closed_to(nobody, &inner), None);
    }

    #[test]
    fn no_user_is_no_change() {
        assert_eq!(run_as(None, Path::new("/")).unwrap(), None);
        if geteuid().is_root() {
            let error = run_as(Some("no-such-user-here"), Path::new("/")).unwrap_err();
            assert!(error.to_string().contains("server.user"), "{error}");
        }
    }
}

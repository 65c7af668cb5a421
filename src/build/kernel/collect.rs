//! From a built kernel tree to the files of the artifact.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::super::artifact::{ArtifactFile, KERNEL_CODE, KERNEL_IMAGE};
use super::super::cache::Outcome;
use super::super::collect::list;
use super::super::error::BuildError;
use super::super::program_digest::kernel_digest;
use super::make::OWN;

/// The directory of modules, in the artifact: what `/lib/modules` is on an installed system.
const MODULES: &str = "modules";

/// What a kernel consists of: name in the artifact, and path in the object tree.
const FILES: [(&str, &str); 4] = [
    (KERNEL_IMAGE, "arch/x86/boot/bzImage"),
    (KERNEL_CODE, "perfblame/vmlinux"),
    ("System.map", "System.map"),
    ("config", ".config"),
];

/// Copies a kernel out of its object tree into `destination`, which must not exist, and digests it.
/// `Err` of the inner result names what was not made.
pub fn collect(objects: &Path, destination: &Path) -> Result<Result<Outcome, String>, BuildError> {
    fs::create_dir_all(destination).map_err(BuildError::io(destination))?;
    let mut kept = Vec::new();
    // The kernel is its code: the image holds the same packed, and the map and the configuration
    // describe it.
    let mut digest = Sha256::new();
    for (name, path) in FILES {
        let from = objects.join(path);
        if !from.is_file() {
            return Ok(Err(path.to_owned()));
        }
        let file = copy(&from, destination, name)?;
        if name == KERNEL_CODE {
            digest.update(&file.digest);
        }
        kept.push(file);
    }
    let installed = objects.join(OWN).join("installed/lib/modules");
    let mut modules = Vec::new();
    list(&installed, Path::new(""), &mut modules);
    // Links lead to source and objects: nowhere, once the next kernel is built.
    modules.retain(|path| !installed.join(path).is_symlink());
    for path in modules {
        let name = Path::new(MODULES).join(&path);
        let file = copy(&installed.join(&path), destination, &name.to_string_lossy())?;
        digest.update((file.path.len() as u64).to_le_bytes());
        digest.update(&file.path);
        digest.update(&file.digest);
        kept.push(file);
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Ok(Outcome::Built {
        digest: hex(&digest.finalize()),
        main: KERNEL_IMAGE.to_owned(),
        files: kept,
        library_path: Vec::new(),
        warnings: Vec::new(),
    }))
}

fn copy(from: &Path, destination: &Path, name: &str) -> Result<ArtifactFile, BuildError> {
    let to = destination.join(name);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(BuildError::io(parent))?;
    }
    fs::copy(from, &to).map_err(BuildError::io(&to))?;
    let content = fs::read(&to).map_err(BuildError::io(&to))?;
    let digest: [u8; 32] = match name == KERNEL_CODE {
        true => kernel_digest(&content),
        false => Sha256::digest(&content).into(),
    };
    Ok(ArtifactFile {
        path: name.to_owned(),
        size: content.len() as u64,
        digest: hex(&digest),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

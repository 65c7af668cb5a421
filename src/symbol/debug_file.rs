//! Where the debug information of a stripped file is kept.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ReadRef};

use super::elf::build_id_of;

/// Where distributions install debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// The file with a module's debug information, and the one that it shares with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugFile {
    /// The file to read.
    pub path: PathBuf,
    /// The supplementary file that `dwz` made, where it refers to one.
    pub supplement: Option<PathBuf>,
}

impl DebugFile {
    /// Finds the debug information of a file: in itself, by its build id, or by its debug link.
    /// `own` is a path to read the file by, `installed` the path where it lay when it ran.
    pub fn find<'data, R: ReadRef<'data>>(
        object: &object::File<'data, R>,
        own: &Path,
        installed: &Path,
    ) -> Self {
        let path = match object.section_by_name(".debug_info").is_some() {
            true => own.to_owned(),
            false => by_build_id(object)
                .or_else(|| by_debug_link(object, installed))
                .unwrap_or_else(|| own.to_owned()),
        };
        let supplement = match path == own {
            true => supplement_of(object, installed),
            false => File::open(&path).ok().and_then(|file| {
                let cache = object::ReadCache::new(file);
                supplement_of(&object::File::parse(&cache).ok()?, &path)
            }),
        };
        Self { path, supplement }
    }
}

fn by_build_id<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Option<PathBuf> {
    let build_id = object.build_id().ok()??;
    build_id_candidates(build_id)
        .into_iter()
        .find(|path| has_build_id(path, build_id))
}

/// `.build-id/ab/cdef.debug`, and what `debuginfod` has fetched already.
fn build_id_candidates(build_id: &[u8]) -> Vec<PathBuf> {
    let digits: String = build_id.iter().map(|b| format!("{b:02x}")).collect();
    let Some((first, rest)) = digits
        .split_at_checked(2)
        .filter(|(_, rest)| !rest.is_empty())
    else {
        return Vec::new();
    };
    let installed = Path::new(DEBUG_ROOT)
        .join(".build-id")
        .join(first)
        .join(format!("{rest}.debug"));
    let cache = std::env::var_os("DEBUGINFOD_CACHE_PATH")
        .map(PathBuf::from)
        .or_else(|| {
            std::env::var_os("XDG_CACHE_HOME")
                .map(|dir| PathBuf::from(dir).join("debuginfod_client"))
        })
        .or_else(|| {
            std::env::var_os("HOME").map(|dir| PathBuf::from(dir).join(".cache/debuginfod_client"))
        });
    let fetched = cache.map(|dir| dir.join(&digits).join("debuginfo"));
    std::iter::once(installed).chain(fetched).collect()
}

fn by_debug_link<'data, R: ReadRef<'data>>(
    object: &object::File<'data, R>,
    installed: &Path,
) -> Option<PathBuf> {
    let (name, checksum) = object.gnu_debuglink().ok()??;
    let name = file_name(name)?;
    let dir = installed.parent()?;
    let below_root = dir.strip_prefix("/").unwrap_or(dir);
    let build_id = object.build_id().ok().flatten();
    [
        dir.join(name),
        dir.join(".debug").join(name),
        Path::new(DEBUG_ROOT).join(below_root).join(name),
    ]
    .into_iter()
    .filter(|path| path != installed)
    .find(|path| match build_id {
        Some(build_id) if has_build_id(path, build_id) => true,
        _ => crc32_of(path) == Some(checksum),
    })
}

/// A link is a name, never a way to another directory.
fn file_name(name: &[u8]) -> Option<&Path> {
    let name = Path::new(OsStr::from_bytes(name));
    (name.file_name()? == name.as_os_str()).then_some(name)
}

fn supplement_of<'data, R: ReadRef<'data>>(
    object: &object::File<'data, R>,
    path: &Path,
) -> Option<PathBuf> {
    let (name, build_id) = object.gnu_debugaltlink().ok()??;
    let linked = path.parent()?.join(OsStr::from_bytes(name));
    std::iter::once(linked)
        .chain(build_id_candidates(build_id))
        .find(|path| has_build_id(path, build_id))
}

fn has_build_id(path: &Path, build_id: &[u8]) -> bool {
    File::open(path).is_ok_and(|file| build_id_of(&file).as_deref() == Some(build_id))
}

fn crc32_of(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_become_paths() {
        let paths = build_id_candidates(&[0xab, 0xcd, 0x01]);
        assert_eq!(
            paths[0],
            Path::new("/usr/lib/debug/.build-id/ab/cd01.debug")
        );
        assert_eq!(build_id_candidates(&[]), Vec::<PathBuf>::new());
        assert_eq!(build_id_candidates(&[1]), Vec::<PathBuf>::new());
    }

    #[test]
    fn links_that_lead_elsewhere_are_refused() {
        assert_eq!(file_name(b"a.debug"), Some(Path::new("a.debug")));
        for name in ["../a", "/etc/passwd", "a/b", "", ".."] {
            assert_eq!(file_name(name.as_bytes()), None, "{name}");
        }
    }
}

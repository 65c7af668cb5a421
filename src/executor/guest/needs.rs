//! What a guest needs of the host: QEMU, a static busybox, and memory.

use std::path::{Path, PathBuf};

use object::read::elf::{ElfFile64, ProgramHeader as _};

use crate::plan::Size;

use super::error::GuestError;
use super::qemu::QEMU;

/// Memory that QEMU takes beside the guest's: its own, and translated code.
const OWN_MEMORY: Size = Size::mib(384);

/// The programs of the host that a guest needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// QEMU's path.
    pub qemu: PathBuf,
    /// What it says of its version.
    pub qemu_version: String,
    /// The static busybox.
    pub busybox: PathBuf,
}

impl Programs {
    /// Finds them.
    ///
    /// # Errors
    /// Names what is missing, and the Debian package that has it.
    pub fn find() -> Result<Self, GuestError> {
        let missing =
            |program: &'static str, package: &'static str| GuestError::Missing { program, package };
        if cfg!(not(target_arch = "x86_64")) {
            return Err(GuestError::Architecture);
        }
        let qemu = find(QEMU).ok_or(missing(QEMU, "qemu-system-x86"))?;
        let busybox = find("busybox").filter(|path| is_static(path));
        Ok(Self {
            qemu_version: version(&qemu),
            qemu,
            busybox: busybox.ok_or(missing("a static busybox", "busybox-static"))?,
        })
    }
}

/// A program in the search path, or where the system's own are.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(own)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

/// Whether a program needs no loader, which the guest's first file system has not.
fn is_static(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else {
        return false;
    };
    let Ok(elf) = ElfFile64::<object::Endianness>::parse(bytes.as_slice()) else {
        return false;
    };
    let endian = elf.endian();
    let is_loader = |header: &&object::elf::ProgramHeader64<object::Endianness>| {
        header.p_type(endian) == object::elf::PT_INTERP
    };
    elf.elf_program_headers().iter().find(is_loader).is_none()
}

/// `7.2.22`, of "QEMU emulator version 7.2.22 (Debian …)".
fn version(qemu: &Path) -> String {
    let output = std::process::Command::new(qemu).arg("--version").output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "version");
    words.nth(1).unwrap_or("of unknown version").to_owned()
}

/// Refuses a guest that would not fit into the memory that is free.
pub fn check_memory(guest: Size) -> Result<(), GuestError> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = available(&text).into_iter().chain(of_cgroup()).min();
    check_fits(guest, available.map(Size))
}

fn check_fits(guest: Size, available: Option<Size>) -> Result<(), GuestError> {
    let wanted = Size(guest.0.saturating_add(OWN_MEMORY.0));
    match available {
        Some(available) if available < wanted => Err(GuestError::Memory {
            guest,
            wanted,
            available: Size(available.0 >> 20 << 20),
        }),
        _ => Ok(()),
    }
}

/// Bytes that are available, by `/proc/meminfo`.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes that the limit of this process's control group leaves, where it has one.
fn of_cgroup() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let dir = Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/'));
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(dir.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_does_not_fit_is_refused_with_figures() {
        let free = available("MemTotal: 100 kB\nMemAvailable:    1048576 kB\n").map(Size);
        assert_eq!(free, Some(Size::mib(1024)));
        assert!(check_fits(Size::mib(512), free).is_ok());
        assert!(check_fits(Size::mib(512), None).is_ok());
        let error = check_fits(Size::mib(1024), free).unwrap_err().to_string();
        for part in ["1GiB", "1408MiB", "guest.memory"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(check_fits(Size(u64::MAX), free).is_err());
    }

    #[test]
    fn what_has_a_loader_is_not_static() {
        assert!(!is_static(Path::new("/proc/self/exe")));
        assert!(!is_static(Path::new("/etc/passwd")));
        assert!(!is_static(Path::new("/nowhere")));
    }
}

//! Why a guest could not be started.

use std::path::PathBuf;

use crate::plan::Size;

use super::super::guarded::ProcessError;

/// Why a guest could not be started. What happens in a guest that was is told in other ways.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A program of the host.
    #[error(
        "a guest needs {program}, which is not there: install it (Debian: apt install {package})"
    )]
    Missing {
        /// The program.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// Another machine than QEMU is told to be.
    #[error("guests are x86-64 machines, and this perfblame is built for another architecture")]
    Architecture,
    /// The kernel's image.
    #[error("the guest's kernel {}: {source}; guest.kernel names a bzImage", path.display())]
    Kernel {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It does not fit.
    #[error(
        "a guest of {guest} needs {wanted} of memory with QEMU's own, and {available} are free: lower guest.memory, or free some"
    )]
    Memory {
        /// The guest's memory.
        guest: Size,
        /// With QEMU's own.
        wanted: Size,
        /// What is free.
        available: Size,
    },
    /// KVM was asked for.
    #[error(
        "guest.accel is kvm, and KVM cannot be used: {0}; accel = \"auto\" takes translation then"
    )]
    Kvm(String),
    /// A file of the guest.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Its threads.
    #[error("{0}")]
    Pin(String),
    /// The process.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

//! Guests: a virtual machine booted for one trial, with the host's files and programs in it.
//!
//! The host's root is shared read-only, under a layer of memory, so that every program of the host
//! runs in the guest as it does outside; the trial's directory is shared writable, and the outcome
//! comes out through it. The kernel is the plan's or the subject itself.

mod boot;
mod console;
mod cpio;
mod error;
mod initramfs;
mod kvm;
mod needs;
mod pin;
mod qemu;

pub use boot::{GuestEnd, GuestRun, GuestTrial, run_guest};
pub use console::{Console, Ending, Fault};
pub use error::GuestError;
pub use kvm::{Choice, KvmMemory, KvmTest, choose, device_fault, tested};
pub use needs::{Programs, check_memory};
pub use pin::HostCpus;
pub use qemu::Engine;

//! `[guest]`: the virtual machine that each trial is booted in.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::duration::Length;
use super::size::Size;

/// The virtual machine that a kernel is measured in: booted afresh for each trial, with the host's
/// root file system read-only under a layer of memory.
///
/// CPUs are the host's in the rest of the plan: the guest gets one for each of `cpus.subject` and
/// `cpus.load`, and each runs on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Guest {
    /// A kernel that is built already (`bzImage`), beside the plan unless the path is absolute;
    /// without it the subject is the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// Memory.
    pub memory: Size,
    /// CPUs; by default as many as subject and load have. More of them are the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<NonZeroU32>,
    /// How the guest's code is run.
    pub accel: Accel,
    /// Ties the guest's time to its instructions, each of them 2^shift nanoseconds: what a trial
    /// does is then repeatable, and how long it takes means nothing. Without KVM, and with one CPU,
    /// which a server shares with its load: QEMU does not bring up a second one in such time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icount: Option<u8>,
    /// Further arguments of the kernel, such as `nokaslr`.
    pub kernel_args: String,
    /// Where the guest swaps to.
    pub swap: Swap,
    /// How long it may take from power-on to the trial's start. Without KVM it has five times that.
    pub boot_timeout: Length,
}

/// What is said of a guest that has nothing to boot.
pub const NO_KERNEL: &str = "a guest needs a kernel: name a bzImage here, or let the subject be one (subject.kind = \"kernel\")";

/// The largest shift that QEMU takes.
pub const MAX_ICOUNT: u8 = 10;

impl Default for Guest {
    fn default() -> Self {
        Self {
            kernel: None,
            memory: Size::mib(1024),
            cpus: None,
            accel: Accel::Auto,
            icount: None,
            kernel_args: String::new(),
            swap: Swap::Off,
            boot_timeout: Length::seconds(60),
        }
    }
}

impl Guest {
    /// The first fault: its key below `guest`, and what is wrong.
    pub fn check(&self) -> Option<(&'static str, String)> {
        let fault = |key, message: String| Some((key, message));
        if self.memory < SMALLEST_MEMORY {
            return fault(
                "memory",
                format!("a guest needs at least {SMALLEST_MEMORY} to boot"),
            );
        }
        if !self.memory.0.is_multiple_of(Size::mib(1).0) {
            return fault("memory", "must be a whole number of MiB".to_owned());
        }
        if self.boot_timeout.0.is_zero() {
            return fault("boot-timeout", "must be more than zero".to_owned());
        }
        if self.kernel_args.contains(['\0', '\n']) {
            return fault("kernel-args", "must be one line".to_owned());
        }
        if self.icount.is_some_and(|shift| shift > MAX_ICOUNT) {
            return fault("icount", format!("is a shift from 0 to {MAX_ICOUNT}"));
        }
        if self.icount.is_some() && self.accel == Accel::Kvm {
            return fault(
                "icount",
                "instructions are counted without KVM only: set accel = \"tcg\"".to_owned(),
            );
        }
        if self.icount.is_some() && self.cpus.is_some_and(|cpus| cpus.get() > 1) {
            return fault(
                "cpus",
                "a guest whose instructions are counted (guest.icount) has one CPU".to_owned(),
            );
        }
        if self
            .kernel
            .as_ref()
            .is_some_and(|path| path.as_os_str().is_empty())
        {
            return fault("kernel", "is the path of a bzImage".to_owned());
        }
        None
    }
}

const SMALLEST_MEMORY: Size = Size::mib(64);

/// How a guest's code is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accel {
    /// By KVM where a test boot with it works, else by translation.
    #[default]
    Auto,
    /// By the processor.
    Kvm,
    /// Translated, ten to thirty times slower.
    Tcg,
}

/// Where a guest swaps to. Written `off`, `zram:SIZE` or `file:SIZE`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Swap {
    /// Nowhere.
    #[default]
    Off,
    /// To compressed memory of its own; the size is that of what it holds.
    Zram(Size),
    /// To a disk, which is a file of the host.
    File(Size),
}

impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Zram(size) => write!(f, "zram:{size}"),
            Self::File(size) => write!(f, "file:{size}"),
        }
    }
}

impl FromStr for Swap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sized = |size: &str| -> Result<Size, String> {
            match size.parse()? {
                Size(bytes) if bytes < SMALLEST_SWAP => {
                    Err(format!("`{text}`: swap of less than 1MiB serves nobody"))
                }
                size => Ok(size),
            }
        };
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            Some(("zram", size)) => sized(size).map(Self::Zram),
            Some(("file", size)) => sized(size).map(Self::File),
            _ => Err(format!(
                "`{text}` is no swap: `off`, `zram:256MiB` or `file:256MiB`"
            )),
        }
    }
}

const SMALLEST_SWAP: u64 = 1 << 20;

impl TryFrom<String> for Swap {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Swap> for String {
    fn from(swap: Swap) -> Self {
        swap.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_reads_as_it_is_written() {
        for text in ["off", "zram:256MiB", "file:1GiB"] {
            assert_eq!(text.parse::<Swap>().unwrap().to_string(), text);
        }
        for (text, said) in [
            ("on", "is no swap"),
            ("zram", "is no swap"),
            ("zram:", "amount of memory"),
            ("zram:lots", "amount of memory"),
            ("file:512B", "less than 1MiB"),
            ("disk:1GiB", "is no swap"),
        ] {
            let error = text.parse::<Swap>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn faults_name_their_key() {
        for (text, key) in [
            ("memory = '16MiB'", "memory"),
            ("memory = '102400KiB'", ""),
            ("memory = '102401KiB'", "memory"),
            ("boot-timeout = '0s'", "boot-timeout"),
            ("icount = 11", "icount"),
            ("icount = 6\naccel = 'kvm'", "icount"),
            ("icount = 6", ""),
            ("icount = 6\ncpus = 1", ""),
            ("icount = 6\ncpus = 2", "cpus"),
            ("kernel = ''", "kernel"),
            ("kernel-args = \"a\\nb\"", "kernel-args"),
        ] {
            let guest: Guest = toml::from_str(text).unwrap();
            let found = guest.check().map_or("", |(key, _)| key);
            assert_eq!(found, key, "{text}");
        }
        for text in ["cpus = 0", "accel = 'hax'", "memroy = '1GiB'", "swap = 3"] {
            assert!(toml::from_str::<Guest>(text).is_err(), "{text}");
        }
    }
}

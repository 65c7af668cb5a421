//! QEMU's command line, from what a guest is to be.

use std::path::{Path, PathBuf};

use crate::plan::{Size, Swap};

/// The program.
pub const QEMU: &str = "qemu-system-x86_64";

/// How a guest's code is run, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// By the processor.
    Kvm,
    /// Translated.
    Tcg {
        /// Virtual nanoseconds an instruction, as a power of two; `None` lets time be the host's.
        icount: Option<u8>,
    },
}

/// A virtual machine that is to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// Its first file system.
    pub initramfs: PathBuf,
    /// Further arguments of the kernel.
    pub kernel_args: String,
    /// Memory.
    pub memory: Size,
    /// CPUs.
    pub cpus: usize,
    /// How its code is run.
    pub engine: Engine,
    /// Where its console is written.
    pub console: PathBuf,
    /// The directory that it shares with the host; none for a test boot.
    pub shared: Option<PathBuf>,
    /// A disk to swap to.
    pub swap_disk: Option<PathBuf>,
}

/// Memory for translated code: enough for a kernel and a server, and less than QEMU takes unasked.
const TRANSLATED_MIB: u64 = 256;

impl Machine {
    /// Program and arguments.
    pub fn command(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        add("-name", "perfblame,debug-threads=on".to_owned());
        // Without graphics the firmware writes to the console too, so that it is seen to hang.
        add("-machine", "pc,graphics=off,usb=off".to_owned());
        match self.engine {
            Engine::Kvm => {
                add("-accel", "kvm".to_owned());
                add("-cpu", "host".to_owned());
            }
            Engine::Tcg { icount: None } => {
                add(
                    "-accel",
                    format!("tcg,thread=multi,tb-size={TRANSLATED_MIB}"),
                );
                add("-cpu", "max".to_owned());
            }
            Engine::Tcg {
                icount: Some(shift),
            } => {
                // Instructions of all CPUs are counted in turn, in one thread.
                add(
                    "-accel",
                    format!("tcg,thread=single,tb-size={TRANSLATED_MIB}"),
                );
                add("-icount", format!("shift={shift},sleep=on"));
                add("-cpu", "max".to_owned());
            }
        }
        add("-m", format!("{}M", self.memory.0 >> 20));
        add(
            "-smp",
            format!("{0},sockets=1,cores={0},threads=1", self.cpus),
        );
        add("-kernel", self.kernel.display().to_string());
        add("-initrd", self.initramfs.display().to_string());
        add("-append", self.arguments());
        add(
            "-chardev",
            format!("file,id=console,path={}", value(&self.console)),
        );
        add("-serial", "chardev:console".to_owned());
        if let Some(shared) = &self.shared {
            let mut share = |id: &str, path: &Path, more: &str| {
                let path = value(path);
                add(
                    "-fsdev",
                    format!("local,id={id},path={path},security_model=none{more}"),
                );
                add(
                    "-device",
                    format!("virtio-9p-pci,fsdev={id},mount_tag=perfblame-{id}"),
                );
            };
            // Directories of several file systems are one to the guest.
            share("root", Path::new("/"), ",readonly=on,multidevs=remap");
            share("trial", shared, "");
        }
        if let Some(disk) = &self.swap_disk {
            add(
                "-drive",
                format!("file={},format=raw,if=none,id=swap", value(disk)),
            );
            add("-device", "virtio-blk-pci,drive=swap".to_owned());
        }
        for flag in ["-nodefaults", "-no-user-config", "-no-reboot"] {
            words.push(flag.to_owned());
        }
        words.extend(["-display", "none", "-monitor", "none"].map(str::to_owned));
        std::iter::once(QEMU.to_owned()).chain(words).collect()
    }

    /// The kernel's command line.
    fn arguments(&self) -> String {
        // A panic ends the machine at once; randomness need not be waited for.
        let own = "console=ttyS0 panic=-1 random.trust_cpu=on";
        format!("{own} {}", self.kernel_args).trim_end().to_owned()
    }
}

/// The disk that a guest needs to swap to, in bytes.
pub fn swap_disk_bytes(swap: Swap) -> Option<u64> {
    match swap {
        Swap::File(size) => Some(size.0),
        Swap::Off | Swap::Zram(_) => None,
    }
}

/// A path as a value in a list of options: commas are written twice.
fn value(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            kernel: "/k/bzImage".into(),
            initramfs: "/t/initramfs".into(),
            kernel_args: "nokaslr  mitigations=off".to_owned(),
            memory: Size::mib(1024),
            cpus: 2,
            engine: Engine::Tcg { icount: None },
            console: "/t/a,b/console".into(),
            shared: Some("/t/a,b".into()),
            swap_disk: None,
        }
    }

    fn after<'w>(words: &'w [String], flag: &str) -> Vec<&'w str> {
        words
            .windows(2)
            .filter(|pair| pair[0] == flag)
            .map(|pair| pair[1].as_str())
            .collect()
    }

    #[test]
    fn a_translated_guest() {
        let words = machine().command();
        assert_eq!(words[0], QEMU);
        for (flag, values) in [
            ("-accel", vec!["tcg,thread=multi,tb-size=256"]),
            ("-cpu", vec!["max"]),
            ("-icount", vec![]),
            ("-m", vec!["1024M"]),
            ("-smp", vec!["2,sockets=1,cores=2,threads=1"]),
            ("-kernel", vec!["/k/bzImage"]),
            (
                "-append",
                vec!["console=ttyS0 panic=-1 random.trust_cpu=on nokaslr  mitigations=off"],
            ),
            ("-chardev", vec!["file,id=console,path=/t/a,,b/console"]),
            (
                "-fsdev",
                vec![
                    "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
                    "local,id=trial,path=/t/a,,b,security_model=none",
                ],
            ),
            (
                "-device",
                vec![
                    "virtio-9p-pci,fsdev=root,mount_tag=perfblame-root",
                    "virtio-9p-pci,fsdev=trial,mount_tag=perfblame-trial",
                ],
            ),
            ("-drive", vec![]),
        ] {
            assert_eq!(after(&words, flag), values, "{flag}");
        }
        for flag in ["-nodefaults", "-no-reboot"] {
            assert!(words.iter().any(|word| word == flag), "{flag}");
        }
    }

    #[test]
    fn what_the_plan_says_is_in_the_command() {
        let kvm = Machine {
            engine: Engine::Kvm,
            swap_disk: Some("/t/swap".into()),
            ..machine()
        };
        let words = kvm.command();
        assert_eq!(after(&words, "-accel"), ["kvm"]);
        assert_eq!(after(&words, "-cpu"), ["host"]);
        assert_eq!(
            after(&words, "-drive"),
            ["file=/t/swap,format=raw,if=none,id=swap"]
        );
        let counted = Machine {
            engine: Engine::Tcg { icount: Some(6) },
            shared: None,
            ..machine()
        };
        let words = counted.command();
        assert_eq!(after(&words, "-accel"), ["tcg,thread=single,tb-size=256"]);
        assert_eq!(after(&words, "-icount"), ["shift=6,sleep=on"]);
        assert!(after(&words, "-fsdev").is_empty());
    }

    #[test]
    fn only_a_file_needs_a_disk() {
        assert_eq!(swap_disk_bytes(Swap::Off), None);
        assert_eq!(swap_disk_bytes(Swap::Zram(Size(9))), None);
        assert_eq!(swap_disk_bytes(Swap::File(Size(9))), Some(9));
    }
}

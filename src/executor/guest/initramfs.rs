//! The guest's first file system: a static busybox, the init script, and what the script is to do.

use std::path::Path;

use crate::plan::{CpuList, Swap};

use super::cpio::Archive;

/// The first process.
const INIT: &str = include_str!("init.sh");

/// What the guest is to do once it runs.
#[derive(Debug, Clone, Copy)]
pub enum Errand<'a> {
    /// Say that it lives, and power off.
    TestBoot,
    /// Run one trial.
    Trial(&'a TrialErrand<'a>),
}

/// A trial as the guest sees it: paths are the host's.
#[derive(Debug)]
pub struct TrialErrand<'a> {
    /// The program perfblame.
    pub program: &'a Path,
    /// The job.
    pub job: &'a Path,
    /// The directory that guest and host share.
    pub dir: &'a Path,
    /// The kernel's modules: what is to be at `/lib/modules`.
    pub modules: Option<&'a Path>,
    /// Where the guest swaps to.
    pub swap: Swap,
    /// The guest's CPUs that the subject runs on.
    pub subject_cpus: &'a CpuList,
    /// Variables of the trial's environment.
    pub env: &'a [(String, String)],
}

/// The archive, with a static busybox.
pub fn initramfs(busybox: &[u8], errand: Errand<'_>) -> Vec<u8> {
    let mut archive = Archive::default();
    for dir in ["bin", "dev", "proc", "sys", "host", "layer", "root"] {
        archive.directory(dir);
    }
    // The kernel opens it for the first process before anything is mounted.
    archive.character_device("dev/console", 5, 1);
    archive.character_device("dev/null", 1, 3);
    archive.file("bin/busybox", 0o755, busybox);
    archive.file("init", 0o755, INIT.as_bytes());
    archive.file("config", 0o644, config(errand).as_bytes());
    archive.finish()
}

/// Variables for the script, quoted for a shell.
fn config(errand: Errand<'_>) -> String {
    let mut lines = Vec::new();
    let mut set = |name: &str, value: &str| {
        lines.push(format!("{name}={}", shell_words::quote(value)));
    };
    match errand {
        Errand::TestBoot => set("test_boot", "1"),
        Errand::Trial(trial) => {
            set("test_boot", "");
            set("program", &trial.program.to_string_lossy());
            set("job", &trial.job.to_string_lossy());
            set("trial_dir", &trial.dir.to_string_lossy());
            set(
                "modules",
                &trial.modules.unwrap_or(Path::new("")).to_string_lossy(),
            );
            set("subject_cpus", &trial.subject_cpus.to_string());
            let swap = match trial.swap {
                Swap::Off => "off".to_owned(),
                Swap::Zram(size) => format!("zram:{}", size.0),
                Swap::File(size) => format!("file:{}", size.0),
            };
            set("swap", &swap);
            for (name, value) in trial.env {
                set(&format!("export {name}"), value);
            }
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Size;

    #[test]
    fn the_archive_holds_the_script_and_what_it_is_to_do() {
        let trial = TrialErrand {
            program: Path::new("/usr/bin/perfblame"),
            job: Path::new("/home/a user/it's/job.json"),
            dir: Path::new("/home/a user/it's"),
            modules: Some(Path::new("/store/a kernel/modules")),
            swap: Swap::Zram(Size::mib(256)),
            subject_cpus: &CpuList::new(vec![1, 2]),
            env: &[("PATH".to_owned(), "/bin:/usr/bin".to_owned())],
        };
        let config = config(Errand::Trial(&trial));
        for line in [
            "program=/usr/bin/perfblame",
            r"trial_dir='/home/a user/it'\''s'",
            "swap=zram:268435456",
            "subject_cpus=1-2",
            "modules='/store/a kernel/modules'",
            "export PATH=/bin:/usr/bin",
            "test_boot=''",
        ] {
            assert!(config.lines().any(|found| found == line), "{config}");
        }
    }

    #[test]
    fn cpio_reads_the_archive() {
        let archive = initramfs(b"#!busybox", Errand::TestBoot);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("initramfs");
        std::fs::write(&file, &archive).unwrap();
        let Ok(listed) = std::process::Command::new("cpio")
            .args(["--list", "--verbose", "--quiet", "-F"])
            .arg(&file)
            .output()
        else {
            return; // No cpio here; the archive's own test checks its bytes.
        };
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(listed.status.success(), "{text}");
        for part in [
            "crw-------",
            "5,   1",
            "dev/console",
            "-rwxr-xr-x",
            "init",
            "config",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_shell_reads_the_script() {
        let checked = std::process::Command::new("sh")
            .args(["-n", "-c", INIT])
            .status()
            .unwrap();
        assert!(checked.success());
    }
}

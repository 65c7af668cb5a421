//! Whether KVM boots a kernel here: tried once, with a time limit, and remembered.
//!
//! `/dev/kvm` may be there, be opened, and yet boot nothing: a paravirtual KVM without what a stock
//! kernel expects, a nested one without its host's leave. Only a boot can tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::plan::{Accel, Guest};

use super::super::cancel::Cancel;
use super::super::spawn::Supervisor;
use super::boot::{Files, TEST_MEMORY, check_kernel, start, write_initramfs};
use super::console::Console;
use super::error::GuestError;
use super::initramfs::Errand;
use super::needs::Programs;
use super::qemu::{Engine, Machine};

/// How long a test boot may take; with KVM a kernel boots in a second.
const LIMIT: Duration = Duration::from_secs(20);
const DEVICE: &str = "/dev/kvm";

/// How guests are run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// How their code is run.
    pub engine: Engine,
    /// Why not by KVM.
    pub why_not_kvm: Option<String>,
}

/// What a test boot with KVM gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KvmTest {
    /// Why KVM cannot be used; none where it can.
    pub fault: Option<String>,
}

/// Files that remember test boots; where there is none, every test is made anew.
#[derive(Debug, Clone, Default)]
pub struct KvmMemory {
    /// What is known of KVM here, by QEMU's and the host's version.
    pub lasting: Option<PathBuf>,
    /// What one kernel alone made of it, for as long as this run lasts.
    pub of_this_run: Option<PathBuf>,
}

/// A file of test boots.
struct Remembered<'a>(Option<&'a Path>);

impl Remembered<'_> {
    fn all(&self) -> BTreeMap<String, KvmTest> {
        let text = self.0.and_then(|file| std::fs::read(file).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    fn recall(&self, key: &str) -> Option<KvmTest> {
        self.all().remove(key)
    }

    /// A memory that cannot be written costs a test boot, no more.
    fn remember(&self, key: &str, test: &KvmTest) {
        let mut all = self.all();
        all.insert(key.to_owned(), test.clone());
        if let (Some(file), Ok(text)) = (self.0, serde_json::to_vec_pretty(&all)) {
            let part = file.with_extension("part");
            let _ = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, file));
        }
    }
}

/// Decides how guests are run. `dir` is a directory for the test boot's files.
///
/// # Errors
/// Where the plan insists on KVM and it does not boot, and where a test boot cannot be tried.
pub fn choose(
    guest: &Guest,
    kernel: &Path,
    programs: &Programs,
    memory: &KvmMemory,
    dir: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<Choice, GuestError> {
    let translated = |why: String| Choice {
        engine: Engine::Tcg {
            icount: guest.icount,
        },
        why_not_kvm: Some(why),
    };
    if guest.accel == Accel::Tcg {
        return Ok(translated("guest.accel is tcg".to_owned()));
    }
    if guest.icount.is_some() {
        return Ok(translated(
            "guest.icount counts instructions, which KVM cannot".to_owned(),
        ));
    }
    let test = tested(kernel, programs, memory, dir, supervisor, cancel)?;
    match (test.fault, guest.accel) {
        (None, _) => Ok(Choice {
            engine: Engine::Kvm,
            why_not_kvm: None,
        }),
        (Some(fault), Accel::Kvm) => Err(GuestError::Kvm(fault)),
        (Some(fault), _) => Ok(translated(fault)),
    }
}

/// The result of a test boot, now or earlier.
pub fn tested(
    kernel: &Path,
    programs: &Programs,
    memory: &KvmMemory,
    dir: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<KvmTest, GuestError> {
    if let Some(fault) = device_fault() {
        return Ok(KvmTest { fault: Some(fault) });
    }
    let lasting = (Remembered(memory.lasting.as_deref()), key(programs));
    let of_this_run = (
        Remembered(memory.of_this_run.as_deref()),
        kernel.display().to_string(),
    );
    for (file, key) in [&lasting, &of_this_run] {
        if let Some(test) = file.recall(key) {
            return Ok(test);
        }
    }
    check_kernel(kernel)?;
    let (test, is_lasting) = boot(kernel, programs, dir, supervisor, cancel)?;
    if !cancel.is_set() {
        let (file, key) = match is_lasting {
            true => lasting,
            false => of_this_run,
        };
        file.remember(&key, &test);
    }
    Ok(test)
}

/// Why the device itself cannot be used.
pub fn device_fault() -> Option<String> {
    let opened = std::fs::File::options().read(true).write(true).open(DEVICE);
    let error = opened.err()?;
    Some(match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no {DEVICE}"),
        std::io::ErrorKind::PermissionDenied => {
            format!("{DEVICE} may not be opened by this user: join the group kvm")
        }
        _ => format!("{DEVICE}: {error}"),
    })
}

/// What decides whether KVM boots a kernel: QEMU and the host, hardly the kernel.
fn key(programs: &Programs) -> String {
    let host = nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    format!("QEMU {} on Linux {host}", programs.qemu_version)
}

/// Boots; tells too whether the result is KVM's, and not that of this kernel alone.
fn boot(
    kernel: &Path,
    programs: &Programs,
    dir: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<(KvmTest, bool), GuestError> {
    let files = Files::below(dir)?;
    write_initramfs(&files, programs, Errand::TestBoot)?;
    let machine = Machine {
        kernel: kernel.to_owned(),
        initramfs: files.initramfs.clone(),
        kernel_args: String::new(),
        memory: TEST_MEMORY,
        cpus: 1,
        engine: Engine::Kvm,
        console: files.console.clone(),
        shared: None,
        swap_disk: None,
    };
    let mut qemu = start(&machine, programs, &files, dir, supervisor)?;
    let begun = Instant::now();
    let in_time = loop {
        if Console::read(&files.console).is_alive() || qemu.has_ended() {
            break true;
        }
        if begun.elapsed() >= LIMIT || cancel.is_set() {
            break false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let report = qemu.end()?;
    let console = Console::read(&files.console);
    if console.is_alive() {
        return Ok((KvmTest { fault: None }, true));
    }
    // A QEMU that ends at once may have met a bad image, or a want of memory: that passes.
    let is_lasting = !in_time && !console.shows_kernel();
    let said = std::fs::read_to_string(&files.log).unwrap_or_default();
    let said = said.lines().find(|line| !line.trim().is_empty());
    let place = console.last().unwrap_or("before the first word");
    let fault = match (in_time, said) {
        (true, Some(said)) => format!(
            "a test boot with it failed: QEMU {}: {said}",
            report.describe()
        ),
        (true, None) => format!(
            "a test boot with it failed at \"{place}\": QEMU {}",
            report.describe()
        ),
        (false, _) => format!(
            "a test boot with it stood at \"{place}\" after {} seconds",
            LIMIT.as_secs()
        ),
    };
    Ok((KvmTest { fault: Some(fault) }, is_lasting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_boot_gave_is_remembered_by_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kvm.json");
        let memory = Remembered(Some(&file));
        assert_eq!(memory.recall("a"), None);
        let works = KvmTest { fault: None };
        let fails = KvmTest {
            fault: Some("it hangs".to_owned()),
        };
        memory.remember("a", &works);
        memory.remember("b", &fails);
        let again = Remembered(Some(&file));
        assert_eq!(again.recall("a"), Some(works));
        assert_eq!(again.recall("b"), Some(fails));
        std::fs::write(&file, "no json").unwrap();
        assert_eq!(again.recall("a"), None);
        assert_eq!(Remembered(None).recall("a"), None);
    }
}

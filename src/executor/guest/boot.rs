//! Starts a guest, and watches over it until it ends or its time is up.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::plan::{CpuList, Guest, Size};

use super::super::cancel::Cancel;
use super::super::guarded::Guarded;
use super::super::spawn::{Spawn, Supervisor};
use super::console::{Console, Ending};
use super::error::GuestError;
use super::initramfs::{Errand, TrialErrand, initramfs};
use super::needs::{Programs, check_memory};
use super::pin::{HostCpus, pin};
use super::qemu::{Engine, Machine, swap_disk_bytes};

/// How much longer a guest may take to boot where its code is translated.
const TRANSLATION_SLOWS_BOOT: u32 = 5;
/// How often a guest's console is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long a machine may take to go down once its trial has ended.
const POWER_OFF: Duration = Duration::from_secs(30);
/// Variables of the host that the guest's programs see too.
const KEPT_VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "USER", "RUST_LOG"];

/// A trial that is to be run in a guest of its own.
#[derive(Debug)]
pub struct GuestTrial<'a> {
    /// What the plan says of the guest.
    pub guest: &'a Guest,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// Its modules: what is to be at `/lib/modules`.
    pub modules: Option<&'a Path>,
    /// How its code is run.
    pub engine: Engine,
    /// QEMU and busybox.
    pub programs: &'a Programs,
    /// The host's CPUs under the guest's.
    pub host_cpus: &'a HostCpus,
    /// The guest's CPUs that the subject runs on.
    pub subject_cpus: &'a CpuList,
    /// Directory that guest and host share: the job is in it, and the outcome will be.
    pub dir: &'a Path,
    /// The job.
    pub job: &'a Path,
    /// Time after which a trial that has begun must be stuck.
    pub limit: Duration,
}

/// How a guest came to its end.
#[derive(Debug)]
pub enum GuestEnd {
    /// It ran, well or not.
    Ran(GuestRun),
    /// The user wished to stop.
    Cancelled,
}

/// A guest that ran.
#[derive(Debug)]
pub struct GuestRun {
    /// What its console shows.
    pub console: Console,
    /// How it ended.
    pub ending: Ending,
    /// QEMU's own words, where QEMU failed.
    pub qemu_failure: Option<String>,
    /// Time from power-on to the trial's start, where it started.
    pub boot: Option<Duration>,
}

/// Files of a guest, below the trial's directory.
pub(super) struct Files {
    pub initramfs: PathBuf,
    pub console: PathBuf,
    pub log: PathBuf,
    pub swap: PathBuf,
}

impl Files {
    pub fn below(dir: &Path) -> Result<Self, GuestError> {
        let dir = dir.join("guest");
        std::fs::create_dir_all(&dir).map_err(|source| GuestError::File {
            path: dir.clone(),
            source,
        })?;
        Ok(Self {
            initramfs: dir.join("initramfs"),
            console: dir.join("console"),
            log: dir.join("qemu.log"),
            swap: dir.join("swap"),
        })
    }
}

/// Boots a guest, lets it run its trial, and waits for its end.
///
/// # Errors
/// Where the guest cannot be started; what goes wrong in it is in the [`GuestRun`].
pub fn run_guest(
    supervisor: &Supervisor,
    trial: &GuestTrial<'_>,
    cancel: &Cancel,
) -> Result<GuestEnd, GuestError> {
    check_memory(trial.guest.memory)?;
    check_kernel(trial.kernel)?;
    let files = Files::below(trial.dir)?;
    let env: Vec<(String, String)> = KEPT_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    let errand = TrialErrand {
        program: supervisor.program(),
        job: trial.job,
        dir: trial.dir,
        modules: trial.modules,
        swap: trial.guest.swap,
        subject_cpus: trial.subject_cpus,
        env: &env,
    };
    write_initramfs(&files, trial.programs, Errand::Trial(&errand))?;
    let swap_disk = swap_disk_bytes(trial.guest.swap)
        .map(|bytes| sparse(&files.swap, bytes))
        .transpose()?;
    let machine = Machine {
        kernel: trial.kernel.to_owned(),
        initramfs: files.initramfs.clone(),
        kernel_args: trial.guest.kernel_args.clone(),
        memory: trial.guest.memory,
        cpus: trial.host_cpus.of_guest.len(),
        engine: trial.engine,
        console: files.console.clone(),
        shared: Some(trial.dir.to_owned()),
        swap_disk,
    };
    let mut qemu = start(&machine, trial.programs, &files, trial.dir, supervisor)?;
    pin(&mut qemu, trial.host_cpus).map_err(GuestError::Pin)?;
    let boot_limit = match trial.engine {
        Engine::Kvm => trial.guest.boot_timeout.0,
        Engine::Tcg { .. } => trial.guest.boot_timeout.0 * TRANSLATION_SLOWS_BOOT,
    };
    watch(qemu, &files, boot_limit, trial.limit, cancel)
}

/// The machine's process, under a guard: nothing of it is left when perfblame is gone.
pub(super) fn start(
    machine: &Machine,
    programs: &Programs,
    files: &Files,
    dir: &Path,
    supervisor: &Supervisor,
) -> Result<Guarded, GuestError> {
    let mut command = machine.command();
    if let Some(program) = command.first_mut() {
        *program = programs.qemu.to_string_lossy().into_owned();
    }
    let spawn = Spawn {
        command,
        dir: dir.to_owned(),
        env: Vec::new(),
        cpus: None,
        log: files.log.clone(),
        stdout: None,
        user: None,
        grace: Duration::from_secs(2),
    };
    Ok(spawn.start(supervisor)?)
}

pub(super) fn write_initramfs(
    files: &Files,
    programs: &Programs,
    errand: Errand<'_>,
) -> Result<(), GuestError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| GuestError::File { path, source }
    };
    let busybox = std::fs::read(&programs.busybox).map_err(failed(&programs.busybox))?;
    std::fs::write(&files.initramfs, initramfs(&busybox, errand)).map_err(failed(&files.initramfs))
}

pub(super) fn check_kernel(path: &Path) -> Result<(), GuestError> {
    let readable = std::fs::File::open(path).and_then(|file| match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(std::io::Error::other("it is no file")),
    });
    readable.map_err(|source| GuestError::Kernel {
        path: path.to_owned(),
        source,
    })
}

fn sparse(path: &Path, bytes: u64) -> Result<PathBuf, GuestError> {
    let made = std::fs::File::create(path).and_then(|file| file.set_len(bytes));
    made.map_err(|source| GuestError::File {
        path: path.to_owned(),
        source,
    })?;
    Ok(path.to_owned())
}

/// Waits for the machine's end; ends it where a time is up.
fn watch(
    mut qemu: Guarded,
    files: &Files,
    boot_limit: Duration,
    limit: Duration,
    cancel: &Cancel,
) -> Result<GuestEnd, GuestError> {
    let begun = Instant::now();
    let mut boot = None;
    let mut done: Option<Instant> = None;
    let ending = loop {
        if qemu.has_ended() {
            break Ending::Itself;
        }
        if cancel.is_set() {
            qemu.end()?;
            return Ok(GuestEnd::Cancelled);
        }
        let console = Console::read(&files.console);
        if console.has_ended() {
            // Whatever it hangs at now, its trial has left what it had to leave.
            let since = done.get_or_insert_with(Instant::now);
            if since.elapsed() >= POWER_OFF {
                break Ending::Itself;
            }
        }
        match boot {
            None if console.has_started() => boot = Some(begun.elapsed()),
            None if begun.elapsed() >= boot_limit => break Ending::NotBooted,
            Some(boot) if begun.elapsed() >= limit.saturating_add(boot) => {
                break Ending::NotDone;
            }
            _ => {}
        }
        std::thread::sleep(LOOK);
    };
    let report = qemu.end()?;
    let console = Console::read(&files.console);
    let qemu_failure =
        (ending == Ending::Itself && done.is_none() && !report.is_success()).then(|| {
            let said = std::fs::read_to_string(&files.log).unwrap_or_default();
            let said: Vec<&str> = said
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let last = said[said.len().saturating_sub(5)..].join("; ");
            format!("QEMU {}: {last}", report.describe())
        });
    Ok(GuestEnd::Ran(GuestRun {
        // The last look may have come before the last word.
        boot: boot.or_else(|| console.has_started().then(|| begun.elapsed())),
        console,
        ending,
        qemu_failure,
    }))
}

/// The memory of a test boot.
pub(super) const TEST_MEMORY: Size = Size::mib(256);

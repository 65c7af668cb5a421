//! The guard process: starts one command, waits, and leaves nothing of it behind.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::tree::end_tree;

/// What a guard is to do. Its standard input is its lifeline: the guard starts the command when it
/// reads a byte there, and ends the command's tree when it reads the end.
#[derive(Debug, Clone)]
pub struct GuardSpec {
    /// Program and arguments.
    pub command: Vec<String>,
    /// CPUs to run on; `None` leaves the affinity as it is.
    pub cpus: Option<Vec<usize>>,
    /// User and group to run as; `None` leaves them as they are.
    pub user: Option<RunAs>,
    /// Where [`GuardReport`] is written.
    pub report: PathBuf,
    /// Time between SIGTERM and SIGKILL when the tree is ended.
    pub grace: Duration,
}

/// A user and a group by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunAs {
    /// The user.
    pub uid: u32,
    /// The user's own group.
    pub gid: u32,
}

/// How the guarded command ended, as JSON in the file that the guard was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    /// Why the command could not be started; all else is zero then.
    pub start_error: Option<String>,
    /// Exit code, where it exited.
    pub code: Option<i32>,
    /// Signal, where one ended it.
    pub signal: Option<i32>,
    /// Wall time from start to end in nanoseconds.
    pub wall_ns: u64,
    /// User CPU time of the command and all descendants that ended, in nanoseconds.
    pub user_ns: u64,
    /// System CPU time, likewise.
    pub system_ns: u64,
    /// Largest resident set of any one process of the tree, in bytes.
    pub max_rss_bytes: u64,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
}

/// Runs the guard to its end.
pub fn run(spec: &GuardSpec) -> ExitCode {
    match guard(spec) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "perfblame guard: {error}");
            ExitCode::from(2)
        }
    }
}

fn guard(spec: &GuardSpec) -> std::io::Result<()> {
    // Orphans of the command become children of the guard, so that none can hide.
    nix::sys::prctl::set_child_subreaper(true)?;
    let mut child_signal = signal_pipe(signal_hook::consts::SIGCHLD)?;
    let end_signal = signal_pipe(signal_hook::consts::SIGTERM)?;
    // The terminal's Ctrl-C goes to the whole group; what to do about it is the parent's decision.
    let _ignored = signal_pipe(signal_hook::consts::SIGINT)?;
    let mut lifeline = std::io::stdin().lock();

    let mut go = [0u8; 1];
    if lifeline.read(&mut go)? == 0 {
        return Ok(());
    }
    if let Some(cpus) = &spec.cpus {
        pin_to(cpus)?;
    }
    let started = Instant::now();
    let child = match start(spec) {
        Ok(child) => child,
        Err(error) => {
            return write_report(
                &spec.report,
                &GuardReport {
                    start_error: Some(error.to_string()),
                    ..report_of(None, Duration::ZERO)?
                },
            );
        }
    };
    let child = Pid::from_raw(child as i32);
    let mut ended = None;
    let mut told = false;
    while ended.is_none() {
        let mut fds = [
            PollFd::new(std::os::fd::AsFd::as_fd(&child_signal), PollFlags::POLLIN),
            PollFd::new(std::os::fd::AsFd::as_fd(&end_signal), PollFlags::POLLIN),
            PollFd::new(std::os::fd::AsFd::as_fd(&lifeline), PollFlags::POLLIN),
        ];
        match nix::poll::poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd| fd.revents().is_some_and(|events| !events.is_empty());
        told |= is_ready(&fds[1]) || is_ready(&fds[2]);
        let wake = is_ready(&fds[0]);
        if wake {
            let _ = child_signal.read(&mut [0u8; 64]);
        }
        ended = reap(child);
        if told && ended.is_none() {
            end_tree(std::process::id() as i32, spec.grace, || {
                ended = ended.or_else(|| reap(child));
            });
        }
    }
    let wall = started.elapsed();
    end_tree(std::process::id() as i32, spec.grace, || {
        reap(child);
    });
    write_report(&spec.report, &report_of(ended, wall)?)
}

fn signal_pipe(signal: i32) -> std::io::Result<std::os::unix::net::UnixStream> {
    let (read, write) = std::os::unix::net::UnixStream::pair()?;
    read.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal, write)?;
    Ok(read)
}

fn pin_to(cpus: &[usize]) -> std::io::Result<()> {
    let mut set = nix::sched::CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    nix::sched::sched_setaffinity(Pid::from_raw(0), &set)?;
    Ok(())
}

fn start(spec: &GuardSpec) -> std::io::Result<u32> {
    let (program, arguments) = spec
        .command
        .split_first()
        .ok_or_else(|| std::io::Error::other("no command was given"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if let Some(user) = spec.user {
        command.gid(user.gid).uid(user.uid);
    }
    // SAFETY: the closure makes one system call and touches no memory that another thread may hold
    // locked; the guard has a single thread anyway. It ends the command with the guard even when the
    // guard is killed by SIGKILL. It comes after the change of user, which would undo it.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            Ok(())
        });
    }
    Ok(command.spawn()?.id())
}

/// Collects every zombie; returns the exit of the command itself if it was among them.
fn reap(child: Pid) -> Option<std::process::ExitStatus> {
    let mut ended = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => {
                ended = Some(std::process::ExitStatus::from_raw(code << 8));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                ended = Some(std::process::ExitStatus::from_raw(signal as i32));
            }
            Ok(WaitStatus::StillAlive) | Err(_) => return ended,
            Ok(_) => {}
        }
    }
}

fn report_of(
    ended: Option<std::process::ExitStatus>,
    wall: Duration,
) -> std::io::Result<GuardReport> {
    let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let ns = |time: nix::sys::time::TimeVal| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1_000
    };
    Ok(GuardReport {
        start_error: None,
        code: ended.and_then(|status| status.code()),
        signal: ended.and_then(|status| status.signal()),
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        user_ns: ns(usage.user_time()),
        system_ns: ns(usage.system_time()),
        max_rss_bytes: usage.max_rss() as u64 * 1024,
        context_switches: (usage.voluntary_context_switches()
            + usage.involuntary_context_switches()) as u64,
    })
}

fn write_report(path: &Path, report: &GuardReport) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(&serde_json::to_vec(report)?)?;
    std::fs::rename(&part, path)
}

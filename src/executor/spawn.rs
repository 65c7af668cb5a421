//! Starts a command under a guard.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use super::guard::RunAs;
use super::guarded::{Guarded, ProcessError};

/// Knows which program serves as guard: perfblame itself.
#[derive(Debug, Clone)]
pub struct Supervisor {
    program: PathBuf,
}

impl Supervisor {
    /// The running program as its own guard.
    pub fn current() -> std::io::Result<Self> {
        // Through the link and not the path: it names the running program even after a rebuild.
        Ok(Self {
            program: std::env::current_exe()?,
        })
    }

    /// Another perfblame as guard, for tests of the library.
    pub fn at(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
        }
    }

    /// The program that serves as guard.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// A command to be run under a guard.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub dir: PathBuf,
    /// Variables added to (or replaced in) the environment.
    pub env: Vec<(String, String)>,
    /// CPUs to run on; `None` leaves the affinity as it is.
    pub cpus: Option<Vec<usize>>,
    /// User and group to run as; `None` leaves them as they are.
    pub user: Option<RunAs>,
    /// File that standard output and standard error are appended to.
    pub log: PathBuf,
    /// File for standard output alone; `None` sends it to [`Self::log`].
    pub stdout: Option<PathBuf>,
    /// Time between SIGTERM and SIGKILL when the tree is ended.
    pub grace: Duration,
}

impl Spawn {
    /// Starts the guard, which holds the command back until [`Guarded::release`]: whatever must be
    /// attached before the first instruction (a profiler) is attached to [`Guarded::guard_pid`].
    pub fn hold(&self, supervisor: &Supervisor) -> Result<Guarded, ProcessError> {
        let shown = shell_words::join(&self.command);
        self.start_guard(supervisor)
            .map_err(|source| ProcessError::Guard {
                command: shown.clone(),
                source,
            })
            .map(|(guard, lifeline, report)| Guarded {
                guard,
                lifeline,
                report,
                command: shown,
                ended: None,
            })
    }

    /// Starts the guard and the command.
    pub fn start(&self, supervisor: &Supervisor) -> Result<Guarded, ProcessError> {
        let mut guarded = self.hold(supervisor)?;
        guarded.release()?;
        Ok(guarded)
    }

    fn start_guard(
        &self,
        supervisor: &Supervisor,
    ) -> std::io::Result<(Child, Option<ChildStdin>, PathBuf)> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let stdout = match &self.stdout {
            Some(path) => File::create(path)?,
            None => log.try_clone()?,
        };
        let report = fresh_report_path(&self.log)?;
        let mut command = Command::new(supervisor.program());
        command.arg("guard").arg("--report").arg(&report);
        command
            .arg("--grace-ms")
            .arg(self.grace.as_millis().to_string());
        if let Some(cpus) = &self.cpus {
            let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
            command.arg("--cpus").arg(list.join(","));
        }
        if let Some(user) = self.user {
            command.arg("--uid").arg(user.uid.to_string());
            command.arg("--gid").arg(user.gid.to_string());
        }
        command.arg("--").args(&self.command);
        command
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .current_dir(&self.dir)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(log);
        let mut guard = command.spawn()?;
        let lifeline = guard.stdin.take();
        Ok((guard, lifeline, report))
    }
}

/// A name next to the log that no other guard uses.
fn fresh_report_path(log: &Path) -> std::io::Result<PathBuf> {
    let dir = log.parent().unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".guard-")
        .suffix(".json")
        .tempfile_in(std::path::absolute(dir)?)?;
    // The name is kept, the file is not: a report that is there was written by the guard.
    Ok(file.path().to_owned())
}

//! The parent's side of a guarded process.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use super::cancel::Cancel;
use super::guard::GuardReport;
use super::tree::{ProcessId, descendants};

/// Why a guarded process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The guard or its files could not be made.
    #[error("cannot start `{command}`: {source}")]
    Guard {
        /// The command line.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The command itself could not be started.
    #[error("cannot start `{command}`: {reason}")]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// The guard was killed from outside.
    #[error("the process that watched over `{command}` was killed ({status}); run again")]
    GuardKilled {
        /// The command line.
        command: String,
        /// How the guard ended.
        status: String,
    },
}

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
    /// File that standard output and standard error are appended to.
    pub log: PathBuf,
    /// File for standard output alone; `None` sends it to [`Self::log`].
    pub stdout: Option<PathBuf>,
    /// Time between SIGTERM and SIGKILL when the tree is ended.
    pub grace: Duration,
}

/// How a guarded command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Itself(GuardReport),
    /// Its time was up, and its tree was ended.
    TimeLimit(GuardReport),
    /// The user wished to stop, and its tree was ended.
    Cancelled(GuardReport),
}

/// A running guarded command. Dropping it ends the command's whole tree.
#[derive(Debug)]
pub struct Guarded {
    guard: Child,
    lifeline: Option<ChildStdin>,
    report: PathBuf,
    command: String,
    ended: Option<GuardReport>,
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

impl Guarded {
    /// Lets the command start.
    pub fn release(&mut self) -> Result<(), ProcessError> {
        let sent = self
            .lifeline
            .as_mut()
            .map_or(Ok(()), |lifeline| lifeline.write_all(b"g"));
        sent.map_err(|source| ProcessError::Guard {
            command: self.command.clone(),
            source,
        })
    }

    /// The guard's process id: the root of the command's tree.
    pub fn guard_pid(&self) -> u32 {
        self.guard.id()
    }

    /// The command's living processes, the guard not among them.
    pub fn processes(&self) -> Vec<ProcessId> {
        descendants(self.guard_pid() as i32)
    }

    /// Whether the command has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.guard.try_wait(), Ok(None))
    }

    /// Waits for the end; at the limit, or when the user wishes to stop, ends the tree.
    pub fn wait(mut self, limit: Option<Duration>, cancel: &Cancel) -> Result<Ended, ProcessError> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        let wrap: fn(GuardReport) -> Ended = loop {
            if self.has_ended() {
                break Ended::Itself;
            }
            if cancel.is_set() {
                break Ended::Cancelled;
            }
            if limit.is_some_and(|limit| started.elapsed() >= limit) {
                break Ended::TimeLimit;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        self.finish().map(wrap)
    }

    /// Ends the command's tree and says how it ended.
    pub fn end(mut self) -> Result<GuardReport, ProcessError> {
        self.finish()
    }

    /// How the command ended, if it has ended by itself.
    pub fn try_end(&mut self) -> Option<Result<GuardReport, ProcessError>> {
        self.has_ended().then(|| self.finish())
    }

    fn finish(&mut self) -> Result<GuardReport, ProcessError> {
        if let Some(report) = &self.ended {
            return Ok(report.clone());
        }
        self.lifeline = None;
        let killed = |status: String| ProcessError::GuardKilled {
            command: self.command.clone(),
            status,
        };
        let status = self
            .guard
            .wait()
            .map_err(|error| killed(error.to_string()))?;
        let text = std::fs::read(&self.report).map_err(|_| killed(status.to_string()))?;
        // It may be gone already with the directory that it lay in.
        let _ = std::fs::remove_file(&self.report);
        let report: GuardReport =
            serde_json::from_slice(&text).map_err(|error| killed(error.to_string()))?;
        match report.start_error {
            Some(reason) => Err(ProcessError::Start {
                command: self.command.clone(),
                reason,
            }),
            None => {
                self.ended = Some(report.clone());
                Ok(report)
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.lifeline.take().is_some() {
            let _ = self.guard.wait();
            let _ = std::fs::remove_file(&self.report);
        }
    }
}

impl Ended {
    /// The report, however it ended.
    pub fn report(&self) -> &GuardReport {
        match self {
            Ended::Itself(report) | Ended::TimeLimit(report) | Ended::Cancelled(report) => report,
        }
    }
}

impl GuardReport {
    /// Whether the command exited with code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words.
    pub fn describe(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(number)) => match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => format!("was killed by signal {number} ({signal})"),
                Err(_) => format!("was killed by signal {number}"),
            },
            (None, None) => "was ended before it started".to_owned(),
        }
    }
}

//! The life of a server: a fresh directory, a free address, start, ready, stop.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::executor::{Cancel, Ended, Guarded, ProcessId, Spawn, Supervisor};
use crate::load::Target;
use crate::plan::{Length, Listen, Placeholders, SampleSpec, Server};
use crate::sample::Recorder;

use super::environment::variables;
use super::error::{TrialError, tail};
use super::job::TrialJob;
use super::profiling;
use super::ready;
use super::run_as::run_as;

/// Longest path of a Unix socket: `sun_path` holds 108 bytes, the last of them zero.
const SOCKET_PATH_BYTES: usize = 107;

/// A server that is ready. Dropping it ends all its processes.
#[derive(Debug)]
pub struct RunningServer {
    process: Guarded,
    log: PathBuf,
    /// Where it listens.
    pub target: Target,
    /// What the plan's placeholders stand for.
    pub places: Placeholders,
}

impl RunningServer {
    /// Starts the server of a job and waits until it is ready.
    pub fn start(
        server: &Server,
        job: &TrialJob,
        supervisor: &Supervisor,
        cancel: &Cancel,
    ) -> Result<Self, TrialError> {
        Ok(Self::start_on(true, server, job, None, supervisor, cancel)?.0)
    }

    /// Starts it once more, on the data that it left; where it is to be sampled, from its first
    /// instruction.
    pub fn restart(
        server: &Server,
        job: &TrialJob,
        sampling: Option<&SampleSpec>,
        supervisor: &Supervisor,
        cancel: &Cancel,
    ) -> Result<(Self, Option<Recorder>), TrialError> {
        Self::start_on(false, server, job, sampling, supervisor, cancel)
    }

    fn start_on(
        fresh: bool,
        server: &Server,
        job: &TrialJob,
        sampling: Option<&SampleSpec>,
        supervisor: &Supervisor,
        cancel: &Cancel,
    ) -> Result<(Self, Option<Recorder>), TrialError> {
        let run = job.run_dir.display().to_string();
        let (target, socket, port) = address(server, &run)?;
        let values = Placeholders::new([
            ("artifact", job.artifact.display().to_string()),
            ("artifact-dir", job.artifact_dir.display().to_string()),
            ("run", run),
            ("socket", socket),
            ("port", port.to_string()),
            ("cpus", job.subject_cpus.to_string()),
        ]);
        let unknown = |error: crate::plan::UnknownPlaceholder| TrialError::Setup(error.to_string());
        let log = job.run_dir.join("server.log");
        let spawn = Spawn {
            command: server.start.expand(&values).map_err(unknown)?,
            dir: job.run_dir.clone(),
            env: variables(&server.env, &values, job).map_err(unknown)?,
            cpus: Some(job.subject_cpus.as_slice().to_vec()),
            user: run_as(server.user.as_deref(), &job.run_dir)?,
            log: log.clone(),
            stdout: None,
            grace: server.stop_timeout.0,
        };
        if let Some(init) = server.init.as_ref().filter(|_| fresh) {
            let command = init.expand(&values).map_err(unknown)?;
            let spawn = Spawn {
                command,
                ..spawn.clone()
            };
            initialise(&spawn, server.init_timeout, supervisor, cancel)?;
        }
        let probe = server
            .ready
            .command
            .as_ref()
            .map(|command| command.expand(&values));
        let probe = probe.transpose().map_err(unknown)?;
        let mut process = spawn.hold(supervisor)?;
        let recorder = match sampling {
            Some(spec) => Some(
                Recorder::attach_on_exec(spec, process.guard_pid()).map_err(profiling::sampling)?,
            ),
            None => None,
        };
        process.release()?;
        ready::wait(
            &server.ready,
            probe.as_deref(),
            &target,
            &mut process,
            &log,
            cancel,
        )?;
        let running = Self {
            process,
            log,
            target,
            places: values,
        };
        Ok((running, recorder))
    }

    /// The root of the process tree to be sampled.
    pub fn guard_pid(&self) -> u32 {
        self.process.guard_pid()
    }

    /// The server's processes.
    pub fn processes(&self) -> Vec<ProcessId> {
        self.process.processes()
    }

    /// The last lines of its output.
    pub fn output(&self) -> String {
        tail(&self.log)
    }

    /// An error if the server has ended.
    pub fn check(&mut self, doing: &'static str) -> Result<(), TrialError> {
        match self.process.try_end() {
            None => Ok(()),
            Some(ended) => Err(TrialError::DiedUnderLoad {
                how: ended?.describe(),
                doing,
                output: self.output(),
            }),
        }
    }

    /// Stops the server: SIGTERM, and SIGKILL when its time is up.
    pub fn stop(mut self) -> Result<(), TrialError> {
        self.check("about to be stopped")?;
        self.process.end()?;
        Ok(())
    }
}

/// Makes the server's data directory.
fn initialise(
    spawn: &Spawn,
    limit: Length,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> Result<(), TrialError> {
    let ended = spawn.start(supervisor)?.wait(Some(limit.0), cancel)?;
    let how = match ended {
        Ended::Cancelled(_) => return Err(TrialError::Cancelled),
        Ended::Itself(report) if report.is_success() => return Ok(()),
        Ended::Itself(report) => report.describe(),
        Ended::TimeLimit(_) => format!("was not done after {limit} (server.init-timeout)"),
    };
    Err(TrialError::Command {
        command: shell_words::join(&spawn.command),
        how,
        output: tail(&spawn.log),
    })
}

fn address(server: &Server, run: &str) -> Result<(Target, String, u16), TrialError> {
    match server.listen {
        Listen::Unix => {
            let values = Placeholders::new([("run", run.to_owned())]);
            let socket = values
                .expand(&server.socket)
                .map_err(|error| TrialError::Setup(error.to_string()))?;
            if socket.len() > SOCKET_PATH_BYTES {
                return Err(TrialError::Setup(format!(
                    "the socket path {socket} has {} bytes, and the kernel allows {SOCKET_PATH_BYTES}: \
                     set server.socket to a shorter one, keep the store elsewhere with --store DIR, or set server.listen = \"tcp\"",
                    socket.len()
                )));
            }
            Ok((Target::Unix(Path::new(&socket).to_owned()), socket, 0))
        }
        Listen::Tcp => {
            let port = free_port()?;
            let target = Target::Tcp {
                host: Ipv4Addr::LOCALHOST.to_string(),
                port,
            };
            Ok((target, String::new(), port))
        }
    }
}

/// A loopback port that was free a moment ago; the kernel does not give it out again at once.
fn free_port() -> Result<u16, TrialError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| TrialError::Setup(format!("no free loopback port: {error}")))
}

//! A command that waits between `fork` and `exec` until it is attached to.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};

use super::error::SampleError;

/// A child process that has not yet started its program. Dropping it ends it.
pub struct HeldCommand {
    program: String,
    pid: u32,
    go: OwnedFd,
    spawning: JoinHandle<io::Result<Child>>,
}

impl HeldCommand {
    /// Forks, and returns once the child waits.
    ///
    /// # Errors
    ///
    /// If the fork fails, or what the child does before `exec` (its working directory and so on).
    pub fn start(mut command: Command) -> Result<Self, SampleError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let (from_child, to_parent) = pipe()?;
        let (go_in_child, go) = pipe()?;
        let parents_end = go.as_raw_fd();
        // SAFETY: between fork and exec the closure makes plain system calls only, and allocates
        // nothing. It closes the child's copy of the parent's end, so that the read ends when the
        // parent does; nothing else in the child uses that descriptor.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || {
                rustix::io::close(parents_end);
                rustix::io::write(&to_parent, &std::process::id().to_ne_bytes())?;
                match rustix::io::read(&go_in_child, &mut [0])? {
                    0 => Err(rustix::io::Errno::CANCELED.into()),
                    _ => Ok(()),
                }
            });
        }
        // `spawn` returns only after `exec`, so it waits elsewhere. The command, and with it the
        // pipe's other end, is gone when it returns.
        let spawning = std::thread::Builder::new()
            .name("launcher".to_owned())
            .spawn(move || command.spawn())
            .map_err(SampleError::system("starting a thread"))?;
        let mut pid = [0; 4];
        if !matches!(rustix::io::read(&from_child, &mut pid), Ok(4)) {
            return Err(SampleError::Launch {
                command: program,
                source: match spawning.join() {
                    Ok(Err(error)) => error,
                    _ => io::ErrorKind::Other.into(),
                },
            });
        }
        Ok(Self {
            program,
            pid: u32::from_ne_bytes(pid),
            go,
            spawning,
        })
    }

    /// The waiting process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it start its program.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn release(self) -> Result<Child, SampleError> {
        let launch = |source| SampleError::Launch {
            command: self.program,
            source,
        };
        if let Err(error) = rustix::io::write(&self.go, &[1]) {
            return Err(launch(error.into()));
        }
        drop(self.go);
        match self.spawning.join() {
            Ok(child) => child.map_err(launch),
            Err(_) => Err(launch(io::ErrorKind::Other.into())),
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SampleError> {
    pipe_with(PipeFlags::CLOEXEC)
        .map_err(|error| SampleError::system("making a pipe")(error.into()))
}

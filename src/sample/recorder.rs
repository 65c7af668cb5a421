//! A recording in progress.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::availability::Chosen;
use super::error::SampleError;
use super::finish::{Detached, Recording, thread_cpu_ns};
use super::launch::HeldCommand;
use super::session::{Session, Target};
use super::window::{SharedWindows, clock_ns};
use crate::plan::{CpuList, SampleSpec};
use crate::profile::Profile;

/// Pauses between looks at rings that are not yet a quarter full: short while samples come, longer
/// while none do.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(1000);

/// Samples a process tree until [`finish`](Self::finish).
///
/// Samples count only in windows, see [`enable`](Self::enable). A thread of its own reads the
/// rings; it has the CPU affinity of the thread that made the recorder.
#[derive(Debug)]
pub struct Recorder {
    windows: SharedWindows,
    wake: OwnedFd,
    reader: Option<JoinHandle<Option<Recording>>>,
    event: String,
}

impl Recorder {
    /// Attaches to a process: to all its threads and descendants that run now, and through
    /// inheritance to all that they make. No sample counts before [`enable`](Self::enable).
    ///
    /// # Errors
    ///
    /// Where the spec cannot be met, sampling is forbidden, or the process is gone or foreign.
    pub fn attach(spec: &SampleSpec, pid: u32) -> Result<Self, SampleError> {
        Self::attach_to(spec, Target::Tree(pid), None)
    }

    /// Attaches to a process that will call `exec`, or that will make a child that does: the
    /// program that starts so is sampled from its first instruction, with its descendants. What the
    /// process itself does before that is not. The window is open.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub fn attach_on_exec(spec: &SampleSpec, pid: u32) -> Result<Self, SampleError> {
        let recorder = Self::attach_to(spec, Target::OnExec(pid), None)?;
        recorder.enable();
        Ok(recorder)
    }

    /// Starts a command and samples it from its first instruction, with its descendants, on some
    /// CPUs only where a list is given. The window is open.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach), and where the command cannot be started.
    pub fn launch(
        spec: &SampleSpec,
        command: Command,
        cpus: Option<CpuList>,
    ) -> Result<(Self, Child), SampleError> {
        let held = HeldCommand::start(command)?;
        let recorder = Self::attach_to(spec, Target::OnExec(held.pid()), cpus)?;
        recorder.enable();
        Ok((recorder, held.release()?))
    }

    /// Attaches to any target, and samples it on some CPUs only where a list is given. No sample
    /// counts before [`enable`](Self::enable).
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach), and where there is no such CPU.
    pub fn attach_to(
        spec: &SampleSpec,
        target: Target,
        cpus: Option<CpuList>,
    ) -> Result<Self, SampleError> {
        let chosen = Chosen::new(spec)?;
        let event = chosen.event.name.clone();
        let windows = SharedWindows::default();
        let wake = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|error| SampleError::system("making an event descriptor")(error.into()))?;
        let stop = wake
            .try_clone()
            .map_err(SampleError::system("copying a descriptor"))?;
        let (ready, is_ready) = mpsc::channel();
        let shared = windows.clone();
        let reader = std::thread::Builder::new()
            .name("sample-reader".to_owned())
            .spawn(move || {
                let mut session = match Session::open(chosen, &target, cpus.as_ref()) {
                    Ok(session) => session,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return None;
                    }
                };
                let _ = ready.send(Ok(()));
                read_until_told(&mut session, &shared, &stop);
                session.stop(&shared.now());
                Some(session.into_recording(thread_cpu_ns()))
            })
            .map_err(SampleError::system("starting a thread"))?;
        is_ready.recv().map_err(|_| SampleError::ReaderDied)??;
        Ok(Self {
            windows,
            wake,
            reader: Some(reader),
            event,
        })
    }

    /// Opens a window: samples count from this instant on.
    pub fn enable(&self) {
        self.windows.change(|windows| windows.open(clock_ns()));
    }

    /// Closes the window: samples from this instant on do not count.
    pub fn disable(&self) {
        self.windows.change(|windows| windows.close(clock_ns()));
    }

    /// The kernel's name of the event in use.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Closes the window, stops, and names the functions of every stack.
    ///
    /// # Errors
    ///
    /// If the reading thread has died.
    pub fn finish(self) -> Result<Profile, SampleError> {
        Ok(self.stopped()?.profile())
    }

    /// Closes the window and stops. Functions are named later, when the processes may have ended and
    /// left maps of the code that they made.
    ///
    /// # Errors
    ///
    /// If the reading thread has died.
    pub fn detach(self) -> Result<Detached, SampleError> {
        Ok(self.stopped()?.with_maps())
    }

    fn stopped(mut self) -> Result<Detached, SampleError> {
        self.disable();
        let recording = self.stop().ok_or(SampleError::ReaderDied)?;
        Ok(Detached::new(recording, self.windows.now()))
    }

    fn stop(&mut self) -> Option<Recording> {
        // Failing would mean that it has been told already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        self.reader.take()?.join().ok()?
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads the rings whenever one is a quarter full, and now and then.
fn read_until_told(session: &mut Session, windows: &SharedWindows, stop: &OwnedFd) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        let told = wait(session, stop, pause);
        if told {
            return;
        }
        pause = match session.round(&windows.now()) {
            0 => (pause * 2).min(LONGEST_PAUSE),
            _ => (pause * 3 / 2).min(LONGEST_PAUSE / 2),
        };
    }
}

/// Returns whether the reader was told to stop.
fn wait(session: &Session, stop: &OwnedFd, pause: Duration) -> bool {
    let readable = PollFlags::IN;
    let mut fds = vec![PollFd::from_borrowed_fd(stop.as_fd(), readable)];
    let rings = session.rings().iter();
    fds.extend(rings.map(|ring| PollFd::new(ring.file(), readable)));
    let timeout = Timespec {
        tv_sec: pause.as_secs() as i64,
        tv_nsec: i64::from(pause.subsec_nanos()),
    };
    // An interrupted wait is a short one.
    let _ = poll(&mut fds, Some(&timeout));
    fds[0].revents().contains(readable)
}

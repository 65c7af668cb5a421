//! Our own generator as the load: it never pauses, and its operations are counted by window.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::executor::Cancel;
use crate::load::{LoadError, RunOptions, Running, WindowId, WindowStats};
use crate::plan::LoadSpec;

use super::super::error::TrialError;
use super::super::job::{ServerWorkload, TrialJob};
use super::super::metrics::load_metrics;
use super::super::server::RunningServer;
use super::super::usage::{Usage, UsageDelta};
use super::{Loading, Seen, Window};

/// How often the server and the load are looked at while a window lasts.
pub const LOOK: Duration = Duration::from_millis(20);

/// Warm-up, and whatever lies between the windows that count.
const BETWEEN: WindowId = WindowId(0);
const MEASURED: WindowId = WindowId(1);
const PROFILED: WindowId = WindowId(2);

/// Share of a CPU above which a load thread is itself what limits throughput.
const BUSY_CLIENT: f64 = 0.97;
const BUSY_CLIENT_WARNING: &str = "the load generator was busy all the time, so that throughput shows the generator's \
     limit and not the server's: give the load more CPUs (cpus.load) and threads (load.threads)";

/// The generator, running.
pub struct GeneratorLoad<'a> {
    running: Running,
    cancel: &'a Cancel,
}

impl<'a> GeneratorLoad<'a> {
    /// Starts it, in no window that counts.
    pub fn start(
        workload: &ServerWorkload,
        job: &TrialJob,
        server: &RunningServer,
        cancel: &'a Cancel,
    ) -> Result<Self, TrialError> {
        let load = seeded(&workload.load, job.seed);
        let running = Running::start(&load, &server.target, &options(workload, cancel), BETWEEN)
            .map_err(|error| load_error("about to be loaded", &error, server))?;
        Ok(Self { running, cancel })
    }

    /// Waits, and fails as soon as the server, the load or the user's patience does.
    fn lasts(
        &self,
        server: &mut RunningServer,
        doing: &'static str,
        length: Duration,
    ) -> Result<(), TrialError> {
        let end = Instant::now() + length;
        loop {
            if self.cancel.is_set() {
                return Err(TrialError::Cancelled);
            }
            server.check(doing)?;
            if let Err(error) = self.running.check() {
                wait_for_end(server, doing)?;
                return Err(load_error(doing, &error, server));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

impl Loading for GeneratorLoad<'_> {
    fn warm_up(&mut self, server: &mut RunningServer, length: Duration) -> Result<(), TrialError> {
        self.lasts(server, "warming up", length)
    }

    fn window(
        &mut self,
        server: &mut RunningServer,
        window: Window,
        length: Duration,
    ) -> Result<UsageDelta, TrialError> {
        self.running.enter(match window {
            Window::Measured => MEASURED,
            Window::Profiled => PROFILED,
        });
        let before = Usage::of(&server.processes());
        self.lasts(server, window.name(), length)?;
        let usage = Usage::of(&server.processes()).since(&before);
        self.running.enter(BETWEEN);
        Ok(usage)
    }

    fn finish(
        self: Box<Self>,
        server: &mut RunningServer,
    ) -> Result<Vec<(Window, Seen)>, TrialError> {
        let stats = self
            .running
            .finish()
            .map_err(|error| load_error("measured", &error, server))?;
        let windows = [(MEASURED, Window::Measured), (PROFILED, Window::Profiled)];
        let of_window = |id| stats.iter().find(|stats: &&WindowStats| stats.id == id);
        Ok(windows
            .into_iter()
            .filter_map(|(id, window)| Some((window, seen(of_window(id)?))))
            .collect())
    }
}

fn seen(stats: &WindowStats) -> Seen {
    let busy = stats.client_busy() > BUSY_CLIENT;
    Seen {
        duration_ns: stats.duration_ns,
        ops: Some(stats.ops()),
        metrics: load_metrics(stats),
        descriptions: BTreeMap::new(),
        warnings: busy
            .then(|| BUSY_CLIENT_WARNING.to_owned())
            .into_iter()
            .collect(),
    }
}

/// The same seed gives the same sequence of keys.
pub fn seeded(spec: &LoadSpec, seed: u64) -> LoadSpec {
    LoadSpec {
        seed,
        ..spec.clone()
    }
}

/// The generator runs on the load's CPUs, and stops when the user wishes so.
pub fn options(workload: &ServerWorkload, cancel: &Cancel) -> RunOptions {
    RunOptions {
        cpus: workload.load_cpus.as_slice().to_vec(),
        cancel: cancel.flag(),
        ..RunOptions::default()
    }
}

/// Waits a moment for the server's end after the load has failed: a server that dies closes its
/// connections first, and its own end says more.
pub fn wait_for_end(server: &mut RunningServer, doing: &'static str) -> Result<(), TrialError> {
    const LOOKS: u32 = 25;
    for _ in 0..LOOKS {
        std::thread::sleep(LOOK);
        server.check(doing)?;
    }
    Ok(())
}

/// What the generator met, with the server's last words.
pub fn load_error(doing: &'static str, error: &LoadError, server: &RunningServer) -> TrialError {
    TrialError::Load {
        doing,
        reason: error.to_string(),
        output: server.output(),
    }
}

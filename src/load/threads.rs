//! The threads of a run: starting, watching and ending them, and adding up what they counted.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::load::LoadSpec;

use super::client::Shared;
use super::clock::monotonic_ns;
use super::command::{Values, templates};
use super::connection::Address;
use super::control::{Control, Length, Report, Seconds, Times};
use super::error::LoadError;
use super::keys::Rng;
use super::options::{OnSecond, RunOptions};
use super::outcome::{WindowId, WindowStats};
use super::recorder::Recorder;
use super::series::{Collector, Second};
use super::target::Target;
use super::thread::{Thread, lock};

/// How often the progress of a run is looked at.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The threads of a run, whatever its length.
#[derive(Debug)]
pub(crate) struct Threads {
    pub shared: Arc<Shared>,
    pub control: Arc<Control>,
    /// The first thing that went wrong.
    failure: Arc<Mutex<Option<LoadError>>>,
    handles: Vec<JoinHandle<Option<Report>>>,
    collector: Option<Arc<Mutex<Collector>>>,
    pub started_ns: u64,
    pub started_unix_ns: u128,
}

impl Threads {
    pub fn start(
        spec: &LoadSpec,
        target: &Target,
        options: &RunOptions,
        length: Length,
    ) -> Result<Threads, LoadError> {
        spec.check()?;
        let address = Address::resolve(target)?;
        allow_connections(spec.connections());
        let seed = seed(spec);
        // Streams of clients are even and odd numbers from 0 up; values are laid out by another.
        let values = Values::new(spec, Rng::new(seed, u64::MAX));
        let shared = Arc::new(Shared {
            templates: templates(spec, &values),
            spec: spec.clone(),
            values,
            seed,
        });
        let control = Arc::new(Control {
            cancel: options.cancel.clone(),
            ..Control::default()
        });
        let failure = Arc::new(Mutex::new(None));
        let (ready, readiness) = mpsc::sync_channel(spec.threads as usize);
        let mut threads = Threads {
            shared,
            control,
            failure,
            handles: Vec::new(),
            collector: options
                .series
                .as_ref()
                .filter(|_| length == Length::Specified)
                .map(|percentiles| {
                    Arc::new(Mutex::new(Collector::new(
                        spec.threads as usize,
                        percentiles,
                    )))
                }),
            started_ns: 0,
            started_unix_ns: 0,
        };
        let mut gates = Vec::new();
        for index in 0..spec.threads {
            let (gate, wait) = mpsc::sync_channel(1);
            let cpu = options
                .cpus
                .get(index as usize % options.cpus.len().max(1))
                .copied();
            let thread = Thread {
                shared: threads.shared.clone(),
                control: threads.control.clone(),
                failure: threads.failure.clone(),
                address: address.clone(),
                index,
                cpu,
                length,
                seconds: threads.collector.clone().map(|collector| Seconds {
                    collector,
                    thread: index as usize,
                }),
            };
            let ready = ready.clone();
            let handle = std::thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || thread.run(ready, wait))
                .map_err(|source| LoadError::Start {
                    what: "no thread",
                    source,
                });
            match handle {
                Ok(handle) => threads.handles.push(handle),
                Err(error) => {
                    drop(gates);
                    threads.stop_and_join();
                    return Err(error);
                }
            }
            gates.push(gate);
        }
        drop(ready);
        let all_ready = readiness.iter().filter(|ready| *ready).count() == gates.len();
        if !all_ready {
            drop(gates);
            threads.stop_and_join();
            return Err(threads.take_failure().unwrap_or(LoadError::Thread));
        }
        threads.started_ns = monotonic_ns();
        threads.started_unix_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let deadline_ns = match (length, spec.test_time) {
            (Length::Specified, Some(seconds)) => threads
                .started_ns
                .saturating_add(seconds.saturating_mul(1_000_000_000)),
            _ => u64::MAX,
        };
        for gate in gates {
            // A thread that is gone has left its error behind.
            let _ = gate.send(Times {
                start_ns: threads.started_ns,
                deadline_ns,
            });
        }
        Ok(threads)
    }

    fn take_failure(&self) -> Option<LoadError> {
        lock(&self.failure).take()
    }

    pub fn check(&self) -> Result<(), LoadError> {
        if let Some(error) = self.take_failure() {
            return Err(error);
        }
        if self.control.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        if self.handles.iter().any(JoinHandle::is_finished) {
            // An endless thread ends by a failure, which may have come in just now.
            return Err(self.take_failure().unwrap_or(LoadError::Thread));
        }
        Ok(())
    }

    fn stop_and_join(&mut self) -> Vec<Option<Report>> {
        self.control.stop.store(true, Ordering::Relaxed);
        self.handles
            .drain(..)
            .map(|handle| handle.join().ok().flatten())
            .collect()
    }

    /// Stops all threads and takes their reports.
    pub fn finish(&mut self) -> Result<Vec<Report>, LoadError> {
        let reports = self.stop_and_join();
        self.collect(reports)
    }

    /// Waits for all threads to end by themselves.
    pub fn join(&mut self, options: &RunOptions) -> Result<Vec<Report>, LoadError> {
        if let (Some(collector), Some(OnSecond(on_second))) = (&self.collector, &options.on_second)
        {
            let mut told = None;
            while !self.handles.iter().all(JoinHandle::is_finished) {
                std::thread::sleep(PROGRESS_INTERVAL);
                let latest = lock(collector).latest();
                if latest != told
                    && let Some((second, ops)) = latest
                {
                    on_second(second, ops);
                    told = latest;
                }
            }
        }
        let reports = self
            .handles
            .drain(..)
            .map(|handle| handle.join().ok().flatten())
            .collect();
        self.collect(reports)
    }

    fn collect(&self, reports: Vec<Option<Report>>) -> Result<Vec<Report>, LoadError> {
        if let Some(error) = self.take_failure() {
            return Err(error);
        }
        if self.control.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        reports
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or(LoadError::Thread)
    }

    pub fn series(&self) -> Vec<Second> {
        self.collector
            .as_ref()
            .map_or_else(Vec::new, |collector| lock(collector).take())
    }

    /// Adds up what the threads counted, by window.
    pub fn windows(
        &self,
        reports: Vec<Report>,
        entered: &[(WindowId, u64)],
        end_ns: u64,
    ) -> Vec<WindowStats> {
        let mut order: Vec<WindowId> = Vec::new();
        for (id, _) in entered {
            if !order.contains(id) {
                order.push(*id);
            }
        }
        order
            .into_iter()
            .map(|id| {
                let mut total = Recorder::new(self.shared.templates.len(), false);
                let mut duration_ns = 0;
                for (index, (entered_id, from_ns)) in entered.iter().enumerate() {
                    if *entered_id == id {
                        let to_ns = entered.get(index + 1).map_or(end_ns, |(_, ns)| *ns);
                        duration_ns += to_ns.saturating_sub(*from_ns);
                    }
                }
                let mut cpu = Vec::new();
                for report in &reports {
                    let mut cpu_ns = 0;
                    for part in &report.parts {
                        if entered.get(part.window as usize).map(|(id, _)| *id) == Some(id) {
                            total.merge(&part.recorder);
                            cpu_ns += part.cpu_ns;
                        }
                    }
                    cpu.push(cpu_ns);
                }
                WindowStats {
                    id,
                    duration_ns,
                    client_cpu_ns: cpu.iter().sum(),
                    busiest_client_cpu_ns: cpu.iter().copied().max().unwrap_or(0),
                    commands: total.into_stats(self.shared.templates.iter().map(|(t, _)| t)),
                }
            })
            .collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop_and_join();
    }
}

fn seed(spec: &LoadSpec) -> u64 {
    if spec.randomize {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(spec.seed, |since| since.as_nanos() as u64)
    } else {
        spec.seed
    }
}

/// Raises the number of files that this process may have open, where the connections need more.
/// Where it may not, opening a connection will say so.
fn allow_connections(connections: u64) {
    let limit = getrlimit(Resource::Nofile);
    let needed = connections.saturating_add(256);
    if limit.current.is_some_and(|current| current < needed) {
        let current = limit.maximum.map_or(needed, |most| needed.min(most));
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(current),
                maximum: limit.maximum,
            },
        );
    }
}

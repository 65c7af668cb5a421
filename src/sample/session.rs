//! The events of a recording, and the loop that reads their rings.

use std::collections::HashSet;
use std::io;

use perf_event_open::config::{Cpu, Opts, Proc, Target as EventTarget};
use perf_event_open::count::Counter;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::availability::{Chosen, is_permission, permission_findings};
use super::error::SampleError;
use super::finish::Recording;
use super::fold::Folder;
use super::merge::TimeMerge;
use super::procfs;
use super::record::{Record, parse};
use super::ring::Ring;
use super::window::{Windows, clock_ns};
use crate::plan::CpuList;

/// Scans of a process tree after which it is taken as it is: one that forks faster than that is
/// sampled through what its members inherit.
const MOST_SCANS: usize = 100;

/// What is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A process with all its threads and descendants, now and later.
    Tree(u32),
    /// The program that a process or a child of it will start by `exec`, with its descendants.
    OnExec(u32),
    /// Some threads, and what they make.
    Threads(Vec<u32>),
    /// Whatever runs.
    Everything,
}

/// Open events and their rings. Belongs to the thread that made it.
pub struct Session {
    chosen: Chosen,
    opts: Opts,
    rings: Vec<Ring>,
    counters: Vec<Counter>,
    /// Threads that have events, by attaching or by inheritance; kept while attaching only.
    covered: HashSet<u32>,
    attaching: bool,
    merge: TimeMerge,
    /// What the records tell.
    pub folder: Folder,
    /// What must be said of the recording.
    pub warnings: Vec<String>,
}

impl Session {
    /// Opens rings and attaches events; when it returns, every thread of the target is covered.
    pub fn open(
        mut chosen: Chosen,
        target: &Target,
        cpus: Option<&CpuList>,
    ) -> Result<Self, SampleError> {
        // Events and the modules that are mapped each hold a file open.
        raise_open_files();
        chosen.attributes.on_exec = matches!(target, Target::OnExec(_));
        let (rings, shrunk) = Ring::for_cpus(&chosen_cpus(cpus)?, &chosen.attributes)?;
        let mut session = Self {
            opts: chosen.attributes.sampling(),
            folder: Folder::new(chosen.attributes.layout()),
            chosen,
            rings,
            counters: Vec::new(),
            covered: HashSet::new(),
            attaching: true,
            merge: TimeMerge::default(),
            warnings: shrunk.into_iter().collect(),
        };
        if !session.chosen.attributes.kernel {
            session.warnings.push(
                "kernel code is not in the profile, because this user may not sample it \
                 (kernel.perf_event_paranoid)"
                    .to_owned(),
            );
        }
        match target {
            Target::OnExec(pid) => session.attach_threads(*pid, *pid)?,
            Target::Tree(root) => session.attach_tree(*root)?,
            Target::Threads(tids) => session.attach_single_threads(tids)?,
            Target::Everything => session.attach_cpus()?,
        }
        session.attaching = false;
        session.covered = HashSet::new();
        match (target, session.counters.is_empty()) {
            (Target::OnExec(pid) | Target::Tree(pid), true) => {
                Err(SampleError::NoProcess { pid: *pid })
            }
            _ => Ok(session),
        }
    }

    /// Scans until a scan finds no thread that is not covered. A thread made meanwhile is covered
    /// if its maker was: then the maker's ring holds a fork record for it.
    fn attach_tree(&mut self, root: u32) -> Result<(), SampleError> {
        for _ in 0..MOST_SCANS {
            // Threads that were inherited meanwhile do not matter: they are covered already.
            let before = self.counters.len();
            for pid in procfs::process_tree(root) {
                self.attach_threads(pid, root)?;
            }
            if self.counters.len() == before {
                return Ok(());
            }
        }
        Ok(())
    }

    fn attach_threads(&mut self, pid: u32, root: u32) -> Result<(), SampleError> {
        let Ok(threads) = procfs::threads(pid) else {
            return match pid == root {
                true => Err(SampleError::NoProcess { pid }),
                false => Ok(()),
            };
        };
        if threads.iter().all(|tid| self.covered.contains(tid)) {
            return Ok(());
        }
        // The listing came first, so the fork records of all that it holds are in the rings.
        self.round(&Windows::default());
        for tid in threads {
            if self.covered.contains(&tid) {
                continue;
            }
            if self.opts.on_execve.is_none() {
                self.folder.adopt(pid);
            }
            match self.attach(tid) {
                Ok(()) => {
                    self.covered.insert(tid);
                }
                // It has ended meanwhile.
                Err(source) if source.raw_os_error() == Some(NO_SUCH_PROCESS) => {}
                Err(source) if pid != root && is_permission(&source) => {
                    self.warnings.push(format!(
                        "process {pid} is not in the profile: it may not be sampled ({source})"
                    ))
                }
                Err(source) => return Err(self.refusal(pid, source)),
            }
        }
        Ok(())
    }

    fn attach_single_threads(&mut self, tids: &[u32]) -> Result<(), SampleError> {
        for tid in tids {
            let Some(pid) = procfs::process_of(*tid) else {
                return Err(SampleError::NoProcess { pid: *tid });
            };
            self.folder.adopt(pid);
            match self.attach(*tid) {
                Ok(()) => {}
                Err(source) if source.raw_os_error() == Some(NO_SUCH_PROCESS) => {
                    return Err(SampleError::NoProcess { pid: *tid });
                }
                Err(source) => return Err(self.refusal(pid, source)),
            }
        }
        Ok(())
    }

    /// Attaches to the CPUs themselves.
    fn attach_cpus(&mut self) -> Result<(), SampleError> {
        self.opts.inherit = None;
        self.opts.exclude.idle = true;
        self.attach_where(|cpu| (Proc::ALL, Cpu(cpu)).into())
            .map_err(|source| match is_permission(&source) {
                true => SampleError::NotPermitted {
                    findings: permission_findings(),
                    source,
                },
                false => SampleError::system("attaching an event to a CPU")(source),
            })
    }

    fn attach(&mut self, tid: u32) -> io::Result<()> {
        self.attach_where(|cpu| (Proc(tid), Cpu(cpu)).into())
    }

    fn attach_where(&mut self, on_cpu: impl Fn(u32) -> EventTarget) -> io::Result<()> {
        let first = self.counters.len();
        for at in 0..self.rings.len() {
            let target = on_cpu(self.rings[at].cpu());
            let open = || self.chosen.event.open(target.clone(), &self.opts);
            let counter = open().or_else(|error| match error.raw_os_error() {
                Some(TOO_MANY_FILES) if raise_open_files() => open(),
                _ => Err(error),
            });
            let counter = match counter {
                Ok(counter) => counter,
                Err(error) if error.raw_os_error() == Some(NO_SUCH_DEVICE) => continue,
                Err(error) => {
                    self.counters.truncate(first);
                    return Err(error);
                }
            };
            self.rings[at].take_output_of(&counter)?;
            self.counters.push(counter);
        }
        Ok(())
    }

    fn refusal(&self, pid: u32, source: io::Error) -> SampleError {
        match source.raw_os_error() {
            Some(TOO_MANY_FILES) => SampleError::OpenFiles {
                needed: 2 * self.counters.len() as u64 + 256,
                limit: getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX),
            },
            // Opening it on this thread worked, so it is this process that is out of reach.
            _ if is_permission(&source) => SampleError::ForeignProcess { pid, source },
            _ => SampleError::system("attaching an event to a thread")(source),
        }
    }

    /// The rings.
    pub fn rings(&self) -> &[Ring] {
        &self.rings
    }

    /// Reads all rings once and counts what is old enough. Returns the number of records read.
    pub fn round(&mut self, windows: &Windows) -> usize {
        let mut read = 0;
        self.merge.begin_round(clock_ns());
        for ring in &self.rings {
            ring.drain(|record| {
                read += 1;
                if self.merge.push(record).is_err() {
                    self.folder.losses.damaged += 1;
                }
                if self.attaching
                    && let Ok(Record::Fork { tid, .. }) = parse(record, Default::default())
                {
                    self.covered.insert(tid);
                }
            });
        }
        let folder = &mut self.folder;
        self.merge.end_round(|record| folder.take(record, windows));
        read
    }

    /// Stops all events and counts all that is left.
    pub fn stop(&mut self, windows: &Windows) {
        for counter in &self.counters {
            // An event whose thread has ended needs no stopping.
            let _ = counter.disable();
        }
        self.round(windows);
        self.round(windows);
        let folder = &mut self.folder;
        self.merge.finish(|record| folder.take(record, windows));
        self.counters.clear();
    }

    /// Hands over what was counted.
    pub fn into_recording(self, reader_cpu_ns: u64) -> Recording {
        Recording {
            chosen: self.chosen,
            folder: self.folder,
            warnings: self.warnings,
            reader_cpu_ns,
        }
    }
}

const NO_SUCH_PROCESS: i32 = rustix::io::Errno::SRCH.raw_os_error();
const NO_SUCH_DEVICE: i32 = rustix::io::Errno::NODEV.raw_os_error();
const TOO_MANY_FILES: i32 = rustix::io::Errno::MFILE.raw_os_error();

/// Raises the limit of open files as far as it goes; returns whether it went up.
fn raise_open_files() -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return false;
    }
    let highest = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, highest).is_ok()
}

/// The CPUs asked for, or all.
fn chosen_cpus(wanted: Option<&CpuList>) -> Result<Vec<u32>, SampleError> {
    let online = online_cpus();
    let Some(wanted) = wanted else {
        return Ok(online);
    };
    let wanted: Vec<u32> = wanted.as_slice().iter().map(|cpu| *cpu as u32).collect();
    match wanted.iter().find(|cpu| !online.contains(cpu)) {
        Some(cpu) => Err(SampleError::NoCpu {
            cpu: *cpu,
            online: CpuList::new(online.iter().map(|cpu| *cpu as usize).collect()).to_string(),
        }),
        None => Ok(wanted),
    }
}

fn online_cpus() -> Vec<u32> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    match online.trim().parse::<CpuList>() {
        Ok(cpus) => cpus.as_slice().iter().map(|cpu| *cpu as u32).collect(),
        Err(_) => {
            let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
            (0..count).collect()
        }
    }
}

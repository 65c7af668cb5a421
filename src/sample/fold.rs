//! From records in the order of time to counted stacks.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::code_map::{CodeMap, Region};
use super::context_tree::ContextTree;
use super::fast_hash::FastHash;
use super::interned::{FrameTable, Names};
use super::modules::{KERNEL, ModuleTable, UNKNOWN};
use super::procfs;
use super::record::{CpuMode, Layout, Mmap, Record, Sample, UserState, parse};
use super::window::Windows;
use crate::unwind::{Ending, Placement, Registers, RuleCache, Walker};

/// Marks in a call chain stand at the top of the address space.
const FIRST_MARK: u64 = -4095_i64 as u64;
const MARK_KERNEL: u64 = -128_i64 as u64;
const MARK_USER: u64 = -512_i64 as u64;

/// Chains longer than this are cut by the kernel (`kernel.perf_event_max_stack`).
const LONGEST_CHAIN: usize = 127;

/// Follows the processes and counts their stacks.
#[derive(Debug, Default)]
pub struct Folder {
    layout: Layout,
    /// Modules met so far.
    pub modules: ModuleTable,
    /// Distinct frames: module and offset in its file; absolute address for kernel and JIT code.
    pub frames: FrameTable,
    /// Counted stacks.
    pub stacks: ContextTree,
    /// Names of threads, by index.
    pub thread_names: Names,
    /// What was lost on the way.
    pub losses: Losses,
    processes: HashMap<u32, Process>,
    threads: HashMap<u32, u32>,
    kernel_frames: HashMap<u64, u32, FastHash>,
    /// `None` while a walk has it.
    rules: Option<RuleCache>,
    stack: Vec<u32>,
}

/// What did not become a stack.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Losses {
    /// Records that the kernel dropped.
    pub lost: u64,
    /// Times that the kernel throttled an event.
    pub throttled: u64,
    /// Records that could not be read.
    pub damaged: u64,
}

#[derive(Debug, Default)]
struct Process {
    code: Arc<CodeMap>,
    frames: HashMap<u64, u32, FastHash>,
    threads: HashSet<u32>,
    walker: Option<Walker>,
}

impl Folder {
    /// Starts with nothing.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            ..Self::default()
        }
    }

    /// Learns from `/proc` what a process looks like that ran before the recording; no effect where it is
    /// known already.
    pub fn adopt(&mut self, pid: u32) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let mut code = CodeMap::default();
        for map in procfs::executable_maps(pid) {
            let module = self.modules.intern(pid, &map.path, None);
            code.insert(Region {
                start: map.start,
                end: map.end,
                file_offset: map.file_offset,
                module,
            });
        }
        let threads = procfs::threads(pid).unwrap_or_default();
        for tid in &threads {
            if let Some(name) = procfs::thread_name(pid, *tid) {
                let name = self.thread_names.intern(&name);
                self.threads.insert(*tid, name);
            }
        }
        let process = Process {
            code: Arc::new(code),
            frames: HashMap::default(),
            threads: threads.into_iter().collect(),
            walker: None,
        };
        self.processes.insert(pid, process);
    }

    /// Numbers of what grows: stacks' nodes, frames, threads, processes, names, modules.
    #[cfg(test)]
    pub fn sizes(&self) -> [usize; 6] {
        [
            self.stacks.nodes(),
            self.frames.len(),
            self.threads.len(),
            self.processes.len(),
            self.thread_names.len(),
            self.modules.len(),
        ]
    }

    /// Takes the next record.
    pub fn take(&mut self, bytes: &[u8], windows: &Windows) {
        match parse(bytes, self.layout) {
            Ok(Record::Sample(sample)) => {
                if windows.hold(sample.time) {
                    self.sample(&sample);
                }
            }
            Ok(Record::Mmap(mmap)) => self.mmap(&mmap),
            Ok(Record::Comm {
                pid,
                tid,
                name,
                exec,
            }) => {
                let name = self.thread_names.intern(name);
                self.threads.insert(tid, name);
                if exec {
                    // Other threads ended, and the new program's mappings follow.
                    let threads = HashSet::from([tid]);
                    self.processes.insert(
                        pid,
                        Process {
                            threads,
                            ..Process::default()
                        },
                    );
                }
            }
            Ok(Record::Fork {
                pid,
                tid,
                parent_pid,
                parent_tid,
            }) => self.fork(pid, tid, parent_pid, parent_tid),
            Ok(Record::Exit { pid, tid }) => self.exit(pid, tid),
            Ok(Record::Lost { count }) => self.losses.lost = self.losses.lost.saturating_add(count),
            Ok(Record::Throttle) => self.losses.throttled += 1,
            Ok(Record::Other) => {}
            Err(_) => self.losses.damaged += 1,
        }
    }

    fn mmap(&mut self, mmap: &Mmap<'_>) {
        self.adopt(mmap.pid);
        let module = self.modules.intern(mmap.pid, mmap.path, mmap.build_id);
        let process = self.processes.entry(mmap.pid).or_default();
        Arc::make_mut(&mut process.code).insert(Region {
            start: mmap.start,
            end: mmap.start.saturating_add(mmap.len),
            file_offset: mmap.file_offset,
            module,
        });
        process.frames.clear();
        process.walker = None;
    }

    fn fork(&mut self, pid: u32, tid: u32, parent_pid: u32, parent_tid: u32) {
        if let Some(name) = self.threads.get(&parent_tid) {
            self.threads.insert(tid, *name);
        }
        self.adopt(parent_pid);
        if pid != parent_pid {
            let child = match self.processes.get(&parent_pid) {
                Some(parent) => Process {
                    code: Arc::clone(&parent.code),
                    walker: parent.walker.clone(),
                    ..Process::default()
                },
                None => Process::default(),
            };
            self.processes.insert(pid, child);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.insert(tid);
        }
    }

    fn exit(&mut self, pid: u32, tid: u32) {
        self.threads.remove(&tid);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.remove(&tid);
            if process.threads.is_empty() {
                self.processes.remove(&pid);
            }
        }
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        self.adopt(sample.pid);
        let thread = self.thread_name(sample.pid, sample.tid);
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        let mut truncated = match self.layout.call_chain {
            true => self.call_chain(sample, &mut stack),
            false => false,
        };
        if let Some(user) = &sample.user {
            truncated |= self.unwind(sample.pid, user, &mut stack);
        }
        if stack.is_empty() {
            let frame = match sample.mode {
                CpuMode::Kernel => Some(self.kernel_frame(sample.ip)),
                CpuMode::User => self.user_frame(sample.pid, sample.ip),
                CpuMode::Other => None,
            };
            let unknown = (UNKNOWN, 0);
            stack.push(frame.unwrap_or_else(|| self.frames.intern(unknown)));
        }
        self.stacks.add(thread, truncated, &stack, sample.period);
        self.stack = stack;
    }

    /// Reads the kernel's call chain; returns whether the kernel cut it.
    fn call_chain(&mut self, sample: &Sample<'_>, stack: &mut Vec<u32>) -> bool {
        enum Part {
            Kernel,
            User,
            Skipped,
        }
        let mut part = Part::Skipped;
        // The first address of a part is an instruction, every other one a return address.
        let mut first = true;
        let mut depth = 0;
        for word in sample.call_chain.iter() {
            depth += 1;
            if word >= FIRST_MARK {
                first = true;
                part = match word {
                    MARK_KERNEL => Part::Kernel,
                    MARK_USER => Part::User,
                    _ => Part::Skipped,
                };
                continue;
            }
            let address = match first {
                true => word,
                false => word.wrapping_sub(1),
            };
            match part {
                Part::Kernel => stack.push(self.kernel_frame(address)),
                Part::User => match self.user_frame(sample.pid, address) {
                    Some(frame) => stack.push(frame),
                    // Code without frame pointers left something else in the register: what
                    // follows is not a chain. Whether it ended at the thread's start, its last
                    // function's name will tell.
                    None => return false,
                },
                Part::Skipped => {}
            }
            first = false;
        }
        depth >= LONGEST_CHAIN
    }

    /// Unwinds the user half of a stack; returns whether it ended early.
    fn unwind(&mut self, pid: u32, user: &UserState<'_>, stack: &mut Vec<u32>) -> bool {
        let Some(process) = self.processes.get_mut(&pid) else {
            return true;
        };
        let code = Arc::clone(&process.code);
        // Taken out while the walk asks for frames.
        let mut rules = self.rules.take().unwrap_or_default();
        let mut walker = process
            .walker
            .take()
            .unwrap_or_else(|| Walker::new(&mut rules));
        let modules = RefCell::new(self);
        let ending = walker.walk(
            &mut rules,
            registers(user),
            user.stack,
            |address| {
                let region = code.find(address)?;
                Some(Placement {
                    range: region.start..region.end,
                    module: modules.borrow_mut().modules.unwind_info(region, pid),
                })
            },
            |address| match modules.borrow_mut().user_frame(pid, address) {
                Some(frame) => {
                    stack.push(frame);
                    true
                }
                None => false,
            },
        );
        let this = modules.into_inner();
        this.rules = Some(rules);
        if let Some(process) = this.processes.get_mut(&pid) {
            process.walker = Some(walker);
        }
        ending == Ending::Truncated
    }

    fn kernel_frame(&mut self, address: u64) -> u32 {
        match self.kernel_frames.get(&address) {
            Some(frame) => *frame,
            None => {
                let frame = self.frames.intern((KERNEL, address));
                self.kernel_frames.insert(address, frame);
                frame
            }
        }
    }

    fn user_frame(&mut self, pid: u32, address: u64) -> Option<u32> {
        let process = self.processes.get_mut(&pid)?;
        if let Some(frame) = process.frames.get(&address) {
            return Some(*frame);
        }
        let region = process.code.find(address)?;
        self.modules.open(region, pid);
        let place = match self.modules.kind(region.module) {
            crate::profile::ModuleKind::Jit => address,
            crate::profile::ModuleKind::Vdso => address - region.start,
            _ => (address - region.start).wrapping_add(region.file_offset),
        };
        let frame = self.frames.intern((region.module, place));
        process.frames.insert(address, frame);
        Some(frame)
    }

    fn thread_name(&mut self, pid: u32, tid: u32) -> u32 {
        match self.threads.get(&tid) {
            Some(name) => *name,
            None => {
                let name = procfs::thread_name(pid, tid).unwrap_or_default();
                let name = self.thread_names.intern(&name);
                self.threads.insert(tid, name);
                name
            }
        }
    }
}

/// The registers of [`USER_REGISTERS`](super::record::USER_REGISTERS), in that order.
#[cfg(target_arch = "x86_64")]
fn registers(user: &UserState<'_>) -> Registers {
    let [fp, sp, pc] = user.registers;
    Registers { pc, sp, fp, lr: 0 }
}

/// The registers of [`USER_REGISTERS`](super::record::USER_REGISTERS), in that order.
#[cfg(target_arch = "aarch64")]
fn registers(user: &UserState<'_>) -> Registers {
    let [fp, lr, sp, pc] = user.registers;
    Registers { pc, sp, fp, lr }
}

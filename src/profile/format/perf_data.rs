//! perf.data, as `perf record` writes it: addresses, and the mappings they lie in.
//!
//! What comes out is not symbolized: frames of files hold offsets in the file, as
//! `symbol::symbolize` takes them. Only the first event's samples are read, and only call chains
//! that the kernel walked (`-g`, `--call-graph fp`).

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;

use linux_perf_data::linux_perf_event_reader::{CpuMode, EventRecord, SampleRecord};
use linux_perf_data::{PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};

use crate::profile::{Frame, Module, ModuleKind, Profile};

use super::builder::{Builder, kind_of_path};
use super::error::FormatError;

/// Addresses from here on are marks between parts of a call chain (`PERF_CONTEXT_MAX`).
const CONTEXT_MAX: u64 = -4095i64 as u64;
/// What follows is the kernel's (`PERF_CONTEXT_KERNEL`).
const CONTEXT_KERNEL: u64 = -128i64 as u64;
/// What follows is the process's own (`PERF_CONTEXT_USER`).
const CONTEXT_USER: u64 = -512i64 as u64;
/// Process id of what belongs to the kernel.
const KERNEL_PID: i32 = -1;

/// A recording and what is needed to name its addresses.
#[derive(Debug)]
pub struct PerfRecording {
    /// The samples; addresses are not symbolized.
    pub profile: Profile,
    /// Where the kernel's text began, to tell whether this machine's symbols are that kernel's.
    pub kernel_start: Option<u64>,
}

/// Reads the bytes of a perf.data file, of either byte order, from a file or a pipe.
///
/// Records that are not known are passed over. What is not read is said in the profile's warnings.
pub fn read(bytes: &[u8]) -> Result<PerfRecording, FormatError> {
    let bad = |error: linux_perf_data::Error| FormatError::content("perf.data", error.to_string());
    // A pipe's header is 16 bytes, and says so in whichever byte order.
    let piped = bytes.get(8..16).is_some_and(|size| {
        size == 16u64.to_le_bytes().as_slice() || size == 16u64.to_be_bytes().as_slice()
    });
    super::perf_data_header::check(bytes, piped)?;
    if piped {
        let PerfFileReader {
            perf_file,
            record_iter,
        } = PerfFileReader::parse_pipe(bytes).map_err(bad)?;
        return Reading::new(&perf_file).read(perf_file, record_iter);
    }
    let PerfFileReader {
        perf_file,
        record_iter,
    } = PerfFileReader::parse_file(Cursor::new(bytes)).map_err(bad)?;
    Reading::new(&perf_file).read(perf_file, record_iter)
}

/// A mapping of a file into a process.
#[derive(Debug, Clone)]
struct Mapping {
    end: u64,
    /// What is added to an address to give an offset in the file.
    to_offset: u64,
    module: u32,
}

struct Reading {
    builder: Builder,
    /// Shared by processes as long as neither maps anything more.
    maps: HashMap<i32, Arc<BTreeMap<u64, Mapping>>>,
    names: HashMap<i32, String>,
    build_ids: HashMap<Vec<u8>, String>,
    unknown: u32,
    kernel: u32,
    kernel_start: Option<u64>,
    lost: u64,
    throttled: u64,
    other_events: u64,
    copied_stacks: u64,
}

impl Reading {
    fn new(file: &PerfFile) -> Self {
        let attribute = file.event_attributes().first();
        let name = attribute.and_then(|a| a.name()).unwrap_or("samples");
        let unit = match name {
            name if name.contains("clock") => "ns",
            name if name.contains("cycles") => "cycles",
            _ => "events",
        };
        let mut builder = Builder::new(name, unit);
        let known = |path: &str, kind| Module {
            path: path.to_string(),
            build_id: None,
            kind,
        };
        let unknown = builder.module(known("[unknown]", ModuleKind::Unknown));
        let kernel = builder.module(known("[kernel]", ModuleKind::Kernel));
        let build_ids = file.build_ids().map_or_else(
            |_| HashMap::new(),
            |ids| {
                ids.into_values()
                    .map(|dso| (dso.path, hex(&dso.build_id)))
                    .collect()
            },
        );
        Self {
            builder,
            maps: HashMap::new(),
            names: HashMap::new(),
            build_ids,
            unknown,
            kernel,
            kernel_start: None,
            lost: 0,
            throttled: 0,
            other_events: 0,
            copied_stacks: 0,
        }
    }

    fn read<R: std::io::Read>(
        mut self,
        mut file: PerfFile,
        mut records: PerfRecordIter<R>,
    ) -> Result<PerfRecording, FormatError> {
        let bad = |problem: String| FormatError::content("perf.data", problem);
        loop {
            let record = records
                .next_record(&mut file)
                .map_err(|error| bad(error.to_string()))?;
            let (event, record) = match record {
                None => break,
                Some(PerfFileRecord::EventRecord { attr_index, record }) => (attr_index, record),
                Some(PerfFileRecord::UserRecord(_)) => continue,
            };
            let record = record
                .parse()
                .map_err(|error| bad(format!("a record is damaged: {error}")))?;
            match record {
                EventRecord::Sample(_) if event != 0 => self.other_events += 1,
                EventRecord::Sample(sample) => self.sample(&sample)?,
                EventRecord::Comm(comm) => {
                    if comm.is_execve {
                        self.maps.remove(&comm.pid);
                    }
                    let name = String::from_utf8_lossy(&comm.name.as_slice()).into_owned();
                    self.names.insert(comm.tid, name);
                }
                EventRecord::Fork(fork) => self.fork(fork.pid, fork.ppid, fork.tid, fork.ptid),
                EventRecord::Exit(exit) if exit.pid == exit.tid => {
                    self.maps.remove(&exit.pid);
                }
                EventRecord::Mmap(map) if map.is_executable || map.pid == KERNEL_PID => {
                    let path = map.path.as_slice();
                    self.map(map.pid, map.address, map.length, map.page_offset, &path);
                }
                EventRecord::Mmap2(map) => {
                    const PROT_EXEC: u32 = 4;
                    if map.protection & PROT_EXEC != 0 || map.pid == KERNEL_PID {
                        let path = map.path.as_slice();
                        self.map(map.pid, map.address, map.length, map.page_offset, &path);
                    }
                }
                EventRecord::Lost(lost) => self.lost = self.lost.saturating_add(lost.count),
                EventRecord::Throttle(_) => self.throttled += 1,
                _ => {}
            }
        }
        Ok(self.finish())
    }

    fn fork(&mut self, pid: i32, ppid: i32, tid: i32, ptid: i32) {
        if pid != ppid
            && let Some(maps) = self.maps.get(&ppid).cloned()
        {
            self.maps.insert(pid, maps);
        }
        if let Some(name) = self.names.get(&ptid).cloned() {
            self.names.insert(tid, name);
        }
    }

    fn map(&mut self, pid: i32, start: u64, length: u64, offset: u64, path: &[u8]) {
        let text = String::from_utf8_lossy(path);
        let is_kernel_text = pid == KERNEL_PID && text.starts_with("[kernel.kallsyms]");
        if is_kernel_text {
            // The record's offset is the address of the symbol that the name ends in.
            self.kernel_start.get_or_insert(offset);
        }
        let module = if is_kernel_text {
            self.kernel
        } else {
            let kind = match text.as_ref() {
                _ if pid == KERNEL_PID => ModuleKind::KernelModule,
                "//anon" => ModuleKind::Jit,
                path => kind_of_path(path),
            };
            let path = match kind {
                ModuleKind::Jit => "[jit]".to_string(),
                _ => text.clone().into_owned(),
            };
            self.builder.module(Module {
                build_id: self.build_ids.get(path.as_bytes()).cloned(),
                path,
                kind,
            })
        };
        let to_offset = match pid {
            KERNEL_PID => 0,
            _ => offset.wrapping_sub(start),
        };
        let mapping = Mapping {
            end: start.saturating_add(length),
            to_offset,
            module,
        };
        let maps = Arc::make_mut(self.maps.entry(pid).or_default());
        // A new mapping takes the place of what it covers.
        let covered: Vec<u64> = maps
            .range(start..mapping.end)
            .map(|(&start, _)| start)
            .collect();
        for start in covered {
            maps.remove(&start);
        }
        maps.insert(start, mapping);
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) -> Result<(), FormatError> {
        let pid = sample.pid.unwrap_or(0);
        let mut frames = Vec::new();
        if let Some(chain) = sample.callchain {
            let mut in_kernel = sample.cpu_mode == CpuMode::Kernel;
            let mut first = true;
            for at in 0..chain.len() {
                let Some(address) = chain.get(at) else { break };
                if address >= CONTEXT_MAX {
                    match address {
                        CONTEXT_KERNEL => in_kernel = true,
                        CONTEXT_USER => in_kernel = false,
                        _ => {}
                    }
                    first = true;
                    continue;
                }
                // All but a part's first are return addresses: the call is before them.
                let address = if first {
                    address
                } else {
                    address.wrapping_sub(1)
                };
                first = false;
                frames.push(self.frame(pid, address, in_kernel));
            }
        }
        if frames.is_empty()
            && let Some(ip) = sample.ip
        {
            let in_kernel = sample.cpu_mode == CpuMode::Kernel;
            frames.push(self.frame(pid, ip, in_kernel));
        }
        self.copied_stacks += u64::from(sample.user_stack.is_some());
        let thread = match self.names.get(&sample.tid.unwrap_or(0)) {
            Some(name) => name.clone(),
            None => match sample.tid {
                Some(0) => "swapper".to_string(),
                Some(tid) => format!(":{tid}"),
                None => "[unknown]".to_string(),
            },
        };
        self.builder
            .add(&thread, frames, false, 1, sample.period.unwrap_or(1))
    }

    fn frame(&mut self, pid: i32, address: u64, in_kernel: bool) -> u32 {
        let owner = if in_kernel { KERNEL_PID } else { pid };
        let found = self.maps.get(&owner).and_then(|maps| {
            let (_, mapping) = maps.range(..=address).next_back()?;
            (address < mapping.end).then_some(mapping)
        });
        let (module, address) = match found {
            Some(mapping) => (mapping.module, address.wrapping_add(mapping.to_offset)),
            None if in_kernel => (self.kernel, address),
            None => (self.unknown, address),
        };
        self.builder.frame(Frame {
            module,
            address,
            symbols: Vec::new(),
        })
    }

    fn finish(self) -> PerfRecording {
        let mut profile = self.builder.finish();
        let accounting = &mut profile.accounting;
        accounting.lost = self.lost;
        accounting.throttled = self.throttled;
        if self.other_events > 0 {
            accounting.warnings.push(format!(
                "{} samples of other events than {} were left out",
                self.other_events, profile.event.name
            ));
        }
        if self.copied_stacks > 0 {
            accounting.warnings.push(format!(
                "{} samples hold copied stacks (--call-graph dwarf), which are not unwound here: \
                 give the text of `perf script` instead",
                self.copied_stacks
            ));
        }
        PerfRecording {
            profile,
            kernel_start: self.kernel_start,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

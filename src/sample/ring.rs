//! One ring a CPU, which the events of all sampled threads on that CPU write to.

use std::fs::File;
use std::io;

use perf_event_open::config::{Cpu, Proc};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;
use perf_event_open::sample::Sampler;
use rustix::ioctl;

use super::attributes::Attributes;
use super::error::SampleError;

/// `_IO('$', 5)` of `linux/perf_event.h`.
const PERF_EVENT_IOC_SET_OUTPUT: ioctl::Opcode = ioctl::opcode::none(b'$', 5);

/// Most memory that all rings together may take, in bytes.
const ALL_RINGS_BYTES: usize = 128 << 20;
/// Smallest ring that is worth having, in pages.
const SMALLEST_PAGES: usize = 4;

/// The ring of one CPU, and the event that owns it. The event counts nothing and belongs to the
/// thread that made the ring, so that it lives as long as that thread.
pub struct Ring {
    cpu: u32,
    owner: Counter,
    sampler: Sampler,
}

impl Ring {
    /// Makes a ring of at least [`SMALLEST_PAGES`] and at most `2^exponent` pages for each CPU.
    ///
    /// Where the kernel refuses that much memory, rings shrink. Returns the rings and, where they
    /// had to shrink, a sentence that says so.
    pub fn for_cpus(
        cpus: &[u32],
        attributes: &Attributes,
    ) -> Result<(Vec<Self>, Option<String>), SampleError> {
        let page = rustix::param::page_size();
        let most = (ALL_RINGS_BYTES / cpus.len().max(1) / page).max(SMALLEST_PAGES);
        let wanted = wanted_bytes(attributes) / page;
        let mut exponent = wanted.min(most).max(SMALLEST_PAGES).ilog2() as u8;
        let first = exponent;
        let smallest = SMALLEST_PAGES.ilog2() as u8;
        loop {
            let rings: Result<Vec<Self>, _> = cpus
                .iter()
                .map(|cpu| Self::new(*cpu, attributes, exponent, page))
                .collect();
            match rings {
                Ok(rings) => {
                    let warning = (exponent < first).then(|| shrunk(page, first, exponent));
                    return Ok((rings, warning));
                }
                Err(NoRing::Memory(source)) if exponent == smallest => {
                    return Err(SampleError::RingMemory { source });
                }
                Err(NoRing::Memory(_)) => exponent -= 1,
                Err(NoRing::Event(source)) => {
                    return Err(SampleError::system("opening an event for a ring")(source));
                }
            }
        }
    }

    fn new(cpu: u32, attributes: &Attributes, exponent: u8, page: usize) -> Result<Self, NoRing> {
        // A quarter leaves the reader time to come before the ring is full.
        let wake_up = (page << exponent) / 4;
        let opts = attributes.ring_owner(u32::try_from(wake_up).unwrap_or(u32::MAX));
        let owner = Counter::new(Software::Dummy, (Proc::CURRENT, Cpu(cpu)), opts)
            .map_err(NoRing::Event)?;
        let sampler = owner.sampler(exponent).map_err(NoRing::Memory)?;
        Ok(Self {
            cpu,
            owner,
            sampler,
        })
    }

    /// The CPU.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// The file that becomes readable when the ring is a quarter full.
    pub fn file(&self) -> &File {
        self.owner.file()
    }

    /// Sends what an event of the same CPU writes to this ring.
    pub fn take_output_of(&self, event: &Counter) -> io::Result<()> {
        let set = SetOutput {
            ring: std::os::fd::AsRawFd::as_raw_fd(self.owner.file()),
        };
        // SAFETY: PERF_EVENT_IOC_SET_OUTPUT takes a file descriptor by value and touches no memory
        // of this process; the descriptor is open, since `self.owner` holds it.
        #[allow(unsafe_code)]
        unsafe {
            ioctl::ioctl(event.file(), set)?;
        }
        Ok(())
    }

    /// Hands on every record that is in the ring now.
    pub fn drain(&self, mut each: impl FnMut(&[u8])) {
        let Some(iter) = self.sampler.iter() else {
            return;
        };
        let mut iter = iter.into_cow();
        while let Some(record) = iter.lending_next() {
            each(record.as_raw().as_bytes());
        }
    }
}

enum NoRing {
    Memory(io::Error),
    Event(io::Error),
}

/// Bytes of ring that hold about a second of samples.
fn wanted_bytes(attributes: &Attributes) -> usize {
    let record = match attributes.call_graph {
        crate::plan::CallGraph::None => 64,
        crate::plan::CallGraph::Fp => 400,
        crate::plan::CallGraph::Dwarf { stack_bytes } => 400 + stack_bytes as usize,
    };
    let a_second = usize::try_from(attributes.frequency_hz)
        .unwrap_or(usize::MAX)
        .saturating_mul(record);
    a_second.clamp(256 << 10, 8 << 20)
}

fn shrunk(page: usize, wanted: u8, got: u8) -> String {
    format!(
        "sample buffers shrank from {} to {} kB a CPU, because the kernel allows no more memory; \
         samples may be lost (`sysctl kernel.perf_event_mlock_kb=8192` allows more)",
        (page << wanted) >> 10,
        (page << got) >> 10
    )
}

/// The ioctl that redirects an event's output.
struct SetOutput {
    ring: i32,
}

// SAFETY: the operation takes its argument by value; the pointer that carries it is never followed.
#[allow(unsafe_code)]
unsafe impl ioctl::Ioctl for SetOutput {
    type Output = ();

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> ioctl::Opcode {
        PERF_EVENT_IOC_SET_OUTPUT
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::without_provenance_mut(self.ring as usize)
    }

    unsafe fn output_from_ptr(
        _: ioctl::IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<()> {
        Ok(())
    }
}

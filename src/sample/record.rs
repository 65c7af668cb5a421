//! Records as the kernel writes them into a ring, read from bytes.
//!
//! Every length and offset in a record is checked, so that a damaged recording gives an error and
//! no more. The layout is that of `perf_event_open(2)` for the one sample format that
//! [`attributes`](super::attributes) asks for.

/// Number of user registers in a sample; see [`USER_REGISTERS`].
pub const REGISTER_COUNT: usize = USER_REGISTERS.count_ones() as usize;

/// The registers that unwinding needs, as a mask of `enum perf_event_x86_regs`: BP, SP, IP.
#[cfg(target_arch = "x86_64")]
pub const USER_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The registers that unwinding needs, as a mask of `enum perf_event_arm_regs`: X29, LR, SP, PC.
#[cfg(not(target_arch = "x86_64"))]
pub const USER_REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_COMM: u32 = 3;
const PERF_RECORD_EXIT: u32 = 4;
const PERF_RECORD_THROTTLE: u32 = 5;
const PERF_RECORD_FORK: u32 = 7;
const PERF_RECORD_SAMPLE: u32 = 9;
const PERF_RECORD_MMAP2: u32 = 10;
const PERF_RECORD_LOST_SAMPLES: u32 = 13;

const MISC_CPUMODE: u16 = 7;
const MISC_KERNEL: u16 = 1;
const MISC_USER: u16 = 2;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

const HEADER_BYTES: usize = 8;
/// What `sample_id_all` appends to every record but samples: pid, tid, time.
const TRAILER_BYTES: usize = 16;

/// What a sample holds beside instruction pointer, thread, time and period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// A call chain follows the period.
    pub call_chain: bool,
    /// User registers and a copy of the user stack follow the call chain.
    pub user_state: bool,
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end before the record does.
    #[error("a record ends too early: {at} more bytes were wanted")]
    Truncated {
        /// Bytes that are missing, at least.
        at: usize,
    },
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// An executable region was mapped.
    Mmap(Mmap<'a>),
    /// A thread got a name.
    Comm {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The name, at most 15 bytes.
        name: &'a [u8],
        /// Whether by `exec`, which also replaces the address space.
        exec: bool,
    },
    /// A thread or process was made.
    Fork {
        /// Process of the new thread.
        pid: u32,
        /// The new thread.
        tid: u32,
        /// Process of the maker.
        parent_pid: u32,
        /// Thread of the maker.
        parent_tid: u32,
    },
    /// A thread ended.
    Exit {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
    },
    /// The kernel dropped records because the ring was full.
    Lost {
        /// How many.
        count: u64,
    },
    /// The kernel slowed sampling down.
    Throttle,
    /// Any other record.
    Other,
}

/// In which mode the CPU was when a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuMode {
    /// Kernel.
    Kernel,
    /// User.
    User,
    /// Hypervisor, guest, or not told.
    Other,
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Mode of the sampled instruction.
    pub mode: CpuMode,
    /// The sampled instruction.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub time: u64,
    /// What the event counted since the last sample.
    pub period: u64,
    /// The call chain, innermost first, with the kernel's context marks in it.
    pub call_chain: Words<'a>,
    /// User registers and stack, where they were asked for and the thread has any.
    pub user: Option<UserState<'a>>,
}

/// The user half of a thread when it was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserState<'a> {
    /// Values of [`USER_REGISTERS`], lowest bit first.
    pub registers: [u64; REGISTER_COUNT],
    /// The stack from the stack pointer upwards; as much as could be copied.
    pub stack: &'a [u8],
}

/// An executable mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mmap<'a> {
    /// Process.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset of the first byte in the file.
    pub file_offset: u64,
    /// Path as the process sees it; `//anon`, `[vdso]` and the like for what is no file.
    pub path: &'a [u8],
    /// Build id of the file, where the kernel could read it.
    pub build_id: Option<&'a [u8]>,
}

/// 64-bit words in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Returns the words in order.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.0.chunks_exact(8).map(|word| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            u64::from_ne_bytes(bytes)
        })
    }
}

/// Returns the time of a record (`CLOCK_MONOTONIC`, nanoseconds) without reading the rest.
pub fn time_of(bytes: &[u8]) -> Result<u64, RecordError> {
    let mut header = Reader(bytes);
    let kind = header.u32()?;
    let at = match kind {
        PERF_RECORD_SAMPLE => HEADER_BYTES + 16,
        _ => bytes.len().saturating_sub(8).max(HEADER_BYTES),
    };
    Reader(bytes.get(at..).unwrap_or_default()).u64()
}

/// Reads one record; `bytes` is the whole of it, header and all.
pub fn parse(bytes: &[u8], layout: Layout) -> Result<Record<'_>, RecordError> {
    let mut reader = Reader(bytes);
    let kind = reader.u32()?;
    let misc = reader.u16()?;
    let size = usize::from(reader.u16()?);
    if size < HEADER_BYTES || size > bytes.len() {
        return Err(RecordError::Truncated {
            at: size.saturating_sub(bytes.len()).max(1),
        });
    }
    let body = &bytes[HEADER_BYTES..size];
    if kind == PERF_RECORD_SAMPLE {
        return sample(Reader(body), misc, layout).map(Record::Sample);
    }
    let Some(body_len) = body.len().checked_sub(TRAILER_BYTES) else {
        return Ok(Record::Other);
    };
    let mut reader = Reader(&body[..body_len]);
    Ok(match kind {
        PERF_RECORD_MMAP2 => Record::Mmap(mmap2(reader, misc)?),
        PERF_RECORD_COMM => Record::Comm {
            pid: reader.u32()?,
            tid: reader.u32()?,
            name: reader.text(),
            exec: misc & MISC_COMM_EXEC != 0,
        },
        PERF_RECORD_FORK => {
            let (pid, parent_pid) = (reader.u32()?, reader.u32()?);
            let (tid, parent_tid) = (reader.u32()?, reader.u32()?);
            Record::Fork {
                pid,
                tid,
                parent_pid,
                parent_tid,
            }
        }
        PERF_RECORD_EXIT => {
            let (pid, _parent) = (reader.u32()?, reader.u32()?);
            Record::Exit {
                pid,
                tid: reader.u32()?,
            }
        }
        PERF_RECORD_LOST => {
            let _id = reader.u64()?;
            Record::Lost {
                count: reader.u64()?,
            }
        }
        PERF_RECORD_LOST_SAMPLES => Record::Lost {
            count: reader.u64()?,
        },
        PERF_RECORD_THROTTLE => Record::Throttle,
        _ => Record::Other,
    })
}

fn sample(mut reader: Reader<'_>, misc: u16, layout: Layout) -> Result<Sample<'_>, RecordError> {
    let mode = match misc & MISC_CPUMODE {
        MISC_KERNEL => CpuMode::Kernel,
        MISC_USER => CpuMode::User,
        _ => CpuMode::Other,
    };
    let ip = reader.u64()?;
    let (pid, tid) = (reader.u32()?, reader.u32()?);
    let time = reader.u64()?;
    let period = reader.u64()?;
    let call_chain = match layout.call_chain {
        true => {
            let words = reader.u64()?;
            Words(reader.take(words.saturating_mul(8))?)
        }
        false => Words::default(),
    };
    let user = match layout.user_state {
        true => user_state(&mut reader)?,
        false => None,
    };
    Ok(Sample {
        mode,
        ip,
        pid,
        tid,
        time,
        period,
        call_chain,
        user,
    })
}

fn user_state<'a>(reader: &mut Reader<'a>) -> Result<Option<UserState<'a>>, RecordError> {
    let abi = reader.u64()?;
    let mut registers = [0; REGISTER_COUNT];
    if abi != 0 {
        for register in &mut registers {
            *register = reader.u64()?;
        }
    }
    let room = reader.u64()?;
    let stack = reader.take(room)?;
    let filled = match room {
        0 => 0,
        _ => reader.u64()?,
    };
    let filled = usize::try_from(filled).unwrap_or(usize::MAX);
    Ok((abi != 0).then_some(UserState {
        registers,
        stack: stack.get(..filled).unwrap_or(stack),
    }))
}

fn mmap2(mut reader: Reader<'_>, misc: u16) -> Result<Mmap<'_>, RecordError> {
    let (pid, _tid) = (reader.u32()?, reader.u32()?);
    let (start, len, file_offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let identity = reader.take(24)?;
    let build_id = match misc & MISC_MMAP_BUILD_ID {
        0 => None,
        _ => identity.get(4..4 + usize::from(identity[0])),
    };
    let (_protection, _flags) = (reader.u32()?, reader.u32()?);
    Ok(Mmap {
        pid,
        start,
        len,
        file_offset,
        path: reader.text(),
        build_id: build_id.filter(|id| !id.is_empty()),
    })
}

/// Takes values off the front of bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8], RecordError> {
        match usize::try_from(len)
            .ok()
            .and_then(|len| self.0.split_at_checked(len))
        {
            Some((head, tail)) => {
                self.0 = tail;
                Ok(head)
            }
            None => Err(RecordError::Truncated {
                at: usize::try_from(len)
                    .unwrap_or(usize::MAX)
                    .saturating_sub(self.0.len()),
            }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N as u64)?);
        Ok(bytes)
    }

    fn u16(&mut self) -> Result<u16, RecordError> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_ne_bytes)
    }

    /// The rest up to the first zero byte.
    fn text(&self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        &self.0[..end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode::{Encoded, SampleParts};
    use super::*;

    const WITH_ALL: Layout = Layout {
        call_chain: true,
        user_state: true,
    };

    #[test]
    fn records_are_read_as_they_are_written() {
        let written = SampleParts {
            ip: 0x1000,
            pid: 7,
            tid: 8,
            time: 99,
            period: 1_001_001,
            kernel: true,
            chain: vec![u64::MAX - 127, 0x1000, u64::MAX - 511, 0x2000],
            registers: Some([3, 2, 1]),
            stack: vec![1, 2, 3, 4, 5, 6, 7, 8],
        };
        let bytes = Encoded::sample(&written, WITH_ALL).0;
        assert_eq!(time_of(&bytes), Ok(99));
        let Record::Sample(sample) = parse(&bytes, WITH_ALL).unwrap() else {
            panic!("no sample");
        };
        assert_eq!((sample.mode, sample.ip), (CpuMode::Kernel, 0x1000));
        assert_eq!((sample.pid, sample.tid, sample.time), (7, 8, 99));
        assert_eq!(sample.period, 1_001_001);
        assert_eq!(sample.call_chain.iter().collect::<Vec<_>>(), written.chain);
        let user = sample.user.unwrap();
        assert_eq!(user.registers[..3], [3, 2, 1]);
        assert_eq!(user.stack, written.stack);
    }

    #[test]
    fn side_band_records_are_read() {
        let layout = Layout::default();
        let mmap = Encoded::mmap(7, 0x1000, 0x2000, 0x3000, "/lib/a b.so", &[0xab; 20], 5).0;
        assert_eq!(
            parse(&mmap, layout),
            Ok(Record::Mmap(Mmap {
                pid: 7,
                start: 0x1000,
                len: 0x2000,
                file_offset: 0x3000,
                path: b"/lib/a b.so",
                build_id: Some(&[0xab; 20]),
            }))
        );
        assert_eq!(time_of(&mmap), Ok(5));
        let comm = Encoded::comm(7, 8, "name", true, 6).0;
        assert_eq!(
            parse(&comm, layout),
            Ok(Record::Comm {
                pid: 7,
                tid: 8,
                name: b"name",
                exec: true
            })
        );
        let fork = Encoded::fork((9, 10), (7, 8), 6).0;
        assert_eq!(
            parse(&fork, layout),
            Ok(Record::Fork {
                pid: 9,
                tid: 10,
                parent_pid: 7,
                parent_tid: 8
            })
        );
        let exit = Encoded::exit((9, 10), (7, 8), 6).0;
        assert_eq!(parse(&exit, layout), Ok(Record::Exit { pid: 9, tid: 10 }));
        let lost = Encoded::lost(41, 6).0;
        assert_eq!(parse(&lost, layout), Ok(Record::Lost { count: 41 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            call_chain: bool,
            user_state: bool,
        ) {
            let layout = Layout { call_chain, user_state };
            let _ = parse(&bytes, layout);
            let _ = time_of(&bytes);
        }

        #[test]
        fn any_body_of_a_known_kind_is_read_without_harm(
            kind in 1_u32..20,
            misc: u16,
            body in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let bytes = Encoded::raw(kind, misc, &body).0;
            let _ = parse(&bytes, WITH_ALL);
            let _ = time_of(&bytes);
        }

        #[test]
        fn a_sample_that_is_cut_anywhere_is_an_error(
            chain in proptest::collection::vec(any::<u64>(), 0..20),
            stack in proptest::collection::vec(any::<u64>(), 1..20),
            cut in 1_usize..2000,
        ) {
            let parts = SampleParts {
                chain,
                registers: Some([1; 3]),
                stack: stack.iter().flat_map(|word| word.to_ne_bytes()).collect(),
                ..SampleParts::default()
            };
            let bytes = Encoded::sample(&parts, WITH_ALL).0;
            prop_assert!(parse(&bytes, WITH_ALL).is_ok());
            let short = &bytes[..bytes.len() - cut.min(bytes.len())];
            prop_assert!(parse(short, WITH_ALL).is_err());
        }
    }
}

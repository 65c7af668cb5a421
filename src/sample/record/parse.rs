//! From the bytes of a record to what they say.

use super::reader::{Reader, RecordError, Words};
use super::{CpuMode, Layout, Mmap, REGISTER_COUNT, Record, Sample, UserState};

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
            reader.words(words)?
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample::encode::{Encoded, SampleParts};

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

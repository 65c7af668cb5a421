//! Records as the kernel would write them, for tests.

use super::record::{Layout, REGISTER_COUNT};

/// The bytes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded(pub Vec<u8>);

/// What goes into a sample.
#[derive(Debug, Clone, Default)]
pub struct SampleParts {
    pub ip: u64,
    pub pid: u32,
    pub tid: u32,
    pub time: u64,
    pub period: u64,
    pub kernel: bool,
    pub chain: Vec<u64>,
    pub registers: Option<[u64; 3]>,
    pub stack: Vec<u8>,
}

impl Encoded {
    /// A record of any kind.
    pub fn raw(kind: u32, misc: u16, body: &[u8]) -> Self {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(((body.len() + 8) as u16).to_ne_bytes());
        bytes.extend(body);
        Self(bytes)
    }

    /// A record with the trailer that carries thread and time.
    fn side_band(kind: u32, misc: u16, mut body: Vec<u8>, thread: (u32, u32), time: u64) -> Self {
        body.extend(thread.0.to_ne_bytes());
        body.extend(thread.1.to_ne_bytes());
        body.extend(time.to_ne_bytes());
        Self::raw(kind, misc, &body)
    }

    pub fn sample(parts: &SampleParts, layout: Layout) -> Self {
        let mut body = Vec::new();
        body.extend(parts.ip.to_ne_bytes());
        body.extend(parts.pid.to_ne_bytes());
        body.extend(parts.tid.to_ne_bytes());
        body.extend(parts.time.to_ne_bytes());
        body.extend(parts.period.to_ne_bytes());
        if layout.call_chain {
            body.extend((parts.chain.len() as u64).to_ne_bytes());
            body.extend(parts.chain.iter().flat_map(|word| word.to_ne_bytes()));
        }
        if layout.user_state {
            match parts.registers {
                Some(registers) => {
                    let mut all = [0; REGISTER_COUNT];
                    all[..3].copy_from_slice(&registers);
                    body.extend(2_u64.to_ne_bytes());
                    body.extend(all.iter().flat_map(|word| word.to_ne_bytes()));
                }
                None => body.extend(0_u64.to_ne_bytes()),
            }
            body.extend((parts.stack.len() as u64).to_ne_bytes());
            body.extend(&parts.stack);
            if !parts.stack.is_empty() {
                body.extend((parts.stack.len() as u64).to_ne_bytes());
            }
        }
        Self::raw(9, if parts.kernel { 1 } else { 2 }, &body)
    }

    pub fn mmap(
        pid: u32,
        start: u64,
        len: u64,
        file_offset: u64,
        path: &str,
        build_id: &[u8; 20],
        time: u64,
    ) -> Self {
        let mut body = Vec::new();
        body.extend(pid.to_ne_bytes());
        body.extend(pid.to_ne_bytes());
        for word in [start, len, file_offset] {
            body.extend(word.to_ne_bytes());
        }
        body.extend([20, 0, 0, 0]);
        body.extend(build_id);
        body.extend(5_u32.to_ne_bytes());
        body.extend(2_u32.to_ne_bytes());
        push_text(&mut body, path);
        Self::side_band(10, 2 | 1 << 14, body, (pid, pid), time)
    }

    pub fn comm(pid: u32, tid: u32, name: &str, exec: bool, time: u64) -> Self {
        let mut body = Vec::new();
        body.extend(pid.to_ne_bytes());
        body.extend(tid.to_ne_bytes());
        push_text(&mut body, name);
        Self::side_band(3, u16::from(exec) << 13, body, (pid, tid), time)
    }

    pub fn fork(child: (u32, u32), parent: (u32, u32), time: u64) -> Self {
        Self::side_band(7, 0, task(child, parent, time), parent, time)
    }

    pub fn exit(thread: (u32, u32), parent: (u32, u32), time: u64) -> Self {
        Self::side_band(4, 0, task(thread, parent, time), thread, time)
    }

    pub fn lost(count: u64, time: u64) -> Self {
        let mut body = 1_u64.to_ne_bytes().to_vec();
        body.extend(count.to_ne_bytes());
        Self::side_band(2, 0, body, (0, 0), time)
    }
}

fn task(one: (u32, u32), parent: (u32, u32), time: u64) -> Vec<u8> {
    let mut body = Vec::new();
    for number in [one.0, parent.0, one.1, parent.1] {
        body.extend(number.to_ne_bytes());
    }
    body.extend(time.to_ne_bytes());
    body
}

/// Text ends in zeros up to a whole word.
fn push_text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.as_bytes());
    body.push(0);
    while !body.len().is_multiple_of(8) {
        body.push(0);
    }
}

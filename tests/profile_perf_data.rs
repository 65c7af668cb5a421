//! perf.data of either byte order, with records that nobody knows, and with damage: files that are
//! made here byte by byte, as `perf record` lays them out.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const IP_TID_TIME_CALLCHAIN_PERIOD: u64 = 0x127;
const COMM: u32 = 3;
const MMAP: u32 = 1;
const SAMPLE: u32 = 9;
const USER: u16 = 2;
const CONTEXT_USER: u64 = -512i64 as u64;

/// Writes numbers in one byte order.
struct Bytes {
    big: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn new(big: bool) -> Self {
        let bytes = Vec::new();
        Self { big, bytes }
    }

    fn u16(&mut self, n: u16) {
        let bytes = if self.big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        };
        self.bytes.extend(bytes);
    }

    fn u32(&mut self, n: u32) {
        let bytes = if self.big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        };
        self.bytes.extend(bytes);
    }

    fn u64s(&mut self, numbers: &[u64]) {
        for n in numbers {
            let bytes = if self.big {
                n.to_be_bytes()
            } else {
                n.to_le_bytes()
            };
            self.bytes.extend(bytes);
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend(text.as_bytes());
        let padding = 8 - text.len() % 8;
        self.bytes.extend(std::iter::repeat_n(0, padding));
    }

    fn record(&mut self, kind: u32, misc: u16, body: Bytes) {
        self.u32(kind);
        self.u16(misc);
        self.u16(8 + body.bytes.len() as u16);
        self.bytes.extend(body.bytes);
    }
}

/// A recording of three samples of one thread.
fn perf_data(big: bool, with_unknown: bool) -> Vec<u8> {
    let mut data = Bytes::new(big);
    let mut comm = Bytes::new(big);
    comm.u32(7);
    comm.u32(7);
    comm.text("app");
    data.record(COMM, 0, comm);
    let mut map = Bytes::new(big);
    map.u32(7);
    map.u32(7);
    map.u64s(&[0x40_0000, 0x1000, 0]);
    map.text("/nonexistent/app");
    data.record(MMAP, 0, map);
    if with_unknown {
        for kind in [50, 200] {
            let mut body = Bytes::new(big);
            body.u64s(&[1, 2, 3]);
            data.record(kind, 0, body);
        }
    }
    for (time, chain) in [
        (1, &[CONTEXT_USER, 0x40_0010, 0x40_0020][..]),
        (2, &[CONTEXT_USER, 0x40_0010, 0x40_0020][..]),
        (3, &[CONTEXT_USER, 0x40_0030][..]),
    ] {
        let mut sample = Bytes::new(big);
        sample.u64s(&[chain[1]]);
        sample.u32(7);
        sample.u32(7);
        sample.u64s(&[time, 1_001_001, chain.len() as u64]);
        sample.u64s(chain);
        data.record(SAMPLE, USER, sample);
    }

    const HEADER: u64 = 104;
    const ATTRIBUTE: u64 = 64;
    let data_at = HEADER + ATTRIBUTE + 16;
    let mut file = Bytes::new(big);
    file.bytes
        .extend(if big { b"2ELIFREP" } else { b"PERFILE2" });
    file.u64s(&[HEADER, ATTRIBUTE + 16, HEADER, ATTRIBUTE + 16]);
    file.u64s(&[data_at, data.bytes.len() as u64, 0, 0, 0, 0, 0, 0]);
    // The attribute: software event 0, cpu-clock.
    file.u32(1);
    file.u32(ATTRIBUTE as u32);
    file.u64s(&[0, 1_001_001, IP_TID_TIME_CALLCHAIN_PERIOD, 0, 0, 0, 0]);
    // No ids.
    file.u64s(&[0, 0]);
    assert_eq!(file.bytes.len() as u64, data_at);
    file.bytes.extend(data.bytes);
    file.bytes
}

fn convert(dir: &Path, bytes: &[u8]) -> (Output, String) {
    let path = dir.join("perf.data");
    let out = dir.join("out.folded");
    let _ = fs::remove_file(&out);
    fs::write(&path, bytes).expect("it is written");
    let output = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .arg("convert")
        .args([&path, Path::new("-o"), &out])
        .stdin(Stdio::null())
        .output()
        .expect("perfblame starts");
    (output, fs::read_to_string(&out).unwrap_or_default())
}

#[test]
fn either_byte_order_gives_the_same_stacks() {
    let dir = tempfile::tempdir().expect("a directory");
    for big in [false, true] {
        for with_unknown in [false, true] {
            let (output, folded) = convert(dir.path(), &perf_data(big, with_unknown));
            assert!(output.status.success(), "big: {big}: {output:?}");
            assert_eq!(
                folded, "app;[truncated];[app] 1\napp;[truncated];[app];[app] 2\n",
                "big: {big}, unknown records: {with_unknown}"
            );
        }
    }
}

#[test]
fn damage_is_refused_or_read_as_far_as_it_goes() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = perf_data(true, false);
    let mut refused = 0;
    for cut in (8..whole.len()).step_by(24) {
        let (output, _) = convert(dir.path(), &whole[..cut]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("panicked"), "{cut}: {error}");
        match output.status.code() {
            Some(0) => {}
            Some(2) => {
                assert!(error.contains("perf.data"), "{cut}: {error}");
                refused += 1;
            }
            other => assert_eq!(other, Some(0), "{cut}: {error}"),
        }
    }
    assert!(refused > 0);
}

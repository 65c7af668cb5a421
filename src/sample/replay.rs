//! Recorded ring bytes, read again: tests of parser, merge and fold without a kernel that samples.
//!
//! `fixtures/recorded/sampler/*.ring` hold the rings of a run of `tree` (`fixtures/sampler/tree.c`) as
//! they were read, in rounds. A file is `PBRING1\n`, then for each round the clock (8 bytes), the
//! number of bytes (8 bytes), and the records one after the other, all in the byte order of the
//! machine.

use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::availability::Chosen;
use super::encode::Encoded;
use super::event::NamedEvent;
use super::finish::{Detached, Recording};
use super::fold::Folder;
use super::merge::TimeMerge;
use super::record::{Layout, Record, parse, time_of};
use super::window::{Windows, clock_ns};
use crate::plan::{CallGraph, SampleSpec};
use crate::profile::{Profile, folded_lines};

const MAGIC: &[u8] = b"PBRING1\n";

const FP: (&str, &str, CallGraph) = ("fp", "tree-fp", CallGraph::Fp);
const DWARF: (&str, &str, CallGraph) = ("dwarf", "tree", CallGraph::Dwarf { stack_bytes: 256 });

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/recorded/sampler")
        .join(name)
}

/// What one look at all rings gave.
#[derive(Debug, Clone)]
struct Round {
    now: u64,
    records: Vec<Vec<u8>>,
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes[..8].try_into().unwrap())
}

/// Length of the record that bytes begin with.
fn record_len(bytes: &[u8]) -> usize {
    usize::from(u16::from_ne_bytes(bytes[6..8].try_into().unwrap()))
}

/// Reads a recording; the program lies where the fixtures are now.
fn read((name, program, _): (&str, &str, CallGraph)) -> Vec<Round> {
    let bytes = std::fs::read(fixture(&format!("{name}.ring"))).unwrap();
    let mut rest = bytes.strip_prefix(MAGIC).unwrap();
    let mut rounds = Vec::new();
    while !rest.is_empty() {
        let (now, len) = (word(rest), word(&rest[8..]) as usize);
        let (mut body, after) = rest[16..].split_at(len);
        rest = after;
        let mut records = Vec::new();
        while !body.is_empty() {
            let (record, after) = body.split_at(record_len(body));
            records.push(moved(record, program));
            body = after;
        }
        rounds.push(Round { now, records });
    }
    rounds
}

/// Replaces the path of the recorded program by that of the fixture.
fn moved(record: &[u8], program: &str) -> Vec<u8> {
    match parse(record, Layout::default()) {
        Ok(Record::Mmap(mmap)) if mmap.path.ends_with(b"/tree") => {
            Encoded::mmap(
                mmap.pid,
                mmap.start,
                mmap.len,
                mmap.file_offset,
                fixture(program).to_str().unwrap(),
                mmap.build_id.unwrap().try_into().unwrap(),
                time_of(record).unwrap(),
            )
            .0
        }
        _ => record.to_vec(),
    }
}

fn chosen(call_graph: CallGraph) -> Chosen {
    Chosen {
        event: NamedEvent::find("cpu-clock").unwrap(),
        attributes: super::attributes::Attributes {
            frequency_hz: 999,
            call_graph,
            kernel: true,
            skid: perf_event_open::config::SampleSkid::Arbitrary,
            on_exec: true,
        },
    }
}

fn layout(call_graph: CallGraph) -> Layout {
    chosen(call_graph).attributes.layout()
}

/// One window over all time.
fn always() -> Windows {
    let mut windows = Windows::default();
    windows.open(0);
    windows
}

/// Puts rounds through the merge into a folder, as the reader of the rings does.
fn fold(rounds: &[Round], call_graph: CallGraph) -> Folder {
    let mut folder = Folder::new(layout(call_graph));
    let mut merge = TimeMerge::default();
    let windows = always();
    for round in rounds {
        merge.begin_round(round.now);
        for record in &round.records {
            if merge.push(record).is_err() {
                folder.losses.damaged += 1;
            }
        }
        merge.end_round(|record| folder.take(record, &windows));
    }
    merge.finish(|record| folder.take(record, &windows));
    folder
}

fn profile(folder: Folder, call_graph: CallGraph) -> Profile {
    let recording = Recording {
        chosen: chosen(call_graph),
        folder,
        warnings: Vec::new(),
        reader_cpu_ns: 0,
    };
    let mut windows = Windows::default();
    windows.open(clock_ns());
    Detached::new(recording, windows).profile()
}

/// Folded stacks of user code only: the names of kernel functions are those of the running kernel.
fn user_stacks(profile: &Profile) -> Vec<String> {
    let mut lines: Vec<String> = folded_lines(profile);
    lines.retain(|line| !line.contains("_[k]"));
    lines
}

#[test]
fn recorded_bytes_give_the_known_stacks() {
    for recorded in [FP, DWARF] {
        let (name, _, call_graph) = recorded;
        let folder = fold(&read(recorded), call_graph);
        assert_eq!(folder.losses.damaged, 0, "{name}");
        assert_eq!(folder.losses.lost, 0, "{name}");
        let profile = profile(folder, call_graph);
        let lines = user_stacks(&profile).join("\n") + "\n";
        let golden = fixture(&format!("{name}.folded"));
        if std::env::var_os("RENEW").is_some() {
            std::fs::write(&golden, &lines).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(lines, expected, "RENEW=1 writes {}", golden.display());
        assert_eq!(profile.accounting.truncated, 0, "{name}");
    }
}

#[test]
fn recorded_bytes_come_out_in_the_order_of_time() {
    for recorded in [FP, DWARF] {
        let rounds = read(recorded);
        let mut merge = TimeMerge::default();
        let mut times = Vec::new();
        for round in &rounds {
            merge.begin_round(round.now);
            for record in &round.records {
                merge.push(record).unwrap();
            }
            merge.end_round(|record| times.push(time_of(record).unwrap()));
        }
        merge.finish(|record| times.push(time_of(record).unwrap()));
        assert!(times.is_sorted());
        let records: usize = rounds.iter().map(|round| round.records.len()).sum();
        assert_eq!(times.len(), records);
        assert!(records > 100);
    }
}

#[test]
fn damaged_recordings_neither_panic_nor_hang() {
    for recorded in [FP, DWARF] {
        let (_, _, call_graph) = recorded;
        let sound = read(recorded);
        let mut rng = StdRng::seed_from_u64(4);
        for _ in 0..100 {
            let mut rounds = sound.clone();
            let mut records: Vec<&mut Vec<u8>> =
                rounds.iter_mut().flat_map(|r| &mut r.records).collect();
            for _ in 0..rng.random_range(1..30) {
                let at = rng.random_range(0..records.len());
                let record = &mut records[at];
                let byte = rng.random_range(0..record.len());
                match rng.random_range(0..3) {
                    0 => record.truncate(byte.max(1)),
                    1 => record[byte] = rng.random(),
                    _ => {
                        let end = (byte + 8).min(record.len());
                        record[byte..end].fill_with(|| rng.random());
                    }
                }
            }
            let records = records.len() as u64;
            let folder = fold(&rounds, call_graph);
            let counted: u64 = folder.stacks.stacks().map(|stack| stack.count).sum();
            assert!(counted + folder.losses.damaged <= records);
        }
    }
}

/// The same process tree again and again, each time with other numbers and later.
struct Endless {
    rounds: Vec<Round>,
    length_ns: u64,
    times: u64,
}

impl Endless {
    fn of(recorded: (&str, &str, CallGraph)) -> Self {
        let rounds = read(recorded);
        let times = || {
            rounds
                .iter()
                .flat_map(|r| &r.records)
                .map(|r| time_of(r).unwrap())
        };
        let first = times().min().unwrap();
        let last = rounds.iter().map(|round| round.now).max().unwrap();
        Self {
            length_ns: last - first + 1,
            rounds,
            times: 0,
        }
    }

    /// The next run of the tree, with ever new stacks if wished.
    fn next(&mut self, layout: Layout, mut new_stacks: Option<&mut StdRng>) -> Vec<Round> {
        let mut rounds = self.rounds.clone();
        let later = self.times * self.length_ns;
        // Process numbers of Linux go to 4,194,303 and come round.
        let pid_shift = (self.times * 3 % 1_000_000) as u32;
        self.times += 1;
        for round in &mut rounds {
            round.now += later;
            for record in &mut round.records {
                shift(record, later, pid_shift);
                if let Some(rng) = new_stacks.as_deref_mut() {
                    stir(record, layout, rng);
                }
            }
        }
        rounds
    }
}

fn add_u64(bytes: &mut [u8], at: usize, more: u64) {
    let sum = word(&bytes[at..]).wrapping_add(more);
    bytes[at..at + 8].copy_from_slice(&sum.to_ne_bytes());
}

fn add_u32(bytes: &mut [u8], at: usize, more: u32) {
    let old = u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    bytes[at..at + 4].copy_from_slice(&old.wrapping_add(more).to_ne_bytes());
}

/// Moves a record in time, and its process numbers.
fn shift(record: &mut [u8], later: u64, pids: u32) {
    let end = record.len();
    let kind = u32::from_ne_bytes(record[..4].try_into().unwrap());
    let at: &[usize] = match kind {
        9 => &[16, 20],
        3 | 10 => &[8, 12],
        4 | 7 => &[8, 12, 16, 20],
        _ => &[],
    };
    for at in at {
        add_u32(record, *at, pids);
    }
    match kind {
        9 => add_u64(record, 24, later),
        _ => add_u64(record, end - 8, later),
    }
}

/// Replaces the user addresses of a sample's call chain by others in the program.
fn stir(record: &mut [u8], layout: Layout, rng: &mut StdRng) {
    let Ok(Record::Sample(sample)) = parse(record, layout) else {
        return;
    };
    let words = sample.call_chain.iter().count();
    // Header, then instruction, thread, time, period and the chain's length.
    for at in (0..words).map(|word| 8 + 40 + 8 * word) {
        let address = word(&record[at..]);
        if (0x40_0000..0x40_1000).contains(&address) {
            let other = 0x40_0150 + rng.random_range(0..0x240_u64);
            record[at..at + 8].copy_from_slice(&other.to_ne_bytes());
        }
    }
}

/// Folds runs of the tree until so many samples are counted.
fn fold_long(
    recorded: (&str, &str, CallGraph),
    samples: u64,
    mut new_stacks: Option<StdRng>,
) -> (Folder, u64) {
    let layout = layout(recorded.2);
    let mut endless = Endless::of(recorded);
    let mut folder = Folder::new(layout);
    let mut merge = TimeMerge::default();
    let windows = always();
    let mut counted = 0;
    while counted < samples {
        for round in endless.next(layout, new_stacks.as_mut()) {
            merge.begin_round(round.now);
            for record in &round.records {
                merge.push(record).unwrap();
                counted += u64::from(matches!(parse(record, layout), Ok(Record::Sample(_))));
            }
            merge.end_round(|record| folder.take(record, &windows));
        }
    }
    merge.finish(|record| folder.take(record, &windows));
    (folder, counted)
}

#[test]
fn processes_that_come_and_go_leave_nothing_behind() {
    for recorded in [FP, DWARF] {
        let (folder, counted) = fold_long(recorded, 20_000, None);
        let once = fold(&read(recorded), recorded.2);
        assert_eq!(folder.sizes(), once.sizes(), "{}", recorded.0);
        let held: u64 = folder.stacks.stacks().map(|stack| stack.count).sum();
        assert_eq!(held, counted);
        assert_eq!(folder.losses.damaged, 0);
    }
}

/// The most memory that this process has held, in MB.
fn most_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kb: f64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kb / 1024.0
}

/// Run by `scripts/bench-sampler`, in a process of its own.
#[test]
#[ignore = "takes a minute; scripts/bench-sampler runs it"]
fn an_hour() {
    let samples = 3600 * 999;
    let cases = [
        ("fp, the same stacks", FP, false),
        ("dwarf, the same stacks", DWARF, false),
        ("fp, ever new stacks", FP, true),
    ];
    for (name, recorded, new_stacks) in cases {
        let rng = new_stacks.then(|| StdRng::seed_from_u64(4));
        let (folder, counted) = fold_long(recorded, samples, rng);
        let most = most_memory_mb();
        println!(
            "| an hour at 999 Hz, {name}: most memory | {most:.1} MB ({counted} samples, {:?}) | below 64 MB |",
            folder.sizes()
        );
        assert!(most < 64.0, "{name}: {most} MB");
    }
}

/// Renews the recorded bytes; to be followed by a run with RENEW=1.
#[test]
#[ignore = "needs the right to sample; renews the fixtures"]
fn record_the_fixtures() {
    use super::launch::HeldCommand;
    use super::session::{Session, Target};

    for (name, program, call_graph) in [FP, DWARF] {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        std::fs::copy(fixture(program), &tree).unwrap();
        let spec = SampleSpec {
            frequency_hz: 1999,
            call_graph,
            ..SampleSpec::default()
        };
        let held = HeldCommand::start(std::process::Command::new(&tree)).unwrap();
        let chosen = Chosen::new(&spec).unwrap();
        let session = Session::open(chosen, &Target::OnExec(held.pid()), None).unwrap();
        let mut child = held.release().unwrap();
        let mut bytes = MAGIC.to_vec();
        let mut ended = false;
        while !ended {
            ended = child.try_wait().unwrap().is_some();
            let mut body: Vec<u8> = Vec::new();
            let now = clock_ns();
            for ring in session.rings() {
                ring.drain(|record| body.extend(record));
            }
            bytes.extend(now.to_ne_bytes());
            bytes.extend((body.len() as u64).to_ne_bytes());
            bytes.extend(body);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.wait().unwrap();
        std::fs::write(fixture(&format!("{name}.ring")), bytes).unwrap();
    }
}

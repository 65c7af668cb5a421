//! What we write, opened by the tools that it is for: speedscope's own importer in Chromium, and a
//! decoder of pprof's protocol buffers in Node.

// Not every test file does everything with a page.
#[allow(dead_code)]
mod browser;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use browser::{DESKTOP, Page};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures/profile").join(name)
}

/// Installs the tools; false, loudly, where there is no npm.
fn tools() -> bool {
    let npm = Command::new("npm").arg("--version").output();
    if !npm.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no npm here, so that nothing is held against speedscope and pprof;");
        eprintln!("SKIPPED: apt-get install npm");
        return false;
    }
    let installed = Command::new(root().join("scripts/interop-tools"))
        .status()
        .expect("the script starts");
    assert!(installed.success(), "scripts/interop-tools failed");
    true
}

/// Samples by stack, without the first `skip` frames.
fn counts(folded: &str, skip: usize) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').expect("a folded line");
        let frames: Vec<&str> = stack.split(';').skip(skip).collect();
        *counts.entry(frames.join(";")).or_default() += count.parse::<u64>().expect("a count");
    }
    counts
}

fn golden() -> String {
    fs::read_to_string(fixture("small.folded")).expect("the golden file is there")
}

/// Loads a file into speedscope as its command does, has it save what it made of the file, and
/// returns that as folded lines.
fn through_speedscope(file: &Path) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let bytes = fs::read(file).expect("the file is there");
    let loader = dir.path().join("load.js");
    let name = file.file_name().expect("a name").to_string_lossy();
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    fs::write(
        &loader,
        format!("speedscope.loadFileFromBase64({name:?}, {data:?})"),
    )
    .expect("it is written");
    let url = format!(
        "file://{}#localProfilePath={}",
        root()
            .join("target/interop/node_modules/speedscope/dist/release/index.html")
            .display(),
        loader.display()
    );
    let mut page = Page::open_url(&url, DESKTOP);
    page.eval(
        "URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved = t; }); return '#'; }",
    );
    // The key does nothing until the profile is there.
    page.wait_for(
        "(() => { dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true })); \
         return !!window.saved; })()",
    );
    let saved = dir.path().join("saved.speedscope.json");
    fs::write(&saved, page.text("window.saved")).expect("it is written");
    page.screenshot(&format!("speedscope-{name}.png"), false);
    let folded = dir.path().join("saved.folded");
    let converted = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .arg("convert")
        .args([&saved, &PathBuf::from("-o"), &folded])
        .output()
        .expect("perfblame starts");
    assert!(converted.status.success(), "{converted:?}");
    fs::read_to_string(&folded).expect("it is written")
}

#[test]
fn speedscope_reads_our_speedscope() {
    if tools() {
        assert_eq!(
            through_speedscope(&fixture("small.speedscope.json")),
            golden()
        );
    }
}

/// Of pprof, speedscope knows no threads, no kernel, and no place without a function.
#[test]
fn speedscope_reads_our_pprof() {
    if tools() {
        let found = through_speedscope(&fixture("small.pb.gz"));
        let expected = golden().replace("_[k]", "").replace(";[libc.so.6]", "");
        let (found, expected) = (counts(&found, 1), counts(&expected, 1));
        assert_eq!(found, expected);
    }
}

/// To speedscope a folded file is one profile: the thread is a frame.
#[test]
fn speedscope_reads_our_folded() {
    if tools() {
        let found = through_speedscope(&fixture("small.folded"));
        assert_eq!(counts(&found, 1), counts(&golden(), 0));
    }
}

const DECODE: &str = "
const fs = require('fs'), zlib = require('zlib');
const { Profile } = require(process.argv[1]);
const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = (n) => p.stringTable.strings[Number(n)];
const by = (list) => new Map(list.map((x) => [Number(x.id), x]));
const functions = by(p.function), locations = by(p.location), mappings = by(p.mapping);
for (const sample of p.sample) {
  const thread = sample.label.find((l) => text(l.key) === 'thread');
  const frames = [];
  for (const id of sample.locationId) {
    const location = locations.get(Number(id));
    const file = text(mappings.get(Number(location.mappingId)).filename);
    const kernel = file === '[kernel]' ? '_[k]' : '';
    if (!location.line.length) frames.push('[' + file.split('/').pop() + ']' + kernel);
    for (const line of location.line) frames.push(text(functions.get(Number(line.functionId)).name) + kernel);
  }
  console.log([text(thread.str), ...frames.reverse()].join(';') + ' ' + sample.value[0]);
}
";

#[test]
fn a_pprof_decoder_reads_our_pprof() {
    if !tools() {
        return;
    }
    let decoded = Command::new("node")
        .args(["-e", DECODE])
        .arg(root().join("target/interop/node_modules/pprof-format"))
        .arg(fixture("small.pb.gz"))
        .output()
        .expect("node starts");
    assert!(
        decoded.status.success(),
        "{}",
        String::from_utf8_lossy(&decoded.stderr)
    );
    let decoded = String::from_utf8_lossy(&decoded.stdout).into_owned();
    assert_eq!(counts(&decoded, 0), counts(&golden(), 0));
}

//! Forms of profiles, by the real binary and where it can be by their own tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn perfblame(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("perfblame starts")
}

fn ok(args: &[&str]) -> Output {
    let output = perfblame(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The words of an error; the exit code must be 2.
fn refused(args: &[&str]) -> String {
    let output = perfblame(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/profile")
        .join(name)
}

/// The golden set: one small profile, and what it is in each form.
const GOLDEN: [&str; 6] = [
    "small.folded",
    "small.json",
    "small.pb.gz",
    "small.speedscope.json",
    "small.firefox.json",
    "small.perf-script.txt",
];

#[test]
fn every_form_of_the_golden_set_has_the_same_stacks() {
    let dir = tempfile::tempdir().expect("a directory");
    let folded = fs::read_to_string(fixture("small.folded")).expect("the golden file is there");
    for name in GOLDEN {
        if std::env::var_os("UPDATE_GOLDEN").is_some() && !name.contains("perf-script") {
            ok(&[
                "convert",
                text(&fixture("small.folded")),
                "-o",
                text(&fixture(name)),
            ]);
        }
        let out = dir.path().join("out.folded");
        ok(&["convert", text(&fixture(name)), "-o", text(&out)]);
        assert_eq!(
            fs::read_to_string(&out).expect("it is written"),
            folded,
            "{name}"
        );
    }
}

#[test]
fn every_form_becomes_every_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let folded = fs::read_to_string(fixture("small.folded")).expect("the golden file is there");
    for from in GOLDEN {
        for to in [
            "a.folded.gz",
            "a.json.gz",
            "a.pb.gz",
            "a.speedscope.json",
            "a.firefox.json.gz",
        ] {
            let there = dir.path().join(to);
            let back = dir.path().join("back.folded");
            ok(&["convert", text(&fixture(from)), "-o", text(&there)]);
            ok(&["convert", text(&there), "-o", text(&back)]);
            assert_eq!(
                fs::read_to_string(&back).expect("it is written"),
                folded,
                "{from} {to}"
            );
        }
    }
}

#[test]
fn the_content_and_not_the_ending_says_the_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let lie = dir.path().join("lie.folded");
    fs::copy(fixture("small.pb.gz"), &lie).expect("a copy");
    let svg = dir.path().join("out.svg");
    ok(&["flamegraph", text(&lie), "-o", text(&svg)]);
    assert!(
        fs::read_to_string(&svg)
            .expect("it is written")
            .contains("parse_query")
    );
}

/// Records with perf, and holds what we read against what `perf script` prints.
#[test]
fn perf_data_gives_the_stacks_that_perf_script_gives() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("spin.c");
    fs::write(
        &source,
        "volatile unsigned long x;\n\
         __attribute__((noinline)) void inner(void){for(int i=0;i<1000;i++)x+=i;}\n\
         __attribute__((noinline)) void outer(void){inner();x++;}\n\
         int main(void){for(int i=0;i<200000;i++)outer();return 0;}\n",
    )
    .expect("it is written");
    let program = dir.path().join("spin");
    let built = Command::new("cc")
        .args([
            "-O1",
            "-g",
            "-fno-omit-frame-pointer",
            "-fno-optimize-sibling-calls",
            "-o",
        ])
        .args([&program, &source])
        .status()
        .expect("cc starts");
    assert!(built.success());
    let data = dir.path().join("perf.data");
    let recorded = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock:u", "-F", "999", "-g", "-o"])
        .arg(&data)
        .arg("--")
        .arg(&program)
        .output()
        .expect("this test needs perf: apt-get install linux-perf");
    assert!(recorded.status.success(), "{recorded:?}");
    let script = Command::new("perf")
        .args(["script", "-i"])
        .arg(&data)
        .output()
        .expect("perf starts");
    let script_text = dir.path().join("script.txt");
    fs::write(&script_text, &script.stdout).expect("it is written");

    // By function: perf names the frames of libc by its own rules, and ours are ours to name.
    let counts = |input: &Path| {
        let out = dir.path().join("out.folded");
        ok(&["convert", text(input), "-o", text(&out)]);
        let folded = fs::read_to_string(&out).expect("it is written");
        let mut total = 0u64;
        let (mut inner, mut chain) = (0u64, 0u64);
        for line in folded.lines() {
            let (stack, count) = line.rsplit_once(' ').expect("a folded line");
            let count: u64 = count.parse().expect("a count");
            total += count;
            if stack.starts_with("spin;") && stack.ends_with(";inner") {
                inner += count;
            }
            if stack.contains("main;outer;inner") {
                chain += count;
            }
        }
        (total, inner, chain)
    };
    let (ours, perfs) = (counts(&data), counts(&script_text));
    assert!(ours.0 > 20, "too few samples to tell: {ours:?}");
    assert!(ours.1 * 10 > ours.0 * 8, "inner has most samples: {ours:?}");
    assert_eq!(ours, perfs);
    // A pipe's form of the same.
    let piped = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "perf record -q -e cpu-clock:u -F 999 -g -o - -- {} > {}",
            program.display(),
            dir.path().join("pipe.data").display()
        ))
        .output()
        .expect("sh starts");
    assert!(piped.status.success(), "{piped:?}");
    let pipe = counts(&dir.path().join("pipe.data"));
    assert!(pipe.0 > 20 && pipe.1 * 10 > pipe.0 * 8, "{pipe:?}");
}

#[test]
fn bad_input_is_refused_with_words() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.folded");
    let out = text(&out);
    let gz = fs::read(fixture("small.pb.gz")).expect("the golden file is there");
    let cases: [(&str, &[u8], &str); 14] = [
        ("empty", b"", "the file is empty"),
        ("noise", b"\x00\x01\x02\x03", "no profile that perfblame knows"),
        ("negative", b"a;b 1\na;c -3\n", "line 2: the count -3 is negative"),
        ("fraction", b"a;b 1.5\n", "line 1: the count 1.5 is not a whole number"),
        ("beyond", b"a;b 99999999999999999999\n", "is beyond 64 bits"),
        ("sum", b"a 18446744073709551615\nb 1\n", "line 2: the counts up to here"),
        ("nocount", b"a;b 1\na;c 2\na;d 3\nwhat\n", "line 4: no count"),
        ("gzip", &gz[..gz.len() / 2], "damaged or cut short"),
        ("perfdata", b"PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00", "perf.data"),
        ("swapped", b"2ELIFREP\x00\x00\x00\x00\x00\x00\x00\x68", "perf.data"),
        ("schema", b"{\"schema\":\"perfblame.profile/9\"}", "perfblame.profile/9"),
        ("json", b"{\"schema\":\"perfblame.profile/1\"}", "the JSON is not in order"),
        ("script", b"srv 1 2.3: 1 cycles:\n\t12 f (m)\ngarbage\n", "line 3"),
        (
            "weights",
            b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"a\"}]},\
              \"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\",\"startValue\":0,\"endValue\":1,\"samples\":[[0]],\"weights\":[-1]}]}",
            "must be whole and not negative",
        ),
    ];
    for (name, bytes, words) in cases {
        let path = dir.path().join(name);
        fs::write(&path, bytes).expect("it is written");
        let error = refused(&["convert", text(&path), "-o", out]);
        assert!(error.contains(words), "{name}: {error}");
        assert!(error.contains(text(&path)), "{name}: {error}");
        assert!(!Path::new(out).exists(), "{name} left a file");
    }
    let error = refused(&["convert", text(&fixture("small.folded")), "-o", "x.unknown"]);
    assert!(error.contains("names no form"), "{error}");
    let error = refused(&["convert", "/nonexistent", "-o", out]);
    assert!(error.contains("/nonexistent"), "{error}");
}

#[test]
fn odd_input_is_taken() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.svg");
    let deep = format!("{} 3\n", vec!["f"; 10_000].join(";"));
    let long = format!("a;{} 3\n", "x".repeat(1 << 20));
    let cases: [(&str, &[u8]); 5] = [
        ("deep", deep.as_bytes()),
        ("long", long.as_bytes()),
        ("large", b"a;b 9007199254740993\na;c 9007199254740993\n"),
        ("utf8", b"a;\xff\xfe;b 3\n"),
        (
            "evil",
            "a;<script>alert(1)</script>;\u{202e}x;]]>;&amp;\"' 3\n".as_bytes(),
        ),
    ];
    for (name, bytes) in cases {
        let path = dir.path().join(name);
        fs::write(&path, bytes).expect("it is written");
        ok(&["flamegraph", text(&path), "-o", text(&out)]);
        ok(&[
            "diff",
            "--base",
            text(&path),
            "--head",
            text(&path),
            "-o",
            text(&out),
        ]);
        let svg = fs::read_to_string(&out).expect("it is written");
        assert!(!svg.contains("<script>alert"), "{name}");
        assert!(!svg.contains('\u{202e}'), "{name}");
        // One script, whose data cannot end it.
        assert_eq!(svg.matches("]]>").count(), 1, "{name}");
    }
}

#[test]
fn one_side_may_be_empty_and_both_may_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let (empty, some) = (dir.path().join("empty"), dir.path().join("some"));
    fs::write(&empty, "").expect("it is written");
    fs::write(&some, "srv;main;f 900\nsrv;main;g 100\n").expect("it is written");
    let out = dir.path().join("out.svg");
    let diff = |base: &Path, head: &Path| {
        perfblame(&[
            "diff",
            "--base",
            text(base),
            "--head",
            text(head),
            "-o",
            text(&out),
        ])
    };
    for (base, head) in [(&empty, &some), (&some, &empty)] {
        let output = diff(base, head);
        assert!(output.status.success(), "{output:?}");
        let svg = fs::read_to_string(&out).expect("it is written");
        // The side that has samples is drawn, and nothing is called new or gone.
        assert!(svg.contains(">main</text>"), "{svg}");
        assert!(!svg.contains(">new 1<") && !svg.contains(">gone 1<"));
    }
    let output = diff(&empty, &empty);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no profile has any samples"));
}

/// A file that is read a line at a time and one that has to be read whole give the same picture.
#[test]
fn the_order_of_lines_does_not_matter() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.svg");
    let lines = ["f 1", "f-x 6", "f2;g 2", "f;g 3", "f;g2;h 4", "f;g;h 5"];
    let mut pictures = Vec::new();
    for (number, order) in [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]].iter().enumerate() {
        let path = dir.path().join(format!("{number}.folded"));
        let shuffled: Vec<&str> = order.iter().map(|&at| lines[at]).collect();
        fs::write(&path, shuffled.join("\n")).expect("it is written");
        ok(&[
            "diff",
            "--base",
            text(&path),
            "--head",
            text(&path),
            "-o",
            text(&out),
        ]);
        pictures.push(fs::read_to_string(&out).expect("it is written"));
    }
    assert_eq!(pictures[0], pictures[1]);
}

/// A wrong line is told with its number where the file is read a line at a time, too.
#[test]
fn wrong_lines_of_a_diff_are_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let (good, bad) = (dir.path().join("good"), dir.path().join("bad"));
    fs::write(&good, "a;b 1\n").expect("it is written");
    fs::write(&bad, "a;b 1\na;c 2\na;d 3\na;e -4\n").expect("it is written");
    let out = dir.path().join("out.svg");
    let error = refused(&[
        "diff",
        "--base",
        text(&good),
        "--head",
        text(&bad),
        "-o",
        text(&out),
    ]);
    assert!(
        error.contains("line 4: the count -4 is negative"),
        "{error}"
    );
    assert!(error.contains(text(&bad)), "{error}");
    assert!(!out.exists());
}

/// What acts on a terminal or a page is shown as text, wherever a name comes out.
#[test]
fn names_act_nowhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.svg");
    let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}<script>x</script>";
    let mut files = Vec::new();
    for side in ["base", "head"] {
        for run in 0..8usize {
            // Dearer by far in head, so that it is printed.
            let cost = if side == "head" { 3_000 } else { 1_000 };
            let path = dir.path().join(format!("{side}{run}"));
            let mut lines = format!("s;main;{} {cost}\n", evil.replace(';', ":"));
            for number in 0..20usize {
                // Runs differ, as runs do.
                let noise = (run * 37 + number * 61 + cost / 60) % 53;
                lines += &format!("s;main;other{number} {}\n", 1_000 + noise);
            }
            fs::write(&path, lines).expect("it is written");
            files.push(text(&path).to_owned());
        }
    }
    let mut args = vec!["diff", "--base"];
    args.extend(files[..8].iter().map(String::as_str));
    args.push("--head");
    args.extend(files[8..].iter().map(String::as_str));
    args.extend(["-o", text(&out), "--title", evil]);
    let output = perfblame(&args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("\\u{1b}"), "{printed}");
    let svg = fs::read_to_string(&out).expect("it is written");
    assert!(!svg.contains("<script>x"));
    for shown in [
        printed,
        String::from_utf8_lossy(&output.stderr).into_owned(),
        svg,
    ] {
        for acting in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
            assert!(!shown.contains(acting), "{acting:?} in {shown}");
        }
    }
}

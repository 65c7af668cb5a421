//! Profiles of phases, of a matrix, and of code whose names are told only at the end.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::TestRepo;
use serde_json::Value;

const PHASES: &str = r#"
[build]
artifact = ["little-server"]
[server]
start = "{artifact} --unixsocket {socket}"
[load]
threads = 1
clients = 5
pipeline = 8
data-size = 50
key-minimum = 1
key-maximum = 40000
[[phase]]
name = "fill"
load = { ratio = "1:0", requests = "allkeys", key-pattern = "P:P" }
profile = true
[[phase]]
name = "read"
load = { ratio = "0:1" }
length = "400ms"
profile = true
[sampling]
frequency-hz = 1999
[disturbance]
repeats = 0
"#;

/// The little server, and the same with a GET that does more.
fn little_servers(plan: &str) -> TestRepo {
    let repo = TestRepo::new();
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/little-server/base/.");
    let copied = std::process::Command::new("cp")
        .args(["-r", base])
        .arg(repo.path())
        .status()
        .unwrap();
    assert!(copied.success());
    repo.commit("one", &[("perfblame.toml", plan)]);
    let file = "src/command_keys.c";
    let text = std::fs::read_to_string(repo.path().join(file)).unwrap();
    let slow = "__attribute__((noinline)) void linger(void)\n{\n    for (volatile int i = 0; i < 1500; i++)\n        ;\n}\n\nvoid command_get(";
    let text = text.replace("void command_get(", slow);
    let text = text.replace(
        "    const struct entry *entry",
        "    linger();\n    const struct entry *entry",
    );
    repo.commit("two", &[(file, &text)]);
    repo
}

fn compare(repo: &TestRepo, more: &[&str]) -> common::Ran {
    let mut arguments = more.to_vec();
    arguments.extend(["main~1", "main"]);
    repo.compare(&arguments)
}

fn functions(report: &Value) -> Vec<(String, String)> {
    let functions = report["functions"].as_array().unwrap();
    let of = |function: &Value| {
        let name = function["name"].as_str().unwrap().to_owned();
        let verdict = function["inclusive"]["verdict"].as_str().unwrap();
        (name, verdict.to_owned())
    };
    functions.iter().map(of).collect()
}

fn named<'a>(report: &'a Value, name: &str) -> &'a Value {
    let functions = report["functions"].as_array().unwrap();
    functions
        .iter()
        .find(|function| function["name"] == name)
        .unwrap()
}

#[test]
fn functions_are_judged_in_each_profiled_phase() {
    let repo = little_servers(PHASES);
    let ran = compare(&repo, &["--blocks", "6"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report = repo.report();
    let functions = functions(&report);
    let verdict = |name: &str| {
        let found = functions.iter().find(|(of, _)| of == name);
        found.map(|(_, verdict)| verdict.as_str())
    };
    // What GET does more is seen where there are GETs, and nowhere else.
    assert_eq!(
        verdict("linger [read]"),
        Some("regressed"),
        "{functions:#?}"
    );
    // Its caller costs more with it; whether that is certain in so few blocks is the machine's affair.
    let get = named(&report, "command_get [read]");
    let cost = |side: &str| get["inclusive"][side].as_f64().unwrap();
    assert!(cost("head_ns_per_op") > cost("base_ns_per_op"), "{get:#}");
    assert_eq!(verdict("linger [fill]"), None);
    assert_ne!(
        verdict("command_set [fill]"),
        Some("regressed"),
        "{functions:#?}"
    );
    assert!(verdict("command_set [fill]").is_some(), "{functions:#?}");
    assert_eq!(verdict("command_set [read]"), None);
    let folded = std::fs::read_to_string(repo.beside("out/head.folded")).unwrap();
    for phase in ["fill", "read"] {
        let thread = format!("little-server [{phase}];");
        assert!(folded.contains(&thread), "{thread}: {folded}");
    }
    let diff = std::fs::read_to_string(repo.beside("out/diff.svg")).unwrap();
    assert!(diff.contains("linger [read]"));

    // The profiles are in the store: the report can be made again.
    let store = repo.beside("store").display().to_string();
    let again = repo.beside("again").display().to_string();
    let ran = common::perfblame(&repo.path(), &["show", "--store", &store, "--out", &again]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let shown = std::fs::read_to_string(repo.beside("again/head.folded")).unwrap();
    assert_eq!(shown, folded);
}

#[test]
fn functions_of_a_single_profiled_phase_keep_their_names() {
    let (fill, read) = PHASES.split_once("[[phase]]\nname = \"read\"").unwrap();
    let one = fill.replace("profile = true\n", "");
    let repo = little_servers(&format!("{one}[[phase]]\nname = \"read\"{read}"));
    let ran = compare(&repo, &["--blocks", "2"]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let report = repo.report();
    let names: Vec<String> = functions(&report)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(names.contains(&"linger".to_owned()), "{names:?}");
    assert!(
        names.iter().all(|name| !name.contains("[read]")),
        "{names:?}"
    );
    assert!(report["samples"]["head"].as_u64().unwrap() > 0);

    let ran = compare(&repo, &["--blocks", "2", "--no-profile"]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    assert!(repo.report()["functions"].as_array().unwrap().is_empty());
}

const REDIS: &str = r#"
[subject]
kind = "installed"
[server]
start = "redis-server --port 0 --unixsocket {socket} --save '' --dir {run}"
[load]
threads = 1
clients = 5
pipeline = 8
key-maximum = 30000
data-size = 100
[sampling]
frequency-hz = 1999
"#;

const TWO: &str = r#"
[matrix]
points = 2
[[matrix.axis]]
name = "io"
level = [{ name = "one", env.X = "1" }, { name = "two/three", env.X = "2" }]
"#;

fn matrix(plan: &str) -> (common::Ran, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let ran = common::perfblame(dir.path(), &["matrix", "plan.toml", "--out", "out"]);
    (ran, dir)
}

#[test]
fn a_matrix_compares_the_functions_of_what_was_sampled() {
    let phases = r#"
[[phase]]
name = "fill"
load = { ratio = "1:0", requests = "allkeys", key-pattern = "P:P" }
profile = true
[[phase]]
name = "save"
command = "redis-cli -s {socket} save"
length = "50ms"
[[phase]]
name = "restart"
restart = true
profile = true
"#;
    let (ran, dir) = matrix(&format!("{REDIS}{phases}{TWO}"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(
        ran.out
            .contains("Functions: io=two/three compared with io=one"),
        "{ran:#?}"
    );
    assert!(
        ran.out.contains(" [fill]") || ran.out.contains(" [restart]"),
        "{ran:#?}"
    );
    let read = |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).unwrap();
    for file in ["one.folded", "two_three.folded"] {
        let folded = read(file);
        // Redis loads its data in the restart, and answers in the fill.
        assert!(
            folded.contains("rdbLoad") && folded.contains("[restart]"),
            "{folded}"
        );
        assert!(folded.contains("[fill]"), "{folded}");
    }
    assert!(read("diff one to two_three.svg").contains("<svg"));
    assert!(read("one.svg").contains("<svg"));
    assert!(read("tables.md").contains("**Functions: io=two/three"));
    assert!(read("matrix.html").contains("Functions: io=two/three"));
    let report: Value = serde_json::from_str(&read("matrix.json")).unwrap();
    assert!(
        !report["results"][0]["functions"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    // What is shown later is the same, and more points go on with the stored ones.
    let ran = common::perfblame(
        dir.path(),
        &["show", "--store", ".perfblame", "--out", "again"],
    );
    assert_eq!(ran.code, 0, "{ran:#?}");
    let again = std::fs::read_to_string(dir.path().join("again/one.folded")).unwrap();
    assert_eq!(again, read("one.folded"));
    let id = report["experiment"].as_str().unwrap();
    let more = [
        "matrix",
        "plan.toml",
        "--out",
        "out",
        "--points",
        "3",
        "--resume",
        id,
    ];
    let ran = common::perfblame(dir.path(), &more);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_ne!(read("one.folded"), again);
}

#[test]
fn windows_of_a_matrix_are_sampled_where_it_says_so() {
    let windows = "[windows]\nwarmup = '0s'\nmeasure = '200ms'\nprofile = '300ms'\n";
    let plan = format!("{REDIS}{windows}{TWO}");
    let (ran, dir) = matrix(&plan.replace("points = 2", "points = 2\nprofile = true"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.out.contains("Functions: "), "{ran:#?}");
    assert!(dir.path().join("out/one.svg").exists());

    let (ran, dir) = matrix(&plan);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(!ran.out.contains("Functions: "), "{ran:#?}");
    assert!(!dir.path().join("out/one.svg").exists());
}

/// Runs code that it makes itself, and tells its name only when it is asked to end, as a Java
/// virtual machine with `-XX:+DumpPerfMapAtExit` does.
#[cfg(target_arch = "x86_64")]
const JIT: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t asked;
static void ask(int signal) { asked = signal; }

int main(void)
{
    /* dec rdi; jnz back; ret */
    static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 3;
    memcpy(page, code, sizeof code);
    signal(SIGTERM, ask);
    puts("ready");
    fflush(stdout);
    while (!asked)
        ((void (*)(long))page)(1000000);
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx 1000 Hot::loop\n", (unsigned long)page);
    return fclose(map) != 0;
}
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn names_that_are_told_at_the_end_are_used() {
    let plan = r#"
[server]
start = "{artifact}"
listen = "tcp"
ready = { probe = "log", pattern = "ready" }
[load-program]
run = ["sh", "-c", "sleep 0.3; echo 100 ops"]
reader = "regex"
pattern = '(?<value>[0-9]+) ops'
[windows]
warmup = "0s"
[disturbance]
repeats = 0
"#;
    let repo = TestRepo::new();
    let makefile = "jit: jit.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    let files = [
        ("Makefile", makefile),
        ("jit.c", JIT),
        ("perfblame.toml", plan),
    ];
    repo.commit("one", &files);
    repo.commit("two", &[("jit.c", &JIT.replace("return 3", "return 4"))]);
    let ran = compare(&repo, &["--blocks", "2"]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let report = repo.report();
    let names: Vec<String> = functions(&report)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(names.contains(&"Hot::loop".to_owned()), "{names:?}");
    let folded = std::fs::read_to_string(repo.beside("out/base.folded")).unwrap();
    assert!(folded.contains(";Hot::loop_[j] "), "{folded}");
}

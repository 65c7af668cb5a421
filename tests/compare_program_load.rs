//! Comparing a server with another program as its load: redis-benchmark, and stubs that print what
//! was recorded.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Ran, TestRepo};
use serde_json::Value;

const SERVER: &str = "
[server]
start = \"redis-server --port 0 --unixsocket {socket} --save '' --dir {run}\"
[windows]
warmup = '0s'
measure = '1s'
profile = '1s'
[sampling]
frequency-hz = 499
";

const TOOL: &str = "int main(void) { return 0; }\n";

/// A repository of two different builds and a plan.
fn repo(plan: &str) -> TestRepo {
    let repo = TestRepo::new();
    let makefile = "tool: tool.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    let plan = format!("{SERVER}{plan}");
    let files = [
        ("Makefile", makefile),
        ("tool.c", TOOL),
        ("perfblame.toml", plan.as_str()),
    ];
    repo.commit("one", &files);
    repo.commit("two", &[("tool.c", &TOOL.replace('0', "1"))]);
    repo
}

fn compare(repo: &TestRepo, more: &[&str]) -> Ran {
    let out = repo.beside("out").display().to_string();
    let store = repo.beside("store").display().to_string();
    let mut arguments = vec!["compare", "--blocks", "2", "--store", &store, "--out", &out];
    arguments.extend(more);
    arguments.extend(["main~1", "main"]);
    common::perfblame(&repo.path(), &arguments)
}

fn report(repo: &TestRepo) -> Value {
    let text = std::fs::read_to_string(repo.beside("out/report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn metric<'a>(report: &'a Value, name: &str) -> &'a Value {
    let metrics = report["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|metric| metric["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {metrics:#?}"))
}

fn recorded(name: &str) -> String {
    format!("{}/fixtures/recorded/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn redis_benchmark_fills_and_loads_a_redis() {
    let repo = repo(
        "
[prepare-program]
run = 'redis-benchmark -s {socket} -q -n 500 -r 100 -t set'
[load-program]
run = 'redis-benchmark -s {socket} -t get -n 60000 -r 100 -c 5 -P 4 --csv'
reader = 'redis-benchmark-csv'
",
    );
    let ran = compare(&repo, &[]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let report = report(&repo);
    assert_eq!(report["throughput"]["unit"], "ops/s");
    let rate = report["throughput"]["base_mean"].as_f64().unwrap();
    assert!(rate > 100.0, "{rate}");
    assert_eq!(metric(&report, "latency_p99")["unit"], "ms");
    assert_eq!(metric(&report, "cpu_per_op")["unit"], "ns/op");
    assert!(report["samples"]["base"].as_u64().unwrap() > 0);
    let functions = report["functions"].as_array().unwrap();
    assert!(!functions.is_empty());
}

#[test]
fn units_and_the_main_metric_come_from_the_reader() {
    let file = recorded("hammerdb-4.txt");
    let repo = repo(&format!(
        "[load-program]\nrun = ['sh', '-c', 'sleep 0.2; redis-benchmark -s {{socket}} -q -t set -n 20000 >&2; cat {file}']\nreader = 'hammerdb'\n"
    ));
    let ran = compare(&repo, &[]);
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let throughput = &report(&repo)["throughput"];
    assert_eq!(throughput["unit"], "TPM");
    assert_eq!(throughput["base_mean"], 1_034_702.0);

    // A number of one's own, of which less is better; the program tells no operations.
    let plan = "load-program.run=['sh', '-c', 'redis-benchmark -s {socket} -q -t set -n 20000 >&2; echo took 12.5 ms in {seconds} s']";
    let ran = compare(
        &repo,
        &[
            "--set",
            plan,
            "--set",
            "load-program.reader=regex",
            "--set",
            "load-program.pattern='took (?<value>[0-9.]+) ms in 1 s'",
            "--set",
            "load-program.metric=pause",
            "--set",
            "load-program.unit=ms",
            "--set",
            "load-program.direction=lower-is-better",
        ],
    );
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    let report = report(&repo);
    assert_eq!(report["throughput"]["unit"], "ms");
    assert_eq!(report["throughput"]["base_mean"], 12.5);
    assert_eq!(metric(&report, "cpu_time")["unit"], "s");
}

#[test]
fn a_load_that_fails_is_quoted_and_a_missing_one_is_not_tried_twice() {
    let errors = recorded("ycsb-errors.txt");
    let with = |load: &str| compare(&repo(&format!("[load-program]\n{load}")), &[]);
    let ran = with(&format!("run = 'cat {errors}'\nreader = 'ycsb'\n"));
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.err.contains("[READ], Return=ERROR, 544"), "{ran:#?}");

    let ran = with("run = 'no-such-program --fast'\nreader = 'wrk'\n");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(
        ran.err
            .contains("`no-such-program --fast` (load-program.run)"),
        "{ran:#?}"
    );
    assert!(!ran.err.contains("trying again"), "{ran:#?}");

    let ran = with(
        "run = ['sh', '-c', 'redis-cli -s {socket} shutdown nosave; exit 1']\nreader = 'wrk'\n",
    );
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(
        ran.err.contains("the server exited with code 0"),
        "{ran:#?}"
    );

    let ran = with(
        "run = 'true'\nreader = 'wrk'\n[prepare-program]\nrun = ['sh', '-c', 'echo no table >&2; exit 4']\n",
    );
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(
        ran.err.contains("exited with code 4") && ran.err.contains("no table"),
        "{ran:#?}"
    );
}

#[test]
fn plans_that_cannot_be_meant_name_the_key() {
    for (plan, key) in [
        (
            "[load-program]\nrun = 'x'\nreader = 'regex'\n",
            "load-program.pattern",
        ),
        (
            "[load-program]\nrun = 'x {sokket}'\nreader = 'wrk'\n",
            "load-program.run",
        ),
        ("[load-program]\nreader = 'wrk'\n", "load-program.run"),
        (
            "[load-program]\nrun = 'x'\nreader = 'iperf'\n",
            "load-program.reader",
        ),
        (
            "[prepare-program]\nrun = 'x {seconds}'\n",
            "prepare-program.run",
        ),
    ] {
        let ran = compare(&repo(plan), &[]);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.err.contains(key), "{key}: {ran:#?}");
    }
}

//! Trials in phases with Debian's redis-server: fill, read, save, restart, each with its metrics.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;

use serde_json::Value;

const PLAN: &str = r#"
[subject]
kind = "installed"
[server]
start = "redis-server --port 0 --unixsocket {socket} --save '' --dir {run}"
[load]
threads = 1
clients = 5
pipeline = 4
key-minimum = 1
key-maximum = 3000
[[phase]]
name = "fill"
load = { ratio = "1:0", requests = "allkeys", key-pattern = "P:P", data-size = 500 }
[[phase]]
name = "read"
load = { ratio = "0:1" }
length = "300ms"
[[phase]]
name = "save"
command = "redis-cli -s {socket} bgsave"
until = ["sh", "-c", "redis-cli -s {socket} info persistence | grep -q '^rdb_bgsave_in_progress:0'"]
load = { ratio = "1:0", clients = 1, pipeline = 1, rate-limiting = 50 }
[[phase]]
name = "restart"
restart = true
[metric.fork_latency]
phase = "save"
info = "latest_fork_usec"
scale = 0.001
unit = "ms"
[metric.commands_read]
phase = "read"
info = "total_commands_processed"
difference = true
[metric.keys]
command = ["sh", "-c", "redis-cli -s {socket} dbsize"]
direction = "higher-is-better"
[metric.resident]
phase = "read"
smaps = "Rss"
unit = "bytes"
[matrix]
points = 2
metrics = ["fill.throughput", "read.throughput", "read.cpu", "fork_latency", "restart.duration", "resident"]
[[matrix.axis]]
name = "io"
level = [
  { name = "one", env.X = "1" },
  { name = "two", env.X = "2" },
]
"#;

fn matrix(plan: &str, more: &[&str]) -> (common::Ran, Option<Value>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let mut arguments = vec!["matrix", "plan.toml", "--out", "out"];
    arguments.extend(more);
    let ran = common::perfblame(dir.path(), &arguments);
    (ran, report(dir.path()))
}

fn report(dir: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(dir.join("out/matrix.json")).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn every_phase_gives_its_metrics() {
    let (ran, report) = matrix(PLAN, &[]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = report.unwrap();
    for cell in report["cells"].as_array().unwrap() {
        assert!(cell["failure"].is_null(), "{cell}");
        let value = |name: &str| {
            cell["values"][name][0]
                .as_f64()
                .unwrap_or_else(|| panic!("no {name} in {cell:#}"))
        };
        assert_eq!(value("keys"), 3000.0, "the data is there after the restart");
        assert!(value("fork_latency") > 0.0);
        assert!(value("restart.duration") > 0.0);
        assert!(value("save.duration") > 0.0);
        assert!(value("resident") > 1e6);
        // What the server counted is what the load counted, and the question itself.
        let counted = value("commands_read");
        let sent = value("read.throughput") * value("read.duration");
        assert!((counted - sent).abs() <= 25.0, "{counted} {sent}");
        assert_eq!(cell["units"]["fill.throughput"], "ops/s");
        assert_eq!(cell["units"]["fork_latency"], "ms");
        let parts = value("read.cpu_user") + value("read.cpu_system");
        assert!((value("read.cpu") - parts).abs() < 1e-9);
    }
    // One axis and several metrics: one table of all of them.
    assert!(
        ran.out.contains("io=one") && ran.out.contains("ratio %"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("restart.duration (s)"), "{}", ran.out);
    let results = report["results"][0]["metrics"].as_array().unwrap();
    assert_eq!(results.len(), 6);
}

#[test]
fn phases_that_fail_say_which_and_why() {
    let failing = |from: &str, to: &str, said: &str| {
        assert!(PLAN.contains(from), "{from}");
        let plan = PLAN.replace(from, to);
        let (ran, _) = matrix(&plan, &["--set", "experiment.retries=0"]);
        assert_eq!(ran.code, 2, "nothing could be measured: {ran:#?}");
        assert!(ran.out.contains(said), "{said}: {ran:#?}");
    };
    failing(
        "length = \"300ms\"",
        "until = \"false\"\ntimeout = \"300ms\"",
        "phase `read`: it was not over after 300ms",
    );
    failing(
        "redis-cli -s {socket} bgsave",
        "false",
        "(phase `save`) exited with code 1",
    );
    failing(
        "redis-cli -s {socket} bgsave",
        "redis-cli -s {socket} shutdown nosave",
        "the server exited with code 0",
    );
}

#[test]
fn a_metric_that_an_arm_lacks_is_said_in_its_row_and_the_others_go_on() {
    let two = "{ name = \"two\", env.X = \"2\" }";
    let lacking = "{ name = \"two\", set.metric.fork_latency.info = \"no_such_field\", \
                   set.metric.resident.smaps = \"Rss_\" }";
    assert!(PLAN.contains(two));
    let (ran, report) = matrix(&PLAN.replace(two, lacking), &[]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let row = |name: &str| {
        let mut lines = ran.out.lines();
        let line = lines.find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {ran:#?}"))
            .to_owned()
    };
    assert!(row("fork_latency").contains("absent in io=two: INFO has no field `no_such_field`"));
    assert!(row("resident").contains("absent in io=two: smaps_rollup has no line `Rss_`"));
    assert!(row("restart.duration (s)").contains('['), "{ran:#?}");
    let report = report.unwrap();
    assert_eq!(report["results"][0]["metrics"].as_array().unwrap().len(), 4);
    assert_eq!(report["results"][0]["absent"].as_array().unwrap().len(), 2);
    // raw.csv has what there is.
    assert_eq!(
        report["cells"][0]["values"]["fork_latency"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(report["cells"][1]["values"]["fork_latency"].is_null());
    assert!(report["cells"][1]["failure"].is_null());

    // In every arm: no row, and a warning that says why.
    let (ran, _) = matrix(&PLAN.replace("latest_fork_usec", "no_such_field"), &[]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(
        ran.out
            .contains("no trial could read the metric `fork_latency`: INFO has no field"),
        "{ran:#?}"
    );
}

#[test]
fn plans_with_impossible_phases_are_refused() {
    for (from, to, key) in [
        (
            "length = \"300ms\"",
            "length = \"300ms\"\nuntil = \"true\"",
            "phase.1.length",
        ),
        (
            "phase = \"save\"",
            "phase = \"write\"",
            "metric.fork_latency.phase",
        ),
        ("{socket} bgsave", "{sokket} bgsave", "phase.2.command"),
    ] {
        let (ran, _) = matrix(&PLAN.replace(from, to), &[]);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.err.contains(key), "{key}: {ran:#?}");
    }
}

#[test]
fn an_address_that_is_taken_and_a_setting_that_is_refused_are_quoted() {
    let start = "redis-server --port 0 --unixsocket {socket} --save ''";
    assert!(PLAN.contains(start));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let on_port =
        format!("redis-server --port {port} --bind 127.0.0.1 --unixsocket {{socket}} --save ''");
    for (started, said) in [
        (on_port.as_str(), "Address already in use"),
        (
            "redis-server --port 0 --unixsocket {socket} --maxmemory-policy often",
            "maxmemory-policy",
        ),
    ] {
        let (ran, _) = matrix(
            &PLAN.replace(start, started),
            &["--set", "experiment.retries=0"],
        );
        assert_eq!(ran.code, 2, "nothing could be measured: {ran:#?}");
        assert!(ran.says("before it was ready"), "{ran:#?}");
        assert!(ran.says(said), "{said}: {ran:#?}");
    }
}

#[test]
fn a_kernel_without_huge_pages_is_named() {
    let plan = "preset = 'huge-pages'\n[custom-settings.thp]\npath = '/sys/kernel/mm/no_huge_pages_here/enabled'\n";
    let (ran, _) = matrix(plan, &["--points", "2"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    let said = "setting thp: this kernel has no /sys/kernel/mm/no_huge_pages_here/enabled";
    assert!(ran.says(said), "{ran:#?}");
}

#[test]
fn the_preset_of_huge_pages_gives_the_whole_table() {
    let dir = tempfile::tempdir().unwrap();
    // In the place of the kernel's file, which only root may write.
    let thp = dir.path().join("enabled");
    std::fs::write(&thp, "madvise\n").unwrap();
    let plan = format!(
        "preset = 'huge-pages'\n[load]\nkey-maximum = 3000\n[custom-settings.thp]\npath = '{}'\n",
        thp.display()
    );
    let (ran, report) = matrix(&plan, &["--points", "2"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let row = |name: &str| ran.out.lines().find(|line| line.starts_with(name));
    for name in [
        "fill.throughput (ops/s)",
        "fill.cpu_user (s)",
        "fill.cpu_system (s)",
        "fill.cpu (s)",
        "read.throughput (ops/s)",
        "read.cpu_user (s)",
        "read.cpu_system (s)",
        "read.cpu (s)",
        "fork_latency (ms)",
        "save.duration (s)",
        "restart.duration (s)",
        "copy_on_write_ratio (%)",
        "copied_per_write",
        "update.page_faults",
        "huge_pages_left",
    ] {
        assert!(row(name).is_some(), "no {name}: {ran:#?}");
    }
    for name in ["fork_latency", "copy_on_write_ratio", "copied_per_write"] {
        assert!(row(name).unwrap().contains('['), "an interval: {ran:#?}");
    }
    for cell in report.unwrap()["cells"].as_array().unwrap() {
        assert!(cell["failure"].is_null(), "{cell}");
        // A write copies a page at least.
        assert!(
            cell["values"]["copied_per_write"][0].as_f64().unwrap() > 0.0,
            "{cell}"
        );
    }
    assert_eq!(std::fs::read_to_string(&thp).unwrap().trim(), "madvise");
}

#[test]
fn a_shape_of_keys_that_cannot_be_names_key_and_line() {
    for (keys, key) in [
        (
            "key-pattern = \"R:exponential\"\nkey-exp-fraction = 0.0",
            "key-exp-fraction",
        ),
        (
            "key-pattern = \"R:scrambled\"\nkey-zipf-exp = 1.5",
            "key-zipf-exp",
        ),
        (
            "key-pattern = \"R:zipfian\"\nkey-exp-percentile = 90.0",
            "key-exp-percentile",
        ),
        ("data-size = 10\nkey-pattern = \"R:zipfy\"", "key-pattern"),
    ] {
        let plan = PLAN.replace("key-maximum = 3000", keys);
        let line = plan.lines().position(|line| line.starts_with(key)).unwrap() + 1;
        let (ran, _) = matrix(&plan, &[]);
        ran.refused(&[&format!("load.{key}"), &format!("{line}")]);
    }
}

//! A matrix over Debian's PostgreSQL with pgbench, in which each trial has a cluster of its own.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use serde_json::Value;

const PLAN: &str = r#"
preset = "postgresql"
[prepare-program]
env = { SCALE = "1" }
[windows]
warmup = "0s"
measure = "1s"
[matrix]
points = 2
metrics = ["throughput", "latency_mean"]
[[matrix.axis]]
name = "commit"
level = [
  { name = "sync", env.PG_SETTINGS = "-c synchronous_commit=on" },
  { name = "async", env.PG_SETTINGS = "-c synchronous_commit=off" },
]
[[matrix.axis]]
name = "clients"
level = [
  { name = "1", set.load-program.env.CLIENTS = "1" },
  { name = "4", set.load-program.env.CLIENTS = "4" },
]
"#;

fn matrix(dir: &std::path::Path, plan: &str, arguments: &[&str]) -> common::Ran {
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    let store = dir.join("st").display().to_string();
    let mut all = vec!["matrix", "plan.toml", "--out", "out", "--store", &store];
    all.extend(arguments);
    common::perfblame(dir, &all)
}

/// The postgres user must get through to the trial's directory.
fn open_dir() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix("pg")
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap()
}

#[test]
fn two_settings_by_two_client_counts_end_with_both_tables() {
    let dir = open_dir();
    let ran = matrix(dir.path(), PLAN, &[]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    for caption in [
        "throughput: commit=async compared with commit=sync",
        "throughput: clients=4 compared with clients=1",
        "latency_mean: commit=async compared with commit=sync",
    ] {
        assert!(ran.out.contains(caption), "{ran:#?}");
    }
    let text = std::fs::read_to_string(dir.path().join("out/matrix.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert!(cell["failure"].is_null(), "{cell}");
        assert_eq!(cell["units"]["throughput"], "tps");
        assert!(cell["values"]["throughput"][1].as_f64().unwrap() > 0.0);
        assert!(cell["values"]["cpu_per_op"][1].as_f64().unwrap() > 0.0);
        // pgbench's transaction updates three rows and inserts one.
        let of = |name: &str| cell["values"][name][1].as_f64().unwrap();
        let rows = of("tup_updated") / of("tup_inserted");
        assert!((2.9..3.1).contains(&rows), "{cell}");
        assert!(of("xact_commit") > 1.0 && of("blks_hit") > 3.0, "{cell}");
        assert_eq!(of("deadlocks"), 0.0);
        assert_eq!(cell["units"]["tup_updated"], "rows/op");
    }
}

#[test]
fn what_the_server_or_its_makers_refuse_is_quoted() {
    let dir = open_dir();
    // One axis is enough.
    let plan = &PLAN[..PLAN.rfind("[[matrix.axis]]").unwrap()];
    let refused = plan.replace("synchronous_commit=off", "synchronous_commit=perhaps");
    let ran = matrix(dir.path(), &refused, &["--points", "2"]);
    assert_eq!(ran.code, 0, "the other cells go on: {ran:#?}");
    assert!(ran.says("synchronous_commit"), "{ran:#?}");
    assert!(ran.out.contains("failed: commit=async"), "{ran:#?}");

    let locale = "server.init=['sh', '-c', 'PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH; exec initdb -D {run}/data --locale=xx_NO']";
    let ran = matrix(dir.path(), plan, &["--set", locale]);
    assert_eq!(ran.code, 2, "nothing could be measured: {ran:#?}");
    assert!(ran.says("locale name \"xx_NO\""), "{ran:#?}");

    // A cluster that another server runs on.
    let twice = "server.start=['sh', '-c', 'PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH; \
                 postgres -D {run}/data -k {run} -p 5432 -c listen_addresses= & \
                 until pg_isready -q -h {run} -p 5432; do sleep 0.1; done; \
                 exec postgres -D {run}/data -k {run} -p 5433 -c listen_addresses=']";
    let more = ["--set", twice, "--set", "server.ready.command='false'"];
    let ran = matrix(dir.path(), plan, &more);
    assert_eq!(ran.code, 2, "nothing could be measured: {ran:#?}");
    assert!(
        ran.says("lock file \"postmaster.pid\" already exists"),
        "{ran:#?}"
    );

    // A pgbench without its tables.
    let ran = matrix(dir.path(), plan, &["--set", "prepare-program.run='true'"]);
    assert!(ran.says("pgbench_branches"), "{ran:#?}");
}

//! `perfblame load` against real servers: its table and document, and what the server saw.

#![allow(clippy::unwrap_used, clippy::panic)]

mod servers;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use servers::{Memcached, Redis};

fn load(socket: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(["load", "-S"])
        .arg(socket)
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn succeed(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every key of `expected` is in `got`, all the way down; what varies from run to run aside.
fn has_keys_of(got: &Value, expected: &Value, path: &str) {
    let (Value::Object(got), Value::Object(expected)) = (got, expected) else {
        return;
    };
    for (key, value) in expected {
        let path = format!("{path}/{key}");
        // Seconds of the series and percentiles of empty ones come and go.
        if path.contains("/Time-Serie/") {
            continue;
        }
        let mine = got.get(key).unwrap_or_else(|| panic!("{path} is missing"));
        let kind = |value: &Value| match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        assert_eq!(kind(mine), kind(value), "{path}");
        has_keys_of(mine, value, &path);
    }
}

fn recorded(name: &str) -> String {
    let path = format!("{}/fixtures/recorded/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_document_has_every_key_of_the_original() {
    let redis = Redis::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    for (name, arguments) in [
        (
            "memtier.json",
            &["-t", "2", "-c", "4", "-n", "2000", "--pipeline", "4"][..],
        ),
        (
            "memtier-runs.json",
            &["-t", "2", "-c", "4", "-n", "200", "-x", "3"],
        ),
        (
            "memtier-own.json",
            &[
                "-t",
                "1",
                "-c",
                "1",
                "-n",
                "6",
                "--command",
                "lpush l__key__ __data__",
                "--command",
                "get __key__",
            ],
        ),
    ] {
        let mut arguments = arguments.to_vec();
        arguments.extend([
            "--key-maximum",
            "1000",
            "--hide-histogram",
            "--json-out-file",
        ]);
        arguments.push(json.to_str().unwrap());
        succeed(load(&redis.socket(), &arguments));
        let got: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let expected: Value = serde_json::from_str(&recorded(name)).unwrap();
        has_keys_of(&got, &expected, name);
    }
}

#[test]
fn the_table_has_the_columns_of_the_original() {
    let redis = Redis::start(&[]);
    let header = |text: &str| {
        text.lines()
            .find(|line| line.starts_with("Type"))
            .unwrap()
            .to_owned()
    };
    let arguments = ["-t", "1", "-c", "2", "-n", "100", "--hide-histogram"];
    let text = succeed(load(&redis.socket(), &arguments));
    assert_eq!(header(&text), header(&recorded("memtier.txt")));
    let rules = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("==") || line.starts_with("--"));
        lines.map(str::len).collect::<Vec<_>>()
    };
    assert_eq!(rules(&text), rules(&recorded("memtier.txt")));
    let runs = succeed(load(
        &redis.socket(),
        &[&arguments[..], &["-x", "2"]].concat(),
    ));
    for title in [
        "BEST RUN RESULTS",
        "WORST RUN RESULTS",
        "AGGREGATED AVERAGE RESULTS (2 runs)",
    ] {
        assert!(runs.contains(title), "{title}");
    }
}

#[test]
fn the_ratio_is_exact_and_all_keys_are_set_once() {
    let redis = Redis::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let out = json.to_str().unwrap();
    succeed(load(
        &redis.socket(),
        &[
            "-t",
            "2",
            "-c",
            "3",
            "-n",
            "70",
            "--ratio",
            "2:5",
            "--pipeline",
            "9",
            "--json-out-file",
            out,
        ],
    ));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let count = |row: &str| document["ALL STATS"][row]["Count"].as_u64().unwrap();
    assert_eq!((count("Sets"), count("Gets")), (120, 300));
    redis.command("FLUSHALL");
    succeed(load(
        &redis.socket(),
        &[
            "-t",
            "2",
            "-c",
            "7",
            "-n",
            "allkeys",
            "--ratio",
            "1:0",
            "--key-pattern",
            "P:P",
            "--key-minimum",
            "1",
            "--key-maximum",
            "1003",
            "--hide-histogram",
        ],
    ));
    assert_eq!(redis.command("DBSIZE"), ":1003\r\n");
    assert!(
        redis
            .command("INFO commandstats")
            .contains("cmdstat_set:calls=1123,")
    );
}

#[test]
fn options_that_the_server_can_tell() {
    let redis = Redis::start(&["--requirepass", "secret"]);
    let base = [
        "-a",
        "secret",
        "-t",
        "1",
        "-c",
        "1",
        "--hide-histogram",
        "--key-maximum",
        "50",
    ];
    let with = |more: &[&str]| succeed(load(&redis.socket(), &[&base[..], more].concat()));
    let ask = |command: &str| {
        let reply = redis.command(&format!("AUTH secret\r\n{command}"));
        reply.strip_prefix("+OK\r\n").unwrap().to_owned()
    };
    with(&[
        "--select-db",
        "3",
        "-n",
        "51",
        "--ratio",
        "1:0",
        "--key-pattern",
        "S:S",
        "--expiry-range",
        "500-600",
    ]);
    assert!(ask("INFO keyspace").contains("db3:keys=51,expires=51"));
    ask("FLUSHALL");
    with(&[
        "-n",
        "51",
        "--ratio",
        "1:0",
        "--key-pattern",
        "S:S",
        "--data-size-range",
        "10-60",
        "--data-size-pattern",
        "S",
    ]);
    assert_eq!(ask("STRLEN memtier-0"), ":10\r\n");
    assert_eq!(ask("STRLEN memtier-50"), ":60\r\n");
    ask("CONFIG RESETSTAT");
    with(&[
        "-n",
        "12",
        "--command",
        "incr __key__",
        "--command-ratio",
        "3",
        "--command-key-pattern",
        "S",
        "--key-prefix",
        "n",
        "--command",
        "ping",
    ]);
    assert_eq!(ask("GET n8"), "$1\r\n1\r\n");
    let stats = ask("INFO commandstats");
    assert!(
        stats.contains("cmdstat_incr:calls=9,") && stats.contains("cmdstat_ping:calls=3,"),
        "{stats}"
    );
    ask("CONFIG RESETSTAT");
    with(&[
        "-n",
        "20",
        "--reconnect-interval",
        "6",
        "-P",
        "resp3",
        "--multi-key-get",
        "4",
        "--ratio",
        "0:1",
    ]);
    let stats = ask("INFO commandstats");
    assert!(
        stats.contains("cmdstat_mget:calls=20,") && stats.contains("cmdstat_hello:calls=4,"),
        "{stats}"
    );
}

#[test]
fn histogram_files_can_be_read_back() {
    let redis = Redis::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("h");
    let arguments = [
        "-t",
        "1",
        "-c",
        "1",
        "-n",
        "110",
        "--hdr-file-prefix",
        prefix.to_str().unwrap(),
    ];
    succeed(load(&redis.socket(), &arguments));
    for (name, count) in [
        ("FULL_RUN_1", 110),
        ("SET_command_run_1", 10),
        ("GET_command_run_1", 100),
    ] {
        let table =
            std::fs::read_to_string(directory.path().join(format!("h_{name}.txt"))).unwrap();
        assert!(
            table.contains(&format!("Total count    = {count:>12}")),
            "{table}"
        );
        let log = std::fs::read_to_string(directory.path().join(format!("h_{name}.hgrm"))).unwrap();
        let encoded = log.trim_end().rsplit(',').next().unwrap();
        assert!(encoded.starts_with("HISTFAAAA"), "{log}");
    }
}

#[test]
fn a_rate_is_kept_to_in_both_loops() {
    let redis = Redis::start(&[]);
    for more in [
        &["--rate-limiting", "200"][..],
        &["--rate-limiting", "200", "--open-loop"],
    ] {
        let arguments = ["-t", "1", "-c", "2", "-n", "40", "--hide-histogram"];
        let started = std::time::Instant::now();
        let text = succeed(load(&redis.socket(), &[&arguments[..], more].concat()));
        // Forty requests at 200 a second cannot be done sooner, however fast the machine is.
        assert!(started.elapsed() >= std::time::Duration::from_millis(190));
        let kind = if more.len() == 3 {
            "open loop"
        } else {
            "closed loop"
        };
        assert!(text.contains(kind), "{text}");
    }
}

#[test]
fn memcached_sees_what_was_asked_for() {
    let memcached = Memcached::start();
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let run = |more: &[&str]| {
        let mut arguments = vec![
            "-P",
            "memcache_text",
            "-t",
            "2",
            "-c",
            "3",
            "--hide-histogram",
            "--key-minimum",
            "1",
            "--key-maximum",
            "600",
            "-d",
            "300",
            "--pipeline",
            "7",
            "--json-out-file",
        ];
        arguments.push(json.to_str().unwrap());
        arguments.extend(more);
        succeed(load(&memcached.socket(), &arguments));
        let text = std::fs::read_to_string(&json).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["ALL STATS"].clone()
    };
    let sets = [
        "--ratio",
        "1:0",
        "-n",
        "allkeys",
        "--key-pattern",
        "P:P",
        "--expiry-range",
        "500-600",
    ];
    assert_eq!(run(&sets)["Sets"]["Count"], 600);
    assert_eq!(memcached.stat("cmd_set"), 600);
    assert_eq!(memcached.stat("curr_items"), 600);

    // Keys 601 to 700 are not there.
    let gets = [
        "--ratio",
        "0:1",
        "-n",
        "700",
        "--key-pattern",
        "S:S",
        "--key-maximum",
        "700",
    ];
    let mut arguments = vec![
        "-P",
        "memcache_text",
        "-t",
        "1",
        "-c",
        "1",
        "--hide-histogram",
        "--key-minimum",
        "1",
        "--json-out-file",
        json.to_str().unwrap(),
    ];
    arguments.extend(gets);
    succeed(load(&memcached.socket(), &arguments));
    let text = std::fs::read_to_string(&json).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["ALL STATS"]["Gets"]["Count"], 700);
    assert_eq!(memcached.stat("get_hits"), 600);
    assert_eq!(memcached.stat("get_misses"), 100);

    run(&["--ratio", "0:1", "-n", "10", "--multi-key-get", "4"]);
    assert_eq!(memcached.stat("cmd_get"), 700 + 6 * 10 * 4);
}

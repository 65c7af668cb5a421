//! The load generator against a real Redis.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use perfblame::load::{LoadError, RunOptions, Running, WindowId, run};
use perfblame::plan::load::LoadSpec;
use servers::Redis;

fn spec(toml: &str) -> LoadSpec {
    toml::from_str(toml).unwrap()
}

const FILL: &str = "ratio = \"1:0\"\nrequests = \"allkeys\"\nkey-pattern = \"P:P\"\nkey-minimum = 1\n\
    key-maximum = 10007\nthreads = 2\nclients = 7\npipeline = 8\ndata-size = 100\n";

#[test]
fn a_fill_sets_every_key_once_and_a_read_finds_them() {
    let redis = Redis::start(&[]);
    let options = RunOptions::default();
    let filled = run(&spec(FILL), &redis.target(), &options).unwrap().total;
    assert_eq!(filled.sets(), 10007);
    assert_eq!(filled.gets(), 0);
    assert_eq!(redis.command("DBSIZE"), ":10007\r\n");
    assert_eq!(redis.command("STRLEN memtier-10007"), ":100\r\n");

    let read = FILL.replace("1:0", "0:1");
    let read = run(&spec(&read), &redis.target(), &options).unwrap().total;
    assert_eq!((read.gets(), read.hits(), read.misses()), (10007, 10007, 0));
    let wire = |key: u32| {
        let name = format!("memtier-{key}");
        format!("*2\r\n$3\r\nGET\r\n${}\r\n{name}\r\n", name.len()).len()
            + "$100\r\n\r\n".len()
            + 100
    };
    assert_eq!(read.bytes(), (1..=10007).map(wire).sum::<usize>() as u64);
    assert_eq!(read.latency().count(), 10007);
}

#[test]
fn windows_part_the_operations_of_a_running_load() {
    let redis = Redis::start(&[]);
    let load = spec("threads = 2\nclients = 3\npipeline = 4\nkey-maximum = 1000");
    let mut running =
        Running::start(&load, &redis.target(), &RunOptions::default(), WindowId(7)).unwrap();
    let pause = || std::thread::sleep(Duration::from_millis(60));
    pause();
    running.enter(WindowId(1));
    pause();
    running.check().unwrap();
    running.enter(WindowId(7));
    pause();
    let windows = running.finish().unwrap();
    let ids: Vec<u32> = windows.iter().map(|window| window.id.0).collect();
    assert_eq!(ids, [7, 1]);
    let served: u64 = redis.info("total_commands_processed").parse().unwrap();
    let counted: u64 = windows.iter().map(|window| window.ops()).sum();
    // What was under way when the run was stopped was served, but not counted.
    assert!(
        counted <= served && counted + 2 * 3 * 4 + 1 >= served,
        "{counted} of {served}"
    );
    for window in &windows {
        assert!(window.ops() > 0 && window.client_cpu_ns > 0);
        assert!(window.duration_ns > 50_000_000);
        assert_eq!(window.latency().count(), window.ops());
        // One SET, then ten GETs.
        let sets = window.sets() as f64 / window.ops() as f64;
        assert!((sets - 1.0 / 11.0).abs() < 0.02, "{sets}");
    }
}

#[test]
fn an_error_reply_is_not_an_operation() {
    let redis = Redis::start(&["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"]);
    let load = spec("threads = 1\nclients = 1\nratio = \"1:0\"\ndata-size = 100000\npipeline = 3");
    let error = run(&load, &redis.target(), &RunOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::ErrorReply(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("OOM command not allowed"), "{text}");
    assert!(
        text.contains("connection 0") && text.contains("SET memtier-"),
        "{text}"
    );
}

#[test]
fn a_server_that_dies_ends_the_run() {
    let redis = Redis::start(&[]);
    let load = spec("threads = 2\nclients = 2");
    let running =
        Running::start(&load, &redis.target(), &RunOptions::default(), WindowId(0)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    redis.kill();
    let error = loop {
        match running.check() {
            Ok(()) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LoadError::Closed(_)), "{error}");
}

#[test]
fn cancelling_ends_the_run() {
    let redis = Redis::start(&[]);
    let cancel = Arc::new(AtomicBool::new(false));
    let options = RunOptions {
        cancel: cancel.clone(),
        ..RunOptions::default()
    };
    let load = spec("threads = 1\nclients = 1\ntest-time = 600");
    let target = redis.target();
    let runner = std::thread::spawn(move || run(&load, &target, &options));
    std::thread::sleep(Duration::from_millis(20));
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(runner.join().unwrap(), Err(LoadError::Cancelled)));
}

#[test]
fn no_server_and_no_cpu_are_said() {
    let redis = Redis::start(&[]);
    let load = spec("threads = 1\nclients = 1");
    let options = RunOptions {
        cpus: vec![4095],
        ..RunOptions::default()
    };
    let error = run(&load, &redis.target(), &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("CPU 4095"), "{error}");
    let target = redis.target();
    redis.kill();
    drop(redis);
    let error = run(&load, &target, &RunOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::Connect { .. }), "{error}");
}

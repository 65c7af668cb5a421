//! Other programs as the load: recorded output printed by a stub, and a real redis-benchmark.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod servers;

use std::path::Path;

use perfblame::executor::{Cancel, ExternalLoadError, ExternalRun, Supervisor};
use perfblame::load::reader::Reading;
use perfblame::plan::Placeholders;
use perfblame::plan::load::ExternalLoad;
use servers::Redis;

fn run(toml: &str, dir: &Path, socket: &Path) -> Result<Reading, ExternalLoadError> {
    let load: ExternalLoad = toml::from_str(toml).unwrap();
    load.check().unwrap();
    let values = Placeholders::new([
        ("run", dir.display().to_string()),
        ("socket", socket.display().to_string()),
    ]);
    let run = ExternalRun {
        load: &load,
        values: &values,
        dir,
        cpus: Some(vec![0]),
    };
    let supervisor = Supervisor::at(Path::new(env!("CARGO_BIN_EXE_perfblame")));
    run.run(&supervisor, &Cancel::default())
        .map(|(reading, _)| reading)
}

fn recorded(name: &str) -> String {
    format!("{}/fixtures/recorded/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_stub_that_prints_recorded_output() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, reader: &str| {
        let toml = format!(
            "run = [\"cat\", \"{}\"]\nreader = \"{reader}\"",
            recorded(name)
        );
        run(&toml, dir.path(), Path::new("/none"))
    };
    let value = |reading: Reading| {
        (
            reading.metrics[0].value,
            reading.metrics[0].description.unit.clone(),
        )
    };
    assert_eq!(
        value(read("ycsb-cassandra.txt", "ycsb").unwrap()),
        (70273.84615384616, "ops/s".into())
    );
    assert_eq!(
        value(read("hammerdb-4.txt", "hammerdb").unwrap()),
        (1_034_702.0, "TPM".into())
    );
    assert_eq!(
        value(read("pgbench.txt", "pgbench").unwrap()),
        (456.130355, "tps".into())
    );
    let error = read("ycsb-errors.txt", "ycsb").unwrap_err().to_string();
    assert!(error.contains("[READ], Return=ERROR, 544"), "{error}");
    assert!(error.contains("cat "), "{error}");
}

#[test]
fn redis_benchmark_against_a_redis() {
    let redis = Redis::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let load = "run = \"redis-benchmark -s {socket} -t set,get -n 2000 -c 5 --csv\"\n\
        reader = \"redis-benchmark-csv\"\nselect = \"GET\"";
    let reading = run(load, dir.path(), &redis.socket()).unwrap();
    assert!(reading.get("throughput").unwrap() > 0.0);
    assert!(reading.get("latency_p99").unwrap() > 0.0);

    // It goes on after error replies and exits with 0; the error is in what it wrote all the same.
    let load = "run = \"redis-benchmark -s {socket} -n 50 -c 1 --csv lpop a b c d\"\nreader = \"redis-benchmark-csv\"";
    let error = run(load, dir.path(), &redis.socket())
        .unwrap_err()
        .to_string();
    assert!(error.contains("wrong number of arguments"), "{error}");
}

#[test]
fn a_result_file_a_failure_and_a_time_limit() {
    let dir = tempfile::tempdir().unwrap();
    let none = Path::new("/none");
    let file = r#"run = ["sh", "-c", "echo '{\"ops\": 5}' > {run}/r.json"]
output = "r.json"
reader = "json"
pointer = "/ops""#;
    assert_eq!(
        run(file, dir.path(), none).unwrap().get("throughput"),
        Some(5.0)
    );
    // The result of the run before is not taken for one of this.
    let silent = file.replace("echo", "true");
    let silent = silent.replace("> {run}/r.json", "");
    let error = run(&silent, dir.path(), none).unwrap_err();
    assert!(matches!(error, ExternalLoadError::Output { .. }), "{error}");

    let fails = "run = [\"sh\", \"-c\", \"echo cannot connect >&2; exit 3\"]\nreader = \"wrk\"";
    let error = run(fails, dir.path(), none).unwrap_err().to_string();
    assert!(
        error.contains("exited with code 3") && error.contains("cannot connect"),
        "{error}"
    );

    let hangs = "run = \"sleep 60\"\nreader = \"wrk\"\ntimeout = \"200ms\"";
    let error = run(hangs, dir.path(), none).unwrap_err().to_string();
    assert!(error.contains("not done after 200ms"), "{error}");
}

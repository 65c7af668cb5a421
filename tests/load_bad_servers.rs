//! Servers that close, stall, cut short, answer wrongly, too much or too little: each ends the run
//! with an error that names the connection, the last command and what came back.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::Duration;

use perfblame::load::{LoadError, RunOptions, Target, run};
use perfblame::plan::load::LoadSpec;

/// What a scripted server does with the one connection that it accepts.
enum Step {
    /// Reads that many commands, each an array of bulk strings.
    Read(usize),
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Leaves the connection open without a word, until the client closes it.
    Wait,
}

use Step::{Read as Take, Wait, Write as Say};

fn say(text: &str) -> Step {
    Say(text.as_bytes().to_vec())
}

/// Plays the steps on a loopback port, and then closes.
fn server(steps: Vec<Step>) -> (Target, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let handle = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut buffered = Vec::new();
        for step in steps {
            match step {
                Take(commands) => {
                    for _ in 0..commands {
                        while !take_command(&mut buffered) {
                            let mut chunk = [0; 4096];
                            let count = stream.read(&mut chunk).unwrap();
                            assert!(count > 0, "the client closed early");
                            buffered.extend_from_slice(&chunk[..count]);
                        }
                    }
                }
                Say(bytes) => stream.write_all(&bytes).unwrap(),
                Wait => {
                    let mut chunk = [0; 4096];
                    while stream.read(&mut chunk).is_ok_and(|count| count > 0) {}
                }
            }
        }
    });
    let target = Target::Tcp {
        host: "127.0.0.1".to_owned(),
        port,
    };
    (target, handle)
}

/// Takes one whole `*N $len …` command off the front.
fn take_command(buffered: &mut Vec<u8>) -> bool {
    fn line(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let end = bytes[at..].windows(2).position(|pair| pair == b"\r\n")? + at;
        let value = std::str::from_utf8(&bytes[at + 1..end])
            .unwrap()
            .parse()
            .unwrap();
        Some((value, end + 2))
    }
    fn whole(bytes: &[u8]) -> Option<usize> {
        if bytes.is_empty() {
            return None;
        }
        let (arguments, mut at) = line(bytes, 0)?;
        for _ in 0..arguments {
            if at >= bytes.len() {
                return None;
            }
            let (length, body) = line(bytes, at)?;
            at = body + length + 2;
        }
        (at <= bytes.len()).then_some(at)
    }
    let Some(end) = whole(buffered) else {
        return false;
    };
    buffered.drain(..end);
    true
}

/// One client that sends GETs in pipelines of three, ten altogether.
const GETS: &str = "threads = 1\nclients = 1\npipeline = 3\nrequests = 10\nratio = \"0:1\"\nkey-pattern = \"S:S\"\n\
    key-minimum = 1\nkey-maximum = 1000\nstall-timeout = 1\n";

fn outcome(steps: Vec<Step>, toml: &str) -> LoadError {
    let (target, handle) = server(steps);
    let spec: LoadSpec = toml::from_str(toml).unwrap();
    let error = run(&spec, &target, &RunOptions::default()).expect_err("a broken run gave numbers");
    handle.join().unwrap();
    error
}

#[track_caller]
fn says(error: &LoadError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn closing_in_the_middle() {
    let error = outcome(vec![Take(3), say("$1\r\na\r\n")], GETS);
    assert!(matches!(error, LoadError::Closed(_)), "{error}");
    says(
        &error,
        &[
            "connection 0",
            "`GET memtier-2`",
            "2 outstanding",
            "got nothing",
        ],
    );
}

#[test]
fn closing_before_anything() {
    let error = outcome(vec![Take(3)], GETS);
    assert!(matches!(error, LoadError::Closed(_)), "{error}");
    says(
        &error,
        &["connection 0", "`GET memtier-1`", "3 outstanding"],
    );
}

#[test]
fn stalling_in_the_middle_of_a_reply() {
    let error = outcome(vec![Take(3), say("$1\r\na\r\n$100\r\nabc"), Wait], GETS);
    assert!(matches!(error, LoadError::Stalled { .. }), "{error}");
    says(
        &error,
        &[
            "nothing for 1 s",
            "connection 0",
            "`GET memtier-2`",
            "3 of the 100 bytes of a value",
        ],
    );
}

#[test]
fn silence_until_the_time_is_up() {
    let plan = GETS
        .replace("requests = 10", "test-time = 1")
        .replace("stall-timeout = 1", "");
    let error = outcome(vec![Take(3), Wait], &plan);
    assert!(matches!(error, LoadError::Stalled { .. }), "{error}");
    says(
        &error,
        &["connection 0", "`GET memtier-1`", "3 outstanding"],
    );
}

#[test]
fn silence_from_some_time_on_counts_as_time_and_as_latency() {
    let (target, handle) = server(vec![Take(1), say("$1\r\na\r\n"), Wait]);
    let plan = "threads = 1\nclients = 1\npipeline = 1\ntest-time = 2\nratio = \"0:1\"\n\
                rate-limiting = 10\nopen-loop = true\n";
    let spec: LoadSpec = toml::from_str(plan).unwrap();
    let outcome = run(&spec, &target, &RunOptions::default()).unwrap();
    handle.join().unwrap();
    assert_eq!(outcome.total.duration_ns, 2_000_000_000);
    let command = outcome.total.commands.iter().find(|c| c.ops > 0).unwrap();
    assert_eq!(command.ops, 1);
    // One request waits from the tenth of a second on, and those that were due after it since then.
    assert!(command.latency.max_ns() >= 1_500_000_000);
}

#[test]
fn a_server_may_close_once_all_is_answered() {
    let all = ["$1\r\na\r\n"; 3].concat();
    for _ in 0..20 {
        let (target, handle) = server(vec![Take(3), say(&all)]);
        let spec = GETS.replace("requests = 10", "requests = 3");
        let spec: LoadSpec = toml::from_str(&spec).unwrap();
        let outcome = run(&spec, &target, &RunOptions::default());
        handle.join().unwrap();
        assert_eq!(outcome.unwrap().total.ops(), 3);
    }
}

#[test]
fn half_a_bulk_string() {
    let error = outcome(vec![Take(3), say("$100\r\nabcde")], GETS);
    assert!(matches!(error, LoadError::Closed(_)), "{error}");
    says(
        &error,
        &["`GET memtier-1`", "5 of the 100 bytes of a value"],
    );
}

#[test]
fn a_value_that_is_longer_than_it_says() {
    let error = outcome(vec![Take(3), say("$3\r\nabcdef\r\n"), Wait], GETS);
    assert!(matches!(error, LoadError::Protocol { .. }), "{error}");
    says(
        &error,
        &[
            "3 bytes that does not end in CR LF",
            "`GET memtier-1`",
            "`def\\r\\n`",
        ],
    );
}

#[test]
fn a_wrong_type() {
    for (reply, shown) in [
        (":5\r\n", "an integer"),
        ("+OK\r\n", "`OK`"),
        ("*1\r\n$1\r\na\r\n", "an array of 1 elements"),
    ] {
        let error = outcome(vec![Take(3), say("$-1\r\n"), say(reply), Wait], GETS);
        assert!(matches!(error, LoadError::WrongReply { .. }), "{error}");
        says(
            &error,
            &["expected a value or nil", "`GET memtier-2`", shown],
        );
    }
    let sets = GETS.replace("0:1", "1:0");
    let error = outcome(vec![Take(3), say("$2\r\nOK\r\n"), Wait], &sets);
    assert!(matches!(error, LoadError::WrongReply { .. }), "{error}");
    says(
        &error,
        &["expected OK", "`SET memtier-1 …`", "a value of 2 bytes"],
    );
}

#[test]
fn an_error_reply() {
    let error = outcome(
        vec![Take(3), say("$1\r\na\r\n-ERR out of luck\r\n"), Wait],
        GETS,
    );
    assert!(matches!(error, LoadError::ErrorReply(_)), "{error}");
    says(
        &error,
        &["connection 0", "`GET memtier-2`", "ERR out of luck"],
    );
}

#[test]
fn a_length_of_600_megabytes() {
    let error = outcome(vec![Take(3), say("$629145600\r\nab"), Wait], GETS);
    assert!(matches!(error, LoadError::Protocol { .. }), "{error}");
    says(
        &error,
        &[
            "a length of 629145600",
            "`GET memtier-1`",
            "$629145600\\r\\n",
        ],
    );
}

#[test]
fn another_protocol() {
    let error = outcome(
        vec![Take(3), say("HTTP/1.1 400 Bad Request\r\n"), Wait],
        GETS,
    );
    assert!(matches!(error, LoadError::Protocol { .. }), "{error}");
    says(
        &error,
        &[
            "no reply begins like this",
            "`GET memtier-1`",
            "HTTP/1.1 400",
        ],
    );
}

#[test]
fn more_replies_than_commands() {
    let error = outcome(vec![Take(3), say(&"$1\r\na\r\n".repeat(4)), Wait], GETS);
    assert!(matches!(error, LoadError::Unasked(_)), "{error}");
    says(&error, &["after `GET memtier-3`", "a value of 1 bytes"]);
    // After the last command too, where no further reply would show it.
    let few = GETS.replace("requests = 10", "requests = 3");
    let error = outcome(vec![Take(3), say(&"$1\r\na\r\n".repeat(4)), Wait], &few);
    assert!(matches!(error, LoadError::Unasked(_)), "{error}");
}

#[test]
fn fewer_replies_than_commands() {
    let error = outcome(vec![Take(3), say(&"$1\r\na\r\n".repeat(2)), Wait], GETS);
    assert!(matches!(error, LoadError::Stalled { .. }), "{error}");
    says(&error, &["`GET memtier-3`", "got nothing"]);
}

#[test]
fn fewer_elements_or_more_than_the_keys_of_an_mget() {
    let mget = format!("{GETS}multi-key-get = 2\n");
    let error = outcome(
        vec![Take(3), say("*3\r\n$-1\r\n$-1\r\n$-1\r\n"), Wait],
        &mget,
    );
    assert!(matches!(error, LoadError::WrongReply { .. }), "{error}");
    says(&error, &["`MGET memtier-1`", "an array of 3 elements"]);
    let error = outcome(vec![Take(3), say("*1\r\n$-1\r\n"), Wait], &mget);
    assert!(matches!(error, LoadError::WrongReply { .. }), "{error}");
}

#[test]
fn an_authentication_that_is_refused_shows_no_password() {
    let spec = format!("{GETS}authenticate = \"ada:secret\"\n");
    let error = outcome(vec![Take(1), say("-WRONGPASS invalid\r\n"), Wait], &spec);
    assert!(matches!(error, LoadError::Setup { .. }), "{error}");
    says(&error, &["connection 0", "AUTH ada", "WRONGPASS"]);
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = outcome(vec![Take(1), Wait], &spec);
    says(&error, &["AUTH ada", "nothing in time"]);
}

fn load(target: &Target, arguments: &[&str]) -> Output {
    let Target::Tcp { host, port } = target else {
        panic!("scripted servers listen on TCP");
    };
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args([
            "load",
            "-s",
            host,
            "-p",
            &port.to_string(),
            "-t",
            "1",
            "-c",
            "1",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_command_prints_no_numbers_of_a_broken_run() {
    let (target, handle) = server(vec![Take(1), say("$1\r\na\r\n"), Take(1)]);
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("out.json");
    let arguments = ["--ratio", "0:1", "-n", "5", "--json-out-file"];
    let output = load(
        &target,
        &[&arguments[..], &[json.to_str().unwrap()]].concat(),
    );
    handle.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(!json.exists());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("closed the connection: connection 0"),
        "{error}"
    );
}

#[test]
fn impossible_options_name_themselves() {
    let target = Target::Tcp {
        host: "127.0.0.1".to_owned(),
        port: 1,
    };
    for (arguments, part) in [
        (
            &["--key-minimum", "9", "--key-maximum", "3"][..],
            "--key-maximum",
        ),
        (
            &[
                "-n",
                "allkeys",
                "--key-minimum",
                "5",
                "--key-maximum",
                "5",
                "-c",
                "2",
            ],
            "--requests",
        ),
        (&["--ratio", "0:0"], "--ratio"),
        (&["--ratio", "1"], "--ratio"),
        (&["--key-pattern", "Q:R"], "--key-pattern"),
        (&["-P", "memcache_binary"], "--protocol"),
        (
            &["--command-ratio", "2", "--command", "PING"],
            "--command-ratio",
        ),
        (&["--open-loop"], "--rate-limiting"),
        (&["-x", "0"], "--run-count"),
        (&["--print-percentiles", "101"], "percentile"),
    ] {
        let output = load_with_defaults(&target, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    let output = load(&target, &[]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("cannot connect to 127.0.0.1:1"), "{error}");
    assert!(error.contains("refused"), "{error}");
}

fn load_with_defaults(target: &Target, arguments: &[&str]) -> Output {
    let Target::Tcp { host, port } = target else {
        panic!("scripted servers listen on TCP");
    };
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(["load", "-s", host, "-p", &port.to_string(), "-t", "1"])
        .args(arguments)
        .output()
        .unwrap()
}

//! What cannot be recorded, and what is said of it.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod truth;

use std::process::Command;

use truth::{Truth, text, works};

/// Exit code and standard error of a recording that must fail.
fn refusal(truth: &Truth, arguments: &[&str]) -> String {
    let mut all = vec!["-o", "out.folded"];
    all.extend(arguments);
    let output = truth.perfblame_record(&all);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

#[test]
fn errors_say_what_and_where_and_what_to_do() {
    let truth = Truth::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["-p", "4194303"], &["no process 4194303"]),
        (&["-t", "4194303"], &["no process 4194303"]),
        (
            &["-e", "cycle", "--", "true"],
            &["`cycle` is unknown", "cpu-clock"],
        ),
        (
            &["-F", "0", "--", "true"],
            &["0 samples a second", "perf_event_max_sample_rate"],
        ),
        (
            &["-F", "99999999", "--", "true"],
            &["perf_event_max_sample_rate"],
        ),
        (&["-g", "lbr", "--", "true"], &["`lbr` is no call graph"]),
        (&["-g", "dwarf,7", "--", "true"], &["multiple of 8"]),
        (
            &["-C", "4000", "--", "true"],
            &["no CPU 4000", "online are"],
        ),
        (
            &["--", "no-such-command-anywhere"],
            &["cannot start `no-such-command-anywhere`"],
        ),
        (&["--", "/etc/passwd"], &["cannot start `/etc/passwd`"]),
        (&[], &["nothing to record"]),
    ];
    for (arguments, expected) in cases {
        let message = refusal(&truth, arguments);
        for part in *expected {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
        assert!(!truth.path("out.folded").exists(), "{arguments:?}");
    }
}

#[test]
fn the_ending_of_the_output_says_its_form() {
    let truth = Truth::new();
    let output = truth.perfblame_record(&["-o", "out.txt", "--", "touch", "ran"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(".folded"));
    // Refused before the command was started.
    assert!(!truth.path("ran").exists());
    let output = truth.perfblame_record(&["-o", "no/such/dir/out.svg", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write no/such/dir/out.svg"));
}

#[test]
fn an_event_that_the_machine_lacks_names_those_that_it_has() {
    let truth = Truth::new();
    // A raw event of this number exists nowhere; without a PMU no raw event does.
    let message = refusal(&truth, &["-e", "rffffffffffff", "--", "true"]);
    assert!(
        message.contains("cannot be sampled on this machine"),
        "{message}"
    );
    assert!(message.contains("cpu-clock"), "{message}");
}

#[test]
fn software_events_other_than_time_are_sampled() {
    let truth = Truth::new();
    let recording = truth.record(&[
        "-e",
        "page-faults",
        "-F",
        "10000",
        "--",
        "ls",
        "-R",
        "/usr/include",
    ]);
    assert_eq!(recording.profile.event.name, "page-faults");
    assert_eq!(recording.profile.event.unit, "events");
    assert!(recording.samples() > 5, "{}", recording.messages);
}

#[test]
fn what_a_command_started_ends_with_the_recording() {
    let truth = Truth::new();
    let recording = truth.record(&[
        "--duration",
        "300ms",
        "--",
        "sh",
        "-c",
        "sleep 7654 & sleep 7654 & wait",
    ]);
    assert!(
        recording.messages.contains("samples of"),
        "{}",
        recording.messages
    );
    let left = std::process::Command::new("pgrep")
        .args(["-f", "^sleep 7654"])
        .output()
        .unwrap();
    assert!(left.stdout.is_empty(), "{left:?}");
}

#[test]
fn a_process_that_ends_ends_the_recording() {
    let truth = Truth::new();
    let mut child = Command::new("sleep").arg("0.5").spawn().unwrap();
    // A zombie counts as ended, so nobody has to collect it.
    let recording = truth.record(&["-p", &child.id().to_string(), "--duration", "60s"]);
    child.wait().unwrap();
    assert!(recording.profile.duration_ns < 30_000_000_000);
}

#[test]
fn a_failing_command_is_recorded_and_reported() {
    let truth = Truth::new();
    let recording = truth.record(&["--", "sh", "-c", "exit 7"]);
    assert!(
        recording.messages.contains("exit status: 7"),
        "{}",
        recording.messages
    );
}

#[test]
fn an_ordinary_user_is_told_what_is_in_the_way() {
    let truth = Truth::new();
    let as_nobody = |program: &str, arguments: &[&str]| {
        let mut all = vec!["--reuid=65534", "--regid=65534", "--clear-groups", program];
        all.extend(arguments);
        Command::new("setpriv")
            .args(&all)
            .current_dir("/tmp")
            .output()
    };
    if !works(
        "setpriv",
        &["--reuid=65534", "--regid=65534", "--clear-groups", "true"],
    ) {
        eprintln!("skipped: this user cannot become another");
        return;
    }
    let dir = truth.path("bin");
    std::fs::create_dir(&dir).unwrap();
    let program = dir.join("perfblame");
    std::fs::copy(env!("CARGO_BIN_EXE_perfblame"), &program).unwrap();
    truth.tool("chmod", &["-R", "a+rx", "."]);
    let program = program.to_str().unwrap();
    let out = "/tmp/perfblame-test-nobody.folded";
    let own_process = std::process::id().to_string();
    let output = as_nobody(program, &["record", "-o", out, "-p", &own_process]).unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("belongs to another user") || message.contains("perf_event_paranoid"),
        "{message}"
    );
    let output = as_nobody(
        program,
        &["record", "-o", out, "--", "ls", "-R", "/usr/include"],
    )
    .unwrap();
    let message = text(&output.stderr);
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    match paranoid.trim().parse::<i32>().unwrap() {
        ..=1 => assert!(output.status.success(), "{message}"),
        2 => {
            assert!(output.status.success(), "{message}");
            assert!(
                message.contains("kernel code is not in the profile"),
                "{message}"
            );
        }
        _ => {
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(
                message.contains("sysctl kernel.perf_event_paranoid"),
                "{message}"
            );
        }
    }
    let _ = std::fs::remove_file(out);
}

#[test]
fn kernel_symbols_that_are_hidden_are_said_to_be() {
    let truth = Truth::new();
    let without = ["--bounding-set", "-syslog", "--inh-caps", "-syslog"];
    if !works("setpriv", &[&without[..], &["true"]].concat()) {
        eprintln!("skipped: this user cannot give up a capability");
        return;
    }
    let record = [
        env!("CARGO_BIN_EXE_perfblame"),
        "record",
        "-o",
        "out.folded",
        "--",
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=64k",
        "count=100000",
    ];
    let output = Command::new("setpriv")
        .args(without)
        .args(record)
        .current_dir(truth.path("."))
        .output()
        .unwrap();
    let message = text(&output.stderr);
    assert!(output.status.success(), "{message}");
    let hidden = message.contains("kernel functions have no names")
        || message.contains("kernel code is not in the profile");
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let restrict = std::fs::read_to_string("/proc/sys/kernel/kptr_restrict").unwrap();
    let shown = restrict.trim() == "0" && paranoid.trim().parse::<i32>().unwrap() <= 1;
    assert_eq!(hidden, !shown, "{message}");
    let folded = std::fs::read_to_string(truth.path("out.folded")).unwrap();
    assert!(!folded.is_empty());
}

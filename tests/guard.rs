//! The guard: nothing that a command starts outlives it.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use perfblame::executor::{Cancel, Ended, ProcessError, Spawn, Supervisor};

fn supervisor() -> Supervisor {
    Supervisor::at(Path::new(env!("CARGO_BIN_EXE_perfblame")))
}

fn spawn(dir: &Path, script: &str) -> Spawn {
    Spawn {
        command: vec!["sh".into(), "-c".into(), script.into()],
        dir: dir.to_owned(),
        env: vec![("MARK".into(), "a b".into())],
        cpus: None,
        log: dir.join("log"),
        stdout: None,
        user: None,
        grace: Duration::from_millis(300),
    }
}

/// Whether a process is gone or a zombie within ten seconds.
fn vanishes(pid: i32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn pid_in(path: &Path) -> i32 {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(pid) = std::fs::read_to_string(path)
            .ok()
            .and_then(|text| text.trim().parse().ok())
        {
            return pid;
        }
        assert!(
            Instant::now() < deadline,
            "{} was never written",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn output_environment_code_and_usage_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        "echo \"$MARK\"; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7";
    let ended = spawn(dir.path(), script)
        .start(&supervisor())
        .unwrap()
        .wait(None, &Cancel::default())
        .unwrap();
    let Ended::Itself(report) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!((report.code, report.signal), (Some(7), None));
    assert!(report.user_ns > 0 && report.wall_ns >= report.user_ns / 2);
    assert_eq!(
        std::fs::read_to_string(dir.path().join("log")).unwrap(),
        "a b\nerr\n"
    );
}

#[test]
fn a_signal_is_told_from_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let ended = spawn(dir.path(), "kill -SEGV $$")
        .start(&supervisor())
        .unwrap()
        .wait(None, &Cancel::default())
        .unwrap();
    assert_eq!(ended.report().signal, Some(11));
    assert_eq!(
        ended.report().describe(),
        "was killed by signal 11 (SIGSEGV)"
    );
}

#[test]
fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut missing = spawn(dir.path(), "");
    missing.command = vec!["/no/such/program".into()];
    let error = missing
        .start(&supervisor())
        .unwrap()
        .wait(None, &Cancel::default())
        .unwrap_err();
    assert!(matches!(error, ProcessError::Start { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/program"));
}

#[test]
fn daemons_that_the_command_leaves_behind_are_ended() {
    let dir = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while [ ! -s daemon ]; do sleep 0.01; done";
    let ended = spawn(dir.path(), script)
        .start(&supervisor())
        .unwrap()
        .wait(None, &Cancel::default())
        .unwrap();
    assert_eq!(ended.report().code, Some(0));
    assert!(vanishes(pid_in(&dir.path().join("daemon"))));
}

#[test]
fn the_time_limit_ends_even_what_ignores_sigterm() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; (trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done') & wait; wait; sleep 1000";
    let guarded = spawn(dir.path(), script).start(&supervisor()).unwrap();
    let child = pid_in(&dir.path().join("child"));
    let ended = guarded
        .wait(Some(Duration::from_millis(200)), &Cancel::default())
        .unwrap();
    assert!(matches!(ended, Ended::TimeLimit(_)), "{ended:?}");
    assert!(vanishes(child));
}

#[test]
fn cancelling_and_dropping_end_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let guarded = spawn(dir.path(), "echo $$ > one; sleep 1000")
        .start(&supervisor())
        .unwrap();
    let pid = pid_in(&dir.path().join("one"));
    let cancel = Cancel::default();
    cancel.set();
    assert!(matches!(
        guarded.wait(None, &cancel).unwrap(),
        Ended::Cancelled(_)
    ));
    assert!(vanishes(pid));

    let guarded = spawn(dir.path(), "echo $$ > two; sleep 1000")
        .start(&supervisor())
        .unwrap();
    let pid = pid_in(&dir.path().join("two"));
    drop(guarded);
    assert!(vanishes(pid));
}

#[test]
fn a_held_command_starts_only_when_released() {
    let dir = tempfile::tempdir().unwrap();
    let mut guarded = spawn(dir.path(), "echo $$ > started")
        .hold(&supervisor())
        .unwrap();
    assert!(guarded.processes().is_empty());
    guarded.release().unwrap();
    assert_eq!(
        guarded
            .wait(None, &Cancel::default())
            .unwrap()
            .report()
            .code,
        Some(0)
    );
    assert!(dir.path().join("started").exists());
}

fn guard_by_hand(dir: &Path) -> std::process::Child {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(["guard", "--grace-ms", "300", "--report"])
        .arg(dir.join("report"))
        .args(["--", "sh", "-c", "echo $$ > child; exec sleep 1000"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    guard.stdin.as_mut().unwrap().write_all(b"g").unwrap();
    guard
}

#[test]
fn the_command_ends_when_the_lifeline_is_cut_as_kill_9_of_the_parent_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut guard = guard_by_hand(dir.path());
    let child = pid_in(&dir.path().join("child"));
    drop(guard.stdin.take());
    assert!(vanishes(child));
    assert!(guard.wait().unwrap().success());
}

#[test]
fn the_command_ends_when_the_guard_itself_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut guard = guard_by_hand(dir.path());
    let child = pid_in(&dir.path().join("child"));
    guard.kill().unwrap();
    guard.wait().unwrap();
    assert!(vanishes(child));
}

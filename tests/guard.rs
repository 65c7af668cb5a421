//! The guard: nothing that a command starts outlives it.

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

#[test]
fn kill_9_of_the_guard_or_of_its_parent_leaves_nothing() {
    for victim_is_parent in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        // A guard by hand, so that its parent can be killed: a shell that holds the lifeline open.
        let script = format!(
            "{{ printf g; exec sleep 1000; }} | {} guard --grace-ms 300 --report {}/r -- sh -c 'echo $PPID > guard; echo $$ > child; exec sleep 1000'",
            env!("CARGO_BIN_EXE_perfblame"),
            dir.path().display()
        );
        let mut parent = Command::new("setsid")
            .args(["sh", "-c", &script])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let child = pid_in(&dir.path().join("child"));
        let guard = pid_in(&dir.path().join("guard"));
        let victim = if victim_is_parent {
            format!("-{}", parent.id())
        } else {
            guard.to_string()
        };
        if victim_is_parent {
            // The whole group of the parent but the guard: the holder of the lifeline dies.
            for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                let Some(pid) = entry
                    .file_name()
                    .to_str()
                    .and_then(|n| n.parse::<i32>().ok())
                else {
                    continue;
                };
                let command =
                    std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
                let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let group = stat
                    .rsplit(')')
                    .next()
                    .unwrap_or("")
                    .split_whitespace()
                    .nth(2)
                    .unwrap_or("0")
                    .to_owned();
                if group == parent.id().to_string() && command.starts_with("sleep") && pid != child
                {
                    Command::new("kill")
                        .args(["-9", &pid.to_string()])
                        .status()
                        .unwrap();
                }
            }
        } else {
            Command::new("kill").args(["-9", &victim]).status().unwrap();
        }
        assert!(vanishes(child), "victim {victim}");
        let _ = Command::new("pkill")
            .args(["-9", "-s", &parent.id().to_string()])
            .status();
        let _ = parent.wait();
    }
}

//! What is left of a search when it is stopped: by a signal, by kill -9, by a rewritten history; and
//! its log, which git accepts.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bisects;
mod common;

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bisects::{History, program};
use serde_json::json;

/// Eight commits; the fifth makes the step. Certifying without sampling saves time.
fn history() -> History {
    let history = History::new();
    for number in 1..=8 {
        let rounds = if number < 5 { 10 } else { 13 };
        history.commit(&format!("step {number}"), &program(rounds, number));
    }
    history
}

/// Starts a search and returns once so many answers are stored.
fn started(history: &History, answers: usize) -> Child {
    let child = common::command()
        .args(["bisect", "--no-profile", "--store"])
        .arg(history.repo.beside("store"))
        .arg("--out")
        .arg(history.repo.beside("out"))
        .args(["first", "main"])
        .current_dir(history.repo.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while kept(history) < answers {
        assert!(Instant::now() < deadline, "no answer within two minutes");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn kept(history: &History) -> usize {
    let path = history.repo.beside("store/store.sqlite");
    let count = || {
        rusqlite::Connection::open(path)?.query_row(
            "SELECT count(*) FROM events WHERE kind = 'bisect-answer'",
            [],
            |row| row.get::<_, u32>(0),
        )
    };
    count().map_or(0, |count| count as usize)
}

#[test]
fn kill_9_loses_no_answer_and_resume_goes_on() {
    let history = history();
    let mut child = started(&history, 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = history.store("SELECT body FROM events WHERE kind = 'bisect-answer' ORDER BY id");
    let built = history.built();
    let ran = history.bisect(&["--resume"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["culprit"]["commits"], json!([history.id("step 5")]));
    let after = history.store("SELECT body FROM events WHERE kind = 'bisect-answer' ORDER BY id");
    assert_eq!(after[..before.len()], before[..]);
    // What was built before the kill is not built again, and the count goes on.
    let all = history.built();
    assert_eq!(all[..built.len()], built[..]);
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert_eq!(report["builds"], json!(all.len()));
    assert_eq!(history.store("SELECT state FROM experiments"), ["done"]);
}

#[test]
fn a_signal_stops_with_130_and_the_other_kinds_of_experiment_do_not_go_on() {
    let history = history();
    let mut child = started(&history, 1);
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        history.store("SELECT state FROM experiments"),
        ["interrupted"]
    );
    // What is known so far can be looked at; nothing is measured for it.
    let trials = history.store("SELECT id || '' FROM trials");
    let ran = history.bisect(&["--visualize"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.out.contains("step 5"), "{}", ran.out);
    assert!(history.out("posterior.svg").starts_with("<svg xmlns="));
    assert_eq!(history.store("SELECT id || '' FROM trials"), trials);
    for line in ran.out.lines().filter(|line| !line.contains('/')) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    history
        .bisect(&["--resume", "first", "main"])
        .refused(&["--resume takes no GOOD and BAD"]);
    history.bisect(&["--resume", "ffffff"]).refused(&["ffffff"]);
}

#[test]
fn a_rewritten_history_is_noticed() {
    let history = history();
    let mut child = started(&history, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let old = history.id("step 8");
    history.repo.git(&["branch", "old", "main"]);
    history.repo.git(&["reset", "-q", "--hard", "first"]);
    history.commit("other 1", &program(10, 91));
    history.commit("other 2", &program(20, 92));
    let ran = history.bisect(&["--resume"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.err.contains("history was rewritten"), "{}", ran.err);
    let report = history.report();
    assert_eq!(report["bad"]["commit"], old.as_str());
    assert_eq!(report["culprit"]["commits"], json!([history.id("step 5")]));
    let notes = report["notes"].to_string();
    assert!(notes.contains("history was rewritten"), "{notes}");

    // With the old commits gone there is nothing to go on with.
    let mut child = started(&history, kept(&history) + 1);
    child.kill().unwrap();
    child.wait().unwrap();
    history.repo.git(&["reset", "-q", "--hard", "first"]);
    history
        .repo
        .git(&["reflog", "expire", "--expire=now", "--all"]);
    history.repo.git(&["gc", "-q", "--prune=now"]);
    history
        .bisect(&["--resume"])
        .refused(&["history was rewritten", "is gone"]);
}

#[test]
fn git_bisect_replay_accepts_the_log() {
    let history = history();
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let log = history.bisect(&["--log"]);
    assert_eq!(log.code, 0, "{log:#?}");
    assert!(log.out.starts_with("git bisect start\n"), "{}", log.out);
    let path = history.repo.beside("log");
    std::fs::write(&path, &log.out).unwrap();
    history
        .repo
        .git(&["bisect", "replay", path.to_str().unwrap()]);
    let told = history.repo.git(&["bisect", "log"]);
    let first_bad = format!("# first bad commit: [{}] step 5", history.id("step 5"));
    assert!(told.contains(&first_bad), "{told}");
}

//! `perfblame history`.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod repository;

use std::path::Path;
use std::process::{Command, Output};

use perfblame::repo::Repository;
use perfblame::store::{ExperimentState, Finish, NewExperiment, Store};
use repository::TestRepository;
use serde_json::{Value, json};

fn history(repository: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args(["history", "--repo"])
        .arg(repository)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn experiments_are_listed_latest_first() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    assert!(text(&history(repository.path(), &[])).starts_with("no experiments yet"));
    assert_eq!(text(&history(repository.path(), &["--json"])), "[]\n");
    assert!(!repository.path().join(".perfblame").exists());

    let opened = Repository::open(repository.path()).unwrap();
    let store = Store::open(&opened.default_store()).unwrap();
    let new = |kind: &str| NewExperiment {
        kind: kind.to_owned(),
        base: Some("1".repeat(40)),
        head: (kind == "compare").then(|| "2".repeat(40)),
        seed: 7,
        plan: json!({ "blocks": 8 }),
        machine: json!({}),
    };
    let first = store.begin(&new("compare")).unwrap();
    let id = first.id.clone();
    let finish = Finish {
        state: ExperimentState::Done,
        summary: "regressed: throughput −4.2 %".to_owned(),
        outcome: json!({ "x": 1 }),
    };
    store.finish(first, &finish).unwrap();
    let interrupted = store.begin(&new("matrix")).unwrap().id;
    let _running = store.begin(&new("bisect")).unwrap();

    let shown = text(&history(repository.path(), &[]));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    assert!(lines[0].starts_with("ID"));
    assert!(
        lines[1].contains("bisect") && lines[1].ends_with("running"),
        "{shown}"
    );
    assert!(
        lines[2].contains(&interrupted) && lines[2].ends_with("interrupted"),
        "{shown}"
    );
    assert!(
        lines[3].starts_with(&id) && lines[3].contains("1111111111..2222222222"),
        "{shown}"
    );
    // The table is cut; the verdict's word is always there.
    assert!(lines[3].contains("done         regressed"), "{shown}");
    assert!(lines[3].ends_with('…'), "{shown}");
    assert_eq!(
        text(&history(repository.path(), &["-n", "1"]))
            .lines()
            .count(),
        2
    );

    let list: Value =
        serde_json::from_str(&text(&history(repository.path(), &["--json"]))).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!(
        (&list[2]["id"], &list[2]["state"], &list[2]["outcome"]["x"]),
        (&json!(id), &json!("done"), &json!(1))
    );

    // From a linked worktree, and with the store named.
    let worktree = repository.beside("worktree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
    ]);
    assert_eq!(text(&history(&worktree, &[])), shown);
    let store = opened.default_store();
    assert_eq!(
        text(&history(
            Path::new("/"),
            &["--store", store.to_str().unwrap()]
        )),
        shown
    );
}

#[test]
fn no_repository_and_no_such_store_are_errors_of_the_request() {
    let outer = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&[][..], "not in a git repository"),
        (
            &["--store", "/no/such/store"],
            "there is no store at /no/such/store",
        ),
    ] {
        let output = history(outer.path(), arguments);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(said), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let command = format!(
        "{} history --repo {} | true; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_perfblame"),
        repository.path().display()
    );
    let output = Command::new("bash")
        .args(["-c", &command])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

//! The ends of a search, several steps, and limits.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bisects;
mod common;

use bisects::{History, program};

#[test]
fn swapped_unrelated_equal_and_unknown_ends() {
    let history = History::new();
    history.commit("slow", &program(20, 1));
    history.commit("last", &program(20, 2));
    let ran = history.bisect(&["--direction", "faster", "main", "first"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert!(ran.err.contains("the ends are swapped"), "{}", ran.err);
    assert_eq!(report["swapped"], true);
    assert_eq!(report["good"]["commit"], history.id("last"));
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("slow")])
    );
    // git takes the path, too.
    let log = history.bisect(&["--log", report["experiment"].as_str().unwrap()]);
    let path = history.repo.beside("path");
    std::fs::write(&path, &log.out).unwrap();
    let replayed = history
        .repo
        .git(&["bisect", "replay", path.to_str().unwrap()]);
    assert!(
        replayed.contains(&format!("{} is the first new commit", history.id("slow"))),
        "{replayed}"
    );
    history.repo.git(&["bisect", "reset"]);
    // From GOOD to BAD it gets faster, so that nothing gets slower.
    let ran = history.bisect(&["--direction", "slower", "main", "first"]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(
        ran.out.contains("BAD is not slower than GOOD"),
        "{}",
        ran.out
    );

    history
        .bisect(&["main", "main"])
        .refused(&["are the same commit"]);
    history.bisect(&["main", "nowhere"]).refused(&["nowhere"]);
    history
        .bisect(&["main"])
        .refused(&["GOOD and BAD are needed"]);
    history.repo.git(&["checkout", "-q", "--orphan", "alone"]);
    history.commit("alone", &program(10, 5));
    history
        .bisect(&["main", "alone"])
        .refused(&["no commit in common"]);
}

#[test]
fn a_good_that_is_no_ancestor_is_replaced_by_the_merge_base() {
    let history = History::new();
    history.repo.git(&["checkout", "-q", "-b", "release"]);
    history.commit("release", &program(10, 9));
    history.repo.git(&["checkout", "-q", "main"]);
    history.commit("slow", &program(20, 1));
    history.commit("last", &program(20, 2));
    let ran = history.bisect(&["release", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.err.contains("their merge base"), "{}", ran.err);
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("slow")])
    );
    assert_eq!(report["good"]["commit"], history.id("first"));
}

#[test]
fn a_good_that_was_merged_into_bads_line_is_not_taken_for_its_parent() {
    let history = History::new();
    // The step is on main before GOOD; the branch was forked before it, and merges it later.
    history.repo.git(&["checkout", "-q", "-b", "feature"]);
    history.commit("one", &program(10, 1));
    history.file("two", "other.txt", "2");
    history.repo.git(&["checkout", "-q", "main"]);
    history.file("slow", "side.h", "#define SIDE 10\n");
    history.repo.git(&["checkout", "-q", "feature"]);
    history
        .repo
        .git(&["merge", "-q", "--no-ff", "-m", "merge main", "main"]);
    history.commit("last", &program(10, 3));
    let ran = history.bisect(&["main", "feature"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("slow")]),
        "{report:#}"
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("is not among the first parents"), "{notes}");
}

#[test]
fn ends_that_do_not_differ_end_the_search() {
    let history = History::new();
    history.commit("up", &program(20, 1));
    history.commit("down", &program(10, 2));
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["outcome"], "ends-alike");
    assert_eq!(report["culprit"], serde_json::Value::Null);
    assert_eq!(report["trials"]["search"], 0);
    // The same program at both ends needs no trial.
    history.commit("as first", &program(10, 0));
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert_eq!(history.report()["outcome"], "same-program");
}

#[test]
fn all_steps_share_the_change() {
    let history = History::new();
    for number in 1..=9 {
        let rounds = match number {
            0..3 => 10,
            3..7 => 20,
            _ => 30,
        };
        history.commit(&format!("step {number}"), &program(rounds, number));
    }
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let one = history.report();
    assert!(one["unexplained_pct"].as_f64().unwrap() > 30.0, "{one:#}");
    assert!(ran.out.contains("--all"), "{}", ran.out);
    let ran = history.bisect(&["--all", "first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    let mut culprits = vec![report["culprit"].clone()];
    culprits.extend(
        report["further"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["culprit"].clone()),
    );
    let mut found: Vec<(String, f64)> = culprits
        .iter()
        .map(|culprit| {
            let commit = culprit["commits"][0].as_str().unwrap().to_owned();
            (commit, culprit["share_of_gap_pct"].as_f64().unwrap())
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    // ln 2 / ln 3 and ln 1.5 / ln 3
    let expected = [
        (history.id("step 3"), 63.093),
        (history.id("step 7"), 36.907),
    ];
    assert_eq!(found.len(), 2, "{found:?}");
    for ((commit, share), (wanted, part)) in found.iter().zip(&expected) {
        assert_eq!(commit, wanted);
        assert!((share - part).abs() < 0.01, "{share} {part}");
    }
    assert!(report["unexplained_pct"].as_f64().unwrap().abs() < 0.01);
}

#[test]
fn limits_end_the_search_undecided_and_resume_goes_on() {
    let history = History::new();
    for number in 1..=12 {
        history.commit(
            &format!("step {number}"),
            &program(if number < 8 { 10 } else { 13 }, number),
        );
    }
    let ran = history.bisect(&["--max-builds", "3", "first", "main"]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["outcome"], "undecided");
    assert_eq!(report["builds"], 3);
    assert!(ran.out.contains("bisect --resume"), "{}", ran.out);
    let ran = history.bisect(&["--max-time", "0s", "first", "main"]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert_eq!(history.report()["trials"]["endpoints"], 0);
    let ran = history.bisect(&["--resume", "--max-time", "1h"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(
        history.report()["culprit"]["commits"],
        serde_json::json!([history.id("step 8")])
    );
}

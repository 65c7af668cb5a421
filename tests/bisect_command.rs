//! Searching the history of a command: culprits, skips, merges, ends, limits.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bisects;
mod common;

use bisects::{History, program};

#[test]
fn the_culprit_is_found_and_certified() {
    let history = History::new();
    for number in 1..=12 {
        history.commit(
            &format!("step {number}"),
            &program(if number < 8 { 10 } else { 13 }, number),
        );
    }
    let ran = history.bisect_sampled(&["--direction", "slower", "first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["schema"], "perfblame.bisect/1");
    assert_eq!(report["outcome"], "certified");
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("step 8")])
    );
    assert_eq!(report["culprit"]["parent"], history.id("step 7"));
    assert!(report["culprit"]["probability"].as_f64().unwrap() >= 0.95);
    let certificate = &report["certificate"];
    assert!(certificate["p"].as_f64().unwrap() <= certificate["alpha"].as_f64().unwrap());
    let change = report["culprit"]["change"]["change_pct"].as_f64().unwrap();
    assert!((change - 30.0).abs() < 0.01, "{change}");
    assert!(report["unexplained_pct"].as_f64().unwrap().abs() < 0.01);
    assert_eq!(report["comparison"]["schema"], "perfblame.compare/1");
    assert_eq!(report["comparison"]["head"]["commit"], history.id("step 8"));
    assert_eq!(report["classes"], 13);
    // Both ends, four halvings of twelve classes, and the parent.
    assert!(
        report["builds"].as_u64().unwrap() <= 7,
        "{}",
        report["builds"]
    );
    assert!(ran.out.contains("CERTIFIED"), "{}", ran.out);
    for line in ran.out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for name in [
        "report.html",
        "report.md",
        "posterior.svg",
        "diff.svg",
        "head.folded",
    ] {
        assert!(history.repo.beside("out").join(name).is_file(), "{name}");
    }
    let page = history.out("report.html");
    assert!(page.contains("<svg class=\"posterior\""));
    assert!(page.contains(&history.id("step 8")));
    assert_eq!(history.repo.git(&["status", "--porcelain"]), "");
    // The store shows the same once more.
    let store = history.repo.beside("store").display().to_string();
    let again = history.repo.beside("again").display().to_string();
    let show = |more: &[&str]| {
        let arguments = [&["show", "--store", store.as_str()], more].concat();
        common::perfblame(&history.repo.path(), &arguments)
    };
    assert!(show(&[]).out.contains("CERTIFIED"));
    assert_eq!(show(&["--format", "json"]).out, history.out("report.json"));
    assert_eq!(show(&["--out", &again]).code, 0);
    let folded = std::fs::read_to_string(history.repo.beside("again/head.folded")).unwrap();
    assert_eq!(folded, history.out("head.folded"));
}

#[test]
fn what_does_not_build_or_start_is_skipped_and_stays_in_the_set() {
    let history = History::new();
    history.commit("one", &program(10, 1));
    history.commit("two", &program(10, 2));
    // The step comes in with a commit that does not build; the next one does not start.
    history.commit("broken", "int main(void) { return 0 \n");
    history.commit("crash", "int main(void) { return 7; }\n");
    history.commit("hang", "int main(void) { for (;;) ; }\n");
    history.commit("mended", &program(20, 3));
    history.commit("six", &program(20, 4));
    let ran = history.bisect(&[
        "--set",
        "experiment.retries=0",
        "--set",
        "command.timeout=3s",
        "first",
        "main",
    ]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    let set = ["broken", "crash", "hang", "mended"].map(|name| history.id(name));
    assert_eq!(report["culprit"]["commits"], serde_json::json!(set));
    assert_eq!(report["culprit"]["parent"], history.id("two"));
    let skipped = report["skipped"].as_array().unwrap();
    let reason = |name: &str| {
        let id = history.id(name);
        let found = skipped.iter().find(|skipped| skipped["commit"] == id);
        found.unwrap()["reason"].as_str().unwrap().to_owned()
    };
    assert!(
        reason("broken").contains("does not build"),
        "{}",
        reason("broken")
    );
    assert!(
        reason("crash").contains("exited with code 7"),
        "{}",
        reason("crash")
    );
    assert!(
        reason("hang").contains("not done after 3s"),
        "{}",
        reason("hang")
    );
    // A second search knows that already.
    let builds = report["builds"].as_u64().unwrap();
    assert!(builds >= 4);
    let ran = history.bisect(&[
        "--set",
        "experiment.retries=0",
        "--set",
        "command.timeout=3s",
        "first",
        "main",
    ]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(history.report()["builds"], 0);
}

#[test]
fn every_middle_commit_broken_leaves_one_set() {
    let history = History::new();
    for number in 0..4 {
        history.commit(
            &format!("broken {number}"),
            &format!("int main(void) {{ {number} \n"),
        );
    }
    history.commit("last", &program(20, 9));
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    let commits = report["culprit"]["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 5, "{commits:?}");
    assert!(ran.out.contains("cannot be told apart"), "{}", ran.out);
}

#[test]
fn one_commit_only_is_certified_without_a_search() {
    let history = History::new();
    history.commit("only", &program(20, 1));
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("only")])
    );
    assert_eq!(report["trials"]["search"], 0);
}

#[test]
fn a_documentation_commit_is_never_built_twice() {
    let history = History::new();
    history.commit("slow", &program(20, 1));
    history.file("words", "README", "words\n");
    // Another text of the same program: the tree differs, the artifact does not.
    history.commit("comment", &format!("{}/* a remark */\n", program(20, 1)));
    history.commit("last", &program(20, 2));
    let ran = history.bisect(&[
        "--set",
        "subject.paths=['count.c', 'Makefile']",
        "first",
        "main",
    ]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("slow")])
    );
    let classes = report["lines"][0]["classes"].as_array().unwrap();
    let with_words = classes
        .iter()
        .find(|class| {
            class["commits"]
                .as_array()
                .unwrap()
                .contains(&history.id("words").into())
        })
        .unwrap();
    assert_eq!(with_words["commits"][0], history.id("slow"));
    let built = history.built();
    assert!(!built.contains(&history.id("words")), "{built:?}");
    let distinct: std::collections::BTreeSet<&String> = built.iter().collect();
    assert_eq!(distinct.len(), built.len());
}

#[test]
fn a_regression_in_a_merged_branch_is_found_inside_the_branch() {
    let history = History::new();
    history.commit("main 1", &program(10, 1));
    history.repo.git(&["checkout", "-q", "-b", "side"]);
    history.file("side 1", "side.h", "#define SIDE 0\n");
    history.file("side 2", "side.h", "#define SIDE 7\n");
    history.file(
        "side 3",
        "side.h",
        "#define SIDE 7 /* three */\n#define THREE 3\n",
    );
    history.repo.git(&["checkout", "-q", "main"]);
    history.commit("main 2", &program(10, 2));
    history
        .repo
        .git(&["merge", "-q", "--no-ff", "-m", "the merge", "side"]);
    let merge = history.repo.git(&["rev-parse", "HEAD"]);
    history.commit("main 3", &program(10, 3));
    let ran = history.bisect(&["first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        serde_json::json!([history.id("side 2")])
    );
    assert_eq!(report["culprit"]["merged_by"], merge.as_str());
    let ran = history.bisect(&["--first-parent", "first", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(
        history.report()["culprit"]["commits"],
        serde_json::json!([merge])
    );
}

//! Comparing two commits of a command: build, run, read its number, judge, report.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::TestRepo;

const MAKEFILE: &str = "count: count.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";

/// A program that works `rounds` million steps and prints them as a number.
fn program(rounds: u32) -> String {
    format!(
        "#include <stdio.h>\n\
         __attribute__((noinline)) static unsigned work(unsigned n) {{\n\
             unsigned x = 1;\n    for (unsigned i = 0; i < n; i++) x = x * 1664525u + 1013904223u;\n    return x;\n}}\n\
         int main(void) {{\n    volatile unsigned x = work({rounds}u * 1000000u);\n    (void)x;\n    printf(\"steps: {rounds}\\n\");\n    return 0;\n}}\n"
    )
}

const PLAN: &str = "[command]\nrun = '{artifact}'\nruns = 2\nwarmup-runs = 0\nprofile-runs = 2\n";

fn repo(extra: &str) -> TestRepo {
    let repo = TestRepo::new();
    let plan = format!("{PLAN}{extra}");
    repo.commit(
        "ten",
        &[
            ("Makefile", MAKEFILE),
            ("count.c", &program(10)),
            ("perfblame.toml", &plan),
        ],
    );
    repo.git(&["tag", "ten"]);
    repo.commit("thirty", &[("count.c", &program(30))]);
    repo.git(&["tag", "thirty"]);
    repo
}

#[test]
fn wall_time_and_the_function_regress() {
    let repo = repo("");
    let ran = repo.compare(&["--blocks", "6", "ten", "thirty"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report = repo.report();
    assert_eq!(report["schema"], "perfblame.compare/1");
    assert_eq!(report["throughput"]["name"], "wall_time");
    assert_eq!(report["throughput"]["verdict"], "regressed");
    let functions = report["functions"].as_array().unwrap();
    let work = functions
        .iter()
        .find(|function| function["name"] == "work")
        .unwrap();
    assert_eq!(work["self"]["verdict"], "regressed", "{work:#}");
    assert_eq!(work["status"], "both");
    for name in [
        "report.html",
        "report.md",
        "base.folded",
        "head.folded",
        "base.svg",
        "head.svg",
        "diff.svg",
    ] {
        let size = std::fs::metadata(repo.beside("out").join(name))
            .unwrap()
            .len();
        assert!(size > 0, "{name}");
    }
    assert!(
        std::fs::read_to_string(repo.beside("out/head.folded"))
            .unwrap()
            .contains(";work ")
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_printed_number_is_judged_in_its_direction() {
    let number = "metric = 'output'\npattern = 'steps: (?<value>[0-9]+)'\nunit = 'steps'\nbetter = 'higher'\n";
    let repo = repo(number);
    // The same work, and another number.
    repo.git(&["checkout", "-q", "ten"]);
    repo.commit(
        "boast",
        &[("count.c", &program(10).replace("steps: 10", "steps: 30"))],
    );
    let ran = repo.compare(&["--no-profile", "--blocks", "6", "ten", "HEAD"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = repo.report();
    assert_eq!(report["throughput"]["unit"], "steps");
    assert_eq!(report["throughput"]["base_mean"], 10.0);
    assert_eq!(report["throughput"]["head_mean"], 30.0);
    assert_eq!(report["throughput"]["verdict"], "improved");
    assert_eq!(report["functions"].as_array().unwrap().len(), 0);
}

#[test]
fn a_commit_compared_with_itself_is_built_once_and_nothing_is_flagged() {
    let repo = repo("");
    let ran = repo.compare(&["--blocks", "2", "ten", "main~1"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(ran.err.matches("built in").count(), 1, "{}", ran.err);
    let report = repo.report();
    assert_eq!(report["same_program"], true);
    assert_eq!(report["throughput"]["verdict"], "equivalent");
    for function in report["functions"].as_array().unwrap() {
        for cost in ["self", "inclusive"] {
            assert_eq!(function[cost]["verdict"], "equivalent", "{function:#}");
        }
    }
}

#[test]
fn commits_that_differ_outside_the_subject_share_one_artifact() {
    let repo = repo("");
    repo.commit("words", &[("README", "words\n")]);
    let ran = repo.compare(&["--blocks", "1", "--no-profile", "thirty", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = repo.report();
    assert_eq!(
        report["base"]["artifact_digest"],
        report["head"]["artifact_digest"]
    );
    assert_eq!(report["same_program"], true);
}

#[test]
fn a_command_that_fails_or_prints_no_number_gives_no_numbers() {
    let number = "metric = 'output'\npattern = 'speed: (?<value>[0-9]+)'\n";
    let repo = repo(number);
    let ran = repo.compare(&["--no-profile", "ten", "thirty"]);
    ran.refused(&["printed nothing that matches command.pattern", "steps: "]);
    let ran = repo.compare(&[
        "--no-profile",
        "--set",
        "command.run=/bin/false",
        "ten",
        "thirty",
    ]);
    ran.refused(&["`/bin/false` exited with code 1", "failed twice"]);
    let ran = repo.compare(&[
        "--no-profile",
        "--set",
        "command.run=sleep 9",
        "--set",
        "command.timeout=50ms",
        "ten",
        "thirty",
    ]);
    ran.refused(&["`sleep 9` was not done after 50ms (command.timeout)"]);
}

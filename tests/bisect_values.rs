//! What a search looks at: functions, metrics, and the user's own command, which may err.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bisects;
mod common;

use bisects::{History, program};
use serde_json::json;

/// A program whose `extra` works `share` parts of what `work` does; without it there is no `extra`.
fn with_extra(share: u32, salt: u32) -> String {
    let extra = match share {
        0 => String::new(),
        _ => "__attribute__((noinline)) static unsigned extra(unsigned n) {\n\
                  unsigned x = 3;\n\
                  for (unsigned i = 0; i < n; i++) x = x * 22695477u + 1u;\n\
                  return x;\n}\n"
            .to_owned(),
    };
    let call = match share {
        0 => String::new(),
        share => format!("volatile unsigned y = extra({share}0000000u); (void)y;"),
    };
    program(300, salt)
        .replace("int main", &format!("{extra}int main"))
        .replace(
            "volatile unsigned x",
            &format!("{call} volatile unsigned x"),
        )
}

#[test]
fn a_function_that_exists_on_one_side_only_is_a_step() {
    let history = History::new();
    for number in 1..=6 {
        history.commit(
            &format!("step {number}"),
            &with_extra(if number < 4 { 0 } else { 3 }, number),
        );
    }
    let ran = history.bisect(&[
        "--function",
        "extra",
        "--direction",
        "slower",
        "first",
        "main",
    ]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["measured"]["kind"], "function");
    assert_eq!(report["culprit"]["commits"], json!([history.id("step 4")]));
    let explained = report["explanation"].as_array().unwrap();
    let extra = explained
        .iter()
        .find(|function| function["function"] == "extra")
        .unwrap();
    assert_eq!(extra["touched"], "lines", "{extra:#}");
    assert_eq!(extra["file"], "count.c");
    // Those that the diff touches come first.
    assert_eq!(explained[0]["touched"], "lines", "{explained:#?}");
}

#[test]
fn names_that_mean_no_function_or_several_are_answered_with_a_list() {
    let history = History::new();
    history.commit("two", &with_extra(3, 2));
    let ran = history.bisect_sampled(&["--function", "nothing_like_it", "first", "main"]);
    ran.refused(&["no sample of GOOD or BAD holds a function named `nothing_like_it`"]);
    let ran = history.bisect_sampled(&["--function", "extr", "first", "main"]);
    ran.refused(&["no sample", "extra@count"]);
    let ran = history.bisect_sampled(&["--function", "work@nowhere.so", "first", "main"]);
    ran.refused(&["no sample"]);
}

#[test]
fn a_name_of_several_functions_lists_them() {
    let history = History::new();
    let makefile = "count: count.c side.h twin.c\n\
                    \t$(CC) $(CFLAGS) -O1 -shared -fPIC -o libtwin.so twin.c\n\
                    \t$(CC) $(CFLAGS) -O1 -o $@ count.c -L. -ltwin -Wl,-rpath,'$$ORIGIN'\n";
    let twin = "__attribute__((noinline)) static unsigned work(unsigned n) {\n\
                    unsigned x = 5;\n\
                    for (unsigned i = 0; i < n; i++) x = x * 22695477u + 1u;\n\
                    return x;\n}\n\
                unsigned twin(unsigned n) { return work(n) + 1; }\n";
    let text = |salt| {
        program(300, salt)
            .replace("int main", "unsigned twin(unsigned);\nint main")
            .replace(
                "volatile unsigned x",
                "volatile unsigned y = twin(30000000u); (void)y; volatile unsigned x",
            )
    };
    history.repo.commit(
        "one",
        &[
            ("Makefile", makefile),
            ("twin.c", twin),
            ("count.c", &text(1)),
        ],
    );
    history.commit("two", &text(2));
    let artifacts = "build.artifact=['count', 'libtwin.so']";
    let ran = history.bisect_sampled(&["--set", artifacts, "--function", "work", "main~1", "main"]);
    ran.refused(&["name of several functions", "work@count", "work@libtwin.so"]);
}

#[test]
fn an_unknown_metric_is_answered_with_those_that_there_are() {
    let history = History::new();
    history.commit("two", &program(20, 2));
    let ran = history.bisect(&["--metric", "nosuch", "first", "main"]);
    ran.refused(&[
        "does not measure the metric `nosuch`",
        "output",
        "rss",
        "wall_time",
    ]);
}

/// A script that errs in one of seven calls, by a counter and not by chance, and cannot test
/// "untestable".
fn flaky(history: &History) -> String {
    let counter = history.repo.beside("counter");
    format!(
        "n=$(cat {path} 2>/dev/null || echo 0); n=$((n + 1)); echo $n > {path}; \
         grep -q untestable state && exit 125; \
         verdict=0; grep -q bad state && verdict=1; \
         [ $((n % 7)) -ne 3 ] || verdict=$((1 - verdict)); exit $verdict",
        path = counter.display()
    )
}

#[test]
fn a_flaky_command_is_asked_until_it_is_sure() {
    let history = History::new();
    for number in 1..=8 {
        let state = match number {
            3 => "untestable",
            1..6 => "good",
            _ => "bad",
        };
        history.file(
            &format!("step {number}"),
            "state",
            &format!("{state} {number}\n"),
        );
    }
    history.repo.git(&["tag", "start", &history.id("step 1")]);
    let ran = history.bisect(&["--run", &flaky(&history), "start", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(report["measured"]["kind"], "script");
    assert_eq!(report["culprit"]["commits"], json!([history.id("step 6")]));
    assert_eq!(report["comparison"], json!(null));
    assert_eq!(report["builds"], 0);
    assert!(report["certificate"]["p"].as_f64().unwrap() <= 0.025);
}

#[test]
fn a_command_needs_no_plan_and_may_end_the_search() {
    let history = History::new();
    history.repo.git(&["rm", "-q", "perfblame.toml"]);
    history.file("no plan", "state", "good\n");
    history.file("bad", "state", "bad\n");
    let good = history.id("no plan");
    let ran = history.bisect(&["--run", "! grep -q bad state", &good, "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(
        history.report()["culprit"]["commits"],
        json!([history.id("bad")])
    );
    let ran = history.bisect(&["--run", "echo said; exit 200", &good, "main"]);
    ran.refused(&["exited with code 200", "said"]);
    let ran = history.bisect(&["--run", "no-such-program-at-all", &good, "main"]);
    ran.refused(&["127", "not found"]);
    // Both ends good, or both bad: nothing to look for.
    for same in ["true", "exit 1"] {
        let ran = history.bisect(&["--run", same, &good, "main"]);
        assert_eq!(ran.code, 3, "{ran:#?}");
        assert!(ran.out.contains("NO DIFFERENCE"), "{ran:#?}");
    }
    // A command that begins to pass, and ends the wrong way round: the same commit, and an end.
    for (command, ends) in [
        ("grep -q bad state", [good.as_str(), "main"]),
        ("! grep -q bad state", ["main", good.as_str()]),
    ] {
        let ran = history.bisect(&["--run", command, ends[0], ends[1]]);
        assert_eq!(ran.code, 0, "{ran:#?}");
        let report = history.report();
        assert_eq!(report["culprit"]["commits"], json!([history.id("bad")]));
        assert!(report["certificate"]["blocks"].as_u64().unwrap() < 50);
    }
}

#[test]
fn a_commit_that_fails_in_its_certificate_is_skipped() {
    let history = History::new();
    history.repo.git(&["rm", "-q", "perfblame.toml"]);
    for number in 1..=6 {
        let state = if number < 4 { "good" } else { "bad" };
        history.file(
            &format!("step {number}"),
            "state",
            &format!("{state} {number}\n"),
        );
    }
    history.repo.git(&["tag", "start", &history.id("step 1")]);
    // Step 4 can be tested three times, and never again.
    let calls = history.repo.beside("calls");
    let script = format!(
        "if grep -q 'bad 4' state; then echo x >> {0}; \
         [ $(wc -l < {0}) -le 3 ] || {{ echo worn out; exit 125; }}; fi; grep -q good state",
        calls.display()
    );
    let ran = history.bisect(&["--run", &script, "start", "main"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let report = history.report();
    assert_eq!(
        report["culprit"]["commits"],
        json!([history.id("step 4"), history.id("step 5")])
    );
    let skipped = &report["skipped"][0];
    assert_eq!(skipped["commit"], json!(history.id("step 4")));
    // The blocks that step 4 began are no blocks of step 5.
    assert_eq!(report["certificate"]["first_block"], 200_000, "{report:#}");
    let reason = skipped["reason"].as_str().unwrap();
    assert!(
        reason.contains("cannot be certified") && reason.contains("worn out"),
        "{reason}"
    );
}

//! A report for the tests of its forms, and what no form of it may do.

use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::{BisectOutcome, BisectReport, git_log, json as to_json, markdown, page, text};
use crate::report::sample::report as comparison;

/// A report whose names, subjects and reasons are all `name`.
fn report(name: &str) -> BisectReport {
    let end = json!({ "rev": name, "commit": "a".repeat(40), "subject_line": name });
    let change = json!({ "change_pct": 12.5, "ci95_pct": [10.0, 15.0] });
    let class = |commit: &str, probability: f64, skipped: bool| {
        json!({
            "commits": [commit.repeat(40)], "subject_line": name, "probability": probability,
            "values": if skipped { vec![] } else { vec![1.0, 1.5] }, "skipped": skipped,
        })
    };
    let value = json!({
        "schema": "perfblame.bisect/1", "tool_version": "0.1.0", "created": "2026-01-01T00:00:00Z",
        "experiment": "abc123", "good": end, "bad": end, "swapped": false,
        "measured": { "kind": "function", "name": name, "direction": "slower" },
        "outcome": "certified", "sentence": "",
        "culprit": {
            "commits": ["b".repeat(40)], "subject_lines": [name], "parent": "a".repeat(40),
            "parent_subject_line": name, "probability": 0.97, "change": change,
            "share_of_gap_pct": 61.0, "merged_by": "d".repeat(40),
        },
        "certificate": { "p": 0.0078, "blocks": 8, "alpha": 0.025, "attempt": 1, "first_block": 0 },
        "gap": change, "unexplained_pct": 39.0,
        "trials": { "endpoints": 8, "search": 11, "certificate": 16 },
        "builds": 7, "commits": 3, "classes": 4,
        "skipped": [{ "commit": "c".repeat(40), "subject_line": name, "reason": format!("{name}\n    | {name}") }],
        "lines": [{
            "title": name, "no_step_probability": 0.01, "culprit": 1,
            "classes": [class("a", 0.0, false), class("b", 0.9, false), class("c", 0.05, true), class("d", 0.04, false)],
        }],
        "explanation": [{
            "function": name, "module": name, "verdict": "regressed", "change_points": 2.0,
            "change_pct": 30.0, "touched": "lines", "file": name, "lines": [10, 20],
        }],
        "comparison": null, "notes": [name], "machine": {}, "plan": {}, "seed": 1, "seconds": 60.0,
        "commands": [name],
    });
    let mut report: BisectReport = serde_json::from_value(value).unwrap();
    report.sentence = super::sentence(&report);
    report
}

const LONG: &str = "std::__detail::_Map_base<std::pair<std::string const, std::vector<long>>>::at";

#[test]
fn the_terminal_has_eighty_columns() {
    for name in [
        "f",
        LONG,
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    ] {
        let report = report(name);
        let rendered = text::render(&report, 80, false) + &text::picture(&report, 80);
        for line in rendered.lines() {
            assert!(line.width() <= 80, "{} columns: {line}", line.width());
        }
        assert!(!rendered.contains('\u{1b}'));
    }
    assert!(text::render(&report("f"), 80, true).contains("\u{1b}[1;32mCERTIFIED\u{1b}[0m"));
}

#[test]
fn names_cannot_act() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{202e}\u{1b}[2J\n\
                git bisect bad evil";
    let mut report = report(evil);
    for _ in 0..2 {
        let terminal = text::render(&report, 80, false) + &text::picture(&report, 80);
        assert!(!terminal.contains(['\u{1b}', '\u{202e}']), "{terminal}");
        let html = page(&report, None);
        assert!(
            !html.contains("<script>alert") && !html.contains("<img"),
            "{html}"
        );
        assert!(!html.contains('\u{202e}'));
        assert!(!markdown::render(&report).contains("<script>"));
        let log = git_log::render(&report);
        assert!(
            !log.lines().any(|line| line == "git bisect bad evil"),
            "{log}"
        );
        report.outcome = BisectOutcome::Undecided;
        report.culprit = None;
    }
}

#[test]
fn a_step_beyond_the_gap_is_said_to_be_one() {
    let mut report = report("f");
    assert!(
        report
            .sentence
            .contains("39 % of the change between the ends is left unexplained")
    );
    report.unexplained_pct = Some(-57.0);
    let sentence = super::sentence(&report);
    assert!(
        sentence.contains("that is 157 % of the change between the ends, of which others take"),
        "{sentence}"
    );
}

#[test]
fn of_swapped_ends_git_is_not_told_that_the_newer_is_bad() {
    let mut report = report("f");
    let log = git_log::render(&report);
    assert!(log.starts_with("git bisect start\n# bad: [aaa"), "{log}");
    report.swapped = true;
    report.good.commit = "e".repeat(40);
    let log = git_log::render(&report);
    assert!(
        log.starts_with("git bisect start '--term-new=new' '--term-old=old'\n# new: [eee"),
        "{log}"
    );
    assert!(
        log.contains(&format!("git bisect new {}", "b".repeat(40))),
        "{log}"
    );
    for word in ["git bisect bad", "git bisect good", "first bad"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

#[test]
fn the_page_stands_around_the_comparison_and_alone() {
    let report = report("f");
    let alone = page(&report, None);
    assert!(alone.contains("<svg class=\"posterior\"") && alone.ends_with("</html>\n"));
    let tree = crate::report::diff::DiffTree::build(Vec::new(), 0.0);
    let inner = crate::report::html::render(&comparison(), &tree, &[]);
    let both = page(&report, Some(&inner));
    assert_eq!(both.matches("<h1>").count(), 1);
    assert_eq!(both.matches("<main>").count(), 1);
    assert!(both.contains("Culprit") && both.contains("id=\"functions\""));
    for outside in ["src=", "href=\"http", "url(", "@import"] {
        assert!(!alone.contains(outside), "{outside}");
    }
}

#[test]
fn what_is_written_is_read_back_and_has_the_keys_of_the_contract() {
    let report = report("f");
    let text = to_json(&report);
    let again: BisectReport = serde_json::from_str(&text).unwrap();
    assert_eq!(again, report);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in [
        "/schema",
        "/culprit/commits/0",
        "/culprit/parent",
        "/culprit/probability",
        "/certificate/p",
        "/certificate/blocks",
        "/trials/endpoints",
        "/trials/search",
        "/trials/certificate",
        "/builds",
        "/skipped/0/commit",
        "/skipped/0/reason",
        "/classes",
        "/comparison",
    ] {
        assert!(value.pointer(key).is_some(), "{key}");
    }
}

#[test]
fn the_log_calls_classes_by_where_the_culprit_is() {
    let log = git_log::render(&report("f"));
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with('#')).collect();
    let of = |word: &str, commit: &str| format!("git bisect {word} {}", commit.repeat(40));
    assert_eq!(
        lines,
        [
            "git bisect start",
            &of("bad", "a"),
            &of("bad", "d"),
            &of("bad", "b"),
            &of("skip", "c"),
        ]
    );
    assert!(log.contains("# first bad commit: [bbbb"));
}

//! Which functions of two real builds have the same machine code.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use perfblame::code::compare_functions;

/// Functions that call, jump, switch, read constants of all kinds, and have cold parts.
const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline, noclone))
FIRST
static const int table[64] = { 3, 1, 4, 1, 5, TABLE };
static int calls;
static const char *names[] = { "one", "two", NAMES };
KEEP int changes(int n) { return CHANGE; }
KEEP double scale(double x) { return x * FACTOR + 0.25; }
KEEP int look_up(int n) { calls++; return table[n & 63] + changes(n); }
KEEP const char *name_of(int n) { return names[n & 1]; }
KEEP int branches(int n) {
    switch (n) {
    case 0: return look_up(1);
    case 1: return look_up(9) * 3;
    case 2: puts("two"); return 5;
    case 3: return changes(4) + n;
    case 4: return (int)scale(n);
    case 5: return calls;
    case 6: puts(TEXT); return 7;
    }
    return -1;
}
KEEP int loops(const char *text, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] == 0) { fprintf(stderr, "short: %d\n", i); abort(); }
        sum += text[i] * (int)strlen(text) + branches(i);
    }
    return sum;
}
int main(int argc, char **argv) {
    (void)argv;
    printf("%d %f %s\n", loops("abcdefgh", argc), scale(argc), name_of(argc));
    return 0;
}
"#;

/// What may differ between builds, with what stands there otherwise.
const BLANKS: [(&str, &str); 6] = [
    ("FIRST", ""),
    ("TABLE", "9"),
    ("NAMES", "\"three\""),
    ("CHANGE", "n * 7"),
    ("FACTOR", "1.5"),
    ("TEXT", "\"six\""),
];

const ALL: [&str; 7] = [
    "branches", "changes", "look_up", "loops", "main", "name_of", "scale",
];

fn same_functions(base: &[u8], head: &[u8], wanted: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
    Some(compare_functions(base, head, wanted)?.same)
}

fn build(changes: &[(&str, &str)], flags: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let mut source = SOURCE.to_owned();
    for (blank, usual) in BLANKS {
        let text = changes.iter().find(|change| change.0 == blank);
        source = source.replace(blank, text.map_or(usual, |change| change.1));
    }
    let path = directory.path().join("program.c");
    std::fs::write(&path, source).unwrap();
    let program = directory.path().join("program");
    let output = Command::new("gcc")
        .args(flags)
        .arg("-o")
        .args([&program, &path])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read(program).unwrap()
}

/// Functions that are not the same in both builds.
fn differing(base: &[u8], head: &[u8]) -> Vec<String> {
    let wanted = BTreeSet::from(ALL);
    let same = same_functions(base, head, &wanted).unwrap();
    ALL.iter()
        .filter(|name| !same.contains(**name))
        .map(|name| (*name).to_owned())
        .collect()
}

/// Code and data in front of all else, so that all else moves.
const MOVES: (&str, &str) = (
    "FIRST",
    "int more[77] = { 1 }; const char *first = \"something else first\";\n\
     KEEP int first_of_all(int n) { puts(\"more text\"); more[n & 63] += n; return more[n & 31] / 3; }",
);

const WAYS: [&[&str]; 4] = [
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O2", "-no-pie", "-fno-pie"],
    &["-O1", "-static"],
    &["-O3", "-fno-plt", "-falign-functions=1"],
];

#[test]
#[cfg(target_arch = "x86_64")]
fn a_function_that_only_moved_is_the_same() {
    for flags in WAYS {
        let base = build(&[], flags);
        let head = build(&[MOVES], flags);
        assert_ne!(base, head);
        assert_eq!(differing(&base, &head), [""; 0], "{flags:?}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn what_changed_is_named_and_nothing_else() {
    for flags in WAYS {
        let base = build(&[], flags);
        for (change, named) in [
            (("CHANGE", "n * 9 + 1"), "changes"),
            (("TABLE", "2"), "look_up"),
            (("NAMES", "\"four\""), "name_of"),
            (("FACTOR", "1.75"), "scale"),
            (("TEXT", "\"sixth\""), "branches"),
        ] {
            let head = build(&[MOVES, change], flags);
            assert_eq!(differing(&base, &head), [named], "{change:?} {flags:?}");
        }
    }
}

#[test]
fn what_is_no_program_for_this_machine_is_not_known() {
    let program = build(&[], &["-O1"]);
    let none = BTreeSet::new();
    for other in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF"] {
        assert_eq!(same_functions(&program, other, &none), None);
        assert_eq!(same_functions(other, &program, &none), None);
    }
    let stripped = build(&[], &["-O1", "-s"]);
    assert_eq!(same_functions(&stripped, &program, &none), None);
}

#[test]
fn the_same_code_under_another_name_is_a_rename() {
    let flags = ["-O2"];
    let renamed = |more: &[(&str, &str)]| {
        let mut changes = vec![("FIRST", "#define look_up find_it")];
        changes.extend(more);
        let wanted = BTreeSet::from(ALL)
            .union(&BTreeSet::from(["find_it"]))
            .copied()
            .collect();
        compare_functions(&build(&[], &flags), &build(&changes, &flags), &wanted).unwrap()
    };
    let alike = renamed(&[]);
    let pair = ("find_it".to_owned(), "look_up".to_owned());
    assert_eq!(alike.renamed.into_iter().collect::<Vec<_>>(), [pair]);
    // Its caller refers to another name.
    assert!(alike.same.contains("scale") && !alike.same.contains("branches"));
    // With other content of what it refers to it is another function.
    assert!(renamed(&[("TABLE", "8")]).renamed.is_empty());
}

#[test]
fn damaged_programs_are_no_panic() {
    let program = build(&[], &["-O2"]);
    let wanted = BTreeSet::from(ALL);
    let mut random = perfblame::stats::SplitMix64::new(1);
    for _ in 0..200 {
        let mut damaged = program.clone();
        for _ in 0..40 {
            let at = random.next_u64() as usize % damaged.len();
            damaged[at] = random.next_u64() as u8;
        }
        let _ = same_functions(&program, &damaged, &wanted);
        let shorter = random.next_u64() as usize % program.len();
        let _ = same_functions(&damaged[..shorter], &program, &wanted);
    }
}

/// `main` hands a number on to `run`, and that to `work`, which takes that much longer.
fn rounds(millions: u32) -> String {
    format!(
        "#define KEEP __attribute__((noinline, noclone))\n\
         KEEP static unsigned work(unsigned n) {{\n\
             unsigned x = 1;\n    for (unsigned i = 0; i < n; i++) x = x * 1664525u + 1013904223u;\n    return x;\n}}\n\
         KEEP static unsigned run(unsigned n) {{ return work(n) + 1; }}\n\
         int main(void) {{\n    volatile unsigned x = run({millions}u * 1000000u);\n    return x == 12345;\n}}\n"
    )
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_comparison_says_what_changed_in_unchanged_code_and_blames_what_calls_it() {
    let repo = common::TestRepo::new();
    let plan = "[command]\nrun = '{artifact}'\nruns = 1\nwarmup-runs = 0\nprofile-runs = 2\n\
                [disturbance]\nrepeats = 0\n";
    let makefile = "count: count.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    repo.commit(
        "twenty",
        &[
            ("Makefile", makefile),
            ("count.c", &rounds(20)),
            ("perfblame.toml", plan),
        ],
    );
    repo.commit("eighty", &[("count.c", &rounds(80))]);
    let ran = repo.compare(&["--blocks", "8", "main~1", "main"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report = repo.report();
    let functions = report["functions"].as_array().unwrap();
    let notes = |name: &str| {
        let function = functions.iter().find(|f| f["name"] == name).unwrap();
        let flagged = &function["inclusive"]["verdict"];
        assert_eq!(*flagged, "regressed", "{function:#}");
        let notes = function["notes"].as_array().unwrap();
        let kinds: Vec<&str> = notes.iter().map(|n| n["kind"].as_str().unwrap()).collect();
        kinds.join(" ")
    };
    assert_eq!(notes("work"), "indirect");
    // The cost of `run` is that of `work`, and its own code is unchanged: whether the numbers also show
    // that nothing else of it followed is the measurement's.
    let of_run = notes("run");
    assert!(
        ["inherited", "inherited indirect"].contains(&of_run.as_str()),
        "{of_run}"
    );
    // `main` changed, and calls `run`: it is the cause, or may be.
    assert_eq!(notes("main"), "inherited");
}

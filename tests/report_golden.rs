//! Golden files of every form of a report, and of the differential flame graph.
//!
//! `UPDATE_GOLDEN=1 cargo test` renews them all.

use std::fs;
use std::path::{Path, PathBuf};

use perfblame::report::{CompareReport, Profiles, github, markdown, text, write_all};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/report")
        .join(name)
}

fn report() -> CompareReport {
    serde_json::from_str(&fs::read_to_string(fixture("report.json")).expect("the fixture is there"))
        .expect("the fixture is a report")
}

fn lines(name: &str) -> Vec<String> {
    let text = fs::read_to_string(fixture(name)).expect("the fixture is there");
    text.lines().map(str::to_owned).collect()
}

fn assert_golden(name: &str, found: &str) {
    let path = fixture(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).expect("the fixture can be written");
    }
    let golden = fs::read_to_string(&path).expect("the golden file is there");
    assert!(
        golden == found,
        "{name} differs; look at it and renew it with UPDATE_GOLDEN=1"
    );
}

#[test]
fn text_markdown_and_annotations() {
    assert_golden("report.txt", &text::render(&report(), 80, false));
    assert_golden("report.md", &markdown::render(&report()));
    assert_golden("report.github", &github::render(&report()));
}

#[test]
fn all_files_are_written_whole_and_the_same_every_time() {
    let profiles = Profiles {
        base: lines("base.folded"),
        head: lines("head.folded"),
    };
    let first = tempfile::tempdir().expect("a directory");
    let second = tempfile::tempdir().expect("a directory");
    let written = write_all(first.path(), &report(), &profiles).expect("it is written");
    write_all(second.path(), &report(), &profiles).expect("it is written");
    let names: Vec<String> = written
        .iter()
        .map(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "report.html",
            "report.json",
            "report.md",
            "base.folded",
            "head.folded",
            "base.svg",
            "head.svg",
            "diff.svg"
        ]
    );
    for name in &names {
        let one = fs::read(first.path().join(name)).expect("it is there");
        let other = fs::read(second.path().join(name)).expect("it is there");
        assert!(one == other, "{name} differs from run to run");
    }
    // Nothing is left of the files under other names.
    assert_eq!(fs::read_dir(first.path()).expect("it is there").count(), 8);
    let svg = fs::read_to_string(first.path().join("diff.svg")).expect("it is there");
    assert_golden("diff.svg", &svg);
}

#[test]
fn a_comparison_without_profiles_is_written_too() {
    let mut report = report();
    report.functions.clear();
    report.event = None;
    let dir = tempfile::tempdir().expect("a directory");
    write_all(dir.path(), &report, &Profiles::default()).expect("it is written");
    let page = fs::read_to_string(dir.path().join("report.html")).expect("it is there");
    assert!(page.contains("No profile was taken."));
}

//! Walks, ancestors, classes and changes.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod repository;

use perfblame::repo::{
    ChangeKind, Hunk, PathsDigester, Pathspecs, RepoError, Repository, Revision, Walk,
};
use repository::TestRepository;

/// main: A, B, M, C; side: A, S, T merged into M.
fn merged() -> (TestRepository, Repository) {
    let repository = TestRepository::with(&[("a", "1\n")]);
    repository.git(&["tag", "A"]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.commit_file("s", "1\n", "S");
    repository.git(&["tag", "S"]);
    repository.commit_file("s", "2\n", "T");
    repository.git(&["tag", "T"]);
    repository.git(&["checkout", "--quiet", "main"]);
    repository.commit_file("a", "2\n", "B");
    repository.git(&["tag", "B"]);
    repository.git(&["merge", "--quiet", "--no-ff", "-m", "M", "side"]);
    repository.git(&["tag", "M"]);
    repository.commit_file("a", "3\n", "C");
    repository.git(&["tag", "C"]);
    let opened = Repository::open(repository.path()).unwrap();
    (repository, opened)
}

fn subjects(revisions: &[Revision]) -> Vec<&str> {
    revisions
        .iter()
        .map(|revision| revision.subject_line.as_str())
        .collect()
}

#[test]
fn a_walk_visits_what_git_log_does_parents_first() {
    let (repository, opened) = merged();
    for (base, head, walk, flag) in [
        ("A", "C", Walk::Full, None),
        ("A", "C", Walk::FirstParent, Some("--first-parent")),
        ("B", "M", Walk::Full, None),
        ("B", "M", Walk::FirstParent, Some("--first-parent")),
        ("S", "C", Walk::Full, None),
        ("T", "C", Walk::FirstParent, Some("--first-parent")),
        ("C", "A", Walk::Full, None),
        ("C", "C", Walk::Full, None),
    ] {
        let between = |name| opened.resolve(name).unwrap();
        let found = opened
            .between(&between(base), &between(head), walk)
            .unwrap();
        let range = format!("{base}..{head}");
        let mut arguments = vec!["log", "--format=%s", &range];
        arguments.extend(flag);
        let log = repository.git(&arguments);
        let mut expected: Vec<&str> = log.lines().collect();
        let mut sorted = subjects(&found);
        for (index, revision) in found.iter().enumerate() {
            let earlier: Vec<&String> = found[..index].iter().map(|earlier| &earlier.id).collect();
            for parent in &revision.parents {
                let is_in_range = found.iter().any(|other| other.id == *parent);
                assert!(
                    !is_in_range || earlier.contains(&parent),
                    "{range} {revision:?}"
                );
            }
        }
        expected.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(sorted, expected, "{range} {walk:?}");
    }
    let range = |walk| {
        let (base, head) = (opened.resolve("A").unwrap(), opened.resolve("C").unwrap());
        opened.between(&base, &head, walk).unwrap()
    };
    assert_eq!(subjects(&range(Walk::FirstParent)), ["B", "M", "C"]);
    assert_eq!(subjects(&range(Walk::Full)).last(), Some(&"C"));
}

#[test]
fn ancestors_and_merge_bases_are_gits() {
    let (repository, opened) = merged();
    let at = |name: &str| opened.resolve(name).unwrap();
    for (ancestor, descendant, expected) in [
        ("A", "C", true),
        ("S", "M", true),
        ("A", "A", true),
        ("B", "T", false),
        ("C", "A", false),
    ] {
        let found = opened.is_ancestor(&at(ancestor), &at(descendant)).unwrap();
        assert_eq!(found, expected, "{ancestor} {descendant}");
    }
    let base = opened.merge_base(&at("B"), &at("T")).unwrap().unwrap();
    assert_eq!(base, at("A"));
    repository.git(&["checkout", "--quiet", "--orphan", "unrelated"]);
    repository.commit("unrelated");
    assert_eq!(opened.merge_base(&at("unrelated"), &at("C")).unwrap(), None);
}

#[test]
fn commits_that_agree_under_the_paths_are_of_one_class() {
    let repository =
        TestRepository::with(&[("src/a.c", "1\n"), ("doc/x.md", "1\n"), ("Makefile", "x\n")]);
    repository.git(&["tag", "first"]);
    repository.commit_file("doc/x.md", "2\n", "docs");
    repository.git(&["tag", "docs"]);
    repository.commit_file("src/README.md", "2\n", "docs among the sources");
    repository.git(&["tag", "readme"]);
    repository.commit_file("src/a.c", "2\n", "code");
    repository.git(&["tag", "code"]);
    repository.commit_file("src/a.c", "1\n", "back");
    repository.git(&["rm", "--quiet", "src/README.md"]);
    repository.git(&["commit", "--quiet", "--amend", "-m", "back"]);
    repository.git(&["tag", "back"]);
    repository.git(&["update-index", "--chmod=+x", "src/a.c"]);
    repository.git(&["commit", "--quiet", "-m", "mode"]);
    repository.git(&["tag", "mode"]);
    let opened = Repository::open(repository.path()).unwrap();
    let classes = |specs: &[&str]| {
        let digester = PathsDigester::new(Pathspecs::parse(specs).unwrap());
        ["first", "docs", "readme", "code", "back", "mode"].map(|tag| {
            digester
                .digest(&opened, &opened.resolve(tag).unwrap())
                .unwrap()
        })
    };
    let pattern = |specs: &[&str]| {
        let digests = classes(specs);
        let first_with = |digest| digests.iter().position(|other| other == digest).unwrap();
        digests.iter().map(first_with).collect::<Vec<_>>()
    };
    assert_eq!(pattern(&[]), [0, 1, 2, 3, 1, 5]);
    assert_eq!(pattern(&["src"]), [0, 0, 2, 3, 0, 5]);
    assert_eq!(pattern(&["src", "Makefile"]), [0, 0, 2, 3, 0, 5]);
    assert_eq!(pattern(&["*.c", "Makefile"]), [0, 0, 0, 3, 0, 5]);
    assert_eq!(pattern(&["src", ":!*.md"]), [0, 0, 0, 3, 0, 5]);
    assert_eq!(pattern(&[":!doc", ":!src/README.md"]), [0, 0, 0, 3, 0, 5]);
    assert_eq!(pattern(&["Makefile"]), [0, 0, 0, 0, 0, 0]);
    let whole = classes(&[]);
    assert_eq!(whole[0], repository.git(&["rev-parse", "first^{tree}"]));
}

#[test]
fn paths_that_match_nothing_are_an_error_and_no_class() {
    let repository = TestRepository::with(&[("src/a.c", "1\n")]);
    let opened = Repository::open(repository.path()).unwrap();
    let digester = PathsDigester::new(Pathspecs::parse(&["srcs", "*.cpp"]).unwrap());
    let error = digester
        .digest(&opened, &opened.resolve("HEAD").unwrap())
        .unwrap_err();
    assert!(matches!(error, RepoError::NothingMatches { .. }));
    assert!(
        error
            .to_string()
            .contains("srcs, *.cpp; check subject.paths"),
        "{error}"
    );
}

#[test]
fn changes_have_the_lines_of_git_diff() {
    let lines = |range: std::ops::RangeInclusive<u32>| {
        range
            .map(|number| format!("line {number}\n"))
            .collect::<String>()
    };
    let repository = TestRepository::with(&[
        ("a.c", &lines(1..=20)),
        ("gone.c", "x\n"),
        ("old name.c", &lines(1..=30)),
    ]);
    let changed = lines(1..=20)
        .replace("line 5\n", "line five\nand more\n")
        .replace("line 15\n", "");
    repository.write("a.c", &changed);
    repository.git(&["mv", "old name.c", "new name.c"]);
    repository.git(&["rm", "--quiet", "gone.c"]);
    repository.write("new.c", "1\n2\n");
    repository.commit("changes");
    let opened = Repository::open(repository.path()).unwrap();
    let changes = opened.changes(&opened.resolve("HEAD").unwrap()).unwrap();
    let of = |name: &str| {
        let is_it = |path: &Option<String>| path.as_deref() == Some(name);
        changes
            .iter()
            .find(|change| is_it(&change.new_path) || is_it(&change.old_path))
            .unwrap()
    };
    let hunk = |old_start, old_lines, new_start, new_lines| Hunk {
        old_start,
        old_lines,
        new_start,
        new_lines,
    };
    assert_eq!(changes.len(), 4);
    assert_eq!(of("a.c").kind, ChangeKind::Modified);
    assert_eq!(of("a.c").hunks, [hunk(5, 1, 5, 2), hunk(15, 1, 15, 0)]);
    assert_eq!(of("gone.c").kind, ChangeKind::Deleted);
    assert_eq!(of("gone.c").new_path, None);
    assert_eq!(of("new.c").hunks, [hunk(0, 0, 1, 2)]);
    assert_eq!(of("new name.c").kind, ChangeKind::Renamed);
    assert_eq!(of("new name.c").old_path.as_deref(), Some("old name.c"));
    let first = opened.changes(&opened.resolve("HEAD~1").unwrap()).unwrap();
    assert!(first.iter().all(|change| change.kind == ChangeKind::Added));
    assert_eq!(first.len(), 3);
}

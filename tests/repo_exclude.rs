//! Where the store is, and that `git status` does not see it.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod repository;

use std::fs;
use std::path::Path;

use perfblame::repo::Repository;
use repository::{TestRepository, git_in};

/// Puts a store where the repository says, and checks that git does not see it.
fn put_store(place: &Path) -> std::path::PathBuf {
    let opened = Repository::open(place).unwrap();
    let store = opened.default_store();
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("store.sqlite"), "").unwrap();
    opened.exclude_store(&store).unwrap();
    opened.exclude_store(&store).unwrap();
    store
}

#[test]
fn the_store_is_excluded_once_and_nothing_else_changes() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let exclude = repository.path().join(".git/info/exclude");
    fs::write(&exclude, "mine # no line end").unwrap();
    let store = put_store(&repository.path().join(".git/.."));
    assert_eq!(
        fs::canonicalize(store).unwrap(),
        fs::canonicalize(repository.path())
            .unwrap()
            .join(".perfblame")
    );
    assert_eq!(
        fs::read_to_string(&exclude).unwrap(),
        "mine # no line end\n/.perfblame/\n"
    );
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_store_that_is_ignored_already_changes_nothing() {
    let repository = TestRepository::with(&[(".gitignore", ".perfblame\n")]);
    let before = fs::read(repository.path().join(".git/info/exclude")).unwrap();
    put_store(repository.path());
    assert_eq!(
        fs::read(repository.path().join(".git/info/exclude")).unwrap(),
        before
    );
}

#[test]
fn worktrees_share_the_store_of_the_main_one() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let worktree = repository.beside("worktree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
    ]);
    let store = put_store(&worktree);
    assert!(store.ends_with("repository/.perfblame"), "{store:?}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(git_in(&worktree, &["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_keeps_the_store_inside() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let bare = repository.beside("bare.git");
    repository.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let store = put_store(&bare);
    assert!(store.ends_with("bare.git/.perfblame"), "{store:?}");
    git_in(&bare, &["fsck", "--strict"]);
}

#[test]
fn a_submodules_checkout_has_a_store_of_its_own_that_its_parent_does_not_see() {
    let library = TestRepository::with(&[("lib.c", "int f;\n")]);
    let repository = TestRepository::with(&[("a", "1\n")]);
    let url = library.path().display().to_string();
    repository.git(&["submodule", "--quiet", "add", &url, "lib"]);
    repository.commit("with a submodule");
    let store = put_store(&repository.path().join("lib"));
    assert!(store.ends_with("lib/.perfblame"), "{store:?}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_store_elsewhere_in_the_working_tree_is_excluded_and_one_outside_is_not() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let opened = Repository::open(repository.path()).unwrap();
    let root = fs::canonicalize(repository.path()).unwrap();
    opened.exclude_store(&root.join("bench/store")).unwrap();
    opened
        .exclude_store(&repository.beside("elsewhere"))
        .unwrap();
    let exclude = fs::read_to_string(repository.path().join(".git/info/exclude")).unwrap();
    let own: Vec<&str> = exclude
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(own, ["/bench/store/"]);
}

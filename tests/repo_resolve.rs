//! From names to commits, in every kind of repository.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod repository;

use std::fs;

use perfblame::repo::{RepoError, Repository};
use repository::{TestRepository, git_in, try_git_in};

#[test]
fn every_kind_of_name_resolves_to_the_commit_that_git_says() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    repository.git(&["tag", "light"]);
    repository.git(&["tag", "-a", "-m", "annotated", "heavy"]);
    repository.commit_file(
        "a",
        "2\n",
        "second: a longer\nsubject on two lines\n\nand a body",
    );
    repository.git(&["branch", "side/branch"]);
    let opened = Repository::open(repository.path()).unwrap();
    let id = repository.git(&["rev-parse", "HEAD"]);
    for name in [
        "HEAD",
        "main",
        "light",
        "heavy",
        "side/branch",
        "HEAD~1",
        "main^",
        "heavy^{commit}",
        ":/first",
        &id,
        &id[..8],
        "HEAD^0",
        "@",
    ] {
        // `:/text^{commit}` is a text to git, not a name with a suffix.
        let expected = match name {
            ":/first" => repository.git(&["rev-parse", name]),
            _ => repository.git(&["rev-parse", &format!("{name}^{{commit}}")]),
        };
        assert_eq!(opened.resolve(name).unwrap().id, expected, "{name}");
    }
    let head = opened.resolve("HEAD").unwrap();
    assert_eq!(head.subject_line, "second: a longer subject on two lines");
    assert_eq!(head.author_time, 1_577_934_245);
    assert_eq!(head.tree, repository.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(head.parents, [repository.git(&["rev-parse", "HEAD~1"])]);
    assert_eq!(
        head.short,
        repository.git(&["rev-parse", "--short", "HEAD"])
    );
}

#[test]
fn a_repository_is_found_from_below_in_worktrees_and_bare() {
    let repository = TestRepository::with(&[("deep/down/a", "1\n")]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let bare = repository.beside("bare.git");
    let worktree = repository.beside("worktree");
    repository.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
    ]);
    for place in [
        repository.path().join("deep/down"),
        repository.path().join(".git"),
        bare.clone(),
        worktree.join("deep"),
    ] {
        let opened = Repository::open(&place).unwrap();
        assert_eq!(opened.resolve("HEAD").unwrap().id, head, "{place:?}");
    }
    assert!(Repository::open(&bare).unwrap().work_tree().is_none());
}

#[test]
fn what_is_no_repository_is_refused_with_what_to_do() {
    let outer = tempfile::tempdir().unwrap();
    let error = Repository::open(outer.path()).unwrap_err();
    assert!(matches!(error, RepoError::NotARepository { .. }), "{error}");
    assert!(error.to_string().contains("--repo DIR"));
    let error = Repository::open(&outer.path().join("no/such")).unwrap_err();
    assert!(matches!(error, RepoError::NoSuchPath { .. }), "{error}");
}

#[test]
fn an_unknown_revision_says_what_it_may_mean() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let clone = repository.beside("clone");
    repository.git(&["branch", "feature"]);
    repository.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let opened = Repository::open(&clone).unwrap();
    for (name, said) in [
        ("nonsense", "fetch --all --tags"),
        ("feature", "there is origin/feature"),
        ("MAIN", "there is main"),
        ("HEAD~5", "unknown revision `HEAD~5`"),
        (
            "1234567890123456789012345678901234567890",
            "unknown revision",
        ),
        ("", "unknown revision ``"),
        ("--all", "unknown revision"),
        ("main^{nonsense", "unknown revision"),
        ("HEAD..main", "is a range"),
        ("HEAD:a", "is a blob"),
        ("HEAD^{tree}", "is a tree"),
    ] {
        let error = opened.resolve(name).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
}

#[test]
fn an_empty_repository_says_that_it_is_empty() {
    let repository = TestRepository::new();
    let error = Repository::open(repository.path())
        .unwrap()
        .resolve("HEAD")
        .unwrap_err();
    assert!(error.to_string().contains("no commits yet"), "{error}");
}

#[test]
fn an_ambiguous_short_id_lists_its_candidates() {
    let repository = TestRepository::new();
    // Enough commits that two of them share four digits, which is the shortest prefix git takes.
    let mut commits = Vec::new();
    let (short, ids) = loop {
        commits.push(repository.commit(&format!("commit {}", commits.len())));
        let short = commits[commits.len() - 1][..4].to_owned();
        let ids: Vec<&String> = commits.iter().filter(|id| id.starts_with(&short)).collect();
        if let [_, _] = ids.as_slice() {
            break (short, ids.into_iter().cloned().collect::<Vec<_>>());
        }
    };
    let opened = Repository::open(repository.path()).unwrap();
    let error = opened.resolve(&short).unwrap_err();
    let RepoError::AmbiguousRevision { candidates, .. } = &error else {
        panic!("{error}");
    };
    assert!(candidates.len() >= 2);
    for id in ids {
        let is_there = candidates
            .iter()
            .any(|text| text.starts_with(&id[..10]) && text.contains("\"commit "));
        assert!(is_there, "{candidates:?} lack {id}");
    }
}

#[test]
fn a_short_id_of_a_commit_and_a_blob_is_the_commit() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    // A blob whose id begins with the same four digits.
    let wanted = &commit[..4];
    let path = repository.beside("blob");
    let mut number = 0u32;
    loop {
        let text = format!("blob {number}");
        let header = format!("blob {}\0{text}", text.len());
        let id = sha1_hex(header.as_bytes());
        if id.starts_with(wanted) {
            fs::write(&path, text).unwrap();
            break;
        }
        number += 1;
    }
    let blob = repository.git(&["hash-object", "-w", path.to_str().unwrap()]);
    assert_eq!(&blob[..4], wanted);
    let opened = Repository::open(repository.path()).unwrap();
    assert_eq!(opened.resolve(wanted).unwrap().id, commit);
    let short_with_suffix = format!("{wanted}^0");
    assert_eq!(opened.resolve(&short_with_suffix).unwrap().id, commit);
}

fn sha1_hex(bytes: &[u8]) -> String {
    git2::Oid::hash_object(
        git2::ObjectType::Blob,
        &bytes[bytes.iter().position(|b| *b == 0).unwrap() + 1..],
    )
    .unwrap()
    .to_string()
}

#[test]
fn a_tag_and_a_branch_of_one_name_are_ambiguous_unless_they_agree() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    repository.git(&["tag", "v1"]);
    repository.git(&["branch", "v1"]);
    let opened = Repository::open(repository.path()).unwrap();
    assert!(opened.resolve("v1").is_ok());
    repository.commit_file("a", "2\n", "second");
    repository.git(&["branch", "--force", "v1", "HEAD"]);
    for name in ["v1", "v1~0"] {
        let error = opened.resolve(name).unwrap_err().to_string();
        assert!(
            error.contains("refs/tags/v1")
                && error.contains("refs/heads/v1")
                && error.contains("\"second\""),
            "{error}"
        );
    }
    assert!(opened.resolve("refs/tags/v1").is_ok());
}

#[test]
fn a_shallow_clone_that_lacks_the_commit_says_how_to_get_it() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    repository.commit_file("a", "2\n", "second");
    let clone = repository.beside("shallow");
    let url = format!("file://{}", repository.path().display());
    git_in(
        &repository.beside(""),
        &[
            "clone",
            "--quiet",
            "--depth=1",
            &url,
            clone.to_str().unwrap(),
        ],
    );
    let opened = Repository::open(&clone).unwrap();
    assert!(opened.is_shallow());
    let head = opened.resolve("HEAD").unwrap();
    assert_eq!(head.subject_line, "second");
    for name in ["HEAD~1", first.as_str(), "v0.1"] {
        let error = opened.resolve(name).unwrap_err().to_string();
        assert!(error.contains("fetch --unshallow"), "{name}: {error}");
    }
}

#[test]
fn a_partial_clone_works_until_an_object_is_needed_that_it_lacks() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    repository.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = repository.beside("partial");
    let url = format!("file://{}", repository.path().display());
    git_in(
        &repository.beside(""),
        &[
            "clone",
            "--quiet",
            "--no-checkout",
            "--filter=blob:none",
            &url,
            clone.to_str().unwrap(),
        ],
    );
    let opened = Repository::open(&clone).unwrap();
    let head = opened.resolve("HEAD").unwrap();
    let export = repository.beside("export");
    let error = opened
        .export(&head, &export, &Default::default())
        .unwrap_err();
    let RepoError::NotFetched { remote, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(remote, "origin");
    assert!(!export.exists());
    // The advice, word for word.
    let text = error.to_string();
    let advice = text.split('`').nth(1).unwrap();
    let run = std::process::Command::new("sh")
        .args(["-c", advice])
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{advice}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    Repository::open(&clone)
        .unwrap()
        .export(&head, &export, &Default::default())
        .unwrap();
    assert_eq!(fs::read_to_string(export.join("a")).unwrap(), "1\n");
}

#[test]
fn a_missing_object_of_a_full_clone_is_damage() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let blob = repository.git(&["rev-parse", "HEAD:a"]);
    fs::remove_file(
        repository
            .path()
            .join(".git/objects")
            .join(&blob[..2])
            .join(&blob[2..]),
    )
    .unwrap();
    let opened = Repository::open(repository.path()).unwrap();
    let head = opened.resolve("HEAD").unwrap();
    let error = opened
        .export(&head, &repository.beside("export"), &Default::default())
        .unwrap_err();
    assert!(matches!(error, RepoError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&blob) && error.to_string().contains("fsck"));
}

#[test]
fn a_repository_in_a_format_that_cannot_be_read_says_so() {
    let outer = tempfile::tempdir().unwrap();
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let path = outer.path().join(&format[2..5]);
        let made = try_git_in(
            outer.path(),
            &["init", "--quiet", format, path.to_str().unwrap()],
        );
        assert!(made.status.success());
        let error = Repository::open(&path).unwrap_err();
        assert!(
            matches!(error, RepoError::UnsupportedFormat { .. }),
            "{format}: {error}"
        );
    }
}

#[test]
fn another_users_repository_is_refused_with_gits_own_remedy() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let chown = std::process::Command::new("chown")
        .args(["-R", "12345:12345"])
        .arg(repository.path())
        .output()
        .unwrap();
    if !chown.status.success() {
        // Only root may give files away; without it there is no such repository to be made.
        return;
    }
    let error = Repository::open(repository.path()).unwrap_err();
    assert!(matches!(error, RepoError::ForeignOwner { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("git config --global --add safe.directory")
    );
}

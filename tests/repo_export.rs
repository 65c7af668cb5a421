//! What an export writes, and what it refuses to write.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod repository;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use perfblame::repo::{ExportOptions, ExportReport, RepoError, Repository};
use repository::{TestRepository, git_in};

fn export(repository: &Path, revision: &str, to: &Path) -> Result<ExportReport, RepoError> {
    let opened = Repository::open(repository)?;
    let options = ExportOptions {
        mtime: 1_000_000_000,
        ..ExportOptions::default()
    };
    opened.export(&opened.resolve(revision)?, to, &options)
}

/// All paths below a directory with kind, mode and content.
fn listing(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    fn walk(root: &Path, directory: &Path, found: &mut Vec<(PathBuf, u32, Vec<u8>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = match metadata.file_type() {
                kind if kind.is_dir() => Vec::new(),
                kind if kind.is_symlink() => fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                _ => fs::read(&path).unwrap(),
            };
            found.push((
                path.strip_prefix(root).unwrap().to_owned(),
                metadata.mode(),
                content,
            ));
            if metadata.is_dir() {
                walk(root, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

#[test]
fn an_export_is_the_commit_and_touches_nothing() {
    let repository = TestRepository::new();
    repository.write("dir/file with space", "text\n");
    repository.write("run.sh", "#!/bin/sh\n");
    repository.write("empty", "");
    repository.write("crlf.txt", "a\r\nb\r\n");
    repository.write("kept/ignored.txt", "kept although export-ignore\n");
    repository.write(".gitattributes", "kept export-ignore\n*.txt text eol=lf\n");
    fs::write(repository.path().join("binary"), [0u8, 255, 10, 13]).unwrap();
    symlink("nowhere/at/all", repository.path().join("dangling")).unwrap();
    symlink("/etc/passwd", repository.path().join("absolute")).unwrap();
    symlink("dir", repository.path().join("to-directory")).unwrap();
    repository.git(&["-c", "core.autocrlf=false", "add", "--all"]);
    repository.commit("all kinds");
    repository.write("untracked", "not in it\n");
    repository.write("empty", "changed in the working tree\n");
    repository.git(&["add", "empty"]);
    let before = repository.snapshot();

    let to = repository.beside("export");
    let report = export(repository.path(), "HEAD", &to).unwrap();
    assert_eq!(repository.snapshot(), before);

    let found = listing(&to);
    let names: Vec<&str> = found
        .iter()
        .map(|(path, ..)| path.to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            ".gitattributes",
            "absolute",
            "binary",
            "crlf.txt",
            "dangling",
            "dir",
            "dir/file with space",
            "empty",
            "kept",
            "kept/ignored.txt",
            "run.sh",
            "to-directory",
        ]
    );
    let of = |name: &str| {
        found
            .iter()
            .find(|(path, ..)| path == Path::new(name))
            .unwrap()
    };
    assert_eq!(of("run.sh").1 & 0o7777, 0o755);
    assert_eq!(of("empty").1 & 0o7777, 0o644);
    assert_eq!(of("empty").2, b"");
    assert_eq!(of("binary").2, [0u8, 255, 10, 13]);
    assert_eq!(of("dangling").2, b"nowhere/at/all");
    assert_eq!(of("absolute").2, b"/etc/passwd");
    // The blob as git has it: no filter is applied.
    assert_eq!(of("crlf.txt").2, repository_blob(&repository, "crlf.txt"));
    for (path, ..) in &found {
        let metadata = fs::symlink_metadata(to.join(path)).unwrap();
        assert_eq!(metadata.mtime(), 1_000_000_000, "{path:?}");
    }
    assert_eq!(report.files, 10);
    assert!(report.missing_lfs.is_empty() && report.submodules.is_empty());
}

fn repository_blob(repository: &TestRepository, path: &str) -> Vec<u8> {
    let output = std::process::Command::new("git")
        .args(["cat-file", "blob", &format!("HEAD:{path}")])
        .current_dir(repository.path())
        .output()
        .unwrap();
    output.stdout
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    let repository = TestRepository::with(&[("dir/run", "#!/bin/sh\n"), ("dir/file", "x")]);
    let to = repository.beside("export");
    let program = std::env::current_exe().unwrap();
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            "umask 077; exec \"$0\" --exact child_export --ignored",
        ])
        .arg(&program)
        .env("EXPORT_FROM", repository.path())
        .env("EXPORT_TO", &to)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    for (name, mode) in [
        ("", 0o755),
        ("dir", 0o755),
        ("dir/run", 0o755),
        ("dir/file", 0o644),
    ] {
        let metadata = fs::metadata(to.join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "{name}");
    }
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child_export() {
    let from = PathBuf::from(std::env::var_os("EXPORT_FROM").unwrap());
    let to = PathBuf::from(std::env::var_os("EXPORT_TO").unwrap());
    export(&from, "HEAD", &to).unwrap();
}

#[test]
fn an_export_is_all_or_nothing() {
    let repository = TestRepository::with(&[("a", "1\n"), ("z", "last\n")]);
    let taken = repository.beside("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("mine"), "precious").unwrap();
    let error = export(repository.path(), "HEAD", &taken).unwrap_err();
    assert!(
        matches!(error, RepoError::DestinationTaken { .. }),
        "{error}"
    );
    assert_eq!(listing(&taken).len(), 1);

    let empty = repository.beside("empty");
    fs::create_dir(&empty).unwrap();
    export(repository.path(), "HEAD", &empty).unwrap();
    assert_eq!(listing(&empty).len(), 2);

    let blob = repository.git(&["rev-parse", "HEAD:z"]);
    let object = repository
        .path()
        .join(".git/objects")
        .join(&blob[..2])
        .join(&blob[2..]);
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&object, "damaged").unwrap();
    let broken = repository.beside("broken");
    export(repository.path(), "HEAD", &broken).unwrap_err();
    assert!(!broken.exists());
    let left: Vec<_> = fs::read_dir(repository.beside(""))
        .unwrap()
        .flatten()
        .collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with('.')),
        "{left:?}"
    );
}

/// Makes a commit of a tree that git itself would not let in.
fn hostile_commit(repository: &TestRepository, entries: &[(&str, &str, &str)]) -> String {
    let mut content = Vec::new();
    for (mode, name, id) in entries {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        content.extend_from_slice(git2::Oid::from_str(id).unwrap().as_bytes());
    }
    let path = repository.beside("tree-object");
    fs::write(&path, content).unwrap();
    let tree = repository.git(&[
        "hash-object",
        "-t",
        "tree",
        "-w",
        "--literally",
        path.to_str().unwrap(),
    ]);
    repository.git(&["commit-tree", "-m", "hostile", &tree])
}

#[test]
fn a_hostile_tree_is_refused_and_nothing_of_it_is_written() {
    let repository = TestRepository::with(&[("a", "content\n"), ("d/config", "[core]\n")]);
    let blob = repository.git(&["rev-parse", "HEAD:a"]);
    let tree = repository.git(&["rev-parse", "HEAD:d"]);
    let link = repository.beside("link");
    fs::write(&link, repository.beside("outside").to_str().unwrap()).unwrap();
    let link = repository.git(&["hash-object", "-w", link.to_str().unwrap()]);
    fs::create_dir(repository.beside("outside")).unwrap();
    for (what, entries) in [
        ("git directory", vec![("40000", ".git", tree.as_str())]),
        (
            "git directory in capitals",
            vec![("40000", ".GIT", tree.as_str())],
        ),
        ("git file", vec![("100644", ".git", blob.as_str())]),
        ("parent", vec![("40000", "..", tree.as_str())]),
        ("itself", vec![("100644", ".", blob.as_str())]),
        ("slash", vec![("100644", "../escaped", blob.as_str())]),
        (
            "absolute",
            vec![("100644", "/tmp/perfblame-escaped", blob.as_str())],
        ),
        (
            "through a link",
            vec![
                ("120000", "x", link.as_str()),
                ("40000", "x", tree.as_str()),
            ],
        ),
        (
            "twice",
            vec![
                ("100644", "x", blob.as_str()),
                ("100644", "x", blob.as_str()),
            ],
        ),
    ] {
        let commit = hostile_commit(&repository, &entries);
        let to = repository.beside("export");
        let error = export(repository.path(), &commit, &to).unwrap_err();
        let is_refused = matches!(
            error,
            RepoError::HostileEntry { .. } | RepoError::Damaged { .. }
        );
        assert!(is_refused, "{what}: {error}");
        assert!(!to.exists(), "{what}");
        assert!(
            fs::read_dir(repository.beside("outside"))
                .unwrap()
                .next()
                .is_none(),
            "{what}"
        );
        assert!(!repository.beside("escaped").exists(), "{what}");
    }
}

#[test]
fn a_submodule_is_exported_from_gits_copy_or_its_checkout_or_refused() {
    let library = TestRepository::with(&[("lib.c", "int f;\n")]);
    let inner = TestRepository::with(&[("inner.c", "int g;\n")]);
    let url = inner.path().display().to_string();
    library.git(&["submodule", "--quiet", "add", &url, "inner"]);
    library.commit("with a submodule");
    let first = library.git(&["rev-parse", "HEAD"]);
    let repository = TestRepository::with(&[("a", "1\n")]);
    let url = library.path().display().to_string();
    repository.git(&[
        "submodule",
        "--quiet",
        "add",
        "--name",
        "odd name",
        &url,
        "deps/lib",
    ]);
    repository.commit("uses it");
    repository.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);

    let to = repository.beside("whole");
    let report = export(repository.path(), "HEAD", &to).unwrap();
    assert_eq!(
        fs::read_to_string(to.join("deps/lib/lib.c")).unwrap(),
        "int f;\n"
    );
    assert_eq!(
        fs::read_to_string(to.join("deps/lib/inner/inner.c")).unwrap(),
        "int g;\n"
    );
    let paths: Vec<&str> = report
        .submodules
        .iter()
        .map(|found| found.path.as_str())
        .collect();
    assert_eq!(paths, ["deps/lib", "deps/lib/inner"]);
    assert_eq!(report.submodules[0].commit, first);

    // From a linked worktree, whose own checkout was never made.
    let worktree = repository.beside("worktree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        worktree.to_str().unwrap(),
    ]);
    export(&worktree, "HEAD", &repository.beside("from-worktree")).unwrap();

    // A clone without submodules: which one, and what to do.
    let clone = repository.beside("clone");
    let url = repository.path().display().to_string();
    git_in(
        &repository.beside(""),
        &["clone", "--quiet", &url, clone.to_str().unwrap()],
    );
    let to = repository.beside("refused");
    let error = export(&clone, "HEAD", &to).unwrap_err();
    let RepoError::SubmoduleMissing {
        path,
        commit,
        remedy,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((path.as_str(), commit), ("deps/lib", &first));
    assert!(
        remedy.contains("submodule update --init --recursive deps/lib"),
        "{remedy}"
    );
    assert!(!to.exists());

    // Left out on demand, and said.
    let opened = Repository::open(&clone).unwrap();
    let options = ExportOptions {
        skip_submodules: vec!["deps/lib".to_owned()],
        ..ExportOptions::default()
    };
    let report = opened
        .export(&opened.resolve("HEAD").unwrap(), &to, &options)
        .unwrap();
    assert_eq!(report.skipped_submodules, ["deps/lib"]);
    assert!(fs::read_dir(to.join("deps/lib")).unwrap().next().is_none());

    // A checkout that lacks the newer commit: another remedy, which works.
    let newer = library.commit_file("lib.c", "int f2;\n", "newer");
    repository.git(&[
        "update-index",
        "--cacheinfo",
        &format!("160000,{newer},deps/lib"),
    ]);
    repository.git(&["commit", "--quiet", "-m", "moves on"]);
    let to = repository.beside("newer");
    let error = export(repository.path(), "HEAD", &to).unwrap_err();
    let RepoError::SubmoduleMissing { remedy, .. } = &error else {
        panic!("{error}");
    };
    let words: Vec<&str> = remedy.split(' ').collect();
    assert_eq!(words[..2], ["git", "-C"]);
    git_in(Path::new(words[2]), &words[3..]);
    export(repository.path(), "HEAD", &to).unwrap();
    assert_eq!(
        fs::read_to_string(to.join("deps/lib/lib.c")).unwrap(),
        "int f2;\n"
    );
}

#[test]
fn a_submodules_own_checkout_can_be_measured() {
    let library = TestRepository::with(&[("lib.c", "int f;\n")]);
    let repository = TestRepository::with(&[("a", "1\n")]);
    let url = library.path().display().to_string();
    repository.git(&["submodule", "--quiet", "add", &url, "lib"]);
    let to = repository.beside("export");
    export(&repository.path().join("lib"), "HEAD", &to).unwrap();
    assert!(to.join("lib.c").exists() && !to.join("a").exists());
}

#[test]
fn an_lfs_file_is_taken_from_the_lfs_store_or_reported() {
    let content = "the real content\n";
    let digest = perfblame::store::BlobDigest::of(content.as_bytes());
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {}\n",
        content.len()
    );
    let repository = TestRepository::with(&[("data.bin", &pointer), ("a", "1\n")]);
    let to = repository.beside("without");
    let report = export(repository.path(), "HEAD", &to).unwrap();
    assert_eq!(report.missing_lfs, [format!("data.bin (sha256 {digest})")]);
    assert_eq!(fs::read_to_string(to.join("data.bin")).unwrap(), pointer);

    let digest = digest.as_str();
    let objects = repository
        .path()
        .join(".git/lfs/objects")
        .join(&digest[..2])
        .join(&digest[2..4]);
    fs::create_dir_all(&objects).unwrap();
    fs::write(objects.join(digest), content).unwrap();
    let to = repository.beside("with");
    let report = export(repository.path(), "HEAD", &to).unwrap();
    assert!(report.missing_lfs.is_empty());
    assert_eq!(fs::read_to_string(to.join("data.bin")).unwrap(), content);
}

#[test]
fn a_disk_too_small_is_said_before_anything_is_written() {
    let outer = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(outer.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        // Only root may mount; the arithmetic is the same elsewhere.
        return;
    }
    let repository = TestRepository::with(&[("big", &"x".repeat(2 << 20))]);
    let outcome = export(repository.path(), "HEAD", &outer.path().join("export"));
    let left = fs::read_dir(outer.path()).unwrap().count();
    let unmounted = std::process::Command::new("umount")
        .arg(outer.path())
        .status()
        .unwrap();
    assert!(unmounted.success());
    let error = outcome.unwrap_err();
    assert!(
        matches!(
            error,
            RepoError::DiskFull {
                needed_mib: 3,
                free_mib: 1,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(left, 0);
}

//! The little server's repository: the same hashes everywhere, and every commit is what its tag says.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod little;

use std::fs;
use std::path::Path;
use std::process::Command;

use little::{LittleServer, git, make, make_in, make_repository};

const TAGS: [&str; 12] = [
    "first",
    "accounting",
    "slow-hash",
    "faster",
    "rename",
    "moved",
    "docs",
    "broken",
    "crash",
    "side",
    "merge",
    "last",
];

/// The lines of hashes.txt, as `git for-each-ref` would print them: in the order of their names.
fn golden() -> Vec<String> {
    let text = fs::read_to_string(Path::new(little::ROOM).join("hashes.txt")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn tags(repository: &Path) -> Vec<String> {
    let format = "--format=%(refname:short) %(objectname)";
    let mut lines: Vec<String> = git(repository, &["for-each-ref", format, "refs/tags"])
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

#[test]
fn hashes_do_not_depend_on_whose_machine_it_is() {
    let outer = tempfile::tempdir().unwrap();
    let plain = outer.path().join("plain");
    assert!(make_repository(&plain).status.success());
    assert_eq!(tags(&plain), golden(), "scripts/fixture-repo --renew");

    // A user whose settings would change every hash, or whose hooks would refuse every commit.
    let home = outer.path().join("home");
    let hooks = home.join("template/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("reference-transaction"), "#!/bin/sh\nexit 1\n").unwrap();
    let config = format!(
        "[user]\n name = Somebody\n email = s@example.invalid\n[core]\n autocrlf = true\n eol = crlf\n \
         hooksPath = {hooks}\n[commit]\n gpgsign = true\n[i18n]\n commitEncoding = ISO-8859-1\n[init]\n \
         defaultBranch = trunk\n templateDir = {template}\n[apply]\n whitespace = fix\n",
        hooks = hooks.display(),
        template = home.join("template").display(),
    );
    fs::write(home.join(".gitconfig"), config).unwrap();
    let theirs = outer.path().join("theirs");
    let output = Command::new(little::SCRIPT)
        .arg(&theirs)
        .env("HOME", &home)
        .env("GIT_DIR", &plain)
        .env("GIT_INDEX_FILE", home.join("index"))
        .env("GIT_AUTHOR_NAME", "Somebody")
        .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00+0700")
        .env("GIT_DEFAULT_HASH", "sha256")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.autocrlf")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("TZ", "Asia/Tokyo")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(tags(&theirs), golden());
    assert_eq!(git(&theirs, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(git(&theirs, &["status", "--porcelain"]), "");
}

#[test]
fn tags_are_on_what_they_name() {
    let outer = tempfile::tempdir().unwrap();
    let repository = outer.path().join("repository");
    let printed = make_repository(&repository);
    let printed = String::from_utf8(printed.stdout).unwrap();
    let git = |arguments: &[&str]| git(&repository, arguments);

    git(&["fsck", "--strict"]);
    let commits = git(&["rev-list", "--count", "last"])
        .parse::<u32>()
        .unwrap();
    assert!(commits >= 24, "{commits} commits");
    for tag in TAGS {
        let short = git(&["rev-parse", "--short", tag]);
        let line = printed.lines().find(|line| line.starts_with(tag));
        assert!(line.is_some_and(|line| line.contains(&short)), "{printed}");
        git(&["merge-base", "--is-ancestor", "first", tag]);
        git(&["merge-base", "--is-ancestor", tag, "last"]);
    }
    assert_eq!(git(&["rev-parse", "main"]), git(&["rev-parse", "last"]));
    assert_eq!(
        git(&["rev-list", "--merges", "last"]),
        git(&["rev-parse", "merge"])
    );

    // The side branch: several commits, one of which is tagged, and main went on beside it.
    let branch = git(&["rev-list", "merge^1..merge^2"]);
    assert!(branch.lines().count() > 2);
    assert!(branch.contains(&git(&["rev-parse", "side"])));
    assert_ne!(git(&["rev-list", "merge^2..merge^1"]), "");

    let touched = |tag: &str| {
        git(&[
            "diff-tree",
            "-r",
            "--no-commit-id",
            "--name-only",
            tag,
            "--",
        ])
    };
    assert!(touched("docs").lines().all(|path| path.ends_with(".md")));
    assert_eq!(touched("slow-hash"), "src/hash.c");
    assert_eq!(touched("moved"), "src/command.c\nsrc/statistics.c");
    // Renaming moves no line: as many go as come, and but for the name they are the same.
    let renamed = git(&["show", "--format=", "--unified=0", "rename"]);
    let side = |mark: char| -> Vec<String> {
        let lines = renamed.lines().filter(|line| line.starts_with(mark));
        let lines = lines.filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
        lines
            .map(|line| line[1..].replace("command_lookup", "command_find"))
            .collect()
    };
    assert!(side('-').len() > 2);
    assert_eq!(side('-'), side('+'));
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("mine"), "").unwrap();
    for dir in [outer.path().to_owned(), outer.path().join("mine")] {
        let output = make_repository(&dir);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("is not an empty directory"), "{message}");
    }
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
}

#[test]
fn an_edited_history_can_be_saved_and_is_the_same_again() {
    let outer = tempfile::tempdir().unwrap();
    let copy = outer.path().join("fixtures/little-server");
    fs::create_dir_all(outer.path().join("scripts")).unwrap();
    fs::create_dir_all(&copy).unwrap();
    let script = outer.path().join("scripts/fixture-repo");
    fs::copy(little::SCRIPT, &script).unwrap();
    let repository = outer.path().join("repository");
    assert!(make_repository(&repository).status.success());

    let output = Command::new(&script)
        .arg("--save")
        .arg(&repository)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for part in ["base", "history", "hashes.txt"] {
        let diff = Command::new("diff")
            .arg("-r")
            .arg(Path::new(little::ROOM).join(part))
            .arg(copy.join(part))
            .output()
            .unwrap();
        assert!(
            diff.status.success(),
            "{}",
            String::from_utf8_lossy(&diff.stdout)
        );
    }
}

#[test]
fn every_commit_builds_without_a_warning_and_serves_except_two() {
    let outer = tempfile::tempdir().unwrap();
    let tree = outer.path().join("tree");
    assert!(make_repository(&tree).status.success());
    let [broken, crash] = ["broken", "crash"].map(|tag| git(&tree, &["rev-parse", tag]));
    // Commit after commit in one tree, so that make builds only what the commit changes.
    for commit in git(&tree, &["rev-list", "--topo-order", "--reverse", "last"]).lines() {
        git(&tree, &["checkout", "--quiet", commit]);
        let subject = git(&tree, &["log", "-1", "--format=%s"]);
        let output = make_in(&tree, "-O0 -Werror");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.success(),
            *commit != broken,
            "{subject}: {errors}"
        );
        if *commit == broken {
            assert!(errors.contains("command_strlen"), "{errors}");
            continue;
        }
        if *commit == crash {
            assert_eq!(LittleServer::dies_at_start(&tree), Some(11));
            continue;
        }
        let mut server = LittleServer::start(&tree);
        let mut client = server.connect();
        assert_eq!(client.ask(&["PING"]), "+PONG");
        assert_eq!(client.ask(&["SET", "key", "value"]), "+OK");
        assert_eq!(client.ask(&["get", "key"]), "value");
        assert!(
            client.ask(&["INFO"]).contains("\r\ndb0:keys=1,"),
            "{subject}"
        );
        client.send(b"SHUTDOWN\r\n");
        assert_eq!(server.wait().code(), Some(0), "{subject}");
        assert!(!server.socket().exists());
    }
}

/// The first and the last commit, built as a release and with checks for memory errors.
#[test]
fn both_ends_hold_a_real_conversation() {
    let outer = tempfile::tempdir().unwrap();
    let repository = outer.path().join("repository");
    assert!(make_repository(&repository).status.success());
    for tag in ["first", "last"] {
        let tree = outer.path().join(tag);
        make(
            &repository,
            tag,
            &tree,
            "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all",
        );
        let mut server = LittleServer::start(&tree);

        // Bytes of every kind, and a request that comes byte by byte.
        let mut client = server.connect();
        let key: Vec<u8> = (0..=255).collect();
        let value = b"\r\n$5\r\n\0\0\xff".as_slice();
        assert_eq!(client.ask_bytes(&[b"SET", &key, value]), b"+OK");
        for byte in little::request(&[b"GET", &key]) {
            client.send(&[byte]);
        }
        assert_eq!(client.reply(), value);
        assert_eq!(client.ask_bytes(&[b"GET", b"nothing"]), b"$-1");

        // A long pipeline of large values to a client that does not read: more than the socket holds.
        let large = vec![b'x'; 300_000];
        assert_eq!(client.ask_bytes(&[b"SET", b"large", &large]), b"+OK");
        let many = little::request(&[b"GET", b"large"]).repeat(200);
        client.send(&many);
        let mut other = server.connect();
        assert_eq!(other.ask(&["PING"]), "+PONG");
        for _ in 0..200 {
            assert_eq!(client.reply().len(), large.len());
        }
        assert_eq!(client.ask(&["PING", "still there"]), "still there");

        // Keys enough for the table to grow many times.
        for i in 0..5000 {
            client.send(&little::request(&[
                b"SET",
                format!("key{i}").as_bytes(),
                i.to_string().as_bytes(),
            ]));
        }
        for _ in 0..5000 {
            assert_eq!(client.reply(), b"+OK");
        }
        for i in (0..5000).step_by(7) {
            assert_eq!(client.ask(&["GET", &format!("key{i}")]), i.to_string());
        }
        assert!(client.ask(&["INFO"]).contains("\r\ndb0:keys=5002,"));

        // What is wrong in a request is said; what is not the protocol ends the connection.
        assert_eq!(
            client.ask(&["NO\r\nSENSE"]),
            "-ERR unknown command 'NO  SENSE'"
        );
        assert_eq!(
            client.ask(&["GET"]),
            "-ERR wrong number of arguments for 'get'"
        );
        client.send(b"\r\n*0\r\n*-1\r\nPING\r\n");
        assert_eq!(client.reply(), b"+PONG");
        for (wrong, why) in [
            ("*x\r\n", "invalid multibulk length"),
            ("*2000000\r\n", "invalid multibulk length"),
            ("*1\r\n+PING\r\n", "invalid bulk length"),
            ("*1\r\n$-3\r\n", "invalid bulk length"),
            ("*1\r\n$4\r\nPINGxx", "bulk string without its line end"),
            (&"x".repeat(70_000), "too big inline request"),
        ] {
            let mut client = server.connect();
            client.send(b"PING\r\n");
            client.send(wrong.as_bytes());
            assert_eq!(client.reply(), b"+PONG");
            assert_eq!(
                client.reply(),
                format!("-ERR Protocol error: {why}").as_bytes()
            );
            assert!(client.is_closed(), "{why}");
        }

        // A client that says all and closes its half still gets every reply.
        let mut client = server.connect();
        client.send(&many);
        client.close_half();
        for _ in 0..200 {
            assert_eq!(client.reply().len(), large.len());
        }
        assert!(client.is_closed());

        // One that goes away in the middle of everything harms nobody.
        let mut rude = server.connect();
        rude.send(&many);
        rude.send(b"*3\r\n$3\r\nSET\r\n$100\r\nab");
        drop(rude);
        assert_eq!(other.ask(&["PING"]), "+PONG");
        server.terminate();
        assert_eq!(server.wait().code(), Some(0), "{tag}");
    }
}

#[test]
fn the_command_line_is_checked() {
    let outer = tempfile::tempdir().unwrap();
    let repository = outer.path().join("repository");
    assert!(make_repository(&repository).status.success());
    let tree = outer.path().join("last");
    make(&repository, "last", &tree, "-O0");
    let long = format!("/{}", "x".repeat(200));
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--help"], 0, "usage: little-server"),
        (
            &["--port", "0"],
            2,
            "--port 0: want a number from 1 to 65535",
        ),
        (&["--nonsense"], 2, "--nonsense"),
        (&["what"], 2, "unexpected argument: what"),
        (&["--unixsocket", &long], 1, "File name too long"),
        (
            &["--unixsocket", "/nonexistent/s"],
            1,
            "No such file or directory",
        ),
        (&["--unixsocket", "Makefile"], 1, "Address already in use"),
    ];
    for (arguments, code, text) in cases {
        let output = Command::new(tree.join("little-server"))
            .args(arguments)
            .current_dir(&tree)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(text), "{arguments:?}: {said}");
    }
    assert!(tree.join("Makefile").is_file());
}

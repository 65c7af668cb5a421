//! Bad input of `compare`: each with a clear error and exit code 2.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{TestRepo, perfblame};

const MAKEFILE: &str = "tool: tool.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
const TOOL: &str = "#include <unistd.h>\nint main(void) { pause(); }\n";

fn repo(plan: &str) -> TestRepo {
    let repo = TestRepo::new();
    repo.commit(
        "one",
        &[
            ("Makefile", MAKEFILE),
            ("tool.c", TOOL),
            ("perfblame.toml", plan),
        ],
    );
    repo.commit(
        "two",
        &[("tool.c", &TOOL.replace("pause()", "pause(); return 1"))],
    );
    repo
}

fn command_repo() -> TestRepo {
    repo("[command]\nrun = 'true'\nruns = 1\n")
}

#[test]
fn no_repository_and_no_revision() {
    let empty = tempfile::tempdir().unwrap();
    perfblame(empty.path(), &["compare", "a", "b"]).refused(&["is not in a git repository"]);
    perfblame(empty.path(), &["compare", "--repo", "nowhere", "a", "b"])
        .refused(&["nowhere does not exist"]);
    let repo = command_repo();
    repo.compare(&["main~1", "mian"])
        .refused(&["unknown revision `mian`"]);
    repo.compare(&["main~7", "main"])
        .refused(&["unknown revision `main~7`"]);
}

#[test]
fn a_bare_repository_works() {
    let repo = command_repo();
    repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.beside("bare.git").display().to_string();
    let plan = repo.path().join("perfblame.toml").display().to_string();
    let ran = repo.compare(&[
        "--repo",
        &bare,
        "--config",
        &plan,
        "--no-profile",
        "--blocks",
        "1",
        "main~1",
        "main",
    ]);
    assert!(ran.code == 0 || ran.code == 3, "{ran:#?}");
}

#[test]
fn a_shallow_clone_says_that_it_is_shallow() {
    let repo = command_repo();
    let first = repo.git(&["rev-parse", "main~1"]);
    let from = format!("file://{}", repo.path().display());
    repo.git(&["clone", "-q", "--depth", "1", &from, "../shallow"]);
    let shallow = repo.beside("shallow").display().to_string();
    repo.compare(&["--repo", &shallow, &first, "main"])
        .refused(&["shallow", "--unshallow"]);
}

#[test]
fn plans_are_refused_with_file_line_and_key() {
    for (plan, said) in [
        (
            "[command]\nrun = 'true'\nrums = 3\n",
            &["perfblame.toml:3: `command.rums`", "unknown field"][..],
        ),
        (
            "[command]\nrun = 'true'\nruns = 0\n",
            &["perfblame.toml:3: `command.runs`", "more than zero"],
        ),
        (
            "[command]\nrun = '{artefact}'\n",
            &[
                "perfblame.toml:2: `command.run`",
                "unknown placeholder `{artefact}`",
            ],
        ),
        (
            "[server]\nstart = 'x'\n[load]\nclients = 0\n",
            &["perfblame.toml:4: `load.clients`"],
        ),
        (
            "[server]\nstart = 'x'\n[cpus]\nsubject = '0'\nload = '0-1'\n",
            &["perfblame.toml:5: `cpus.load`", "share CPU 0"],
        ),
        ("[build]\n", &["nothing says what to run", "--preset"]),
        ("preset = 'redsi'\n", &["no preset `redsi`", "redis"]),
        ("not toml", &["perfblame.toml:1"]),
    ] {
        repo(plan).compare(&["main~1", "main"]).refused(said);
    }
    let repo = command_repo();
    repo.compare(&["--blocks", "0", "main~1", "main"])
        .refused(&["flag --blocks", "more than zero"]);
    repo.compare(&["--set", "command.runs=x", "main~1", "main"])
        .refused(&["--set command.runs=x"]);
    repo.compare(&["--config", "/dev/zero", "main~1", "main"])
        .refused(&["/dev/zero is not a plan"]);
    repo.compare(&["--set", "command.timeout=1", "main~1", "main"])
        .refused(&["command.timeout", "a length of time such as '8s'"]);
    repo.compare(&["--set", "command", "main~1", "main"])
        .refused(&["--set command", "KEY=VALUE"]);
}

#[test]
fn cpus_that_are_not_there() {
    command_repo()
        .compare(&["--cpus", "4000", "main~1", "main"])
        .refused(&["`cpus.subject` names CPU 4000"]);
}

#[test]
fn a_build_that_fails_shows_its_last_lines_and_its_log() {
    let repo = command_repo();
    repo.commit(
        "three",
        &[("tool.c", "int main(void) { return undeclared; }\n")],
    );
    repo.compare(&["main~1", "main"])
        .refused(&["does not build", "undeclared", "log"]);
    repo.commit("four", &[("tool.c", TOOL), ("Makefile", "all:\n\t@true\n")]);
    repo.compare(&["--set", "build.artifact=['tool']", "main~3", "main"])
        .refused(&["tool", "artifact"]);
}

#[test]
fn servers_that_do_not_come_up() {
    let server = |extra: &str| repo(&format!("[server]\nstart = '{{artifact}}'\n{extra}"));
    let never =
        server("ready = { probe = 'connect', timeout = '200ms' }\n[experiment]\nretries = 0\n");
    never
        .compare(&["main~1", "main"])
        .refused(&["was not ready after 200ms", "connecting to"]);
    let dies =
        repo("[server]\nstart = 'sh -c \"echo no good >&2; exit 3\"'\n[experiment]\nretries = 0\n");
    dies.compare(&["main~1", "main"])
        .refused(&["exited with code 3 before it was ready", "no good"]);
    let missing = repo("[server]\nstart = '/no/such/server'\n[experiment]\nretries = 0\n");
    missing
        .compare(&["main~1", "main"])
        .refused(&["/no/such/server"]);
    let long = server(&format!("socket = '{{run}}/{}'\n", "x".repeat(100)));
    long.compare(&["main~1", "main"])
        .refused(&["socket path", "107"]);
}

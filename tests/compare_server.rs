//! Comparing a real server, and what is left when perfblame is stopped in the middle.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::TestRepo;

/// Debian's redis-server, whatever was built: the artifact's content is not what is tested here.
const PLAN: &str = "
[server]
start = \"redis-server --port 0 --unixsocket {socket} --save '' --dir {run}\"
[load]
clients = 5
pipeline = 4
key-maximum = 1000
key-pattern = 'P:P'
[prepare]
ratio = '1:0'
requests = 'allkeys'
[windows]
warmup = '100ms'
measure = '300ms'
profile = '400ms'
[disturbance]
repeats = 0
";

fn repo() -> TestRepo {
    let repo = TestRepo::new();
    let makefile = "tool: tool.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
    let tool = "int main(void) { return 0; }\n";
    repo.commit(
        "one",
        &[
            ("Makefile", makefile),
            ("tool.c", tool),
            ("perfblame.toml", PLAN),
        ],
    );
    repo.commit("two", &[("tool.c", &tool.replace('0', "1"))]);
    repo
}

/// Living processes whose command line names this path.
fn processes_of(repo: &TestRepo) -> Vec<String> {
    let path = repo.beside("store").display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        })
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&path))
        .collect()
}

/// Starts a comparison of many blocks and returns once the first trial is in the store.
fn started(repo: &TestRepo) -> Child {
    let child = common::command()
        .args(["compare", "--blocks", "200", "--store"])
        .arg(repo.beside("store"))
        .arg("--out")
        .arg(repo.beside("out"))
        .args(["main~1", "main"])
        .current_dir(repo.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while kept_trials(repo) == 0 {
        assert!(Instant::now() < deadline, "no trial ended within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

/// Directories that trials ran in.
fn workspaces(repo: &TestRepo) -> usize {
    let entries = std::fs::read_dir(repo.beside("store/run"))
        .unwrap()
        .flatten();
    entries.filter(|entry| entry.path().is_dir()).count()
}

fn kept_trials(repo: &TestRepo) -> u32 {
    let path = repo.beside("store/store.sqlite");
    let count = || {
        rusqlite::Connection::open(path)?
            .query_row("SELECT count(*) FROM trials", [], |row| row.get(0))
    };
    count().unwrap_or(0)
}

fn experiments(repo: &TestRepo) -> serde_json::Value {
    let store = repo.beside("store").display().to_string();
    let ran = common::perfblame(&repo.path(), &["history", "--json", "--store", &store]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_real_server_is_measured_and_sampled() {
    let repo = repo();
    let ran = repo.compare(&["--blocks", "2", "main~1", "main"]);
    assert!(
        ran.code == 0 || ran.code == 3,
        "two blocks cannot flag anything: {ran:#?}"
    );
    let report = repo.report();
    assert_eq!(report["throughput"]["unit"], "ops/s");
    assert!(report["throughput"]["base_mean"].as_f64().unwrap() > 1000.0);
    assert_eq!(report["samples"]["lost"], 0);
    assert!(
        report["samples"]["base"].as_u64().unwrap() > 20,
        "{}",
        report["samples"]
    );
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for name in [
        "throughput",
        "latency_p99",
        "cpu_per_op",
        "cpu_user_per_op",
        "cpu_system_per_op",
        "rss",
    ] {
        assert!(
            trials[0]["values"][name].as_f64().unwrap() > 0.0,
            "{name}: {:#}",
            trials[0]
        );
    }
    let folded = std::fs::read_to_string(repo.beside("out/base.folded")).unwrap();
    assert!(folded.contains("redis-server"), "{folded}");
    assert_eq!(processes_of(&repo), Vec::<String>::new());
    assert_eq!(workspaces(&repo), 0);
}

#[test]
fn kill_9_in_the_middle_leaves_no_server_and_loses_no_trial() {
    let repo = repo();
    let mut child = started(&repo);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("something of the killed run is still running", || {
        processes_of(&repo).is_empty()
    });
    let kept = kept_trials(&repo);
    let experiment = &experiments(&repo)[0];
    assert_eq!(experiment["state"], "interrupted");

    // The next run is not blocked, goes on where the killed one was, and sweeps what it left.
    let id = experiment["id"].as_str().unwrap();
    let swapped = repo.compare(&["--resume", id, "main", "main~1"]);
    swapped.refused(&["cannot go on", "other commits"]);
    let other = ["--resume", id, "--set", "load.clients=6", "main~1", "main"];
    repo.compare(&other)
        .refused(&["cannot go on", "its plan was another one"]);
    let blocks = (kept / 2 + 1).to_string();
    let ran = repo.compare(&["--resume", id, "--blocks", &blocks, "main~1", "main"]);
    assert!(ran.code == 0 || ran.code == 3, "{ran:#?}");
    assert_eq!(experiments(&repo)[0]["state"], "done");
    // One block more; one that was cut in two is measured anew, and nothing is thrown away.
    assert_eq!(kept_trials(&repo), kept + 2);
    assert_eq!(
        repo.report()["trials"].as_array().unwrap().len() as u32,
        2 * (kept / 2 + 1)
    );
    assert_eq!(workspaces(&repo), 0);
}

#[test]
fn ctrl_c_ends_everything_with_code_130() {
    let repo = repo();
    let mut child = started(&repo);
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(processes_of(&repo), Vec::<String>::new());
    assert_eq!(experiments(&repo)[0]["state"], "interrupted");
    assert_eq!(workspaces(&repo), 0);
}

#[test]
fn a_server_that_answers_errors_gives_no_numbers() {
    let repo = repo();
    let start =
        "server.start=redis-server --port 0 --unixsocket {socket} --save '' --requirepass x";
    let ready = "server.ready={ probe = 'connect' }";
    let ran = repo.compare(&[
        "--no-profile",
        "--set",
        start,
        "--set",
        ready,
        "main~1",
        "main",
    ]);
    ran.refused(&["while the server was being filled", "NOAUTH"]);
    assert_eq!(processes_of(&repo), Vec::<String>::new());
}

#[test]
fn two_comparisons_share_one_store() {
    let repo = repo();
    let mut first = started(&repo);
    let ran = repo.compare(&["--no-profile", "--blocks", "1", "main~1", "main"]);
    assert!(ran.code == 0 || ran.code == 3, "{ran:#?}");
    assert!(
        first.try_wait().unwrap().is_none(),
        "the first one must not have been disturbed"
    );
    let pid = nix::unistd::Pid::from_raw(first.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

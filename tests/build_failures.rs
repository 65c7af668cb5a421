//! Builds that go wrong: what is said, and that nothing stays behind.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod builds;
mod repository;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use builds::Builds;
use perfblame::build::{BuildError, FailureReason, Known};
use perfblame::executor::Cancel;
use perfblame::plan::Length;
use repository::TestRepository;

fn reason(error: &BuildError) -> &FailureReason {
    match error {
        BuildError::Failed { failure, .. } => &failure.reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_failing_step_shows_the_telling_lines_and_where_the_log_is() {
    let repository = TestRepository::with(&[("bad.c", "int f(void) { return nonsense; }\n")]);
    let step = "cc -c bad.c || true; for i in $(seq 40); do echo busy $i; done; false";
    let mut builds = Builds::with_steps(repository, &["echo one", step, "echo never"], &["app"]);
    let error = builds.build("HEAD").unwrap_err();
    let text = error.to_string();
    for part in [
        "does not build",
        "\"first\"",
        "exited with code 1",
        "nonsense",
        "busy 40",
        "build.log",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let BuildError::Failed { failure, .. } = &error else {
        panic!("{error}");
    };
    let log = fs::read_to_string(&failure.log).unwrap();
    assert!(
        log.contains("$ echo one\none\n") && log.contains("busy 1\n") && !log.contains("never"),
        "{log}"
    );
    assert!(log.starts_with("# commit "), "{log}");
}

#[test]
fn a_step_runs_as_strictly_as_it_is_written() {
    for step in [
        "false; true",
        "echo $undefined_variable",
        "exit 3",
        "kill -9 $$",
    ] {
        let mut builds = Builds::with_steps(
            TestRepository::with(&[("a", "1\n")]),
            &[step, "touch app"],
            &["app"],
        );
        let error = builds.build("HEAD").unwrap_err();
        assert!(
            matches!(reason(&error), FailureReason::Step { .. }),
            "{step}: {error}"
        );
    }
}

#[test]
fn what_was_not_made_is_named_with_what_was() {
    let makefile = "all:\n\t$(CC) -o one main.c\n\t$(CC) -o two main.c\n";
    let repository = TestRepository::with(&[
        ("main.c", "int main(void) { return 0; }\n"),
        ("Makefile", makefile),
    ]);
    let mut builds = Builds::of(repository);
    let text = builds.build("HEAD").unwrap_err().to_string();
    assert!(
        text.contains("several executables were made (one, two)")
            && text.contains("build.artifact"),
        "{text}"
    );
    builds.name_artifact(&["three"]);
    let error = builds.build("HEAD").unwrap_err();
    let made = ["one".to_owned(), "two".to_owned()];
    assert!(
        matches!(reason(&error), FailureReason::Missing { artifact, made: found } if artifact == "three" && *found == made),
        "{error}"
    );
    builds.name_artifact(&["two"]);
    assert!(builds.build("HEAD").unwrap().main.ends_with("two"));
}

#[test]
fn a_build_that_makes_nothing_and_a_tree_that_has_no_build() {
    let repository = TestRepository::with(&[("Makefile", "all:\n\techo done\n")]);
    let error = Builds::of(repository).build("HEAD").unwrap_err();
    assert_eq!(*reason(&error), FailureReason::NothingMade);
    let repository = TestRepository::with(&[("README", "nothing here\n")]);
    let error = Builds::of(repository).build("HEAD").unwrap_err();
    assert!(matches!(error, BuildError::NotRecognised { .. }), "{error}");
    assert!(error.is_about_commit() && error.to_string().contains("build.steps"));
}

#[test]
fn a_missing_tool_is_the_machines_fault() {
    let repository = TestRepository::with(&[("meson.build", "project('x', 'c')\n")]);
    let empty = repository.beside("empty");
    fs::create_dir(&empty).unwrap();
    let mut builds = Builds::of(repository);
    builds
        .recipe
        .env
        .insert("PATH".to_owned(), empty.display().to_string());
    let error = builds.build("HEAD").unwrap_err();
    assert!(
        matches!(&error, BuildError::NoTool { tool, .. } if tool == "meson"),
        "{error}"
    );
    assert!(!error.is_about_commit());
    assert!(matches!(builds.known("HEAD"), Known::Nothing { .. }));
}

/// Steps that leave processes of every obstinate kind: in the background, in a session of their own,
/// and deaf to SIGTERM. Each writes its number into a file.
fn obstinate(pids: &Path) -> String {
    let pids = pids.display();
    format!(
        "(trap '' TERM; echo $$ >> {pids}; while true; do sleep 0.05; done) &\n\
         sleep 1000 & echo $! >> {pids}\n\
         setsid sh -c 'trap \"\" TERM HUP; echo $$ >> {pids}; while true; do sleep 0.05; done' &\n\
         nohup sleep 1001 > /dev/null 2>&1 & echo $! >> {pids}\n\
         while [ $(wc -l < {pids}) -lt 4 ]; do sleep 0.01; done\n\
         touch {pids}.ready\n"
    )
}

fn read_pids(path: &Path) -> Vec<i32> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn assert_all_gone(pids: &[i32]) {
    assert_eq!(pids.len(), 4);
    let deadline = Instant::now() + Duration::from_secs(20);
    let is_alive = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    while pids.iter().any(is_alive) {
        assert!(Instant::now() < deadline, "still there: {pids:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_time_limit_leaves_no_process() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let pids = repository.beside("pids");
    let step = obstinate(&pids) + "sleep 1000";
    let mut builds = Builds::with_steps(repository, &[&step], &["app"]);
    builds.recipe.timeout = Length::seconds(2);
    let error = builds.build("HEAD").unwrap_err();
    assert!(
        matches!(reason(&error), FailureReason::TimeLimit { limit_s: 2, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("build.timeout"), "{error}");
    assert_all_gone(&read_pids(&pids));
}

#[test]
fn a_step_that_succeeds_leaves_no_process() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let pids = repository.beside("pids");
    let step = obstinate(&pids) + "touch app";
    let mut builds = Builds::with_steps(repository, &[&step], &["app"]);
    builds.build("HEAD").unwrap();
    assert_all_gone(&read_pids(&pids));
}

#[test]
fn a_wish_to_stop_leaves_no_process_and_is_not_remembered_as_a_failure() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let pids = repository.beside("pids");
    let step = obstinate(&pids) + "sleep 1000";
    let mut builds = Builds::with_steps(repository, &[&step], &["app"]);
    let cancel = Cancel::default();
    let ready = PathBuf::from(format!("{}.ready", pids.display()));
    let thread = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(10));
            }
            cancel.set();
        }
    });
    let error = builds.build_until("HEAD", &cancel).unwrap_err();
    thread.join().unwrap();
    assert!(matches!(error, BuildError::Interrupted), "{error}");
    assert_all_gone(&read_pids(&pids));
    assert!(matches!(builds.known("HEAD"), Known::Nothing { .. }));
}

#[test]
fn kill_9_leaves_no_process_and_no_lock_and_the_next_build_sweeps() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let pids = repository.beside("pids");
    let mended = repository.beside("mended");
    let step = format!("if [ -e {} ]; then touch app; exit; fi\n", mended.display())
        + &obstinate(&pids)
        + "sleep 1000";
    let mut builds = Builds::with_steps(repository, &[&step], &["app"]);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_build", "--ignored"])
        .env("BUILD_REPOSITORY", builds.repository.path())
        .env("BUILD_STEP", &step)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = PathBuf::from(format!("{}.ready", pids.display()));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ready.exists() {
        assert!(Instant::now() < deadline, "the build never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_all_gone(&read_pids(&pids));
    assert!(builds.store.join("build/source").exists());

    fs::write(&mended, "").unwrap();
    let artifact = builds.build("HEAD").unwrap();
    assert!(!artifact.cached);
    let left: Vec<_> = fs::read_dir(builds.store.join("build"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let entries = fs::read_dir(builds.store.join("artifacts"))
        .unwrap()
        .flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    assert_eq!(names, [artifact.key.as_str()]);
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child_build() {
    use perfblame::build::{BuildRequest, Builder, Reuse};
    use perfblame::repo::Repository;
    let path = PathBuf::from(std::env::var_os("BUILD_REPOSITORY").unwrap());
    let repository = Repository::open(&path).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_perfblame"));
    let supervisor = perfblame::executor::Supervisor::at(program);
    let builder = Builder::new(&path.join(".perfblame"), supervisor, Cancel::default()).unwrap();
    let request = BuildRequest {
        repository: &repository,
        revision: &repository.resolve("HEAD").unwrap(),
        kind: perfblame::plan::SubjectKind::Program,
        recipe: &perfblame::plan::Recipe {
            steps: vec![std::env::var("BUILD_STEP").unwrap()],
            artifact: vec!["app".to_owned().try_into().unwrap()],
            ..Default::default()
        },
        paths: &Default::default(),
        inputs: &Default::default(),
        reuse: Reuse::Everything,
    };
    builder.build(&request, &mut |_| {}).unwrap();
}

#[test]
fn a_build_does_not_see_the_users_repository_or_somebody_elses_build() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let step = "if git rev-parse HEAD; then exit 7; fi\n\
                echo \"[${GIT_DIR-}][${MAKEFLAGS-}][${CARGO_MANIFEST_DIR-}][$SOURCE_DATE_EPOCH][$TZ]\" > app\n\
                test ! -e .git";
    let mut builds = Builds::with_steps(repository, &[step], &["app"]);
    let artifact = builds.build("HEAD").unwrap();
    // Cargo, which runs this test, sets CARGO_MANIFEST_DIR.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert_eq!(
        fs::read_to_string(artifact.main).unwrap(),
        "[][][][1000000000][UTC]\n"
    );
}

#[test]
fn inputs_and_jobs_are_where_the_steps_say() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let mut builds = Builds::with_steps(
        repository,
        &["cat {inputs}/config > app; echo {jobs} {source} '{other}' >> app"],
        &["app"],
    );
    builds.inputs.insert("config".to_owned(), b"A=y\n".to_vec());
    builds.recipe.jobs = std::num::NonZeroU32::new(3);
    let artifact = builds.build("HEAD").unwrap();
    let source = fs::canonicalize(&builds.store)
        .unwrap()
        .join("build/source");
    let expected = format!("A=y\n3 {} {{other}}\n", source.display());
    assert_eq!(fs::read_to_string(artifact.main).unwrap(), expected);
}

#[test]
fn a_full_disk_is_the_machines_fault_and_is_not_remembered() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let small = repository.beside("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&small)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        // Only root may mount.
        return;
    }
    let mut builds =
        Builds::with_steps(repository, &["head -c 10000000 /dev/zero > app"], &["app"]);
    builds.store = small.join("store");
    let outcome = builds.build("HEAD");
    let known = builds.known("HEAD");
    let is_swept = !builds.store.join("build/source").exists();
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    let error = outcome.unwrap_err();
    assert!(matches!(error, BuildError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("--store DIR"), "{error}");
    assert!(matches!(known, Known::Nothing { .. }));
    assert!(is_swept);
}

#[test]
fn what_the_tree_lacks_is_a_warning_of_the_artifact() {
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 5\n",
        "a".repeat(64)
    );
    let repository = TestRepository::with(&[("data", &pointer)]);
    let mut builds = Builds::with_steps(repository, &["cp data app"], &["app"]);
    let artifact = builds.build("HEAD").unwrap();
    assert!(artifact.warnings[0].contains("Git LFS") && artifact.warnings[0].contains("data"));
    assert_eq!(builds.build("HEAD").unwrap().warnings, artifact.warnings);
}

#[test]
fn a_build_may_leave_directories_that_cannot_be_written() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let step = "mkdir -p locked/deep; touch locked/deep/x app; chmod 555 locked/deep locked";
    let mut builds = Builds::with_steps(repository, &[step], &["app"]);
    builds.build("HEAD").unwrap();
    builds.reuse = perfblame::build::Reuse::Nothing;
    builds.build("HEAD").unwrap();
}

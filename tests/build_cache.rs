//! What is built once, what is built again, and who waits for whom.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod builds;
mod repository;

use std::fs;
use std::sync::{Arc, Barrier};

use builds::{Builds, run};
use perfblame::build::{BuildError, BuildEvent, Known, Reuse};
use perfblame::executor::Cancel;
use repository::TestRepository;

/// A build that counts how often it is done in a file outside of the tree.
fn counted(files: &[(&str, &str)]) -> (Builds, std::path::PathBuf) {
    let repository = TestRepository::with(files);
    let count = repository.beside("count");
    let step = format!("echo built >> {}; cp script app", count.display());
    (Builds::with_steps(repository, &[&step], &["app"]), count)
}

fn times(count: &std::path::Path) -> usize {
    fs::read_to_string(count)
        .unwrap_or_default()
        .lines()
        .count()
}

#[test]
fn a_commit_is_built_once() {
    let (mut builds, count) = counted(&[("script", "#!/bin/sh\necho 1\n")]);
    assert!(matches!(builds.known("HEAD"), Known::Nothing { .. }));
    let first = builds.build("HEAD").unwrap();
    let second = builds.build("HEAD").unwrap();
    assert_eq!(
        (first.cached, second.cached, times(&count)),
        (false, true, 1)
    );
    assert!(builds.events.is_empty());
    assert_eq!(
        (&first.digest, &first.main, first.build_time),
        (&second.digest, &second.main, second.build_time)
    );
    assert_eq!(
        builds.known("HEAD"),
        Known::Artifact(Box::new(second.clone()))
    );
    assert!(second.log.exists());
    assert_eq!(run(&second), "1\n");
    builds.reuse = Reuse::Nothing;
    assert!(!builds.build("HEAD").unwrap().cached);
    assert_eq!(times(&count), 2);
    // Nothing of a build stays but its artifact.
    let left: Vec<_> = fs::read_dir(builds.store.join("build"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn commits_that_agree_under_the_paths_share_one_build() {
    let (mut builds, count) = counted(&[("script", "#!/bin/sh\necho 1\n")]);
    builds.paths = vec!["script".to_owned()];
    let first = builds.build("HEAD").unwrap();
    let documents = builds
        .repository
        .commit_file("README", "new\n", "documents");
    let second = builds.build("HEAD").unwrap();
    assert_eq!((first.key, times(&count)), (second.key, 1));
    assert!(second.cached);
    assert_eq!(second.revision.id, documents);
    assert_eq!(
        second.built_from,
        builds.repository.git(&["rev-parse", "HEAD~1"])
    );
    builds
        .repository
        .commit_file("script", "#!/bin/sh\necho 2\n", "code");
    assert_eq!(run(&builds.build("HEAD").unwrap()), "2\n");
}

#[test]
fn another_recipe_another_compiler_or_other_inputs_are_another_build() {
    let (mut builds, count) = counted(&[("script", "#!/bin/sh\necho 1\n")]);
    builds.build("HEAD").unwrap();
    builds.recipe.env.insert("X".to_owned(), "1".to_owned());
    builds.build("HEAD").unwrap();
    builds.inputs.insert("config".to_owned(), b"A=y".to_vec());
    builds.build("HEAD").unwrap();
    builds.inputs.insert("config".to_owned(), b"A=n".to_vec());
    builds.build("HEAD").unwrap();
    let compiler = builds.repository.beside("other-cc");
    fs::write(&compiler, "#!/bin/sh\necho other compiler 1\n").unwrap();
    fs::set_permissions(
        &compiler,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    builds
        .recipe
        .env
        .insert("CC".to_owned(), compiler.display().to_string());
    let other = builds.build("HEAD").unwrap();
    assert!(
        other.compiler.contains("other compiler 1"),
        "{}",
        other.compiler
    );
    // The same program under a newer version.
    fs::write(&compiler, "#!/bin/sh\necho other compiler 2\n").unwrap();
    builds.build("HEAD").unwrap();
    assert_eq!(times(&count), 6);
}

#[test]
fn a_commit_that_does_not_build_is_remembered_until_asked_again() {
    let repository = TestRepository::with(&[("a", "1\n")]);
    let count = repository.beside("count");
    let mend = repository.beside("mended");
    let step = format!(
        "echo x >> {}; test -e {}; touch app",
        count.display(),
        mend.display()
    );
    let mut builds = Builds::with_steps(repository, &[&step], &["app"]);
    let error = builds.build("HEAD").unwrap_err();
    assert!(error.is_about_commit());
    let BuildError::Failed { failure, .. } = &error else {
        panic!("{error}");
    };
    assert!(!failure.cached && failure.log.exists());
    let error = builds.build("HEAD").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("--rebuild tries again"), "{text}");
    assert_eq!(times(&count), 1);
    assert!(matches!(builds.known("HEAD"), Known::Failure(failure) if failure.cached));
    builds.reuse = Reuse::Artifacts;
    builds.build("HEAD").unwrap_err();
    assert_eq!(times(&count), 2);
    fs::write(mend, "").unwrap();
    builds.build("HEAD").unwrap();
    builds.reuse = Reuse::Everything;
    assert!(builds.build("HEAD").unwrap().cached);
    assert_eq!(times(&count), 3);
}

#[test]
fn an_artifact_that_lost_a_file_is_built_again() {
    let (mut builds, count) = counted(&[("script", "#!/bin/sh\necho 1\n")]);
    let first = builds.build("HEAD").unwrap();
    fs::write(&first.main, "").unwrap();
    assert_eq!(run(&builds.build("HEAD").unwrap()), "1\n");
    fs::write(first.dir.parent().unwrap().join("entry.json"), "{").unwrap();
    builds.build("HEAD").unwrap();
    assert_eq!(times(&count), 3);
}

#[test]
fn two_builders_of_one_commit_build_it_once_and_the_second_says_that_it_waits() {
    let (builds, count) = counted(&[("script", "#!/bin/sh\necho 1\n")]);
    let mut recipe = builds.recipe.clone();
    // Long enough that both are there.
    recipe.steps.insert(0, "sleep 1".to_owned());
    let barrier = Arc::new(Barrier::new(2));
    let path = builds.repository.path().to_owned();
    let store = builds.store.clone();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (barrier, recipe) = (barrier.clone(), recipe.clone());
            let (path, store) = (path.clone(), store.clone());
            std::thread::spawn(move || {
                use perfblame::build::{BuildRequest, Builder};
                use perfblame::executor::Supervisor;
                use perfblame::repo::{PathsDigester, Repository};
                let repository = Repository::open(&path).unwrap();
                let program = std::path::Path::new(env!("CARGO_BIN_EXE_perfblame"));
                let builder =
                    Builder::new(&store, Supervisor::at(program), Cancel::default()).unwrap();
                let mut events = Vec::new();
                barrier.wait();
                let artifact = builder
                    .build(
                        &BuildRequest {
                            repository: &repository,
                            revision: &repository.resolve("HEAD").unwrap(),
                            kind: perfblame::plan::SubjectKind::Program,
                            recipe: &recipe,
                            paths: &PathsDigester::default(),
                            inputs: &Default::default(),
                            reuse: Reuse::Everything,
                        },
                        &mut |event| events.push(event),
                    )
                    .unwrap();
                (artifact, events)
            })
        })
        .collect();
    let outcomes: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(times(&count), 1);
    assert_eq!(outcomes[0].0.digest, outcomes[1].0.digest);
    let cached: Vec<_> = outcomes
        .iter()
        .filter(|(artifact, _)| artifact.cached)
        .collect();
    assert_eq!(cached.len(), 1);
    let me = std::process::id();
    assert_eq!(cached[0].1, [BuildEvent::Waiting { holder: Some(me) }]);
}

#[test]
fn a_build_that_is_waited_for_can_be_given_up() {
    let (mut builds, _) = counted(&[("script", "#!/bin/sh\n")]);
    fs::create_dir_all(builds.store.join("build")).unwrap();
    let lock = builds.store.join("build/lock");
    let _held = perfblame::store::FileLock::try_acquire(&lock)
        .unwrap()
        .unwrap();
    let cancel = Cancel::default();
    let later = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        later.set();
    });
    let error = builds.build_until("HEAD", &cancel).unwrap_err();
    thread.join().unwrap();
    assert!(matches!(error, BuildError::Interrupted), "{error}");
    assert_eq!(builds.events.len(), 1);
}

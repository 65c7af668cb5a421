//! Builds of kernels, with a tree that only looks like one.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod builds;
mod repository;

use std::fs;
use std::path::Path;

use builds::Builds;
use perfblame::build::{Artifact, BuildError, BuildEvent, FailureReason, Reuse};
use perfblame::plan::SubjectKind;
use repository::TestRepository;

fn fake() -> Builds {
    let repository = TestRepository::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kernel/fake");
    for name in [
        "Kconfig",
        "Makefile",
        "init/main.c",
        "include/speed.h",
        "scripts/kconfig/merge_config.sh",
    ] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        repository.write(name, &text);
    }
    repository.commit("first");
    let mut builds = Builds::of(repository);
    builds.kind = SubjectKind::Kernel;
    builds.recipe.config = Some("tinyconfig".to_owned());
    builds.recipe.guest_options = false;
    // One that is there would hide what was compiled and what was not.
    builds.recipe.make_args = vec!["CC=gcc".to_owned()];
    builds
}

fn config(artifact: &Artifact) -> String {
    fs::read_to_string(artifact.dir.join("config")).unwrap()
}

/// How often the one source file was compiled since the objects were last cleared away.
fn compiled(builds: &Builds) -> usize {
    let path = builds.store.join("build/kernel/objects/compiled");
    fs::read_to_string(path).unwrap().lines().count()
}

fn notes(builds: &Builds) -> Vec<&str> {
    let notes = builds.events.iter().filter_map(|event| match event {
        BuildEvent::Note { text } => Some(text.as_str()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn an_artifact_is_what_a_guest_boots() {
    let mut builds = fake();
    builds.recipe.fragments = vec!["CONFIG_SMP=y".to_owned()];
    builds.recipe.modules = true;
    let artifact = builds.build("HEAD").unwrap();
    assert_eq!(artifact.main, artifact.dir.join("bzImage"));
    let paths: Vec<_> = artifact.files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "System.map",
            "bzImage",
            "config",
            "modules/6.1.0/moon.ko",
            "vmlinux"
        ]
    );
    assert_eq!(config(&artifact), "CONFIG_STARS=1\nCONFIG_SMP=y\n");
    assert_eq!(artifact.warnings, [""; 0]);
    let code = fs::read(artifact.dir.join("vmlinux")).unwrap();
    let banner = b"perfblame@perfblame 1 Sun Sep  9 01:46:40 UTC 2001";
    assert!(code.windows(banner.len()).any(|part| part == banner));
    assert!(builds.build("HEAD").unwrap().cached);
}

#[test]
fn options_that_came_to_nothing_or_contradict_each_other_are_said() {
    let mut builds = fake();
    builds.repository.commit_file(
        "arch/x86/configs/two.config",
        "# CONFIG_SMP is not set\nCONFIG_MOON=y\nCONFIG_NOVA=y\n",
        "second",
    );
    builds.recipe.fragments = vec![
        "one.config".to_owned(),
        "arch/x86/configs/two.config".to_owned(),
    ];
    let text = "CONFIG_SMP=y\nCONFIG_FAST=y\n".to_owned();
    builds
        .recipe
        .config_files
        .insert("one.config".to_owned(), text);
    let artifact = builds.build("HEAD").unwrap();
    let expected = [
        "CONFIG_SMP: one.config:1 says y, arch/x86/configs/two.config:1 says n, and the later counts",
        "CONFIG_MOON: arch/x86/configs/two.config:2 wished for y, the kernel has n (Kconfig:4): a \
         dependency is not met, it depends on SKY && SMP",
        "this kernel has no option of the name CONFIG_NOVA (arch/x86/configs/two.config:3)",
    ];
    assert_eq!(artifact.warnings, expected);
    for text in expected {
        assert!(notes(&builds).contains(&text), "{:?}", builds.events);
    }
}

#[test]
fn the_configuration_the_arguments_and_the_fragments_are_in_the_key() {
    let mut builds = fake();
    let mut keys = vec![builds.build("HEAD").unwrap().key];
    builds.recipe.fragments = vec!["one.config".to_owned()];
    for text in ["CONFIG_FAST=y\n", "CONFIG_FAST=y\nCONFIG_SMP=y\n"] {
        let files = &mut builds.recipe.config_files;
        files.insert("one.config".to_owned(), text.to_owned());
        keys.push(builds.build("HEAD").unwrap().key);
    }
    builds.recipe.make_args.push("KCFLAGS=-O1".to_owned());
    keys.push(builds.build("HEAD").unwrap().key);
    builds.recipe.config = Some("one.config".to_owned());
    keys.push(builds.build("HEAD").unwrap().key);
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn the_next_commit_is_built_upon_the_last_one_and_is_what_it_would_be_from_nothing() {
    let mut builds = fake();
    let first = builds.build("HEAD").unwrap();
    assert_eq!(compiled(&builds), 1);
    let repository = &builds.repository;
    repository.commit_file("README", "What it is.\n", "describe");
    let documented = builds.build("HEAD").unwrap();
    assert_eq!(compiled(&builds), 1, "nothing changed that it depends on");
    assert!(notes(&builds)[0].contains("built upon"));
    assert!(documented.is_same_program(&first) && documented.key != first.key);

    let repository = &builds.repository;
    let main = fs::read_to_string(repository.path().join("init/main.c")).unwrap();
    repository.commit_file("init/main.c", &format!("/* A comment. */\n\n{main}"), "say");
    let commented = builds.build("HEAD").unwrap();
    assert_eq!(compiled(&builds), 2);
    assert!(commented.is_same_program(&first), "only lines differ");

    let repository = &builds.repository;
    let slow = repository.commit_file("include/speed.h", "#define SPEED 5\n", "slow");
    let slower = builds.build("HEAD").unwrap();
    assert_eq!(compiled(&builds), 3, "a header counts");
    assert!(!slower.is_same_program(&first));

    // Back, and once more from nothing.
    builds.reuse = Reuse::Nothing;
    let again = builds.build(&slow).unwrap();
    assert_eq!(compiled(&builds), 1);
    assert_eq!(again.files, slower.files);
    builds.reuse = Reuse::Everything;
    let other = builds
        .repository
        .commit_file("LICENSE", "Yes.\n", "license");
    builds.build(&other).unwrap();
    let back = builds
        .repository
        .commit_file("include/speed.h", "#define SPEED 3\n", "mend");
    assert!(builds.build(&back).unwrap().is_same_program(&first));
    assert_eq!(compiled(&builds), 2);
}

#[test]
fn what_another_configuration_made_is_not_built_upon() {
    let mut builds = fake();
    builds.build("HEAD").unwrap();
    builds.recipe.fragments = vec!["CONFIG_FAST=y".to_owned()];
    builds.build("HEAD").unwrap();
    assert!(
        !notes(&builds)[0].contains("built upon"),
        "{:?}",
        builds.events
    );
    assert_eq!(compiled(&builds), 1);
}

#[test]
fn a_kernel_that_does_not_build_says_so_and_the_next_one_does() {
    let mut builds = fake();
    builds.build("HEAD").unwrap();
    let repository = &builds.repository;
    repository.commit_file("include/speed.h", "#define SPEED nonsense\n", "break");
    let error = builds.build("HEAD").unwrap_err();
    let text = error.to_string();
    for part in ["does not build", "bzImage", "nonsense", "\"break\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(error.is_about_commit());
    let repository = &builds.repository;
    repository.commit_file("include/speed.h", "#define SPEED 4\n", "mend");
    builds.build("HEAD").unwrap();
    assert!(notes(&builds)[0].contains("built upon"));

    builds.recipe.config = Some("nosuchconfig".to_owned());
    let text = builds.build("HEAD").unwrap_err().to_string();
    assert!(text.contains("nosuchconfig"), "{text}");
}

#[test]
fn a_fragment_that_is_nowhere_is_named() {
    let mut builds = fake();
    builds.recipe.fragments = vec!["nowhere.config".to_owned()];
    let error = builds.build("HEAD").unwrap_err();
    let BuildError::Failed { failure, .. } = &error else {
        panic!("{error}");
    };
    assert!(matches!(
        failure.reason,
        FailureReason::NoConfiguration { .. }
    ));
    assert!(error.to_string().contains("`nowhere.config`"), "{error}");
}

#[test]
fn tools_that_are_missing_are_named_with_their_packages() {
    let mut builds = fake();
    let tools = builds.repository.beside("tools");
    fs::create_dir(&tools).unwrap();
    let env = &mut builds.recipe.env;
    env.insert("PATH".to_owned(), tools.display().to_string());
    let error = builds.build("HEAD").unwrap_err();
    assert!(!error.is_about_commit());
    let text = error.to_string();
    for part in [
        "make, gcc, ld, flex, bison, bc are not installed",
        "apt-get install make gcc binutils flex bison bc",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

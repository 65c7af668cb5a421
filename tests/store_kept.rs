//! What is stored stays stored, and says so when it cannot.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use perfblame::store::{
    BlobDigest, BuildRecord, ExperimentState, FileLock, Finish, NewExperiment, NewTrial,
    SCHEMA_VERSION, Store, StoreError, TrialState,
};
use serde_json::json;

fn new_experiment() -> NewExperiment {
    NewExperiment {
        kind: "compare".to_owned(),
        base: Some("a".repeat(40)),
        head: Some("b".repeat(40)),
        seed: u64::MAX,
        plan: json!({ "blocks": 8, "z": 1, "a": [1.5, null] }),
        machine: json!({ "cpus": 2 }),
    }
}

fn new_trial(block: u32) -> NewTrial {
    NewTrial {
        block,
        arm: "base".to_owned(),
        position: 1,
        started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
        ended: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_009_456),
        state: TrialState::Complete,
        result: json!({ "throughput": 123.25 }),
        profile: None,
    }
}

#[test]
fn what_was_stored_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/store");
    let store = Store::open(&path).unwrap();
    let running = store.begin(&new_experiment()).unwrap();
    let profile = store.put_blob(b"main;f 3\n").unwrap();
    let first = NewTrial {
        profile: Some(profile.clone()),
        ..new_trial(0)
    };
    let failed = NewTrial {
        state: TrialState::Failed,
        result: json!("server died"),
        ..new_trial(1)
    };
    store.put_trial(&running.id, &first).unwrap();
    store.put_trial(&running.id, &failed).unwrap();
    let build = BuildRecord {
        revision: "a".repeat(40),
        key: "k".to_owned(),
        digest: Some("d".to_owned()),
        cached: false,
        seconds: 1.5,
        failure: None,
    };
    store.put_build(&running.id, &build).unwrap();
    store
        .put_event(&running.id, "posterior", &json!([0.5, 0.5]))
        .unwrap();
    let id = running.id.clone();
    assert_eq!(
        store.experiment(&id).unwrap().state,
        ExperimentState::Running
    );
    let finish = Finish {
        state: ExperimentState::Done,
        summary: "no change".to_owned(),
        outcome: json!({ "schema": "perfblame.compare/1" }),
    };
    store.finish(running, &finish).unwrap();
    drop(store);

    let store = Store::open_existing(&path).unwrap();
    let found = store.experiment(&id).unwrap();
    let new = new_experiment();
    assert_eq!(
        (found.kind, found.base, found.head, found.seed),
        (new.kind, new.base, new.head, new.seed)
    );
    assert_eq!(
        (found.plan.to_string(), found.machine),
        (new.plan.to_string(), new.machine)
    );
    assert_eq!(found.state, ExperimentState::Done);
    assert_eq!(found.summary.as_deref(), Some("no change"));
    assert_eq!(found.outcome, Some(finish.outcome));
    assert!(found.finished.unwrap() >= found.created);
    let trials = store.trials(&id).unwrap();
    assert_eq!(trials.len(), 2);
    assert_eq!(
        (trials[0].started, trials[0].ended),
        (first.started, first.ended)
    );
    assert_eq!(
        (trials[0].block, trials[0].position, &trials[0].arm),
        (0, 1, &first.arm)
    );
    assert_eq!(trials[0].result, first.result);
    assert_eq!(
        store.blob(trials[0].profile.as_ref().unwrap()).unwrap(),
        b"main;f 3\n"
    );
    assert_eq!(
        (trials[1].state, &trials[1].result),
        (TrialState::Failed, &failed.result)
    );
    assert_eq!(store.builds(&id).unwrap(), [build]);
    let events = store.events(&id).unwrap();
    assert_eq!(
        (events[0].kind.as_str(), &events[0].body),
        ("posterior", &json!([0.5, 0.5]))
    );
}

#[test]
fn an_id_is_found_by_its_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let mut ids: Vec<String> = Vec::new();
    // Two of seventeen begin with the same digit.
    for _ in 0..17 {
        ids.push(store.begin(&new_experiment()).unwrap().id);
    }
    for id in &ids {
        assert_eq!(store.experiment(id).unwrap().id, *id);
        assert_eq!(store.experiment(&id.to_uppercase()).unwrap().id, *id);
    }
    let digit = ids.iter().find_map(|id| {
        let begins = |other: &&String| other[..1] == id[..1];
        (ids.iter().filter(begins).count() > 1).then(|| id[..1].to_owned())
    });
    let error = store.experiment(&digit.unwrap()).unwrap_err();
    assert!(
        matches!(&error, StoreError::AmbiguousExperiment { candidates, .. } if candidates.len() > 1),
        "{error}"
    );
    for id in ["", "zz", "*", "' OR 1 --", "0123456789"] {
        let error = store.experiment(id).unwrap_err();
        assert!(
            matches!(error, StoreError::UnknownExperiment { .. }),
            "{id}: {error}"
        );
    }
    let listed: Vec<String> = store
        .experiments()
        .unwrap()
        .into_iter()
        .map(|found| found.id)
        .collect();
    ids.reverse();
    assert_eq!(listed, ids);
    assert_eq!(store.latest().unwrap().unwrap().id, ids[0]);
}

#[test]
fn a_blob_is_kept_once_and_checked_when_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let content = b"main;f 3\n".repeat(1000);
    let digest = store.put_blob(&content).unwrap();
    assert_eq!(store.put_blob(&content).unwrap(), digest);
    assert_eq!(store.blob(&digest).unwrap(), content);
    assert_eq!(BlobDigest::parse(digest.as_str()), Some(digest.clone()));
    let file = directory.path().join("blobs").join(&digest.as_str()[..2]);
    let file = fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
    assert!(fs::metadata(&file).unwrap().len() < 1000);
    let other = store.put_blob(b"other").unwrap();
    let of_other = directory.path().join("blobs").join(&other.as_str()[..2]);
    fs::copy(
        fs::read_dir(of_other)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path(),
        &file,
    )
    .unwrap();
    let error = store.blob(&digest).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Blob {
                what: "damaged",
                ..
            }
        ),
        "{error}"
    );
    fs::remove_file(&file).unwrap();
    let error = store.blob(&digest).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Blob {
                what: "missing",
                ..
            }
        ),
        "{error}"
    );
    for text in ["", "../../etc/passwd", &"A".repeat(64)] {
        assert_eq!(BlobDigest::parse(text), None);
    }
}

#[test]
fn a_newer_a_foreign_and_a_damaged_database_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let newer = path("newer");
    drop(Store::open(&newer).unwrap());
    let database = rusqlite::Connection::open(newer.join("store.sqlite")).unwrap();
    database
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    drop(database);
    let error = Store::open(&newer).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found, known, .. } if found == known + 1),
        "{error}"
    );

    let foreign = path("foreign");
    let database = rusqlite::Connection::open(foreign.join("store.sqlite")).unwrap();
    database.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(database);
    let error = Store::open(&foreign).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");

    let garbage = path("garbage");
    fs::write(garbage.join("store.sqlite"), "not a database ".repeat(100)).unwrap();
    let error = Store::open(&garbage).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("mv "), "{error}");

    let damaged = path("damaged");
    let store = Store::open(&damaged).unwrap();
    let running = store.begin(&new_experiment()).unwrap();
    for block in 0..200 {
        store.put_trial(&running.id, &new_trial(block)).unwrap();
    }
    drop(store);
    let file = damaged.join("store.sqlite");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 3000] {
        *byte ^= 0xa5;
    }
    fs::write(&file, &bytes).unwrap();
    let error = Store::open(&damaged).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn looking_makes_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let error = Store::open_existing(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::NoStore { .. }), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

#[test]
fn two_processes_write_to_one_store_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..3)
        .map(|_| child("child_many", directory.path()))
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open_existing(directory.path()).unwrap();
    let experiments = store.experiments().unwrap();
    assert_eq!(experiments.len(), 3);
    for experiment in experiments {
        assert_eq!(store.trials(&experiment.id).unwrap().len(), 20);
        assert_eq!(experiment.state, ExperimentState::Done);
    }
}

#[test]
fn kill_9_loses_no_trial_that_ended_and_the_experiment_can_be_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = child("child_endless", directory.path());
    let deadline = Instant::now() + Duration::from_secs(60);
    let told = directory.path().join("told");
    let count = || {
        fs::read_to_string(&told)
            .unwrap_or_default()
            .lines()
            .count()
    };
    while count() < 5 {
        assert!(Instant::now() < deadline, "the child never stored anything");
        std::thread::sleep(Duration::from_millis(5));
    }
    let store = Store::open(directory.path()).unwrap();
    let running = store.latest().unwrap().unwrap();
    assert_eq!(running.state, ExperimentState::Running);
    let error = store.resume(&running.id).unwrap_err();
    let pid = child.id().to_string();
    assert!(
        matches!(&error, StoreError::StillRunning { pid: found, .. } if *found == pid),
        "{error}"
    );

    child.kill().unwrap();
    child.wait().unwrap();
    let told = count();
    let found = store.latest().unwrap().unwrap();
    assert_eq!(found.state, ExperimentState::Interrupted);
    let trials = store.trials(&found.id).unwrap();
    // It tells of a trial after it was stored; one more may be stored and not told.
    assert!(
        trials.len() == told || trials.len() == told + 1,
        "{} {told}",
        trials.len()
    );

    let resumed = store.resume(&found.id[..5]).unwrap();
    assert_eq!(
        store.latest().unwrap().unwrap().state,
        ExperimentState::Running
    );
    store.put_trial(&resumed.id, &new_trial(999)).unwrap();
    drop(resumed);
    assert_eq!(
        store.latest().unwrap().unwrap().state,
        ExperimentState::Interrupted
    );
    assert_eq!(store.trials(&found.id).unwrap().len(), trials.len() + 1);
}

fn child(test: &str, directory: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored"])
        .env("STORE", directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn store_of_parent() -> (PathBuf, Store) {
    let directory = PathBuf::from(std::env::var_os("STORE").unwrap());
    let store = Store::open(&directory).unwrap();
    (directory, store)
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child_many() {
    let (_, store) = store_of_parent();
    let running = store.begin(&new_experiment()).unwrap();
    for block in 0..20 {
        store.put_trial(&running.id, &new_trial(block)).unwrap();
    }
    let finish = Finish {
        state: ExperimentState::Done,
        summary: String::new(),
        outcome: json!(null),
    };
    store.finish(running, &finish).unwrap();
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child_endless() {
    use std::io::Write;
    let (directory, store) = store_of_parent();
    let mut told = fs::File::create(directory.join("told")).unwrap();
    let running = store.begin(&new_experiment()).unwrap();
    for block in 0..100_000 {
        store.put_trial(&running.id, &new_trial(block)).unwrap();
        writeln!(told, "{block}").unwrap();
    }
}

#[test]
fn a_full_disk_is_said_with_the_room_that_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(directory.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        // Only root may mount.
        return;
    }
    let outcome = || -> Result<(), StoreError> {
        let store = Store::open(&directory.path().join("store"))?;
        let running = store.begin(&new_experiment())?;
        let trial = NewTrial {
            result: json!("x".repeat(10_000)),
            ..new_trial(0)
        };
        for _ in 0..1000 {
            store.put_trial(&running.id, &trial)?;
        }
        Ok(())
    };
    let first = outcome();
    let store = Store::open(&directory.path().join("store"));
    let blob = store.as_ref().map(|store| {
        let mut random = 1u64;
        let content = std::iter::repeat_with(|| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 56) as u8
        });
        store.put_blob(&content.take(2 << 20).collect::<Vec<_>>())
    });
    let text = format!("{blob:?}");
    drop(store);
    let unmounted = Command::new("umount")
        .arg(directory.path())
        .status()
        .unwrap();
    assert!(unmounted.success());
    let error = first.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("0 MiB are free"), "{error}");
    assert!(text.contains("DiskFull"), "{text}");
}

#[test]
fn a_lock_is_not_inherited_by_programs_that_its_holder_starts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let lock = FileLock::try_acquire(&path).unwrap().unwrap();
    let mut child = Command::new("sleep").arg("100").spawn().unwrap();
    drop(lock);
    // Another test's child may hold a copy of the descriptor between its fork and its exec.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while FileLock::is_held(&path) {
        assert!(
            std::time::Instant::now() < deadline,
            "the lock is still held"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

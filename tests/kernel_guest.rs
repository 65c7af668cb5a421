//! A kernel from its source to a result: built, booted in a guest, one trial of it and its twin.
//!
//! The first run makes a repository of Linux 6.1 and builds it, which takes minutes; both stay in
//! Cargo's target directory for the next.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::process::Command;

#[test]
fn a_kernel_is_built_booted_and_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel");
    let repository = kept.join("linux");
    if !repository.join(".git/refs/tags/last").exists() {
        let _ = std::fs::remove_dir_all(&repository);
        let made = Command::new(root.join("scripts/kernel-repo"))
            .arg(&repository)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
    }
    let out = tempfile::tempdir().unwrap();
    let plan = root.join("fixtures/kernel/kernel.toml");
    let mut arguments = vec!["compare".to_owned()];
    for (flag, value) in [
        ("--config", plan.display().to_string()),
        ("--store", kept.join("store").display().to_string()),
        ("--out", out.path().display().to_string()),
        ("--blocks", "1".to_owned()),
        // Nothing may fail because others keep the machine busy.
        ("--set", "disturbance.repeats=0".to_owned()),
    ] {
        arguments.extend([flag.to_owned(), value]);
    }
    arguments.extend(["first".to_owned(), "first".to_owned()]);
    let ran = common::perfblame(&repository, &arguments);
    assert!(ran.code == 0 || ran.code == 3, "{ran:#?}");
    assert!(
        ran.err.contains("base and head are the same program"),
        "{ran:#?}"
    );

    let text = std::fs::read_to_string(out.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["throughput"]["base_mean"].as_f64().unwrap() > 0.0);
    let functions = report["functions"].as_array().unwrap();
    let of_kernel = |name: &str| {
        functions
            .iter()
            .any(|function| function["name"] == name && function["module"] == "[kernel]")
    };
    // What every reply goes through.
    assert!(of_kernel("unix_stream_sendmsg"), "{text}");
}

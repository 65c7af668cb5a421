//! Process trees, threads, late and deleted code, namespaces.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod truth;

use std::process::{Command, Stdio};

use truth::{FRAME_POINTERS, NO_FRAME_POINTERS, Truth, works};

#[test]
fn threads_that_live_for_a_millisecond_are_seen() {
    let truth = Truth::new();
    truth.compile("fp", &["threads.c"], FRAME_POINTERS);
    truth.compile("no_fp", &["threads.c"], NO_FRAME_POINTERS);
    for (program, call_graph) in [("./fp", "fp"), ("./no_fp", "dwarf")] {
        let recording = truth.record(&["-g", call_graph, "--", program]);
        let in_thread = recording.function("in_thread").inclusive_samples;
        // Nearly all of its CPU time is spent there, and some of it in making threads.
        assert!(
            in_thread * 2 > recording.samples(),
            "{}",
            recording.folded()
        );
        if call_graph == "dwarf" {
            assert_eq!(recording.samples_with(&["start", "in_thread"]), in_thread);
        }
    }
}

#[test]
fn forks_and_exec_chains_are_followed() {
    let truth = Truth::new();
    truth.compile("fp", &["chain.c"], FRAME_POINTERS);
    truth.compile("no_fp", &["chain.c"], NO_FRAME_POINTERS);
    for (program, call_graph) in [("./fp", "fp"), ("./no_fp", "dwarf")] {
        let recording = truth.record(&["-g", call_graph, "--", program]);
        let of = |name: &str| recording.function(name).inclusive_samples as f64;
        // Three processes burn the same in `forked` as each depth does in its own function.
        let depths = [of("depth_2"), of("depth_1"), of("depth_0")];
        let mean = (depths.iter().sum::<f64>() + of("forked")) / 6.0;
        assert!(mean > 10.0, "{}", recording.folded());
        for depth in depths {
            assert!((depth / mean - 1.0).abs() < 0.6, "{}", recording.folded());
        }
        assert!(
            (of("forked") / 3.0 / mean - 1.0).abs() < 0.4,
            "{}",
            recording.folded()
        );
    }
}

#[test]
fn a_shared_object_that_is_loaded_late_is_seen_even_if_it_is_deleted() {
    let truth = Truth::new();
    truth.compile("no_fp", &["late.c"], NO_FRAME_POINTERS);
    for delete in [None, Some("delete")] {
        let object = ["-O2", "-g", "-fomit-frame-pointer", "-fPIC", "-shared"];
        truth.compile("object.so", &["object.c"], &object);
        let mut command = vec!["-g", "dwarf", "--", "./no_fp", "./object.so"];
        command.extend(delete);
        let recording = truth.record(&command);
        let chain = ["main", "in_object", "hidden_in_object"];
        assert!(
            recording.samples_with(&chain) > 50,
            "{}",
            recording.folded()
        );
        assert_eq!(truth.path("object.so").exists(), delete.is_none());
    }
}

#[test]
fn a_program_that_is_replaced_while_it_runs_keeps_its_own_names() {
    let truth = Truth::new();
    let program = truth.compile("victim", &["shares.c"], FRAME_POINTERS);
    let mut child = Command::new(&program).arg("1.2").spawn().unwrap();
    let pid = child.id().to_string();
    std::fs::remove_file(&program).unwrap();
    truth.compile("victim", &["recursion.c"], FRAME_POINTERS);
    let recording = truth.record(&["-p", &pid, "--duration", "500ms"]);
    child.wait().unwrap();
    assert!(
        recording.function("half").self_samples > 50,
        "{}",
        recording.folded()
    );
    assert_eq!(recording.function("descend").inclusive_samples, 0);
}

#[test]
fn code_made_at_run_time_has_the_names_of_its_map() {
    let truth = Truth::new();
    truth.compile("jit", &["jit.c"], FRAME_POINTERS);
    for call_graph in ["fp", "dwarf"] {
        let recording = truth.record(&["-g", call_graph, "--", "./jit"]);
        let counts = recording.function("made at run time");
        assert!(counts.self_samples > 50, "{}", recording.folded());
        assert!(recording.folded().contains("made at run time_[j] "));
    }
    for entry in std::fs::read_dir("/tmp").unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        if name.starts_with("perf-") && text.ends_with("made at run time\n") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn one_thread_alone_can_be_sampled() {
    let truth = Truth::new();
    let program = truth.compile("crowd", &["crowd.c"], NO_FRAME_POINTERS);
    let mut child = Command::new(program).arg("3").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let stays = tasks.flatten().map(|task| task.path()).find(|task| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "stays")
    });
    let tid = stays
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let recording = truth.record(&["-t", &tid, "--duration", "800ms"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        recording.function("staying").inclusive_samples > 10,
        "{}",
        recording.folded()
    );
    assert_eq!(recording.function("passing").inclusive_samples, 0);
}

#[test]
fn a_cpu_can_be_sampled_whatever_runs_on_it() {
    let truth = Truth::new();
    truth.compile("fp", &["shares.c"], FRAME_POINTERS);
    if !works("taskset", &["-c", "0", "true"]) {
        return;
    }
    let mut child = Command::new("taskset")
        .args(["-c", "0", "./fp", "3"])
        .current_dir(truth.path("."))
        .spawn()
        .unwrap();
    let recording = truth.record(&["-C", "0", "--duration", "700ms"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        recording.function("half").self_samples > 20,
        "{}",
        recording.folded()
    );
}

#[test]
fn files_that_only_the_process_sees_are_read_in_its_mount_namespace() {
    let truth = Truth::new();
    truth.compile("hidden", &["shares.c"], NO_FRAME_POINTERS);
    if !works("unshare", &["-m", "true"]) {
        eprintln!("skipped: no mount namespaces for this user");
        return;
    }
    // The program lies on a file system that is mounted in the namespace only.
    std::fs::create_dir(truth.path("inside")).unwrap();
    let script =
        "mount -t tmpfs none inside && cp hidden inside/only-here && exec inside/only-here 1";
    let recording = truth.record(&["-g", "dwarf", "--", "unshare", "-m", "sh", "-c", script]);
    assert!(!truth.path("inside/only-here").exists());
    assert!(
        recording.samples_with(&["main", "outer", "half"]) > 50,
        "{}",
        recording.folded()
    );
}

#[test]
fn a_short_command_is_sampled_whole() {
    let truth = Truth::new();
    let recording = truth.record(&["-F", "20000", "--", "true"]);
    // The dynamic linker's first instructions are in.
    assert!(recording.samples() > 3, "{}", recording.messages);
    assert!(
        recording
            .profile
            .stacks
            .iter()
            .all(|stack| stack.thread == "true")
    );
}

#[test]
fn the_command_has_its_own_input_and_output() {
    let truth = Truth::new();
    let out = truth.path("out.folded");
    let mut child = Command::new(env!("CARGO_BIN_EXE_perfblame"))
        .args([
            "record",
            "-o",
            out.to_str().unwrap(),
            "--",
            "tr",
            "a-z",
            "A-Z",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"hello").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"HELLO");
    assert!(output.status.success());
}

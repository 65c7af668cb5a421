//! Process trees, threads, late and deleted code, namespaces.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod truth;

use std::process::{Command, Stdio};

use truth::{FRAME_POINTERS, NO_FRAME_POINTERS, Recording, Running, Truth, text, works};

#[test]
fn threads_that_live_for_a_millisecond_are_seen() {
    let truth = Truth::new();
    truth.compile("fp", &["threads.c"], FRAME_POINTERS);
    truth.compile("no_fp", &["threads.c"], NO_FRAME_POINTERS);
    for (program, call_graph) in [("./fp", "fp"), ("./no_fp", "dwarf")] {
        // The kernel starts every thread's clock anew, so a period must fit into a thread's life.
        let recording = truth.record(&["-F", "5000", "-g", call_graph, "--", program]);
        let in_thread = recording.function("in_thread").inclusive_samples;
        assert!(in_thread > 100, "{}", recording.folded());
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
        for name in ["depth_2", "depth_1", "depth_0", "forked"] {
            let found = recording.function(name).inclusive_samples;
            assert!(found > 10, "{name}\n{}", recording.folded());
            // By frame pointers a leaf's caller is passed over.
            if call_graph == "dwarf" {
                assert_eq!(recording.samples_with(&["main", name]), found);
            }
        }
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
    let running = Running::start(Command::new(&program).arg("60"));
    let pid = running.pid().to_string();
    std::fs::remove_file(&program).unwrap();
    truth.compile("victim", &["recursion.c"], FRAME_POINTERS);
    let recording = truth.record(&["-p", &pid, "--duration", "500ms"]);
    assert!(
        recording.function("half").self_samples > 5,
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

/// Runs the crowd, and attaches while it makes its threads. Returns what it said, and the recording,
/// if that began before the threads did what they are judged by.
fn attached_to_the_crowd(truth: &Truth, seconds: &str) -> Option<(String, Recording)> {
    let child = Command::new(truth.path("crowd"))
        .arg(seconds)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let recording = truth.record(&["-g", "dwarf", "-p", &child.id().to_string()]);
    let said = text(&child.wait_with_output().unwrap().stdout);
    let (said, burnt) = said.trim().rsplit_once("burnt ").unwrap();
    let in_time = recording.profile.duration_ns > burnt.parse::<u64>().unwrap();
    in_time.then(|| (said.to_owned(), recording))
}

#[test]
fn attaching_misses_no_thread_and_takes_none_twice() {
    let truth = Truth::new();
    truth.compile("crowd", &["crowd.c"], NO_FRAME_POINTERS);
    // A busy machine may need longer to begin.
    let mut attempts = ["1.5", "4", "9"].into_iter();
    let attached = attempts.find_map(|seconds| attached_to_the_crowd(&truth, seconds));
    let (said, recording) = attached.expect("attaching takes no nine seconds");
    assert_eq!(said.lines().count(), 60, "{said}");
    for line in said.lines() {
        let (name, cpu_ns) = line.split_once(' ').unwrap();
        let cpu_ns: f64 = cpu_ns.parse().unwrap();
        let sampled = weight_of(&recording, name);
        // How much of its thirty milliseconds was sampled is chance on a busy machine; none of it,
        // or twice as much as there was, is not.
        assert!(
            sampled > 0.0 && sampled < 1.7 * cpu_ns,
            "{name}: sampled {sampled} of {cpu_ns} ns\n{}",
            recording.folded()
        );
    }
}

/// Sampled CPU time of a thread in nanoseconds.
fn weight_of(recording: &Recording, thread: &str) -> f64 {
    let stacks = recording.profile.stacks.iter();
    let of_thread = stacks.filter(|stack| stack.thread == thread);
    of_thread.map(|stack| stack.weight as f64).sum()
}

#[test]
fn one_thread_alone_can_be_sampled() {
    let truth = Truth::new();
    let program = truth.compile("crowd", &["crowd.c"], NO_FRAME_POINTERS);
    let running = Running::start(Command::new(program).arg("60").stdout(Stdio::null()));
    let busy = loop {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
        let busy = tasks.flatten().find(|task| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.trim() == "t0")
        });
        if let Some(busy) = busy {
            break busy.file_name().into_string().unwrap();
        }
    };
    let recording = truth.record(&["-t", &busy, "--duration", "800ms"]);
    assert!(
        recording.function("idling").inclusive_samples > 2,
        "{}",
        recording.folded()
    );
    let mut stacks = recording.profile.stacks.iter();
    assert!(stacks.all(|stack| stack.thread == "t0"));
}

#[test]
fn a_cpu_can_be_sampled_whatever_runs_on_it() {
    let truth = Truth::new();
    truth.compile("fp", &["shares.c"], FRAME_POINTERS);
    if !works("taskset", &["-c", "0", "true"]) {
        return;
    }
    let _running = Running::start(
        Command::new("taskset")
            .args(["-c", "0", "./fp", "60"])
            .current_dir(truth.path(".")),
    );
    let recording = truth.record(&["-C", "0", "--duration", "700ms"]);
    assert!(
        recording.function("half").self_samples > 5,
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
fn a_program_in_another_root_is_read_there() {
    let truth = Truth::new();
    let fixed = ["-O2", "-g", "-fomit-frame-pointer", "-static"];
    std::fs::create_dir(truth.path("root")).unwrap();
    truth.compile("root/program", &["shares.c"], &fixed);
    if !works("chroot", &["/", "true"]) {
        eprintln!("skipped: this user cannot change the root");
        return;
    }
    let recording = truth.record(&["-g", "dwarf", "--", "chroot", "root", "/program", "0.7"]);
    assert!(
        recording.samples_with(&["main", "outer", "half"]) > 50,
        "{}",
        recording.folded()
    );
    let modules = &recording.profile.modules;
    assert!(modules.iter().any(|module| module.path == "/program"));
}

/// How often all threads of a process have gone to sleep.
fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = |status: String| -> u64 {
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .map(of_task)
        .sum()
}

#[test]
fn a_target_that_is_idle_wakes_the_sampler_seldom() {
    let truth = Truth::new();
    let idle = Running::start(Command::new("sleep").arg("60"));
    let sampler = Running::start(
        Command::new(env!("CARGO_BIN_EXE_perfblame"))
            .args(["record", "-o", "out.folded", "-p", &idle.pid().to_string()])
            .current_dir(truth.path(".")),
    );
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let (before, from) = (sleeps(sampler.pid()), std::time::Instant::now());
    std::thread::sleep(std::time::Duration::from_secs(3));
    let more = sleeps(sampler.pid()) - before;
    // A look a second; the rest is room for what the kernel makes a process wait for.
    let most = 3.0 * from.elapsed().as_secs_f64() + 3.0;
    assert!(more as f64 <= most, "{more} times, {most} at most");
}

#[test]
fn nothing_but_the_command_is_sampled() {
    let truth = Truth::new();
    let recording = truth.record(&["-F", "20000", "--", "true"]);
    assert!(recording.samples() > 0, "{}", recording.messages);
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

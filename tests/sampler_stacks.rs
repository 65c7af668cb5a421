//! Stacks of programs whose truth is known, by frame pointers and by call frame information.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod truth;

use truth::{FRAME_POINTERS, NO_FRAME_POINTERS, Recording, Truth};

/// Shares of the three functions among themselves, in per cent.
fn shares(recording: &Recording) -> [f64; 3] {
    let counts = ["half", "third", "fifth"].map(|name| recording.function(name).inclusive_samples);
    let all: u64 = counts.iter().sum();
    assert!(all > 300, "{}", recording.messages);
    counts.map(|count| 100.0 * count as f64 / all as f64)
}

#[test]
fn shares_are_50_30_20_by_either_call_graph() {
    let truth = Truth::new();
    truth.compile("fp", &["shares.c"], FRAME_POINTERS);
    truth.compile("no_fp", &["shares.c"], NO_FRAME_POINTERS);
    for (program, call_graph) in [("./fp", "fp"), ("./no_fp", "dwarf"), ("./no_fp", "none")] {
        let recording = truth.record(&["-g", call_graph, "--", program, "2"]);
        for (share, expected) in shares(&recording).into_iter().zip([50.0, 30.0, 20.0]) {
            // Five standard errors of a share of one half among a thousand samples.
            let error: f64 = share - expected;
            assert!(
                error.abs() < 8.0,
                "{program} {call_graph}: {:?}",
                shares(&recording)
            );
        }
    }
}

#[test]
fn code_without_frame_pointers_has_whole_stacks_by_call_frame_information() {
    let truth = Truth::new();
    truth.compile("plain", &["shares.c"], NO_FRAME_POINTERS);
    let lto = ["-O2", "-g", "-flto", "-fomit-frame-pointer"];
    truth.compile("lto", &["shares.c"], &lto);
    let no_pie = ["-O2", "-g", "-fomit-frame-pointer", "-no-pie"];
    truth.compile("no_pie", &["shares.c"], &no_pie);
    let fixed = ["-O2", "-g", "-fomit-frame-pointer", "-static"];
    truth.compile("static", &["shares.c"], &fixed);
    for program in ["./plain", "./lto", "./no_pie", "./static"] {
        let recording = truth.record(&["-g", "dwarf", "--", program, "0.7"]);
        let in_half = recording.function("half").inclusive_samples;
        assert!(in_half > 50, "{program}\n{}", recording.folded());
        let whole = recording.samples_with(&["main", "outer", "half"]);
        assert_eq!(whole, in_half, "{program}\n{}", recording.folded());
        assert!(
            recording.truncated() * 100 <= recording.samples(),
            "{program}\n{}",
            recording.folded()
        );
    }
}

#[test]
fn recursion_is_as_deep_as_it_is() {
    let truth = Truth::new();
    truth.compile("fp", &["recursion.c"], FRAME_POINTERS);
    truth.compile("no_fp", &["recursion.c"], NO_FRAME_POINTERS);
    for (program, call_graph, depth) in [("./fp", "fp", 60), ("./no_fp", "dwarf,65528", 600)] {
        let depth_text = depth.to_string();
        let recording = truth.record(&["-g", call_graph, "--", program, &depth_text]);
        let at_bottom = |names: &[&str]| names.last() == Some(&"bottom");
        let mut seen = 0;
        for stack in &recording.profile.stacks {
            let names = recording.names(stack);
            if !at_bottom(&names) || stack.truncated {
                continue;
            }
            let levels = names.iter().filter(|name| **name == "descend").count();
            // A leaf has no frame of its own: by frame pointers its caller is passed over.
            let expected = if call_graph == "fp" { depth } else { depth + 1 };
            assert_eq!(levels, expected, "{call_graph}: {names:?}");
            seen += stack.count;
        }
        assert!(seen > 50, "{}", recording.folded());
        // However often it recurs, it counts once a stack.
        assert!(recording.function("descend").inclusive_samples <= recording.samples());
    }
}

#[test]
fn a_stack_that_is_too_deep_to_be_copied_is_marked() {
    let truth = Truth::new();
    truth.compile("no_fp", &["recursion.c"], NO_FRAME_POINTERS);
    let recording = truth.record(&["-g", "dwarf,1024", "--", "./no_fp", "600"]);
    let at_bottom = recording.function("bottom").self_samples;
    assert!(at_bottom > 50);
    assert!(recording.truncated() >= at_bottom, "{}", recording.messages);
    assert!(recording.folded().contains(";[truncated];"));
    assert!(
        recording
            .messages
            .contains("end before their thread's start")
    );
}

#[test]
fn inlined_functions_are_named_with_file_and_line() {
    let truth = Truth::new();
    truth.compile("fp", &["inlined.c"], FRAME_POINTERS);
    let split = ["-O2", "-g", "-gsplit-dwarf", "-fno-omit-frame-pointer"];
    truth.compile("split", &["inlined.c"], &split);
    for program in ["./fp", "./split"] {
        let recording = truth.record(&["--", program]);
        let chain = ["holder", "middle", "innermost"];
        assert!(
            recording.samples_with(&chain) > 50,
            "{program}\n{}",
            recording.folded()
        );
        assert_eq!(
            recording.function("innermost").inclusive_samples,
            recording.samples_with(&chain)
        );
        let symbols = recording
            .profile
            .frames
            .iter()
            .flat_map(|frame| &frame.symbols);
        let innermost = symbols.filter(|symbol| symbol.name == "innermost");
        for symbol in innermost {
            assert!(symbol.inlined);
            assert!(
                symbol.file.as_ref().unwrap().ends_with("inlined.c"),
                "{symbol:?}"
            );
            assert_eq!(symbol.line, Some(4));
        }
    }
}

#[test]
fn a_signal_handler_stands_on_what_it_interrupted() {
    let truth = Truth::new();
    truth.compile("no_fp", &["handler.c"], NO_FRAME_POINTERS);
    let recording = truth.record(&["-g", "dwarf", "--", "./no_fp"]);
    let in_handler = recording.samples_with(&["handler", "in_handler"]);
    assert!(in_handler > 50, "{}", recording.folded());
    let stands = |names: &[&str]| {
        let of = |wanted: &str| names.iter().position(|name| *name == wanted);
        matches!((of("main"), of("handler")), (Some(main), Some(handler)) if main < handler)
    };
    let on_main: u64 = recording
        .profile
        .stacks
        .iter()
        .filter(|stack| stands(&recording.names(stack)))
        .map(|stack| stack.count)
        .sum();
    assert!(on_main * 100 >= in_handler * 95, "{}", recording.folded());
}

#[test]
fn kernel_frames_come_before_user_frames() {
    let truth = Truth::new();
    let recording = truth.record(&[
        "--",
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=64k",
        "count=200000",
    ]);
    let is_kernel = |frame: &u32| {
        let module = recording.profile.frames[*frame as usize].module;
        recording.profile.modules[module as usize].path == "[kernel]"
    };
    let mut mixed = 0;
    for stack in &recording.profile.stacks {
        let first_user = stack.frames.iter().position(|frame| !is_kernel(frame));
        let last_kernel = stack.frames.iter().rposition(is_kernel);
        if let (Some(user), Some(kernel)) = (first_user, last_kernel) {
            assert!(kernel < user);
            mixed += stack.count;
        }
    }
    assert!(mixed > 20, "{}", recording.folded());
}

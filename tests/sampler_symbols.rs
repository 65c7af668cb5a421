//! Names: separate debug files, C++, functions of the same name, damaged files.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod truth;

use std::fs::File;

use perfblame::profile::{Frame, Module, ModuleKind, Profile};
use perfblame::symbol::{ModuleFile, PerfMaps, symbolize};
use perfblame::unwind::{Registers, RuleCache, UnwindInfo, Walker};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use truth::{FRAME_POINTERS, NO_FRAME_POINTERS, Truth};

#[test]
fn a_stripped_program_has_the_names_of_its_debug_file() {
    let truth = Truth::new();
    truth.compile("program", &["inlined.c"], FRAME_POINTERS);
    truth.tool(
        "objcopy",
        &["--only-keep-debug", "program", "program.debug"],
    );
    truth.tool("strip", &["program"]);
    let bare = truth.record(&["--", "./program"]);
    assert_eq!(bare.function("holder").inclusive_samples, 0);
    assert!(bare.profile.accounting.unsymbolized > 50);
    assert!(bare.profile.accounting.modules["program"].unsymbolized > 50);
    assert!(
        bare.messages.contains("no function name"),
        "{}",
        bare.messages
    );

    truth.tool("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    let chain = ["holder", "middle", "innermost"];
    let linked = truth.record(&["--", "./program"]);
    assert!(linked.samples_with(&chain) > 50, "{}", linked.folded());

    std::fs::create_dir(truth.path(".debug")).unwrap();
    std::fs::rename(
        truth.path("program.debug"),
        truth.path(".debug/program.debug"),
    )
    .unwrap();
    let beside = truth.record(&["--", "./program"]);
    assert!(beside.samples_with(&chain) > 50, "{}", beside.folded());

    // Another build's debug file is not taken.
    truth.compile("program.other", &["shares.c"], FRAME_POINTERS);
    std::fs::rename(
        truth.path("program.other"),
        truth.path(".debug/program.debug"),
    )
    .unwrap();
    let wrong = truth.record(&["--", "./program"]);
    assert_eq!(
        wrong.function("holder").inclusive_samples,
        0,
        "{}",
        wrong.folded()
    );
}

#[test]
fn names_of_cpp_are_read_and_canonical() {
    let truth = Truth::new();
    truth.compile("names", &["names.cc"], NO_FRAME_POINTERS);
    let recording = truth.record(&["-g", "dwarf", "--", "./names"]);
    for name in ["shop::counted<long>", "(anonymous namespace)::hidden"] {
        let found = recording.function(name).self_samples;
        assert!(found > 20, "{name}\n{}", recording.folded());
    }
    let lambda = recording
        .functions()
        .into_iter()
        .find(|name| name.contains("operator()"));
    assert!(lambda.is_some(), "{}", recording.folded());
}

#[test]
fn functions_of_the_same_name_in_two_files_are_told_apart() {
    let truth = Truth::new();
    truth.compile("plain", &["twins_a.c", "twins_b.c"], NO_FRAME_POINTERS);
    let lto = ["-O2", "-g", "-flto", "-fomit-frame-pointer"];
    truth.compile("lto", &["twins_a.c", "twins_b.c"], &lto);
    for program in ["./plain", "./lto"] {
        let recording = truth.record(&["-g", "dwarf", "--", program]);
        for name in ["twin [twins_a.c]", "twin [twins_b.c]"] {
            let found = recording.function(name).self_samples;
            assert!(found > 20, "{program} {name}\n{}", recording.folded());
        }
        assert_eq!(recording.function("twin").inclusive_samples, 0);
    }
}

#[test]
fn a_profile_without_names_gets_them_later_from_the_file() {
    let truth = Truth::new();
    let program = truth.compile("program", &["inlined.c"], FRAME_POINTERS);
    let recording = truth.record(&["--", "./program"]);
    let mut bare = recording.profile.clone();
    bare.frames
        .iter_mut()
        .for_each(|frame| frame.symbols.clear());
    let files: Vec<ModuleFile> = bare
        .modules
        .iter()
        .map(|module| match module.path.ends_with("/program") {
            true => ModuleFile {
                file: File::open(&program).ok(),
                path: program.clone(),
                jit_pid: None,
            },
            false => ModuleFile::default(),
        })
        .collect();
    assert_eq!(
        symbolize(&mut bare, &files, &PerfMaps::default()),
        Vec::<String>::new()
    );
    let of_program = |profile: &Profile| -> Vec<Frame> {
        let is_program = |frame: &&Frame| {
            profile.modules[frame.module as usize]
                .path
                .ends_with("/program")
        };
        profile.frames.iter().filter(is_program).cloned().collect()
    };
    assert!(!of_program(&bare).is_empty());
    assert_eq!(of_program(&bare), of_program(&recording.profile));
}

/// A profile with a frame at every few bytes of a file.
fn all_over(file: &ModuleFile, len: u64, like: &Profile) -> Profile {
    Profile {
        modules: vec![Module {
            path: file.path.to_string_lossy().into_owned(),
            build_id: None,
            kind: ModuleKind::User,
        }],
        frames: (0..len)
            .step_by(7)
            .map(|address| Frame {
                module: 0,
                address,
                symbols: Vec::new(),
            })
            .collect(),
        stacks: Vec::new(),
        ..like.clone()
    }
}

#[test]
fn damaged_debug_information_leaves_the_symbol_table_and_is_said() {
    let truth = Truth::new();
    truth.compile("program", &["inlined.c"], FRAME_POINTERS);
    std::fs::write(truth.path("garbage"), [0xa5; 4000]).unwrap();
    for section in [".debug_info", ".debug_abbrev"] {
        let update = format!("{section}=garbage");
        truth.tool(
            "objcopy",
            &["--update-section", &update, "program", "damaged"],
        );
        let recording = truth.record(&["--", "./damaged"]);
        assert!(
            recording.function("holder").self_samples > 50,
            "{section}\n{}",
            recording.folded()
        );
        assert_eq!(recording.function("innermost").inclusive_samples, 0);
        assert!(
            recording.messages.contains("debug information of")
                && recording.messages.contains("damaged"),
            "{section}: {}",
            recording.messages
        );
    }
}

#[test]
fn damaged_files_neither_panic_nor_hang() {
    let truth = Truth::new();
    let program = truth.compile("program", &["inlined.c"], FRAME_POINTERS);
    let like = truth.record(&["--", "./program"]).profile;
    let bytes = std::fs::read(&program).unwrap();
    let damaged = truth.path("damaged");
    let mut rng = StdRng::seed_from_u64(4);
    for round in 0..150 {
        let mut bytes = bytes.clone();
        match round % 3 {
            0 => bytes.truncate(rng.random_range(0..bytes.len())),
            1 => {
                for _ in 0..rng.random_range(1..200) {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] = rng.random();
                }
            }
            _ => {
                let from = rng.random_range(0..bytes.len());
                let to = (from + rng.random_range(1..4096)).min(bytes.len());
                bytes[from..to].fill_with(|| rng.random());
            }
        }
        std::fs::write(&damaged, &bytes).unwrap();
        let file = ModuleFile {
            file: File::open(&damaged).ok(),
            path: damaged.clone(),
            jit_pid: None,
        };
        let mut profile = all_over(&file, bytes.len() as u64, &like);
        symbolize(
            &mut profile,
            std::slice::from_ref(&file),
            &PerfMaps::default(),
        );
        unwind_all_over(
            &UnwindInfo::of_file(&File::open(&damaged).unwrap()),
            &mut rng,
        );
    }
}

/// Walks from many addresses over random stacks.
fn unwind_all_over(info: &UnwindInfo, rng: &mut StdRng) {
    let mut cache = RuleCache::default();
    let mut walker = Walker::new(&mut cache);
    let mut stack = [0; 2048];
    for _ in 0..40 {
        rng.fill(&mut stack[..]);
        for word in stack.chunks_exact_mut(8).step_by(2) {
            let address = rng.random_range(0..0x5000_u64);
            word.copy_from_slice(&address.to_ne_bytes());
        }
        let registers = Registers {
            pc: rng.random_range(0..0x5000),
            sp: 0x7fff_0000,
            fp: 0x7fff_0000 + rng.random_range(0..4096),
            lr: 0,
        };
        let mut frames = 0;
        walker.walk(
            &mut cache,
            registers,
            &stack,
            |_| {
                Some(perfblame::unwind::Placement {
                    range: 0..0x8000,
                    module: Some((0, info.clone())),
                })
            },
            |_| {
                frames += 1;
                true
            },
        );
        assert!(frames > 0);
    }
}

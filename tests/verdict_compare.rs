//! Comparisons of made-up programs whose truth is known.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use perfblame::plan::Judging;
use perfblame::profile::{FunctionCounts, FunctionId, FunctionTable};
use perfblame::stats::{SplitMix64, normal_two_sided_quantile};
use perfblame::verdict::{
    CodeComparison, Comparison, FunctionNote, FunctionStatus, FunctionVerdict, TrialMeasurement,
    Verdict, compare, compare_knowing,
};

/// A function of the program: its caller's index, and its own nanoseconds per operation in each arm.
struct Function {
    name: &'static str,
    caller: Option<usize>,
    ns: [f64; 2],
}

fn function(name: &'static str, caller: usize, base: f64, head: f64) -> Function {
    Function {
        name,
        caller: Some(caller),
        ns: [base, head],
    }
}

/// `main` with thirty functions under it, none of which changes.
fn program() -> Vec<Function> {
    const NAMES: [&str; 30] = [
        "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "a10", "a11", "a12", "a13",
        "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22", "a23", "a24", "a25", "a26",
        "a27", "a28", "a29", "a30",
    ];
    let main = Function {
        name: "main",
        caller: None,
        ns: [10.0, 10.0],
    };
    let rest = NAMES.iter().enumerate().map(|(i, name)| {
        let ns = 5.0 + 3.0 * i as f64;
        function(name, if i % 3 == 0 { 0 } else { i / 3 * 3 + 1 }, ns, ns)
    });
    std::iter::once(main).chain(rest).collect()
}

fn normal(random: &mut SplitMix64) -> f64 {
    let z = normal_two_sided_quantile(random.next_f64().max(1e-300));
    if random.next_u64() & 1 == 1 { z } else { -z }
}

/// One trial: 20,000 samples with 4 % noise of each function's own, and the machine's speed.
fn trial(
    program: &[Function],
    arm: usize,
    block: u32,
    speed: f64,
    random: &mut SplitMix64,
) -> TrialMeasurement {
    const SAMPLES: f64 = 20_000.0;
    let cost: f64 = program.iter().map(|f| f.ns[arm]).sum();
    let id = |f: usize| FunctionId {
        name: program[f].name.into(),
        module: "srv".into(),
    };
    let mut table = FunctionTable::default();
    for (f, function) in program.iter().enumerate() {
        let mean = function.ns[arm] / cost * SAMPLES * (0.04 * normal(random)).exp();
        let count = (mean + mean.sqrt() * normal(random)).round().max(0.0) as u64;
        if count == 0 {
            continue;
        }
        table.total_samples += count;
        table.rows.entry(id(f)).or_default().self_samples += count;
        table.rows.entry(id(f)).or_default().inclusive_samples += count;
        let mut callee = f;
        while let Some(caller) = program[callee].caller {
            let row: &mut FunctionCounts = table.rows.entry(id(caller)).or_default();
            row.inclusive_samples += count;
            *table.calls.entry((id(caller), id(callee))).or_default() += count;
            callee = caller;
        }
    }
    let ops = 1e6;
    TrialMeasurement {
        block,
        profiled_ops: ops,
        profiled_cpu_ns: cost * speed.exp() * ops,
        metrics: BTreeMap::from([(
            "throughput".to_owned(),
            1e9 / (cost * (speed + 0.02 * normal(random)).exp()),
        )]),
        functions: Some(table),
    }
}

fn trials(program: &[Function], blocks: u32, seed: u64) -> [Vec<TrialMeasurement>; 2] {
    let mut random = SplitMix64::new(seed);
    let mut arms = [Vec::new(), Vec::new()];
    for block in 0..blocks {
        let drift = 0.05 * normal(&mut random);
        for (arm, trials) in arms.iter_mut().enumerate() {
            let speed = drift + 0.02 * normal(&mut random);
            trials.push(trial(program, arm, block, speed, &mut random));
        }
    }
    arms
}

fn compared(program: &[Function], blocks: u32, seed: u64) -> Comparison {
    let [base, head] = trials(program, blocks, seed);
    compare(&base, &head, &Judging::default())
}

fn named<'a>(comparison: &'a Comparison, name: &str) -> &'a FunctionVerdict {
    comparison
        .functions
        .iter()
        .find(|f| f.name == name)
        .unwrap()
}

fn set(program: &mut [Function], name: &str, head: f64) {
    program.iter_mut().find(|f| f.name == name).unwrap().ns[1] = head;
}

#[test]
fn equal_programs_are_rarely_flagged_and_the_same_seed_gives_the_same_answer() {
    let program = program();
    let flagged = (0..40)
        .filter(|seed| {
            let comparison = compared(&program, 8, *seed);
            comparison.has_regression()
                || comparison.throughput.verdict.is_flagged()
                || comparison.functions.iter().any(FunctionVerdict::is_flagged)
        })
        .count();
    // 5 % of 40 is 2; more than 6 has a chance of 0.3 %.
    assert!(flagged <= 6, "{flagged} of 40");
    assert_eq!(compared(&program, 16, 3), compared(&program, 16, 3));
}

#[test]
fn a_slower_function_is_named_first_and_its_caller_inherits_it() {
    let mut program = program();
    set(&mut program, "a20", 62.0 * 1.6);
    let comparison = compared(&program, 8, 1);
    let first = &comparison.functions[0];
    assert_eq!(first.name, "a20", "{first:?}");
    assert_eq!(first.self_cost.verdict, Verdict::Regressed);
    assert_eq!(first.self_cost.p_adjusted, Some(1.0 / 128.0));
    assert_eq!(first.notes, []);
    let change = first.self_cost.change_pct.unwrap();
    assert!((50.0..70.0).contains(&change), "{change}");
    assert!(comparison.has_regression());
    let caller = named(&comparison, "a19");
    assert!(!caller.self_cost.verdict.is_flagged(), "{caller:?}");
    assert_eq!(caller.inclusive.verdict, Verdict::Regressed, "{caller:?}");
    assert_eq!(
        caller.notes,
        [FunctionNote::Inherited {
            from: vec!["a20".into()]
        }]
    );
    // 37.2 of 1465 ns.
    let explained = comparison.explained.unwrap();
    assert!((explained.total_points - 2.54).abs() < 0.8, "{explained:?}");
    assert!(
        (explained.flagged_points - 2.54).abs() < 0.8,
        "{explained:?}"
    );
}

#[test]
fn five_blocks_decide_nothing_and_say_so() {
    let mut program = program();
    set(&mut program, "a20", 62.0 * 3.0);
    let comparison = compared(&program, 5, 1);
    assert!(!comparison.has_regression());
    let warning = &comparison.warnings[0];
    assert!(warning.contains("at least 6 are needed"), "{warning}");
    assert!(compared(&program, 6, 1).has_regression());
}

#[test]
fn a_new_function_is_a_regression_and_a_gone_one_is_not() {
    let mut program = program();
    program.push(function("fresh", 20, 0.0, 40.0));
    let comparison = compared(&program, 8, 2);
    let fresh = named(&comparison, "fresh");
    assert_eq!(fresh.status, FunctionStatus::New);
    assert_eq!(fresh.inclusive.verdict, Verdict::Regressed);
    assert_eq!(fresh.inclusive.change_pct, None);
    // 40 of 1465 ns.
    assert!(
        (fresh.inclusive.change_points - 2.73).abs() < 0.5,
        "{fresh:?}"
    );
    assert!(comparison.has_regression());

    program.last_mut().unwrap().ns = [40.0, 0.0];
    let comparison = compared(&program, 8, 2);
    let gone = named(&comparison, "fresh");
    assert_eq!(gone.status, FunctionStatus::Gone);
    assert_eq!(gone.self_cost.verdict, Verdict::Improved);
    assert!(!comparison.has_regression());
}

#[test]
fn what_has_no_name_is_never_flagged() {
    let with = |name| {
        let mut program = program();
        program.push(function(name, 0, 60.0, 120.0));
        compared(&program, 10, 7)
    };
    assert_eq!(
        named(&with("named"), "named").self_cost.verdict,
        Verdict::Regressed
    );
    let comparison = with("[unknown]");
    let unknown = named(&comparison, "[unknown]");
    assert!(!unknown.self_cost.verdict.is_flagged());
    assert!(!unknown.inclusive.verdict.is_flagged());
    assert_eq!(unknown.self_cost.p_adjusted, None);
}

#[test]
fn a_renamed_function_has_moved() {
    let mut program = program();
    program.push(function("old", 20, 40.0, 0.0));
    program.push(function("young", 20, 0.0, 40.0));
    let comparison = compared(&program, 8, 3);
    for (name, other) in [("old", "young"), ("young", "old")] {
        let verdict = named(&comparison, name);
        assert!(verdict.is_flagged(), "{verdict:?}");
        let with = vec![other.to_owned()];
        assert_eq!(verdict.notes, [FunctionNote::Moved { with }], "{name}");
    }
    assert!(!comparison.has_regression());
}

#[test]
fn cost_that_moves_between_siblings_or_to_a_callee_is_no_regression() {
    let mut program = program();
    // a02 and a03 are called by a01; a26 calls nothing and is called by a25.
    set(&mut program, "a02", 8.0 + 35.0);
    set(&mut program, "a03", 11.0);
    program.iter_mut().find(|f| f.name == "a03").unwrap().ns[0] = 11.0 + 35.0;
    let comparison = compared(&program, 8, 4);
    let rise = named(&comparison, "a02");
    assert_eq!(rise.self_cost.verdict, Verdict::Regressed);
    assert_eq!(
        rise.notes,
        [FunctionNote::Moved {
            with: vec!["a03".into()]
        }]
    );
    assert!(!comparison.has_regression(), "{:#?}", comparison.functions);

    let mut program = self::program();
    set(&mut program, "a25", 77.0 - 40.0);
    set(&mut program, "a26", 80.0 + 40.0);
    let comparison = compared(&program, 8, 5);
    assert_eq!(
        named(&comparison, "a26").self_cost.verdict,
        Verdict::Regressed
    );
    assert!(
        !comparison.has_regression(),
        "{:#?}",
        &comparison.functions[..3]
    );
}

#[test]
fn a_function_split_into_two_has_moved() {
    let mut program = program();
    program.push(function("whole", 20, 60.0, 0.0));
    program.push(function("left", 20, 0.0, 25.0));
    program.push(function("right", 20, 0.0, 35.0));
    let comparison = compared(&program, 8, 6);
    assert!(named(&comparison, "left").is_flagged());
    assert!(
        !comparison.has_regression(),
        "{:#?}",
        &comparison.functions[..4]
    );
}

#[test]
fn what_is_new_in_place_of_something_dearer_has_moved_and_no_fall_excuses_twice() {
    let replaced = |new: &[(&'static str, f64)]| {
        let mut program = program();
        program.push(function("old", 20, 60.0, 0.0));
        for (name, ns) in new {
            program.push(function(name, 20, 0.0, *ns));
        }
        compared(&program, 8, 13)
    };
    let cheaper = replaced(&[("new", 30.0)]);
    assert!(named(&cheaper, "new").is_flagged());
    assert!(!cheaper.has_regression(), "{:#?}", &cheaper.functions[..3]);
    let dearer = replaced(&[("new", 100.0)]);
    assert!(dearer.has_regression());
    assert!(replaced(&[("new", 40.0), ("other", 65.0)]).has_regression());
    // Not what is gone: there is nothing new beside it.
    let unrelated = replaced(&[]);
    assert_eq!(named(&unrelated, "old").notes, []);
}

#[test]
fn a_rise_beside_a_smaller_fall_is_a_regression() {
    let mut program = program();
    set(&mut program, "a02", 8.0 + 60.0);
    program.iter_mut().find(|f| f.name == "a03").unwrap().ns = [11.0 + 20.0, 11.0];
    let comparison = compared(&program, 8, 7);
    assert_eq!(named(&comparison, "a02").notes, []);
    assert!(comparison.has_regression());
}

#[test]
fn a_function_that_absorbs_another_is_proposed_as_a_group_and_judged_as_one() {
    let mut program = program();
    program.push(function("update", 20, 20.0, 40.0));
    program.push(function("bucket", 31, 40.0, 0.0));
    let comparison = compared(&program, 12, 8);
    assert!(
        !comparison.has_regression(),
        "{:#?}",
        &comparison.functions[..3]
    );
    let proposal = &comparison.proposed_groups[0];
    assert_eq!(proposal.members, ["bucket", "update"]);
    let change = proposal.inclusive.change_pct.unwrap();
    assert!((change + 33.0).abs() < 8.0, "{change}");

    let [mut base, mut head] = trials(&program, 12, 8);
    for trial in base.iter_mut().chain(&mut head) {
        let table = trial.functions.as_mut().unwrap();
        let of = |name: &str| {
            let id = FunctionId {
                name: name.into(),
                module: "srv".into(),
            };
            table.rows.get(&id).copied().unwrap_or_default()
        };
        let counts = FunctionCounts {
            self_samples: of("update").self_samples + of("bucket").self_samples,
            inclusive_samples: of("update").inclusive_samples,
        };
        table.groups.insert("usage".into(), counts);
    }
    let judging = Judging {
        groups: BTreeMap::from([("usage".into(), vec!["update".into(), "bucket".into()])]),
        ..Judging::default()
    };
    let comparison = compare(&base, &head, &judging);
    let group = &comparison.groups[0];
    assert_eq!(group.name, "usage");
    assert_eq!(group.inclusive.verdict, Verdict::Improved, "{group:?}");
    let explained = comparison.explained.unwrap();
    assert!(group.self_cost.change_points < -0.5, "{group:?}");
    let others: f64 = (comparison.functions.iter())
        .filter(|f| f.is_flagged() && f.notes.is_empty())
        .map(|f| f.self_cost.change_points)
        .sum();
    assert!((explained.flagged_points - others - group.self_cost.change_points).abs() < 1e-9);
    let member = named(&comparison, "update");
    assert_eq!(
        member.notes,
        [FunctionNote::Grouped {
            group: "usage".into()
        }]
    );
    assert!(!comparison.has_regression());
}

#[test]
fn a_change_of_everything_is_said_beside_the_functions() {
    let [base, mut head] = trials(&program(), 8, 9);
    for trial in &mut head {
        trial.profiled_cpu_ns *= 1.5;
    }
    let comparison = compare(&base, &head, &Judging::default());
    assert!(!comparison.functions[0].is_flagged());
    let explained = comparison.explained.unwrap();
    assert!((explained.common_pct - 50.0).abs() < 8.0, "{explained:?}");
    assert!(
        comparison
            .warnings
            .iter()
            .any(|w| w.contains("all functions alike")),
        "{:?}",
        comparison.warnings
    );
}

#[test]
fn nothing_to_judge_is_no_panic() {
    let comparison = compare(&[], &[], &Judging::default());
    assert_eq!(comparison.throughput.verdict, Verdict::Undecided);
    assert!(comparison.warnings.iter().any(|w| w.contains("throughput")));
    let [base, mut head] = trials(&program(), 6, 1);
    for trial in &mut head {
        trial.functions = Some(FunctionTable::default());
        trial.profiled_ops = 0.0;
        trial.metrics.insert("throughput".into(), f64::NAN);
        trial.metrics.insert("zero".into(), 0.0);
    }
    let comparison = compare(&base, &head, &Judging::default());
    assert!(comparison.functions.is_empty());
    assert_eq!(comparison.throughput.verdict, Verdict::Undecided);
}

#[test]
fn metrics_have_four_answers() {
    let arm = |value: f64, spread: f64, seed: u64| -> Vec<TrialMeasurement> {
        let mut random = SplitMix64::new(seed);
        (0..10)
            .map(|block| TrialMeasurement {
                block,
                profiled_ops: 0.0,
                profiled_cpu_ns: 0.0,
                metrics: BTreeMap::from([(
                    "throughput".to_owned(),
                    value * (1.0 + spread * normal(&mut random)),
                )]),
                functions: None,
            })
            .collect()
    };
    let judged = |value: f64, spread: f64| {
        compare(
            &arm(100.0, spread, 1),
            &arm(value, spread, 2),
            &Judging::default(),
        )
        .throughput
    };
    assert_eq!(judged(90.0, 0.01).verdict, Verdict::Regressed);
    assert_eq!(judged(110.0, 0.01).verdict, Verdict::Improved);
    assert_eq!(judged(100.2, 0.002).verdict, Verdict::Equivalent);
    let undecided = judged(98.0, 0.05);
    assert_eq!(undecided.verdict, Verdict::Undecided);
    assert!(
        undecided.blocks_to_decide.is_some_and(|n| n > 20),
        "{undecided:?}"
    );
    let detectable = undecided.detectable_pct.unwrap();
    // Five per cent noise a trial, 7 a difference, ten blocks: 2.2 standard error, times 3.1.
    assert!((4.0..14.0).contains(&detectable), "{detectable}");
}

/// Functions that are called regressions.
fn regressions(comparison: &Comparison) -> Vec<&str> {
    comparison
        .functions
        .iter()
        .filter(|f| f.is_regression())
        .map(|f| f.name.as_str())
        .collect()
}

/// Judges with these functions' code changed, and all others' the same.
fn knowing(program: &[Function], changed: &[&str], seed: u64) -> Comparison {
    let [base, head] = trials(program, 8, seed);
    let mut code = CodeComparison::default();
    for function in program {
        let id = FunctionId {
            name: function.name.into(),
            module: "srv".into(),
        };
        match changed.contains(&function.name) {
            true => code.changed.insert(id),
            false => code.same.insert(id),
        };
    }
    compare_knowing(&base, &head, &Judging::default(), &code)
}

#[test]
fn cost_that_rises_in_unchanged_code_is_indirect_and_no_regression() {
    let mut program = program();
    set(&mut program, "a20", 62.0 * 1.6);
    // a20 is called by a19, and that by main. Something elsewhere changed.
    let comparison = knowing(&program, &["a05"], 1);
    let rise = named(&comparison, "a20");
    assert_eq!(rise.self_cost.verdict, Verdict::Regressed);
    assert_eq!(rise.notes, [FunctionNote::Indirect]);
    let caller = named(&comparison, "a19");
    assert_eq!(caller.inclusive.verdict, Verdict::Regressed);
    assert!(caller.notes.contains(&FunctionNote::Indirect), "{caller:?}");
    assert_eq!(regressions(&comparison), [""; 0]);

    // The function itself, or its caller, which may call it more often.
    for changed in ["a20", "a19"] {
        let comparison = knowing(&program, &[changed], 1);
        assert_eq!(named(&comparison, "a20").notes, [], "{changed}");
        assert!(!regressions(&comparison).is_empty(), "{changed}");
    }
}

#[test]
fn what_stands_below_something_else_comes_after_it() {
    let mut program = program();
    set(&mut program, "a20", 62.0 * 1.8);
    set(&mut program, "a29", 92.0 * 1.4);
    let comparison = knowing(&program, &["a29"], 1);
    let place = |name: &str| comparison.functions.iter().position(|f| f.name == name);
    assert_eq!(named(&comparison, "a20").notes, [FunctionNote::Indirect]);
    assert_eq!(named(&comparison, "a29").notes, []);
    assert!(place("a29") < place("a20"));
    assert!(!regressions(&comparison).is_empty());
}

#[test]
fn a_change_far_above_is_a_cause_only_where_everything_below_it_follows() {
    let mut program = program();
    set(&mut program, "a20", 62.0 * 1.6);
    // main changed and calls a19, of which only a20 got dearer: not because of more calls.
    let comparison = knowing(&program, &["main"], 1);
    assert_eq!(named(&comparison, "a20").notes, [FunctionNote::Indirect]);
    assert_eq!(regressions(&comparison), [""; 0]);

    // main changed and calls `run`, of which all got dearer.
    let mut program = self::program();
    program.push(function("run", 0, 10.0, 16.0));
    program.push(function("work", 31, 60.0, 96.0));
    let comparison = knowing(&program, &["main"], 2);
    assert_eq!(named(&comparison, "work").notes, [FunctionNote::Indirect]);
    let run = named(&comparison, "run");
    assert!(run.is_regression(), "{run:?}");
    assert!(!regressions(&comparison).is_empty());
}

#[test]
fn a_metric_that_jumps_by_pages_does_not_hide_a_change() {
    let page = 4096.0;
    let jumps = [page, -page, page, page, -page, -page];
    let arm = |slower: f64, with_jumps: bool| -> Vec<TrialMeasurement> {
        (0..6)
            .map(|block: u32| {
                let noise = [0.02, -0.01, 0.03, 0.0, -0.02, 0.01][block as usize];
                let jump = if with_jumps {
                    jumps[block as usize]
                } else {
                    0.0
                };
                TrialMeasurement {
                    block,
                    profiled_ops: 0.0,
                    profiled_cpu_ns: 0.0,
                    metrics: BTreeMap::from([
                        (
                            "throughput".to_owned(),
                            1e5 * slower * (1.0 + slower * noise),
                        ),
                        ("rss".to_owned(), 3e6 + jump),
                    ]),
                    functions: None,
                }
            })
            .collect()
    };
    let comparison = compare(&arm(1.0, false), &arm(0.8, true), &Judging::default());
    assert_eq!(comparison.throughput.verdict, Verdict::Regressed);
    assert!(!comparison.metrics[0].verdict.is_flagged());
}

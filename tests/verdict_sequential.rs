//! Comparisons that look at the data before the end, and say what they can see.

// What is outside the test functions is a test all the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use common::TestRepo;
use perfblame::plan::Judging;
use perfblame::stats::{Looks, SplitMix64, normal_two_sided_quantile};
use perfblame::verdict::{
    Comparison, Decision, StopReason, TrialMeasurement, Verdict, compare, decide, forecast,
    what_more_blocks_buy,
};

fn normal(random: &mut SplitMix64) -> f64 {
    let z = normal_two_sided_quantile(random.next_f64().max(1e-300));
    if random.next_u64() & 1 == 1 { z } else { -z }
}

/// Throughput of both arms: head is `change` of base, with noise of a trial of its own.
fn arms(blocks: u32, change: f64, noise: f64, seed: u64) -> [Vec<TrialMeasurement>; 2] {
    let mut random = SplitMix64::new(seed);
    let mut arms = [Vec::new(), Vec::new()];
    for block in 0..blocks {
        for (arm, factor) in [1.0, change].into_iter().enumerate() {
            let value = 1e5 * factor * (noise * normal(&mut random)).exp();
            arms[arm].push(TrialMeasurement {
                block,
                profiled_ops: 0.0,
                profiled_cpu_ns: 0.0,
                metrics: BTreeMap::from([("throughput".to_owned(), value)]),
                functions: None,
            });
        }
    }
    arms
}

/// What the declared looks come to on these data: the blocks measured, and the last judgement.
fn followed(arms: &[Vec<TrialMeasurement>; 2], looks: &Looks) -> (u32, Comparison, StopReason) {
    let mut blocks = looks.all()[0].blocks;
    loop {
        let look = looks.at(blocks).unwrap();
        let judging = Judging {
            alpha: look.alpha,
            ..Judging::default()
        };
        let until = blocks as usize;
        let comparison = compare(&arms[0][..until], &arms[1][..until], &judging);
        match decide(looks, &comparison) {
            Decision::Stop(reason) => return (blocks, comparison, reason),
            Decision::Continue {
                blocks: next,
                alpha,
                buys,
            } => {
                assert_eq!(looks.at(next).map(|look| look.alpha), Some(alpha));
                assert!(next > blocks && !buys.is_empty());
                blocks = next;
            }
        }
    }
}

#[test]
fn what_is_plain_is_decided_at_the_first_look() {
    let looks = Looks::declare(0.05, 32);
    let (blocks, comparison, reason) = followed(&arms(32, 0.8, 0.01, 1), &looks);
    assert_eq!((blocks, reason), (8, StopReason::Decided));
    assert_eq!(comparison.throughput.verdict, Verdict::Regressed);
    let (blocks, comparison, reason) = followed(&arms(32, 1.0, 0.002, 2), &looks);
    assert_eq!((blocks, reason), (8, StopReason::Decided));
    assert_eq!(comparison.throughput.verdict, Verdict::Equivalent);
}

#[test]
fn what_needs_more_blocks_gets_them_and_what_is_hopeless_does_not() {
    let looks = Looks::declare(0.05, 32);
    let mut stopped = BTreeMap::new();
    for seed in 0..40 {
        let (blocks, comparison, reason) = followed(&arms(32, 0.95, 0.03, seed), &looks);
        *stopped.entry(blocks).or_insert(0) += 1;
        if comparison.throughput.verdict == Verdict::Undecided {
            assert_ne!(reason, StopReason::Decided);
        }
        let (_, comparison, reason) = followed(&arms(32, 1.0, 0.5, seed), &looks);
        if comparison.throughput.verdict == Verdict::Undecided {
            assert_ne!(reason, StopReason::Decided);
            let buys = what_more_blocks_buy(&comparison);
            assert!(buys.iter().all(|buy| buy.blocks > comparison.blocks));
        }
    }
    // 5 % where a block's noise is 4 %: some are seen at once, others need a second look.
    assert!(stopped[&8] >= 5 && stopped[&16] >= 5, "{stopped:?}");
}

#[test]
fn looking_three_times_flags_no_more_than_looking_once() {
    let looks = Looks::declare(0.05, 32);
    let flagged = (100..500)
        .filter(|seed| {
            let (_, comparison, _) = followed(&arms(32, 1.0, 0.03, *seed), &looks);
            comparison.throughput.verdict.is_flagged()
        })
        .count();
    // 5 % of 400 is 20; more than 33 has a chance of 0.2 %.
    assert!(flagged <= 33, "{flagged} of 400");
}

#[test]
fn what_is_foretold_from_a_few_blocks_is_what_is_seen() {
    let judging = Judging::default();
    let mut seen = 0;
    let mut told = Vec::new();
    for seed in 0..60 {
        let [base, head] = arms(12, 1.0, 0.03, seed);
        let forecast = forecast(&base[..6], &head[..6], &judging, 12).unwrap();
        told.push(forecast.metric_pct.unwrap());
        assert_eq!(forecast.function_pct, None);
    }
    told.sort_by(f64::total_cmp);
    let typical = told[told.len() / 2];
    // Noise of a block 4.2 %, of the mean of twelve 1.22 %, times 3.1 to 3.9.
    assert!((3.5..6.0).contains(&typical), "{typical}");
    for seed in 100..160 {
        let [base, head] = arms(12, 1.0 + typical / 100.0, 0.03, seed);
        let verdict = compare(&base, &head, &judging).throughput.verdict;
        seen += usize::from(verdict == Verdict::Improved);
    }
    // Four of five: fewer than 39 of 60 has a chance of 0.2 %.
    assert!(seen >= 39, "{seen} of 60");

    let [base, head] = arms(12, 1.0, 0.03, 1);
    assert_eq!(forecast(&base[..2], &head[..2], &judging, 12), None);
    let few = forecast(&base, &head, &judging, 5).unwrap();
    assert_eq!(few.metric_pct, None);
}

const MAKEFILE: &str = "count: count.c\n\t$(CC) $(CFLAGS) -o $@ $<\n";
const PLAN: &str = "[command]\nrun = '{artifact}'\nruns = 1\nwarmup-runs = 0\nprofile-runs = 1\n\
                    metric = 'output'\npattern = 'steps: (?<value>[0-9]+)'\n\
                    [disturbance]\nrepeats = 0\n";

/// A command that prints a number, with two functions of which one can be left out.
fn program(steps: u32) -> String {
    format!(
        "#include <stdio.h>\n\
         #define KEEP __attribute__((noinline))\n\
         KEEP static unsigned left(unsigned n) {{\n\
             unsigned x = 1;\n    for (unsigned i = 0; i < n; i++) x = x * 1664525u + 1013904223u;\n    return x;\n}}\n\
         KEEP static unsigned right(unsigned n) {{\n\
             unsigned x = 7;\n    for (unsigned i = 0; i < n; i++) x = x * 22695477u + 1u;\n    return x;\n}}\n\
         int main(void) {{\n    volatile unsigned x = left(6000000) + right(6000000);\n    (void)x;\n    printf(\"steps: {steps}\\n\");\n    return 0;\n}}\n"
    )
}

fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.commit(
        "base",
        &[
            ("Makefile", MAKEFILE),
            ("count.c", &program(100)),
            ("perfblame.toml", PLAN),
        ],
    );
    repo.commit("head", &[("count.c", &program(150))]);
    repo
}

#[test]
fn blocks_auto_stops_at_a_look_and_goes_on_after_an_interruption() {
    let repo = repo();
    let arguments = |more: &[&'static str]| -> Vec<&'static str> {
        let mut all = vec!["--no-profile", "--blocks", "auto"];
        // Only the printed number is a question here; times are whatever the machine gives.
        all.extend(["--set", "experiment.blocks=16"]);
        all.extend(more);
        all.extend(["main~1", "main"]);
        all
    };
    let mut child = common::command()
        .arg("compare")
        .args(["--store".as_ref(), repo.beside("store").as_os_str()])
        .args(["--out".as_ref(), repo.beside("out").as_os_str()])
        .args(arguments(&[]))
        .current_dir(repo.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "block 3"));
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(lines);

    let store = repo.beside("store").display().to_string();
    let history = common::perfblame(&repo.path(), &["history", "--json", "--store", &store]);
    let history: serde_json::Value = serde_json::from_str(&history.out).unwrap();
    let id: &'static str = Box::leak(
        history[0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
            .into_boxed_str(),
    );
    // The looks were declared for 16 blocks.
    let mut other = arguments(&["--resume", id]);
    other[4] = "experiment.blocks=24";
    repo.compare(&other).refused(&["its plan was another one"]);

    let ran = repo.compare(&arguments(&["--resume", id]));
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(!ran.err.contains("block 1\n"), "{}", ran.err);
    assert!(ran.err.contains("looked after 8 blocks"), "{}", ran.err);
    let report = repo.report();
    assert_eq!(report["throughput"]["name"], "output");
    assert_eq!(report["throughput"]["verdict"], "regressed");
    let blocks = report["throughput"]["blocks"].as_array().unwrap().len();
    assert!(blocks == 8 || blocks == 16, "{blocks}");
    // Two looks at half of the level each.
    assert_eq!(report["alpha"], 0.025);
    assert_eq!(report["trials"].as_array().unwrap().len(), 2 * blocks);
    let notes = report["notes"].as_array().unwrap();
    assert!(
        notes[0].as_str().unwrap().starts_with("looked after 8"),
        "{notes:?}"
    );
    // What is judged is the same whether it is run once or twice.
    let again = repo.compare(&arguments(&["--resume", id]));
    assert_eq!(again.code, 1, "{again:#?}");
    let mut same = repo.report();
    for key in ["created", "commands"] {
        same[key] = report[key].clone();
    }
    assert_eq!(same, report);
}

#[test]
fn functions_are_judged_as_one_where_the_user_says_so() {
    let repo = repo();
    let group = "--group=both=left,right";
    let ran = repo.compare(&["--blocks", "6", group, "main~1", "main"]);
    assert!(ran.code == 1, "{ran:#?}");
    let report = repo.report();
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["name"], "both");
    let share = groups[0]["inclusive"]["base_share_pct"].as_f64().unwrap();
    assert!(share > 50.0, "{share}");
    for name in ["left", "right"] {
        let functions = report["functions"].as_array().unwrap();
        let function = functions.iter().find(|f| f["name"] == name).unwrap();
        assert_eq!(
            function["notes"],
            serde_json::json!([{ "kind": "grouped", "group": "both" }])
        );
    }
    for trial in report["trials"].as_array().unwrap() {
        assert_eq!(trial["samples"].as_u64().map(|n| n > 0), Some(true));
    }

    repo.compare(&["--group", "both", "main~1", "main"])
        .refused(&["NAME=FUNCTION"]);
    repo.compare(&["--group=a=left", "--group=b=left", "main~1", "main"])
        .refused(&["`left` is in the group `a` too"]);
    repo.compare(&["--blocks", "some", "main~1", "main"])
        .refused(&["a whole number or `auto`"]);
}

/// Something that takes what it can get of one CPU.
struct Busy(std::process::Child);

impl Busy {
    fn on(cpu: usize) -> Self {
        let child = std::process::Command::new("taskset")
            .args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_disturbed_trial_is_repeated_as_often_as_is_declared_and_then_marked() {
    let repo = repo();
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let cpu = (0..1024).find(|&cpu| allowed.is_set(cpu).unwrap()).unwrap();
    let _busy = Busy::on(cpu);
    let ran = repo.compare(&[
        "--no-profile",
        "--blocks",
        "1",
        // Long enough for the kernel's clock ticks to tell who used the CPU.
        "--set",
        "command.runs=15",
        "--set",
        "disturbance.repeats=1",
        "--cpus",
        &cpu.to_string(),
        "main~1",
        "main",
    ]);
    assert_eq!(ran.code, 3, "{ran:#?}");
    let repeated = ran.err.matches("was disturbed and is repeated").count();
    assert_eq!(repeated, 1, "{}", ran.err);
    assert!(
        ran.out.contains("2 of 2 trials that count were disturbed"),
        "{}",
        ran.out
    );
    let report = repo.report();
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let what = trial["disturbed"].as_str().unwrap();
        assert!(what.contains("other processes took"), "{what}");
    }

    let wrong = ["--set", "disturbance.foreign-pct=-1", "main~1", "main"];
    repo.compare(&wrong)
        .refused(&["disturbance.foreign-pct", "at least zero"]);
}

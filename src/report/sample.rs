//! A report for the tests of every form.

use crate::verdict::{
    CostVerdict, Direction, FunctionNote, FunctionStatus, FunctionVerdict, MetricVerdict, Verdict,
    WelchSummary,
};

use super::{CompareReport, SCHEMA, SampleCounts, Side, TrialArm, TrialRecord};

fn cost(base: f64, head: f64, verdict: Verdict) -> CostVerdict {
    let both = base > 0.0 && head > 0.0;
    let change = (head / base - 1.0) * 100.0;
    CostVerdict {
        base_share_pct: base,
        head_share_pct: head,
        base_ns_per_op: base * 60.0,
        head_ns_per_op: head * 60.0,
        change_pct: both.then_some(change),
        ci95_pct: both.then_some([change - 6.0, change + 6.0]),
        p: Some(0.0078),
        p_adjusted: Some(0.0156),
        change_points: head - base,
        verdict,
        detectable_pct: Some(12.0),
        blocks_to_decide: None,
    }
}

fn function(
    name: &str,
    status: FunctionStatus,
    own: CostVerdict,
    all: CostVerdict,
) -> FunctionVerdict {
    FunctionVerdict {
        name: name.to_string(),
        module: "little-server".to_string(),
        status,
        self_cost: own,
        inclusive: all,
        notes: Vec::new(),
    }
}

/// A regression of one function, with a gone one, a moved one and quiet ones beside it.
pub(crate) fn report() -> CompareReport {
    use FunctionStatus::{Both, Gone};
    use Verdict::{Equivalent, Improved, Regressed, Undecided};
    let mut moved = function(
        "parse_header",
        Both,
        cost(4.0, 2.0, Improved),
        cost(4.0, 2.0, Improved),
    );
    moved.notes.push(FunctionNote::Moved {
        with: vec!["parse_line".to_string()],
    });
    let blocks: Vec<[f64; 2]> = (0..10)
        .map(|i| {
            let drift = 118_000.0 + 900.0 * f64::from((i * 7) % 10);
            [drift, drift * (0.969 + 0.001 * f64::from(i % 5))]
        })
        .collect();
    let trials = blocks
        .iter()
        .enumerate()
        .flat_map(|(i, block)| {
            let i = i as u32;
            [(TrialArm::Base, block[0]), (TrialArm::Head, block[1])]
                .into_iter()
                .enumerate()
                .map(move |(k, (arm, ops))| TrialRecord {
                    block: i,
                    arm,
                    order: 2 * i + k as u32,
                    started: format!("2026-03-01T10:{i:02}:00Z"),
                    values: [
                        ("throughput".to_string(), ops),
                        ("latency_p99".to_string(), 1.9),
                    ]
                    .into(),
                    samples: 14_700,
                    lost: 0,
                    disturbed: None,
                })
        })
        .collect();
    CompareReport {
        schema: SCHEMA.to_string(),
        tool_version: "0.1.0".to_string(),
        created: "2026-03-01T10:20:00Z".to_string(),
        experiment: Some("c1".to_string()),
        base: Side {
            rev: "main~1".to_string(),
            commit: "af6d5c5932f3b6fd8a8ad3a2b3c7a6a6a5e1c001".to_string(),
            subject_line: "Keep the hash table's load below one".to_string(),
            artifact_digest: "sha256:11".to_string(),
            trials: 10,
        },
        head: Side {
            rev: "main".to_string(),
            commit: "406aea42a9d8e7c6b5a4f3e2d1c0b9a8f7e6d5c4".to_string(),
            subject_line: "Account memory of clients per command".to_string(),
            artifact_digest: "sha256:22".to_string(),
            trials: 10,
        },
        same_program: false,
        throughput: MetricVerdict {
            name: "throughput".to_string(),
            unit: "ops/s".to_string(),
            direction: Direction::HigherIsBetter,
            base_mean: 122_050.0,
            head_mean: 118_510.0,
            change_pct: -2.9,
            ci95_pct: Some([-3.4, -2.4]),
            p: 0.002,
            p_adjusted: 0.004,
            detectable_pct: Some(2.1),
            blocks_to_decide: None,
            verdict: Regressed,
            welch: Some(WelchSummary {
                t: -2.81,
                df: 17.9,
                p: 0.0116,
                ci95: [-6190.0, -890.0],
            }),
            blocks,
        },
        metrics: vec![MetricVerdict {
            name: "latency_p99".to_string(),
            unit: "ms".to_string(),
            direction: Direction::LowerIsBetter,
            base_mean: 1.91,
            head_mean: 1.93,
            change_pct: 1.05,
            ci95_pct: Some([-0.9, 3.0]),
            p: 0.34,
            p_adjusted: 0.6,
            detectable_pct: Some(4.0),
            blocks_to_decide: Some(40),
            verdict: Undecided,
            welch: None,
            blocks: Vec::new(),
        }],
        functions: vec![
            function(
                "accountClientMemory",
                Both,
                cost(2.2, 5.3, Regressed),
                cost(2.4, 5.6, Regressed),
            ),
            moved,
            function(
                "bucketOf",
                Gone,
                cost(0.9, 0.0, Improved),
                cost(0.9, 0.0, Improved),
            ),
            function(
                "execute",
                Both,
                cost(9.0, 9.1, Equivalent),
                cost(61.0, 62.0, Equivalent),
            ),
            function(
                "lookup",
                Both,
                cost(7.0, 7.2, Undecided),
                cost(11.0, 11.1, Undecided),
            ),
        ],
        groups: Vec::new(),
        proposed_groups: Vec::new(),
        explained: None,
        alpha: 0.05,
        samples: SampleCounts {
            base: 147_003,
            head: 146_911,
            lost: 0,
        },
        event: Some(crate::profile::EventInfo {
            name: "cpu-clock".to_string(),
            unit: "ns".to_string(),
            frequency_hz: 999,
            call_graph: crate::plan::CallGraph::Fp,
        }),
        sampling: None,
        machine: serde_json::json!({ "kernel": "6.1.0", "cpu_model": "Example", "cpus": 2 }),
        plan: serde_json::json!({ "workload": { "kind": "server" }, "judge": { "blocks": 10 } }),
        seed: 42,
        trials,
        warnings: vec![
            "no CPU counters here: cost is nanoseconds of CPU time, not cycles".to_string(),
        ],
        notes: Vec::new(),
        commands: vec!["perfblame compare --seed 42 --blocks 10 main~1 main".to_string()],
    }
}

/// The report with every name from outside replaced.
pub(crate) fn with_names(mut report: CompareReport, name: &str) -> CompareReport {
    for function in &mut report.functions {
        function.name = name.to_string();
        function.module = name.to_string();
        for note in &mut function.notes {
            if let FunctionNote::Moved { with } = note {
                *with = vec![name.to_string()];
            }
        }
    }
    for side in [&mut report.base, &mut report.head] {
        side.rev = name.to_string();
        side.subject_line = name.to_string();
    }
    report.throughput.name = name.to_string();
    report.throughput.unit = name.to_string();
    report.warnings = vec![name.to_string()];
    report.commands = vec![name.to_string()];
    report.machine = serde_json::json!({ name: name });
    report.plan = serde_json::json!({ name: name });
    report.experiment = Some(name.to_string());
    report
}

#[test]
fn the_fixture_is_this_report() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/report/report.json");
    let rendered = super::json::render(&report());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &rendered).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), rendered);
}

//! Simulated bisects: trials and builds that the search needs, and how often it is right.
//!
//! Run by `scripts/simulate-bisect`; prints Markdown.

mod bisection;
#[path = "../calibration/random.rs"]
#[allow(dead_code)]
mod random;
mod tally;
mod world;

use perfblame::stats::SplitMix64;
use tally::Tally;
use world::{Answer, Drift, Scenario};

const fn value(step: f64) -> Answer {
    Answer::Value {
        step,
        heavy_tails: false,
    }
}

const fn heavy(step: f64) -> Answer {
    Answer::Value {
        step,
        heavy_tails: true,
    }
}

const fn flaky(low: f64, high: f64) -> Answer {
    Answer::PassFail { low, high }
}

/// The table's rows.
fn scenarios() -> Vec<Scenario> {
    let row = Scenario::new;
    vec![
        row("3 σ, steady", value(3.0), Drift::None),
        row("2 σ, steady", value(2.0), Drift::None),
        row("1 σ, steady", value(1.0), Drift::None),
        row("no step, steady", value(0.0), Drift::None),
        row("3 σ, line", value(3.0), Drift::Line(1.0)),
        row("2 σ, line", value(2.0), Drift::Line(1.0)),
        row("1 σ, line", value(1.0), Drift::Line(1.0)),
        row("no step, line", value(0.0), Drift::Line(1.0)),
        row("3 σ, wander", value(3.0), Drift::Wander(1.0)),
        row("2 σ, wander", value(2.0), Drift::Wander(1.0)),
        row("1 σ, wander", value(1.0), Drift::Wander(1.0)),
        row("no step, wander", value(0.0), Drift::Wander(1.0)),
        row("3 σ, heavy tails", heavy(3.0), Drift::None),
        row("2 σ, heavy tails", heavy(2.0), Drift::None),
        row("1 σ, heavy tails", heavy(1.0), Drift::None),
        row("no step, heavy tails", heavy(0.0), Drift::None),
        Scenario {
            broken: 0.2,
            ..row("3 σ, a fifth broken", value(3.0), Drift::None)
        },
        row("fails 0.0/1.0", flaky(0.0, 1.0), Drift::None),
        row("fails 0.1/0.9", flaky(0.1, 0.9), Drift::None),
        row("fails 0.2/0.8", flaky(0.2, 0.8), Drift::None),
        row("fails 0.3/0.7", flaky(0.3, 0.7), Drift::None),
        row("fails 0.0/0.5", flaky(0.0, 0.5), Drift::None),
        row("fails 0.1/0.1", flaky(0.1, 0.1), Drift::None),
    ]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs: u64 = arguments
        .next()
        .and_then(|a| a.parse().ok())
        .unwrap_or(1000);
    let seed: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let only = arguments.next().unwrap_or_default();
    println!("{}", Tally::heading());
    let mut tallies = Vec::new();
    for scenario in scenarios() {
        if !scenario.name.contains(&only) {
            continue;
        }
        let mut seeds = SplitMix64::new(seed);
        let mut tally = Tally::default();
        for _ in 0..runs {
            tally.add(bisection::bisect(scenario, seeds.next_u64(), |_| {}));
        }
        println!("{}", tally.row(scenario.name, scenario.has_step()));
        if scenario.has_step() {
            tallies.push(tally);
        }
    }
    println!(
        "\n| stated when first named | bisects | mean stated | right |\n| --- | --- | --- | --- |"
    );
    for row in Tally::calibration(&tallies) {
        println!("{row}");
    }
}

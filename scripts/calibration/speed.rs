//! How long judging takes.

use std::time::Instant;

use perfblame::plan::Judging;
use perfblame::verdict::compare;

use crate::random::Random;
use crate::simulate::Model;

/// Times the judgement of 10,000 functions by 32 blocks: with the effect gate, which leaves most
/// of them out, and without, where every one is tested by self and inclusive cost.
pub fn print(seed: u64) {
    println!("| functions | blocks | effect gate | seconds |");
    println!("| --- | --- | --- | --- |");
    let model = Model {
        functions: 10_000,
        samples: 100_000.0,
        whole: true,
        ..Model::reference(0.1)
    };
    let experiment = model.experiment(32, 1.25, &mut Random::new(seed));
    for gate_points in [0.1, 0.0] {
        let judging = Judging {
            gate_points,
            ..Judging::default()
        };
        let started = Instant::now();
        let comparison = compare(&experiment.base, &experiment.head, &judging);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "| {} | {} | {gate_points} | {seconds:.2} |",
            comparison.functions.len(),
            comparison.blocks
        );
    }
}

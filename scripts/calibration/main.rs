//! Calibration of the verdicts: false positives and power on simulated experiments.
//!
//! Run by `scripts/calibrate`; prints Markdown.

mod methods;
mod random;
mod simulate;

use methods::Method;
use random::Random;
use simulate::Model;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(300);
    let seed: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    for blocks in [6, 8, 12] {
        for drift in [0.03, 0.1] {
            let model = Model::reference(drift);
            let mut random = Random::new(seed);
            let mut cells = [(0usize, 0usize); Method::ALL.len()];
            for _ in 0..runs {
                let null = model.experiment(blocks, 1.0, &mut random);
                let hit = model.experiment(blocks, 1.25, &mut random);
                for (method, cell) in Method::ALL.iter().zip(&mut cells) {
                    cell.0 += usize::from(method.judge(&null).any);
                    cell.1 += usize::from(method.judge(&hit).changed);
                }
            }
            print!("{blocks} blocks, drift {drift}:");
            for (method, cell) in Method::ALL.iter().zip(cells) {
                let rate = |n: usize| n as f64 / runs as f64;
                print!(
                    "  {} {:.3}/{:.3}",
                    method.title(),
                    rate(cell.0),
                    rate(cell.1)
                );
            }
            println!();
        }
    }
}

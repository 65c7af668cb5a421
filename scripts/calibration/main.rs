//! Calibration of the verdicts: false positives and power on simulated experiments.
//!
//! Run by `scripts/calibrate`; prints Markdown.

mod methods;
mod random;
mod simulate;
mod speed;
mod tables;

use std::time::Instant;

use tables::Size;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs = arguments.next().and_then(|a| a.parse().ok());
    let seed = arguments.next().and_then(|a| a.parse().ok());
    let only = arguments.next();
    let size = Size {
        runs: runs.unwrap_or(2000),
        seed: seed.unwrap_or(1),
    };
    println!("{} experiments a cell, seed {}.", size.runs, size.seed);
    let sections: [(&str, &dyn Fn()); 5] = [
        ("False positives", &|| tables::false_positives(size)),
        ("Declared looks", &|| tables::looks(size)),
        ("Power", &|| tables::power(size)),
        ("Functions of other sizes, 8 blocks, drift .1", &|| {
            tables::sizes(size)
        }),
        ("Time to judge", &|| speed::print(size.seed)),
    ];
    let wanted = |title: &str| only.as_ref().is_none_or(|only| title.contains(only));
    for (title, print) in sections.into_iter().filter(|(title, _)| wanted(title)) {
        println!("\n## {title}\n");
        let started = Instant::now();
        print();
        println!("\nTook {} seconds.", started.elapsed().as_secs());
    }
}

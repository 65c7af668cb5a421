//! The tables of `docs/calibration.md`, as Markdown.

use perfblame::plan::Judging;
use perfblame::stats::{Looks, SplitMix64};

use crate::methods::{Method, perfblame};
use crate::random::Random;
use crate::simulate::{Experiment, Model};

/// The level that everything is held to.
const ALPHA: f64 = 0.05;

/// Numbers of experiments, and the seed.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Experiments a cell.
    pub runs: usize,
    /// Seed of all cells.
    pub seed: u64,
}

impl Size {
    /// A source of a cell's own.
    fn random(self, cell: u64) -> Random {
        Random::new(SplitMix64::new(self.seed ^ cell << 32).next_u64())
    }
}

/// False positives of perfblame where nothing changed, everything that it flags included.
pub fn false_positives(size: Size) {
    println!("| experiments | 6 blocks | 8 blocks | 16 blocks |");
    println!("| --- | --- | --- | --- |");
    for (cell, (title, model)) in models().into_iter().enumerate() {
        print!("| {title} |");
        for blocks in [6, 8, 16] {
            let mut random = size.random(100 * cell as u64 + blocks as u64);
            let flagged = (0..size.runs)
                .filter(|_| {
                    let null = model.experiment(blocks, 1.0, &mut random);
                    perfblame(&null, &Judging::default()).any <= ALPHA
                })
                .count();
            print!(" {} |", rate(flagged, size.runs));
        }
        println!();
    }
}

/// False positives with declared looks: an experiment counts if any look flags anything.
pub fn looks(size: Size) {
    let looks = Looks::declare(ALPHA, 32);
    print!("| experiments |");
    for look in looks.all() {
        print!(" look at {} blocks (α {:.3}) |", look.blocks, look.alpha);
    }
    println!(" at any look |\n| --- | --- | --- | --- | --- |");
    for (cell, (title, model)) in models().into_iter().enumerate() {
        let mut random = size.random(1000 + cell as u64);
        let mut at = vec![0; looks.all().len()];
        let mut any = 0;
        for _ in 0..size.runs {
            let null = model.experiment(32, 1.0, &mut random);
            let flags: Vec<bool> = looks
                .all()
                .iter()
                .map(|look| {
                    let judging = Judging {
                        alpha: look.alpha,
                        ..Judging::default()
                    };
                    perfblame(&first(&null, look.blocks as usize), &judging).any <= look.alpha
                })
                .collect();
            for (count, flag) in at.iter_mut().zip(&flags) {
                *count += usize::from(*flag);
            }
            any += usize::from(flags.contains(&true));
        }
        print!("| {title} |");
        for count in at.into_iter().chain([any]) {
            print!(" {} |", rate(count, size.runs));
        }
        println!();
    }
}

/// The research table's cells: false positives and power of every method at its own level, and its
/// power where its level is set so that 5 % of the experiments without a change are flagged.
pub fn power(size: Size) {
    println!("| blocks, drift | method | false positives | power | power at 5 % |");
    println!("| --- | --- | --- | --- | --- |");
    for blocks in [6, 8, 12] {
        for drift in [0.03, 0.1] {
            let cell = format!("{blocks}, {drift}");
            methods(
                &cell,
                &Method::ALL,
                Model::reference(drift),
                blocks,
                1.25,
                size,
            );
        }
    }
}

/// Power for functions of other sizes.
pub fn sizes(size: Size) {
    println!("| function | method | false positives | power | power at 5 % |");
    println!("| --- | --- | --- | --- | --- |");
    for (share, change) in [(0.004, 2.0), (0.01, 1.4), (0.06, 1.15), (0.2, 1.1)] {
        let model = Model {
            changed_share: share,
            ..Model::reference(0.1)
        };
        let title = format!("{} %, {:+.0} %", 100.0 * share, 100.0 * (change - 1.0));
        let methods_shown = [
            Method::Perfblame,
            Method::Reference,
            Method::WelchBhNormalised,
        ];
        methods(&title, &methods_shown, model, 8, change, size);
    }
}

fn methods(title: &str, shown: &[Method], model: Model, blocks: usize, change: f64, size: Size) {
    let cell = title.bytes().fold(2000, |sum, b| 31 * sum + u64::from(b));
    let mut random = size.random(cell % (1 << 31));
    let mut evidence = vec![(Vec::new(), Vec::new()); shown.len()];
    for _ in 0..size.runs {
        let null = model.experiment(blocks, 1.0, &mut random);
        let hit = model.experiment(blocks, change, &mut random);
        for (method, (nulls, hits)) in shown.iter().zip(&mut evidence) {
            nulls.push(method.judge(&null).any);
            hits.push(method.judge(&hit).changed);
        }
    }
    for (method, (mut nulls, hits)) in shown.iter().zip(evidence) {
        nulls.sort_by(f64::total_cmp);
        let level = method.nominal();
        let at_most = |values: &[f64], level: f64| values.iter().filter(|v| **v <= level).count();
        // The largest level at which no more than 5 % are flagged, ties included.
        let allowed = (ALPHA * size.runs as f64).floor() as usize;
        let equal = nulls
            .iter()
            .copied()
            .rfind(|&level| at_most(&nulls, level) <= allowed)
            .unwrap_or(f64::NEG_INFINITY);
        println!(
            "| {title} | {} | {} | {} | {} |",
            method.title(),
            rate(at_most(&nulls, level), size.runs),
            rate(at_most(&hits, level), size.runs),
            rate(at_most(&hits, equal), size.runs),
        );
    }
}

fn models() -> [(&'static str, Model); 4] {
    let whole = Model {
        whole: true,
        ..Model::reference(0.1)
    };
    [
        ("functions, drift .03", Model::reference(0.03)),
        ("functions, drift .1", Model::reference(0.1)),
        ("functions of a call tree and five metrics, drift .1", whole),
        (
            "the same with heavy tails and disturbed trials",
            Model {
                heavy_tails: true,
                ..whole
            },
        ),
    ]
}

fn first(experiment: &Experiment, blocks: usize) -> Experiment {
    let mut first = experiment.clone();
    first.base.truncate(blocks);
    first.head.truncate(blocks);
    first
}

fn rate(count: usize, of: usize) -> String {
    format!("{:.3}", count as f64 / of as f64)
}

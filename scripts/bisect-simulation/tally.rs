//! Means over many bisects, with their Monte Carlo errors.

use crate::bisection::{Bisection, Ending};

/// Figures of one kind of history.
#[derive(Debug, Default)]
pub struct Tally {
    all: Vec<Bisection>,
}

impl Tally {
    /// Adds a bisect.
    pub fn add(&mut self, bisection: Bisection) {
        self.all.push(bisection);
    }

    /// Heading of the table's rows.
    pub fn heading() -> String {
        let columns = [
            "history",
            "endpoint trials a side",
            "search trials",
            "certificate trials",
            "attempts",
            "builds",
            "hours",
            "first named right",
            "stated then",
            "ended right",
            "wrong",
            "no culprit",
            "undecided",
        ];
        let rule = columns.map(|_| "---").join(" | ");
        format!("| {} |\n| {rule} |", columns.join(" | "))
    }

    /// A row of the table.
    pub fn row(&self, name: &str, has_step: bool) -> String {
        let mean = |f: &dyn Fn(&Bisection) -> f64| mean(&self.all, f);
        let named: Vec<Bisection> = self
            .all
            .iter()
            .filter(|b| b.first.is_some())
            .copied()
            .collect();
        let (right, stated) = if named.is_empty() {
            ("–".to_owned(), "–".to_owned())
        } else {
            (
                share(&named, &|b| b.first.is_some_and(|f| f.2)),
                format!(
                    "{:.1} %",
                    100.0 * mean_of(&named, &|b| b.first.map_or(0.0, |f| f.1)).0
                ),
            )
        };
        let end = |ending: &[Ending]| share(&self.all, &|b| ending.contains(&b.ending));
        let no_culprit = end(&[Ending::Alike, Ending::NoCulprit]);
        let ended_right = if has_step {
            end(&[Ending::Right])
        } else {
            no_culprit.clone()
        };
        let cells = [
            name.to_owned(),
            mean(&|b| b.counts.endpoints as f64 / 2.0),
            mean(&|b| b.counts.search as f64),
            mean(&|b| b.counts.certificate as f64),
            mean(&|b| b.attempts as f64),
            mean(&|b| b.counts.builds as f64),
            mean(&|b| b.hours),
            right,
            stated,
            ended_right,
            end(&[Ending::Wrong]),
            no_culprit,
            end(&[Ending::Undecided]),
        ];
        format!("| {} |", cells.join(" | "))
    }

    /// Rows of stated probability against how often it was right, over several kinds of history.
    pub fn calibration(tallies: &[Tally]) -> Vec<String> {
        let first: Vec<(f64, bool)> = tallies
            .iter()
            .flat_map(|t| &t.all)
            .filter_map(|b| b.first.map(|f| (f.1, f.2)))
            .collect();
        [
            (0.0, 0.95),
            (0.95, 0.96),
            (0.96, 0.97),
            (0.97, 0.98),
            (0.98, 0.99),
            (0.99, 1.01),
        ]
        .iter()
        .filter_map(|(from, to)| {
            let within: Vec<&(f64, bool)> =
                first.iter().filter(|f| f.0 >= *from && f.0 < *to).collect();
            let n = within.len() as f64;
            if within.is_empty() {
                return None;
            }
            let stated = within.iter().map(|f| f.0).sum::<f64>() / n;
            let right = within.iter().filter(|f| f.1).count() as f64 / n;
            Some(format!(
                "| {:.0}–{:.0} % | {n} | {:.1} % | {:.1} ± {:.1} % |",
                100.0 * from,
                100.0 * to.min(1.0),
                100.0 * stated,
                100.0 * right,
                100.0 * (right * (1.0 - right) / n).sqrt()
            ))
        })
        .collect()
    }
}

fn mean_of(all: &[Bisection], f: &dyn Fn(&Bisection) -> f64) -> (f64, f64) {
    let n = all.len().max(1) as f64;
    let mean = all.iter().map(f).sum::<f64>() / n;
    let square = all.iter().map(|b| (f(b) - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0).max(1.0) / n).sqrt())
}

fn mean(all: &[Bisection], f: &dyn Fn(&Bisection) -> f64) -> String {
    let (mean, error) = mean_of(all, f);
    format!("{mean:.1} ± {error:.1}")
}

fn share(all: &[Bisection], f: &dyn Fn(&Bisection) -> bool) -> String {
    let n = all.len().max(1) as f64;
    let part = all.iter().filter(|b| f(b)).count() as f64 / n;
    let error = (part * (1.0 - part) / n).sqrt();
    format!("{:.1} ± {:.1} %", 100.0 * part, 100.0 * error)
}

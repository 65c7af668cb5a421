//! One scale for all numbers of a table, so that they can be read against each other.

use super::model::{PairTable, TableCell};

/// How the numbers of a table are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The word before the unit: `million `, or nothing.
    pub word: &'static str,
    divisor: f64,
    decimals: usize,
}

impl Scale {
    /// The scale that a table's means need.
    pub fn of(table: &PairTable) -> Self {
        let means = table.cells.iter().flatten().filter_map(|cell| match cell {
            TableCell::Compared(cell) => Some((cell.base_mean, cell.head_mean)),
            TableCell::Constant {
                base_mean,
                head_mean,
            } => Some((*base_mean, *head_mean)),
            _ => None,
        });
        let largest = means
            .map(|(base, head)| base.abs().max(head.abs()))
            .fold(0.0, f64::max);
        let (word, divisor) = match largest {
            m if m >= 1e9 => ("billion ", 1e9),
            m if m >= 1e6 => ("million ", 1e6),
            m if m >= 1e4 => ("thousand ", 1e3),
            _ => ("", 1.0),
        };
        let decimals = match largest / divisor {
            m if m >= 1000.0 => 0,
            m if m >= 100.0 => 1,
            m if m >= 10.0 => 2,
            m if m >= 0.1 || m == 0.0 => 3,
            // Small numbers keep three digits.
            m => (2.0 - m.log10().floor()).clamp(3.0, 12.0) as usize,
        };
        Self {
            word,
            divisor,
            decimals,
        }
    }

    /// A number without its trailing zeros, as the published tables have it.
    pub fn write(&self, x: f64) -> String {
        let text = format!("{:.*}", self.decimals, x / self.divisor);
        let text = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => &text,
        };
        match text {
            "-0" => "0".to_owned(),
            text => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Compared;
    use super::*;

    fn scale(mean: f64) -> Scale {
        Scale::of(&PairTable {
            metric: String::new(),
            axis: String::new(),
            base: String::new(),
            head: String::new(),
            row_axis: String::new(),
            rows: vec![],
            columns: vec![],
            cells: vec![vec![TableCell::Compared(Compared {
                base_mean: mean,
                head_mean: 0.0,
                counts: [2, 2],
                t: 0.0,
                df: 0.0,
                p: 0.0,
                ci95: [0.0, 0.0],
                change_pct: None,
            })]],
        })
    }

    #[test]
    fn numbers_are_written_as_in_the_published_tables() {
        for (mean, x, word, text) in [
            (1_900_000.0, 1_900_000.0, "million ", "1.9"),
            (1_840_000.0, 10_734.0, "million ", "0.011"),
            (331_931.0, 331_931.0, "thousand ", "331.9"),
            (7.5, -7.5, "", "-7.5"),
            (7.5, -0.0001, "", "0"),
            (0.00123, 0.00123, "", "0.00123"),
            (5000.0, 5000.0, "", "5000"),
        ] {
            assert_eq!(
                (scale(mean).word, scale(mean).write(x)),
                (word, text.to_owned())
            );
        }
    }
}

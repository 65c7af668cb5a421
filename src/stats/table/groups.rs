//! The comparisons that a table holds.

use thiserror::Error;

use super::super::summary::mean;
use super::super::t_test::{TTest, TTestError, welch};
use super::read::{Row, Table};

/// Welch's test of one level against the baseline within one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTest {
    /// Levels of the grouping columns.
    pub group: Vec<String>,
    /// The baseline's level.
    pub base: String,
    /// The other level.
    pub head: String,
    /// Number of values, base and head.
    pub counts: [usize; 2],
    /// Means, base and head.
    pub means: [f64; 2],
    /// Test of `mean(base) - mean(head)`, as R's `t.test(base, head)`.
    pub test: TTest,
}

impl GroupTest {
    /// The interval as a change of head in per cent of base's mean, low end first; `None` where it
    /// spans 0, or base's mean is 0.
    pub fn change_pct(&self) -> Option<[f64; 2]> {
        let [lo, hi] = self.test.interval;
        if lo <= 0.0 && hi >= 0.0 || self.means[0] == 0.0 {
            return None;
        }
        let pct = |end: f64| -end * 100.0 / self.means[0];
        Some([pct(lo).min(pct(hi)), pct(lo).max(pct(hi))])
    }

    /// The interval in per cent, or `no significance`.
    pub fn verdict(&self) -> String {
        let spans = self.test.interval[0] <= 0.0 && self.test.interval[1] >= 0.0;
        match self.change_pct() {
            Some([lo, hi]) => format!("[{lo:.2}, {hi:.2}]%"),
            None if spans => "no significance".to_owned(),
            None => "significant, but no per cent of a mean of 0".to_owned(),
        }
    }
}

/// Why a table gives no comparison.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupsError {
    /// Nothing to compare anywhere.
    #[error("there is nothing to compare: `{column}` has no second level in any group")]
    OneLevel {
        /// The compared column.
        column: String,
    },
    /// A group that cannot be tested.
    #[error("line {line}: {level} has {count} value{} in {group}: {error}", if *count == 1 { "" } else { "s" })]
    Untestable {
        /// Line of the level's first row.
        line: u64,
        /// The level.
        level: String,
        /// Its number of values.
        count: usize,
        /// The group.
        group: String,
        /// What is in the way.
        error: TTestError,
    },
}

/// Compares within each group every level with the baseline: of the levels that the group has, the
/// one that the file names first. Groups and levels are in the order of the file. `compared` and
/// `level` are the column's name and the interval's level.
///
/// # Errors
///
/// The first group that cannot be tested, or that there is none.
pub fn compare_groups(
    table: &Table,
    compared: &str,
    level: f64,
) -> Result<Vec<GroupTest>, GroupsError> {
    let levels = distinct(table.rows.iter().map(|row| &row.level));
    let groups = distinct(table.rows.iter().map(|row| &row.group));
    let mut tests = Vec::new();
    for group in groups {
        let mut arms = levels.iter().filter_map(|&name| {
            let rows: Vec<&Row> = table
                .rows
                .iter()
                .filter(|row| &row.group == group && &row.level == name)
                .collect();
            (!rows.is_empty()).then_some(Arm { name, rows })
        });
        let Some(base) = arms.next() else { continue };
        for head in arms {
            tests.push(base.against(&head, group, level)?);
        }
    }
    if tests.is_empty() {
        return Err(GroupsError::OneLevel {
            column: compared.to_owned(),
        });
    }
    Ok(tests)
}

struct Arm<'a> {
    name: &'a String,
    rows: Vec<&'a Row>,
}

impl Arm<'_> {
    fn values(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.value).collect()
    }

    fn against(&self, head: &Self, group: &[String], level: f64) -> Result<GroupTest, GroupsError> {
        let (x, y) = (self.values(), head.values());
        let test = welch(&x, &y, level).map_err(|error| {
            let fault = if x.len() < 2 || (y.len() >= 2 && error != TTestError::Constant) {
                self
            } else {
                head
            };
            GroupsError::Untestable {
                line: fault.rows[0].line,
                level: format!("`{}`", fault.name),
                count: fault.rows.len(),
                group: if group.is_empty() {
                    "the table".to_owned()
                } else {
                    format!("({})", group.join(", "))
                },
                error,
            }
        })?;
        Ok(GroupTest {
            group: group.to_vec(),
            base: self.name.clone(),
            head: head.name.clone(),
            counts: [x.len(), y.len()],
            means: [mean(&x), mean(&y)],
            test,
        })
    }
}

/// Distinct items in the order in which they are met.
fn distinct<'a, T: std::hash::Hash + Eq>(items: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut seen = std::collections::HashSet::new();
    items.filter(|item| seen.insert(*item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str, f64)]) -> Table {
        let rows = rows
            .iter()
            .enumerate()
            .map(|(i, (group, level, value))| Row {
                line: i as u64 + 2,
                level: (*level).to_owned(),
                group: vec![(*group).to_owned()],
                value: *value,
            })
            .collect();
        Table { rows }
    }

    #[test]
    fn the_first_level_of_the_file_is_the_baseline_in_every_group() {
        let rows = [
            ("g", "old", 1.0),
            ("g", "old", 2.0),
            ("g", "new", 5.0),
            ("g", "new", 6.0),
            ("g", "new", 7.0),
            ("h", "new", 1.0),
            ("h", "new", 2.0),
            ("h", "old", 1.0),
            ("h", "old", 3.0),
            ("i", "new", 1.0),
        ];
        let tests = compare_groups(&table(&rows), "kernel", 0.95).unwrap();
        let pairs: Vec<(&str, &str, [usize; 2])> = tests
            .iter()
            .map(|t| (t.base.as_str(), t.head.as_str(), t.counts))
            .collect();
        assert_eq!(pairs, [("old", "new", [2, 3]), ("old", "new", [2, 2])]);
        assert_eq!(tests[1].verdict(), "no significance");
    }

    #[test]
    fn what_cannot_be_tested_is_named() {
        let one = [("g", "a", 1.0), ("g", "a", 2.0), ("g", "b", 3.0)];
        let fault = compare_groups(&table(&one), "k", 0.95)
            .unwrap_err()
            .to_string();
        assert!(
            fault.starts_with("line 4: `b` has 1 value in (g): "),
            "{fault}"
        );
        let flat = [
            ("g", "a", 1.0),
            ("g", "a", 1.0),
            ("g", "b", 3.0),
            ("g", "b", 3.0),
        ];
        let fault = compare_groups(&table(&flat), "k", 0.95)
            .unwrap_err()
            .to_string();
        assert!(fault.contains("no noise"), "{fault}");
        let fault = compare_groups(&table(&one[..2]), "k", 0.95)
            .unwrap_err()
            .to_string();
        assert!(fault.contains("`k` has no second level"), "{fault}");
    }

    #[test]
    fn a_change_below_zero_keeps_its_ends_in_order() {
        let rows = [
            ("g", "a", -10.0),
            ("g", "a", -10.2),
            ("g", "b", -5.0),
            ("g", "b", -5.1),
        ];
        let tests = compare_groups(&table(&rows), "k", 0.95).unwrap();
        let [lo, hi] = tests[0].change_pct().unwrap();
        assert!(lo < hi && hi < 0.0, "{lo} {hi}");
    }
}

//! A matrix: axes with levels, and which of their combinations are run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The section `[matrix]` of a plan: every combination of levels is a cell, and each cell gets the
/// same number of data points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MatrixSpec {
    /// Data points a cell, each one trial with a fresh subject.
    pub points: u32,
    /// The revision of cells whose levels name none.
    pub revision: String,
    /// Metrics that get tables; by default the workload's main one.
    pub metrics: Vec<String>,
    /// Whether servers and commands are sampled in their profiled window too, so that functions are
    /// compared beside metrics. Phases say for themselves whether they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub profile: bool,
    /// The axes, in the order of the columns of `raw.csv`.
    pub axis: Vec<Axis>,
    /// Combinations that are left out: axis and level; an axis that is not named matches all levels.
    pub exclude: Vec<BTreeMap<String, String>>,
    /// Cells that are run although they were left out: every axis with a level.
    pub include: Vec<BTreeMap<String, String>>,
}

/// One axis. The first level is the baseline of the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Axis {
    /// Name, as in tables.
    pub name: String,
    /// Whether it is a condition only: other axes are compared at each of its levels, and its levels
    /// are not compared with each other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub condition: bool,
    /// The levels.
    pub level: Vec<Level>,
}

/// One level of an axis: what differs in the cells that have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Level {
    /// Name, as in tables.
    pub name: String,
    /// The revision to be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Settings of the machine, as in `[settings]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Variables of the subject's environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Any other keys of the plan, such as `set.load.key-pattern = "R:R"`.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub set: toml::Table,
}

impl Default for MatrixSpec {
    fn default() -> Self {
        Self {
            points: 10,
            revision: "HEAD".to_owned(),
            metrics: Vec::new(),
            profile: false,
            axis: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
        }
    }
}

/// One cell: the number of the level on each axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(
    /// Numbers of levels, in the order of the axes.
    pub Vec<usize>,
);

impl MatrixSpec {
    /// All cells that are to be run, in the order of the axes, the last one fastest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut all = vec![Vec::new()];
        for axis in &self.axis {
            all = all
                .into_iter()
                .flat_map(|cell| {
                    (0..axis.level.len()).map(move |level| {
                        let mut longer = cell.clone();
                        longer.push(level);
                        longer
                    })
                })
                .collect();
        }
        let matches = |rule: &BTreeMap<String, String>, cell: &Cell| {
            rule.iter().all(|(axis, level)| {
                self.levels(cell)
                    .any(|(name, of)| name == axis && of.name == *level)
            })
        };
        all.into_iter()
            .map(Cell)
            .filter(|cell| {
                let is_in = |rules: &[BTreeMap<String, String>]| {
                    rules.iter().any(|rule| matches(rule, cell))
                };
                is_in(&self.include) || !is_in(&self.exclude)
            })
            .collect()
    }

    /// A cell's axes by name, with its levels.
    pub fn levels<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = (&'a str, &'a Level)> {
        self.axis
            .iter()
            .zip(&cell.0)
            .filter_map(|(axis, &level)| Some((axis.name.as_str(), axis.level.get(level)?)))
    }

    /// A cell's name: `axis=level` for each axis.
    pub fn name(&self, cell: &Cell) -> String {
        let levels = self.levels(cell);
        let named = levels.map(|(axis, level)| format!("{axis}={}", level.name));
        named.collect::<Vec<_>>().join(", ")
    }

    /// The first fault: its key below `matrix`, and what is wrong.
    pub fn check(&self) -> Option<(String, String)> {
        let fault = |key: String, message: &str| Some((key, message.to_owned()));
        if self.points < 2 {
            return fault("points".to_owned(), "an interval needs at least 2");
        }
        if self.axis.is_empty() {
            return fault("axis".to_owned(), "a matrix has at least one axis");
        }
        for (number, axis) in self.axis.iter().enumerate() {
            let key = |of: &str| format!("axis.{number}.{of}");
            if axis.name.is_empty() || RESERVED.contains(&axis.name.as_str()) {
                return fault(
                    key("name"),
                    "every axis needs a name, and `point`, `metric`, `unit` and `value` are columns of raw.csv already",
                );
            }
            if self.axis[..number]
                .iter()
                .any(|other| other.name == axis.name)
            {
                return fault(key("name"), &format!("there are two axes `{}`", axis.name));
            }
            if axis.level.is_empty() {
                return fault(key("level"), &format!("axis `{}` has no level", axis.name));
            }
            for (at, level) in axis.level.iter().enumerate() {
                let twin = |other: &Level| other.name == level.name;
                if level.name.is_empty() || axis.level[..at].iter().any(twin) {
                    return fault(
                        key("level"),
                        &format!(
                            "axis `{}` has a level without a name, or two `{}`",
                            axis.name, level.name
                        ),
                    );
                }
            }
        }
        let compares = |axis: &Axis| axis.level.len() > 1 && !axis.condition;
        if !self.axis.iter().any(compares) {
            return fault(
                "axis".to_owned(),
                "no axis that is not a condition has a second level, so that there is nothing to compare",
            );
        }
        let with_revision = |axis: &&Axis| axis.level.iter().any(|level| level.revision.is_some());
        if self.axis.iter().filter(with_revision).count() > 1 {
            return fault("axis".to_owned(), "only one axis can choose the revision");
        }
        self.check_rules("exclude", &self.exclude, false)
            .or_else(|| self.check_rules("include", &self.include, true))
            .or_else(|| {
                let empty = self.cells().is_empty();
                empty.then(|| ("exclude".to_owned(), "no cell is left".to_owned()))
            })
    }

    fn check_rules(
        &self,
        key: &str,
        rules: &[BTreeMap<String, String>],
        whole: bool,
    ) -> Option<(String, String)> {
        for rule in rules {
            for (name, level) in rule {
                let Some(axis) = self.axis.iter().find(|axis| axis.name == *name) else {
                    return Some((key.to_owned(), format!("there is no axis `{name}`")));
                };
                if !axis.level.iter().any(|known| known.name == *level) {
                    let message = format!("axis `{name}` has no level `{level}`");
                    return Some((key.to_owned(), message));
                }
            }
            if whole && rule.len() < self.axis.len() {
                let message = "an included cell names a level of every axis".to_owned();
                return Some((key.to_owned(), message));
            }
        }
        None
    }
}

/// Columns of `raw.csv` beside the axes.
const RESERVED: [&str; 4] = ["point", "metric", "unit", "value"];

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> MatrixSpec {
        toml::from_str(text).unwrap()
    }

    const AXES: &str = "
        axis = [
          { name = 'THP', level = [{ name = 'always' }, { name = 'never' }] },
          { name = 'pattern', level = [{ name = 'P' }, { name = 'R' }, { name = 'G' }] },
        ]
    ";

    #[test]
    fn every_combination_is_a_cell() {
        let spec = spec(AXES);
        let names: Vec<String> = spec.cells().iter().map(|cell| spec.name(cell)).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[0], "THP=always, pattern=P");
        assert_eq!(names[5], "THP=never, pattern=G");
        assert_eq!(spec.check(), None);
    }

    #[test]
    fn what_is_excluded_is_left_out_unless_included() {
        let spec = spec(&format!(
            "exclude = [{{ THP = 'never' }}, {{ pattern = 'P' }}]
             include = [{{ THP = 'never', pattern = 'G' }}]
             {AXES}"
        ));
        let names: Vec<String> = spec.cells().iter().map(|cell| spec.name(cell)).collect();
        assert_eq!(
            names,
            [
                "THP=always, pattern=R",
                "THP=always, pattern=G",
                "THP=never, pattern=G"
            ]
        );
    }

    #[test]
    fn rules_hold_whatever_the_order_of_the_axes() {
        let axes = "
            [[axis]]\nname = 'pattern'\nlevel = [{ name = 'R' }, { name = 'P' }]
            [[axis]]\nname = 'THP'\nlevel = [{ name = 'always' }, { name = 'never' }]";
        let rule = "{ THP = 'never', pattern = 'P' }";
        let without = spec(&format!("exclude = [{rule}]\n{axes}"));
        let names = |spec: &MatrixSpec| -> Vec<String> {
            spec.cells().iter().map(|cell| spec.name(cell)).collect()
        };
        assert_eq!(
            names(&without),
            [
                "pattern=R, THP=always",
                "pattern=R, THP=never",
                "pattern=P, THP=always"
            ]
        );
        let with = spec(&format!(
            "exclude = [{{ THP = 'never' }}]\ninclude = [{rule}]\n{axes}"
        ));
        assert!(names(&with).contains(&"pattern=P, THP=never".to_owned()));
    }

    #[test]
    fn faults_name_their_key() {
        let with = |more: &str| spec(&format!("{more}\n{AXES}")).check().unwrap();
        assert_eq!(with("points = 1").0, "points");
        assert_eq!(with("exclude = [{ THB = 'never' }]").0, "exclude");
        assert!(
            with("exclude = [{ THP = 'newer' }]")
                .1
                .contains("no level `newer`")
        );
        assert!(
            with("include = [{ THP = 'never' }]")
                .1
                .contains("every axis")
        );
        assert!(
            with("exclude = [{ THP = 'never' }, { THP = 'always' }]")
                .1
                .contains("no cell")
        );
        for (text, key) in [
            ("", "axis"),
            ("axis = [{ name = 'a', level = [{ name = '1' }] }]", "axis"),
            (
                "axis = [{ name = 'a', condition = true, level = [{ name = '1' }, { name = '2' }] }]",
                "axis",
            ),
            ("axis = [{ name = 'value', level = [] }]", "axis.0.name"),
            ("axis = [{ name = 'a', level = [] }]", "axis.0.level"),
            (
                "axis = [{ name = 'a', level = [{ name = '1' }, { name = '1' }] }]",
                "axis.0.level",
            ),
            (
                "axis = [{ name = 'a', level = [{ name = '1', revision = 'x' }, { name = '2' }] },
                 { name = 'b', level = [{ name = '1', revision = 'x' }] }]",
                "axis",
            ),
        ] {
            assert_eq!(spec(text).check().unwrap().0, key, "{text}");
        }
    }
}

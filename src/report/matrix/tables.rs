//! From the cells' data points to the tables: Welch's test for every two levels of an axis.

use crate::stats::{TTestError, welch};

use super::model::{AxisReport, CellReport, Compared, PairTable, TableCell};

/// The tables of one metric: for every axis and every two of its levels, the earlier one as baseline.
pub fn tables(metric: &str, axes: &[AxisReport], cells: &[CellReport]) -> Vec<PairTable> {
    let mut tables = Vec::new();
    for (at, axis) in axes.iter().enumerate() {
        for base in 0..axis.levels.len() {
            for head in base + 1..axis.levels.len() {
                tables.push(pair(metric, axes, at, [base, head], cells));
            }
        }
    }
    tables
}

fn pair(
    metric: &str,
    axes: &[AxisReport],
    compared: usize,
    [base, head]: [usize; 2],
    cells: &[CellReport],
) -> PairTable {
    let mut others: Vec<usize> = (0..axes.len()).filter(|&axis| axis != compared).collect();
    let row_axis = others.pop();
    let rows = row_axis.map_or(1, |axis| axes[axis].levels.len());
    let columns = combinations(axes, &others);
    let level = |number: usize| axes[compared].levels[number].clone();
    let cell = |row: usize, column: &[usize]| {
        let side = |number: usize| {
            let mut levels = vec![String::new(); axes.len()];
            levels[compared] = level(number);
            if let Some(axis) = row_axis {
                levels[axis] = axes[axis].levels[row].clone();
            }
            for (&axis, &number) in others.iter().zip(column) {
                levels[axis] = axes[axis].levels[number].clone();
            }
            cells.iter().find(|cell| cell.levels == levels)
        };
        match (side(base), side(head)) {
            (Some(base), Some(head)) => compare(metric, base, head),
            _ => TableCell::LeftOut,
        }
    };
    PairTable {
        metric: metric.to_owned(),
        axis: axes[compared].name.clone(),
        base: level(base),
        head: level(head),
        row_axis: row_axis.map_or_else(String::new, |axis| axes[axis].name.clone()),
        rows: row_axis.map_or_else(|| vec![String::new()], |axis| axes[axis].levels.clone()),
        columns: columns
            .iter()
            .map(|column| named(axes, &others, column))
            .collect(),
        cells: (0..rows)
            .map(|row| columns.iter().map(|column| cell(row, column)).collect())
            .collect(),
    }
}

/// All combinations of levels of some axes, the last axis fastest; one empty one for no axes.
fn combinations(axes: &[AxisReport], of: &[usize]) -> Vec<Vec<usize>> {
    of.iter().fold(vec![Vec::new()], |all, &axis| {
        all.into_iter()
            .flat_map(|combination| {
                (0..axes[axis].levels.len()).map(move |level| {
                    let mut longer = combination.clone();
                    longer.push(level);
                    longer
                })
            })
            .collect()
    })
}

fn named(axes: &[AxisReport], of: &[usize], combination: &[usize]) -> String {
    let levels = of.iter().zip(combination);
    let named = levels.map(|(&axis, &level)| {
        let axis = &axes[axis];
        format!("{}={}", axis.name, axis.levels[level])
    });
    named.collect::<Vec<_>>().join(", ")
}

fn compare(metric: &str, base: &CellReport, head: &CellReport) -> TableCell {
    let values = |cell: &CellReport| cell.values.get(metric).cloned().unwrap_or_default();
    let (x, y) = (values(base), values(head));
    match welch(&x, &y, 0.95) {
        Ok(test) => {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let base_mean = mean(&x);
            // The test is of base minus head; people ask what head did.
            let ci95 = [-test.interval[1], -test.interval[0]];
            let spans = ci95[0] <= 0.0 && ci95[1] >= 0.0;
            let pct = ci95.map(|end| end * 100.0 / base_mean);
            TableCell::Compared(Compared {
                base_mean,
                head_mean: mean(&y),
                counts: [x.len(), y.len()],
                // Of head minus base, as the interval.
                t: -test.t,
                df: test.df,
                p: test.p,
                ci95,
                change_pct: (!spans && base_mean != 0.0)
                    .then(|| [pct[0].min(pct[1]), pct[0].max(pct[1])]),
            })
        }
        Err(TTestError::Constant) => TableCell::Constant {
            base_mean: x.first().copied().unwrap_or(f64::NAN),
            head_mean: y.first().copied().unwrap_or(f64::NAN),
        },
        Err(error) => {
            let mut sides = [base, head].into_iter();
            let failure = sides.clone().find_map(|cell| cell.failure.clone());
            let absent = sides.find_map(|cell| cell.absent.get(metric).cloned());
            match (failure, absent) {
                (None, Some(reason)) => TableCell::Absent(reason),
                (failure, _) => TableCell::Failed(failure.unwrap_or_else(|| error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, levels: &[&str]) -> AxisReport {
        AxisReport {
            name: name.to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        }
    }

    fn cell(levels: &[&str], values: &[f64]) -> CellReport {
        CellReport {
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            commit: None,
            failure: values.is_empty().then(|| "it did not start".to_owned()),
            values: [("m".to_owned(), values.to_vec())].into(),
            units: [].into(),
            absent: [].into(),
        }
    }

    #[test]
    fn the_published_figures_of_mglru_come_out() {
        // Redis, THP=always, sequential: R's t of baseline minus patched is -2.6773, df = 11.109, [0.58, 5.94] %.
        let base = [1.81, 1.81, 1.82, 1.84, 1.84, 1.84, 1.84, 1.85, 1.87, 1.88];
        let head = [1.79, 1.81, 1.85, 1.88, 1.90, 1.91, 1.96, 1.96, 1.96, 1.98];
        let axes = [axis("kernel", &["baseline", "patched"])];
        let cells = [cell(&["baseline"], &base), cell(&["patched"], &head)];
        let tables = tables("m", &axes, &cells);
        let TableCell::Compared(compared) = &tables[0].cells[0][0] else {
            panic!("{tables:?}")
        };
        assert!((compared.t - 2.6773).abs() < 5e-5);
        assert!((compared.df - 11.109).abs() < 5e-4);
        assert!((compared.ci95[0] - 0.01073413).abs() < 1e-8);
        assert!((compared.ci95[1] - 0.10926587).abs() < 1e-8);
        let [lo, hi] = compared.change_pct.unwrap();
        assert!(
            (lo - 0.58).abs() < 0.005 && (hi - 5.94).abs() < 0.005,
            "{lo} {hi}"
        );
    }

    #[test]
    fn rows_are_the_last_axis_and_columns_the_others() {
        let axes = [
            axis("kernel", &["a", "b"]),
            axis("THP", &["always", "never"]),
            axis("swap", &["off", "on"]),
            axis("pattern", &["P", "R", "G"]),
        ];
        let tables = tables("m", &axes, &[]);
        // One pair for each axis of two levels, three for the one of three.
        assert_eq!(tables.len(), 6);
        assert_eq!(tables[0].row_axis, "pattern");
        assert_eq!(tables[0].rows, ["P", "R", "G"]);
        assert_eq!(tables[0].columns.len(), 4);
        assert_eq!(tables[0].columns[1], "THP=always, swap=on");
        assert_eq!(tables[3].axis, "pattern");
        assert_eq!(tables[3].row_axis, "swap");
        assert_eq!(tables[0].cells[2][3], TableCell::LeftOut);
    }

    #[test]
    fn a_failed_cell_is_told_in_its_place() {
        let axes = [axis("a", &["1", "2"]), axis("b", &["x", "y"])];
        let cells = [
            cell(&["1", "x"], &[1.0, 2.0]),
            cell(&["2", "x"], &[1.0, 2.0]),
            cell(&["1", "y"], &[1.0, 2.0]),
            cell(&["2", "y"], &[]),
        ];
        let table = &tables("m", &axes, &cells)[0];
        assert!(matches!(&table.cells[0][0], TableCell::Compared(c) if c.change_pct.is_none()));
        assert_eq!(
            table.cells[1][0],
            TableCell::Failed("it did not start".to_owned())
        );
    }
}

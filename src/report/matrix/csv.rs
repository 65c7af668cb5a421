//! The raw values, one row each, and the tables, one row a comparison.

use super::model::{MatrixReport, TableCell};

/// `raw.csv`: the axes, the data point, the metric, its unit and the value.
///
/// # Errors
/// None that a buffer in memory could have.
pub fn raw(report: &MatrixReport) -> std::io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let axes = report.axes.iter().map(|axis| axis.name.as_str());
    writer.write_record(axes.chain(["point", "metric", "unit", "value"]))?;
    for cell in &report.cells {
        for (metric, values) in &cell.values {
            let unit = cell.units.get(metric).map_or("", String::as_str);
            for (point, value) in values.iter().enumerate() {
                let (point, value) = ((point + 1).to_string(), value.to_string());
                let levels = cell.levels.iter().map(String::as_str);
                let rest = [point.as_str(), metric.as_str(), unit, value.as_str()];
                writer.write_record(levels.chain(rest))?;
            }
        }
    }
    bytes(writer)
}

/// `tables.csv`: every comparison with all digits.
pub fn comparisons(report: &MatrixReport) -> std::io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "metric",
        "axis",
        "base",
        "head",
        "column",
        "row",
        "n_base",
        "n_head",
        "mean_base",
        "mean_head",
        "ci_low",
        "ci_high",
        "t",
        "df",
        "p",
        "change",
    ])?;
    for table in &report.tables {
        for (row, cells) in table.rows.iter().zip(&table.cells) {
            for (column, cell) in table.columns.iter().zip(cells) {
                let mut record: Vec<String> = [
                    &table.metric,
                    &table.axis,
                    &table.base,
                    &table.head,
                    column,
                    row,
                ]
                .into_iter()
                .cloned()
                .collect();
                match cell {
                    TableCell::Compared(c) => {
                        record.extend(c.counts.iter().map(usize::to_string));
                        let numbers = [
                            c.base_mean,
                            c.head_mean,
                            c.ci95[0],
                            c.ci95[1],
                            c.t,
                            c.df,
                            c.p,
                        ];
                        record.extend(numbers.iter().map(f64::to_string));
                    }
                    _ => record.extend(std::iter::repeat_n(String::new(), 9)),
                }
                record.push(super::text::change(cell));
                writer.write_record(record)?;
            }
        }
    }
    bytes(writer)
}

fn bytes(writer: csv::Writer<Vec<u8>>) -> std::io::Result<Vec<u8>> {
    writer
        .into_inner()
        .map_err(|error| std::io::Error::other(error.to_string()))
}

//! Reading a table of measurements, and all that can be wrong with one.

use std::collections::{BTreeSet, HashMap};

use super::error::TableError;
use csv::{ReaderBuilder, StringRecord, Trim};

/// The columns that a comparison reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Whose levels are compared.
    pub compare: String,
    /// Whose levels make up a group; each group is compared by itself.
    pub within: Vec<String>,
    /// Which holds the numbers.
    pub value: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Line of the file on which it begins.
    pub line: u64,
    /// Level of the compared column.
    pub level: String,
    /// Levels of the grouping columns.
    pub group: Vec<String>,
    /// The number.
    pub value: f64,
}

/// Measurements in the order of the file; at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The measurements.
    pub rows: Vec<Row>,
}

/// Reads a table. The delimiter is the one of comma, semicolon and tab that the header shows; with
/// semicolons or tabs a number may have a decimal comma. A byte order mark and either line ending
/// are fine, blank lines are passed over.
///
/// # Errors
///
/// The first thing that is wrong, with its line.
pub fn read_table(bytes: &[u8], columns: &Columns) -> Result<Table, TableError> {
    let text = std::str::from_utf8(bytes).map_err(|error| TableError::NotUtf8 {
        line: 1 + bytes[..error.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count() as u64,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first_line = text.lines().find(|l| !l.trim().is_empty());
    let delimiter = delimiter_of(first_line.ok_or(TableError::Empty)?);
    let mut lines = Lines::of(text);
    let mut records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .trim(Trim::All)
        .from_reader(text.as_bytes())
        .into_records()
        // A line of blanks alone is one empty field.
        .filter(|r| !matches!(r, Ok(fields) if fields.len() == 1 && fields[0].is_empty()));
    let header = records
        .next()
        .ok_or(TableError::Empty)?
        .map_err(csv_error)?;
    let places = Places::find(&header, lines.of_record(&header), columns)?;
    let mut rows = Vec::new();
    let mut keys = Vec::new();
    for record in records {
        let record = record.map_err(csv_error)?;
        let line = lines.of_record(&record);
        if record.len() != header.len() {
            return Err(TableError::Ragged {
                line,
                found: record.len(),
                expected: header.len(),
            });
        }
        let field = |place: usize| record.get(place).unwrap_or_default().to_owned();
        let text = field(places.value);
        let value = number(&text, delimiter).ok_or_else(|| TableError::NotANumber {
            line,
            column: columns.value.clone(),
            text,
        })?;
        keys.push(places.others.iter().map(|&p| field(p)).collect());
        rows.push(Row {
            line,
            level: field(places.compare),
            group: places.within.iter().map(|&p| field(p)).collect(),
            value,
        });
    }
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    refuse_duplicates(&rows, &keys, &places.other_names(&header), columns)?;
    Ok(Table { rows })
}

/// Where the columns stand.
struct Places {
    compare: usize,
    within: Vec<usize>,
    value: usize,
    /// The columns that are not asked for.
    others: Vec<usize>,
}

impl Places {
    fn find(header: &StringRecord, line: u64, columns: &Columns) -> Result<Self, TableError> {
        let mut names = BTreeSet::new();
        for name in header {
            if !name.is_empty() && !names.insert(name) {
                return Err(TableError::ColumnTwice {
                    line,
                    name: name.to_owned(),
                });
            }
        }
        let mut asked = BTreeSet::new();
        let mut place = |name: &str| {
            if !asked.insert(name.to_owned()) {
                return Err(TableError::SameColumn(name.to_owned()));
            }
            header
                .iter()
                .position(|n| n == name)
                .ok_or_else(|| TableError::NoColumn {
                    line,
                    name: name.to_owned(),
                    known: header.iter().collect::<Vec<_>>().join(", "),
                })
        };
        let compare = place(&columns.compare)?;
        let within = columns
            .within
            .iter()
            .map(|name| place(name))
            .collect::<Result<Vec<_>, _>>()?;
        let value = place(&columns.value)?;
        let others = (0..header.len())
            .filter(|p| *p != compare && *p != value && !within.contains(p))
            .collect();
        Ok(Self {
            compare,
            within,
            value,
            others,
        })
    }

    fn other_names(&self, header: &StringRecord) -> Vec<String> {
        self.others.iter().map(|&p| header[p].to_owned()).collect()
    }
}

/// Indices of the rows of a cell by the columns that were not asked for.
type Runs<'a> = HashMap<&'a [String], Vec<usize>>;

/// Refuses a row that repeats another in every column but the value, where the columns that were
/// not asked for number the runs. They do if in the row's cell they tell most rows apart; columns
/// such as a unit, which are the same all over, do not.
fn refuse_duplicates(
    rows: &[Row],
    keys: &[Vec<String>],
    names: &[String],
    columns: &Columns,
) -> Result<(), TableError> {
    let mut cells: HashMap<(&str, &[String]), Runs<'_>> = HashMap::new();
    for (i, (row, key)) in rows.iter().zip(keys).enumerate() {
        cells
            .entry((&row.level, &row.group))
            .or_default()
            .entry(key)
            .or_default()
            .push(i);
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for runs in cells.values() {
        let rows_of_cell: usize = runs.values().map(Vec::len).sum();
        if runs.len() > 1 && 2 * runs.len() >= rows_of_cell {
            found.extend(runs.values().filter(|r| r.len() > 1).map(|r| (r[1], r[0])));
        }
    }
    let Some(&(later, first)) = found.iter().min() else {
        return Ok(());
    };
    let of_key = std::iter::once(&columns.compare)
        .chain(&columns.within)
        .chain(names);
    let row = &rows[later];
    let fields = std::iter::once(&row.level)
        .chain(&row.group)
        .chain(&keys[later]);
    let join = |parts: Vec<&String>| {
        parts
            .iter()
            .map(|s| s.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    Err(TableError::Duplicate {
        line: row.line,
        first: rows[first].line,
        columns: join(of_key.collect()),
        key: join(fields.collect()),
    })
}

/// The delimiter that the header has most of; a comma where there is none.
fn delimiter_of(header: &str) -> u8 {
    let mut best = (0, b',');
    for delimiter in [b',', b';', b'\t'] {
        let mut quoted = false;
        let count = header
            .bytes()
            .filter(|b| {
                quoted ^= *b == b'"';
                !quoted && *b == delimiter
            })
            .count();
        if count > best.0 {
            best = (count, delimiter);
        }
    }
    best.1
}

fn number(text: &str, delimiter: u8) -> Option<f64> {
    let decimal_comma = delimiter != b',' && text.matches(',').count() == 1 && !text.contains('.');
    let parsed = if decimal_comma {
        text.replace(',', ".").parse::<f64>()
    } else {
        text.parse::<f64>()
    };
    parsed.ok().filter(|v| v.is_finite())
}

/// Lines of records. The reader's own count is that of the blank lines before a record.
struct Lines<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            byte: 0,
            line: 1,
        }
    }

    /// The line on which a record begins; records must be asked for in order.
    fn of_record(&mut self, record: &StringRecord) -> u64 {
        let start = record.position().map_or(0, |p| p.byte() as usize);
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.byte) {
            if self.byte >= start && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            self.line += u64::from(*byte == b'\n');
            self.byte += 1;
        }
        self.line
    }
}

fn csv_error(error: csv::Error) -> TableError {
    TableError::Csv {
        line: error.position().map_or(0, csv::Position::line),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table, TableError> {
        let columns = Columns {
            compare: "kernel".into(),
            within: vec!["system".into()],
            value: "value".into(),
        };
        read_table(text.as_bytes(), &columns)
    }

    fn values(text: &str) -> Vec<f64> {
        read(text).unwrap().rows.iter().map(|r| r.value).collect()
    }

    #[test]
    fn forms_of_a_file() {
        let plain = "system,kernel,value\nredis,a,1.5\nredis,b,2\n";
        assert_eq!(values(plain), [1.5, 2.0]);
        assert_eq!(values(&format!("\u{feff}{plain}")), [1.5, 2.0]);
        assert_eq!(values(&plain.replace('\n', "\r\n")), [1.5, 2.0]);
        assert_eq!(values(&plain.replace(',', ";")), [1.5, 2.0]);
        assert_eq!(values(&plain.replace(',', "\t")), [1.5, 2.0]);
        assert_eq!(
            values("system;kernel;value\nredis;a;1,5\n\n  \nredis;b;2\n"),
            [1.5, 2.0]
        );
        assert_eq!(
            values("kernel, value ,\"system\"\na, 1.5 ,\"r,s\"\n"),
            [1.5]
        );
    }

    #[test]
    fn faults_have_their_line() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            error("system,kernel,value\nr,a,1\nr,a\n"),
            "line 3: 2 fields where the header has 3"
        );
        assert_eq!(
            error("system,kernel,value\nr,a,1\n\nr,a,fast\n"),
            "line 4, column `value`: `fast` is not a finite number"
        );
        for text in ["NaN", "inf", "-infinity", "", "NA", "1,5", "0x10"] {
            let fault = error(&format!("system\tkernel\tvalue\nr\ta\t{text}.\n"));
            assert!(fault.starts_with("line 2, column `value`: "), "{fault}");
        }
        assert!(error("system,kernel,speed\nr,a,1\n").contains("no column `value`"));
        assert!(error("system,kernel,value,value\nr,a,1,2\n").contains("two columns"));
        assert!(error("").contains("no measurement"));
        assert!(error("system,kernel,value\n").contains("no measurement"));
    }

    #[test]
    fn text_that_is_not_utf8_has_its_line() {
        let columns = Columns {
            compare: "a".into(),
            within: vec![],
            value: "b".into(),
        };
        let fault = read_table(b"a,b\nx,1\n\xff,2\n", &columns).unwrap_err();
        assert_eq!(fault, TableError::NotUtf8 { line: 3 });
    }

    #[test]
    fn a_key_that_numbers_the_runs_may_not_repeat() {
        let numbered = "system,kernel,run,value\nr,a,1,1\nr,a,2,2\nr,a,2,3\nr,b,1,4\n";
        assert_eq!(
            read(numbered).unwrap_err().to_string(),
            "line 4: the same kernel, system, run as on line 3 (a, r, 2); a measurement counts once"
        );
        let unit = "system,kernel,unit,value\nr,a,ms,1\nr,a,ms,2\nr,b,ms,3\nr,b,ms,3\n";
        assert_eq!(values(unit), [1.0, 2.0, 3.0, 3.0]);
        let same = Columns {
            compare: "kernel".into(),
            within: vec!["kernel".into()],
            value: "value".into(),
        };
        let fault = read_table(numbered.as_bytes(), &same).unwrap_err();
        assert_eq!(fault, TableError::SameColumn("kernel".into()));
    }
}

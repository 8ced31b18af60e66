//! CSV as spreadsheets and pandas export it: a header, `,`, `;` or tabs, quoted cells, a byte order mark, either line end.

use std::collections::HashSet;

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::schema::{ColumnKind, ColumnSchema, Schema};
use crate::{MAX_CELL, MAX_COLUMNS, MAX_FILE, MAX_ROWS};

type Columns = Vec<Vec<String>>;

/// The columns that `schema` names, or all, checked.
pub(crate) fn read(bytes: &[u8], schema: Option<&Schema>) -> Result<(Schema, Columns), String> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("the file has more than {MAX_FILE} bytes"));
    }
    if bytes.starts_with(b"PAR1") || bytes.starts_with(b"ARROW1") {
        return Err("this is a Parquet or Arrow file; export it as CSV".into());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader =
        ReaderBuilder::new().delimiter(separator(bytes)).trim(Trim::Headers).from_reader(bytes);
    let header = reader.headers().map_err(|error| broken(&error))?;
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    if names.len() > MAX_COLUMNS {
        return Err(format!("the header has more than {MAX_COLUMNS} columns"));
    }
    let places = match schema {
        Some(schema) => schema
            .columns
            .iter()
            .map(|column| place(&names, &column.name))
            .collect::<Result<_, _>>()?,
        // A column without a name is an index that an export added.
        None => (0..names.len()).filter(|place| !names[*place].is_empty()).collect::<Vec<_>>(),
    };
    if places.is_empty() {
        return Err("line 1: there is no header with names of columns".into());
    }
    for place_ in &places {
        place(&names, &names[*place_])?;
    }
    let (cells, lines) = rows(reader, &places)?;
    let schema = schema.cloned().unwrap_or_else(|| Schema {
        columns: places
            .iter()
            .zip(&cells)
            .map(|(place, cells)| inferred(&names[*place], cells))
            .collect(),
    });
    let checked =
        schema.columns.iter().zip(&cells).map(|(column, cells)| check(column, cells, &lines));
    let columns = checked.collect::<Result<_, _>>();
    cells.into_iter().flatten().for_each(|mut cell| zeroize::Zeroize::zeroize(&mut cell));
    Ok((schema, columns?))
}

/// The separator that the header has most of.
fn separator(bytes: &[u8]) -> u8 {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| header.iter().filter(|byte| *byte == separator).count();
    let most = [b',', b';', b'\t'].into_iter().rev().max_by_key(count);
    most.unwrap_or(b',')
}

/// Where the column of this name is.
fn place(names: &[String], name: &str) -> Result<usize, String> {
    let mut found = names.iter().enumerate().filter(|(_, one)| *one == name);
    let missing = || {
        format!(
            "line 1: there is no column `{name}`; the header has: {}",
            names[..names.len().min(20)].join(", ")
        )
    };
    let (place, _) = found.next().ok_or_else(missing)?;
    match found.next() {
        None => Ok(place),
        Some(_) => Err(format!("line 1: two columns are called `{name}`; rename one")),
    }
}

/// The cells of the columns at `places`, and the line of each row.
fn rows(mut reader: csv::Reader<&[u8]>, places: &[usize]) -> Result<(Columns, Vec<u64>), String> {
    let mut columns: Columns = vec![Vec::new(); places.len()];
    let mut lines = Vec::new();
    let mut row = ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(|error| broken(&error))? {
        let line = row.position().map_or(0, csv::Position::line);
        if lines.len() == MAX_ROWS {
            return Err(format!("line {line}: the file has more than {MAX_ROWS} rows"));
        }
        for (column, place) in columns.iter_mut().zip(places) {
            let cell = row.get(*place).unwrap_or_default();
            if cell.len() > MAX_CELL {
                return Err(format!(
                    "line {line}, column {}: the cell has more than {MAX_CELL} bytes",
                    place + 1
                ));
            }
            let text = std::str::from_utf8(cell);
            let text = text
                .map_err(|_| format!("line {line}, column {}: the cell is not UTF-8", place + 1))?;
            column.push(text.trim().to_owned());
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return Err("there is a header and no row".into());
    }
    Ok((columns, lines))
}

/// What is wrong with the form of a file; the message of the library may show cells.
fn broken(error: &csv::Error) -> String {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("line {line}: the row has {len} cells, the header {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => {
            format!("line {line}: the text is not UTF-8; export it as UTF-8")
        }
        _ => format!("line {line}: this is no CSV"),
    }
}

/// The narrowest kind that holds all cells.
fn inferred(name: &str, cells: &[String]) -> ColumnSchema {
    let kinds = [ColumnKind::Integer, ColumnKind::Bool, ColumnKind::Number];
    let holds = |kind: &ColumnKind| {
        let column = ColumnSchema::of(name, *kind);
        cells.iter().all(|cell| column.word(cell).is_ok())
    };
    ColumnSchema::of(name, kinds.into_iter().find(holds).unwrap_or(ColumnKind::Text))
}

fn check(column: &ColumnSchema, cells: &[String], lines: &[u64]) -> Result<Vec<String>, String> {
    let at = |line: &u64, what: String| format!("line {line}, column `{}`: {what}", column.name);
    let word = |(cell, line): (&String, &u64)| column.word(cell).map_err(|what| at(line, what));
    let words = cells.iter().zip(lines).map(word).collect::<Result<Vec<_>, _>>()?;
    if column.unique {
        let mut seen = HashSet::new();
        if let Some((_, line)) =
            words.iter().zip(lines).find(|(word, _)| !seen.insert(word.as_str()))
        {
            return Err(at(line, "an earlier row has the same value".into()));
        }
    }
    Ok(words)
}

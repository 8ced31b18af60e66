//! CSV as spreadsheets and pandas export it: a header, `,`, `;` or tabs, quoted cells, a byte order mark, either line end.

use csv::{ByteRecord, ReaderBuilder, Trim};
use zeroize::Zeroizing;

use crate::table::{Cell, Cells, Field, Format, Type, too_long};
use crate::{MAX_CELL, MAX_ROWS};

/// A file whose header was read.
pub(crate) struct Csv<'b> {
    bytes: &'b [u8],
    fields: Vec<Field>,
}

impl Csv<'_> {
    pub(crate) fn open(bytes: &[u8]) -> Result<Csv<'_>, String> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = reader(bytes);
        let header = reader.headers().map_err(|error| broken(&error))?;
        let field = |name: &str| Field { name: name.to_owned(), holds: Type::Unsaid };
        Ok(Csv { bytes, fields: header.iter().map(field).collect() })
    }
}

impl Format for Csv<'_> {
    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn heading(&self) -> &'static str {
        "line 1: "
    }

    fn cells(&self, places: &[usize]) -> Result<Cells, String> {
        let mut reader = reader(self.bytes);
        let mut columns: Vec<Vec<Cell>> = places.iter().map(|_| Vec::new()).collect();
        let mut lines = Vec::new();
        let mut row = ByteRecord::new();
        while reader.read_byte_record(&mut row).map_err(|error| broken(&error))? {
            let line = row.position().map_or(0, csv::Position::line);
            if lines.len() == MAX_ROWS {
                return Err(format!("line {line}: the file has more than {MAX_ROWS} rows"));
            }
            for (column, place) in columns.iter_mut().zip(places) {
                let cell = cell(row.get(*place).unwrap_or_default());
                let at = |what| format!("line {line}, column {}: {what}", place + 1);
                column.push(Some(cell.map_err(at)?));
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Err("there is a header and no row".into());
        }
        Ok(Cells { columns, lines: Some(lines) })
    }
}

fn reader(bytes: &[u8]) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().delimiter(separator(bytes)).trim(Trim::Headers).from_reader(bytes)
}

fn cell(bytes: &[u8]) -> Result<Zeroizing<String>, String> {
    if bytes.len() > MAX_CELL {
        return Err(too_long());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "the cell is not UTF-8")?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// The separator that the header has most of.
fn separator(bytes: &[u8]) -> u8 {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| header.iter().filter(|byte| *byte == separator).count();
    let most = [b',', b';', b'\t'].into_iter().rev().max_by_key(count);
    most.unwrap_or(b',')
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

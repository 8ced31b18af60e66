//! Tables of numbers in CSV files, as spreadsheets and pandas write them.
//!
//! UTF-8 with or without a byte-order mark, commas between cells, which may stand in quotes, lines that
//! end in LF or CRLF, numbers as [`Kind::parse_word`] takes them. A first line without any number names
//! the columns, which may then stand in any order. What is wrong is told with its line and its column,
//! never with the text of a cell, which may be a secret.

use std::fmt;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::shape::Kind;
use crate::values::is_number;

/// A problem with a CSV file, and its place. It reads `LINE: what`, or
/// ``LINE: column 2 (`name`): what``, to stand after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CsvError {
    /// The line, counted from 1, the header included.
    pub line: usize,
    /// The column, counted from 1, and what stands in it; `None` where the whole line is meant.
    pub column: Option<(usize, String)>,
    /// The problem, and what is taken.
    pub what: String,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.line)?;
        match &self.column {
            None => {}
            Some((place, name)) if name.is_empty() => write!(f, "column {place}: ")?,
            Some((place, name)) => write!(f, "column {place} (`{name}`): ")?,
        }
        write!(f, "{}", self.what)
    }
}

impl CsvError {
    /// An error that is about a whole line.
    #[must_use]
    pub fn at_line(line: usize, what: String) -> CsvError {
        CsvError { line, column: None, what }
    }
}

/// A column that a reader wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// How its cells read.
    pub kind: Kind,
    /// Bits of a cell.
    pub width: u32,
}

struct Row {
    line: usize,
    cells: StringRecord,
}

/// A CSV file whose lines have the same number of cells. Its cells may be secrets: there is no `Debug`.
pub struct CsvFile {
    header: Option<Row>,
    rows: Vec<Row>,
}

impl CsvFile {
    /// Takes a file apart.
    ///
    /// # Errors
    /// Refuses what is not UTF-8, an empty line before the last one, lines of different lengths,
    /// and cells that are separated by something else than commas.
    pub fn read(text: &[u8]) -> Result<CsvFile, CsvError> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(text);
        let mut rows: Vec<Row> = Vec::new();
        let (mut line, mut counted) = (1, 0);
        loop {
            // Where the next line with anything on it begins.
            let rest = text.get(reader.position().byte() as usize..).unwrap_or_default();
            let ends = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let start = text.len() - rest.len() + ends;
            line += line_ends(&text[counted..start]);
            counted = start;
            let mut cells = StringRecord::new();
            match reader.read_record(&mut cells) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    let what = "not UTF-8 text; save the file as CSV in UTF-8".to_owned();
                    return Err(CsvError::at_line(line, what));
                }
            }
            check(&cells, rows.first(), line, &text[..start])?;
            rows.push(Row { line, cells });
        }
        let named = rows.first().is_some_and(|row| is_header(&row.cells));
        let header = named.then(|| rows.remove(0));
        Ok(CsvFile { header, rows })
    }

    /// Names of the columns, if the first line has any.
    #[must_use]
    pub fn names(&self) -> Option<Vec<&str>> {
        Some(self.header.as_ref()?.cells.iter().collect())
    }

    /// The line of each row, counted from 1; the header is no row.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = usize> {
        self.rows.iter().map(|row| row.line)
    }

    /// The bits of the cells of each wanted column, row by row, least significant first. Columns are found
    /// by name if the file has a header, else in order.
    ///
    /// # Errors
    /// A column that is missing, twice or not wanted; a cell that is no number of its kind or out of range.
    pub fn columns(&self, wanted: &[Column]) -> Result<Vec<Vec<bool>>, CsvError> {
        let places = self.places(wanted)?;
        let mut columns = vec![Vec::new(); wanted.len()];
        for Row { line, cells } in &self.rows {
            for ((Column { name, kind, width }, place), bits) in
                wanted.iter().zip(&places).zip(&mut columns)
            {
                let cell = cells.get(*place).unwrap_or_default();
                bits.extend(kind.parse_word(*width, cell).map_err(|what| {
                    let comma = cell.contains(',');
                    let remedy =
                        if comma { "; write a point for decimals, no other sign" } else { "" };
                    let (column, what) = (Some((place + 1, name.clone())), what + remedy);
                    CsvError { line: *line, column, what }
                })?);
            }
        }
        Ok(columns)
    }

    /// Where each wanted column stands.
    fn places(&self, wanted: &[Column]) -> Result<Vec<usize>, CsvError> {
        let all = wanted.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(Row { line, cells }) = &self.header else {
            let Some(first) = self.rows.first() else {
                return Err(CsvError::at_line(1, format!("the file is empty; it takes {all}")));
            };
            if first.cells.len() != wanted.len() {
                let (found, needed) = (first.cells.len(), wanted.len());
                let what = format!("{found} columns where {needed} are needed: {all}");
                return Err(CsvError::at_line(first.line, what));
            }
            return Ok((0..wanted.len()).collect());
        };
        let refuse = |what: String| Err(CsvError::at_line(*line, what));
        let mut places = Vec::new();
        for Column { name, .. } in wanted {
            let mut found = (0..cells.len()).filter(|place| cells.get(*place) == Some(name));
            match (found.next(), found.next()) {
                (Some(place), None) => places.push(place),
                (None, _) => return refuse(format!("no column `{name}`; the program takes {all}")),
                (Some(one), Some(two)) => {
                    let (one, two) = (one + 1, two + 1);
                    return refuse(format!("columns {one} and {two} are both `{name}`; drop one"));
                }
            }
        }
        match (0..cells.len()).find(|place| !places.contains(place)) {
            None => Ok(places),
            Some(place) if cells.get(place) == Some("") => refuse(format!(
                "column {} has no name: leave it out, as pandas does with to_csv(.., index=False)",
                place + 1
            )),
            Some(place) => {
                refuse(format!("column {} is not one of {all}; leave it out", place + 1))
            }
        }
    }
}

/// Whether a line can stand where it does; `before` is the text up to it.
fn check(
    cells: &StringRecord,
    first: Option<&Row>,
    line: usize,
    before: &[u8],
) -> Result<(), CsvError> {
    let refuse = |what: String| Err(CsvError::at_line(line, what));
    let ends = before.iter().rev().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    if line_ends(&before[before.len() - ends..]) > usize::from(first.is_some()) {
        let what = "nothing on the line before; remove it, or give what is missing".to_owned();
        return refuse(what);
    }
    for (sign, name) in [(';', "semicolons"), ('\t', "tabs")] {
        if cells.iter().any(|cell| cell.contains(sign)) {
            return refuse(format!(
                "{name} between cells: save with commas, and points in decimals"
            ));
        }
    }
    match first {
        Some(first) if first.cells.len() != cells.len() => {
            let (found, needed) = (cells.len(), first.cells.len());
            refuse(format!(
                "{found} cells, line {} has {needed}; complete the line, and write a point for decimals",
                first.line
            ))
        }
        _ => Ok(()),
    }
}

fn line_ends(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// A first line names columns if nothing on it is a value.
fn is_header(cells: &StringRecord) -> bool {
    let value = |cell: &str| {
        ["true", "false", "nan"].iter().any(|word| cell.eq_ignore_ascii_case(word))
            || is_number(&cell.replace(',', "."))
    };
    cells.iter().any(|cell| !cell.is_empty()) && !cells.iter().any(value)
}

#[cfg(test)]
mod tests {
    use cenote_circuit::value_of;
    use proptest::prelude::*;

    use super::*;

    fn columns() -> Vec<Column> {
        let column = |name: &str, kind, width| Column { name: name.to_owned(), kind, width };
        vec![
            column("id", Kind::UInt, 24),
            column("amount", Kind::Fixed { fraction: 8 }, 24),
            column("paid", Kind::Bool, 1),
        ]
    }

    /// Rows of numbers, or what is wrong.
    fn rows(text: &[u8]) -> Result<Vec<Vec<u128>>, String> {
        let wanted = columns();
        let file = CsvFile::read(text).map_err(|error| error.to_string())?;
        let found = file.columns(&wanted).map_err(|error| error.to_string())?;
        let words = |(column, bits): (&Column, &Vec<bool>)| {
            bits.chunks(column.width as usize).map(value_of).collect::<Vec<_>>()
        };
        let found: Vec<Vec<u128>> = wanted.iter().zip(&found).map(words).collect();
        Ok((0..file.lines().len()).map(|row| found.iter().map(|c| c[row]).collect()).collect())
    }

    #[test]
    fn what_spreadsheets_and_pandas_write_is_read() {
        let good = Ok(vec![vec![7, 384, 1], vec![5_000_000, 0, 0]]);
        for text in [
            "id,amount,paid\n7,1.5,true\n5000000,0,false\n",
            "id,amount,paid\r\n7,1.5,TRUE\r\n5000000.0,3e-05,FALSE\r\n",
            "\u{feff}id,amount,paid\n7,1.5,True\n5e6,0.0,False",
            "\u{feff}\"id\",\"amount\",\"paid\"\r\n\"7\",\"1.5\",\"1\"\r\n\"5E+06\",\"0\",\"0\"\r\n\r\n",
            "paid,id,amount\n1.0,7,1.50\n0.0,5000000,-0.0\n\n\n",
            " id , amount,paid\n 7, 1.5 ,true\n0x4c4b40,0,false\n",
            "7,1.5,true\n5000000,0,false\n",
        ] {
            assert_eq!(rows(text.as_bytes()), good, "{text:?}");
        }
        assert_eq!(rows(b"id,amount,paid\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_line_and_column() {
        let after = |line: &str| format!("id,amount,paid\r\n7,1.5,true\r\n{line}\r\n8,1,1\r\n");
        for (text, said) in [
            (
                after("8,s3cret,true"),
                "3: column 2 (`amount`): no fixed.8 b24: -32768 to 32767.99609375",
            ),
            (after("8,99999,true"), "3: column 2 (`amount`): out of range: fixed.8"),
            (after("16777216,1,1"), "3: column 1 (`id`): out of range: uint b24: 0 to 16777215"),
            (after("-1,1,1"), "3: column 1 (`id`): out of range"),
            (after("1.5,1,1"), "3: column 1 (`id`): no uint b24"),
            (after("1,1,2"), "3: column 3 (`paid`): no truth value"),
            (after("1,,1"), "3: column 2 (`amount`): a missing value"),
            (after("1,NaN,1"), "3: column 2 (`amount`): a missing value"),
            (
                after("1,\"1,5\",1"),
                "3: column 2 (`amount`): no fixed.8 b24: -32768 to 32767.99609375; write a point",
            ),
            (after("1,1,5,1"), "3: 4 cells, line 1 has 3; complete the line, and write a point"),
            (after("1"), "3: 1 cells, line 1 has 3"),
            (after("1,1,1,"), "3: 4 cells, line 1 has 3"),
            (after(""), "4: nothing on the line before"),
            (after("\r\n\r\n"), "6: nothing on the line before"),
            ("\n7,1,1\n".to_owned(), "2: nothing on the line before"),
            (
                "id;amount;paid\n7;1,5;1\n".to_owned(),
                "1: semicolons between cells: save with commas",
            ),
            ("id\tamount\tpaid\n".to_owned(), "1: tabs between cells"),
            (
                "id,amount\n7,1\n".to_owned(),
                "1: no column `paid`; the program takes id, amount, paid",
            ),
            ("id,amount,paid,id\n7,1,1,7\n".to_owned(), "1: columns 1 and 4 are both `id`"),
            (",id,amount,paid\n0,7,1,1\n".to_owned(), "1: column 1 has no name"),
            (
                "id,amount,paid,s3cret\n7,1,1,1\n".to_owned(),
                "1: column 4 is not one of id, amount, paid",
            ),
            ("7,1\n".to_owned(), "1: 2 columns where 3 are needed: id, amount, paid"),
            (String::new(), "1: the file is empty; it takes id, amount, paid"),
        ] {
            let error = rows(text.as_bytes()).expect_err(&text);
            assert!(error.starts_with(said), "{text:?}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let latin = [after("1,2,3").as_bytes(), b"1,\xe9,1\r\n"].concat();
        assert!(rows(&latin).is_err_and(|said| said.starts_with("5: not UTF-8")));
        // What spreadsheets call Unicode text.
        assert!(rows(b"\xff\xfei\0d\0").is_err_and(|said| said.starts_with("1: not UTF-8")));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_lines_exist(text in "[a0-2,;\"\r\n.e-]{0,40}") {
            if let Err(error) = CsvFile::read(text.as_bytes()).and_then(|file| file.columns(&columns())) {
                prop_assert!(error.line <= text.matches('\n').count() + 1, "{error}");
            }
        }

        #[test]
        fn lines_are_those_of_an_editor(cells in prop::collection::vec(0u32..3, 1..20), crlf: bool) {
            // A cell in quotes may go over two lines.
            let (mut text, mut lines, mut line) = (String::new(), Vec::new(), 1);
            let end = if crlf { "\r\n" } else { "\n" };
            for cell in cells {
                lines.push(line);
                let written = ["1", "\"1\"", "\"1\n\""][cell as usize];
                text.push_str(written);
                text.push_str(end);
                line += 1 + usize::from(cell == 2);
            }
            let file = CsvFile::read(text.as_bytes()).expect("one cell a line");
            prop_assert_eq!(file.lines().collect::<Vec<_>>(), lines);
        }
    }
}

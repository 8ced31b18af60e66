//! A card issuer's table: what each customer spent in each quarter.

use std::fs;
use std::path::Path;

use cenote_circuit::value_of;
use cenote_engine::Fault;
use cenote_program::{Column, CsvError, CsvFile, Kind};

/// The name of the column of customers.
const CUSTOMER: &str = "customer";
/// Quarters of a table.
pub(crate) const QUARTERS: usize = 6;
/// Bits of a customer number.
pub(crate) const ID_BITS: usize = 16;
/// Bits of a quarter's spend in cents.
pub(crate) const QUARTER_BITS: usize = 20;
/// Bits of a customer's spend in all quarters, in cents.
pub(crate) const SPEND_BITS: usize = 21;
/// Most bytes of a quarter's name: all of them fit a field of the handshake.
const MAX_NAME: usize = 64;
/// Most rows of a table.
const MAX_ROWS: usize = 1 << 14;
/// Most bytes of a file.
const MAX_FILE: u64 = 4 << 20;

/// One customer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// 1 to 65,535.
    pub(crate) customer: u32,
    /// Cents by quarter, each below 2^[`QUARTER_BITS`].
    pub(crate) cents: [u64; QUARTERS],
}

impl Row {
    /// The spend of all quarters, below 2^[`SPEND_BITS`].
    pub(crate) fn total(&self) -> u64 {
        self.cents.iter().sum()
    }
}

/// Rows in strictly ascending order of their customers, at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table {
    quarters: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    /// Reads a CSV file.
    ///
    /// # Errors
    /// `Misuse` naming the file, the line and the remedy.
    pub(crate) fn load(file: &Path) -> Result<Table, Fault> {
        let name = file.display().to_string();
        let failed =
            |error: std::io::Error| Fault::Misuse(format!("{name}: {error}; correct the path"));
        if fs::metadata(file).map_err(failed)?.len() > MAX_FILE {
            return Err(Fault::Misuse(format!(
                "{name}: larger than {} MiB; give one row per customer",
                MAX_FILE >> 20
            )));
        }
        Table::parse(&name, &fs::read(file).map_err(failed)?)
    }

    /// Reads the contents of a CSV file; `name` is for errors.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub(crate) fn parse(name: &str, text: &[u8]) -> Result<Table, Fault> {
        read(text).map_err(|error| Fault::Misuse(format!("{name}:{error}")))
    }

    /// A table of rows in ascending order, for tests.
    #[cfg(test)]
    pub(crate) fn of(rows: Vec<Row>) -> Table {
        assert!(rows.is_sorted_by(|a, b| a.customer < b.customer));
        Table { quarters: (1..=QUARTERS).map(|q| format!("q{q}")).collect(), rows }
    }

    /// The same rows in reverse order, which no file gives: what a cheating owner may bring in.
    #[cfg(test)]
    pub(crate) fn reversed(&self) -> Table {
        let rows = self.rows.iter().rev().copied().collect();
        Table { quarters: self.quarters.clone(), rows }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Names of the quarters.
    pub(crate) fn quarters(&self) -> &[String] {
        &self.quarters
    }

    /// The row of a customer.
    pub(crate) fn find(&self, customer: u32) -> Option<&Row> {
        let at = self.rows.binary_search_by_key(&customer, |row| row.customer).ok()?;
        self.rows.get(at)
    }

    /// Pairs of rows of the customers that both tables have.
    pub(crate) fn shared<'t>(
        &'t self,
        other: &'t Table,
    ) -> impl Iterator<Item = (&'t Row, &'t Row)> {
        self.rows.iter().filter_map(|row| Some((row, other.find(row.customer)?)))
    }
}

fn read(text: &[u8]) -> Result<Table, CsvError> {
    let file = CsvFile::read(text)?;
    let quarters = quarters(&file).map_err(|what| CsvError::at_line(1, what))?;
    let lines: Vec<usize> = file.lines().collect();
    match lines.get(MAX_ROWS) {
        None if lines.is_empty() => {
            let what = "no customer; give at least one row".to_owned();
            return Err(CsvError::at_line(2, what));
        }
        None => {}
        Some(line) => {
            let what = format!("more than {MAX_ROWS} rows; take fewer");
            return Err(CsvError::at_line(*line, what));
        }
    }
    let column = |name: &str, bits: usize| Column {
        name: name.to_owned(),
        kind: Kind::UInt,
        width: bits as u32,
    };
    let spends = quarters.iter().map(|quarter| column(quarter, QUARTER_BITS));
    let columns: Vec<Column> = [column(CUSTOMER, ID_BITS)].into_iter().chain(spends).collect();
    let bits = file.columns(&columns)?;
    let number = |place: usize, row: usize| {
        let width = columns[place].width as usize;
        value_of(&bits[place][row * width..(row + 1) * width]) as u64
    };
    let mut rows: Vec<Row> = Vec::with_capacity(lines.len());
    for (at, line) in lines.into_iter().enumerate() {
        let cents = std::array::from_fn(|quarter| number(quarter + 1, at));
        let row = Row { customer: number(0, at) as u32, cents };
        check(&row, rows.last()).map_err(|what| CsvError::at_line(line, what.to_owned()))?;
        rows.push(row);
    }
    Ok(Table { quarters, rows })
}

/// Names of the quarters, in the order of the columns.
fn quarters(file: &CsvFile) -> Result<Vec<String>, String> {
    let mut names = file.names().unwrap_or_default();
    let customers = names.iter().filter(|name| **name == CUSTOMER).count();
    if customers != 1 || names.len() != QUARTERS + 1 {
        return Err(format!("the first line is `{CUSTOMER}` and the names of {QUARTERS} quarters"));
    }
    names.retain(|name| *name != CUSTOMER);
    match names.iter().any(|name| name.is_empty() || name.len() > MAX_NAME) {
        false => Ok(names.into_iter().map(str::to_owned).collect()),
        true => Err(format!("name each quarter in 1 to {MAX_NAME} bytes")),
    }
}

/// Checks the rules on one row, beside its numbers' ranges.
fn check(row: &Row, last: Option<&Row>) -> Result<(), &'static str> {
    if row.customer == 0 {
        return Err("customer 0; number customers from 1");
    }
    if last.is_some_and(|last| last.customer >= row.customer) {
        return Err("the customer is not above the one before; sort by customer, one row each");
    }
    if row.total() >> SPEND_BITS != 0 {
        return Err("a spend of 2097152 cents or more in all quarters; split the customer");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "customer,a,b,c,d,e,f\n";

    fn error(body: &str) -> String {
        Table::parse("x.csv", body.as_bytes()).expect_err("malformed").to_string()
    }

    #[test]
    fn shipped_tables_are_sound() {
        for (text, name) in [(super::super::ISSUER_A, "a"), (super::super::ISSUER_B, "b")] {
            let table = Table::parse(name, text.as_bytes()).expect("shipped data");
            assert_eq!(table.rows().len(), 4096);
            assert!(table.rows().iter().all(|row| row.total() > 0));
        }
    }

    #[test]
    fn a_table_is_read_back() {
        let text = format!("{HEADER}3,1,2,3,4,5,6\n65535,1048575,0,0,0,0,1\n");
        let table = Table::parse("x", text.as_bytes()).expect("good");
        let moved = "a,customer,b,c,d,e,f\r\n1.0,3,2,3,4,5,6\r\n1048575,65535,0,0,0,0,1\r\n";
        assert_eq!(Table::parse("x", moved.as_bytes()).expect("columns have names"), table);
        assert_eq!(table.quarters()[5], "f");
        assert_eq!(table.rows()[0], Row { customer: 3, cents: [1, 2, 3, 4, 5, 6] });
        assert_eq!(table.rows()[1].total(), 1_048_576);
        assert_eq!(table.find(3), Some(&table.rows()[0]));
        assert_eq!(table.find(4), None);
    }

    #[test]
    fn errors_name_file_line_and_remedy() {
        let after = |rows: &str| error(&format!("{HEADER}1,0,0,0,0,0,1\n{rows}\n"));
        for (text, line, remedy) in [
            (error(""), "x.csv:1: ", "the first line is"),
            (error("a,b\n"), "x.csv:1: ", "the first line is"),
            (error("1,0,0,0,0,0,1\n"), "x.csv:1: ", "the first line is"),
            (error(HEADER), "x.csv:2: ", "at least one row"),
            (after("2,1"), "x.csv:3: ", "complete the line"),
            (after("2,0,0,s3cret,0,0,0"), "x.csv:3: column 4 (`c`)", "no uint b20: 0 to 1048575"),
            (after("2,0,-1,0,0,0,0"), "x.csv:3: column 3", "out of range"),
            (after("2,,0,0,0,0,0"), "x.csv:3: column 2", "a missing value"),
            (after("2,0,1048576,0,0,0,0"), "x.csv:3: column 3", "1048575"),
            (after("2,1048575,1048575,2,0,0,0"), "x.csv:3: ", "split"),
            (after("65536,0,0,0,0,0,0"), "x.csv:3: column 1", "65535"),
            (after("1,0,0,0,0,0,0"), "x.csv:3: ", "sort by customer"),
            (error(&format!("{HEADER}0,0,0,0,0,0,0\n")), "x.csv:2: ", "from 1"),
        ] {
            assert!(text.contains(line), "{text}");
            assert!(text.contains(remedy), "{text}");
            assert!(!text.contains("s3cret"), "a cell is shown: {text}");
        }
        let binary = [HEADER.as_bytes(), b"1,\xff,0,0,0,0,0\n"].concat();
        let text = Table::parse("x.csv", &binary).expect_err("binary").to_string();
        assert!(text.contains("x.csv:2: ") && text.contains("UTF-8"), "{text}");
        let missing = Table::load(Path::new("no/such.csv")).expect_err("missing").to_string();
        assert!(missing.contains("no/such.csv"), "{missing}");
    }
}

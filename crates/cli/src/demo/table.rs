//! A card issuer's table: what each customer spent in each quarter.

use std::fs;
use std::path::Path;

use cenote_engine::Fault;

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
        let bad = |line: u64, what: String| Fault::Misuse(format!("{name}:{line}: {what}"));
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        let mut quarters = None;
        let mut rows: Vec<Row> = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                bad(line, "not UTF-8 text; save the file as UTF-8".into())
            })?;
            let line = record.position().map_or(1, csv::Position::line);
            if quarters.is_none() {
                quarters = Some(header(&record).map_err(|what| bad(line, what))?);
                continue;
            }
            let row = row(&record).map_err(|what| bad(line, what))?;
            if let Some(last) = rows.last().filter(|last| last.customer >= row.customer) {
                return Err(bad(
                    line,
                    format!(
                        "customer {} follows {}; sort by customer, one row each",
                        row.customer, last.customer
                    ),
                ));
            }
            if rows.len() == MAX_ROWS {
                return Err(bad(line, format!("more than {MAX_ROWS} rows; take fewer")));
            }
            rows.push(row);
        }
        let quarters = quarters.ok_or_else(|| bad(1, header_remedy("the file is empty")))?;
        if rows.is_empty() {
            return Err(bad(2, "no customer; give at least one row".into()));
        }
        Ok(Table { quarters, rows })
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

fn header_remedy(what: &str) -> String {
    format!("{what}; the first line is `customer` and the names of {QUARTERS} quarters")
}

fn header(record: &csv::StringRecord) -> Result<Vec<String>, String> {
    if record.get(0).map(str::trim) != Some("customer") || record.len() != QUARTERS + 1 {
        return Err(header_remedy("not a header"));
    }
    let names: Vec<String> = record.iter().skip(1).map(|name| name.trim().to_owned()).collect();
    match names.iter().position(|name| name.is_empty() || name.len() > MAX_NAME) {
        None => Ok(names),
        Some(at) => Err(format!("column {}: name the quarter in 1 to {MAX_NAME} bytes", at + 2)),
    }
}

fn row(record: &csv::StringRecord) -> Result<Row, String> {
    let found = record.len();
    if found != QUARTERS + 1 {
        return Err(format!("{found} columns instead of {}; complete the line", QUARTERS + 1));
    }
    let number = |column: usize, what: &str, max: u64| {
        let text = record.get(column).unwrap_or_default().trim();
        let value: Option<u64> =
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        value.filter(|value| *value <= max).ok_or_else(|| {
            format!("column {}: {text:?} is not {what}; use a whole number", column + 1)
        })
    };
    let customer = number(0, "a customer from 1 to 65535", (1 << ID_BITS) - 1)?;
    if customer == 0 {
        return Err("column 1: customer 0; number customers from 1".into());
    }
    let most = (1 << QUARTER_BITS) - 1;
    let mut cents = [0; QUARTERS];
    for (quarter, cents) in cents.iter_mut().enumerate() {
        *cents = number(quarter + 1, &format!("a spend in cents from 0 to {most}"), most)?;
    }
    let row = Row { customer: customer as u32, cents };
    if row.total() >> SPEND_BITS != 0 {
        let most = (1u64 << SPEND_BITS) - 1;
        return Err(format!(
            "spend of {} cents, more than {most}; split the customer",
            row.total()
        ));
    }
    Ok(row)
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
            (error(HEADER), "x.csv:2: ", "at least one row"),
            (after("2,1"), "x.csv:3: ", "complete the line"),
            (after("2,0,0,x,0,0,0"), "x.csv:3: column 4", "whole number"),
            (after("2,0,-1,0,0,0,0"), "x.csv:3: column 3", "whole number"),
            (after("2,0,+1,0,0,0,0"), "x.csv:3: column 3", "whole number"),
            (after("2,,0,0,0,0,0"), "x.csv:3: column 2", "whole number"),
            (after("2,0,1048576,0,0,0,0"), "x.csv:3: column 3", "1048575"),
            (after("2,1048575,1048575,2,0,0,0"), "x.csv:3: ", "split"),
            (after("65536,0,0,0,0,0,0"), "x.csv:3: column 1", "65535"),
            (after("1,0,0,0,0,0,0"), "x.csv:3: ", "sort by customer"),
            (error(&format!("{HEADER}0,0,0,0,0,0,0\n")), "x.csv:2: ", "from 1"),
        ] {
            assert!(text.contains(line), "{text}");
            assert!(text.contains(remedy), "{text}");
        }
        let binary = [HEADER.as_bytes(), b"1,\xff,0,0,0,0,0\n"].concat();
        let text = Table::parse("x.csv", &binary).expect_err("binary").to_string();
        assert!(text.contains("x.csv:2: ") && text.contains("UTF-8"), "{text}");
        let missing = Table::load(Path::new("no/such.csv")).expect_err("missing").to_string();
        assert!(missing.contains("no/such.csv"), "{missing}");
    }
}

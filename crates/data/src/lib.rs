//! Data sets of an owner: CSV, Parquet and Arrow files, checked against a schema, read as a table or record by record.
//!
//! A cell is a secret of its owner: no error, log line or `Debug` has one. The digest is of the very bytes that were read.
//! docs/formats/data.md says what is read.

mod arrow_file;
mod csv_table;
mod format;
mod parquet_file;
mod parquet_pages;
mod parquet_schema;
mod schema;
mod table;
mod typed;

use std::fmt;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

pub use schema::{ColumnKind, ColumnSchema, Nulls, Schema};

/// Most bytes of a file, as it is and unpacked.
pub const MAX_FILE: u64 = 1 << 30;
/// Most rows.
pub const MAX_ROWS: usize = 1 << 24;
/// Most columns.
pub const MAX_COLUMNS: usize = 4096;
/// What a cell of a Parquet or Arrow file counts beside its bytes, few of which in the file can stand for many cells: about what it takes in memory.
pub const CELL_COST: u64 = 48;
/// Most cells of a Parquet or Arrow file: as many as are within [`MAX_FILE`] without a byte.
pub const MAX_CELLS: usize = (MAX_FILE / CELL_COST) as usize;
/// Most bytes of a cell.
pub const MAX_CELL: usize = 4096;

/// Why a file cannot be used, with its place and a remedy; never with the content of a cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DataError {
    what: String,
}

impl DataError {
    pub(crate) fn new(what: impl Into<String>) -> DataError {
        DataError { what: what.into() }
    }
}

/// A file that was read and checked, in memory; wiped when it is dropped.
pub struct DataSet {
    name: String,
    schema: Schema,
    /// The cells of each column of the schema, in the one way in which they are written.
    columns: Vec<Vec<Zeroizing<String>>>,
    digest: [u8; 32],
}

impl fmt::Debug for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataSet")
            .field("name", &self.name)
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

impl DataSet {
    /// Reads and checks a whole file. Without a schema the columns of a CSV file are each the narrowest of integer, bool, number and text that holds
    /// all its cells, those of the other formats what their types say; columns that a schema does not name are not kept.
    ///
    /// # Errors
    /// What is wrong, with file, line or row, and column.
    pub fn open(path: &Path, schema: Option<&Schema>) -> Result<DataSet, DataError> {
        Content::of(path)?.read(path, schema)
    }

    /// As [`DataSet::open`], of a file whose bytes have this digest; none if they have another one: nothing of them is looked at then.
    ///
    /// # Errors
    /// As [`DataSet::open`].
    pub fn open_expected(
        path: &Path,
        schema: Option<&Schema>,
        digest: &[u8; 32],
    ) -> Result<Option<DataSet>, DataError> {
        let content = Content::of(path)?;
        if content.digest != *digest {
            return Ok(None);
        }
        content.read(path, schema).map(Some)
    }

    /// The file, as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the columns hold.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Rows, the header not among them.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// BLAKE3 of the file's bytes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The whole table as an object of columns, each a list of words; `columns` has the name that each is to have and the column.
    ///
    /// # Errors
    /// A column that is not there.
    pub fn table(&self, columns: &[(&str, &str)]) -> Result<Value, DataError> {
        let column = |(field, name): &(&str, &str)| {
            let cells = self.columns[self.place(name)?].iter();
            Ok(((*field).to_owned(), cells.map(|cell| Value::String(cell.to_string())).collect()))
        };
        columns.iter().map(column).collect::<Result<Map<_, _>, DataError>>().map(Value::Object)
    }

    /// The record whose `key` column is `value`, as an object; `columns` as for [`DataSet::table`].
    ///
    /// # Errors
    /// A column that is not there; no such record, or several.
    pub fn record(
        &self,
        key: &str,
        value: &str,
        columns: &[(&str, &str)],
    ) -> Result<Value, DataError> {
        let place = self.place(key)?;
        let wanted = self.schema.columns[place].word(value);
        let same = |cell: &str| wanted.as_ref().is_ok_and(|wanted| wanted == cell);
        let mut rows = self.columns[place].iter().enumerate().filter(|(_, cell)| same(cell));
        let none = || self.error(format!("no record has this value in `{key}`"));
        let (row, _) = rows.next().ok_or_else(none)?;
        if rows.next().is_some() {
            return Err(self.error(format!(
                "several records have this value in `{key}`; choose a column without repeats"
            )));
        }
        self.row(row, columns)
    }

    /// The record in a row, the first of which is 0, as an object; `columns` as for [`DataSet::table`].
    ///
    /// # Errors
    /// A column or a row that is not there.
    pub fn row(&self, row: usize, columns: &[(&str, &str)]) -> Result<Value, DataError> {
        let cell = |(field, name): &(&str, &str)| {
            let cell = self.columns[self.place(name)?].get(row);
            let cell = cell.ok_or_else(|| self.error(format!("there is no row {}", row + 1)))?;
            Ok(((*field).to_owned(), Value::String(cell.to_string())))
        };
        columns.iter().map(cell).collect::<Result<Map<_, _>, DataError>>().map(Value::Object)
    }

    fn place(&self, name: &str) -> Result<usize, DataError> {
        let columns = &self.schema.columns;
        columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let names: Vec<&str> =
                columns.iter().map(|column| column.name.as_str()).take(20).collect();
            self.error(format!("there is no column `{name}`; there are: {}", names.join(", ")))
        })
    }

    fn error(&self, what: String) -> DataError {
        DataError::new(format!("{}: {what}", self.name))
    }
}

/// What is in a file, before any of it is looked at.
struct Content {
    bytes: Bytes,
    digest: [u8; 32],
}

impl Content {
    fn of(path: &Path) -> Result<Content, DataError> {
        let bytes = content(path).map_err(|what| placed(path, &what))?;
        let digest = *blake3::hash(&bytes).as_bytes();
        Ok(Content { bytes, digest })
    }

    fn read(self, path: &Path, schema: Option<&Schema>) -> Result<DataSet, DataError> {
        let read = format::read(path, &self.bytes, schema);
        let (schema, columns) = read.map_err(|what| placed(path, &what))?;
        Ok(DataSet { name: path.display().to_string(), schema, columns, digest: self.digest })
    }
}

fn placed(path: &Path, what: &str) -> DataError {
    DataError::new(format!("{}: {what}", path.display()))
}

/// The bytes of a file, wiped when the last that reads them is gone.
fn content(path: &Path) -> Result<Bytes, String> {
    let mut file = std::fs::File::open(path).map_err(|error| error.to_string())?.take(MAX_FILE + 1);
    // One allocation, for what grows leaves copies behind.
    let size = file.get_ref().metadata().map_or(0, |metadata| metadata.len()).min(MAX_FILE);
    let mut bytes = Zeroizing::new(Vec::with_capacity(size as usize + 1));
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("the file has more than {MAX_FILE} bytes"));
    }
    Ok(Bytes::from_owner(bytes))
}

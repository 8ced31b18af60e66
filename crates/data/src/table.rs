//! The seam between formats and data sets: a file has columns with names and types, and cells that are texts or missing. What a schema asks of
//! them is checked here, the same way for every format.

use std::collections::HashSet;

use zeroize::Zeroizing;

use crate::schema::{ColumnKind, ColumnSchema, Nulls, Schema};
use crate::{CELL_COST, MAX_CELL, MAX_CELLS, MAX_COLUMNS, MAX_FILE, MAX_ROWS};

/// A cell as text; none where the file says that there is no value.
pub(crate) type Cell = Option<Zeroizing<String>>;

/// Columns of checked cells.
pub(crate) type Columns = Vec<Vec<Zeroizing<String>>>;

/// What a file says that a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Nothing: its cells say it.
    Unsaid,
    Bool,
    Integer,
    /// A decimal number with so many digits after the point.
    Decimal(u32),
    Float,
    Date,
    Text,
    /// Something that no kind of a schema says.
    Other(String),
}

impl Type {
    /// The kind of a column for which there is no schema.
    fn kind(&self) -> Option<ColumnKind> {
        match self {
            Type::Bool => Some(ColumnKind::Bool),
            Type::Integer => Some(ColumnKind::Integer),
            Type::Decimal(_) | Type::Float => Some(ColumnKind::Number),
            Type::Date | Type::Text => Some(ColumnKind::Text),
            Type::Unsaid | Type::Other(_) => None,
        }
    }

    /// Why a column of this type cannot be of that kind.
    fn misfit(&self, kind: ColumnKind) -> Option<String> {
        let (is, remedy) = match (self, kind) {
            (Type::Other(what), _) => {
                let remedy = "which no kind of a schema says; write it as integers, decimals, booleans or text, or give a schema without this column";
                return Some(format!("it holds {what}, {remedy}"));
            }
            (Type::Decimal(0), ColumnKind::Integer)
            | (Type::Integer | Type::Decimal(_) | Type::Float, ColumnKind::Number)
            | (Type::Integer, ColumnKind::Integer)
            | (Type::Bool, ColumnKind::Bool)
            | (Type::Unsaid | Type::Text, _)
            | (_, ColumnKind::Text) => return None,
            (Type::Float, _) => ("floating-point numbers", "cast it before writing the file"),
            (Type::Decimal(_), _) => ("decimals with a fraction", "cast it, or say `number`"),
            (Type::Integer, _) => ("integers", "cast it, or say `integer`"),
            (Type::Bool, _) => ("booleans", "cast it, or say `bool`"),
            (Type::Date, _) => ("dates", "say `text`"),
        };
        Some(format!("it holds {is}, the schema wants `{}`: {remedy}", kind.name()))
    }
}

/// A column of a file.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) holds: Type,
}

/// What was read of a file.
pub(crate) struct Cells {
    pub(crate) columns: Vec<Vec<Cell>>,
    /// The line of each row, in files that have lines.
    pub(crate) lines: Option<Vec<u64>>,
}

/// A file whose columns are known and whose cells are not read yet.
pub(crate) trait Format {
    fn fields(&self) -> &[Field];

    /// What stands before a word about the header.
    fn heading(&self) -> &'static str {
        ""
    }

    /// The cells of the columns at `places`.
    fn cells(&self, places: &[usize]) -> Result<Cells, String>;
}

/// The columns that `schema` names, or all, checked.
pub(crate) fn read(
    file: &dyn Format,
    schema: Option<&Schema>,
) -> Result<(Schema, Columns), String> {
    let fields = file.fields();
    let at_heading = |what: String| format!("{}{what}", file.heading());
    if fields.len() > MAX_COLUMNS {
        return Err(at_heading(format!("the file has more than {MAX_COLUMNS} columns")));
    }
    let places = places(fields, schema).map_err(at_heading)?;
    for (i, place) in places.iter().enumerate() {
        let field = &fields[*place];
        let kind = schema.map(|schema| schema.columns[i].kind).or(field.holds.kind());
        if let Some(what) = field.holds.misfit(kind.unwrap_or(ColumnKind::Text)) {
            return Err(at_heading(format!("column `{}`: {what}", field.name)));
        }
    }
    let Cells { columns, lines } = file.cells(&places)?;
    let schema = schema.cloned().unwrap_or_else(|| {
        let column = |(place, cells): (&usize, &Vec<Cell>)| {
            let field = &fields[*place];
            let kind = field.holds.kind().unwrap_or_else(|| inferred(cells));
            ColumnSchema::of(&field.name, kind)
        };
        Schema { columns: places.iter().zip(&columns).map(column).collect() }
    });
    let checked = schema.columns.iter().zip(columns);
    let checked = checked.map(|(column, cells)| check(column, cells, lines.as_deref()));
    let columns = checked.collect::<Result<_, _>>()?;
    Ok((schema, columns))
}

/// Where the columns of the schema are, or all that are no index.
fn places(fields: &[Field], schema: Option<&Schema>) -> Result<Vec<usize>, String> {
    // A column without a name is an index that an export added, and so are those of pandas.
    let is_index = |name: &str| name.is_empty() || name.starts_with("__index_level_");
    let names: Vec<&str> = match schema {
        Some(schema) => schema.columns.iter().map(|column| column.name.as_str()).collect(),
        None => {
            let names = fields.iter().map(|field| field.name.as_str());
            names.filter(|name| !is_index(name)).collect()
        }
    };
    if names.is_empty() {
        return Err("there is no header with names of columns".into());
    }
    names.into_iter().map(|name| place(fields, name)).collect()
}

/// Where the column of this name is.
fn place(fields: &[Field], name: &str) -> Result<usize, String> {
    let mut found = fields.iter().enumerate().filter(|(_, field)| field.name == name);
    let Some((place, _)) = found.next() else {
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).take(20).collect();
        return Err(format!("there is no column `{name}`; the file has: {}", names.join(", ")));
    };
    match found.next() {
        None => Ok(place),
        Some(_) => Err(format!("two columns are called `{name}`; rename one")),
    }
}

/// The narrowest kind that holds all cells.
fn inferred(cells: &[Cell]) -> ColumnKind {
    let kinds = [ColumnKind::Integer, ColumnKind::Bool, ColumnKind::Number];
    let holds = |kind: &ColumnKind| {
        let column = ColumnSchema::of("", *kind);
        cells.iter().all(|cell| cell.as_ref().is_some_and(|cell| column.word(cell).is_ok()))
    };
    kinds.into_iter().find(holds).unwrap_or(ColumnKind::Text)
}

fn check(
    column: &ColumnSchema,
    cells: Vec<Cell>,
    lines: Option<&[u64]>,
) -> Result<Vec<Zeroizing<String>>, String> {
    let at = |row: usize, what: String| {
        let place = match lines.and_then(|lines| lines.get(row)) {
            Some(line) => format!("line {line}"),
            None => format!("row {}", row + 1),
        };
        format!("{place}, column `{}`: {what}", column.name)
    };
    let word = |(row, cell): (usize, Cell)| {
        let word = match cell {
            Some(cell) => column.word(&cell),
            None if column.nulls == Nulls::Refuse => Err(crate::schema::EMPTY.to_owned()),
            None => column.word(""),
        };
        word.map(Zeroizing::new).map_err(|what| at(row, what))
    };
    let words = cells.into_iter().enumerate().map(word).collect::<Result<Vec<_>, _>>()?;
    if column.unique {
        let mut seen = HashSet::new();
        let twice = words.iter().position(|word| !seen.insert(word.as_str()));
        if let Some(row) = twice {
            return Err(at(row, "an earlier row has the same value".into()));
        }
    }
    Ok(words)
}

/// The number of rows that a file claims, if there can be so many of so many columns; before any of them is read.
pub(crate) fn rows_of(claimed: u64, columns: usize) -> Result<usize, String> {
    let rows = usize::try_from(claimed).unwrap_or(usize::MAX);
    if rows == 0 {
        return Err("the file has columns and no row".into());
    }
    if rows > MAX_ROWS {
        return Err(format!("the file has more than {MAX_ROWS} rows"));
    }
    if rows.saturating_mul(columns) > MAX_CELLS {
        let remedy = "give a schema with the columns that are needed";
        return Err(format!("there are more than {MAX_CELLS} cells; {remedy}"));
    }
    Ok(rows)
}

/// Cells of a file with typed columns, as they come out of it.
pub(crate) struct Sink<'f> {
    names: Vec<&'f str>,
    columns: Vec<Vec<Cell>>,
    left: u64,
}

impl<'f> Sink<'f> {
    pub(crate) fn new(fields: &'f [Field], places: &[usize], rows: usize) -> Sink<'f> {
        Sink {
            names: places.iter().map(|place| fields[*place].name.as_str()).collect(),
            columns: places.iter().map(|_| Vec::with_capacity(rows)).collect(),
            left: MAX_FILE,
        }
    }

    /// Appends a cell to a column.
    pub(crate) fn put(
        &mut self,
        column: usize,
        cell: Result<Option<String>, String>,
    ) -> Result<(), String> {
        let row = self.columns[column].len() + 1;
        let at = |what: String| format!("row {row}, column `{}`: {what}", self.names[column]);
        let cell = cell.map_err(at)?.map(Zeroizing::new);
        let bytes = cell.as_ref().map_or(0, |cell| cell.len());
        if bytes > MAX_CELL {
            return Err(at(too_long()));
        }
        // A few bytes of a file can stand for any number of cells, long and short.
        let left = self.left.checked_sub(bytes as u64 + CELL_COST);
        let most = || {
            let what =
                format!("the cells take more than {MAX_FILE} bytes, {CELL_COST} each beside");
            at(format!("{what} their own; give a schema with the columns that are needed"))
        };
        self.left = left.ok_or_else(most)?;
        self.columns[column].push(cell);
        Ok(())
    }

    pub(crate) fn broken(&self, column: usize) -> String {
        format!("column `{}`: the file is broken here; write it again", self.names[column])
    }

    pub(crate) fn done(self) -> Cells {
        Cells { columns: self.columns, lines: None }
    }
}

pub(crate) fn too_long() -> String {
    format!("the cell has more than {MAX_CELL} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_more_than_its_bytes() {
        let fields = [Field { name: "a".into(), holds: Type::Text }];
        let mut sink = Sink::new(&fields, &[0], 3);
        sink.left = 3 * CELL_COST + 2;
        assert_eq!(sink.put(0, Ok(None)), Ok(()));
        assert_eq!(sink.put(0, Ok(Some("ab".into()))), Ok(()));
        let error = sink.put(0, Ok(Some("c".into()))).unwrap_err();
        assert!(error.starts_with("row 3, column `a`: the cells take more than"), "{error}");
    }
}

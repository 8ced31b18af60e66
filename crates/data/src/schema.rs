//! What columns hold, and the one way in which their cells are written.

use serde::{Deserialize, Serialize};

/// What is wrong with a cell that is empty or missing.
pub(crate) const EMPTY: &str = "the cell is empty; fill it, or say `nulls = \"zero\"`";

/// The columns of a data set.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// In any order; columns of the file that are not here are not read.
    pub columns: Vec<ColumnSchema>,
}

/// What a column has to hold.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ColumnSchema {
    /// Its name in the file.
    pub name: String,
    /// What its cells are.
    pub kind: ColumnKind,
    /// The smallest integer.
    #[serde(default)]
    pub min: Option<i64>,
    /// The largest integer.
    #[serde(default)]
    pub max: Option<i64>,
    /// What an empty or missing cell means.
    #[serde(default)]
    pub nulls: Nulls,
    /// Whether no two cells are alike.
    #[serde(default)]
    pub unique: bool,
}

/// Kinds of cells.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// A whole number of 64 bits with sign.
    Integer,
    /// `true` or `false`, in any case.
    Bool,
    /// A decimal number, which stays as it is written.
    Number,
    /// Anything, as keys are.
    Text,
}

/// What an empty or missing cell means.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    /// The file is refused.
    #[default]
    Refuse,
    /// Zero, false, or nothing.
    Zero,
}

impl ColumnKind {
    /// The name in a schema.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ColumnKind::Integer => "integer",
            ColumnKind::Bool => "bool",
            ColumnKind::Number => "number",
            ColumnKind::Text => "text",
        }
    }
}

impl ColumnSchema {
    /// A column of this kind without further demands.
    #[must_use]
    pub fn of(name: &str, kind: ColumnKind) -> ColumnSchema {
        ColumnSchema {
            name: name.to_owned(),
            kind,
            min: None,
            max: None,
            nulls: Nulls::Refuse,
            unique: false,
        }
    }

    /// The cell in its one form, or what is wrong with it, without its content.
    pub(crate) fn word(&self, cell: &str) -> Result<String, String> {
        let cell = cell.trim();
        if cell.is_empty() && self.kind != ColumnKind::Text {
            return match self.nulls {
                Nulls::Refuse => Err(EMPTY.into()),
                Nulls::Zero if self.kind == ColumnKind::Bool => Ok("false".into()),
                Nulls::Zero => Ok("0".into()),
            };
        }
        match self.kind {
            ColumnKind::Integer => self.integer(cell),
            ColumnKind::Bool if cell.eq_ignore_ascii_case("true") => Ok("true".into()),
            ColumnKind::Bool if cell.eq_ignore_ascii_case("false") => Ok("false".into()),
            ColumnKind::Bool => Err("the cell is neither true nor false".into()),
            ColumnKind::Number if is_number(cell) => Ok(cell.to_owned()),
            ColumnKind::Number => Err("the cell is no decimal number such as -12.50".into()),
            ColumnKind::Text => Ok(cell.to_owned()),
        }
    }

    fn integer(&self, cell: &str) -> Result<String, String> {
        let number: i64 = cell.parse().map_err(|_| {
            "the cell is no whole number of 64 bits; write it without separators".to_owned()
        })?;
        if self.min.is_some_and(|min| number < min) || self.max.is_some_and(|max| number > max) {
            return Err("the cell is out of the range of the schema".into());
        }
        Ok(number.to_string())
    }
}

/// Digits, with a sign and a point perhaps.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    all(whole) && all(part)
}

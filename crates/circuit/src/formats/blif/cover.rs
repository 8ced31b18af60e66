//! `.names`: a cover and its rows.

use crate::formats::ParseError;
use crate::formats::error::{Source, shown};

/// A cover whose rows are being read.
pub(super) struct Cover<'a> {
    pub(super) inputs: Vec<&'a str>,
    pub(super) output: &'a str,
    /// One character for each input; all of one set.
    pub(super) rows: Vec<&'a str>,
    /// Whether the rows are where the output is 1. Without rows it is 0.
    pub(super) on: bool,
}

impl<'a> Cover<'a> {
    /// The operands of `.names`.
    pub(super) fn new(
        source: &Source<'_>,
        command: &str,
        operands: &[&'a str],
    ) -> Result<Self, ParseError> {
        let Some((output, inputs)) = operands.split_last() else {
            let remedy = "write .names INPUT... OUTPUT";
            return Err(source.error(command, ".names has no output", remedy));
        };
        Ok(Self { inputs: inputs.to_vec(), output, rows: Vec::new(), on: true })
    }

    /// A line after it: characters for the inputs, if there are any, and the output's value.
    pub(super) fn row(&mut self, source: &Source<'_>, words: &[&'a str]) -> Result<(), ParseError> {
        let width = self.inputs.len();
        let (row, value) = match words {
            [value] if width == 0 => ("", *value),
            [row, value] if width > 0 => (*row, *value),
            _ => {
                let message = format!("this is no row for {width} inputs");
                return Err(source.error(words[0], message, shape(width)));
            }
        };
        if row.len() != width || row.bytes().any(|byte| !matches!(byte, b'0' | b'1' | b'-')) {
            let message = format!("`{}` is no row for {width} inputs", shown(row));
            return Err(source.error(row, message, shape(width)));
        }
        let on = match value {
            "1" => true,
            "0" => false,
            _ => {
                let message = format!("an output cannot be `{}`", shown(value));
                return Err(source.error(value, message, "write 1 or 0"));
            }
        };
        if !self.rows.is_empty() && on != self.on {
            let message = "rows for 1 and rows for 0 are mixed";
            return Err(source.error(
                value,
                message,
                "list where the output is 1, or where it is 0",
            ));
        }
        self.on = on;
        self.rows.push(row);
        Ok(())
    }
}

fn shape(width: usize) -> String {
    match width {
        0 => "write 1 or 0".to_owned(),
        _ => format!("write {width} characters of 0, 1 and -, a blank, and 1 or 0"),
    }
}

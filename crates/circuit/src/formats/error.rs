//! Where and why a file cannot be read, and text whose pieces know where they stand.

use std::fmt;

/// Why a circuit file or a ports file cannot be read: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{place}: {message}; {remedy}")]
pub struct ParseError {
    /// The name of the file as it was given.
    pub file: String,
    /// The place in the file.
    pub place: Place,
    /// The problem.
    pub message: String,
    /// The remedy: what to do about it.
    pub remedy: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a text; shown as `LINE:COLUMN`.
    Text {
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
    },
    /// In a binary file: bytes before the place; shown as `byte OFFSET`.
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { line, column } => write!(f, "{line}:{column}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A text with its name. Its parsers hand around pieces of `text`; where a piece stands is found out
/// only if it turns out to be wrong.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    /// The text, or where its bytes stop being one; `remedy` says what should stand there.
    pub(super) fn new(name: &'a str, bytes: &'a [u8], remedy: &str) -> Result<Self, ParseError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                let start = Self { name, text };
                Err(start.error_at(text.len(), "this is not text", remedy))
            }
        }
    }

    /// An error at `piece`, which is part of the text.
    pub(super) fn error(
        &self,
        piece: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ParseError {
        let offset = (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.error_at(offset, message, remedy)
    }

    /// An error `offset` bytes into the text.
    pub(super) fn error_at(
        &self,
        offset: usize,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ParseError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = 1 + before[start..].chars().count();
        ParseError {
            file: self.name.to_owned(),
            place: Place::Text { line, column },
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The end of the text, for what is missing there: after the last character that is not blank.
    pub(super) fn end(&self) -> &'a str {
        &self.text[self.text.trim_end().len()..]
    }
}

/// The start of a word, for errors: files may hold long ones.
pub(super) fn shown(word: &str) -> String {
    word.chars().take(40).flat_map(char::escape_debug).collect()
}

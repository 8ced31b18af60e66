//! Bytes, lines and numbers of an AIGER file, with their places.

use crate::formats::error::{ParseError, Place, shown};

/// The rest of a file.
pub(super) struct Reader<'a> {
    name: &'a str,
    bytes: &'a [u8],
    pub(super) binary: bool,
    /// Bytes that were read.
    pub(super) at: usize,
}

/// A line and where it starts.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) at: usize,
    pub(super) bytes: &'a [u8],
    /// Whether it has an end, or the file ends within it.
    pub(super) ended: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'a str, bytes: &'a [u8], binary: bool) -> Self {
        Self { name, bytes, binary, at: 0 }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn error(
        &self,
        at: usize,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ParseError {
        let before = self.bytes.get(..at).unwrap_or(self.bytes);
        let place = if self.binary {
            Place::Byte(before.len())
        } else {
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            // Bytes that continue a character are not counted.
            let column = before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
            Place::Text { line, column }
        };
        let (message, remedy) = (message.into(), remedy.into());
        ParseError { file: self.name.to_owned(), place, message, remedy }
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = Line { at: self.at, bytes: &rest[..end], ended: end < rest.len() };
        self.at += (end + 1).min(rest.len());
        Some(line)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The numbers of the next line, into `numbers` with their places; `what` should stand there, and
    /// be `shape`.
    pub(super) fn numbers(
        &mut self,
        what: &str,
        shape: &str,
        numbers: &mut Vec<(u32, usize)>,
    ) -> Result<usize, ParseError> {
        let remedy = format!("write {shape}");
        let Some(line) = self.line() else {
            let message = format!("the file ends where {what} should stand");
            return Err(self.error(
                self.at,
                message,
                "correct the header, or fetch the whole file",
            ));
        };
        numbers.clear();
        for (at, word) in words(line) {
            let number = std::str::from_utf8(word)
                .ok()
                .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            let Some(number) = number.and_then(|word| word.parse().ok()) else {
                let message = format!("`{}` is no number", shown(&String::from_utf8_lossy(word)));
                return Err(self.error(at, message, remedy));
            };
            // No line of the format is longer; one that is holds nothing.
            if numbers.len() == 4 {
                return Err(self.error(at, format!("{what} has more numbers than it may"), remedy));
            }
            numbers.push((number, at));
        }
        Ok(line.at)
    }
}

/// The words of a line and their places.
pub(super) fn words<'a>(line: Line<'a>) -> impl Iterator<Item = (usize, &'a [u8])> {
    let mut at = line.at;
    line.bytes.split(u8::is_ascii_whitespace).filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some((start, word))
    })
}

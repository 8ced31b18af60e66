//! The words of SHDL: brackets and line ends are blanks, `//` and `#` start a comment.

use crate::formats::ParseError;
use crate::formats::error::{Source, shown};

/// The words of a file that are left.
pub(super) struct Words<'a> {
    source: Source<'a>,
    rest: &'a str,
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '[' | ']')
}

impl<'a> Words<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        Self { source, rest: source.text }
    }

    pub(super) fn error(
        &self,
        piece: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ParseError {
        self.source.error(piece, message, remedy)
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start_matches(is_blank);
            if comment_of(self.rest).is_none() {
                break;
            }
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
        let stops = self.rest.find(|c| is_blank(c) || c == '#').unwrap_or(self.rest.len());
        let end = self.rest[..stops].find("//").unwrap_or(stops);
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word; `what` should stand there.
    pub(super) fn expected(&mut self, what: &str, remedy: &str) -> Result<&'a str, ParseError> {
        let end = self.source.end();
        self.next().ok_or_else(|| {
            let message = format!("the file ends where {what} should stand");
            self.error(end, message, remedy)
        })
    }

    /// A word that has to be `keyword`.
    pub(super) fn keyword(&mut self, keyword: &str, remedy: &str) -> Result<(), ParseError> {
        let word = self.expected(keyword, remedy)?;
        if word == keyword {
            return Ok(());
        }
        let message = format!("`{}` stands where {keyword} should", shown(word));
        Err(self.error(word, message, remedy))
    }

    /// The comment on the rest of the line, if nothing else stands there.
    pub(super) fn comment(&self) -> &'a str {
        let line = self.rest.split('\n').next().unwrap_or_default();
        comment_of(line.trim_start_matches(is_blank)).unwrap_or_default().trim()
    }
}

fn comment_of(text: &str) -> Option<&str> {
    text.strip_prefix("//").or_else(|| text.strip_prefix('#'))
}

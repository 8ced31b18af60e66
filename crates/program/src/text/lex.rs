//! The words of the text form.

use super::TextError;

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a number, a shape, an operation.
    Word(String),
    /// `%7`, without the sign.
    Value(String),
    /// Text between quotes.
    Text(String),
    /// Any other single sign; `->` is two.
    Sign(char),
    End,
}

impl TokenKind {
    /// The word as it is shown in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            TokenKind::Word(word) => format!("`{}`", word.escape_debug()),
            TokenKind::Value(value) => format!("`%{}`", value.escape_debug()),
            TokenKind::Text(_) => "a text".to_owned(),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::End => "the end".to_owned(),
        }
    }
}

/// Cuts a text into words. `#` begins a comment that ends with the line.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, TextError> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let rest = line.char_indices().peekable();
        Line { rest, line, number: index + 1, counted: (0, 0), found: &mut found }.run()?;
    }
    let line = text.lines().count() + 1;
    found.push(Token { kind: TokenKind::End, line, column: 1 });
    Ok(found)
}

struct Line<'t> {
    rest: std::iter::Peekable<std::str::CharIndices<'t>>,
    line: &'t str,
    number: usize,
    /// Bytes of the line up to a place, and the signs before it.
    counted: (usize, usize),
    found: &'t mut Vec<Token>,
}

impl Line<'_> {
    fn run(mut self) -> Result<(), TextError> {
        while let Some((at, sign)) = self.rest.next() {
            let kind = match sign {
                '#' => break,
                _ if sign.is_whitespace() => continue,
                '"' => self.text(at)?,
                '%' => TokenKind::Value(self.word(at + 1)),
                _ if is_word(sign) => TokenKind::Word(self.word(at)),
                _ if "{}()|,:=+-*<>".contains(sign) => TokenKind::Sign(sign),
                _ => {
                    return Err(
                        self.error(at, format!("`{}` means nothing here", sign.escape_debug()))
                    );
                }
            };
            self.count(at);
            let column = self.counted.1 + 1;
            self.found.push(Token { kind, line: self.number, column });
        }
        Ok(())
    }

    fn word(&mut self, start: usize) -> String {
        let mut end = self.line.len();
        while let Some((at, sign)) = self.rest.peek() {
            if !is_word(*sign) && *sign != '-' {
                end = *at;
                break;
            }
            self.rest.next();
        }
        self.line.get(start..end).unwrap_or_default().to_owned()
    }

    fn text(&mut self, start: usize) -> Result<TokenKind, TextError> {
        let mut text = String::new();
        while let Some((_, sign)) = self.rest.next() {
            match sign {
                '"' => return Ok(TokenKind::Text(text)),
                '\\' => match self.rest.next() {
                    Some((_, sign @ ('"' | '\\'))) => text.push(sign),
                    _ => return Err(self.error(start, "after \\ comes \" or \\".to_owned())),
                },
                _ => text.push(sign),
            }
        }
        Err(self.error(start, "the text does not end on its line; end it with \"".to_owned()))
    }

    /// Counts the signs before a place that is not before the last one.
    fn count(&mut self, at: usize) {
        let (bytes, signs) = self.counted;
        self.counted = (at, signs + self.line.get(bytes..at).map_or(0, |new| new.chars().count()));
    }

    fn error(&mut self, at: usize, what: String) -> TextError {
        self.count(at);
        TextError { line: self.number, column: self.counted.1 + 1, what }
    }
}

fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || sign == '.'
}

//! The words of the text form.

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) place: Place,
}

/// Line and column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    /// A name, a number, a shape, an operation.
    Word(&'t str),
    /// `%7`, without the sign.
    Value(&'t str),
    /// Text between quotes.
    Text(String),
    /// Any other single sign; `->` is two.
    Sign(char),
    /// Text that is no word, and why. Nothing is read after it.
    Wrong(String),
    End,
}

impl TokenKind<'_> {
    /// The word as it is shown in messages.
    pub(super) fn shown(&self) -> String {
        match self {
            TokenKind::Word(word) => format!("`{}`", word.escape_debug()),
            TokenKind::Value(value) => format!("`%{}`", value.escape_debug()),
            TokenKind::Text(_) => "a text".to_owned(),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::Wrong(why) => why.clone(),
            TokenKind::End => "the end".to_owned(),
        }
    }
}

/// Cuts a text into words, one at a time. `#` begins a comment that ends with the line.
pub(super) struct Lexer<'t> {
    lines: std::str::Lines<'t>,
    line: Line<'t>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Lexer { lines: text.lines(), line: Line::new("", 0) }
    }

    /// The next word; after the last one, the end.
    pub(super) fn token(&mut self) -> Token<'t> {
        loop {
            if let Some(token) = self.line.token() {
                return token;
            }
            let number = self.line.number + 1;
            match self.lines.next() {
                Some(line) => self.line = Line::new(line, number),
                None => {
                    return Token {
                        kind: TokenKind::End,
                        place: Place { line: number, column: 1 },
                    };
                }
            }
        }
    }
}

struct Line<'t> {
    rest: std::iter::Peekable<std::str::CharIndices<'t>>,
    line: &'t str,
    number: usize,
    /// Bytes of the line up to a place, and the characters before it.
    counted: (usize, usize),
}

impl<'t> Line<'t> {
    fn new(line: &'t str, number: usize) -> Self {
        Line { rest: line.char_indices().peekable(), line, number, counted: (0, 0) }
    }

    /// The next word of the line.
    fn token(&mut self) -> Option<Token<'t>> {
        let (at, sign) = self.rest.by_ref().find(|(_, sign)| !sign.is_whitespace())?;
        let kind = match sign {
            '#' => {
                self.rest.by_ref().for_each(drop);
                return None;
            }
            '"' => self.text(),
            '%' => TokenKind::Value(self.word(at + 1)),
            _ if is_word(sign) => TokenKind::Word(self.word(at)),
            _ if "{}()[]|,:=+-*<>".contains(sign) => TokenKind::Sign(sign),
            _ => TokenKind::Wrong(format!("`{}` means nothing here", sign.escape_debug())),
        };
        Some(Token { kind, place: self.place(at) })
    }

    fn word(&mut self, start: usize) -> &'t str {
        let mut end = self.line.len();
        while let Some((at, sign)) = self.rest.peek() {
            if !is_word(*sign) && *sign != '-' {
                end = *at;
                break;
            }
            self.rest.next();
        }
        self.line.get(start..end).unwrap_or_default()
    }

    fn text(&mut self) -> TokenKind<'t> {
        let mut text = String::new();
        while let Some((_, sign)) = self.rest.next() {
            match sign {
                '"' => return TokenKind::Text(text),
                '\\' => match self.rest.next() {
                    Some((_, sign @ ('"' | '\\'))) => text.push(sign),
                    _ => return TokenKind::Wrong("after \\ comes \" or \\".to_owned()),
                },
                _ => text.push(sign),
            }
        }
        TokenKind::Wrong("the text does not end on its line; end it with \"".to_owned())
    }

    /// The place of a byte that is not before the last one asked for.
    fn place(&mut self, at: usize) -> Place {
        let (bytes, characters) = self.counted;
        let new = self.line.get(bytes..at).map_or(0, |new| new.chars().count());
        self.counted = (at, characters + new);
        Place { line: self.number, column: self.counted.1 + 1 }
    }
}

fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_' || sign == '.'
}

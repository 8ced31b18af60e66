//! `.fmt` files: whose ports there are, and which wires they take.

use crate::formats::error::{Source, shown};
use crate::formats::{MAX_PORTS, ParseError};
use crate::program::Role;

/// A line such as `Alice input integer "input.alice" [ 0 1 2 ]`.
pub(super) struct FmtPort<'a> {
    pub(super) owner: Role,
    pub(super) output: bool,
    /// The name, without the punctuation of a prompt.
    pub(super) name: &'a str,
    /// Numbers of wires, the least significant bit first.
    pub(super) wires: Vec<(usize, &'a str)>,
}

const LINE: &str = "write PARTY input|output integer \"NAME\" [ NUMBER... ]";

/// All ports of a `.fmt` file.
pub(super) fn read(source: Source<'_>) -> Result<Vec<FmtPort<'_>>, ParseError> {
    let mut words = Words { source, rest: source.text };
    let mut ports = Vec::new();
    while let Some(party) = words.next() {
        if ports.len() == 2 * MAX_PORTS {
            let remedy = format!("at most {MAX_PORTS} inputs and outputs can be ports");
            return Err(source.error(party, "there are too many ports", remedy));
        }
        let owner = match party {
            "Alice" | "alice" => Role::Garbler,
            "Bob" | "bob" => Role::Evaluator,
            _ => {
                let message = format!("`{}` is no party", shown(party));
                return Err(source.error(party, message, "the parties are Alice and Bob"));
            }
        };
        let output = match words.expected("input or output")? {
            "input" => false,
            "output" => true,
            word => {
                let message = format!("`{}` stands where input or output should", shown(word));
                return Err(source.error(word, message, LINE));
            }
        };
        words.expected("a type")?;
        let quoted = words.expected("a name")?;
        let Some(name) = quoted.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
            let message = format!("`{}` stands where a quoted name should", shown(quoted));
            return Err(source.error(quoted, message, LINE));
        };
        let name = name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '=' | ':'));
        ports.push(FmtPort { owner, output, name, wires: words.wires()? });
    }
    Ok(ports)
}

/// Words, brackets and quoted strings.
struct Words<'a> {
    source: Source<'a>,
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with("//") {
                break;
            }
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
        let first = self.rest.chars().next()?;
        let stop = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
        let end = match first {
            '[' | ']' => 1,
            '"' => {
                let line = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest[1..line].find('"').map_or(line, |end| end + 2)
            }
            _ => self.rest.find(stop).unwrap_or(self.rest.len()),
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    fn expected(&mut self, what: &str) -> Result<&'a str, ParseError> {
        let end = self.source.end();
        self.next().ok_or_else(|| {
            let message = format!("the file ends where {what} should stand");
            self.source.error(end, message, LINE)
        })
    }

    /// `[ NUMBER... ]`.
    fn wires(&mut self) -> Result<Vec<(usize, &'a str)>, ParseError> {
        let open = self.expected("[")?;
        if open != "[" {
            let message = format!("`{}` stands where [ should", shown(open));
            return Err(self.source.error(open, message, LINE));
        }
        let mut wires = Vec::new();
        loop {
            let word = self.expected("]")?;
            if word == "]" {
                return Ok(wires);
            }
            let plain = word.bytes().all(|byte| byte.is_ascii_digit());
            let Some(wire) = word.parse().ok().filter(|_| plain) else {
                let message = format!("`{}` is no number of a wire", shown(word));
                return Err(self.source.error(word, message, LINE));
            };
            wires.push((wire, word));
        }
    }
}

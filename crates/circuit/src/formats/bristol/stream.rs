//! Reading a file of any size, gate by gate, by the rules of `parse`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::parse::{Body, Header, Lines, Store, header};
use super::written::Written;
use crate::circuit::Gate;
use crate::formats::error::Source;
use crate::formats::{BRISTOL, Format, ParseError, Place, ReadError};

/// The port widths that a file announces, and its outputs.
pub(crate) struct Streamed {
    /// Widths of the input ports.
    pub(crate) inputs: Vec<usize>,
    /// Widths of the output ports.
    pub(crate) outputs: Vec<usize>,
    /// Wires of all outputs.
    pub(crate) output_wires: Vec<u32>,
}

/// Takes the gates of a file, which keep the wire numbers of the file. Every wire that is read was
/// written before or is an input, and none is written twice.
pub(crate) trait Sink {
    /// Takes the gate that writes `wire`.
    fn gate(&mut self, wire: u32, gate: Gate) -> io::Result<()>;
}

/// Reads a file in either Bristol format; in memory are a piece of it, and which wires were written.
pub(crate) fn stream(path: &Path, sink: &mut impl Sink) -> Result<Streamed, ReadError> {
    let error = |source| ReadError::Io { path: path.to_owned(), source };
    let name = path.to_string_lossy();
    let (mut pieces, bytes) = Pieces::open(path).map_err(error)?;
    pieces.advance().map_err(error)?;
    let header = header(&mut Lines::start(pieces.source(&name)?, bytes))?;
    let mut gates = Gates::new(&header, sink);
    // Lines of the header, which are no gates.
    let mut skip = if header.format == Format::BristolFashion { 3 } else { 2 };
    let mut read = 0;
    loop {
        let source = pieces.source(&name)?;
        let lines = Lines::start(source, bytes);
        let mut body = Body::new(&lines, &header, read, &mut gates);
        let ended = pieces.ended();
        let done = piece(source.text, &mut body, &mut skip)
            .and_then(|()| if ended { body.finish().map(Some) } else { Ok(None) })
            .map_err(|error| pieces.shifted(error))?;
        read = body.read();
        gates.failed.take().map_or(Ok(()), |failed| Err(error(failed)))?;
        if let Some(output_wires) = done {
            return Ok(Streamed { inputs: header.inputs, outputs: header.outputs, output_wires });
        }
        pieces.advance().map_err(error)?;
    }
}

/// Reads the gates of a piece, but for the first `skip` lines.
fn piece<'a, S: Store>(
    mut rest: &'a str,
    body: &mut Body<'_, 'a, S>,
    skip: &mut usize,
) -> Result<(), ParseError> {
    while !rest.is_empty() {
        if *skip == 0
            && let Some((wire, gate, length)) = frequent_form(rest.as_bytes())
            && body.accept(wire, gate)
        {
            rest = &rest[length..];
            continue;
        }
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = rest[..end].trim();
        rest = &rest[end..];
        match (line.is_empty(), *skip) {
            (true, _) => {}
            (false, 0) => body.gate(line)?,
            (false, _) => *skip -= 1,
        }
    }
    Ok(())
}

/// The gate on a line that is written as nearly all are, and the length of the line. Any other line is
/// for the full parser, which also says what is wrong.
fn frequent_form(text: &[u8]) -> Option<(usize, Gate, usize)> {
    let mut rest = text;
    let gate = match rest.split_off(..4)? {
        b"2 1 " => {
            let (a, b, out) = (decimal(&mut rest)?, decimal(&mut rest)?, decimal(&mut rest)?);
            match rest.split_off(..4)? {
                b"AND\n" => (out, Gate::And(a, b)),
                b"XOR\n" => (out, Gate::Xor(a, b)),
                _ => return None,
            }
        }
        b"1 1 " => {
            let (a, out) = (decimal(&mut rest)?, decimal(&mut rest)?);
            match rest.split_off(..4)? {
                b"INV\n" => (out, Gate::Inv(a)),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((gate.0 as usize, gate.1, text.len() - rest.len()))
}

/// A number of at most nine digits, and the blank behind it.
fn decimal(text: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for (i, byte) in text.iter().enumerate().take(10) {
        match byte {
            b'0'..=b'9' if i < 9 => value = 10 * value + u32::from(byte - b'0'),
            b' ' if i > 0 => {
                *text = &text[i + 1..];
                return Some(value);
            }
            _ => return None,
        }
    }
    None
}

/// The gates of a file on their way to a sink.
struct Gates<'s, S> {
    inputs: usize,
    written: Written,
    sink: &'s mut S,
    failed: Option<io::Error>,
}

impl<'s, S: Sink> Gates<'s, S> {
    fn new(header: &Header, sink: &'s mut S) -> Self {
        let written = Written::new(header.wires - header.input_bits);
        Self { inputs: header.input_bits, written, sink, failed: None }
    }
}

impl<S: Sink> Store for Gates<'_, S> {
    fn number(&self, wire: usize) -> Option<u32> {
        let known = wire.checked_sub(self.inputs).is_none_or(|gate| self.written.contains(gate));
        known.then_some(wire as u32)
    }

    fn write(&mut self, wire: usize, gate: Gate) -> bool {
        let new = wire.checked_sub(self.inputs).is_some_and(|gate| self.written.insert(gate));
        if new && self.failed.is_none() {
            self.failed = self.sink.gate(wire as u32, gate).err();
        }
        new
    }
}

/// A file in pieces that end with a line.
struct Pieces {
    file: File,
    /// The piece, and what was read of the next one.
    bytes: Vec<u8>,
    /// Bytes of the piece.
    length: usize,
    /// The file was read to its end.
    complete: bool,
    /// Lines before the piece.
    lines: usize,
}

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Longest line.
const MAX_LINE: usize = 1 << 26;

impl Pieces {
    /// The file before its first piece, and its size.
    fn open(path: &Path) -> io::Result<(Self, u64)> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            let message = "only a regular file can be read in pieces";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let pieces = Self { file, bytes: Vec::new(), length: 0, complete: false, lines: 0 };
        Ok((pieces, meta.len()))
    }

    /// Goes on to the next piece.
    fn advance(&mut self) -> io::Result<()> {
        self.lines += self.bytes[..self.length].iter().filter(|byte| **byte == b'\n').count();
        self.bytes.drain(..self.length);
        self.length = 0;
        while self.length == 0 && !self.complete {
            let before = self.bytes.len();
            if before > MAX_LINE {
                let message = format!("line {} has more than {MAX_LINE} bytes", self.lines + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            let read = (&mut self.file).take(PIECE as u64).read_to_end(&mut self.bytes)?;
            self.complete = read < PIECE;
            let last = self.bytes[before..].iter().rposition(|byte| *byte == b'\n');
            self.length = last.map_or(0, |last| before + last + 1);
        }
        if self.complete {
            self.length = self.bytes.len();
        }
        Ok(())
    }

    /// The piece is the last one.
    fn ended(&self) -> bool {
        self.complete
    }

    fn source<'a>(&'a self, name: &'a str) -> Result<Source<'a>, ParseError> {
        Source::new(name, &self.bytes[..self.length], BRISTOL).map_err(|error| self.shifted(error))
    }

    /// An error in the piece as one in the file.
    fn shifted(&self, mut error: ParseError) -> ParseError {
        if let Place::Text { line, .. } = &mut error.place {
            *line += self.lines;
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{detect, parse_any};

    #[derive(Default)]
    struct Kept(Vec<(u32, Gate)>);

    impl Sink for Kept {
        fn gate(&mut self, wire: u32, gate: Gate) -> io::Result<()> {
            self.0.push((wire, gate));
            Ok(())
        }
    }

    /// Streams a text; returns the result and what was kept of it.
    fn streamed(text: &str) -> Result<(Streamed, Kept), ReadError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x");
        std::fs::write(&path, text).expect("written");
        let mut kept = Kept::default();
        let streamed = stream(&path, &mut kept);
        streamed.map(|streamed| (streamed, kept))
    }

    const SMALL: &str =
        "4 8\n2 2 2\n1 2\n\n2 1 0 2 6 XOR\n2 1 0 2 4 AND\n2 1 1 3 5 XOR\n2 1 5 4 7 XOR\n";

    #[test]
    fn gates_keep_their_wires() {
        let long = SMALL.replace("2 1 1 3 5 XOR", " 2  1 1\t3 5 XOR \r\n\r\n");
        for text in [SMALL, SMALL.trim_end(), &SMALL.replace('\n', "\r\n"), &long] {
            let (file, kept) = streamed(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((file.inputs, file.outputs), (vec![2, 2], vec![2]));
            assert_eq!(file.output_wires, [6, 7]);
            let gates = [
                (6, Gate::Xor(0, 2)),
                (4, Gate::And(0, 2)),
                (5, Gate::Xor(1, 3)),
                (7, Gate::Xor(5, 4)),
            ];
            assert_eq!(kept.0, gates);
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_by_the_parser_in_memory() {
        let changes = [
            ("2 1 5 4 7 XOR", "2 1 5 9 7 XOR"),
            ("2 1 5 4 7 XOR", "2 1 5 4 4 XOR"),
            ("2 1 5 4 7 XOR", "2 1 5 7 7 XOR"),
            ("2 1 5 4 7 XOR", "2 1 5 4 1 XOR"),
            ("2 1 5 4 7 XOR", "2 1 5 4 8 XOR"),
            ("2 1 5 4 7 XOR", "2 1 5 4 7 OR"),
            ("2 1 5 4 7 XOR", "2 1 5 4 7"),
            ("2 1 5 4 7 XOR", "2 1 5 4 x XOR"),
            ("2 1 5 4 7 XOR", ""),
            ("2 1 0 2 6 XOR", "2 1 0 2 6 XOR\n2 1 0 2 7 XOR"),
            ("2 1 0 2 6 XOR", "2 1 0 2 99999999999 XOR"),
            ("4 8", "4 7"),
            ("4 8", "9999 8"),
            ("2 2 2", "2 2"),
            ("1 2\n", "1 2 2\n"),
            ("AND", "\u{e9}"),
        ];
        let pad = "\n".repeat(100);
        for (from, to) in changes {
            for text in [SMALL.replace(from, to), SMALL.replace("\n\n", &pad).replace(from, to)] {
                let expected = parse_any("x", text.as_bytes()).expect_err("a broken file");
                let Err(ReadError::Parse(found)) = streamed(&text) else {
                    panic!("{text} was read")
                };
                let found = ParseError { file: "x".to_owned(), ..found };
                assert_eq!(found, expected, "{text}");
            }
        }
    }

    #[test]
    fn hostile_bytes_are_judged_as_by_the_parser_in_memory() {
        let mut state = 1u64;
        let mut random = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        let bits =
            ["0", "9", " ", "\n", "AND\n", "EQW", "MAND", "4294967296", "\u{e9}", "1 1 1 4 EQ\n"];
        let mut good = 0;
        for _ in 0..1000 {
            let mut text = SMALL.to_owned();
            for _ in 0..1 + random(3) {
                let from = random(text.len());
                let to = (from + random(4)).min(text.len());
                if text.is_char_boundary(from) && text.is_char_boundary(to) {
                    text.replace_range(from..to, bits[random(bits.len())]);
                }
            }
            match (parse_any("x", text.as_bytes()), streamed(&text)) {
                (Ok(_), Ok(_)) => good += 1,
                // Whoever takes any format does not know that this should have been Bristol's.
                (Err(_), Err(_)) if detect("x", text.as_bytes()).is_err() => {}
                (Err(expected), Err(ReadError::Parse(found))) => {
                    let found = ParseError { file: "x".to_owned(), ..found };
                    assert_eq!(found, expected, "{text}");
                }
                (one, other) => panic!("{text}: {} and {}", one.is_ok(), other.is_ok()),
            }
        }
        assert!(good > 10, "{good}");
    }

    #[test]
    fn lines_are_counted_over_pieces() {
        // A chain over several pieces, with an error near its end.
        let gates = 100_000u32;
        let mut text = format!("{gates} {}\n1 1\n1 1\n\n", gates + 1);
        for i in 0..gates {
            let kind = if i == gates - 3 { "NAND" } else { "XOR" };
            text.push_str(&format!("2 1 {i} 0 {} {kind}\n", i + 1));
        }
        assert!(text.len() > 2 * PIECE);
        let Err(ReadError::Parse(error)) = streamed(&text) else { panic!("it was read") };
        assert_eq!(error.place, Place::Text { line: gates as usize + 2, column: 1 });
        let (_, kept) = streamed(&text.replace("NAND", "AND")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(kept.0.len(), gates as usize);
    }
}

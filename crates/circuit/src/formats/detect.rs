//! Which format a file is in.

use super::error::{Source, shown};
use super::{ParseError, bristol};

/// A format of circuit files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two inputs and one output: the format of 2011 to 2019.
    OldBristol,
    /// Any number of ports, and the gates EQ, EQW and MAND.
    BristolFashion,
    /// The circuits of Fairplay.
    Shdl,
    /// The Berkeley Logic Interchange Format.
    Blif,
    /// And-inverter graphs as text.
    AigerAscii,
    /// And-inverter graphs as bytes.
    AigerBinary,
    /// A hardware description, for yosys.
    Verilog,
}

const KNOWN: &str = "give a circuit in a Bristol format, SHDL, BLIF, AIGER or Verilog";

/// The format of a file, from its first words, or from the extension of `name` where they do not tell.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Format, ParseError> {
    for (start, format) in [(b"aag ", Format::AigerAscii), (b"aig ", Format::AigerBinary)] {
        if bytes.starts_with(start) {
            return Ok(format);
        }
    }
    let rest = skip_comments(bytes);
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    match first {
        [b'.', ..] => Ok(Format::Blif),
        [b'0'..=b'9', ..] => match words.next() {
            Some(b"input" | b"output" | b"gate") => Ok(Format::Shdl),
            _ => bristol::format(Source::new(name, bytes, KNOWN)?),
        },
        [b'`', ..] | [b'(', b'*', ..] | b"module" | b"package" => Ok(Format::Verilog),
        _ => by_extension(name).ok_or_else(|| {
            let at = bytes.len() - rest.len();
            let start = std::str::from_utf8(&bytes[..at]).unwrap_or_default();
            let first = String::from_utf8_lossy(&first[..first.len().min(40)]);
            let message = match first.is_empty() {
                true => "the file is empty".to_owned(),
                false => format!("`{}` starts no circuit", shown(&first)),
            };
            Source { name, text: start }.error_at(start.len(), message, KNOWN)
        }),
    }
}

fn by_extension(name: &str) -> Option<Format> {
    match name.rsplit_once('.')?.1 {
        "v" | "sv" => Some(Format::Verilog),
        "blif" => Some(Format::Blif),
        _ => None,
    }
}

/// Returns the rest after blanks and the comments of all formats.
fn skip_comments(mut rest: &[u8]) -> &[u8] {
    let after = |rest: &'_ [u8], end: &[u8]| {
        let place = rest.windows(end.len()).position(|window| window == end);
        place.map_or(rest.len(), |place| place + end.len())
    };
    loop {
        rest = rest.trim_ascii_start();
        let skipped = match rest {
            [b'#', ..] | [b'/', b'/', ..] => after(rest, b"\n"),
            [b'/', b'*', ..] => after(rest, b"*/"),
            _ => return rest,
        };
        rest = &rest[skipped..];
    }
}

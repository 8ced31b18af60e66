//! The symbol table, which names inputs, latches and outputs, and the comment after it.

use super::header::Header;
use super::reader::Reader;
use crate::formats::ParseError;
use crate::formats::names::{Group, group, unnamed};

/// Names by number, of inputs and outputs.
pub(super) struct Names {
    inputs: Vec<Option<String>>,
    outputs: Vec<Option<String>>,
}

const SHAPE: &str = "write i, l or o, the number counted from 0, a blank and a name; a line `c` \
                     starts the comment";

pub(super) fn read(reader: &mut Reader<'_>, header: &Header) -> Result<Names, ParseError> {
    let mut inputs = vec![None; header.inputs as usize];
    let mut outputs = vec![None; header.outputs as usize];
    let mut latches = vec![None; header.latches as usize];
    while let Some(line) = reader.line() {
        let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        if bytes == b"c" {
            break;
        }
        if !line.ended {
            return Err(reader.error(
                line.at,
                "the last line has no end",
                "fetch the whole file, or end the line",
            ));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(reader.error(line.at, "a symbol is not text", SHAPE));
        };
        let Some((symbol, name)) = text.split_once(' ') else {
            return Err(reader.error(line.at, "this is no symbol", SHAPE));
        };
        let (kind, number) = symbol.split_at_checked(1).unwrap_or_default();
        let names = match kind {
            "i" => &mut inputs,
            "l" => &mut latches,
            "o" => &mut outputs,
            _ => return Err(reader.error(line.at, "this is no symbol", SHAPE)),
        };
        let plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|_| plain).unwrap_or(usize::MAX);
        let count = names.len();
        let Some(place) = names.get_mut(number) else {
            let message = format!("a symbol names number `{}` of {count}", &symbol[1..]);
            return Err(reader.error(line.at + 1, message, SHAPE));
        };
        if place.replace(name.to_owned()).is_some() {
            return Err(reader.error(line.at, format!("`{symbol}` is named twice"), SHAPE));
        }
    }
    Ok(Names { inputs, outputs })
}

impl Names {
    /// The input ports.
    pub(super) fn inputs<P>(&self) -> Vec<Group<P>> {
        ports(&self.inputs, "in0", 'i')
    }

    /// The output ports.
    pub(super) fn outputs<P>(&self) -> Vec<Group<P>> {
        ports(&self.outputs, "out0", 'o')
    }
}

/// One port if nothing has a name; where only some have, the others are called by kind and number.
fn ports<P>(names: &[Option<String>], whole: &str, kind: char) -> Vec<Group<P>> {
    if names.iter().all(Option::is_none) {
        return unnamed(whole, names.len());
    }
    let filled = names.iter().enumerate();
    let filled = filled.map(|(i, name)| name.clone().unwrap_or_else(|| format!("{kind}{i}")));
    let filled: Vec<String> = filled.collect();
    group(&filled.iter().map(String::as_str).collect::<Vec<_>>())
}

//! The first line: `aag M I L O A`, since version 1.9 with `B C J F` after it.

use super::reader::{Reader, words};
use crate::formats::ParseError;
use crate::formats::error::shown;
use crate::formats::frame::check_bits;

/// The counts of the header.
pub(super) struct Header {
    /// The largest variable.
    pub(super) most: u32,
    pub(super) inputs: u32,
    pub(super) latches: u32,
    pub(super) outputs: u32,
    pub(super) ands: u32,
}

const SHAPE: &str = "start with `aag M I L O A` (text) or `aig M I L O A` (binary)";

/// Variables that a text may leave unused.
const UNUSED: usize = 1 << 16;

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Header, ParseError> {
    let Some(line) = reader.line() else {
        return Err(reader.error(0, "the file is empty", SHAPE));
    };
    let mut counts = Vec::new();
    for (at, word) in words(line).skip(1) {
        let text = String::from_utf8_lossy(word);
        let plain = word.iter().all(u8::is_ascii_digit);
        // Literals are twice the variables.
        let number = text.parse::<u32>().ok().filter(|number| plain && *number < 1 << 30);
        let Some(number) = number else {
            let message = format!("`{}` is no count below {}", shown(&text), 1 << 30);
            return Err(reader.error(at, message, SHAPE));
        };
        let kind = ["bad states", "constraints", "justice properties", "fairness constraints"];
        match counts.len().checked_sub(5) {
            Some(4..) => {
                return Err(reader.error(at, "the header has more than nine counts", SHAPE));
            }
            Some(extra) if number > 0 => {
                let message = format!("the file has {number} {}", kind[extra]);
                let remedy =
                    "remove them: they are for model checkers, and no circuit computes them";
                return Err(reader.error(at, message, remedy));
            }
            _ => counts.push((number, at)),
        }
    }
    let &[(most, at), (inputs, _), (latches, _), (outputs, _), (ands, _), ..] = &counts[..] else {
        return Err(reader.error(line.at, "the header has fewer than five counts", SHAPE));
    };
    let header = Header { most, inputs, latches, outputs, ands };
    check(reader, &header, at)?;
    Ok(header)
}

/// Checks that what the header announces is possible in a file of this size.
fn check(reader: &Reader<'_>, header: &Header, at: usize) -> Result<(), ParseError> {
    let Header { most, inputs, latches, outputs, ands } = *header;
    for (bits, kind) in [(inputs, "inputs"), (latches, "latches"), (outputs, "outputs")] {
        check_bits(bits as usize, kind)
            .map_err(|(message, remedy)| reader.error(at, message, remedy))?;
    }
    let written = if reader.binary { 0 } else { inputs as usize };
    let lines = written + latches as usize + outputs as usize + ands as usize;
    // Each takes two bytes or more.
    if lines > reader.left().div_ceil(2) {
        let message = "the header announces more than the file can hold";
        return Err(reader.error(at, message, "correct the counts, or fetch the whole file"));
    }
    let used = inputs as usize + latches as usize + ands as usize;
    let most = most as usize;
    if most < used || (reader.binary && most > used) {
        let message = format!("{most} variables are announced for {used} inputs, latches and ANDs");
        return Err(reader.error(at, message, "write M = I + L + A"));
    }
    if most > used + UNUSED + reader.left() {
        let message = format!("{most} variables are announced and {used} are used");
        return Err(reader.error(at, message, "number the variables 1, 2, 3, ..."));
    }
    Ok(())
}

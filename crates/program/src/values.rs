//! Values of ports as people write them: numbers, signed and with a point, one for each lane.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

use crate::limits::MAX_NUMBER;
use crate::module::{Input, Output};
use crate::shape::{Kind, Shape};

/// Why a text is no value of a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ValueError {
    /// The port.
    pub port: String,
    /// The lane, counted from 1; `None` where the whole value is meant.
    pub row: Option<usize>,
    /// What is wrong, and what is taken.
    pub what: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.port)?;
        if let Some(row) = self.row {
            write!(f, ", row {row} (the first is row 1)")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Input {
    /// The bits of a value, lane by lane, least significant first: one number for each lane, between
    /// commas or on lines of their own. Numbers are decimal, or hexadecimal after `0x`; lanes of one
    /// bit may also stand as digits side by side.
    ///
    /// # Errors
    /// Another number of rows; a row that is no number or out of range.
    pub fn parse(&self, text: &str) -> Result<Vec<bool>, ValueError> {
        let refuse =
            |row: Option<usize>, what: String| ValueError { port: self.name.clone(), row, what };
        let rows = rows(self.shape, text);
        if rows.len() != self.shape.lanes as usize {
            let (takes, given) = (self.shape.lanes, rows.len());
            return Err(refuse(None, format!("{takes} values are needed, {given} were given")));
        }
        let mut bits = Vec::with_capacity(self.shape.bits());
        for (row, word) in rows.iter().enumerate() {
            let place = (rows.len() > 1).then_some(row + 1);
            let word = word.trim();
            bits.extend(
                self.kind.parse_word(self.shape.width, word).map_err(|what| refuse(place, what))?,
            );
        }
        Ok(bits)
    }
}

impl Output {
    /// The words of a value, one text for each lane, from bits as [`crate::Module::evaluate`] gives.
    #[must_use]
    pub fn show(&self, bits: &[bool]) -> Vec<String> {
        bits.chunks(self.shape.width as usize).map(|word| self.kind.show_word(word)).collect()
    }
}

fn rows(shape: Shape, text: &str) -> Vec<&str> {
    let text = text.trim();
    let digits = shape.width == 1 && shape.lanes > 1 && text.len() == shape.lanes as usize;
    if digits && text.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
        return (0..text.len()).filter_map(|at| text.get(at..=at)).collect();
    }
    if text.is_empty() {
        return Vec::new();
    }
    text.trim_end_matches(',').split([',', '\n']).collect()
}

impl Kind {
    /// The bits of one word of `width` bits, least significant first.
    ///
    /// # Errors
    /// What is wrong with the text, and what is taken; not the text, which may be a secret.
    pub fn parse_word(self, width: u32, text: &str) -> Result<Vec<bool>, String> {
        let number = match (self, text) {
            (Kind::Bool, "true" | "1") => Some(BigInt::from(1)),
            (Kind::Bool, "false" | "0") => Some(BigInt::ZERO),
            (Kind::Bool, _) => None,
            (Kind::Fixed { fraction }, _) => fixed(text, fraction, width),
            _ => whole(text, width),
        };
        let number = number.ok_or_else(|| format!("no {}", self.taken(width)))?;
        let (low, high) = self.range(width);
        if number < low || number > high {
            return Err(format!("out of range: {}", self.taken(width)));
        }
        // Two's complement: adding 2^width gives the bits of a negative number.
        let number =
            if number < BigInt::ZERO { number + (BigInt::from(1) << width) } else { number };
        let number = number.magnitude();
        Ok((0..u64::from(width)).map(|bit| number.bit(bit)).collect())
    }

    /// One word as text that [`Self::parse_word`] takes.
    #[must_use]
    pub fn show_word(self, bits: &[bool]) -> String {
        let negative = matches!(self, Kind::Int | Kind::Fixed { .. }) && bits.last() == Some(&true);
        match self {
            Kind::Bool => (bits.first() == Some(&true)).to_string(),
            _ if bits.len() == 1 && self == Kind::Bits => u8::from(bits[0]).to_string(),
            Kind::Bits => format!("0x{}", cenote_circuit::hex_from_bits(bits)),
            _ if bits.len() > MAX_NUMBER as usize => {
                format!("0x{}", cenote_circuit::hex_from_bits(bits))
            }
            _ => {
                let mut number = BigInt::from_biguint(Sign::Plus, unsigned(bits));
                if negative {
                    number -= BigInt::from(1) << bits.len();
                }
                match self {
                    Kind::Fixed { fraction } => decimal(&number, fraction),
                    _ => number.to_string(),
                }
            }
        }
    }

    /// The smallest and the largest word, as whole numbers; hexadecimal gives the bits of any.
    fn range(self, width: u32) -> (BigInt, BigInt) {
        let power = |bits: u32| BigInt::from(1) << bits;
        match self {
            Kind::Int | Kind::Fixed { .. } => (-power(width - 1), power(width - 1) - 1),
            _ => (BigInt::ZERO, power(width) - 1),
        }
    }

    fn taken(self, width: u32) -> String {
        if self == Kind::Bool {
            return "truth value: use true or false".to_owned();
        }
        if width > 128 {
            return format!("{self} of {width} bits");
        }
        let (low, high) = self.range(width);
        match self {
            Kind::Fixed { fraction } => {
                format!(
                    "{self} b{width}: {} to {}",
                    decimal(&low, fraction),
                    decimal(&high, fraction)
                )
            }
            _ => format!("{self} b{width}: {low} to {high}"),
        }
    }
}

fn unsigned(bits: &[bool]) -> BigUint {
    let digits: Vec<u8> = bits.iter().map(|bit| u8::from(*bit)).collect();
    BigUint::from_radix_le(&digits, 2).unwrap_or_default()
}

/// A decimal number, or `0x` and hexadecimal digits.
fn whole(text: &str, width: u32) -> Option<BigInt> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (digits, 10),
    };
    // Decimal digits take quadratic time; nobody writes wide words so.
    let most = if radix == 16 { width as usize / 4 + 64 } else { MAX_NUMBER as usize };
    if digits.len() > most || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    Some(if negative { -number } else { number })
}

/// A decimal number with a point, times 2^`fraction`, rounded to the nearest, halves away from zero.
fn fixed(text: &str, fraction: u32, width: u32) -> Option<BigInt> {
    if text.contains("0x") {
        return None;
    }
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    let digits = before.trim_start_matches('-').len() + after.len();
    let most = MAX_NUMBER as usize;
    if digits > most || width > MAX_NUMBER || !after.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = whole(&format!("{before}{after}"), width)?;
    let negative = number.sign() == Sign::Minus;
    let ten = BigUint::from(10u32).pow(after.len() as u32);
    let scaled: BigUint = (number.magnitude() << (fraction + 1)) / ten;
    let rounded = BigInt::from((scaled + 1u32) >> 1);
    Some(if negative { -rounded } else { rounded })
}

/// `number` / 2^`fraction`, exactly.
fn decimal(number: &BigInt, fraction: u32) -> String {
    let scaled = number.magnitude() * BigUint::from(5u32).pow(fraction);
    let digits = scaled.to_string();
    let places = fraction as usize;
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (before, after) = padded.split_at(padded.len() - places);
    let after = after.trim_end_matches('0');
    let sign = if number.sign() == Sign::Minus { "-" } else { "" };
    if after.is_empty() { format!("{sign}{before}") } else { format!("{sign}{before}.{after}") }
}

#[cfg(test)]
mod tests {
    use cenote_circuit::{Owner, bits_of, value_of};
    use proptest::prelude::*;

    use super::*;

    fn port(kind: Kind, lanes: u32, width: u32) -> Input {
        Input { name: "x".to_owned(), owner: Owner::Garbler, kind, shape: Shape { lanes, width } }
    }

    fn parsed(kind: Kind, width: u32, text: &str) -> Result<u128, String> {
        port(kind, 1, width).parse(text).map(|bits| value_of(&bits)).map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_of_each_kind() {
        let fixed = Kind::Fixed { fraction: 4 };
        for (kind, width, text, value) in [
            (Kind::UInt, 8, "255", 255),
            (Kind::UInt, 8, "0xff", 255),
            (Kind::Int, 8, "-128", 128),
            (Kind::Int, 8, "127", 127),
            (Kind::Bool, 1, "true", 1),
            (Kind::Bits, 12, "0xabc", 0xabc),
            (fixed, 8, "1.5", 24),
            (fixed, 8, "-1.5", 256 - 24),
            (fixed, 8, "-0.03125", 255),
            (fixed, 8, "-0.03", 0),
            (fixed, 8, ".5", 8),
            (fixed, 8, "3", 48),
        ] {
            assert_eq!(parsed(kind, width, text), Ok(value), "{kind} {width} {text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_row_and_the_range() {
        let fixed = Kind::Fixed { fraction: 4 };
        for (kind, width, text, said) in [
            (Kind::UInt, 8, "256", "`x`: out of range: uint b8: 0 to 255"),
            (Kind::UInt, 8, "-1", "`x`: out of range: uint b8: 0 to 255"),
            (Kind::Int, 8, "128", "`x`: out of range: int b8: -128 to 127"),
            (Kind::Int, 8, "1.5", "`x`: no int b8: -128 to 127"),
            (Kind::Bool, 1, "2", "`x`: no truth value: use true or false"),
            (fixed, 8, "8", "`x`: out of range: fixed.4 b8: -8 to 7.9375"),
            (fixed, 8, "1.-5", "`x`: no fixed.4 b8: -8 to 7.9375"),
            (fixed, 8, "", "`x`: 1 values are needed, 0 were given"),
            (Kind::UInt, 8, "1,2", "`x`: 1 values are needed, 2 were given"),
        ] {
            assert_eq!(parsed(kind, width, text), Err(said.to_owned()));
        }
        let rows = port(Kind::UInt, 3, 8);
        let wrong = rows.parse("1, 2, x").expect_err("no number");
        assert_eq!(wrong.to_string(), "`x`, row 3 (the first is row 1): no uint b8: 0 to 255");
        let long = "9".repeat(1 << 20);
        assert!(parsed(Kind::UInt, 8, &long).is_err_and(|said| said.len() < 200));
    }

    #[test]
    fn vectors_stand_between_commas_on_lines_or_as_bits() {
        let rows = port(Kind::UInt, 3, 8);
        assert_eq!(rows.parse("1,2,3"), rows.parse("1\n2\n3\n"));
        assert_eq!(value_of(&rows.parse("1,2,3").expect("three")), 0x03_02_01);
        let bits = port(Kind::Bits, 4, 1);
        assert_eq!(bits.parse("1011"), Ok(vec![true, false, true, true]));
        assert_eq!(bits.parse("1,0,1,1"), bits.parse("1011"));
        assert!(bits.parse("10110").is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(value: u64, width in 1u32..=64, kind in 0u32..4) {
            let kind = match kind {
                0 => Kind::Bits,
                1 => Kind::UInt,
                2 => Kind::Int,
                _ => Kind::Fixed { fraction: width / 2 },
            };
            let bits = bits_of(u128::from(value), width as usize);
            prop_assert_eq!(kind.parse_word(width, &kind.show_word(&bits)), Ok(bits));
        }
    }
}

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
    /// The problem, and what is taken.
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
    /// commas or on lines of their own. Numbers are decimal, with a point and an exponent if need be, or
    /// hexadecimal after `0x`; lanes of one bit may also stand as digits side by side.
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
    /// Returns the problem with the text, and what is taken; not the text, which may be a secret.
    pub fn parse_word(self, width: u32, text: &str) -> Result<Vec<bool>, String> {
        let truth = |word: &str| text.eq_ignore_ascii_case(word);
        if text.is_empty() || truth("nan") {
            return Err(format!("a missing value: {}", self.taken(width)));
        }
        let number = match self {
            Kind::Bool if truth("true") => Some(BigInt::from(1)),
            Kind::Bool if truth("false") => Some(BigInt::ZERO),
            Kind::Bool => whole(text, width).filter(|number| number.magnitude().bits() <= 1),
            Kind::Fixed { fraction } => fixed(text, fraction, width),
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

/// A decimal number without a fraction, or `0x` and hexadecimal digits.
fn whole(text: &str, width: u32) -> Option<BigInt> {
    let (negative, digits) = signed(text);
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => hexadecimal(hex, width)?,
        None => {
            let (dividend, divisor) = ratio(digits)?;
            (&dividend % &divisor == BigUint::ZERO).then(|| dividend / divisor)?
        }
    };
    Some(with_sign(negative, magnitude))
}

/// A decimal number times 2^`fraction`, rounded to the nearest whole number, halves to the even one.
fn fixed(text: &str, fraction: u32, width: u32) -> Option<BigInt> {
    let (negative, digits) = signed(text);
    let (dividend, divisor) = ratio(digits).filter(|_| width <= MAX_NUMBER)?;
    let dividend = dividend << fraction;
    let (below, rest) = (&dividend / &divisor, (dividend % &divisor) << 1u32);
    let up = rest > divisor || (rest == divisor && below.bit(0));
    Some(with_sign(negative, below + u32::from(up)))
}

/// Whether a text reads as a number of any kind.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = signed(text).1;
    digits.starts_with("0x") || ratio(digits).is_some()
}

fn signed(text: &str) -> (bool, &str) {
    text.strip_prefix('-').map_or((false, text), |digits| (true, digits))
}

fn with_sign(negative: bool, magnitude: BigUint) -> BigInt {
    BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude)
}

fn hexadecimal(digits: &str, width: u32) -> Option<BigUint> {
    let short = digits.len() <= width as usize / 4 + 64;
    (short && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| BigUint::parse_bytes(digits.as_bytes(), 16))
        .flatten()
}

/// A decimal number without a sign as dividend and divisor: digits, perhaps a point, perhaps an
/// exponent, as in `5000000.0`, `3e-05` and `1E+06`.
fn ratio(text: &str) -> Option<(BigUint, BigUint)> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{before}{after}");
    // Decimal digits take quadratic time; nobody writes wide words so.
    if digits.len() > MAX_NUMBER as usize || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = BigUint::parse_bytes(digits.as_bytes(), 10)?;
    let shift: i32 =
        exponent.parse().ok().filter(|shift: &i32| shift.unsigned_abs() <= MAX_NUMBER)?;
    let places = shift - after.len() as i32;
    let power = BigUint::from(10u32).pow(places.unsigned_abs());
    Some(if places < 0 { (number, power) } else { (number * power, BigUint::from(1u32)) })
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
    use cenote_circuit::{Role, bits_of, value_of};
    use proptest::prelude::*;

    use super::*;
    use crate::path::PortPath;

    fn port(kind: Kind, lanes: u32, width: u32) -> Input {
        let (name, path) = ("x".to_owned(), PortPath::flat("x", lanes));
        Input { name, path, owner: Role::Garbler, kind, shape: Shape { lanes, width } }
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
            (fixed, 8, "-0.04", 255),
            (fixed, 8, "-0.03125", 0),
            (fixed, 8, "-0.03", 0),
            (fixed, 8, ".5", 8),
            (fixed, 8, "3", 48),
            // Halves go to the even one, as Python's `round` has it.
            (fixed, 8, "0.03125", 0),
            (fixed, 8, "0.09375", 2),
            (fixed, 8, "0.15625", 2),
            (fixed, 8, "0.031250000000000000000001", 1),
            (fixed, 8, "-0.09375", 256 - 2),
            (fixed, 8, "3e-05", 0),
            (fixed, 8, "62.5e-3", 1),
            (fixed, 8, "0.5E+1", 80),
            (Kind::UInt, 32, "5000000.0", 5_000_000),
            (Kind::UInt, 32, "5e6", 5_000_000),
            (Kind::UInt, 32, "1.25E+02", 125),
            (Kind::UInt, 32, "500e-2", 5),
            (Kind::UInt, 64, "18446744073709551615.000", u128::from(u64::MAX)),
            (Kind::Int, 8, "-1.0", 255),
            (Kind::UInt, 12, "0x1e5", 0x1e5),
            (Kind::Bool, 1, "TRUE", 1),
            (Kind::Bool, 1, "False", 0),
            (Kind::Bool, 1, "1.0", 1),
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
            (Kind::UInt, 8, "12.5e0", "`x`: no uint b8: 0 to 255"),
            (Kind::UInt, 8, "1e99", "`x`: out of range: uint b8: 0 to 255"),
            (Kind::UInt, 8, "1e99999999", "`x`: no uint b8: 0 to 255"),
            (Kind::UInt, 8, "e5", "`x`: no uint b8: 0 to 255"),
            (Kind::UInt, 8, "1e", "`x`: no uint b8: 0 to 255"),
            (Kind::UInt, 8, "1e1.5", "`x`: no uint b8: 0 to 255"),
            (Kind::UInt, 8, "nan", "`x`: a missing value: uint b8: 0 to 255"),
            (fixed, 8, "7.96875", "`x`: out of range: fixed.4 b8: -8 to 7.9375"),
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

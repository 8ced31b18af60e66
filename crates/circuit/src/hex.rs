//! Port values as hexadecimal numbers, most significant digit first.

use crate::bits::{bits_of, value_of};
use crate::program::InputPort;

/// Why a text is no value for a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// A character that is no hexadecimal digit; the position is counted from 1. The character
    /// itself is not repeated, because an input is a secret.
    #[error("the value for `{port}` has no hexadecimal digit at position {position}")]
    Digit {
        /// The port's name.
        port: String,
        /// Where the character stands.
        position: usize,
    },
    /// No digits at all.
    #[error("the value for `{port}` is empty; write 0 for zero")]
    Empty {
        /// The port's name.
        port: String,
    },
    /// A number that does not fit the port.
    #[error("the value for `{port}` needs {needed} bits, the port has {bits}")]
    TooWide {
        /// The port's name.
        port: String,
        /// Bits of the port.
        bits: usize,
        /// Bits of the number without leading zeros.
        needed: usize,
    },
}

/// The bits of the number `text` (an optional `0x`, then hexadecimal digits, most significant
/// first), least significant bit first, extended by zeros to the `bits` of the port named `port`.
pub fn value_from_hex(port: &str, bits: usize, text: &str) -> Result<Vec<bool>, HexError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() {
        return Err(HexError::Empty { port: port.to_owned() });
    }
    let prefix = text.len() - digits.len();
    let mut value = Vec::with_capacity(4 * digits.len());
    if let Some(i) = digits.bytes().position(|byte| !byte.is_ascii_hexdigit()) {
        return Err(HexError::Digit { port: port.to_owned(), position: prefix + i + 1 });
    }
    for digit in digits.chars().rev().filter_map(|digit| digit.to_digit(16)) {
        value.extend(bits_of(digit.into(), 4));
    }
    let needed = value.iter().rposition(|bit| *bit).map_or(0, |top| top + 1);
    if needed > bits {
        return Err(HexError::TooWide { port: port.to_owned(), bits, needed });
    }
    value.resize(bits, false);
    Ok(value)
}

impl InputPort {
    /// The bits of the hexadecimal number `text`, as wide as the port; see [`value_from_hex`].
    pub fn value_from_hex(&self, text: &str) -> Result<Vec<bool>, HexError> {
        value_from_hex(&self.name, self.bits, text)
    }
}

/// The number that `bits` (least significant first) stand for, in ceil(n / 4) hexadecimal digits,
/// at least one.
pub fn hex_from_bits(bits: &[bool]) -> String {
    let digit = |nibble: &[bool]| char::from_digit(value_of(nibble) as u32, 16).unwrap_or('0');
    if bits.is_empty() { "0".to_owned() } else { bits.chunks(4).rev().map(digit).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_most_significant_digit_first() {
        assert_eq!(value_from_hex("x", 8, "0x1e"), Ok(bits_of(0x1e, 8)));
        assert_eq!(value_from_hex("x", 5, "01E"), Ok(bits_of(0x1e, 5)));
        assert_eq!(hex_from_bits(&bits_of(0x1e, 5)), "1e");
        assert_eq!(hex_from_bits(&bits_of(1, 9)), "001");
        assert_eq!(hex_from_bits(&[]), "0");
        assert_eq!(value_from_hex("x", 0, "0"), Ok(vec![]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let port = || "x".to_owned();
        let wide = HexError::TooWide { port: port(), bits: 4, needed: 5 };
        assert_eq!(value_from_hex("x", 4, "1e"), Err(wide));
        assert_eq!(value_from_hex("x", 4, ""), Err(HexError::Empty { port: port() }));
        assert_eq!(value_from_hex("x", 4, "0x"), Err(HexError::Empty { port: port() }));
        let digit = HexError::Digit { port: port(), position: 4 };
        assert_eq!(value_from_hex("x", 4, "0x1g"), Err(digit));
        assert!(value_from_hex("x", 64, "é").is_err());
    }

    proptest! {
        #[test]
        fn there_and_back(bits in prop::collection::vec(any::<bool>(), 1..300)) {
            prop_assert_eq!(value_from_hex("x", bits.len(), &hex_from_bits(&bits)), Ok(bits));
        }
    }
}

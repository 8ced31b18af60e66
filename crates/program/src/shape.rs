//! Shapes of values, kinds of ports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_VALUE_BITS, MAX_WIDTH};

/// The shape of a value: `lanes` words of `width` bits each. A scalar has one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Number of words.
    pub lanes: u32,
    /// Bits of each word.
    pub width: u32,
}

impl Shape {
    /// One word of `width` bits.
    #[must_use]
    pub const fn word(width: u32) -> Shape {
        Shape { lanes: 1, width }
    }

    /// `lanes` words of `width` bits.
    #[must_use]
    pub const fn vector(lanes: u32, width: u32) -> Shape {
        Shape { lanes, width }
    }

    /// Bits of all words.
    #[must_use]
    pub const fn bits(self) -> usize {
        self.lanes as usize * self.width as usize
    }

    /// Why no value may have this shape, if none may.
    pub(crate) fn flaw(self) -> Option<String> {
        let bits = u64::from(self.lanes) * u64::from(self.width);
        if self.lanes == 0 || self.width == 0 {
            return Some("empty".to_owned());
        }
        (self.width > MAX_WIDTH || bits > MAX_VALUE_BITS).then(|| {
            format!(
                "too large: a word has at most {MAX_WIDTH} bits and a value {MAX_VALUE_BITS}; go through it in parts, in a loop"
            )
        })
    }
}

/// `b32`, or `100xb32` for more than one lane.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes != 1 {
            write!(f, "{}x", self.lanes)?;
        }
        write!(f, "b{}", self.width)
    }
}

/// How people read the words of a port. Operations do not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A string of bits.
    Bits,
    /// True or false; one bit wide.
    Bool,
    /// An unsigned number.
    UInt,
    /// A number in two's complement.
    Int,
    /// A number in two's complement, to be divided by 2^`fraction`.
    Fixed {
        /// Bits after the binary point.
        fraction: u32,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Bits => f.write_str("bits"),
            Kind::Bool => f.write_str("bool"),
            Kind::UInt => f.write_str("uint"),
            Kind::Int => f.write_str("int"),
            Kind::Fixed { fraction } => write!(f, "fixed.{fraction}"),
        }
    }
}

//! The programs that papers on secure computation measure, built anew for every size.
//!
//! All loops stay loops, so a program of any size takes a few kilobytes.

mod edit;
mod mod_exp;
mod simple;

pub use edit::edit_distance;
pub use mod_exp::mod_exp;
pub use simple::{hamming, sort};

use crate::builder::Builder;
use crate::error::BuildError;
use crate::op::{ValueId, WordOp};
use crate::shape::Shape;

/// An operation with one result.
fn word(
    b: &mut Builder,
    op: WordOp,
    attrs: &[u32],
    args: &[ValueId],
) -> Result<ValueId, BuildError> {
    let results = b.word(op, attrs, args)?;
    results.first().copied().ok_or_else(|| BuildError::new("an operation without a result"))
}

/// `lanes` lanes of one bit, all the same.
fn bits(b: &mut Builder, lanes: u32, bit: bool) -> Result<ValueId, BuildError> {
    b.constant(Shape::vector(lanes, 1), &vec![bit; lanes as usize])
}

/// Bits that hold the number.
fn bits_for(number: u64) -> u32 {
    number.checked_ilog2().map_or(1, |log| log + 1)
}

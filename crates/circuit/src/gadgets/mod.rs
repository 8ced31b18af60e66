//! The standard library: integers, comparisons, sorting, ciphers.
//!
//! Every gadget is a function over [`Gates`]. Numbers are slices of wires, least significant bit
//! first; signed numbers are in two's complement. Operands of different widths where equal ones
//! are asked for are a bug of the program and panic. Independent ANDs are handed over in
//! batches. The `_many` forms run a gadget on many lanes at once, and [`crate::Lanes`] makes such a
//! form of anything else.
//!
//! `docs/gadgets.md` lists what each one costs.

#![allow(clippy::type_complexity, reason = "an alias for two numbers of wires would hide them")]

mod aes;
mod arith;
mod columns;
mod compare;
mod div;
mod edit;
mod logic;
mod matrix;
mod modular;
mod mul;
mod network;
mod overflow;
mod popcount;
mod prefix;
mod select;
mod sha256;
mod shift;
mod sort;
mod square;
mod table;
mod top;

pub use aes::{Aes128Key, aes128, aes128_many};
pub use arith::{
    add, add_carry, add_constant, add_many, negate, negate_if, negate_many, sub, sub_borrow,
    sub_many, sum, sum_signed,
};
pub use compare::{
    eq, eq_many, is_zero, le, le_signed, lt, lt_many, lt_signed, lt_signed_many, nonzero,
};
pub use div::{divide, divide_many, divide_signed, divide_signed_many, isqrt};
pub use edit::{Deltas, edit_cells};
pub use logic::{all_set, and_bits, any_set, constant_bits, not_bits, or, or_bits, xor_bits};
pub use matrix::{dot, matrix_product};
pub use modular::{MontgomeryContext, mod_exp, mod_exp_step, mont_mul, mont_powers, mont_square};
pub use mul::{mul, mul_constant, mul_full, mul_full_many, mul_many, mul_signed_full};

pub use network::{Network, NetworkKind};
pub use overflow::{
    add_saturating, add_signed_overflow, add_signed_saturating, mul_overflow, mul_saturating,
    mul_signed_overflow, mul_signed_saturating, sub_saturating, sub_signed_overflow,
    sub_signed_saturating,
};
pub use popcount::{hamming, hamming_many, popcount, popcount_many, sum_bits};
pub use prefix::{leading_zeros, prefix_and, prefix_or, trailing_zeros};
pub use select::{
    abs, max, max_many, max_signed, min, min_many, min_signed, mux, mux_each, swap_if,
};
pub use sha256::{SHA256_INITIAL_STATE, sha256_compress, sha256_compress_many};
pub use shift::{
    rotate_left, rotate_left_by, shift_left, shift_left_by, shift_right, shift_right_by,
    shift_right_signed, shift_right_signed_by,
};
pub use sort::{Order, merge, merge_with, sort, sort_many, sort_with};
pub use square::{square, square_full, square_signed_full};
pub(crate) use table::inside;
pub use table::{decode, lookup, store};
pub use top::{Extreme, arg_max, arg_min, top_k};

use crate::gates::Gates;

/// The bits of a number on the machine `G`, least significant first.
pub type Bits<G> = Vec<<G as Gates>::Wire>;

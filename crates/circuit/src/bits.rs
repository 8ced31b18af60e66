//! Numbers and bits: least significant bit first, everywhere.

/// The low `width` bits of `value`, least significant first; bits from 128 on are zero.
pub fn bits_of(value: u128, width: usize) -> Vec<bool> {
    (0..width).map(|bit| bit < 128 && (value >> bit) & 1 == 1).collect()
}

/// The number that `bits` stand for; bits from 128 on are ignored.
pub fn value_of(bits: &[bool]) -> u128 {
    bits.iter().take(128).rev().fold(0, |value, bit| (value << 1) | u128::from(*bit))
}

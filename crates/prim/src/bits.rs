//! Packing of bits into bytes: bit `i` of a sequence is bit `i % 8` of byte `i / 8`.

/// Bytes needed for `bits` packed bits.
pub const fn packed_len(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Packs `bits`; the unused bits of the last byte are zero.
pub fn pack(bits: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let bits = bits.into_iter();
    let mut bytes = Vec::with_capacity(packed_len(bits.size_hint().0));
    for (i, bit) in bits.enumerate() {
        if i % 8 == 0 {
            bytes.push(0);
        }
        bytes[i / 8] |= (bit as u8) << (i % 8);
    }
    bytes
}

/// Bit `i` of a packed sequence.
///
/// # Panics
/// If the sequence is shorter.
#[inline(always)]
pub fn get(bytes: &[u8], i: usize) -> bool {
    (bytes[i / 8] >> (i % 8)) & 1 == 1
}

/// Whether the unused bits of the last byte of `count` packed bits are zero and the length fits:
/// the only encoding a decoder accepts.
pub fn is_canonical(bytes: &[u8], count: usize) -> bool {
    bytes.len() == packed_len(count)
        && (count.is_multiple_of(8) || bytes.last().is_none_or(|last| last >> (count % 8) == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pack_then_get_is_the_identity() {
        let bits: Vec<bool> = (0..77).map(|i| (i * i) % 3 == 1).collect();
        let packed = pack(bits.iter().copied());
        assert_eq!(packed.len(), packed_len(77));
        assert!(is_canonical(&packed, 77));
        assert!((0..77).all(|i| get(&packed, i) == bits[i]));
    }

    #[test]
    fn stray_bits_and_wrong_lengths_are_not_canonical() {
        assert!(!is_canonical(&[0b1000], 3));
        assert!(is_canonical(&[0b111], 3));
        assert!(!is_canonical(&[0, 0], 3));
        assert!(is_canonical(&[], 0));
    }
}

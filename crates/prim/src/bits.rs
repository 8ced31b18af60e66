//! Packing of bits into bytes: bit `i` of a sequence is bit `i % 8` of byte `i / 8`.

/// Bytes needed for `bits` packed bits.
pub const fn packed_len(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Packs `bits`; the unused bits of the last byte are zero.
pub fn pack(bits: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let bits = bits.into_iter();
    let mut bytes = Vec::with_capacity(packed_len(bits.size_hint().0));
    pack_into(&mut bytes, bits);
    bytes
}

/// [`pack`] over what is in `bytes`.
pub fn pack_into(bytes: &mut Vec<u8>, bits: impl IntoIterator<Item = bool>) {
    bytes.clear();
    let (mut word, mut n) = (0u64, 0);
    bits.into_iter().for_each(|bit| {
        word |= u64::from(bit) << n;
        n += 1;
        if n == 64 {
            bytes.extend_from_slice(&word.to_le_bytes());
            (word, n) = (0, 0);
        }
    });
    bytes.extend_from_slice(&word.to_le_bytes()[..packed_len(n)]);
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
        let mut over = vec![0xff; 5];
        for n in [0, 1, 7, 8, 63, 64, 65, 77, 128, 200] {
            let bits: Vec<bool> = (0..n).map(|i| (i * i) % 3 == 1).collect();
            let packed = pack(bits.iter().copied());
            assert!(is_canonical(&packed, n));
            assert!((0..n).all(|i| get(&packed, i) == bits[i]));
            pack_into(&mut over, bits);
            assert_eq!(over, packed);
        }
    }

    #[test]
    fn stray_bits_and_wrong_lengths_are_not_canonical() {
        assert!(!is_canonical(&[0b1000], 3));
        assert!(is_canonical(&[0b111], 3));
        assert!(!is_canonical(&[0, 0], 3));
        assert!(is_canonical(&[], 0));
    }
}

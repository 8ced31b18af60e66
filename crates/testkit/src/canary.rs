//! Searching a transcript for a secret, at every bit offset.

/// Bits of a canary's half: what is searched for.
const WINDOW: usize = 64;

/// Whether either half of the 128 bits of `canary` occurs in `bytes`, at any bit offset: bits in
/// order or in reverse, as they are or negated, packed from the low or from the high end of bytes.
///
/// By chance it occurs with probability about 2^-57 in each million bits.
///
/// # Panics
/// When the canary has not 128 bits.
#[must_use]
pub fn occurs(canary: &[bool], bytes: &[u8]) -> bool {
    assert_eq!(canary.len(), 2 * WINDOW, "a canary has 128 bits");
    let window = |bits: &[bool]| bits.iter().fold(0u64, |w, &bit| w << 1 | u64::from(bit));
    let halves = [window(&canary[..WINDOW]), window(&canary[WINDOW..])];
    let wanted: Vec<u64> =
        halves.iter().flat_map(|w| [*w, !w, w.reverse_bits(), !w.reverse_bits()]).collect();
    let low_first = |byte: u8, i: u32| byte >> i & 1;
    let high_first = |byte: u8, i: u32| byte >> (7 - i) & 1;
    search(&wanted, bytes, low_first) || search(&wanted, bytes, high_first)
}

fn search(wanted: &[u64], bytes: &[u8], bit_of: impl Fn(u8, u32) -> u8) -> bool {
    let mut window = 0u64;
    for (n, byte) in bytes.iter().enumerate() {
        for i in 0..8 {
            window = window << 1 | u64::from(bit_of(*byte, i));
            if 8 * n + i as usize + 1 >= WINDOW && wanted.contains(&window) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_prim::{Block, Prg, bits};

    #[test]
    fn found_at_every_offset_in_every_order() {
        let mut prg = Prg::new(Block::new(3));
        let canary = cenote_circuit::bits_of(prg.block().to_u128(), 128);
        let noise = cenote_circuit::bits_of(prg.block().to_u128(), 100);
        let reversed: Vec<bool> = canary.iter().rev().copied().collect();
        let negated: Vec<bool> = canary.iter().map(|bit| !bit).collect();
        for offset in 0..20 {
            for order in [&canary, &reversed, &negated] {
                for half in [&order[..], &order[..64], &order[64..]] {
                    let all = [&noise[..offset], half, &noise[offset..]].concat();
                    let bytes = bits::pack(all);
                    assert!(occurs(&canary, &bytes), "offset {offset}");
                    let swapped: Vec<u8> = bytes.iter().map(|byte| byte.reverse_bits()).collect();
                    assert!(occurs(&canary, &swapped), "offset {offset}");
                }
            }
        }
        let mut bytes = [0; 10_000];
        prg.fill_bytes(&mut bytes);
        assert!(!occurs(&canary, &bytes));
        assert!(!occurs(&canary, &bits::pack(canary[..63].iter().copied())));
    }
}

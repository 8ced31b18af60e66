//! AES-128 under many keys, each used for a few blocks.

use crate::Block;
use crate::aes::Aes128;
use crate::simd::{self, Cpu};

/// Writes `per` blocks for each key: `out[i * per + j]` is the encryption under `keys[i]` of
/// `tweaks[i]` with `j` added to its low 64 bits (modulo 2^64).
///
/// # Panics
/// If there is not a tweak for every key, or `out` has not `per` blocks for every key.
pub fn expand(keys: &[Block], tweaks: &[Block], per: usize, out: &mut [Block]) {
    expand_on(Cpu::current(), keys, tweaks, per, out);
}

fn expand_on(cpu: Option<Cpu>, keys: &[Block], tweaks: &[Block], per: usize, out: &mut [Block]) {
    assert_eq!(keys.len(), tweaks.len());
    assert_eq!(keys.len() * per, out.len());
    if let Some(cpu) = cpu {
        return simd::keyed::expand(cpu, keys, tweaks, per, out);
    }
    for ((key, tweak), out) in keys.iter().zip(tweaks).zip(out.chunks_exact_mut(per.max(1))) {
        let tweak = tweak.to_u128();
        for (block, j) in out.iter_mut().zip(0..) {
            let (high, low) = (tweak >> 64, (tweak as u64).wrapping_add(j));
            *block = Block::new(high << 64 | u128::from(low));
        }
        Aes128::on(None, *key).encrypt(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    #[test]
    fn blocks_are_encryptions_of_counted_tweaks_at_every_level() {
        let (mut keys, mut tweaks) = ([Block::ZERO; 71], [Block::ZERO; 71]);
        Prg::new(Block::new(1)).fill(&mut keys);
        Prg::new(Block::new(2)).fill(&mut tweaks);
        // The count runs over the border of the low half, without a carry.
        tweaks[1] = Block::new(5 << 64 | u128::from(u64::MAX));
        let pers = (0..=9).chain([24, 33, 128, 192]);
        for (cpu, per) in Cpu::all().into_iter().flat_map(|c| pers.clone().map(move |p| (c, p))) {
            let most = if per < 10 { keys.len() } else { 6 };
            for len in 0..most {
                let mut out = vec![Block::new(9); per * len];
                expand_on(cpu, &keys[1..=len], &tweaks[1..=len], per, &mut out);
                for (i, block) in out.into_iter().enumerate() {
                    let (key, tweak) = (keys[1 + i / per], tweaks[1 + i / per].to_u128());
                    let low = (tweak as u64).wrapping_add((i % per) as u64);
                    let tweak = Block::new(tweak >> 64 << 64 | u128::from(low));
                    assert_eq!(block, Aes128::on(None, key).encrypt_one(tweak));
                }
            }
        }
    }
}

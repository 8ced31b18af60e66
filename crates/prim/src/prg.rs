use zeroize::Zeroize;

use crate::Block;
use crate::aes::Aes128;
use crate::simd::{self, Cpu};

/// Pseudorandom generator: AES-128 in counter mode under a secret seed.
///
/// Equal seeds give equal streams on every processor. The stream is a sequence of blocks;
/// [`Prg::fill_bytes`] uses up whole blocks.
#[derive(Clone)]
pub struct Prg {
    aes: Aes128,
    counter: u128,
}

impl Prg {
    /// The generator with this seed.
    pub fn new(seed: Block) -> Prg {
        Prg { aes: Aes128::new(seed), counter: 0 }
    }

    /// A generator seeded by the operating system.
    ///
    /// # Panics
    /// As [`crate::os_bytes`].
    pub fn from_os() -> Prg {
        Prg::new(crate::os_block())
    }

    /// The next block.
    pub fn block(&mut self) -> Block {
        let mut out = [Block::ZERO];
        self.fill(&mut out);
        out[0]
    }

    /// The next 32 bytes.
    pub fn bytes32(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        self.fill_bytes(&mut out);
        out
    }

    /// Fills `out` with the next blocks.
    pub fn fill(&mut self, out: &mut [Block]) {
        self.aes.counter_stream(self.counter, out);
        self.counter = self.counter.wrapping_add(out.len() as u128);
    }

    /// Fills `out` from the next `ceil(out.len() / 16)` blocks.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(1024) {
            let mut blocks = [Block::ZERO; 64];
            let used = chunk.len().div_ceil(16);
            self.fill(&mut blocks[..used]);
            chunk.copy_from_slice(&Block::as_bytes(&blocks)[..chunk.len()]);
            blocks.zeroize();
        }
    }

    /// Writes the first two blocks of the generator with seed `seeds[i]` to `out[2 i]` and
    /// `out[2 i + 1]`: a level of a GGM tree, many seeds in flight.
    ///
    /// # Panics
    /// If `out` is not twice as long as `seeds`.
    pub fn first_pairs(seeds: &[Block], out: &mut [Block]) {
        Prg::first_pairs_on(Cpu::current(), seeds, out);
    }

    fn first_pairs_on(cpu: Option<Cpu>, seeds: &[Block], out: &mut [Block]) {
        assert_eq!(out.len(), 2 * seeds.len());
        match cpu {
            Some(cpu) => simd::aes::first_pairs(cpu, seeds, out),
            None => {
                for (seed, pair) in seeds.iter().zip(out.chunks_exact_mut(2)) {
                    Aes128::on(None, *seed).counter_stream(0, pair);
                }
            }
        }
    }

    /// Sum of `blocks[i]` times the i-th next block in GF(2^128), without storing those.
    pub(crate) fn inner_product(&mut self, blocks: &[Block]) -> Block {
        let sum = self.aes.counter_inner_product(self.counter, blocks);
        self.counter = self.counter.wrapping_add(blocks.len() as u128);
        sum
    }

    /// A child generator, independent of everything else this one produces.
    pub fn fork(&mut self) -> Prg {
        Prg::new(self.block())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_does_not_depend_on_how_it_is_cut() {
        let mut whole = [Block::ZERO; 200];
        Prg::new(Block::new(3)).fill(&mut whole);
        let mut parts = Prg::new(Block::new(3));
        let mut cut = [Block::ZERO; 200];
        let (a, rest) = cut.split_at_mut(1);
        let (b, c) = rest.split_at_mut(62);
        for part in [a, b, c] {
            parts.fill(part);
        }
        assert_eq!(whole, cut);
        let mut bytes = vec![0; 3200];
        Prg::new(Block::new(3)).fill_bytes(&mut bytes);
        assert_eq!(bytes, Block::as_bytes(&whole));
    }

    #[test]
    fn first_pairs_are_the_starts_of_the_streams_at_every_level() {
        let mut seeds = [Block::ZERO; 71];
        Prg::new(Block::new(8)).fill(&mut seeds);
        for cpu in Cpu::all() {
            for len in 0..seeds.len() {
                let mut pairs = vec![Block::ZERO; 2 * len];
                Prg::first_pairs_on(cpu, &seeds[1..=len], &mut pairs);
                for (seed, pair) in seeds[1..].iter().zip(pairs.chunks(2)) {
                    let mut stream = Prg::new(*seed);
                    assert_eq!(pair, [stream.block(), stream.block()]);
                }
            }
        }
    }

    #[test]
    fn seeds_separate_streams() {
        assert_ne!(Prg::new(Block::new(1)).block(), Prg::new(Block::new(2)).block());
        let mut parent = Prg::new(Block::new(1));
        assert_ne!(parent.fork().block(), parent.fork().block());
    }

    #[test]
    fn first_block_is_aes_of_zero() {
        // FIPS-197 does not list this pair; NIST's KAT for key 0, plaintext 0 does.
        let expected = u128::from_be_bytes(0x66e94bd4ef8a2c3b884cfa59ca342b2e_u128.to_be_bytes());
        assert_eq!(Prg::new(Block::ZERO).block().to_bytes(), expected.to_be_bytes());
    }
}

//! AES-128 with a public or secret key, many blocks in flight.

use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

use crate::Block;
use crate::gf128::{inner_product_on, reduce};
use crate::simd::Cpu;
use crate::simd::aes::{Mode, Schedule};

/// An expanded AES-128 key; wiped when dropped.
#[derive(Clone)]
pub struct Aes128(Form);

#[derive(Clone)]
enum Form {
    Portable(Box<::aes::Aes128>),
    Vector(Cpu, Schedule),
}

impl Aes128 {
    /// Expands `key`.
    pub fn new(key: Block) -> Aes128 {
        Aes128::on(Cpu::current(), key)
    }

    /// Expands `key` for use on `cpu`.
    pub(crate) fn on(cpu: Option<Cpu>, key: Block) -> Aes128 {
        Aes128(match cpu {
            None => Form::Portable(Box::new(::aes::Aes128::new(&key.to_bytes().into()))),
            Some(cpu) => Form::Vector(cpu, Schedule::new(cpu, key)),
        })
    }

    /// Replaces every block by its encryption.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        self.map(Mode::Encrypt, blocks);
    }

    /// The encryption of one block.
    pub fn encrypt_one(&self, block: Block) -> Block {
        let mut one = [block];
        self.encrypt(&mut one);
        one[0]
    }

    /// The encryptions of the counters `first, first + 1, ..`.
    pub fn counter_stream(&self, first: u128, out: &mut [Block]) {
        self.map(Mode::Counter(first), out);
    }

    /// A level of a half tree: replaces every block x of the first half by x xor H(x), and the block as far
    /// into the second half by H(x) = pi(sigma(x)) xor sigma(x), with pi this cipher. Returns the sum of the second half.
    ///
    /// # Panics
    /// If the number of blocks is odd.
    pub fn half_tree(&self, blocks: &mut [Block]) -> Block {
        assert!(blocks.len().is_multiple_of(2));
        let (low, high) = blocks.split_at_mut(blocks.len() / 2);
        match &self.0 {
            Form::Vector(cpu, schedule) => schedule.half_tree(*cpu, low, high),
            Form::Portable(aes) => {
                high.copy_from_slice(low);
                high.chunks_mut(LANES).for_each(|high| map_portable(aes, Mode::Ccr, 0, high));
                low.iter_mut().zip(&*high).for_each(|(low, high)| *low ^= *high);
                high.iter().fold(Block::ZERO, |sum, hash| sum ^ *hash)
            }
        }
    }

    /// Replaces every block by what `mode` says.
    pub(crate) fn map(&self, mode: Mode, blocks: &mut [Block]) {
        match &self.0 {
            Form::Vector(cpu, schedule) => schedule.map(*cpu, mode, blocks),
            Form::Portable(aes) => {
                for (i, chunk) in blocks.chunks_mut(LANES).enumerate() {
                    map_portable(aes, mode, (i * LANES) as u128, chunk);
                }
            }
        }
    }

    /// Sum of `blocks[i]` times the encryption of `first + i`.
    pub(crate) fn counter_inner_product(&self, first: u128, blocks: &[Block]) -> Block {
        match &self.0 {
            Form::Vector(cpu, schedule) => {
                reduce(schedule.counter_inner_product(*cpu, first, blocks))
            }
            Form::Portable(_) => {
                let mut sum = Block::ZERO;
                for (i, chunk) in blocks.chunks(LANES).enumerate() {
                    let mut stream = [Block::ZERO; LANES];
                    let stream = &mut stream[..chunk.len()];
                    self.counter_stream(first.wrapping_add((i * LANES) as u128), stream);
                    sum ^= inner_product_on(None, stream, chunk);
                }
                sum
            }
        }
    }
}

/// Blocks per call of the portable cipher.
const LANES: usize = 32;

/// Maps at most `LANES` blocks, the first of which is at `place` of its slice.
fn map_portable(aes: &::aes::Aes128, mode: Mode, place: u128, blocks: &mut [Block]) {
    let counter = |first: u128, i: usize| Block::new(first.wrapping_add(place + i as u128));
    if let Mode::Counter(first) = mode {
        blocks.iter_mut().enumerate().for_each(|(i, x)| *x = counter(first, i));
    }
    if let Mode::Ccr | Mode::Tccr(_) = mode {
        blocks.iter_mut().for_each(|x| *x = x.sigma());
    }
    if let Mode::Tccr(_) = mode {
        encrypt_portable(aes, blocks);
    }
    let mut mask = [Block::ZERO; LANES];
    if let Mode::Cr | Mode::Ccr | Mode::Tccr(_) = mode {
        mask[..blocks.len()].copy_from_slice(blocks);
    }
    if let Mode::Tccr(first) = mode {
        blocks.iter_mut().enumerate().for_each(|(i, x)| *x ^= counter(first, i));
    }
    encrypt_portable(aes, blocks);
    blocks.iter_mut().zip(mask).for_each(|(x, mask)| *x ^= mask);
}

fn encrypt_portable(aes: &::aes::Aes128, blocks: &mut [Block]) {
    let mut states = [::aes::Block::default(); LANES];
    let states = &mut states[..blocks.len()];
    for (state, block) in states.iter_mut().zip(blocks.iter()) {
        *state = block.to_bytes().into();
    }
    aes.encrypt_blocks(states);
    for (block, state) in blocks.iter_mut().zip(states) {
        *block = Block::from_bytes((*state).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;

    fn block(hex: u128) -> Block {
        Block::from_bytes(hex.to_be_bytes())
    }

    #[test]
    fn standard_vectors_hold_at_every_level() {
        // FIPS 197, appendices B and C.1; NIST SP 800-38A, F.1.1.
        let vectors = [
            (
                0x2b7e151628aed2a6abf7158809cf4f3c,
                0x3243f6a8885a308d313198a2e0370734,
                0x3925841d02dc09fbdc118597196a0b32,
            ),
            (
                0x000102030405060708090a0b0c0d0e0f,
                0x00112233445566778899aabbccddeeff,
                0x69c4e0d86a7b0430d8cdb78070b4c55a,
            ),
            (
                0x2b7e151628aed2a6abf7158809cf4f3c,
                0x6bc1bee22e409f96e93d7e117393172a,
                0x3ad77bb40d7a3660a89ecaf32466ef97,
            ),
            (
                0x2b7e151628aed2a6abf7158809cf4f3c,
                0xf69f2445df4f9b17ad2b417be66c3710,
                0x7b0c785e27e8ad3f8223207104725dd4,
            ),
        ];
        for cpu in Cpu::all() {
            for (key, plain, cipher) in vectors {
                let aes = Aes128::on(cpu, block(key));
                assert_eq!(aes.encrypt_one(block(plain)), block(cipher));
                assert_eq!(aes.clone().encrypt_one(block(plain)), block(cipher));
            }
        }
    }

    #[test]
    fn modes_agree_at_every_level_length_and_offset() {
        let key = Block::new(0x123456789);
        let portable = Aes128::on(None, key);
        let mut x = vec![Block::ZERO; 304];
        Prg::new(Block::new(1)).fill(&mut x);
        // The counters run over the border of the low half and over the end.
        for first in [0, u128::from(u64::MAX) - 17, u128::MAX - 21] {
            let modes =
                [Mode::Encrypt, Mode::Counter(first), Mode::Cr, Mode::Ccr, Mode::Tccr(first)];
            for (mode, cpu) in
                modes.into_iter().flat_map(|m| Cpu::all().into_iter().map(move |c| (m, c)))
            {
                let aes = Aes128::on(cpu, key);
                let mut all = x.clone();
                portable.map(mode, &mut all[3..]);
                for len in 0..=x.len() - 3 {
                    let mut some = x.clone();
                    aes.map(mode, &mut some[3..3 + len]);
                    assert!(some[..3 + len] == all[..3 + len], "{len}");
                    assert!(some[3 + len..] == x[3 + len..], "{len}");
                }
            }
        }
    }

    #[test]
    fn a_level_of_a_half_tree_follows_its_formula_at_every_level_and_length() {
        let key = Block::new(0x987654321);
        let mut x = vec![Block::ZERO; 150];
        Prg::new(Block::new(2)).fill(&mut x);
        let mut hashes = x.clone();
        Aes128::on(None, key).map(Mode::Ccr, &mut hashes);
        for cpu in Cpu::all() {
            let aes = Aes128::on(cpu, key);
            for len in 0..x.len() {
                let mut nodes = [&x[..len], &vec![Block::ONE; len + 1]].concat();
                let sum = aes.half_tree(&mut nodes[..2 * len]);
                assert_eq!(sum, hashes[..len].iter().fold(Block::ZERO, |sum, hash| sum ^ *hash));
                assert!(nodes[len..2 * len] == hashes[..len], "{len}");
                assert!((0..len).all(|i| nodes[i] == x[i] ^ hashes[i]), "{len}");
                assert_eq!(nodes[2 * len], Block::ONE);
            }
        }
    }

    #[test]
    fn round_keys_are_wiped_when_dropped() {
        assert!(std::mem::needs_drop::<Schedule>());
        assert!(std::mem::needs_drop::<::aes::Aes128>());
        assert!(std::mem::needs_drop::<crate::simd::rekeyed::KeyQueue>());
    }
}

//! BLAKE3 of many inputs of one length, side by side.
//!
//! BLAKE3 fills a vector unit with the chunks of one long input. The leaves of a tree are short and
//! many, and what they are hashed with has no interface for that.

use super::Node;
use crate::simd::{Cpu, Kernel, Vector};

/// Inputs that are hashed together.
const LANES: usize = 16;
/// Bytes of a block.
const BLOCK: usize = 64;
/// Longer inputs are trees themselves.
const CHUNK: usize = 1024;

const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEYED: u32 = 16;

/// One word of each input.
type Word = [u32; LANES];

/// Mixes four words of the state and two of the message.
macro_rules! quarter {
    ($v:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        $v[$a] = $v[$a].wrapping_add($v[$b]).wrapping_add($x);
        $v[$d] = ($v[$d] ^ $v[$a]).rotate_right(16);
        $v[$c] = $v[$c].wrapping_add($v[$d]);
        $v[$b] = ($v[$b] ^ $v[$c]).rotate_right(12);
        $v[$a] = $v[$a].wrapping_add($v[$b]).wrapping_add($y);
        $v[$d] = ($v[$d] ^ $v[$a]).rotate_right(8);
        $v[$c] = $v[$c].wrapping_add($v[$d]);
        $v[$b] = ($v[$b] ^ $v[$c]).rotate_right(7);
    };
}

/// A round, with the places of the message words.
macro_rules! round {
    ($v:ident, $m:ident, $lane:ident, [$($s:literal),*]) => {
        let m = [$($m[$s][$lane]),*];
        quarter!($v, 0, 4, 8, 12, m[0], m[1]);
        quarter!($v, 1, 5, 9, 13, m[2], m[3]);
        quarter!($v, 2, 6, 10, 14, m[4], m[5]);
        quarter!($v, 3, 7, 11, 15, m[6], m[7]);
        quarter!($v, 0, 5, 10, 15, m[8], m[9]);
        quarter!($v, 1, 6, 11, 12, m[10], m[11]);
        quarter!($v, 2, 7, 8, 13, m[12], m[13]);
        quarter!($v, 3, 4, 9, 14, m[14], m[15]);
    };
}

/// Appends the keyed hashes of `inputs`, which stand one after the other and have `len` bytes each.
///
/// # Panics
/// If the length is zero or the inputs are no whole ones.
pub(super) fn keyed_hashes(key: &[u8; 32], len: usize, inputs: &[u8], out: &mut Vec<Node>) {
    keyed_hashes_on(Cpu::current(), key, len, inputs, out);
}

fn keyed_hashes_on(
    cpu: Option<Cpu>,
    key: &[u8; 32],
    len: usize,
    inputs: &[u8],
    out: &mut Vec<Node>,
) {
    assert!(inputs.len().is_multiple_of(len));
    let mut rest = inputs;
    if let Some(cpu) = cpu.filter(|_| len <= CHUNK) {
        let key = words(key);
        while let Some((inputs, others)) = rest.split_at_checked(LANES * len) {
            out.extend(cpu.run(Group { key: &key, len, inputs }));
            rest = others;
        }
    }
    out.extend(rest.chunks_exact(len).map(|input| *blake3::keyed_hash(key, input).as_bytes()));
}

fn words(bytes: &[u8; 32]) -> [u32; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// [`LANES`] inputs of at most a chunk.
struct Group<'a> {
    key: &'a [u32; 8],
    len: usize,
    inputs: &'a [u8],
}

impl Kernel for Group<'_> {
    type Output = [Node; LANES];

    #[inline(always)]
    fn run<V: Vector>(self, _: V::Cpu) -> [Node; LANES] {
        let mut state = [[0; LANES]; 8];
        for (state, key) in state.iter_mut().zip(self.key) {
            *state = [*key; LANES];
        }
        let mut flags = KEYED | CHUNK_START;
        for at in (0..self.len).step_by(BLOCK) {
            let used = BLOCK.min(self.len - at);
            if at + BLOCK >= self.len {
                flags |= CHUNK_END | ROOT;
            }
            compress(&mut state, &self.load(at, used), used as u32, flags);
            flags = KEYED;
        }
        let mut out = [[0; 32]; LANES];
        for (lane, node) in out.iter_mut().enumerate() {
            for (bytes, word) in node.as_chunks_mut().0.iter_mut().zip(&state) {
                *bytes = word[lane].to_le_bytes();
            }
        }
        out
    }
}

impl Group<'_> {
    /// The block of `used` bytes at `at` of each input, word by word.
    #[inline(always)]
    fn load(&self, at: usize, used: usize) -> [Word; 16] {
        let mut message = [[0; LANES]; 16];
        for (lane, input) in self.inputs.chunks_exact(self.len).enumerate() {
            let mut block = [0; BLOCK];
            block[..used].copy_from_slice(&input[at..at + used]);
            for (word, bytes) in message.iter_mut().zip(block.as_chunks().0) {
                word[lane] = u32::from_le_bytes(*bytes);
            }
        }
        message
    }
}

/// The compression function, for the first chunk.
///
/// A loop over the inputs whose body has neither loops nor memory of its own: compilers make
/// vectors of the variables.
#[inline(always)]
fn compress(state: &mut [Word; 8], message: &[Word; 16], len: u32, flags: u32) {
    for lane in 0..LANES {
        let mut v = [
            state[0][lane],
            state[1][lane],
            state[2][lane],
            state[3][lane],
            state[4][lane],
            state[5][lane],
            state[6][lane],
            state[7][lane],
            IV[0],
            IV[1],
            IV[2],
            IV[3],
            0,
            0,
            len,
            flags,
        ];
        // The schedule: each round takes the words of the one before it in the same other order.
        round!(v, message, lane, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        round!(v, message, lane, [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]);
        round!(v, message, lane, [3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1]);
        round!(v, message, lane, [10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6]);
        round!(v, message, lane, [12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4]);
        round!(v, message, lane, [9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7]);
        round!(v, message, lane, [11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13]);
        state[0][lane] = v[0] ^ v[8];
        state[1][lane] = v[1] ^ v[9];
        state[2][lane] = v[2] ^ v[10];
        state[3][lane] = v[3] ^ v[11];
        state[4][lane] = v[4] ^ v[12];
        state[5][lane] = v[5] ^ v[13];
        state[6][lane] = v[6] ^ v[14];
        state[7][lane] = v[7] ^ v[15];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Prg};

    #[test]
    fn all_lengths_and_counts_are_hashed_as_one_by_one() {
        let mut prg = Prg::new(Block::new(8));
        let key = prg.bytes32();
        let mut inputs = vec![0; 3 * LANES * (CHUNK + 70)];
        prg.fill_bytes(&mut inputs);
        for cpu in Cpu::all() {
            for len in (1..200).chain([352, 959, 960, 961, 1023, 1024, 1025, 1090]) {
                for count in [0, 1, LANES - 1, LANES, LANES + 3, 3 * LANES] {
                    let inputs = &inputs[..count * len];
                    let mut found = vec![[7; 32]];
                    keyed_hashes_on(cpu, &key, len, inputs, &mut found);
                    assert_eq!(found.len(), 1 + count);
                    for (input, found) in inputs.chunks(len).zip(&found[1..]) {
                        assert_eq!(found, blake3::keyed_hash(&key, input).as_bytes());
                    }
                }
            }
        }
    }
}

//! Wrong labels, keys, permutation messages and seeds, which cheaters put in the place of right ones.

use cenote_engine::backends::jimu::ihash::{LANES, Label, Message, Perm};
use cenote_prim::field::{Field, Matrix};
use cenote_prim::seeds::SeedBank;
use cenote_prim::{Block, Prg};

/// A label that nobody hashed. It does not come from the cheater's randomness, which has to be that
/// of the rehearsal.
pub(super) fn garbage(number: u64) -> Label {
    let mut blocks = [Block::ZERO; 3];
    Prg::new(Block::new(u128::from(number) | 1 << 100)).fill(&mut blocks);
    Label(blocks)
}

/// Returns the difference of a wrong key from the right one; bit 0 is that of no Delta.
pub(super) fn wrong_key() -> Block {
    garbage(1).key().with_lsb(false)
}

/// Returns the message that opens a solder to the negated wire: nothing but its permutation message
/// is wrong.
pub(super) fn negated(solder: &Message, delta: &Label) -> Message {
    Message { label: solder.label ^ *delta, perm: turned(solder.perm) }
}

/// A permutation message with another permutation bit.
pub(super) fn turned(perm: Perm) -> Perm {
    Perm([perm.0[0] ^ Block::ONE, perm.0[1]])
}

/// The label that is zero at all places but the last of the code of [`super::weak`].
pub(super) fn near() -> Label {
    let points = |range: std::ops::Range<u8>| range.collect::<Vec<u8>>();
    let keys = Matrix::interpolation(Field::Gf256, &points(0..48), &points(48..64));
    let key = keys.col_range(47..48);
    let mut label = Label::ZERO;
    Block::as_bytes_mut(&mut label.0[..1]).copy_from_slice(key.entries());
    label
}

/// Replaces seeds by others until the first wire's label is the zero polynomial.
pub(super) fn zero_seeds(seeds: &mut [Block]) {
    for seed in seeds {
        let mut prg = Prg::new(*seed);
        while !first_symbols_vanish(*seed) {
            *seed = prg.block();
        }
    }
}

/// Searches for seeds whose streams begin with zero, so that the first label is.
fn first_symbols_vanish(seed: Block) -> bool {
    let mut symbols = [0; LANES];
    SeedBank::new(&[seed]).fill(0..1, 0, LANES, u8::MAX, &mut symbols);
    symbols[0] == 0
}

/// Where the corrections of a word differ from those of another, which is as near as words can be.
pub(super) fn distance(field: Field, n: u32, k: u32) -> Vec<u8> {
    let points = |range: std::ops::Range<u32>| range.map(|point| point as u8).collect::<Vec<u8>>();
    let parity = Matrix::interpolation(field, &points(0..k), &points(k..n));
    let column = parity.col_range(k as usize - 1..k as usize);
    column.entries().to_vec()
}

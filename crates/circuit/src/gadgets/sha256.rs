//! The SHA-256 compression function (FIPS 180-4).
//!
//! A message block is the 512-bit number, and a state the 256-bit number, whose hexadecimal digits
//! are those of the standard: the first byte of a message is the most significant one here.

use super::Bits;
use super::arith::{add, add_constant, sum};
use super::logic::xor_bits;
use crate::bits::bits_of;
use crate::gates::Gates;
use crate::lanes::zip_lanes;

/// The initial state of SHA-256, the first word first.
pub const SHA256_INITIAL_STATE: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The state after one 512-bit block.
///
/// # Panics
///
/// When `block` has not 512 or `state` not 256 bits.
pub fn sha256_compress<G: Gates>(
    g: &mut G,
    block: &[G::Wire],
    state: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    assert_eq!((block.len(), state.len()), (512, 256), "a SHA-256 block and state");
    let initial = words(state);
    let schedule = schedule(g, words(block))?;
    let mut working = initial.clone();
    for (word, constant) in schedule.iter().zip(ROUND_CONSTANTS) {
        round(g, &mut working, word, constant)?;
    }
    let mut out = Vec::with_capacity(256);
    for (old, new) in initial.iter().zip(&working).rev() {
        out.extend(add(g, old, new)?);
    }
    Ok(out)
}

/// [`sha256_compress`] on many lanes.
pub fn sha256_compress_many<G: Gates>(
    g: &mut G,
    blocks: &[Bits<G>],
    states: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    zip_lanes(g, blocks, states, |g, block, state| sha256_compress(g, block, state))
}

/// 32-bit words, the most significant first.
fn words<W: Clone>(bits: &[W]) -> Vec<Vec<W>> {
    bits.rchunks(32).map(<[W]>::to_vec).collect()
}

fn schedule<G: Gates>(g: &mut G, mut w: Vec<Bits<G>>) -> Result<Vec<Bits<G>>, G::Error> {
    for t in 16..64 {
        let early = small_sigma(g, &w[t - 15], [7, 18, 3])?;
        let late = small_sigma(g, &w[t - 2], [17, 19, 10])?;
        let word = sum(g, &[&w[t - 16], &early, &w[t - 7], &late], 32)?;
        w.push(word);
    }
    Ok(w)
}

/// One round; `working` holds a to h.
fn round<G: Gates>(
    g: &mut G,
    working: &mut Vec<Bits<G>>,
    word: &[G::Wire],
    constant: u32,
) -> Result<(), G::Error> {
    let [a, b, c, d, e, f, f2, h] = &working[..] else { return Ok(()) };
    // Choice e ? f : g and majority of a, b, c: one AND per bit each, all in one batch.
    let a_c = xor_bits(g, a, c)?;
    let left = [e.clone(), a_c].concat();
    let right = [xor_bits(g, f, f2)?, xor_bits(g, b, c)?].concat();
    let mut choice = g.and_many(&left, &right)?;
    let majority = choice.split_off(32);
    let choice = xor_bits(g, &choice, f2)?;
    let majority = xor_bits(g, &majority, c)?;

    let sigma_e = big_sigma(g, e, [6, 11, 25])?;
    let sigma_a = big_sigma(g, a, [2, 13, 22])?;
    let keyed = add_constant(g, word, &bits_of(constant.into(), 32))?;
    let t1 = sum(g, &[h, &sigma_e, &choice, &keyed], 32)?;
    let new_e = add(g, d, &t1)?;
    let new_a = sum(g, &[&t1, &sigma_a, &majority], 32)?;
    working.pop();
    working.insert(0, new_a);
    working[4] = new_e;
    Ok(())
}

fn big_sigma<G: Gates>(g: &mut G, x: &[G::Wire], by: [usize; 3]) -> Result<Bits<G>, G::Error> {
    let [first, second, third] = by.map(|by| rotate_right(x, by));
    let both = xor_bits(g, &first, &second)?;
    xor_bits(g, &both, &third)
}

/// Two rotations and a shift.
fn small_sigma<G: Gates>(g: &mut G, x: &[G::Wire], by: [usize; 3]) -> Result<Bits<G>, G::Error> {
    let mut out = xor_bits(g, &rotate_right(x, by[0]), &rotate_right(x, by[1]))?;
    let low = g.xor_many(&out, &x[by[2]..])?;
    out.splice(..low.len(), low);
    Ok(out)
}

fn rotate_right<W: Clone>(x: &[W], by: usize) -> Vec<W> {
    let mut out = x.to_vec();
    out.rotate_left(by);
    out
}

const ROUND_CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

//! AES-128 (FIPS 197) with its key schedule.
//!
//! The S-box is the 32-AND straight-line program of J. Boyar and R. Peralta, "A new combinational
//! logic minimization technique with applications to cryptology", SEA 2010 (names as there, bit 0 of
//! theirs the most significant). A block or key is the 128-bit number whose hexadecimal digits are
//! those of FIPS 197, so the first byte of the standard is the most significant one here.

use std::rc::Rc;
use std::sync::OnceLock;

use super::Bits;
use crate::gates::Gates;
use crate::lanes::{Bundle, Lanes, repeat};
use crate::tape::{Operand, Order, Tape, TapeRecorder, TooLong};

/// One block under one key, the key schedule running beside the rounds: 6,400 ANDs, depth 60.
///
/// # Panics
///
/// When `key` or `block` has not 128 bits.
pub fn aes128<G: Gates>(
    g: &mut G,
    key: &[G::Wire],
    block: &[G::Wire],
) -> Result<Bits<G>, G::Error> {
    Ok(aes128_many(g, key, &[block.to_vec()])?.swap_remove(0))
}

/// Many blocks under one key: 1,280 ANDs for the key and 5,120 for each block, depth 60.
///
/// # Panics
///
/// When `key` or a block has not 128 bits.
pub fn aes128_many<G: Gates>(
    g: &mut G,
    key: &[G::Wire],
    blocks: &[Bits<G>],
) -> Result<Vec<Bits<G>>, G::Error> {
    let (first, rest) = blocks.split_at(blocks.len().min(CHUNK));
    let mut rounds = vec![load(std::slice::from_ref(&key))];
    let mut state = add_key(g, &load(first), &rounds[0])?;
    for round in 1..=ROUNDS {
        // One batch of S-boxes: those of the state and the four of the key schedule.
        let split = state[0].len();
        let mut bytes = state;
        for (bytes, last) in bytes.iter_mut().zip(last_word(&rounds[round - 1])) {
            bytes.extend(last);
        }
        let mut bytes = sub_bytes(g, bytes)?;
        let word: Planes<G> = std::array::from_fn(|bit| bytes[bit].split_off(split));
        rounds.push(next_key(g, &rounds[round - 1], word, round)?);
        state = round_tail(g, &bytes, &rounds[round], round)?;
    }
    let mut out = store(&state);
    out.extend(Aes128Key { rounds }.encrypt(g, rest)?);
    Ok(out)
}

/// The round keys of a key, for many calls under it.
pub struct Aes128Key<W> {
    rounds: Vec<[Vec<W>; 8]>,
}

impl<W: Clone> Aes128Key<W> {
    /// Runs the key schedule: 1,280 ANDs.
    ///
    /// # Panics
    ///
    /// When `key` has not 128 bits.
    pub fn expand<G: Gates<Wire = W>>(g: &mut G, key: &[W]) -> Result<Self, G::Error> {
        let mut rounds = vec![load(std::slice::from_ref(&key))];
        for round in 1..=ROUNDS {
            let word = sub_bytes(g, last_word(&rounds[round - 1]))?;
            let next = next_key(g, &rounds[round - 1], word, round)?;
            rounds.push(next);
        }
        Ok(Self { rounds })
    }

    /// Encrypts blocks: 5,120 ANDs for each.
    ///
    /// # Panics
    ///
    /// When a block has not 128 bits.
    pub fn encrypt<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        blocks: &[Vec<W>],
    ) -> Result<Vec<Vec<W>>, G::Error> {
        static TAPES: [OnceLock<Tape>; 2] = [const { OnceLock::new() }; 2];
        let order = Order::of_lanes(blocks.len());
        let tape = TAPES[usize::from(order == Order::LAYERS)].get_or_init(|| block_tape(order));
        let keys: Vec<W> = self.rounds.iter().flat_map(|key| store(key).concat()).collect();
        assert!(blocks.iter().all(|block| block.len() == 128), "an AES block has 128 bits");
        let wires = blocks.concat();
        let operands = [Operand::words(&wires, 128), Operand::same(&keys)];
        let done = tape.play(g, blocks.len(), &operands)?.concat();
        Ok(done.chunks(128).map(<[W]>::to_vec).collect())
    }
}

/// One block under round keys that are inputs behind it, an S-box after the other.
fn block_tape(order: Order) -> Tape {
    let (mut g, wires) = TapeRecorder::new(128 * (2 + ROUNDS));
    let [block, keys @ ..] = wires.as_chunks::<128>().0 else { unreachable!("a block and keys") };
    let keys: Vec<Planes<TapeRecorder>> = keys.iter().map(|key| load(&[key])).collect();
    let state = (|| {
        let mut state = add_key(&mut g, &load(&[block]), &keys[0])?;
        for (round, key) in keys.iter().enumerate().skip(1) {
            let mut bytes = [const { Vec::new() }; 8];
            for byte in 0..16 {
                let one = state.each_ref().map(|plane| vec![plane[byte]]);
                let one = sub_bytes(&mut g, one)?;
                bytes.iter_mut().zip(one).for_each(|(plane, bit)| plane.extend(bit));
            }
            state = round_tail(&mut g, &bytes, key, round)?;
        }
        Ok::<_, TooLong>(state)
    })();
    let state = state.unwrap_or_else(|_| unreachable!("a block has some 30,000 gates"));
    g.finish(&store(&state)[..1], order)
}

/// Bytes as eight planes: plane i holds bit i of every byte, 16 bytes per block in FIPS order.
type Planes<G> = [Vec<<G as Gates>::Wire>; 8];

fn load<W: Clone>(blocks: &[impl AsRef<[W]>]) -> [Vec<W>; 8] {
    std::array::from_fn(|bit| {
        let byte = |block: &[W], byte: usize| block[8 * (15 - byte) + bit].clone();
        blocks
            .iter()
            .flat_map(|block| {
                let block = block.as_ref();
                assert_eq!(block.len(), 128, "an AES block or key has 128 bits");
                (0..16).map(move |i| byte(block, i))
            })
            .collect()
    })
}

fn store<W: Clone>(planes: &[Vec<W>; 8]) -> Vec<Vec<W>> {
    let blocks = planes[0].len() / 16;
    let bit = |block: usize, i: usize| planes[i % 8][16 * block + 15 - i / 8].clone();
    (0..blocks).map(|block| (0..128).map(|i| bit(block, i)).collect()).collect()
}

/// Adds a round key to every block.
fn add_key<G: Gates>(g: &mut G, state: &Planes<G>, key: &Planes<G>) -> Result<Planes<G>, G::Error> {
    let mut out = [const { Vec::new() }; 8];
    for ((out, state), key) in out.iter_mut().zip(state).zip(key) {
        *out = g.xor_many(state, &repeat(key, state.len() / 16))?;
    }
    Ok(out)
}

/// The last word of a round key, rotated by one byte.
fn last_word<W: Clone>(key: &[Vec<W>; 8]) -> [Vec<W>; 8] {
    std::array::from_fn(|bit| [13, 14, 15, 12].map(|byte| key[bit][byte].clone()).to_vec())
}

/// The next round key, from the last one and its substituted last word.
fn next_key<G: Gates>(
    g: &mut G,
    key: &Planes<G>,
    word: Planes<G>,
    round: usize,
) -> Result<Planes<G>, G::Error> {
    let mut out = [const { Vec::new() }; 8];
    for (bit, mut word) in word.into_iter().enumerate() {
        if (ROUND_CONSTANTS[round - 1] >> bit) & 1 == 1 {
            word[0] = g.not(&word[0])?;
        }
        for old in key[bit].chunks(4) {
            word = g.xor_many(&word, old)?;
            out[bit].extend_from_slice(&word);
        }
    }
    Ok(out)
}

/// Computes what follows the S-boxes of a round: ShiftRows, MixColumns (not in the last),
/// AddRoundKey.
fn round_tail<G: Gates>(
    g: &mut G,
    bytes: &Planes<G>,
    key: &Planes<G>,
    round: usize,
) -> Result<Planes<G>, G::Error> {
    // Byte r of column c comes from column c + r.
    let shifted = permute(bytes, |i| i / 16 * 16 + (i % 16 + 4 * (i % 4)) % 16);
    let mixed = if round < ROUNDS { mix_columns(g, &shifted)? } else { shifted };
    add_key(g, &mixed, key)
}

/// b_r = 2(a_r + a_{r+1}) + a_{r+1} + (a_{r+2} + a_{r+3}), on all columns at once.
fn mix_columns<G: Gates>(g: &mut G, a: &Planes<G>) -> Result<Planes<G>, G::Error> {
    let below = |rows: usize| move |i: usize| i / 4 * 4 + (i + rows) % 4;
    let next = permute(a, below(1));
    let mut pairs = [const { Vec::new() }; 8];
    for bit in 0..8 {
        pairs[bit] = g.xor_many(&a[bit], &next[bit])?;
    }
    let opposite = permute(&pairs, below(2));
    let mut out = [const { Vec::new() }; 8];
    for bit in 0..8 {
        let rest = g.xor_many(&next[bit], &opposite[bit])?;
        let doubled = g.xor_many(&rest, &pairs[(bit + 7) % 8])?;
        // Doubling reduces by x^8 = x^4 + x^3 + x + 1.
        out[bit] =
            if matches!(bit, 1 | 3 | 4) { g.xor_many(&doubled, &pairs[7])? } else { doubled };
    }
    Ok(out)
}

fn permute<W: Clone>(planes: &[Vec<W>; 8], from: impl Fn(usize) -> usize) -> [Vec<W>; 8] {
    planes.each_ref().map(|plane| (0..plane.len()).map(|i| plane[from(i)].clone()).collect())
}

/// The S-box on every byte: 32 ANDs each, in six batches.
fn sub_bytes<G: Gates>(g: &mut G, bytes: Planes<G>) -> Result<Planes<G>, G::Error> {
    let mut lanes = Lanes::new(g, bytes[0].len());
    let mut x: [Bundle<G::Wire>; 8] = bytes.map(Rc::new);
    x.reverse();
    let y = top_linear(&mut lanes, &x)?;
    let z = nonlinear(&mut lanes, &x[7], &y)?;
    let mut s = bottom_linear(&mut lanes, &z)?;
    s.reverse();
    Ok(s.map(|bundle| Rc::try_unwrap(bundle).unwrap_or_else(|shared| (*shared).clone())))
}

/// Wires y1 to y21 of the paper (index 0 is not used and holds x0).
fn top_linear<G: Gates>(g: &mut G, x: &[G::Wire; 8]) -> Result<[G::Wire; 22], G::Error> {
    let [x0, x1, x2, x3, x4, x5, x6, x7] = x;
    let y14 = g.xor(x3, x5)?;
    let y13 = g.xor(x0, x6)?;
    let y9 = g.xor(x0, x3)?;
    let y8 = g.xor(x0, x5)?;
    let t0 = g.xor(x1, x2)?;
    let y1 = g.xor(&t0, x7)?;
    let y4 = g.xor(&y1, x3)?;
    let y12 = g.xor(&y13, &y14)?;
    let y2 = g.xor(&y1, x0)?;
    let y5 = g.xor(&y1, x6)?;
    let y3 = g.xor(&y5, &y8)?;
    let t1 = g.xor(x4, &y12)?;
    let y15 = g.xor(&t1, x5)?;
    let y20 = g.xor(&t1, x1)?;
    let y6 = g.xor(&y15, x7)?;
    let y10 = g.xor(&y15, &t0)?;
    let y11 = g.xor(&y20, &y9)?;
    let y7 = g.xor(x7, &y11)?;
    let y17 = g.xor(&y10, &y11)?;
    let y19 = g.xor(&y10, &y8)?;
    let y16 = g.xor(&t0, &y11)?;
    let y21 = g.xor(&y13, &y16)?;
    let y18 = g.xor(x0, &y16)?;
    Ok([
        x0.clone(),
        y1,
        y2,
        y3,
        y4,
        y5,
        y6,
        y7,
        y8,
        y9,
        y10,
        y11,
        y12,
        y13,
        y14,
        y15,
        y16,
        y17,
        y18,
        y19,
        y20,
        y21,
    ])
}

/// Wires z0 to z17 of the paper: inversion in GF(2^8), multiplied back onto the basis.
fn nonlinear<G: Gates>(
    g: &mut G,
    x7: &G::Wire,
    y: &[G::Wire; 22],
) -> Result<[G::Wire; 18], G::Error> {
    let pick = |wires: [usize; 9]| wires.map(|i| if i == 0 { x7.clone() } else { y[i].clone() });
    let left = pick([12, 3, 4, 13, 5, 2, 9, 14, 8]);
    let right = pick([15, 6, 0, 16, 1, 7, 11, 17, 10]);
    let products = fixed(g.and_many(&left, &right)?);
    let [t2, t3, t5, t7, t8, t10, t12, t13, t15] = products;
    let t14 = g.xor(&t13, &t12)?;
    let t16 = g.xor(&t15, &t12)?;
    let mut t21_to_24 = Vec::with_capacity(4);
    for (product, first, second, linear) in [
        (&t3, &t2, &t14, &y[20]),
        (&t5, &t2, &t16, &y[19]),
        (&t8, &t7, &t14, &y[21]),
        (&t10, &t7, &t16, &y[18]),
    ] {
        let wire = g.xor(product, first)?;
        let wire = g.xor(&wire, second)?;
        t21_to_24.push(g.xor(&wire, linear)?);
    }
    let [t21, t22, t23, t24] = fixed(t21_to_24);

    let t25 = g.xor(&t21, &t22)?;
    let t26 = g.and(&t21, &t23)?;
    let t27 = g.xor(&t24, &t26)?;
    let t30 = g.xor(&t23, &t24)?;
    let t31 = g.xor(&t22, &t26)?;
    let [t28, t32] = fixed(g.and_many(&[t25.clone(), t31], &[t27.clone(), t30])?);
    let t29 = g.xor(&t28, &t22)?;
    let t33 = g.xor(&t32, &t24)?;
    let t34 = g.xor(&t23, &t33)?;
    let t35 = g.xor(&t27, &t33)?;
    let t36 = g.and(&t24, &t35)?;
    let t37 = g.xor(&t36, &t34)?;
    let t38 = g.xor(&t27, &t36)?;
    let t39 = g.and(&t29, &t38)?;
    let t40 = g.xor(&t25, &t39)?;
    let t41 = g.xor(&t40, &t37)?;
    let t42 = g.xor(&t29, &t33)?;
    let t43 = g.xor(&t29, &t40)?;
    let t44 = g.xor(&t33, &t37)?;
    let t45 = g.xor(&t42, &t41)?;

    let inverse = [t44, t37, t33, t43, t40, t29, t42, t45, t41];
    let back = [pick([15, 6, 0, 16, 1, 7, 11, 17, 10]), pick([12, 3, 4, 13, 5, 2, 9, 14, 8])];
    Ok(fixed(g.and_many(&[inverse.clone(), inverse].concat(), &back.concat())?))
}

/// Wires s0 to s7 of the paper.
fn bottom_linear<G: Gates>(g: &mut G, z: &[G::Wire; 18]) -> Result<[G::Wire; 8], G::Error> {
    let t46 = g.xor(&z[15], &z[16])?;
    let t47 = g.xor(&z[10], &z[11])?;
    let t48 = g.xor(&z[5], &z[13])?;
    let t49 = g.xor(&z[9], &z[10])?;
    let t50 = g.xor(&z[2], &z[12])?;
    let t51 = g.xor(&z[2], &z[5])?;
    let t52 = g.xor(&z[7], &z[8])?;
    let t53 = g.xor(&z[0], &z[3])?;
    let t54 = g.xor(&z[6], &z[7])?;
    let t55 = g.xor(&z[16], &z[17])?;
    let t56 = g.xor(&z[12], &t48)?;
    let t57 = g.xor(&t50, &t53)?;
    let t58 = g.xor(&z[4], &t46)?;
    let t59 = g.xor(&z[3], &t54)?;
    let t60 = g.xor(&t46, &t57)?;
    let t61 = g.xor(&z[14], &t57)?;
    let t62 = g.xor(&t52, &t58)?;
    let t63 = g.xor(&t49, &t58)?;
    let t64 = g.xor(&z[4], &t59)?;
    let t65 = g.xor(&t61, &t62)?;
    let t66 = g.xor(&z[1], &t63)?;
    let t67 = g.xor(&t64, &t65)?;
    let s0 = g.xor(&t59, &t63)?;
    let s3 = g.xor(&t53, &t66)?;
    let s4 = g.xor(&t51, &t66)?;
    let s5 = g.xor(&t47, &t65)?;
    let inverted = [(&t64, &s3), (&t55, &t67), (&t56, &t62), (&t48, &t60)];
    let mut xnor = Vec::with_capacity(4);
    for (a, b) in inverted {
        let same = g.xor(a, b)?;
        xnor.push(g.not(&same)?);
    }
    let [s1, s2, s6, s7] = fixed(xnor);
    Ok([s0, s1, s2, s3, s4, s5, s6, s7])
}

/// A batch's results as an array; a machine answers every gate of a batch.
fn fixed<W, const N: usize>(wires: Vec<W>) -> [W; N] {
    match wires.try_into() {
        Ok(wires) => wires,
        Err(_) => unreachable!("one result per gate of a batch"),
    }
}

/// Blocks that run side by side; more would not fit a cache.
const CHUNK: usize = 32;
const ROUNDS: usize = 10;
const ROUND_CONSTANTS: [u8; ROUNDS] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

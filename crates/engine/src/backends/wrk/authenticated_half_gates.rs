//! Authenticated half gates: one batch of independent AND gates, garbled and evaluated.
//!
//! **Construction.** Katz, Ranellucci, Rosulek, Wang (CRYPTO 2018): half gates whose tables carry
//! the garbler's shares of the masked products; the evaluator's wire masks come from authenticated
//! shares, and a check over MACs replaces the rows of WRK17.
//! **Roles.** Garbler A holds L_{w,0} of every wire, evaluator B holds L_{w,Lambda} and the masked
//! value Lambda = value xor lambda. T(s) = s^A Delta_A xor K_A\[s^B\], so that T(s) xor M_B\[s^B\] = s Delta_A.
//! **Model.** H is MITCCRH; each gate has two key indices of its own in the session.
//! **Gate** (a, b -> c) with sigma = lambda_a lambda_b:
//! - G0 = H(L_{a,0}) xor H(L_{a,1}) xor T(lambda_b);
//! - G1 = H(L_{b,0}) xor H(L_{b,1}) xor L_{a,0} xor T(lambda_a);
//! - L_{c,0} = H(L_{a,0}) xor H(L_{b,0}) xor T(sigma) xor T(lambda_c), and its colour.
//! - B: L_c = H(L_a) xor Lambda_a (G0 xor M\[lambda_b\]) xor H(L_b) xor Lambda_b (G1 xor M\[lambda_a\] xor L_a)
//!   xor M\[sigma\] xor M\[lambda_c\]; Lambda_c = colour bit of the gate xor colour(L_c).
//!
//! **Checks** (`check_labels`, `check_masked`; `backends/wrk` runs them before any reveal):
//! - `wrk.labels` (D_L): B's labels of all AND outputs are those A has for the reported Lambda. Catches
//!   an evaluator that lies about one Lambda, which would otherwise learn a wire's value from
//!   the garbler's answer to the second check; so A answers only after it.
//! - `wrk.masked` (D_M): every Lambda_c is right under the MACs. Catches a wrong table, colour bit or
//!   label of the garbler.
//!
//! **Private values.** Wire values: masked by lambda. Wire masks: never sent. L_{w,1 xor Lambda}: the active one plus Delta
//! by Delta_A, which B does not know. D_L shows B's labels, all of which A knows but for one bit a
//! gate that Lambda already shows; D_M is a sum B can compute itself once Lambda is authentic.
//! **Costs.** 257 bits a gate A to B, 1 bit B to A, 4 hashes at A, 2 at B, 2 keys each.

use std::ops::BitXor;

use bytemuck::Zeroable;
use cenote_prim::{Block, bits};
use zeroize::Zeroize;

use super::gate_hash::GateHash;
use super::share::Share;

/// One party's shares of the masks of an AND gate.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Gate {
    /// Mask of the first input wire.
    pub a: Share,
    /// Mask of the second input wire.
    pub b: Share,
    /// Mask of the output wire xor the product of the input masks.
    pub out: Share,
}

impl Zeroize for Gate {
    fn zeroize(&mut self) {
        for share in [&mut self.a, &mut self.b, &mut self.out] {
            share.zeroize();
        }
    }
}

/// A label of the evaluator with its public masked value.
#[derive(Clone, Copy, Default, Zeroable, Zeroize)]
pub struct Active {
    /// L_{w,Lambda}.
    pub label: Block,
    /// Lambda.
    pub masked: bool,
}

impl BitXor for Active {
    type Output = Active;
    #[inline(always)]
    fn bitxor(self, other: Active) -> Active {
        Active { label: self.label ^ other.label, masked: self.masked ^ other.masked }
    }
}

/// Garbles independent gates: writes two table blocks a gate to `tables` and L_{c,0} to `out`.
///
/// # Panics
/// If the slices do not describe the same number of gates, or more than a batch of `GateHash`.
pub fn garble(
    hash: &mut GateHash,
    delta: Block,
    gates: &[Gate],
    inputs: &[[Block; 2]],
    tables: &mut [Block],
    out: &mut [Block],
) {
    let n = gates.len();
    assert!(inputs.len() == n && tables.len() == 2 * n && out.len() == n);
    let hashes = hash.both(delta, inputs.iter().map(|[a, b]| (a, b)));
    let tables = tables.as_chunks_mut::<2>().0;
    for ((((gate, [a, _]), h), table), out) in
        gates.iter().zip(inputs).zip(hashes).zip(tables).zip(out)
    {
        table[0] = h[0] ^ h[1] ^ gate.b.times_delta(delta);
        table[1] = h[2] ^ h[3] ^ *a ^ gate.a.times_delta(delta);
        *out = h[0] ^ h[2] ^ gate.out.times_delta(delta);
    }
}

/// Evaluates independent gates: `colours` are the packed colour bits of the whole chunk, of which
/// those from `first` on belong to these gates.
///
/// # Panics
/// If the slices do not describe the same number of gates, or more than a batch of `GateHash`.
pub fn evaluate(
    hash: &mut GateHash,
    gates: &[Gate],
    inputs: &[[Active; 2]],
    tables: &[Block],
    (colours, first): (&[u8], usize),
    out: &mut [Active],
) {
    let n = gates.len();
    assert!(inputs.len() == n && tables.len() == 2 * n && out.len() == n);
    let hashes = hash.active(inputs.iter().map(|[a, b]| (&a.label, &b.label)));
    let tables = tables.as_chunks::<2>().0;
    for (i, ((((gate, [a, b]), h), table), out)) in
        gates.iter().zip(inputs).zip(hashes).zip(tables).zip(out).enumerate()
    {
        let left = h[0] ^ (table[0] ^ gate.b.mac).times(a.masked);
        let right = h[1] ^ (table[1] ^ gate.a.mac ^ a.label).times(b.masked);
        let label = left ^ right ^ gate.out.mac;
        *out = Active { label, masked: bits::get(colours, first + i) ^ label.colour() };
    }
}

/// The MACs of a gate, which is all that the garbler needs of it once it is garbled.
#[derive(Clone, Copy, Default, Zeroize)]
pub struct GateMacs {
    a: Block,
    b: Block,
    out: Block,
}

impl From<&Gate> for GateMacs {
    #[inline(always)]
    fn from(gate: &Gate) -> GateMacs {
        GateMacs { a: gate.a.mac, b: gate.b.mac, out: gate.out.mac }
    }
}

/// The garbler's term of the sum D_M: the MAC on its share of the gate's relation.
#[inline(always)]
pub fn garbler_term(macs: &GateMacs, masked_a: bool, masked_b: bool) -> Block {
    macs.out ^ macs.b.times(masked_a) ^ macs.a.times(masked_b)
}

/// Returns the value that the evaluator expects of that term if Lambda_c is right.
#[inline(always)]
pub fn evaluator_term(gate: &Gate, a: bool, b: bool, out: bool, delta: Block) -> Block {
    let t = (a & b) ^ out ^ gate.out.bit() ^ (a & gate.b.bit()) ^ (b & gate.a.bit());
    gate.out.key ^ gate.b.key.times(a) ^ gate.a.key.times(b) ^ delta.times(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::gate_hash::BATCH;
    use crate::backends::wrk::share::dealer::Dealer;

    struct Batch {
        d: Dealer,
        gates: (Vec<Gate>, Vec<Gate>),
        garbled: Vec<[Block; 2]>,
        active: Vec<[Active; 2]>,
        /// (value of a and b, mask of the output).
        clear: Vec<(bool, bool)>,
    }

    fn batch(seed: u128, n: usize) -> Batch {
        let mut d = Dealer::new(seed);
        let mut batch = Batch {
            gates: (vec![], vec![]),
            garbled: vec![],
            active: vec![],
            clear: vec![],
            d: Dealer::new(seed),
        };
        for _ in 0..n {
            let ((aa, ab), (ba, bb), (ca, cb)) = (d.share(), d.share(), d.share());
            let (sa, sb) = d.share();
            let fix = d.value(sa, sb) ^ (d.value(aa, ab) & d.value(ba, bb));
            let sa = sa.add_public(fix, cenote_net::Role::Garbler, d.deltas[0]);
            let sb = sb.add_public(fix, cenote_net::Role::Evaluator, d.deltas[1]);
            batch.gates.0.push(Gate { a: aa, b: ba, out: sa ^ ca });
            batch.gates.1.push(Gate { a: ab, b: bb, out: sb ^ cb });
            let (zero, random) = ([d.prg.block(), d.prg.block()], d.prg.block());
            let masked = [random.lsb(), random.colour()];
            let active = |i: usize| Active {
                label: zero[i] ^ d.deltas[0].times(masked[i]),
                masked: masked[i],
            };
            batch.active.push([active(0), active(1)]);
            batch.garbled.push(zero);
            let product = (masked[0] ^ d.value(aa, ab)) & (masked[1] ^ d.value(ba, bb));
            batch.clear.push((product, d.value(ca, cb)));
        }
        batch.d = d;
        batch
    }

    /// (tables, colours, L_{c,0}) and then the evaluator's outputs.
    fn run(b: &Batch, tamper: impl FnOnce(&mut [Block])) -> (Vec<Block>, Vec<Active>) {
        let n = b.clear.len();
        let start = Block::new(17);
        let (mut tables, mut zero) = (vec![Block::ZERO; 2 * n], vec![Block::ZERO; n]);
        let mut hash = GateHash::new(start);
        garble(&mut hash, b.d.deltas[0], &b.gates.0, &b.garbled, &mut tables, &mut zero);
        let mut colours = vec![0];
        colours.extend(bits::pack(zero.iter().map(|l| l.colour())));
        tamper(&mut tables);
        let mut out = vec![Active::default(); n];
        let mut hash = GateHash::new(start);
        evaluate(&mut hash, &b.gates.1, &b.active, &tables, (&colours, 8), &mut out);
        (zero, out)
    }

    fn terms(b: &Batch, out: &[Active], i: usize) -> (Block, Block) {
        let [x, y] = b.active[i].map(|a| a.masked);
        (
            garbler_term(&(&b.gates.0[i]).into(), x, y),
            evaluator_term(&b.gates.1[i], x, y, out[i].masked, b.d.deltas[1]),
        )
    }

    #[test]
    fn labels_masked_values_and_terms_fit() {
        for n in [1, 3, BATCH] {
            let b = batch(40 + n as u128, n);
            let (zero, out) = run(&b, |_| ());
            for i in 0..n {
                let (product, mask) = b.clear[i];
                assert_eq!(out[i].masked, product ^ mask);
                assert_eq!(out[i].label, zero[i] ^ b.d.deltas[0].times(out[i].masked));
                let (sent, expected) = terms(&b, &out, i);
                assert_eq!(sent, expected);
            }
        }
    }

    #[test]
    fn a_flipped_colour_in_a_used_table_breaks_the_term() {
        let b = batch(50, BATCH);
        let (_, out) = run(&b, |tables| tables[0] ^= Block::new(2));
        let (sent, expected) = terms(&b, &out, 0);
        assert_eq!(sent != expected, b.active[0][0].masked);
        assert!((1..BATCH).all(|i| terms(&b, &out, i).0 == terms(&b, &out, i).1));
    }

    #[test]
    fn a_lie_about_a_masked_value_would_leak_without_the_label_check() {
        // Why `wrk.labels` is mandatory: the garbler's answer to a false Lambda_a differs from the
        // honest one by its MAC on lambda_b, of which the evaluator knows the two candidates.
        let b = batch(51, BATCH);
        for (mine, theirs) in b.gates.1.iter().zip(&b.gates.0) {
            let macs = theirs.into();
            let answer = garbler_term(&macs, true, false) ^ garbler_term(&macs, false, false);
            let learnt = answer != mine.b.key;
            assert_eq!(learnt, theirs.b.bit());
        }
    }
}

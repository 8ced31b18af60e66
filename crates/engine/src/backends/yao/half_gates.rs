//! Half gates: one batch of independent AND gates, semi-honest.
//!
//! **Construction.** Zahur, Rosulek, Evans (EUROCRYPT 2015) with the re-keyed hash MITCCRH (Guo,
//! Katz, Wang, Weng, Yu, CRYPTO 2020). **Roles.** The garbler holds L_{w,0} and Delta with bit 0 = 1, the
//! evaluator the active label. The permute bit is bit 0.
//! **Adversary.** Semi-honest. **Leakage.** None beyond the output. **Checks.** None: a cheating
//! garbler is not caught.
//! **Private values.** Wire values: masked by the permute bit. Inactive labels: the active ones plus Delta.
//! **Costs.** 32 B a gate, 4 hashes at the garbler, 2 at the evaluator, 2 keys each.

use cenote_prim::Block;

use crate::parts::gate_hash::GateHash;

/// Garbles independent gates with inputs L_{a,0} and L_{b,0}: two table blocks each, and L_{c,0}.
///
/// # Panics
/// If the slices do not describe the same number of gates, or more than a batch of [`GateHash`].
#[inline]
pub fn garble(
    hash: &mut GateHash,
    delta: Block,
    [a, b]: [&[Block]; 2],
    tables: &mut [[Block; 2]],
    out: &mut [Block],
) {
    assert!(b.len() == a.len() && tables.len() == a.len() && out.len() == a.len());
    let hashes = hash.both(delta, a.iter().zip(b));
    for ((((&a, &b), h), table), out) in a.iter().zip(b).zip(hashes).zip(tables).zip(out) {
        (*table, *out) = garble_hashed(delta, [a, b], h);
    }
}

/// Garbles one gate: table and L_{c,0}.
#[inline(always)]
pub(super) fn garble_one(
    hash: &mut GateHash,
    delta: Block,
    input: [Block; 2],
) -> ([Block; 2], Block) {
    let hashes = hash.both_of_one(delta, input);
    garble_hashed(delta, input, &hashes)
}

#[inline(always)]
fn garble_hashed(delta: Block, [a, b]: [Block; 2], h: &[Block; 4]) -> ([Block; 2], Block) {
    let generator = h[0] ^ h[1] ^ delta.times(b.lsb());
    let evaluator = h[2] ^ h[3] ^ a;
    let out = h[0] ^ generator.times(a.lsb()) ^ h[2] ^ (evaluator ^ a).times(b.lsb());
    ([generator, evaluator], out)
}

/// Evaluates independent gates with active labels as inputs.
///
/// # Panics
/// As [`garble`].
#[inline]
pub fn evaluate(
    hash: &mut GateHash,
    [a, b]: [&[Block]; 2],
    tables: &[[Block; 2]],
    out: &mut [Block],
) {
    assert!(b.len() == a.len() && tables.len() == a.len() && out.len() == a.len());
    let hashes = hash.active(a.iter().zip(b));
    for ((((&a, &b), h), &table), out) in a.iter().zip(b).zip(hashes).zip(tables).zip(out) {
        *out = evaluate_hashed([a, b], table, h);
    }
}

/// Evaluates one gate.
#[inline(always)]
pub(super) fn evaluate_one(hash: &mut GateHash, input: [Block; 2], table: [Block; 2]) -> Block {
    let hashes = hash.active_of_one(input);
    evaluate_hashed(input, table, &hashes)
}

#[inline(always)]
fn evaluate_hashed(
    [a, b]: [Block; 2],
    [generator, evaluator]: [Block; 2],
    h: &[Block; 2],
) -> Block {
    // What does not need the hashes first: in a chain of gates the hashes are what one waits for.
    let known = generator.times(a.lsb()) ^ (evaluator ^ a).times(b.lsb());
    h[0] ^ h[1] ^ known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::gate_hash::BATCH;
    use cenote_prim::Prg;

    #[test]
    fn active_labels_carry_the_product() {
        let mut prg = Prg::new(Block::new(3));
        let delta = prg.block().with_lsb(true);
        for n in [1, 2, BATCH] {
            let start = prg.block();
            let inputs: Vec<[Block; 2]> = (0..n).map(|_| [prg.block(), prg.block()]).collect();
            let (mut tables, mut zero) = (vec![[Block::ZERO; 2]; n], vec![Block::ZERO; n]);
            let (a, b): (Vec<_>, Vec<_>) = inputs.iter().map(|&[a, b]| (a, b)).unzip();
            garble(&mut GateHash::new(start), delta, [&a, &b], &mut tables, &mut zero);
            let mut one = GateHash::new(start);
            for ((&input, table), zero) in inputs.iter().zip(&tables).zip(&zero) {
                assert!(garble_one(&mut one, delta, input) == (*table, *zero));
            }
            for bits in 0..4 {
                let values = [bits & 1 == 1, bits & 2 == 2];
                let active: Vec<[Block; 2]> = inputs
                    .iter()
                    .map(|&[a, b]| [a ^ delta.times(values[0]), b ^ delta.times(values[1])])
                    .collect();
                let mut out = vec![Block::ZERO; n];
                let (a, b): (Vec<_>, Vec<_>) = active.iter().map(|&[a, b]| (a, b)).unzip();
                evaluate(&mut GateHash::new(start), [&a, &b], &tables, &mut out);
                let mut one = GateHash::new(start);
                for (i, (out, zero)) in out.iter().zip(&zero).enumerate() {
                    assert_eq!(*out, *zero ^ delta.times(values[0] & values[1]));
                    assert_eq!(evaluate_one(&mut one, active[i], tables[i]), *out);
                }
            }
        }
    }
}

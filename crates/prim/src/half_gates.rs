//! Half gates: independent AND gates, garbled and evaluated; semi-honest.
//!
//! **Construction.** Zahur, Rosulek, Evans (EUROCRYPT 2015) with the re-keyed hash MITCCRH (Guo,
//! Katz, Wang, Weng, Yu, CRYPTO 2020). **Roles.** The garbler holds L_{w,0} and Delta with bit 0 = 1, the
//! evaluator the active label. The permute bit is bit 0.
//! **Adversary.** Semi-honest. **Leakage.** None beyond the output. **Checks.** None: a cheating
//! garbler is not caught.
//! **Private values.** Wire values: masked by the permute bit. Inactive labels: the active ones plus Delta.
//! **Costs.** 32 B a gate, 4 hashes at the garbler, 2 at the evaluator, 2 keys each.

use crate::Block;
use crate::mitccrh::Mitccrh;
use crate::simd::half_gates::{Evaluate, Garble};

/// A run of half gates under MITCCRH. Key indices 2 g and 2 g + 1 belong to gate g of the run.
pub struct HalfGates {
    hash: Mitccrh,
}

impl HalfGates {
    /// A run with a start point that was fixed after the garbler's Delta.
    #[must_use]
    pub fn new(start: Block) -> HalfGates {
        HalfGates { hash: Mitccrh::new(start) }
    }

    /// Garbles independent gates with inputs L_{a,0} and L_{b,0}: two table blocks each, and L_{c,0}.
    ///
    /// # Panics
    /// If the slices do not describe the same number of gates.
    pub fn garble(
        &mut self,
        delta: Block,
        [a, b]: [&[Block]; 2],
        tables: &mut [[Block; 2]],
        out: &mut [Block],
    ) {
        assert!(b.len() == a.len() && tables.len() == a.len() && out.len() == a.len());
        if let Some((cpu, queue)) = self.hash.take(2 * a.len()) {
            let tables = tables.as_flattened_mut();
            return cpu.run(Garble { queue, delta, inputs: [a, b], tables, out });
        }
        for (((&a, &b), table), out) in a.iter().zip(b).zip(tables).zip(out) {
            (*table, *out) = self.garble_one(delta, [a, b]);
        }
    }

    /// Garbles one gate, which waits for those before it: table and L_{c,0}.
    #[inline(always)]
    pub fn garble_one(&mut self, delta: Block, [a, b]: [Block; 2]) -> ([Block; 2], Block) {
        let mut h = [a, a ^ delta, b, b ^ delta];
        self.hash.few::<2, 4>(&mut h);
        let generator = h[0] ^ h[1] ^ delta.times(b.lsb());
        let evaluator = h[2] ^ h[3] ^ a;
        let out = h[0] ^ generator.times(a.lsb()) ^ h[2] ^ (evaluator ^ a).times(b.lsb());
        ([generator, evaluator], out)
    }

    /// Evaluates independent gates with active labels as inputs.
    ///
    /// # Panics
    /// As [`HalfGates::garble`].
    pub fn evaluate(&mut self, [a, b]: [&[Block]; 2], tables: &[[Block; 2]], out: &mut [Block]) {
        assert!(b.len() == a.len() && tables.len() == a.len() && out.len() == a.len());
        if let Some((cpu, queue)) = self.hash.take(2 * a.len()) {
            let tables = tables.as_flattened();
            return cpu.run(Evaluate { queue, inputs: [a, b], tables, out });
        }
        for (((&a, &b), table), out) in a.iter().zip(b).zip(tables).zip(out) {
            *out = self.evaluate_one([a, b], *table);
        }
    }

    /// Evaluates one gate, which waits for those before it.
    #[inline(always)]
    pub fn evaluate_one(
        &mut self,
        [a, b]: [Block; 2],
        [generator, evaluator]: [Block; 2],
    ) -> Block {
        let mut h = [a, b];
        self.hash.few::<1, 2>(&mut h);
        // What does not need the hashes first: in a chain of gates the hashes are what one waits for.
        let known = generator.times(a.lsb()) ^ (evaluator ^ a).times(b.lsb());
        h[0] ^ h[1] ^ known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::simd::Cpu;

    fn on(cpu: Option<Cpu>, start: Block) -> HalfGates {
        HalfGates { hash: Mitccrh::on(cpu, start) }
    }

    /// All sizes of batches, one after the other in one run, at every level, against gate by gate without vectors.
    #[test]
    fn active_labels_carry_the_product() {
        for cpu in Cpu::all() {
            let mut prg = Prg::new(Block::new(3));
            let (delta, start) = (prg.block().with_lsb(true), prg.block());
            let (mut garbler, mut one) = (on(cpu, start), on(None, start));
            let [mut evaluator, mut chain] = [on(cpu, start), on(cpu, start)];
            for n in (0..40).chain([1, 200, 5, 64, 16, 16, 31, 2, 2, 1, 13]) {
                let mut labels = || (0..n).map(|_| prg.block()).collect::<Vec<_>>();
                let (a, b) = (labels(), labels());
                let (mut tables, mut zero) = (vec![[Block::ZERO; 2]; n], vec![Block::ZERO; n]);
                garbler.garble(delta, [&a, &b], &mut tables, &mut zero);
                let values = |i: usize| [(i * i + n).is_multiple_of(3), i.is_multiple_of(2)];
                let active = |side: usize, labels: &[Block]| -> Vec<Block> {
                    (0..n).map(|i| labels[i] ^ delta.times(values(i)[side])).collect()
                };
                let (active_a, active_b) = (active(0, &a), active(1, &b));
                let mut out = vec![Block::ZERO; n];
                evaluator.evaluate([&active_a, &active_b], &tables, &mut out);
                for i in 0..n {
                    assert!(one.garble_one(delta, [a[i], b[i]]) == (tables[i], zero[i]));
                    let product = values(i)[0] & values(i)[1];
                    assert_eq!(out[i], zero[i] ^ delta.times(product));
                    let input = [active_a[i], active_b[i]];
                    assert_eq!(chain.evaluate_one(input, tables[i]), out[i]);
                }
            }
        }
    }
}

//! Half gates, garbled and evaluated on registers.
//!
//! A register holds the labels of both inputs of a gate in lanes side by side, as its two keys and the two blocks of its table are.

use super::rekeyed::{KeyQueue, Steps, cipher, register, register_mut, run};
use super::{Kernel, Vector};
use crate::Block;

/// Gates to be garbled; of each two blocks in `tables`.
pub(crate) struct Garble<'a> {
    pub(crate) queue: &'a mut KeyQueue,
    pub(crate) delta: Block,
    pub(crate) inputs: [&'a [Block]; 2],
    pub(crate) tables: &'a mut [Block],
    pub(crate) out: &'a mut [Block],
}

impl Kernel for Garble<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let Garble { queue, delta, inputs, tables, out } = self;
        let delta = V::splat(cpu, delta);
        let (gates, sigma) = (Gates { inputs, out }, delta.sigma());
        run::<V>(cpu, queue, &mut Garbling { delta, sigma, gates, tables });
    }
}

/// Gates to be evaluated; of each two blocks in `tables`.
pub(crate) struct Evaluate<'a> {
    pub(crate) queue: &'a mut KeyQueue,
    pub(crate) inputs: [&'a [Block]; 2],
    pub(crate) tables: &'a [Block],
    pub(crate) out: &'a mut [Block],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) {
        let Evaluate { queue, inputs, tables, out } = self;
        run::<V>(cpu, queue, &mut Evaluation { gates: Gates { inputs, out }, tables });
    }
}

/// The labels of gates.
struct Gates<'a> {
    inputs: [&'a [Block]; 2],
    out: &'a mut [Block],
}

impl<'a> Gates<'a> {
    /// Takes so many of them away.
    #[inline(always)]
    fn take(&mut self, gates: usize) -> Gates<'a> {
        let [a, b] = self.inputs;
        let ((a, later_a), (b, later_b)) = (a.split_at(gates), b.split_at(gates));
        self.inputs = [later_a, later_b];
        Gates { inputs: [a, b], out: self.out.split_off_mut(..gates).unwrap_or_default() }
    }

    /// The labels that register `i` of each input takes.
    #[inline(always)]
    fn labels<V: Vector, const FULL: bool>(&self, cpu: V::Cpu, i: usize) -> [V; 2] {
        let [a, b] = self.inputs;
        [V::load(cpu, register::<V, FULL>(a, i)), V::load(cpu, register::<V, FULL>(b, i))]
    }

    /// Writes register `i` of the labels of gates, from their inputs, what is hashed of each of these, and what is added of `half` where its permute bit is set.
    #[inline(always)]
    fn put<V: Vector, const FULL: bool>(
        &mut self,
        i: usize,
        [a, b]: [V; 2],
        hashed: [V; 2],
        half: [V; 2],
    ) {
        let bits = a.spread_lsb().zip(b.spread_lsb());
        let sides = [hashed[0].xor(half[0].and(bits.0)), hashed[1].xor(half[1].and(bits.1))];
        let (left, right) = sides[0].unzip(sides[1]);
        left.xor(right).store(register_mut::<V, FULL>(self.out, i));
    }
}

struct Garbling<'a, V> {
    delta: V,
    /// Of delta.
    sigma: V,
    gates: Gates<'a>,
    tables: &'a mut [Block],
}

impl<V: Vector> Steps<V> for Garbling<'_, V> {
    #[inline(always)]
    fn left(&self) -> usize {
        2 * self.gates.out.len()
    }

    #[inline(always)]
    fn step<const N: usize, const FULL: bool>(
        &mut self,
        cpu: V::Cpu,
        keys: usize,
        rounds: impl FnMut(usize) -> [V; N],
    ) {
        debug_assert!(keys.is_multiple_of(2), "a gate has two keys");
        let mut gates = self.gates.take(keys / 2);
        let tables = self.tables.split_off_mut(..keys).unwrap_or_default();
        let zero = V::load(cpu, &[]);
        let mut x = [[zero; 2]; N];
        for (i, x) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let [a, b] = gates.labels::<V, FULL>(cpu, i);
            let (first, second) = a.zip(b);
            for (x, label) in x.iter_mut().zip([first, second]) {
                // The map is linear.
                *x = [label.sigma(), label.sigma().xor(self.sigma)];
            }
        }
        cipher(&mut x, rounds);
        for (i, h) in x.as_chunks::<2>().0.iter().enumerate() {
            let [a, b] = gates.labels::<V, FULL>(cpu, i);
            let own = self.delta.and(b.spread_lsb()).zip(zero);
            let label = zero.zip(a);
            let half = [h[0][0].xor(h[0][1]).xor(own.0), h[1][0].xor(h[1][1]).xor(own.1)];
            half[0].xor(label.0).store(register_mut::<V, FULL>(tables, 2 * i));
            half[1].xor(label.1).store(register_mut::<V, FULL>(tables, 2 * i + 1));
            gates.put::<V, FULL>(i, [a, b], [h[0][0], h[1][0]], half);
        }
    }
}

struct Evaluation<'a> {
    gates: Gates<'a>,
    tables: &'a [Block],
}

impl<V: Vector> Steps<V> for Evaluation<'_> {
    #[inline(always)]
    fn left(&self) -> usize {
        2 * self.gates.out.len()
    }

    #[inline(always)]
    fn step<const N: usize, const FULL: bool>(
        &mut self,
        cpu: V::Cpu,
        keys: usize,
        rounds: impl FnMut(usize) -> [V; N],
    ) {
        debug_assert!(keys.is_multiple_of(2), "a gate has two keys");
        let mut gates = self.gates.take(keys / 2);
        let (tables, later) = self.tables.split_at(keys);
        self.tables = later;
        let zero = V::load(cpu, &[]);
        let mut x = [[zero; 1]; N];
        for (i, x) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let [a, b] = gates.labels::<V, FULL>(cpu, i);
            let (first, second) = a.zip(b);
            *x = [[first.sigma()], [second.sigma()]];
        }
        cipher(&mut x, rounds);
        for (i, h) in x.as_chunks::<2>().0.iter().enumerate() {
            let [a, b] = gates.labels::<V, FULL>(cpu, i);
            let label = zero.zip(a);
            let half = [
                V::load(cpu, register::<V, FULL>(tables, 2 * i)).xor(label.0),
                V::load(cpu, register::<V, FULL>(tables, 2 * i + 1)).xor(label.1),
            ];
            gates.put::<V, FULL>(i, [a, b], [h[0][0], h[1][0]], half);
        }
    }
}

//! Sums of products in GF(2^128), unreduced: (low, high) halves of a polynomial of degree 254.

use super::aes::{self, ROUND_KEYS, Schedule};
use super::{Cpu, Kernel, Vector};
use crate::Block;

/// An unreduced polynomial: coefficients below X^128, and from there on.
pub(crate) type Wide = (u128, u128);

/// Registers of key stream in flight.
const WIDE: usize = 8;

/// Sum of the carry-less products `a[i] b[i]`; stops at the shorter slice.
pub(crate) fn inner_product(cpu: Cpu, a: &[Block], b: &[Block]) -> Wide {
    let len = a.len().min(b.len());
    let cpu = if len == 1 { cpu.narrow() } else { cpu };
    cpu.run(InnerProduct { a: &a[..len], b: &b[..len] })
}

impl Schedule {
    /// Sum of the carry-less products of `blocks[i]` and the encryption of `first + i`.
    pub(crate) fn counter_inner_product(&self, cpu: Cpu, first: u128, blocks: &[Block]) -> Wide {
        cpu.run(CounterInnerProduct { schedule: self, first, blocks })
    }
}

/// The three partial sums of Karatsuba's multiplication of 64-bit halves, lane by lane.
struct Sum<V> {
    low: V,
    /// (low + high half of a) (low + high half of b)
    both: V,
    high: V,
}

impl<V: Vector> Sum<V> {
    #[inline(always)]
    fn zero(cpu: V::Cpu) -> Sum<V> {
        let zero = V::splat(cpu, Block::ZERO);
        Sum { low: zero, both: zero, high: zero }
    }

    #[inline(always)]
    fn add_product(&mut self, a: V, b: V) {
        self.low = self.low.xor(a.clmul::<false, false>(b));
        self.high = self.high.xor(a.clmul::<true, true>(b));
        // The high half of sigma is the sum of both halves.
        self.both = self.both.xor(a.sigma().clmul::<true, true>(b.sigma()));
    }

    #[inline(always)]
    fn finish(self) -> Wide {
        let (low, high) = (sum_of_lanes(self.low), sum_of_lanes(self.high));
        let middle = sum_of_lanes(self.both) ^ low ^ high;
        (low ^ (middle << 64), high ^ (middle >> 64))
    }
}

#[inline(always)]
fn sum_of_lanes<V: Vector>(x: V) -> u128 {
    let mut lanes = [Block::ZERO; 4];
    x.store(&mut lanes);
    (lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3]).to_u128()
}

struct InnerProduct<'a> {
    a: &'a [Block],
    b: &'a [Block],
}

impl Kernel for InnerProduct<'_> {
    type Output = Wide;

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) -> Wide {
        // Two sums: the additions of one alone would be a chain.
        let mut sums = [Sum::zero(cpu), Sum::zero(cpu)];
        let (mut a, mut b) = (self.a.chunks_exact(2 * V::LANES), self.b.chunks_exact(2 * V::LANES));
        for (a, b) in (&mut a).zip(&mut b) {
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = i * V::LANES..(i + 1) * V::LANES;
                sum.add_product(V::load(cpu, &a[at.clone()]), V::load(cpu, &b[at]));
            }
        }
        let [mut sum, other] = sums;
        for (a, b) in a.remainder().chunks(V::LANES).zip(b.remainder().chunks(V::LANES)) {
            sum.add_product(V::load(cpu, a), V::load(cpu, b));
        }
        let ((low, high), (low2, high2)) = (sum.finish(), other.finish());
        (low ^ low2, high ^ high2)
    }
}

struct CounterInnerProduct<'a> {
    schedule: &'a Schedule,
    first: u128,
    blocks: &'a [Block],
}

impl Kernel for CounterInnerProduct<'_> {
    type Output = Wide;

    #[inline(always)]
    fn run<V: Vector>(self, cpu: V::Cpu) -> Wide {
        let keys = self.schedule.splat::<V>(cpu);
        let mut sum = Sum::zero(cpu);
        let mut at = self.first;
        let mut chunks = self.blocks.chunks_exact(WIDE * V::LANES);
        for chunk in &mut chunks {
            step::<V, WIDE>(cpu, &keys, at, chunk, &mut sum);
            at = at.wrapping_add((WIDE * V::LANES) as u128);
        }
        for chunk in chunks.remainder().chunks(V::LANES) {
            step::<V, 1>(cpu, &keys, at, chunk, &mut sum);
            at = at.wrapping_add(V::LANES as u128);
        }
        sum.finish()
    }
}

/// Adds the products of at most `N * V::LANES` blocks and the key stream from `first` on.
#[inline(always)]
fn step<V: Vector, const N: usize>(
    cpu: V::Cpu,
    keys: &[V; ROUND_KEYS],
    first: u128,
    blocks: &[Block],
    sum: &mut Sum<V>,
) {
    let mut stream: [V; N] = aes::count(cpu, first);
    aes::encrypt(keys, &mut stream);
    let x: [V; N] = aes::load(cpu, blocks);
    for (x, stream) in x.iter().zip(&stream) {
        sum.add_product(*x, *stream);
    }
}

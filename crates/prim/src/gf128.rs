//! GF(2^128) = `GF(2)[X] / (X^128 + X^7 + X^2 + X + 1)`, bit i of a block the coefficient of X^i.

use crate::simd::{self, Cpu};
use crate::{Block, Prg};

/// Product of two elements.
pub fn mul(a: Block, b: Block) -> Block {
    inner_product(&[a], &[b])
}

/// Sum of `a[i] * b[i]`; stops at the shorter slice. Reduces once, at the end.
pub fn inner_product(a: &[Block], b: &[Block]) -> Block {
    inner_product_on(Cpu::current(), a, b)
}

/// [`inner_product`] on `cpu`.
pub(crate) fn inner_product_on(cpu: Option<Cpu>, a: &[Block], b: &[Block]) -> Block {
    if let Some(cpu) = cpu {
        return reduce(simd::gf128::inner_product(cpu, a, b));
    }
    let mut sum = (0, 0);
    for (&a, &b) in a.iter().zip(b) {
        let (low, high) = clmul_portable(a, b);
        sum.0 ^= low;
        sum.1 ^= high;
    }
    reduce(sum)
}

/// A linear universal hash of a long sequence of blocks: sum of `chi_i x_i` with `chi` the stream
/// of a public seed. Two different sequences fixed before the seed collide with probability
/// 2^-128; the hash of an xor is the xor of the hashes.
pub struct LinearHash {
    chi: Prg,
    sum: Block,
}

impl LinearHash {
    /// The hash with coefficients from `seed`.
    pub fn new(seed: Block) -> LinearHash {
        LinearHash { chi: Prg::new(seed), sum: Block::ZERO }
    }

    /// Absorbs the next blocks of the sequence.
    pub fn absorb(&mut self, blocks: &[Block]) {
        self.sum ^= self.chi.inner_product(blocks);
    }

    /// The hash of everything absorbed.
    pub fn finish(self) -> Block {
        self.sum
    }
}

/// Carry-less product as (low, high) 128-bit halves.
fn clmul_portable(a: Block, b: Block) -> (u128, u128) {
    let (a, b) = (a.to_u128(), b.to_u128());
    let (mut low, mut high) = (0, 0);
    for i in 0..128 {
        let mask = (b >> i & 1).wrapping_neg();
        low ^= (a << i) & mask;
        high ^= (a >> 1 >> (127 - i)) & mask;
    }
    (low, high)
}

/// The element a polynomial of degree below 255 stands for.
pub(crate) fn reduce((low, high): (u128, u128)) -> Block {
    // X^128 = X^7 + X^2 + X + 1, applied twice: the first fold leaves at most 7 bits above.
    let carry = (high >> 126) ^ (high >> 121);
    let folded = high ^ carry;
    Block::new(low ^ folded ^ (folded << 1) ^ (folded << 2) ^ (folded << 7))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::Aes128;

    #[test]
    fn small_products_are_polynomial_products() {
        assert_eq!(mul(Block::new(0b11), Block::new(0b11)), Block::new(0b101));
        assert_eq!(mul(Block::ONE, Block::new(u128::MAX)), Block::new(u128::MAX));
        // X^127 * X = X^128 = X^7 + X^2 + X + 1.
        assert_eq!(mul(Block::new(1 << 127), Block::new(2)), Block::new(0x87));
        // X^127 * X^127 = X^254, reduced by hand: X^128 -> 0x87, then X^126 more.
        let x126 = Block::new(1 << 126);
        assert_eq!(mul(Block::new(1 << 127), Block::new(1 << 127)), mul(Block::new(0x87), x126));
    }

    #[test]
    fn the_group_order_is_right() {
        // a^(2^128) = a for every a: 128 squarings return to the start.
        let a = Block::new(0x0123456789abcdef_fedcba9876543210);
        let mut x = a;
        for i in 0..128 {
            x = mul(x, x);
            assert!(i == 127 || x != a);
        }
        assert_eq!(x, a);
    }

    #[test]
    fn inner_product_and_hash_are_linear() {
        let mut prg = Prg::new(Block::new(5));
        let (mut a, mut b) = (vec![Block::ZERO; 131], vec![Block::ZERO; 131]);
        prg.fill(&mut a);
        prg.fill(&mut b);
        let expected = a.iter().zip(&b).fold(Block::ZERO, |sum, (&a, &b)| sum ^ mul(a, b));
        assert_eq!(inner_product(&a, &b), expected);
        let hash = |parts: &[&[Block]]| {
            let mut hash = LinearHash::new(Block::new(9));
            parts.iter().for_each(|part| hash.absorb(part));
            hash.finish()
        };
        let sum: Vec<Block> = a.iter().zip(&b).map(|(&a, &b)| a ^ b).collect();
        assert_eq!(hash(&[&sum]), hash(&[&a]) ^ hash(&[&b]));
        assert_eq!(hash(&[&a]), hash(&[&a[..1], &a[1..64], &a[64..]]));
        let mut chi = vec![Block::ZERO; 131];
        Prg::new(Block::new(9)).fill(&mut chi);
        assert_eq!(hash(&[&a]), inner_product(&chi, &a));
    }

    #[test]
    fn products_agree_at_every_level_length_and_offset() {
        let mut x = vec![Block::ZERO; 606];
        Prg::new(Block::new(11)).fill(&mut x);
        let first = u128::MAX - 100;
        let portable = Aes128::on(None, Block::new(3));
        let mut chi = vec![Block::ZERO; 300];
        portable.counter_stream(first, &mut chi);
        for cpu in Cpu::all() {
            let aes = Aes128::on(cpu, Block::new(3));
            let (mut product, mut hash) = (Block::ZERO, Block::ZERO);
            for len in 0..300 {
                let (a, b) = (&x[1..1 + len], &x[303..303 + len]);
                assert_eq!(inner_product_on(cpu, a, b), product);
                assert_eq!(inner_product_on(cpu, a, &x[303..]), product);
                assert_eq!(aes.counter_inner_product(first, b), hash);
                product ^= inner_product_on(None, &x[1 + len..][..1], &x[303 + len..][..1]);
                hash ^= inner_product_on(None, &chi[len..][..1], &x[303 + len..][..1]);
            }
        }
    }
}

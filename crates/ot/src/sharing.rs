//! Shamir's sharing over GF(2^128), opened from a set of shares that stays secret: no branch or
//! index depends on which shares are known.
//!
//! The secret is the value of a polynomial at the point 0, share i its value at i + 1; a point is
//! the integer read as a field element.

use cenote_prim::{Block, Secret, gf128};

/// The values at the points 0 ..= `shares` of the polynomial with these coefficients, constant term
/// first: the secret and all shares. As many shares as there are coefficients determine the
/// polynomial; if the coefficients are uniform, fewer say nothing about the secret.
pub(crate) fn share(coefficients: &[Block], shares: usize) -> Secret<Vec<Block>> {
    let value = |x: usize| {
        let terms = coefficients.iter().rev();
        terms.fold(Block::ZERO, |sum, term| gf128::mul(sum, point(x)) ^ *term)
    };
    Secret::new((0..=shares).map(value).collect())
}

/// The values at the points 0 ..= `shares.len()` of the polynomial of degree below the number of
/// known shares that goes through these; share i is known where `known[i]`, and otherwise not read.
pub(crate) fn interpolate(shares: &[Block], known: &[bool]) -> Secret<Vec<Block>> {
    let n = shares.len();
    let products = products(known);
    // Of differences of two points, which are public.
    let inverses: Vec<Block> =
        (0..(n + 1).next_power_of_two()).map(|d| inverse(point(d))).collect();
    let weighted = (0..n).map(|i| gf128::mul(shares[i], inverse(products[i + 1])).times(known[i]));
    let weighted: Secret<Vec<Block>> = Secret::new(weighted.collect());
    let mut values = Secret::with_capacity(n + 1);
    for x in 0..=n {
        // The inverse of zero is zero here: a point's own share is taken as it is, below.
        let terms = weighted.iter().enumerate();
        let terms = terms.map(|(i, weighted)| gf128::mul(*weighted, inverses[x ^ (i + 1)]));
        let sum = terms.fold(Block::ZERO, |sum, term| sum ^ term);
        let value = gf128::mul(products[x], sum);
        values.push(match x.checked_sub(1) {
            Some(i) => value ^ (value ^ shares[i]).times(known[i]),
            None => value,
        });
    }
    values
}

/// For each point x, the product of x - y over the points y of the known shares but x itself.
fn products(known: &[bool]) -> Secret<Vec<Block>> {
    let product = |x: usize| {
        let others = known.iter().enumerate().filter(|(j, _)| j + 1 != x);
        others.fold(Block::ONE, |product, (j, known)| {
            let factor = Block::ONE ^ (Block::ONE ^ point(x ^ (j + 1))).times(*known);
            gf128::mul(product, factor)
        })
    };
    Secret::new((0..=known.len()).map(product).collect())
}

fn point(x: usize) -> Block {
    Block::new(x as u128)
}

/// The inverse of `a`, or zero if `a` is zero: a^(2^128 - 2).
fn inverse(a: Block) -> Block {
    // power = a^(2^k - 1), for k the leading bits of 127 = 0b1111111: 1, 3, 7, .., 127.
    let mut power = a;
    let mut k = 1;
    while k < 127 {
        let mut raised = power;
        for _ in 0..k {
            raised = gf128::mul(raised, raised);
        }
        power = gf128::mul(raised, power);
        power = gf128::mul(gf128::mul(power, power), a);
        k = 2 * k + 1;
    }
    gf128::mul(power, power)
}

#[cfg(test)]
mod tests {
    use cenote_prim::Prg;

    use super::*;

    fn random(n: usize, seed: u128) -> Vec<Block> {
        let mut blocks = vec![Block::ZERO; n];
        Prg::new(Block::new(seed)).fill(&mut blocks);
        blocks
    }

    #[test]
    fn inverses_are_inverses() {
        assert_eq!(inverse(Block::ZERO), Block::ZERO);
        assert_eq!(inverse(Block::ONE), Block::ONE);
        for a in random(50, 1).into_iter().chain((2..300).map(point)) {
            assert_eq!(gf128::mul(a, inverse(a)), Block::ONE);
        }
    }

    #[test]
    fn any_threshold_of_shares_gives_the_secret_and_all_others() {
        for n in 1..=7usize {
            for set in 1u32..1 << n {
                let known: Vec<bool> = (0..n).map(|i| set >> i & 1 == 1).collect();
                let coefficients = random(set.count_ones() as usize, u128::from(set));
                let values = share(&coefficients, n);
                assert_eq!(values[0], coefficients[0]);
                // What is not known is not read.
                let mut shares = random(n, 99);
                for i in (0..n).filter(|i| known[*i]) {
                    shares[i] = values[i + 1];
                }
                assert_eq!(*interpolate(&shares, &known), *values);
            }
        }
    }

    #[test]
    fn large_sets_too() {
        for (n, threshold) in [(88, 56), (44, 24), (186, 154), (256, 1), (256, 255)] {
            let coefficients = random(threshold, 3);
            let values = share(&coefficients, n);
            // A stride that is prime to all sizes spreads the set.
            let mut known = vec![false; n];
            (0..threshold).for_each(|i| known[i * 101 % n] = true);
            let shares: Vec<Block> =
                known.iter().zip(&values[1..]).map(|(k, v)| v.times(*k)).collect();
            assert_eq!(*interpolate(&shares, &known), *values);
        }
    }

    #[test]
    fn one_share_too_few_fits_every_secret() {
        let values = share(&random(3, 5), 5);
        // Two known shares and any guessed secret lie on a polynomial of degree 2: the guess moves
        // to the place of an unknown share by linearity.
        let known = [true, true, false, true, false];
        let mut shares = values[1..].to_vec();
        let mut secrets = Vec::new();
        for guess in 0..50 {
            shares[3] = Block::new(guess);
            secrets.push(interpolate(&shares, &known)[0].to_u128());
        }
        secrets.sort_unstable();
        secrets.dedup();
        assert_eq!(secrets.len(), 50);
    }
}

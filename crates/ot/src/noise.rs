//! The parameters of silent OT, and what it costs to decode its noise.

use std::fmt;

/// Blocks of the secret in an output.
pub(crate) const WEIGHT: usize = 10;

/// COTs that mask the receiver's sum of coefficients.
pub(crate) const MASK: usize = 128;

/// The parameters of silent OT; both parties must use the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Trees, each with one noisy leaf.
    pub(crate) trees: usize,
    /// Levels of a tree.
    pub(crate) depth: usize,
    /// Length of the secret.
    pub(crate) secret: usize,
}

impl Params {
    /// Parameters without a word on their security.
    #[cfg(test)]
    pub(crate) fn explicit(trees: usize, depth: usize, secret: usize) -> Params {
        let params = Params { trees, depth, secret };
        assert!(depth >= 2 && params.reserve() + 128 <= trees << depth);
        params
    }

    /// Small trees.
    #[cfg(test)]
    pub(crate) fn tiny() -> Params {
        Params::explicit(64, 4, 64)
    }

    /// One bit of a place to guess, and stray bits in the choices.
    #[cfg(test)]
    pub(crate) fn shallow() -> Params {
        Params::explicit(257, 2, 64)
    }

    /// Leaves of a tree.
    pub(crate) const fn leaves(self) -> usize {
        1 << self.depth
    }

    /// COTs that an extension takes, rounded up to a multiple of 128.
    pub(crate) const fn reserve(self) -> usize {
        (self.secret + self.levels() + MASK).next_multiple_of(128)
    }

    /// COTs that an extension gives beyond those that the next one takes.
    #[must_use]
    pub const fn output(self) -> u64 {
        ((self.trees << self.depth) - self.reserve()) as u64 / 128 * 128
    }

    /// Levels of all trees.
    pub(crate) const fn levels(self) -> usize {
        self.trees * self.depth
    }

    /// Calls of AES that the sender makes for a COT: three passes over the trees, and the code.
    pub(crate) fn aes_per_cot(self) -> f64 {
        let leaves = (self.trees << self.depth) as f64;
        (3.0 + WEIGHT as f64 / 4.0) * leaves / self.output() as f64
    }
}

impl Default for Params {
    /// 1024 trees of depth 10 and a secret of 79872 COTs: 958336 COTs for 165184 bytes. The secret nearly
    /// fits the second-level cache, a tree the first.
    fn default() -> Params {
        Params { trees: 1024, depth: 10, secret: 39 << 11 }
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} trees of depth {}, secrets of {}", self.trees, self.depth, self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log2 of the binomial coefficient n over k, for small k.
    fn log_binomial(n: f64, k: usize) -> f64 {
        (0..k).map(|i| ((n - i as f64) / (i + 1) as f64).log2()).sum()
    }

    /// Bit operations, in log2, of the best attack among: guess p noisy places in each half of as many
    /// outputs as the secret has unknowns, none else there, and find them by a collision on just enough
    /// further outputs (Stern; without p: Prange). Each tree's sum is a linear equation without noise. To
    /// solve a sparse system takes 20 k^2 (Wiedemann), another one for the same matrix 10 k^2: less than
    /// what elimination takes, which makes the bound low.
    fn attack(params: Params) -> f64 {
        let (t, n) = (params.trees as f64, (params.trees << params.depth) as f64);
        let k = params.secret as f64 - t;
        let clean = 1.0 - k / n;
        let cost = |p: usize| {
            let list = log_binomial(k / 2.0, p);
            let window = 2.0 * list;
            // 2p of the trees have their noise among the outputs guessed, p in each half.
            let split = log_binomial(2.0 * p as f64, p) - 2.0 * p as f64;
            let hits = log_binomial(t, 2 * p) + 2.0 * p as f64 * (1.0 - clean).log2() + split;
            let probability = hits + (t - 2.0 * p as f64) * clean.log2();
            let solve = (20.0 + 10.0 * window) * k * k;
            let lists = 2.0 * window.max(1.0) * list.exp2();
            (solve + lists).log2() - probability
        };
        (0..6).map(cost).fold(f64::INFINITY, f64::min)
    }

    /// The published sets that Ferret's authors ship, by the estimate that they are made by: guess outputs
    /// without noise and eliminate in k^2.8.
    fn pooled_gauss(params: Params) -> f64 {
        let (t, k) = (params.trees as f64, params.secret as f64);
        2.8 * k.log2() - t * (1.0 - k / (t * params.leaves() as f64)).log2()
    }

    #[test]
    fn the_noise_is_enough() {
        let ours = Params::default();
        // A call of AES is 2^15 bit operations, about.
        assert!(attack(ours) >= f64::from(crate::KAPPA) + 15.0, "{}", attack(ours));
        let published =
            [(850, 10, 1 << 16), (1170, 11, 1 << 17), (1520, 12, 1 << 18), (1900, 13, 1 << 19)];
        for (trees, depth, secret) in published {
            let params = Params { trees, depth, secret };
            assert!(pooled_gauss(params) >= 128.0);
            // Ours is harder than the sets that the estimators were run for.
            assert!(pooled_gauss(ours) > pooled_gauss(params), "{params}");
        }
    }
}

//! The parameters of silent OT, and what it costs to decode its noise.

use std::fmt;

/// Blocks of the secret in an output, one from each part of as many equal ones.
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
    /// Length of the secret, a multiple of [`WEIGHT`].
    pub(crate) secret: usize,
}

impl Params {
    /// Parameters without a word on their security.
    #[cfg(test)]
    pub(crate) fn explicit(trees: usize, depth: usize, secret: usize) -> Params {
        let params = Params { trees, depth, secret };
        assert!(depth >= 2 && params.reserve() + 128 <= trees << depth);
        assert!(secret.is_multiple_of(WEIGHT));
        params
    }

    /// Small trees.
    #[cfg(test)]
    pub(crate) fn tiny() -> Params {
        Params::explicit(64, 4, 60)
    }

    /// One bit of a place to guess, and stray bits in the choices.
    #[cfg(test)]
    pub(crate) fn shallow() -> Params {
        Params::explicit(257, 2, 60)
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

    /// Calls of AES that the sender makes for a COT: three passes over the trees, and the code.
    pub(crate) fn aes_per_cot(self) -> f64 {
        let leaves = (self.trees << self.depth) as f64;
        (3.0 + WEIGHT as f64 / 4.0) * leaves / self.output() as f64
    }

    /// Levels of all trees.
    pub(crate) const fn levels(self) -> usize {
        self.trees * self.depth
    }
}

impl Default for Params {
    /// 2048 trees of depth 10 and a secret of 148480 COTs: 1928064 COTs for 330304 bytes. A tree fits the first-level cache.
    fn default() -> Params {
        Params { trees: 2048, depth: 10, secret: 145 << 10 }
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

    /// The fraction f of the secret's places such that no fewer of them hold as many outputs with all their
    /// places among them: for every set of f k an output is one of those with probability f^10 at most, so that
    /// the tail bound exp(-n D(f k / n, f^10)) for fk of n outputs, times the 2^(k H(f)) sets, is below 1.
    fn fewest_places(params: Params) -> f64 {
        let (k, n) = (params.secret as f64, (params.trees << params.depth) as f64);
        let excluded = |f: &f64| {
            let (share, inside) = (f * k / n, f.powi(WEIGHT as i32));
            let divergence = share * (share / inside).ln()
                + (1.0 - share) * ((1.0 - share) / (1.0 - inside)).ln();
            let entropy = -f * f.ln() - (1.0 - f) * (1.0 - f).ln();
            share > inside && n * divergence > k * entropy
        };
        (1..1000).map(|i| f64::from(i) / 1000.0).find(|f| !excluded(f)).expect("half of them")
    }

    /// The same for places that are picked blindly: as many outputs as places are expected.
    fn random_places(params: Params) -> f64 {
        let rate = params.secret as f64 / (params.trees << params.depth) as f64;
        rate.powf(1.0 / (WEIGHT - 1) as f64)
    }

    /// Bit operations, in log2, of the best attack among: keep outputs whose places are all in a fraction of
    /// the secret; guess p noisy ones, up to `most`, in each half of as many outputs as there are unknowns, none
    /// else there, and find them by a collision on just enough further outputs (Stern; without p: Prange).
    /// Each tree's sum counts as an equation without noise. To solve a sparse system takes 20 c^2 (Wiedemann)
    /// or c^2.8, another one for the same matrix 10 c^2.
    fn attack(params: Params, fraction: f64, most: usize) -> f64 {
        let (t, n) = (params.trees as f64, (params.trees << params.depth) as f64);
        let c = fraction * params.secret as f64 - t;
        let clean = 1.0 - c / n;
        let cost = |p: usize| {
            let list = log_binomial(c / 2.0, p);
            let window = 2.0 * list;
            // 2p of the trees have their noise among the outputs guessed, p in each half.
            let split = log_binomial(2.0 * p as f64, p) - 2.0 * p as f64;
            let hits = log_binomial(t, 2 * p) + 2.0 * p as f64 * (1.0 - clean).log2() + split;
            let probability = hits + (t - 2.0 * p as f64) * clean.log2();
            let solve = ((20.0 + 10.0 * window) * c * c).min(c.powf(2.8));
            let lists = 2.0 * window.max(1.0) * list.exp2();
            (solve + lists).log2() - probability
        };
        (0..=most).map(cost).fold(f64::INFINITY, f64::min)
    }

    /// All that is counted here, against us.
    fn pessimistic(params: Params) -> f64 {
        attack(params, fewest_places(params), 6)
    }

    /// The estimate that the published sets are made by: guess outputs without noise among all of them, and
    /// eliminate in k^2.8.
    fn pooled_gauss(params: Params) -> f64 {
        let (t, k) = (params.trees as f64, params.secret as f64);
        2.8 * k.log2() - t * (1.0 - k / (t * params.leaves() as f64)).log2()
    }

    /// The figures of docs/protocols/ot.md: by elimination; sparse; in places picked blindly; with collisions;
    /// in the fewest places.
    fn figures(params: Params) -> [i32; 5] {
        let random = random_places(params);
        let bits = [
            pooled_gauss(params),
            attack(params, 1.0, 0),
            attack(params, random, 0),
            attack(params, random, 6),
            pessimistic(params),
        ];
        bits.map(|bits| bits as i32)
    }

    #[test]
    fn the_noise_is_enough() {
        let ours = Params::default();
        assert!(ours.secret.is_multiple_of(WEIGHT));
        // A call of AES is 2^15 bit operations, about.
        assert!(pessimistic(ours) >= f64::from(crate::KAPPA) + 15.0, "{}", pessimistic(ours));
        assert_eq!(figures(ours), [265, 252, 194, 178, 147]);
        let [random, fewest] = [random_places(ours), fewest_places(ours)];
        assert!((0.74..0.75).contains(&random) && (0.595..0.605).contains(&fewest), "{fewest}");
    }

    #[test]
    fn published_sets_are_below_the_claim() {
        let published = [
            (850, 10, 1 << 16, [140, 130, 105, 93, 80]),
            (1170, 11, 1 << 17, [142, 132, 104, 93, 80]),
            (1520, 12, 1 << 18, [144, 134, 104, 93, 80]),
            (1900, 13, 1 << 19, [147, 135, 104, 94, 81]),
        ];
        for (trees, depth, secret, bits) in published {
            assert_eq!(figures(Params { trees, depth, secret }), bits);
        }
    }
}

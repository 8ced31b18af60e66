//! Codes of the interactive hash of POOL-JIMU, by the error bound.
//!
//! The garbler hashes a message of `k` symbols as a Reed-Solomon word of `n` symbols, of which the
//! evaluator watches `w` at places that the garbler does not know. To open one hash in two ways
//! takes two words that differ at no watched place. Two words agree at `k - 1` places at most, so
//! the watched ones are among those with probability `C(k - 1, w) / C(n, w)`. The evaluator knows
//! nothing about `k - w` symbols more: the secrets of a message are its values at as many further
//! points that nobody can watch. Any `k` symbols of the code with those points determine a word, so
//! that the secrets are uniform given the watched symbols, as long as the field has `n + k - w` points.
//!
//! Source: JIMU (ASIACRYPT 2017) for [88, 48] and [44, 21]; the further points, and the codes for
//! other bounds, are ours. `docs/parameters.md` has the table.

use serde::Serialize;

use super::recurrence::binomial_log2;
use super::{ParamsError, check_epsilon};

/// A Reed-Solomon code whose words are watched at a few places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Bits of a symbol: the field is GF(2^field_bits).
    pub field_bits: u32,
    /// Symbols of a word.
    pub n: u32,
    /// Symbols of a message, at most `n`.
    pub k: u32,
    /// Symbols that are watched, fewer than `k`.
    pub w: u32,
}

impl Code {
    /// Base-2 logarithm of the chance that two different words, made without knowing the watched
    /// places, agree at all of them: `C(k - 1, w) / C(n, w)`. For `w < k <= n`.
    #[must_use]
    pub fn binding_log2(&self) -> f64 {
        binomial_log2(u64::from(self.k.saturating_sub(1)), self.w)
            - binomial_log2(u64::from(self.n), self.w)
    }

    /// Symbols of a word beyond its message.
    #[must_use]
    pub fn parity(&self) -> u32 {
        self.n.saturating_sub(self.k)
    }

    /// Symbols of entropy that watching leaves, and evaluation points beyond the `n` of a word at
    /// which they are taken.
    #[must_use]
    pub fn extra_points(&self) -> u32 {
        self.k.saturating_sub(self.w)
    }

    /// The shortest code with these parameters that binds to 2^-rho, if the field has the points.
    fn shortest(field_bits: u32, k: u32, w: u32, rho: u32) -> Option<Code> {
        let points = 1 << field_bits;
        let mut codes = (k..=points - (k - w)).map(|n| Code { field_bits, n, k, w });
        codes.find(|code| code.binding_log2() <= -f64::from(rho))
    }
}

/// Bits by which a linear check is better than the codes.
const SPARE_BITS: u32 = 8;

/// The codes of one session, each binding to 2^-rho by itself, and the number of random linear
/// combinations that hold a batch of words against its code.
///
/// The cheater answers after it has seen the coefficients, so it may choose *then* in which places
/// its answer is right. For one set of places, fixed before, `t` combinations of a batch that is
/// no code there are right with probability `|F|^-t`; there are `2^n` sets. With `|F|^t >= 2^(n + rho + 8)`
/// all of them together add 2^-(rho + 8), next to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HashCodes {
    /// The code of wire labels: 16 symbols of 8 bits stay hidden, 128 bits.
    pub labels: Code,
    /// The code of permutation messages: one symbol stays hidden, of which one bit is used.
    pub perms: Code,
    /// Linear combinations of labels, `ceil((n + rho + 8) / field_bits)`.
    pub label_combinations: u32,
    /// Linear combinations of permutation messages.
    pub perm_combinations: u32,
}

/// The codes for an error of 2^-rho each.
///
/// The field of 64 elements, whose messages take half the bytes, has room for permutation messages
/// up to `rho = 53`.
///
/// # Errors
/// [`ParamsError::Epsilon`] for a `rho` of 0 or above 256; [`ParamsError::Binding`] where
/// GF(2^8) has too few points, from `rho = 93` on.
pub fn hash_codes(rho: u32) -> Result<HashCodes, ParamsError> {
    check_epsilon(-f64::from(rho))?;
    let labels = Code::shortest(8, 48, 32, rho);
    let perms = Code::shortest(6, 21, 20, rho).or_else(|| Code::shortest(8, 32, 31, rho));
    let (Some(labels), Some(perms)) = (labels, perms) else {
        return Err(ParamsError::Binding(rho));
    };
    Ok(HashCodes {
        labels,
        perms,
        label_combinations: (labels.n + rho + SPARE_BITS).div_ceil(labels.field_bits),
        perm_combinations: (perms.n + rho + SPARE_BITS).div_ceil(perms.field_bits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(field_bits: u32, n: u32, k: u32, w: u32) -> Code {
        Code { field_bits, n, k, w }
    }

    #[test]
    fn the_codes_of_jimu_come_out_at_40_bits() {
        let found = hash_codes(40).expect("in range");
        assert_eq!((found.labels, found.perms), (code(8, 88, 48, 32), code(6, 44, 21, 20)));
        assert!((found.labels.binding_log2() + 40.26).abs() < 0.01);
        assert!((found.perms.binding_log2() + 40.68).abs() < 0.01);
        assert_eq!((found.label_combinations, found.perm_combinations), (17, 16));
        assert_eq!((found.labels.parity(), found.perms.parity()), (40, 23));
        assert_eq!((found.labels.extra_points(), found.perms.extra_points()), (16, 1));
    }

    #[test]
    fn higher_bounds_take_longer_codes() {
        let found = hash_codes(64).expect("in range");
        assert_eq!((found.labels, found.perms), (code(8, 137, 48, 32), code(8, 68, 32, 31)));
        assert!((found.labels.binding_log2() + 64.35).abs() < 0.01);
        assert!((found.perms.binding_log2() + 64.25).abs() < 0.01);
        assert_eq!((found.label_combinations, found.perm_combinations), (27, 18));
        let found = hash_codes(80).expect("in range");
        assert_eq!((found.labels, found.perms), (code(8, 186, 48, 32), code(8, 90, 32, 31)));
        assert!((found.labels.binding_log2() + 80.05).abs() < 0.01);
        assert!((found.perms.binding_log2() + 80.11).abs() < 0.01);
        assert_eq!((found.label_combinations, found.perm_combinations), (35, 23));
    }

    /// C(a, w) / C(n, w) as a product of ratios, without logarithms.
    fn direct(code: Code) -> f64 {
        (0..code.w).map(|j| f64::from(code.k - 1 - j) / f64::from(code.n - j)).product()
    }

    #[test]
    fn every_code_binds_is_shortest_and_has_its_points() {
        for rho in 1..=92 {
            let found = hash_codes(rho).expect("in range");
            for code in [found.labels, found.perms] {
                assert!(code.binding_log2() <= -f64::from(rho), "{code:?}");
                assert!((code.binding_log2() - direct(code).log2()).abs() < 1e-9, "{code:?}");
                let shorter = Code { n: code.n - 1, ..code };
                assert!(shorter.n < code.k || shorter.binding_log2() > -f64::from(rho));
                assert!(code.n + code.extra_points() <= 1 << code.field_bits, "{code:?}");
                assert!(code.w < code.k && code.k <= code.n);
            }
            assert_eq!(found.perms.field_bits, if rho <= 53 { 6 } else { 8 });
            assert_eq!(found.labels.extra_points() * found.labels.field_bits, 128);
            let bits = |count: u32, code: Code| count * code.field_bits;
            assert!(
                bits(found.label_combinations, found.labels) >= found.labels.n + rho + SPARE_BITS
            );
            assert!(bits(found.perm_combinations, found.perms) >= found.perms.n + rho + SPARE_BITS);
        }
    }

    #[test]
    fn the_bound_is_the_share_of_watch_sets_that_miss_every_difference() {
        // All watch sets of 2 of 6 places; two words of a code with k = 4 agree at 3 places.
        let sets: Vec<u32> = (0u32..64).filter(|set| set.count_ones() == 2).collect();
        let missed = sets.iter().filter(|set| *set & 0b111 == **set).count();
        let share = missed as f64 / sets.len() as f64;
        assert!((code(8, 6, 4, 2).binding_log2().exp2() - share).abs() < 1e-12);
    }

    #[test]
    fn bounds_out_of_range_are_refused() {
        assert!(matches!(hash_codes(0), Err(ParamsError::Epsilon(_))));
        for rho in [93, 100, 128, 256] {
            assert_eq!(hash_codes(rho), Err(ParamsError::Binding(rho)));
        }
        assert!(matches!(hash_codes(257), Err(ParamsError::Epsilon(_))));
        assert!(matches!(hash_codes(u32::MAX), Err(ParamsError::Epsilon(_))));
    }
}

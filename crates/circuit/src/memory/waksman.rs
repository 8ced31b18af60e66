//! Permutation networks of any size (Waksman, J. ACM 1968; odd sizes: Beauquier and Darrot, 2002), and joint secret permutations.
//!
//! A network of m rows exchanges the rows of each pair or not, sends one of each pair to an upper network of floor(m / 2) rows and the
//! other to a lower one, and exchanges again what comes out, but for the last pair, whose upper row comes first; the last of an odd number of rows is one
//! of the lower network without an exchange. m L - 2^L + 1 switches with L = ceil(log2 m), each an AND for each bit of a row. All switches at one depth are one batch.
//!
//! Whatever its control bits are, a network permutes. So a party that enters others than those of a uniform permutation chooses
//! its own permutation, and no more; and two networks, one of each party, are uniform if one of the parties is honest.

use cenote_prim::Role;
use zeroize::Zeroizing;

use super::Reactive;
use crate::gates::Gates;

/// Switches of a network of so many rows.
pub(super) fn switches(rows: usize) -> u64 {
    let layers = rows.next_power_of_two().trailing_zeros();
    rows as u64 * u64::from(layers) + 1 - (1 << layers)
}

/// Where the switches of a network are.
pub(super) struct Network {
    /// Sizes of the networks at each depth, those of the upper ones first.
    depths: Vec<Vec<usize>>,
}

/// The switches before the inner networks, or those behind.
#[derive(Clone, Copy)]
enum Side {
    Before,
    Behind,
}

impl Side {
    /// Pairs of a network of so many rows.
    const fn pairs(self, rows: usize) -> usize {
        match self {
            Side::Before => rows / 2,
            Side::Behind => rows.saturating_sub(1) / 2,
        }
    }
}

impl Network {
    pub(super) fn new(rows: usize) -> Network {
        let (mut depths, mut sizes) = (Vec::new(), vec![rows]);
        while sizes.iter().any(|size| *size > 1) {
            let halves = sizes.iter().flat_map(|size| [size / 2, size - size / 2]);
            let inner = halves.filter(|size| *size > 0).collect();
            depths.push(std::mem::replace(&mut sizes, inner));
        }
        Network { depths }
    }

    /// The control bits with which place j gets row `permutation[j]`; which addresses this looks at depends on the permutation.
    pub(super) fn route(&self, permutation: &[usize]) -> Zeroizing<Vec<bool>> {
        let count = switches(permutation.len()) as usize;
        let mut controls = Zeroizing::new(Vec::with_capacity(count));
        let mut all = Zeroizing::new(permutation.to_vec());
        for sizes in &self.depths {
            // Of all networks at this depth: those before, then those behind.
            let mut behind = Zeroizing::new(Vec::with_capacity(all.len() / 2));
            let mut rest = &mut all[..];
            for size in sizes {
                let (own, others) = rest.split_at_mut(*size);
                rest = others;
                route_outside(own, &mut controls, &mut behind);
            }
            controls.extend_from_slice(&behind);
        }
        controls
    }

    /// The rows at their places.
    pub(super) fn apply<G: Gates>(
        &self,
        g: &mut G,
        controls: &[G::Wire],
        rows: Vec<Vec<G::Wire>>,
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.run(g, controls, rows, [Side::Before, Side::Behind])
    }

    /// The inverse of [`Self::apply`].
    pub(super) fn undo<G: Gates>(
        &self,
        g: &mut G,
        controls: &[G::Wire],
        rows: Vec<Vec<G::Wire>>,
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.run(g, controls, rows, [Side::Behind, Side::Before])
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        controls: &[G::Wire],
        mut rows: Vec<Vec<G::Wire>>,
        [down, up]: [Side; 2],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let (mut starts, mut start) = (Vec::with_capacity(self.depths.len()), 0);
        for sizes in &self.depths {
            starts.push(start);
            let count = |side: Side| sizes.iter().map(|size| side.pairs(*size)).sum::<usize>();
            start += count(Side::Before) + count(Side::Behind);
        }
        for (sizes, start) in self.depths.iter().zip(&starts) {
            exchange(g, sizes, &controls[*start..], down, &mut rows)?;
            rows = moved(sizes, rows, true);
        }
        for (sizes, start) in self.depths.iter().zip(&starts).rev() {
            rows = moved(sizes, rows, false);
            exchange(g, sizes, &controls[*start..], up, &mut rows)?;
        }
        Ok(rows)
    }
}

/// Exchanges the pairs whose control bit is set.
fn exchange<G: Gates>(
    g: &mut G,
    sizes: &[usize],
    controls: &[G::Wire],
    side: Side,
    rows: &mut [Vec<G::Wire>],
) -> Result<(), G::Error> {
    let first = match side {
        Side::Before => 0,
        Side::Behind => sizes.iter().map(|size| Side::Before.pairs(*size)).sum(),
    };
    let (mut pairs, mut start) = (Vec::new(), 0);
    for size in sizes {
        pairs.extend((0..side.pairs(*size)).map(|pair| start + 2 * pair));
        start += size;
    }
    let (upper, lower): (Vec<_>, Vec<_>) =
        pairs.iter().map(|at| (&rows[*at][..], &rows[at + 1][..])).unzip();
    let (upper, lower) = (upper.concat(), lower.concat());
    let differences = g.xor_many(&upper, &lower)?;
    let changes = g.and_groups(&controls[first..first + pairs.len()], &differences)?;
    let (upper, lower) = (g.xor_many(&upper, &changes)?, g.xor_many(&lower, &changes)?);
    let width = rows.first().map_or(0, Vec::len).max(1);
    for (at, (upper, lower)) in pairs.iter().zip(upper.chunks(width).zip(lower.chunks(width))) {
        rows[*at].clone_from_slice(upper);
        rows[at + 1].clone_from_slice(lower);
    }
    Ok(())
}

/// The rows of pairs to the inner networks, or back.
fn moved<T>(sizes: &[usize], rows: Vec<T>, inward: bool) -> Vec<T> {
    let mut from = Vec::with_capacity(rows.len());
    for size in sizes {
        let (start, upper) = (from.len(), size / 2);
        if inward {
            from.extend((0..upper).map(|pair| start + 2 * pair));
            from.extend((0..upper).map(|pair| start + 2 * pair + 1));
        } else {
            from.extend((0..upper).flat_map(|pair| [start + pair, start + upper + pair]));
        }
        // The last of an odd number stays the last.
        from.extend((2 * upper..*size).map(|last| start + last));
    }
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    from.into_iter().filter_map(|at| rows[at].take()).collect()
}

/// Control bits of the outer switches of one network; in the place of its permutation, those of the upper and the lower network.
fn route_outside(permutation: &mut [usize], before: &mut Vec<bool>, behind: &mut Vec<bool>) {
    let size = permutation.len();
    if size < 2 {
        return;
    }
    let mut place_of = Zeroizing::new(vec![0; size]);
    permutation.iter().enumerate().for_each(|(place, row)| place_of[*row] = place);
    let mut inner = Zeroizing::new(vec![0; size]);
    let (mut rows_cross, mut places_cross) =
        (Zeroizing::new(vec![false; size / 2 + 1]), Zeroizing::new(vec![false; size / 2 + 1]));
    let mut is_done = Zeroizing::new(vec![false; size]);
    // The last place gets what comes from below, and is the first; the others in turn.
    let firsts = (0..size / 2).map(|pair| 2 * pair + 1);
    for first in std::iter::once(size - 1).chain(firsts) {
        let mut place = first;
        while !is_done[place] {
            // From below to this place; the other row of its pair goes up.
            let row = permutation[place];
            is_done[place] = true;
            inner[size / 2 + place / 2] = row / 2;
            places_cross[place / 2] = place.is_multiple_of(2);
            rows_cross[row / 2] = row.is_multiple_of(2);
            if row ^ 1 >= size {
                break;
            }
            let other = place_of[row ^ 1];
            is_done[other] = true;
            inner[other / 2] = row / 2;
            place = other ^ 1;
        }
    }
    before.extend_from_slice(&rows_cross[..Side::Before.pairs(size)]);
    behind.extend_from_slice(&places_cross[..Side::Behind.pairs(size)]);
    permutation.copy_from_slice(&inner);
}

/// A uniform permutation (Fisher-Yates), from uniform words.
pub(super) fn uniform(rows: usize, words: &mut dyn FnMut() -> u64) -> Zeroizing<Vec<usize>> {
    let mut permutation = Zeroizing::new((0..rows).collect::<Vec<usize>>());
    for last in (1..rows).rev() {
        permutation.swap(last, below(last as u64 + 1, words) as usize);
    }
    permutation
}

/// Uniform number below `bound`, without bias (Lemire 2019, "Fast random integer generation in an interval").
fn below(bound: u64, words: &mut dyn FnMut() -> u64) -> u64 {
    loop {
        let product = u128::from(words()) * u128::from(bound);
        // Words whose low half falls below 2^64 mod bound would favour some numbers.
        if product as u64 >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// A uniform permutation that neither party knows: two networks, whose control bits the parties enter.
pub(super) struct Joint<W> {
    network: Network,
    controls: [Vec<W>; 2],
}

impl<W: Clone> Joint<W> {
    pub(super) fn draw<G: Reactive<Wire = W>>(g: &mut G, rows: usize) -> Result<Self, G::Error> {
        let network = Network::new(rows);
        let count = switches(rows) as usize;
        let mut of =
            |owner: Role| g.own_inputs(owner, count, &|words| network.route(&uniform(rows, words)));
        let controls = [of(Role::Garbler)?, of(Role::Evaluator)?];
        Ok(Joint { network, controls })
    }

    /// The rows at their places.
    pub(super) fn apply<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        rows: Vec<Vec<W>>,
    ) -> Result<Vec<Vec<W>>, G::Error> {
        let mut of = |controls: &[W], rows| self.network.apply(g, controls, rows);
        let rows = of(&self.controls[0], rows)?;
        of(&self.controls[1], rows)
    }

    /// The inverse of [`Self::apply`].
    pub(super) fn undo<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        rows: Vec<Vec<W>>,
    ) -> Result<Vec<Vec<W>>, G::Error> {
        let mut of = |controls: &[W], rows| self.network.undo(g, controls, rows);
        let rows = of(&self.controls[1], rows)?;
        of(&self.controls[0], rows)
    }
}

#[cfg(test)]
mod tests {
    use cenote_prim::{Block, Prg};

    use super::*;
    use crate::{Clear, bits_of, value_of};

    fn words(seed: u128) -> impl FnMut() -> u64 {
        let mut prg = Prg::new(Block::new(seed));
        move || prg.block().to_u128() as u64
    }

    fn check(permutation: &[usize]) {
        let count = permutation.len();
        let network = Network::new(count);
        let controls = network.route(permutation);
        assert_eq!(controls.len() as u64, switches(count));
        let rows: Vec<Vec<bool>> = (0..count as u128).map(|row| bits_of(row, 9)).collect();
        let Ok(placed) = network.apply(&mut Clear, &controls, rows.clone());
        let values: Vec<usize> = placed.iter().map(|row| value_of(row) as usize).collect();
        assert_eq!(values, permutation);
        assert_eq!(network.undo(&mut Clear, &controls, placed), Ok(rows));
    }

    fn all(so_far: &mut Vec<usize>, left: &mut Vec<usize>, seen: &mut usize) {
        if left.is_empty() {
            check(so_far);
            *seen += 1;
        }
        for i in 0..left.len() {
            let row = left.remove(i);
            so_far.push(row);
            all(so_far, left, seen);
            so_far.pop();
            left.insert(i, row);
        }
    }

    #[test]
    fn networks_give_every_permutation() {
        for (count, permutations) in
            [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720), (7, 5040)]
        {
            let mut seen = 0;
            all(&mut Vec::new(), &mut (0..count).collect(), &mut seen);
            assert_eq!(seen, permutations);
        }
        let mut prg = words(1);
        (8..=300).for_each(|count| check(&uniform(count, &mut prg)));
        for count in [511, 512, 1000, 1023] {
            let network = Network::new(count);
            let permutation = uniform(count, &mut prg);
            let rows = (0..count as u128).map(|row| bits_of(row, 10)).collect();
            let Ok(placed) = network.apply(&mut Clear, &network.route(&permutation), rows);
            assert!(
                placed.iter().map(|row| value_of(row) as usize).eq(permutation.iter().copied())
            );
        }
    }

    /// All 24 of four rows come equally often.
    #[test]
    fn drawn_permutations_are_uniform() {
        let mut prg = words(2);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            *counts.entry(uniform(4, &mut prg).to_vec()).or_insert(0u32) += 1;
        }
        let square = counts.values().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0);
        // Of 23 degrees of freedom, beyond it with a probability below 2^-20.
        assert!(counts.len() == 24 && square.sum::<f64>() < 75.0, "{counts:?}");
    }
}

//! Sorting and merging networks for any number of rows.
//!
//! K. E. Batcher, "Sorting networks and their applications", 1968. Every comparator puts the smaller
//! row at the lower position; a network for a power of two then serves any smaller number of rows,
//! because rows that would come before the first or after the last never move and their comparators
//! can be left out. Merging pads the first list in front and the second behind for the same reason.

/// Which of Batcher's constructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkKind {
    /// Bitonic: every row takes part in every layer.
    Bitonic,
    /// Odd-even merge: fewer comparators in the same number of layers.
    OddEven,
}

/// A sorting or merging network, given by rule; comparators are produced layer by layer.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    kind: NetworkKind,
    /// Positions `low..high` of the power-of-two network are in use.
    low: usize,
    high: usize,
    /// Lists of this length are already sorted.
    sorted: usize,
}

/// Comparators that touch disjoint rows.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    network: Network,
    /// The sorted length that is being doubled.
    sorted: usize,
    /// Distance of the rows that are compared (of the farthest ones in a bitonic first layer).
    distance: usize,
}

impl Network {
    /// Sorts `rows` rows.
    pub fn sort(kind: NetworkKind, rows: usize) -> Self {
        Self { kind, low: 0, high: rows, sorted: 1 }
    }

    /// Merges a sorted list of `first` rows, followed by a sorted list of `second` rows.
    pub fn merge(kind: NetworkKind, first: usize, second: usize) -> Self {
        let sorted = first.max(second).max(1).next_power_of_two();
        if first == 0 || second == 0 {
            return Self { kind, low: 0, high: 0, sorted };
        }
        Self { kind, low: sorted - first, high: sorted + second, sorted }
    }

    /// The layers in order; there are few.
    pub fn layers(self) -> impl DoubleEndedIterator<Item = Layer> {
        let mut layers = Vec::new();
        let mut sorted = self.sorted;
        while sorted < self.high {
            let mut distance = sorted;
            while distance > 0 {
                layers.push(Layer { network: self, sorted, distance });
                distance /= 2;
            }
            sorted *= 2;
        }
        layers.into_iter()
    }

    /// The number of comparators.
    pub fn comparators(self) -> u64 {
        self.layers().map(|layer| layer.pairs().count() as u64).sum()
    }
}

impl Layer {
    /// The comparators as pairs of row numbers, the lower first.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        let Network { kind, low, high, .. } = self.network;
        let Layer { sorted, distance, .. } = self;
        let block = 2 * distance;
        let first_layer = distance == sorted;
        let start = if kind == NetworkKind::OddEven { distance % sorted } else { 0 };
        (start..high)
            .step_by(block)
            .flat_map(move |base| (0..distance).map(move |i| (base, i)))
            .map(move |(base, i)| match kind {
                NetworkKind::Bitonic if first_layer => (base + i, base + block - 1 - i),
                _ => (base + i, base + i + distance),
            })
            .filter(move |(a, b)| {
                *a >= low
                    && *b < high
                    && (kind == NetworkKind::Bitonic || a / (2 * sorted) == b / (2 * sorted))
            })
            .map(move |(a, b)| (a - low, b - low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [NetworkKind; 2] = [NetworkKind::Bitonic, NetworkKind::OddEven];

    fn apply(network: Network, rows: &mut [bool]) {
        for (a, b) in network.layers().flat_map(Layer::pairs) {
            let (x, y) = (rows[a], rows[b]);
            (rows[a], rows[b]) = (x & y, x | y);
        }
    }

    // By the zero-one principle a network that sorts all bit patterns sorts everything.
    #[test]
    fn every_pattern_is_sorted() {
        for kind in KINDS {
            for rows in 0..=13 {
                for pattern in 0..1u32 << rows {
                    let mut bits: Vec<bool> = (0..rows).map(|i| (pattern >> i) & 1 == 1).collect();
                    apply(Network::sort(kind, rows), &mut bits);
                    assert!(bits.is_sorted(), "{kind:?} {rows} {pattern:b}");
                }
            }
        }
    }

    #[test]
    fn every_pair_of_sorted_patterns_is_merged() {
        for kind in KINDS {
            for (first, second) in (0..18).flat_map(|a| (0..18).map(move |b| (a, b))) {
                for (i, j) in (0..=first).flat_map(|i| (0..=second).map(move |j| (i, j))) {
                    let mut bits: Vec<bool> =
                        (0..first).map(|k| k >= i).chain((0..second).map(|k| k >= j)).collect();
                    apply(Network::merge(kind, first, second), &mut bits);
                    assert!(bits.is_sorted(), "{kind:?} {first}+{second}");
                }
            }
        }
    }

    #[test]
    fn layers_touch_a_row_once() {
        for kind in KINDS {
            for network in [Network::sort(kind, 37), Network::merge(kind, 11, 21)] {
                for layer in network.layers() {
                    let mut rows: Vec<usize> = layer.pairs().flat_map(|(a, b)| [a, b]).collect();
                    let touched = rows.len();
                    rows.sort_unstable();
                    rows.dedup();
                    assert_eq!(rows.len(), touched);
                }
            }
        }
    }

    #[test]
    fn comparator_counts_are_batchers() {
        let count = |kind, rows| Network::sort(kind, rows).comparators();
        assert_eq!(count(NetworkKind::Bitonic, 4096), 2048 * 78);
        assert_eq!(count(NetworkKind::OddEven, 4096), 1024 * (144 - 12 + 4) - 1);
        let merge = |kind| Network::merge(kind, 4096, 4096).comparators();
        assert_eq!(merge(NetworkKind::Bitonic), 4096 * 13);
        assert_eq!(merge(NetworkKind::OddEven), 4096 * 12 + 1);
    }
}

//! Labels of which the receiver knows the key and the hash: those of its own inputs.

use std::ops::Range;

use cenote_prim::columns::ColumnMap;
use cenote_prim::planes::{PlaneMap, to_blocks};
use cenote_prim::{Block, Secret};
use zeroize::Zeroizing;

use super::code::{Code, LABEL_BLOCKS, points, secret_points};
use super::planes::Planes;
use super::watcher::{Watcher, Work};
use crate::backends::jimu::ihash::Label;

/// Blocks of a label beside its key.
const REST: usize = LABEL_BLOCKS - 1;

/// Completes labels. The symbols of a label at the points 0 .. 32 are a sum of one map of its key
/// and another of its watched symbols; the latter is kept for the wires that need it.
pub(super) struct Inputs {
    of_keys: [ColumnMap; REST],
    of_watched: PlaneMap,
    /// First wire, and for each wire what its watched symbols contribute.
    kept: Vec<(u64, Zeroizing<Vec<Block>>)>,
    keeping: bool,
    /// The same for Delta.
    delta: Secret<[Block; REST]>,
    planes: Planes,
}

impl Inputs {
    /// Nothing is kept yet.
    pub(super) fn new(code: &Code, positions: &[u8]) -> Inputs {
        let from = secret_points(&[&code.extra_points(), positions]);
        let whole = code.interpolation(&from, &points(0..code.w));
        let keys = whole.col_range(0..code.extra());
        let watched = whole.col_range(code.extra()..code.k);
        let of_keys =
            std::array::from_fn(|i| ColumnMap::new(&keys.row_range(16 * i..16 * (i + 1))));
        Inputs {
            of_keys,
            of_watched: PlaneMap::new(&watched.mul(&code.selection(positions))),
            kept: Vec::new(),
            keeping: false,
            delta: Secret::new([Block::ZERO; REST]),
            planes: Planes::default(),
        }
    }

    /// Keeps the wires that follow, up to [`Inputs::stop`].
    pub(super) fn start(&mut self) {
        self.forget_old();
        self.keeping = true;
    }

    /// Keeps no further wires.
    pub(super) fn stop(&mut self) {
        self.keeping = false;
    }

    /// Forgets what was kept, unless it still grows.
    pub(super) fn forget_old(&mut self) {
        if !self.keeping {
            self.kept.clear();
        }
    }

    /// Keeps the wires from `first` on that `labels` has loaded, if that was asked for.
    pub(super) fn keep(&mut self, first: u64, lanes: usize, labels: &Watcher, work: &mut Work) {
        if !self.keeping {
            return;
        }
        let planes = self.planes.get(16 * REST, lanes);
        labels.apply(&self.of_watched, lanes, work, planes);
        let mut blocks = Zeroizing::new(vec![Block::ZERO; REST * lanes]);
        for (i, planes) in planes.chunks_exact(16 * lanes).enumerate() {
            to_blocks(planes, lanes, &mut blocks, REST, i);
        }
        self.kept.push((first, blocks));
    }

    /// Returns the blocks that are kept of these wires, in pieces.
    fn of_wires(&self, wires: Range<u64>) -> Vec<&[Block]> {
        let mut pieces = Vec::new();
        let mut found = 0;
        for (first, blocks) in &self.kept {
            let end = first + (blocks.len() / REST) as u64;
            let (from, to) = (wires.start.max(*first), wires.end.min(end));
            if from < to {
                let place = |wire: u64| REST * (wire - first) as usize;
                pieces.push(&blocks[place(from)..place(to)]);
                found += to - from;
            }
        }
        assert_eq!(found, wires.end - wires.start, "labels are completed of wires that were kept");
        pieces
    }

    /// What was taken of Delta.
    pub(super) fn delta(&self) -> Secret<[Block; REST]> {
        Secret::new(*self.delta)
    }

    /// Takes the same again.
    pub(super) fn put_back_delta(&mut self, delta: [Block; REST]) {
        self.delta = Secret::new(delta);
    }

    /// Takes the label of `wire`, plus `shift`, as Delta.
    pub(super) fn set_delta(&mut self, wire: u64, shift: &Label) {
        let kept = Zeroizing::new(self.of_wires(wire..wire + 1).concat());
        for i in 0..REST {
            // What a label is beyond what its key contributes.
            self.delta[i] = kept[i] ^ shift.0[i + 1] ^ self.of_keys[i].apply(&shift.0[..1]);
        }
    }

    /// The labels of the wires from `first` on, plus Delta where `bits` says so, whose keys
    /// are known.
    pub(super) fn complete(&self, first: u64, keys: &[Block], bits: &[bool]) -> Vec<Label> {
        assert_eq!(keys.len(), bits.len());
        let kept = self.of_wires(first..first + keys.len() as u64);
        let kept = kept.iter().flat_map(|blocks| blocks.chunks_exact(REST));
        let mut labels: Vec<Label> = keys
            .iter()
            .zip(bits)
            .zip(kept)
            .map(|((key, bit), kept)| {
                let rest = |i: usize| kept[i] ^ self.delta[i].times(*bit);
                Label([*key, rest(0), rest(1)])
            })
            .collect();
        for (i, map) in self.of_keys.iter().enumerate() {
            let mut parts = Zeroizing::new(vec![Block::ZERO; keys.len()]);
            map.apply_many(keys, &mut parts);
            labels.iter_mut().zip(&*parts).for_each(|(label, part)| label.0[i + 1] ^= *part);
        }
        labels
    }
}

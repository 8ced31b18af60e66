//! One code, as the receiver has it: some of the streams.

use std::sync::Arc;

use cenote_prim::columns::ColumnMap;
use cenote_prim::field::{Field, Matrix};
use cenote_prim::planes::{PlaneMap, to_blocks, unpack6};
use cenote_prim::seeds::SeedBank;
use cenote_prim::{Block, Prg, Secret};
use zeroize::Zeroizing;

use super::Watch;
use super::code::{Blocks, Code, Coefficients, pack_to_block, points, secret_points};
use super::planes::{Batch, Planes, Window};
use crate::backends::jimu::ihash::LANES;

/// The watched streams of a code and what turns them into tags.
pub(super) struct Watcher {
    pub(super) code: Code,
    bank: SeedBank,
    /// From the watched streams and all corrections to the planes of a tag but its leading one.
    tags: PlaneMap,
    pub(super) opening: Arc<Opening>,
    /// The tag planes of all wires since the last check.
    pub(super) batch: Batch,
}

/// The tag of a form.
pub(super) enum Opening {
    /// A secret matrix times it.
    Compressed(ColumnMap),
    /// The remainder of it when a multiple of the one word is subtracted that has zeros wherever
    /// this side looks and 1 at the point that is never watched: these are the forms of that word
    /// times x^i.
    Reduced(Secret<[Block; 6]>),
}

/// Room of a receiver for one strip.
#[derive(Default)]
pub(super) struct Work {
    /// Watched streams, then corrections.
    seen: Planes,
    packed: Planes,
    tags: Planes,
}

impl Opening {
    /// Writes the tags of forms, which stand one after the other.
    pub(super) fn tags_of(&self, forms: &[Block], tags: &mut [Block]) {
        match self {
            Opening::Compressed(map) => map.apply_many(forms, tags),
            Opening::Reduced(multiples) => {
                assert_eq!(forms.len(), tags.len());
                for (tag, form) in tags.iter_mut().zip(forms) {
                    let first = form.to_u128() as u8;
                    *tag = *form;
                    for (i, multiple) in multiples.iter().enumerate() {
                        *tag ^= multiple.times(first >> i & 1 == 1);
                    }
                }
            }
        }
    }
}

impl Watcher {
    /// The code with what is watched of it. The compressing matrix comes from `random`.
    pub(super) fn new(code: Code, watch: Watch<'_>, random: &mut Prg) -> Watcher {
        assert_eq!((watch.positions.len(), watch.seeds.len()), (code.w, code.w));
        let (tags, opening) = match code.field {
            Field::Gf256 => compressing(&code, watch.positions, random),
            Field::Gf64 => reducing(&code, watch.positions),
        };
        let tags = PlaneMap::new(&tags.mul(&code.selection(watch.positions)));
        let bank = SeedBank::new(watch.seeds);
        Watcher { code, bank, tags, opening: Arc::new(opening), batch: Batch::default() }
    }

    /// Planes of a tag.
    fn tag_planes(&self) -> usize {
        self.leading() + self.tags.rows()
    }

    /// Planes at the head of a tag that are zero always.
    fn leading(&self) -> usize {
        match *self.opening {
            Opening::Compressed(_) => 0,
            Opening::Reduced(_) => 1,
        }
    }

    /// Loads the watched streams at the lanes from `first` on, and their window of the corrections.
    /// Returns whether the padding of these is zero.
    pub(super) fn load(
        &self,
        first: u64,
        lanes: usize,
        work: &mut Work,
        message: &[u8],
        window: Window,
    ) -> bool {
        let Code { field, w, .. } = self.code;
        let streams = &mut work.seen.get(w + self.code.parity(), lanes)[..w * lanes];
        self.bank.fill(0..w, first, lanes, field.mask(), streams);
        self.load_corrections(lanes, work, message, window)
    }

    /// As [`Watcher::load`] at the `width` lanes from each of `starts` on.
    pub(super) fn load_again(
        &self,
        (starts, width): (&[u64], usize),
        lanes: usize,
        work: &mut Work,
        message: &[u8],
        window: Window,
    ) -> bool {
        let Code { field, w, .. } = self.code;
        let streams = &mut work.seen.get(w + self.code.parity(), lanes)[..w * lanes];
        self.bank.gather(0..w, starts, width, field.mask(), lanes, streams);
        self.load_corrections(lanes, work, message, window)
    }

    fn load_corrections(
        &self,
        lanes: usize,
        work: &mut Work,
        message: &[u8],
        window: Window,
    ) -> bool {
        let Code { field, w, .. } = self.code;
        let corrections = &mut work.seen.get(w + self.code.parity(), lanes)[w * lanes..];
        match field {
            Field::Gf64 => {
                let packed = work.packed.get(self.code.correction_planes(), lanes);
                window.read(message, packed, lanes);
                unpack6(packed, lanes, corrections)
            }
            Field::Gf256 => {
                window.read(message, corrections, lanes);
                true
            }
        }
    }

    /// All that is seen of wires, plane by plane: watched streams, then corrections.
    #[cfg(test)]
    pub(super) fn seen(&self, first: u64, lanes: usize, message: &[u8]) -> Vec<u8> {
        let mut work = Work::default();
        assert!(self.load(first, lanes, &mut work, message, Window { lanes, at: 0 }));
        work.seen.get(self.code.w + self.code.parity(), lanes).to_vec()
    }

    /// The corrections that are loaded, a plane for each symbol.
    pub(super) fn corrections<'w>(&self, lanes: usize, work: &'w mut Work) -> &'w [u8] {
        &work.seen.get(self.code.w + self.code.parity(), lanes)[self.code.w * lanes..]
    }

    /// Another map of what is loaded.
    pub(super) fn apply(&self, map: &PlaneMap, lanes: usize, work: &mut Work, out: &mut [u8]) {
        map.apply(work.seen.get(self.code.w + self.code.parity(), lanes), out, lanes);
    }

    /// Adds the loaded wires to the batch, and writes their tags if wanted, with this stride.
    pub(super) fn hash(
        &mut self,
        lanes: usize,
        work: &mut Work,
        out: Option<(&mut [Block], usize)>,
    ) {
        let (count, leading) = (self.tag_planes(), self.leading());
        let planes = self.batch.push(count, lanes);
        fill_tag_planes(&self.tags, leading, lanes, work, planes);
        if let Some((out, offset)) = out {
            let to = Blocks { out, stride: 2, offset, packed: &mut work.packed };
            tags_to_blocks(self.code.field, planes, lanes, to);
        }
    }

    /// Writes the tags of the loaded wires, which belong to no batch.
    pub(super) fn tags_again(
        &self,
        lanes: usize,
        work: &mut Work,
        out: &mut [Block],
        offset: usize,
    ) {
        let mut planes = std::mem::take(&mut work.tags);
        let tags = planes.get(self.tag_planes(), lanes);
        fill_tag_planes(&self.tags, self.leading(), lanes, work, tags);
        let to = Blocks { out, stride: 2, offset, packed: &mut work.packed };
        tags_to_blocks(self.code.field, tags, lanes, to);
        work.tags = planes;
    }

    /// The tag of the label of one lane of the batch, if there are so many.
    pub(super) fn tag_in_batch(&self, lane: usize) -> Option<Block> {
        let bytes = self.batch.lane(self.tag_planes(), lane)?;
        Some(Block::from_bytes(bytes[..].try_into().expect("a compressed tag has 16 planes")))
    }

    /// Writes the tags of forms, which stand one after the other.
    pub(super) fn tags_of(&self, forms: &[Block], tags: &mut [Block]) {
        self.opening.tags_of(forms, tags);
    }

    /// The tags of the combinations of the batch.
    pub(super) fn held(&self, coefficients: &Coefficients) -> Zeroizing<Vec<Block>> {
        let (field, count) = (self.code.field, self.tag_planes());
        let sums = Zeroizing::new(self.batch.sums(&self.code, count, coefficients));
        let mut held = Zeroizing::new(vec![Block::ZERO; coefficients.combinations() * LANES]);
        let mut packed = Planes::default();
        for (sum, out) in sums.chunks_exact(count * LANES).zip(held.chunks_exact_mut(LANES)) {
            let to = Blocks { out, stride: 1, offset: 0, packed: &mut packed };
            tags_to_blocks(field, sum, LANES, to);
        }
        held
    }

    /// Whether the forms in `answer` have these tags.
    pub(super) fn check(&self, held: &[Block], answer: &[u8]) -> bool {
        let mut forms = vec![Block::ZERO; held.len() * self.code.form_blocks()];
        Block::as_bytes_mut(&mut forms).copy_from_slice(answer);
        let mut shown = Zeroizing::new(vec![Block::ZERO; held.len()]);
        self.tags_of(&forms, &mut shown);
        differences(&shown, held).ct_eq(Block::ZERO)
    }

    /// Bytes of the forms that answer a check.
    pub(super) fn answer_len(&self) -> usize {
        self.code.combinations * LANES * self.code.form_blocks() * size_of::<Block>()
    }
}

/// A random matrix R with as many rows as a block has bytes, which compresses the watched symbols;
/// and the map that takes forms to the same.
fn compressing(code: &Code, positions: &[u8], random: &mut Prg) -> (Matrix, Opening) {
    let mut entries = vec![0; size_of::<Block>() * code.w];
    random.fill_bytes(&mut entries);
    let compress = Matrix::new(code.field, size_of::<Block>(), code.w, entries);
    let watched = code.interpolation(&code.form_points(), positions);
    let opening = Opening::Compressed(ColumnMap::new(&compress.mul(&watched)));
    (compress, opening)
}

/// The map from the watched symbols to the form, but for its first symbol, of the word that has
/// them and a zero there; and the word that makes the difference to all others.
fn reducing(code: &Code, positions: &[u8]) -> (Matrix, Opening) {
    let from = secret_points(&[&code.extra_points(), positions]);
    let basis = code.interpolation(&from, &points(0..code.w));
    let mut multiples = Secret::new([Block::ZERO; 6]);
    for (i, multiple) in multiples.iter_mut().enumerate() {
        let factor = 1 << i;
        let symbols = (0..code.w).map(|row| code.field.mul(factor, basis.at(row, 0)));
        let packed = symbols.zip(1..).fold(u128::from(factor), |sum, (symbol, place)| {
            sum | u128::from(symbol) << (6 * place)
        });
        *multiple = Block::new(packed);
    }
    (basis.col_range(1..code.k), Opening::Reduced(multiples))
}

/// Fills the planes of the tags of the loaded wires, the `leading` ones with zeros.
fn fill_tag_planes(
    map: &PlaneMap,
    leading: usize,
    lanes: usize,
    work: &mut Work,
    planes: &mut [u8],
) {
    let (zeros, tags) = planes.split_at_mut(leading * lanes);
    zeros.fill(0);
    map.apply(work.seen.get(map.cols(), lanes), tags, lanes);
}

/// Writes the tags in `planes` as blocks.
fn tags_to_blocks(field: Field, planes: &[u8], lanes: usize, to: Blocks<'_>) {
    match field {
        Field::Gf64 => pack_to_block(planes, lanes, to),
        Field::Gf256 => to_blocks(planes, lanes, to.out, to.stride, to.offset),
    }
}

/// Zero if both are the same, in constant time.
pub(super) fn differences(a: &[Block], b: &[Block]) -> Block {
    let differences = a.iter().zip(b).map(|(a, b)| (*a ^ *b).to_u128());
    Block::new(differences.fold(0, |sum, difference| sum | difference))
}

//! Square-root ORAM (Zahur, Wang, Raykova, Gascon, Doerner, Evans, Katz, S&P 2016) with a recursive map of positions.
//!
//! Level 0 has the rows, level k blocks of the positions of level k - 1; the positions of the last level are scanned. The blocks of each level lie after a
//! joint secret permutation. An access takes one block of each level into a stash: the one that it needs, or, if the stash has that already, one that no
//! access came to yet. After a period of accesses all is permuted anew (docs/protocols/ram.md).

use super::in_hand::{InHand, Wanted};
use super::plan::{Layout, LevelShape, Plan};
use super::resting::{Resting, wake};
use super::state::{Periods, State};
use super::tree::sum;
use super::waksman::Joint;
use super::{Broken, Reactive};
use crate::bits::bits_of;
use crate::gadgets;

/// A memory and its map of positions.
pub(super) struct Root<W> {
    plan: Plan,
    factor: usize,
    period: usize,
    /// The rows, then blocks of positions.
    levels: Vec<Level<W>>,
    /// Which row lies at each place of level 0.
    indices: Vec<Vec<W>>,
    map: Map<W>,
    /// A row that is in no stash.
    in_hand: Option<InHand<W>>,
    /// Whether each access is counted as the first of a period, with any rows.
    is_sample: bool,
}

/// Blocks after a permutation, and those that were taken out of it.
struct Level<W> {
    shape: LevelShape,
    /// By place.
    blocks: Vec<Vec<W>>,
    /// Places that were opened in this period: a second time would show what is accessed again.
    is_used: Vec<bool>,
    /// Index and block of each access of this period.
    stash: Vec<(Vec<W>, Vec<W>)>,
    /// Where the blocks of the stash came from.
    places: Vec<usize>,
}

/// The places of the last level's blocks.
struct Map<W> {
    places: Vec<Vec<W>>,
    is_used: Vec<W>,
}

/// What a stash has of a block.
struct Matches<W> {
    /// For each entry whether it is the one.
    each: Vec<W>,
    /// Whether there is one.
    found: W,
}

impl<W: Clone> Root<W> {
    /// A memory of zeros, or of rows.
    pub(super) fn new<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        rows: Option<Vec<Vec<W>>>,
    ) -> Result<Self, G::Error> {
        let mut root = Root::sample(g, plan)?;
        root.is_sample = false;
        let LevelShape { blocks: count, width } = root.levels[0].shape;
        let joint = Joint::draw(g, count)?;
        let numbers = root.numbers(g)?;
        let (rows, indices) = match rows {
            Some(rows) => split(joint.apply(g, beside(rows, numbers.clone()))?, width),
            None => {
                (vec![vec![g.constant(false)?; width]; count], joint.apply(g, numbers.clone())?)
            }
        };
        root.levels[0].begin(rows);
        root.indices = indices;
        let positions = joint.undo(g, numbers)?;
        root.map_anew(g, positions)?;
        Ok(root)
    }

    /// A memory whose accesses are to be counted, not run: it has no rows but one.
    pub(super) fn sample<G: Reactive<Wire = W>>(g: &mut G, plan: Plan) -> Result<Self, G::Error> {
        let Layout::SquareRoot { factor, period, .. } = plan.layout else {
            unreachable!("a plan of another layout")
        };
        let zero = g.constant(false)?;
        let level = |shape: &LevelShape| {
            let blocks = vec![vec![zero.clone(); shape.width]];
            let is_used = vec![false];
            Level { shape: *shape, blocks, is_used, stash: Vec::new(), places: Vec::new() }
        };
        let levels: Vec<Level<W>> = plan.levels.iter().map(level).collect();
        let last = plan.levels[plan.levels.len() - 1];
        let places = vec![vec![zero.clone(); last.index()]; last.blocks];
        let map = Map { places, is_used: vec![zero.clone(); last.blocks] };
        let (indices, in_hand) = (Vec::new(), None);
        Ok(Root { plan, factor, period, levels, indices, map, in_hand, is_sample: true })
    }

    /// The numbers of all rows.
    fn numbers<G: Reactive<Wire = W>>(&self, g: &mut G) -> Result<Vec<Vec<W>>, G::Error> {
        numbers(g, self.levels[0].shape)
    }

    /// Blocks of the positions of all rows, each level after its own permutation.
    fn map_anew<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        mut positions: Vec<Vec<W>>,
    ) -> Result<(), G::Error> {
        let zero = g.constant(false)?;
        for level in &mut self.levels[1..] {
            let shape = level.shape;
            let pack = |positions: &[Vec<W>]| {
                let mut block = positions.concat();
                block.resize(shape.width, zero.clone());
                block
            };
            let blocks = positions.chunks(1 << self.factor).map(pack).collect();
            let joint = Joint::draw(g, shape.blocks)?;
            level.begin(joint.apply(g, blocks)?);
            let numbers = numbers(g, shape)?;
            positions = joint.undo(g, numbers)?;
        }
        self.map = Map { is_used: vec![zero; positions.len()], places: positions };
        Ok(())
    }

    /// The end of a period: the rows that were taken go to the places that are free, and all rows after another permutation.
    fn shuffle<G: Reactive<Wire = W>>(&mut self, g: &mut G) -> Result<(), G::Error> {
        let level = &mut self.levels[0];
        let LevelShape { blocks: count, width } = level.shape;
        let mut rows = std::mem::take(&mut level.blocks);
        for (place, (index, row)) in level.places.iter().zip(level.stash.drain(..)) {
            rows[*place] = row;
            self.indices[*place] = index;
        }
        let joint = Joint::draw(g, count)?;
        let all = joint.apply(g, beside(rows, std::mem::take(&mut self.indices)))?;
        let (rows, indices) = split(all, width);
        self.levels[0].begin(rows);
        let positions = self.invert(g, &indices)?;
        self.indices = indices;
        self.map_anew(g, positions)
    }

    /// The place of each row: which row is at each place is permuted once more, with the places beside, and opened.
    fn invert<G: Reactive<Wire = W>>(
        &self,
        g: &mut G,
        indices: &[Vec<W>],
    ) -> Result<Vec<Vec<W>>, G::Error> {
        let joint = Joint::draw(g, indices.len())?;
        let places = self.numbers(g)?;
        let pairs = joint.apply(g, beside(indices.to_vec(), places))?;
        let digits = self.levels[0].shape.index();
        let (indices, places) = split(pairs, digits);
        let opened = g.open(&indices.concat())?;
        let mut positions: Vec<Option<Vec<W>>> = vec![None; indices.len()];
        for (index, place) in opened.chunks(digits).zip(places) {
            match positions.get_mut(number(index)) {
                Some(position @ None) => *position = Some(place),
                _ => return Err(g.broken(Broken::Misplaced)),
            }
        }
        Ok(positions.into_iter().flatten().collect())
    }

    /// What both sides know of it, and all that it holds, in the order of [`State::cells`]: but for blocks whose place was opened, which nothing reads
    /// there any more.
    ///
    /// # Panics
    /// When a row is in hand.
    pub(super) fn put_away(self) -> (State, Vec<Resting<W>>) {
        assert!(!self.is_in_hand(), "a row that was taken is put back before all is put away");
        let (mut cells, mut opened) = (Vec::new(), Vec::with_capacity(self.levels.len()));
        for (k, level) in self.levels.into_iter().enumerate() {
            let blocks = level.blocks.into_iter().enumerate();
            let indices = if k == 0 { self.indices.as_slice() } else { &[] };
            let there = blocks.filter(|(place, _)| !level.is_used[*place]);
            let there = there.flat_map(|(place, block)| {
                let index = indices.get(place).into_iter().flatten().cloned();
                block.into_iter().chain(index).collect::<Vec<W>>()
            });
            cells.push(Resting::Wires(there.collect()));
            let stash = level.stash.into_iter().flat_map(|(index, block)| [index, block].concat());
            cells.push(Resting::Wires(stash.collect()));
            opened.push(level.places);
        }
        let mut map = self.map.places.concat();
        map.extend(self.map.is_used);
        cells.push(Resting::Wires(map));
        (State::Root(Periods { opened }), cells)
    }

    /// The opposite, for a state of the plan and its cells.
    pub(super) fn found<G: Reactive<Wire = W>>(
        g: &mut G,
        plan: Plan,
        state: Periods,
        cells: Vec<Resting<W>>,
    ) -> Result<Self, G::Error> {
        let mut root = Root::sample(g, plan)?;
        root.is_sample = false;
        let zero = g.constant(false)?;
        let mut awake = wake(g, cells)?.into_iter();
        for (k, (level, opened)) in root.levels.iter_mut().zip(state.opened).enumerate() {
            let LevelShape { blocks: count, width } = level.shape;
            let digits = level.shape.index();
            let row = width + if k == 0 { digits } else { 0 };
            let (blocks, stash) = (awake.next().unwrap_or_default(), awake.next());
            level.is_used = vec![false; count];
            opened.iter().for_each(|place| level.is_used[*place] = true);
            let mut there = blocks.chunks(row);
            let all = level.is_used.iter().map(|is_used| match is_used {
                true => vec![zero.clone(); row],
                false => there.next().map(<[_]>::to_vec).unwrap_or_default(),
            });
            let (blocks, indices) = split(all.collect(), width);
            level.blocks = blocks;
            if k == 0 {
                root.indices = indices;
            }
            let entries = stash.unwrap_or_default();
            let entries = entries.chunks(digits + width).map(|entry| entry.split_at(digits));
            level.stash = entries.map(|(index, block)| (index.to_vec(), block.to_vec())).collect();
            level.places = opened;
        }
        let last = root.levels[root.levels.len() - 1].shape;
        let mut places = awake.next().unwrap_or_default();
        root.map.is_used = places.split_off(last.blocks * last.index());
        root.map.places = places.chunks(last.index()).map(<[_]>::to_vec).collect();
        Ok(root)
    }

    /// The row at the unsigned secret `index`, zeros beyond the end, and `change` of it in its place, nothing beyond the end.
    pub(super) fn access<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<Vec<W>, G::Error> {
        let shown = self.take(g, index)?;
        let new = change(g, &shown)?;
        self.put(g, |_, _| Ok(new))?;
        Ok(shown)
    }

    /// Puts `change` of the row that was taken in its place, nothing beyond the end.
    ///
    /// # Panics
    /// When none was taken.
    pub(super) fn put<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        change: impl FnOnce(&mut G, &[W]) -> Result<Vec<W>, G::Error>,
    ) -> Result<(), G::Error> {
        let taken = self.in_hand.take();
        let entry = taken.expect("a row that was taken").changed(g, change)?;
        self.levels[0].stash.push(entry);
        Ok(())
    }

    pub(super) fn is_in_hand(&self) -> bool {
        self.in_hand.is_some()
    }

    /// The row at the unsigned secret `index`, zeros beyond the end; it is in hand from here on.
    ///
    /// # Panics
    /// When one is in hand: it would be lost.
    pub(super) fn take<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
    ) -> Result<Vec<W>, G::Error> {
        assert!(!self.is_in_hand(), "a row that was taken is put back before the next access");
        if self.is_sample {
            self.levels.iter_mut().for_each(Level::forget);
        } else if self.levels[0].stash.len() == self.period {
            self.shuffle(g)?;
        }
        let digits = self.levels[0].shape.index();
        let wanted = Wanted::of(g, index, self.plan.needs.blocks, digits)?;
        let index = &wanted.index;
        let matches = self.levels.iter().enumerate();
        let matches = matches.map(|(k, level)| level.matches(g, &index[k * self.factor..]));
        let matches = matches.collect::<Result<Vec<_>, _>>()?;
        let last = self.levels.len() - 1;
        let own = &index[last * self.factor..];
        let (mut fetched, mut place) = self.map.next(g, own, &matches[last].found)?;
        for k in (1..self.levels.len()).rev() {
            let block = self.levels[k].fetch(g, &place)?;
            (fetched, place) = self.next(g, k, (fetched, block), index, &matches)?;
        }
        let row = self.levels[0].fetch(g, &place)?;
        let row = self.levels[0].exchange(g, &matches[0].each, &fetched, &row)?;
        let taken = wanted.found(g, row)?;
        Ok(self.in_hand.insert(taken).shown.clone())
    }

    /// Which block of the level before `k` comes next, and its place, from the stash of level `k` and the block that it gets. If the
    /// one that is asked for was there, the first one whose place is in the new block: no access came to any of these.
    fn next<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        k: usize,
        (fetched, block): (Vec<W>, Vec<W>),
        index: &[W],
        matches: &[Matches<W>],
    ) -> Result<(Vec<W>, Vec<W>), G::Error> {
        let (above, level) = (&matches[k - 1].found, &mut self.levels[k]);
        let own = &index[(k - 1) * self.factor..];
        let digits = own.len();
        let mut ways = matches[k].each.clone();
        ways.push(g.not(&matches[k].found)?);
        level.stash.push((fetched.clone(), block.clone()));
        let all: Vec<W> = level.stash.iter().flat_map(|(_, block)| block.iter().cloned()).collect();
        let picked = g.and_groups(&ways, &all)?;
        let picked = sum(g, &picked, level.shape.width)?;
        let places: Vec<Vec<W>> = picked.chunks(digits).map(<[_]>::to_vec).collect();
        let place = gadgets::lookup(g, &places, &own[..self.factor])?;
        let place = g.mux_many(above, &block[..digits], &place)?;
        let mut first = vec![g.constant(false)?; self.factor];
        first.extend(fetched);
        let fetched = g.mux_many(above, &first, own)?;
        Ok((fetched, place))
    }
}

impl<W: Clone> Level<W> {
    /// A period begins.
    fn begin(&mut self, blocks: Vec<Vec<W>>) {
        self.is_used = vec![false; blocks.len()];
        self.blocks = blocks;
        self.stash.clear();
        self.places.clear();
    }

    /// Makes the next access the first of a period.
    fn forget(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        self.begin(blocks);
    }

    /// Which entries of the stash have the index that begins `index`: its length less one ANDs for each.
    fn matches<G: Reactive<Wire = W>>(
        &self,
        g: &mut G,
        index: &[W],
    ) -> Result<Matches<W>, G::Error> {
        let mut each = vec![g.constant(true)?; self.stash.len()];
        for (bit, wanted) in index.iter().enumerate() {
            let other = vec![g.not(wanted)?; each.len()];
            let own: Vec<W> = self.stash.iter().map(|(index, _)| index[bit].clone()).collect();
            let same = g.xor_many(&own, &other)?;
            each = if bit == 0 { same } else { g.and_many(&each, &same)? };
        }
        let mut found = g.constant(false)?;
        for one in &each {
            found = g.xor(&found, one)?;
        }
        Ok(Matches { each, found })
    }

    /// Opens a place, which no access of this period opened, and takes the block there.
    fn fetch<G: Reactive<Wire = W>>(&mut self, g: &mut G, place: &[W]) -> Result<Vec<W>, G::Error> {
        let place = number(&g.open(place)?);
        match self.is_used.get_mut(place) {
            Some(is_used @ false) => *is_used = true,
            _ => return Err(g.broken(Broken::Misplaced)),
        }
        self.places.push(place);
        Ok(self.blocks[place].clone())
    }

    /// The entry that matches, for which another one comes; that one itself if none does.
    fn exchange<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        matches: &[W],
        index: &[W],
        row: &[W],
    ) -> Result<Vec<W>, G::Error> {
        let new = [index, row].concat();
        let all: Vec<W> =
            self.stash.iter().flat_map(|(i, row)| i.iter().chain(row).cloned()).collect();
        let other = crate::lanes::repeat(&new, self.stash.len());
        let differences = g.xor_many(&all, &other)?;
        let changes = g.and_groups(matches, &differences)?;
        let all = g.xor_many(&all, &changes)?;
        for (entry, all) in self.stash.iter_mut().zip(all.chunks(new.len())) {
            let (index, row) = all.split_at(index.len());
            *entry = (index.to_vec(), row.to_vec());
        }
        if changes.is_empty() {
            return Ok(row.to_vec());
        }
        let change = sum(g, &changes, new.len())?;
        g.xor_many(row, &change[index.len()..])
    }
}

impl<W: Clone> Map<W> {
    /// The block that comes next and its place: the one at `index`, or, if that is `found` in the stash, the first one that no access came
    /// to.
    fn next<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        index: &[W],
        found: &W,
    ) -> Result<(Vec<W>, Vec<W>), G::Error> {
        let enable = g.not(found)?;
        let wanted = gadgets::decode(g, index, &enable, self.places.len())?;
        let mut waits = found.clone();
        let mut picked = Vec::with_capacity(wanted.len());
        for (i, (wanted, is_used)) in wanted.iter().zip(&mut self.is_used).enumerate() {
            // There is one: a period has no more accesses than the last level has blocks.
            let first = if i + 1 == self.places.len() {
                waits.clone()
            } else {
                let free = g.not(is_used)?;
                g.and(&waits, &free)?
            };
            waits = g.xor(&waits, &first)?;
            let one = g.xor(wanted, &first)?;
            *is_used = g.xor(is_used, &one)?;
            picked.push(one);
        }
        let mut fetched = vec![g.constant(false)?; index.len()];
        for (i, one) in picked.iter().enumerate() {
            for (bit, digit) in fetched.iter_mut().enumerate().filter(|(bit, _)| i >> bit & 1 == 1)
            {
                debug_assert!(bit < index.len());
                *digit = g.xor(digit, one)?;
            }
        }
        let place = g.and_groups(&picked, &self.places.concat())?;
        Ok((fetched, sum(g, &place, index.len())?))
    }
}

/// The numbers of all blocks of a level.
fn numbers<G: Reactive>(g: &mut G, shape: LevelShape) -> Result<Vec<Vec<G::Wire>>, G::Error> {
    let number = |i: usize| gadgets::constant_bits(g, &bits_of(i as u128, shape.index()));
    (0..shape.blocks).map(number).collect()
}

fn number(bits: &[bool]) -> usize {
    bits.iter().rev().fold(0, |sum, bit| 2 * sum + usize::from(*bit))
}

/// Each row with another one behind it.
fn beside<W>(rows: Vec<Vec<W>>, others: Vec<Vec<W>>) -> Vec<Vec<W>> {
    let pairs = rows.into_iter().zip(others);
    pairs.map(|(row, other)| row.into_iter().chain(other).collect()).collect()
}

/// The first `width` wires of each row, and the rest.
fn split<W>(mut rows: Vec<Vec<W>>, width: usize) -> (Vec<Vec<W>>, Vec<Vec<W>>) {
    let others = rows.iter_mut().map(|row| row.split_off(width)).collect();
    (rows, others)
}

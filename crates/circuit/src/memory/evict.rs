//! The eviction of Circuit ORAM (Wang, Chan, Shi, CCS 2015, algorithms 2 to 4) as a circuit.
//!
//! What the paper scans block by block is here bits and small numbers of levels. The deepest level that each block of the path
//! may reach follows from its leaf; PrepareDeepest and PrepareTarget become, for each level, whether it *gives* its deepest block
//! (the paper's target is not empty) and whether it *receives* one; no more of the targets is needed. EvictOnce is a walk down the
//! path with one block in hand: a level exchanges it for one of its slots, or for none. A level that gives exchanges the slot of
//! its deepest block, where what it receives may go at once; one that only receives exchanges its first empty slot; and where a level only gives,
//! nothing is in hand. So one AND for each bit of a slot moves everything.
//!
//! The block of the access is not put into the stash before: it is in hand at level 0, and counts as one of the stash there.

use super::Reactive;
use super::tree::{Block, Path, Tree, sum};
use crate::bits::bits_of;
use crate::gadgets::{all_set, constant_bits, lt, lt_many, mux, mux_each, not_bits};
use crate::gates::Gates;
use crate::lanes::repeat;

/// A small unsigned number.
type Number<W> = Vec<W>;

/// What each level of a path does: gives its deepest block (levels 0 to D), receives one (levels 1 to D + 1).
struct Moves<W> {
    gives: Vec<W>,
    receives: Vec<W>,
}

/// The empty slots of a level.
struct Room<W> {
    /// Which slot is the first empty one.
    first: Vec<W>,
    /// Whether there is none.
    full: W,
}

impl<W: Clone> Tree<W> {
    /// Evicts a path with a new block. Gives whether the stash had no room for it: then the tree is of no use any more.
    pub(super) fn evict_with<G: Reactive<Wire = W>>(
        &mut self,
        g: &mut G,
        block: Block<W>,
    ) -> Result<W, G::Error> {
        let turns = self.next_turns();
        let mut path = self.load(g, turns)?;
        path.levels[0].push(block);
        let scanned = self.scan(g, &path)?;
        let mut hand = path.levels[0].pop().unwrap_or_default();
        let room = room(g, &path.levels[0])?;
        let deepest = &scanned.deepest[0][..self.shape.stash];
        let chosen = g.mux_many(&scanned.moves.gives[0], deepest, &room.first)?;
        exchange(g, &mut path.levels[0], &chosen, &mut hand)?;
        let keeps = g.not(&scanned.moves.gives[0])?;
        let lost = g.and(&keeps, &room.full)?;
        self.walk(g, path, scanned, hand)?;
        Ok(lost)
    }

    /// Evicts a path.
    pub(super) fn evict<G: Reactive<Wire = W>>(&mut self, g: &mut G) -> Result<(), G::Error> {
        let turns = self.next_turns();
        let mut path = self.load(g, turns)?;
        let scanned = self.scan(g, &path)?;
        let mut hand = vec![g.constant(false)?; self.shape.length(0)];
        let chosen = g.and_groups(&scanned.moves.gives[..1], &scanned.deepest[0])?;
        exchange(g, &mut path.levels[0], &chosen, &mut hand)?;
        self.walk(g, path, scanned, hand)
    }

    /// What the levels of a path do, and with which blocks.
    fn scan<G: Gates<Wire = W>>(&self, g: &mut G, path: &Path<W>) -> Result<Scanned<W>, G::Error> {
        let (depth, bucket) = (self.shape.depth, self.shape.bucket);
        let mut numbers = self.reaches(g, path)?;
        let buckets = numbers.split_off(path.levels[0].len());
        let (best, deepest) = tournament(g, numbers.into_iter().map(|one| vec![one]).collect())?;
        // All buckets together: what stands first in each, what stands second, ..
        let ranks = (0..bucket).map(|rank| buckets.iter().skip(rank).step_by(bucket).cloned());
        let (bests, ways) = tournament(g, ranks.map(Iterator::collect).collect())?;
        let ways = (0..depth).map(|level| ways.iter().map(|rank| rank[level].clone()).collect());
        let mut all = vec![deepest.concat()];
        all.extend(ways);
        let rooms = path.levels[1..].iter().map(|bucket| room(g, bucket));
        let rooms = rooms.collect::<Result<Vec<_>, _>>()?;
        let sources = self.sources(g, &[best, bests].concat())?;
        let moves = self.moves(g, &sources, &rooms)?;
        Ok(Scanned { deepest: all, rooms, moves })
    }

    /// The deepest level of the path that each block may lie at, 0 for an empty slot; of the stash and the levels to D.
    fn reaches<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        path: &Path<W>,
    ) -> Result<Vec<Number<W>>, G::Error> {
        let (depth, digits) = (self.shape.depth, self.shape.digits());
        let slots = || {
            let levels = path.levels[..=depth].iter().enumerate();
            levels.flat_map(|(level, slots)| slots.iter().map(move |slot| (level.max(1), slot)))
        };
        let zero = g.constant(false)?;
        let mut so_far: Vec<W> = slots().map(|(_, slot)| slot[0].clone()).collect();
        let start = |(level, slot): (usize, &Block<W>)| -> Number<W> {
            let digit = |i: usize| if level >> i & 1 == 1 { &slot[0] } else { &zero };
            (0..digits).map(|i| digit(i).clone()).collect()
        };
        let mut numbers: Vec<Number<W>> = slots().map(start).collect();
        for (turn, &right) in path.turns.iter().enumerate() {
            // A block of this level or above goes on to the next if its leaf turns as the path does.
            let level = turn + 1;
            let place = self.shape.length(level) - 1;
            let above = slots().take_while(|(own, _)| *own <= level);
            let own: Vec<W> = above.map(|(_, slot)| slot[place].clone()).collect();
            let same = if right { own } else { not_bits(g, &own)? };
            let further = g.and_many(&so_far[..same.len()], &same)?;
            for (number, further) in numbers.iter_mut().zip(&further) {
                for (i, digit) in number.iter_mut().enumerate() {
                    if (level ^ (level + 1)) >> i & 1 == 1 {
                        *digit = g.xor(digit, further)?;
                    }
                }
            }
            so_far.splice(..further.len(), further);
        }
        Ok(numbers)
    }

    /// PrepareDeepest: for the levels 1 to D + 1, whether a block from above may move there, and the level it would come from.
    fn sources<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        best: &[Number<W>],
    ) -> Result<Vec<(W, Number<W>)>, G::Error> {
        let digits = self.shape.digits();
        let mut goal = best[0].clone();
        let mut source = constant_bits(g, &bits_of(0, digits))?;
        let mut sources = Vec::with_capacity(best.len());
        for level in 1..=best.len() {
            sources.push((at_least(g, &goal, level)?, source.clone()));
            if let Some(best) = best.get(level) {
                let deeper = lt(g, &goal, best)?;
                let here = constant_bits(g, &bits_of(level as u128, digits))?;
                let both =
                    mux(g, &deeper, &[&best[..], &here].concat(), &[&goal[..], &source].concat())?;
                (goal, source) = (both[..digits].to_vec(), both[digits..].to_vec());
            }
        }
        Ok(sources)
    }

    /// PrepareTarget, from the leaf up. `waits` and `source`: whether a level below receives from one that has not come yet, and
    /// from which.
    fn moves<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        sources: &[(W, Number<W>)],
        rooms: &[Room<W>],
    ) -> Result<Moves<W>, G::Error> {
        let (last, above) = match sources.split_last() {
            Some(((reached, source), above)) => ((reached, source.clone()), above),
            None => return Ok(Moves { gives: Vec::new(), receives: Vec::new() }),
        };
        let vacant = rooms.iter().map(|room| g.not(&room.full));
        let vacant = vacant.collect::<Result<Vec<_>, _>>()?;
        let mut waits = g.and(last.0, &vacant[above.len()])?;
        let mut source = last.1;
        let (mut gives, mut receives) = (Vec::new(), vec![waits.clone()]);
        for (level, (reached, from)) in above.iter().enumerate().rev() {
            let given = self.is_source(g, &waits, &source, level + 1)?;
            waits = g.xor(&waits, &given)?;
            let may = crate::gadgets::or(g, &given, &vacant[level])?;
            let free = g.not(&waits)?;
            let may = g.and(&may, &free)?;
            let received = g.and(&may, reached)?;
            source = mux(g, &received, from, &source)?;
            waits = g.xor(&waits, &received)?;
            gives.push(given);
            receives.push(received);
        }
        gives.push(self.is_source(g, &waits, &source, 0)?);
        gives.reverse();
        receives.reverse();
        Ok(Moves { gives, receives })
    }

    /// Whether something waits for what `level` gives.
    fn is_source<G: Gates<Wire = W>>(
        &self,
        g: &mut G,
        waits: &W,
        source: &[W],
        level: usize,
    ) -> Result<W, G::Error> {
        let mut same = vec![waits.clone()];
        for (i, digit) in source.iter().enumerate() {
            same.push(if level >> i & 1 == 1 { digit.clone() } else { g.not(digit)? });
        }
        all_set(g, &same)
    }

    /// EvictOnce below the stash, with what it gave in hand.
    fn walk<G: Gates<Wire = W>>(
        &mut self,
        g: &mut G,
        mut path: Path<W>,
        scanned: Scanned<W>,
        mut hand: Block<W>,
    ) -> Result<(), G::Error> {
        let Scanned { deepest, rooms, moves: Moves { gives, receives } } = scanned;
        for (i, (receives, room)) in receives.iter().zip(&rooms).enumerate() {
            let level = i + 1;
            let chosen = match gives.get(level) {
                Some(gives) => {
                    let both = g.and(gives, receives)?;
                    let only = g.xor(receives, &both)?;
                    let ways = [&deepest[level][..], &room.first].concat();
                    let ways = g.and_groups(&[gives.clone(), only], &ways)?;
                    let (given, filled) = ways.split_at(self.shape.bucket);
                    g.xor_many(given, filled)?
                }
                None => g.and_groups(std::slice::from_ref(receives), &room.first)?,
            };
            exchange(g, &mut path.levels[level], &chosen, &mut hand)?;
        }
        self.save(path);
        Ok(())
    }
}

/// What a path was found to hold.
struct Scanned<W> {
    /// Which slot of the levels 0 to D has the block that may go deepest.
    deepest: Vec<Vec<W>>,
    /// Of the levels 1 to D + 1.
    rooms: Vec<Room<W>>,
    moves: Moves<W>,
}

/// The chosen slot and the block in hand change places; none if no slot is chosen. One AND for each bit of a slot.
fn exchange<G: Gates>(
    g: &mut G,
    slots: &mut [Block<G::Wire>],
    chosen: &[G::Wire],
    hand: &mut Block<G::Wire>,
) -> Result<(), G::Error> {
    let length = slots.first().map_or(0, Vec::len);
    let all = slots.concat();
    let differences = g.xor_many(&all, &repeat(&hand[..length], slots.len()))?;
    let changes = g.and_groups(chosen, &differences)?;
    let all = g.xor_many(&all, &changes)?;
    for (slot, new) in slots.iter_mut().zip(all.chunks(length.max(1))) {
        slot.clone_from_slice(new);
    }
    let change = sum(g, &changes, length)?;
    let new = g.xor_many(&hand[..length], &change)?;
    hand.truncate(length);
    hand.clone_from_slice(&new);
    Ok(())
}

/// Finds the empty slots: one AND less than there are slots.
fn room<G: Gates>(g: &mut G, slots: &[Block<G::Wire>]) -> Result<Room<G::Wire>, G::Error> {
    let mut taken = g.constant(true)?;
    let mut first = Vec::with_capacity(slots.len());
    for (i, slot) in slots.iter().enumerate() {
        let all = if i == 0 { slot[0].clone() } else { g.and(&taken, &slot[0])? };
        first.push(g.xor(&taken, &all)?);
        taken = all;
    }
    Ok(Room { first, full: taken })
}

/// The largest number of each column, and a bit for each number that says whether it is the one: 2 b (m - 1) + m - 2 ANDs for m numbers of b
/// bits in each column. `rows` are the first of each column, the second, and so on.
#[expect(clippy::type_complexity, reason = "numbers and the bits of the same columns")]
fn tournament<G: Gates>(
    g: &mut G,
    mut rows: Vec<Vec<Number<G::Wire>>>,
) -> Result<(Vec<Number<G::Wire>>, Vec<Vec<G::Wire>>), G::Error> {
    let mut rounds = Vec::new();
    while rows.len() > 1 {
        let alone = if rows.len() % 2 == 1 { rows.pop() } else { None };
        let columns = rows[0].len();
        let (low, high): (Vec<_>, Vec<_>) =
            rows.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).unzip();
        let (low, high) = (low.concat(), high.concat());
        let larger = lt_many(g, &low, &high)?;
        let winners = mux_each(g, &larger, &high, &low)?;
        rows = winners.chunks(columns).map(<[_]>::to_vec).chain(alone).collect();
        rounds.push(larger.chunks(columns).map(<[_]>::to_vec).collect::<Vec<_>>());
    }
    let best = rows.pop().unwrap_or_default();
    let mut ways = vec![vec![g.constant(true)?; best.len()]];
    let mut is_first = true;
    for larger in rounds.into_iter().rev() {
        let alone = if ways.len() > larger.len() { ways.pop() } else { None };
        let (here, high) = (ways.concat(), larger.concat());
        // The last match is the only one to which all ways lead.
        let high = if is_first { high } else { g.and_many(&here, &high)? };
        is_first = false;
        let low = g.xor_many(&here, &high)?;
        let pairs = low.chunks(best.len()).zip(high.chunks(best.len()));
        ways = pairs.flat_map(|(low, high)| [low.to_vec(), high.to_vec()]).chain(alone).collect();
    }
    Ok((best, ways))
}

/// Whether a number is at least the public `bound`, which is not 0: one AND for each of its bits above the lowest that `bound` has set.
fn at_least<G: Gates>(g: &mut G, number: &[G::Wire], bound: usize) -> Result<G::Wire, G::Error> {
    let lowest = bound.trailing_zeros() as usize;
    let mut reached = number[lowest].clone();
    for (i, digit) in number.iter().enumerate().skip(lowest + 1) {
        reached = if bound >> i & 1 == 1 {
            g.and(&reached, digit)?
        } else {
            crate::gadgets::or(g, &reached, digit)?
        };
    }
    Ok(reached)
}

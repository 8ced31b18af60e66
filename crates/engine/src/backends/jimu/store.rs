//! The stored form of a pool's items, and the seals that show a changed bit before an item is used.

use cenote_net::Fault;
use cenote_prim::{Block, Prg, gf128};
use zeroize::{DefaultIsZeroes, Zeroize};

/// An item in a pool: where its data is, and a seal over the place and the data.
///
/// For the garbler, the place is the number of the item's first wire and there is no more data: all
/// else comes from the seeds again. For the evaluator it is a row of a [`Slab`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    pub(super) place: u64,
    seal: u64,
}

impl DefaultIsZeroes for Stored {}

/// Where a bit of a stored item can flip.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Location {
    Table,
    Tag,
    Number,
    Place,
    Seal,
}

#[cfg(test)]
impl Location {
    pub(super) const ALL: [Location; 5] =
        [Location::Table, Location::Tag, Location::Number, Location::Place, Location::Seal];
}

#[cfg(test)]
impl Stored {
    /// With one bit of its place or of its seal flipped.
    pub(super) fn flipped(self, location: Location, bit: usize) -> Stored {
        let bit = 1 << (bit % 64);
        match location {
            Location::Seal => Stored { seal: self.seal ^ bit, ..self },
            _ => Stored { place: self.place ^ bit, ..self },
        }
    }
}

/// Flips one bit of a block.
#[cfg(test)]
pub(super) fn flip_block(block: &mut Block, bit: usize) {
    *block ^= Block::new(1 << bit);
}

/// Changes the item in one slot of a pool.
#[cfg(test)]
pub(super) fn flip_in_pool<T: Copy + Zeroize>(
    pool: &mut cenote_pool::Pool<T>,
    journal: &mut dyn cenote_pool::Journal,
    slot: usize,
    change: impl FnOnce(T) -> T,
) {
    let capacity = pool.capacity();
    let mut draws = cenote_pool::Draws::new(1, capacity).expect("a pool is not empty");
    // The word of which the capacity's multiple has the slot in its upper half.
    let word = (((slot as u128) << 64) + (1 << 63)) / capacity as u128;
    draws.draw(1, || word as u64);
    assert_eq!(draws.positions(), [slot as u32]);
    let mut item = [change(pool.items()[slot])];
    pool.exchange(journal, &draws, &mut item).expect("one for one");
}

/// Seals items with universal hashes under a secret key: a change that does not depend on the key
/// goes unseen with probability 2^-64.
///
/// A place is hashed by a product of integers, which is pairwise independent (Dietzfelbinger 1996, "Universal hashing
/// and k-wise independent random variables via integer arithmetic without primes") and takes a tenth of the time of one
/// in GF(2^128).
pub(super) struct Sealer {
    /// Factor and summand for the place, then a factor for each block.
    key: Vec<Block>,
}

/// Blocks of the key for the place.
const HEAD: usize = 2;

impl Sealer {
    /// A key for data of up to `blocks` blocks.
    pub(super) fn new(blocks: usize, prg: &mut Prg) -> Sealer {
        let mut key = vec![Block::ZERO; HEAD + blocks];
        // One block for the place, which gives both of it: as many as were always drawn, for what a session
        // with given seeds sends is pinned.
        prg.fill(&mut key[HEAD - 1..]);
        let mut seed = key[HEAD - 1];
        Prg::new(seed).fill(&mut key[..HEAD]);
        seed.zeroize();
        Sealer { key }
    }

    pub(super) fn seal(&self, place: u64, data: &[Block]) -> Stored {
        let sum = match data {
            [] => Block::ZERO,
            _ => gf128::inner_product(&self.key[HEAD..], data),
        };
        Stored { place, seal: self.head(place) ^ (sum.to_u128() >> 64) as u64 }
    }

    /// The item with its data at another place, and the seal of that: a bit that had changed is seen as before.
    pub(super) fn moved(&self, stored: Stored, place: u64) -> Stored {
        Stored { place, seal: stored.seal ^ self.head(stored.place) ^ self.head(place) }
    }

    fn head(&self, place: u64) -> u64 {
        let [factor, summand] = [self.key[0], self.key[1]].map(Block::to_u128);
        (factor.wrapping_mul(place.into()).wrapping_add(summand) >> 64) as u64
    }

    /// Whether `stored` and `data` are as they were sealed.
    ///
    /// # Errors
    /// `Internal`: this machine's memory changed, and the item must not be used.
    pub(super) fn open(&self, stored: Stored, data: &[Block]) -> Result<u64, Fault> {
        if self.seal(stored.place, data) == stored {
            Ok(stored.place)
        } else {
            Err(Fault::Internal("a stored item of a pool has changed".into()))
        }
    }
}

impl Drop for Sealer {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Rows that a prefetch runs ahead.
pub(super) const AHEAD: usize = 6;
/// Rows that a look at where they are runs ahead: the tables of the pages of a large pool are not in the caches either.
pub(super) const FAR: usize = 20;

/// Blocks of a line of the caches.
const LINE: usize = 4;

/// Rows of equal length in one flat array: first those of the slots of a pool, then those of a batch.
pub(super) struct Slab {
    stride: usize,
    /// Blocks before row 0, so that rows of whole lines begin where lines do: a row in five lines
    /// instead of four takes a quarter more of all that waits for memory.
    lead: usize,
    blocks: Vec<Block>,
    /// The next row of the batch that was not in use.
    next: u32,
    free: Vec<u32>,
}

impl Slab {
    pub(super) fn new(stride: usize) -> Slab {
        Slab { stride, lead: 0, blocks: Vec::new(), next: 0, free: Vec::new() }
    }

    /// Blocks of a row.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes of all rows, used or not.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
    }

    /// Begins a batch of so many rows, behind those of `slots`. What lay there of the one before is written over.
    pub(super) fn begin(&mut self, slots: usize, batch: usize) {
        let more = (LINE + (slots + batch) * self.stride).saturating_sub(self.blocks.len());
        self.blocks.reserve_exact(more);
        cenote_prim::prefer_large_pages(&self.blocks);
        if self.blocks.is_empty() {
            let into_line = self.blocks.as_ptr().addr() / size_of::<Block>() % LINE;
            self.lead = (LINE - into_line) % LINE;
        }
        let least = self.lead + slots * self.stride;
        if self.blocks.len() < least {
            self.blocks.resize(least, Block::ZERO);
        }
        self.next = slots as u32;
        self.free.clear();
    }

    /// A row of the batch that is not in use; its content is unspecified. They follow each other in memory.
    pub(super) fn claim(&mut self) -> u32 {
        if let Some(row) = self.free.pop() {
            return row;
        }
        let row = self.next;
        self.next += 1;
        let end = self.lead + self.next as usize * self.stride;
        if self.blocks.len() < end {
            self.blocks.resize(end, Block::ZERO);
        }
        row
    }

    /// Where the row begins, anywhere if there is none.
    fn first(&self, row: u64) -> usize {
        (row as usize).wrapping_mul(self.stride).wrapping_add(self.lead)
    }

    /// Writes one row over another. Nothing where there is no such row, which is for [`Sealer::open`] to say.
    pub(super) fn copy(&mut self, from: u64, to: u64) {
        let (from, to) = (self.first(from), self.first(to));
        let end = |first: usize| first.checked_add(self.stride);
        let inside = |first| end(first).is_some_and(|end| end <= self.blocks.len());
        if inside(from) && inside(to) {
            self.blocks.copy_within(from..from + self.stride, to);
        }
    }

    pub(super) fn row(&self, row: u32) -> Option<&[Block]> {
        let first = self.lead + row as usize * self.stride;
        self.blocks.get(first..first + self.stride)
    }

    pub(super) fn row_mut(&mut self, row: u32) -> &mut [Block] {
        let first = self.lead + row as usize * self.stride;
        &mut self.blocks[first..first + self.stride]
    }

    /// Wipes the row and lets it be claimed again by this batch.
    pub(super) fn release(&mut self, row: u32) {
        self.row_mut(row).zeroize();
        self.free.push(row);
    }

    /// Finds out where the row is, for [`Slab::prefetch`].
    pub(super) fn locate(&self, row: u64) {
        cenote_prim::prefetch(&self.blocks, self.first(row));
    }

    /// Brings the row close. There is none where a bit of its number has flipped, which is for
    /// [`Sealer::open`] to say.
    pub(super) fn prefetch(&self, row: u64) {
        let first = self.first(row);
        // The last block as well: a row need not end where a line does.
        let last = (!self.stride.is_multiple_of(LINE)).then_some(self.stride - 1);
        for block in (0..self.stride).step_by(LINE).chain(last) {
            cenote_prim::prefetch(&self.blocks, first.wrapping_add(block));
        }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_an_item_is_sealed() {
        let mut prg = Prg::new(Block::new(1));
        let sealer = Sealer::new(3, &mut prg);
        let mut data = [Block::ZERO; 3];
        prg.fill(&mut data);
        let good = sealer.seal(77, &data);
        assert_eq!(sealer.open(good, &data), Ok(77));
        for bit in 0..64 {
            for changed in [
                Stored { place: good.place ^ 1 << bit, ..good },
                Stored { seal: good.seal ^ 1 << bit, ..good },
            ] {
                assert!(matches!(sealer.open(changed, &data), Err(Fault::Internal(_))));
            }
        }
        for bit in 0..3 * 128 {
            let mut changed = data;
            changed[bit / 128] ^= Block::new(1 << (bit % 128));
            assert!(matches!(sealer.open(good, &changed), Err(Fault::Internal(_))));
        }
        assert!(sealer.open(Stored::default(), &[]).is_err());
    }

    #[test]
    fn rows_are_reused_wiped() {
        let mut slab = Slab::new(2);
        slab.begin(0, 2);
        let (a, b) = (slab.claim(), slab.claim());
        slab.row_mut(a).fill(Block::ONE);
        slab.row_mut(b).fill(Block::ONE);
        slab.release(a);
        let c = slab.claim();
        assert_eq!(c, a);
        assert!(slab.row(c).is_some_and(|row| row.iter().all(|x| x.ct_eq(Block::ZERO))));
        assert!(slab.row(9).is_none());
        // A batch begins behind the slots, and where one lies may change with its seal.
        slab.begin(3, 2);
        let new = slab.claim();
        assert_eq!((new, slab.claim()), (3, 4));
        let sealer = Sealer::new(2, &mut Prg::new(Block::new(2)));
        slab.row_mut(new).fill(Block::ONE);
        let item = sealer.seal(new.into(), slab.row(new).unwrap());
        slab.copy(new.into(), 1);
        let moved = sealer.moved(item, 1);
        assert_eq!(sealer.open(moved, slab.row(1).unwrap()), Ok(1));
        assert!(
            sealer
                .open(sealer.moved(Stored { place: 4, ..item }, 1), slab.row(1).unwrap())
                .is_err()
        );
        slab.copy(u64::MAX, 0);
        slab.copy(1, u64::MAX / 2);
        assert!(slab.row(0).is_some_and(|row| row.iter().all(|x| !x.ct_eq(Block::ONE))));
    }
}

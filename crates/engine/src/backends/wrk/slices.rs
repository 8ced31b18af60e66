//! How the leaky ANDs of the pool and of batches are cut into slices: as many as one message of correlated OT has
//! shares for at most, which the caches hold while they are worked on. Slices are numbered over the life of the session, those of the pool first, so that
//! both sides know by its number what a slice is of.

use crate::backends::wrk::WrkParams;

/// Shares of a slice at most: a message of SoftSpokenOT.
pub(super) const MOST_SHARES: usize = 32_640;

/// The cut of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    pool: Cut,
    batch: Cut,
    bucket: usize,
}

/// A batch in slices of one size, but for the last.
#[derive(Clone, Copy, Debug)]
struct Cut {
    ands: usize,
    slice: usize,
    count: u64,
}

/// A slice in its batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Leaky ANDs.
    pub(super) ands: usize,
    /// Masks for triples: none in the pool.
    pub(super) masks: usize,
    /// It is the first of its batch.
    pub(super) first: bool,
    /// It is the last of its batch.
    pub(super) last: bool,
}

impl Place {
    /// Shares that it takes.
    pub(super) const fn shares(self) -> usize {
        3 * self.ands + self.masks
    }
}

impl Cut {
    /// `ands` leaky ANDs, at most `most` in a slice, a multiple of `unit` in all but the last.
    fn new(ands: usize, most: usize, unit: usize) -> Cut {
        let count = ands.div_ceil(most.max(unit)).max(1);
        let slice = ands.div_ceil(unit).div_ceil(count) * unit;
        Cut { ands, slice, count: ands.div_ceil(slice.max(1)) as u64 }
    }

    fn place(self, number: u64, masked: Option<usize>) -> Place {
        let ands = self.slice.min(self.ands - number as usize * self.slice);
        let masks = masked.map_or(0, |bucket| ands / bucket);
        Place { ands, masks, first: number == 0, last: number + 1 == self.count }
    }
}

impl Slices {
    pub(super) fn of(params: &WrkParams) -> Slices {
        let (bucket, shares) = (params.bucket, params.ot.chunk().min(MOST_SHARES));
        // 3 shares for each leaky AND and one for each bucket.
        let most = shares * bucket / (3 * bucket + 1) / bucket * bucket;
        Slices {
            pool: Cut::new(params.pool.unwrap_or(0), shares / 3, 1),
            batch: Cut::new(params.batch, most, bucket),
            bucket,
        }
    }

    /// Slices of the pool.
    pub(super) const fn of_pool(&self) -> u64 {
        self.pool.count
    }

    /// Slices of a batch.
    pub(super) const fn of_batch(&self) -> u64 {
        self.batch.count
    }

    /// The slice with this number.
    pub(super) fn place(&self, number: u64) -> Place {
        match number.checked_sub(self.pool.count) {
            None => self.pool.place(number, None),
            Some(number) => self.batch.place(number % self.batch.count, Some(self.bucket)),
        }
    }

    /// Triples of the batch that begins with this slice: none for any other slice.
    pub(super) fn triples_from(&self, number: u64) -> usize {
        let place = self.place(number);
        if place.first { self.batch_of(place).1 } else { 0 }
    }

    /// Leaky ANDs and triples of the batch that `place` is in.
    pub(super) const fn batch_of(&self, place: Place) -> (usize, usize) {
        if place.masks == 0 {
            (self.pool.ands, 0)
        } else {
            (self.batch.ands, self.batch.ands / self.bucket)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{PoolChoice, Rho};

    #[test]
    fn slices_make_up_their_batches_and_fit_a_message_of_oblivious_transfer() {
        let choices = [1, 1000, 100_000, 10_000_000].map(PoolChoice::OneShot);
        let pools = [1073, 7673, 30_000, 480_000, 2_000_000].map(PoolChoice::Kept);
        for choice in choices.into_iter().chain(pools) {
            let params = WrkParams::derive(choice, Rho::Bits40).expect("sound");
            let slices = Slices::of(&params);
            let of_pool: Vec<Place> = (0..slices.of_pool()).map(|i| slices.place(i)).collect();
            assert_eq!(of_pool.iter().map(|p| p.ands).sum::<usize>(), params.pool.unwrap_or(0));
            assert!(of_pool.iter().all(|p| p.masks == 0));
            for batch in 0..2 {
                let first = slices.of_pool() + batch * slices.of_batch();
                let all: Vec<Place> =
                    (first..first + slices.of_batch()).map(|i| slices.place(i)).collect();
                let sum = |of: fn(&Place) -> usize| all.iter().map(of).sum::<usize>();
                assert_eq!((sum(|p| p.ands), sum(|p| p.masks)), (params.batch, params.triples()));
                assert_eq!(sum(|p| p.first.into()), 1);
                assert!(all[0].first && all[all.len() - 1].last);
                assert_eq!(sum(|p| p.last.into()), 1);
                for place in all.iter().chain(&of_pool) {
                    assert!(place.ands > 0 && place.shares() <= params.ot.chunk(), "{place:?}");
                }
            }
        }
    }
}

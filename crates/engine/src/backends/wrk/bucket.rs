//! Buckets: B leaky ANDs become one triple of which nothing leaks unless all B were attacked.
//!
//! **Construction.** WRK17 / KRRW18 bucketing in POOL's setting (POOL section 8, figure 7): the
//! members of a bucket are drawn by a coin tossed after they were fixed; see `supply.rs`.
//! **Steps.** For members i = 2..B both parties open d_i = y_1 xor y_i (`opening.rs`); then
//! x = xor of all x_i, y = y_1, z = z_1 xor the xor over i >= 2 of (z_i xor d_i x_i).
//! What does not depend on the d_i is added up as soon as the members are drawn ([`Folded`]): a bucket then waits for
//! them in B + 3 shares instead of 3 B + 1.
//! **Checks.** `opening.mac` on the d_i. **Private values.** y_1 and y_i: d_i is masked by y_i,
//! which is used nowhere else. **Leakage.** x leaks only if every x_i leaked.
//! **Costs.** B - 1 bits each way.

use cenote_net::{Fault, Role};
use cenote_prim::{Block, Secret, Task, Workers, bits, zeroize_to_fit};

use super::leaky_and::LeakyAnd;
use super::packed::Packed;
use super::share::Share;

/// One party's half of a ready triple z = x y, with a spare authenticated bit for the mask of the
/// gate's output wire: x, y, z and the mask. Neither depends on the function, so both are made ahead.
pub type Triple<const N: usize> = [Packed<N>; 4];

/// Shares of a bucket of B members whose differences are not known yet: those of its [`Triple`], to which d_i x_i is to be
/// added, and x_i for i = 2..B.
pub(super) const fn folded_len(bucket: usize) -> usize {
    4 + bucket - 1
}

/// Buckets that are worked on at a time: in the caches of the core.
pub(super) const GRAIN: usize = 128;
/// Members that are fetched ahead.
const PREFETCH: usize = 16;
/// Buckets that one of several threads works on at a time: much more work than to give it out.
const TASK: usize = 16 * GRAIN;

/// Whole buckets that lie together, and a spare share for each of their triples.
pub type Members<'m, const N: usize> = (&'m [LeakyAnd<N>], &'m [Packed<N>]);

/// Buckets whose members are drawn.
#[derive(Default)]
pub struct Folded<const N: usize> {
    /// [`folded_len`] a bucket.
    shares: Secret<Vec<Packed<N>>>,
    /// Keys for the differences of the peer, B - 1 a bucket.
    pub keys: Secret<Vec<Block>>,
}

/// Where [`Folded`] buckets, and the MACs on their differences, are written.
struct Rooms<'r, const N: usize> {
    shares: &'r mut [Packed<N>],
    keys: &'r mut [Block],
    macs: &'r mut [Block],
}

impl<'r, const N: usize> Rooms<'r, N> {
    fn split_off(&mut self, buckets: usize, bucket: usize) -> Rooms<'r, N> {
        Rooms {
            shares: split_off(&mut self.shares, buckets * folded_len(bucket)),
            keys: split_off(&mut self.keys, buckets * (bucket - 1)),
            macs: split_off(&mut self.macs, buckets * (bucket - 1)),
        }
    }

    fn fold(self, (members, masks): Members<'_, N>, bucket: usize, role: Role) {
        let differences =
            self.keys.chunks_exact_mut(bucket - 1).zip(self.macs.chunks_exact_mut(bucket - 1));
        let folded = self.shares.chunks_exact_mut(folded_len(bucket)).zip(differences);
        for ((members, mask), (folded, (keys, macs))) in
            members.chunks_exact(bucket).zip(masks).zip(folded)
        {
            let LeakyAnd { mut x, y, mut z } = members[0];
            for (i, member) in members[1..].iter().enumerate() {
                let Share { mac, key } = (y ^ member.y).share(role);
                (macs[i], keys[i]) = (mac, key);
                folded[4 + i] = member.x;
                x = x ^ member.x;
                z = z ^ member.z;
            }
            folded[..4].copy_from_slice(&[x, y, z, *mask]);
        }
    }
}

/// Folds buckets one part after the other, as their members are drawn.
pub struct Folding<'r, const N: usize> {
    rooms: Rooms<'r, N>,
    bucket: usize,
    role: Role,
}

impl<const N: usize> Folded<N> {
    /// Begins to fold so many `buckets` of `bucket` members: what is there, of other buckets, is written over. The MACs on the
    /// differences d_i, in order, go to `macs`.
    ///
    /// # Panics
    /// If buckets have one member.
    pub fn begin<'r>(
        &'r mut self,
        (buckets, bucket): (usize, usize),
        role: Role,
        macs: &'r mut Secret<Vec<Block>>,
    ) -> Folding<'r, N> {
        assert!(bucket > 1, "a bucket of one hides nothing");
        for room in [&mut *macs, &mut self.keys] {
            zeroize_to_fit(room, (bucket - 1) * buckets);
            room.resize((bucket - 1) * buckets, Block::ZERO);
        }
        zeroize_to_fit(&mut self.shares, folded_len(bucket) * buckets);
        self.shares.resize(folded_len(bucket) * buckets, Packed::default());
        let rooms = Rooms { shares: &mut self.shares, keys: &mut self.keys, macs };
        Folding { rooms, bucket, role }
    }

    /// Writes the triples, with the bits of the differences that both parties have opened, packed.
    pub fn combine(
        &self,
        workers: &Workers,
        bucket: usize,
        opened: (&[u8], &[u8]),
        triples: &mut [Triple<N>],
    ) {
        let folded = self.shares.chunks(TASK * folded_len(bucket));
        workers.run(folded.zip(triples.chunks_mut(TASK)).enumerate().map(
            |(i, (folded, triples))| {
                let first = i * TASK * (bucket - 1);
                Box::new(move || combine(folded, bucket, opened, first, triples)) as Task<'_>
            },
        ));
    }
}

impl<const N: usize> Folding<'_, N> {
    /// Folds the next buckets, whose members are drawn.
    pub fn fold(&mut self, members: Members<'_, N>) {
        let (bucket, role) = (self.bucket, self.role);
        self.rooms.split_off(members.0.len() / bucket, bucket).fold(members, bucket, role);
    }

    /// All are folded.
    ///
    /// # Errors
    /// `Internal` if some are not: what is in their place is of other buckets.
    pub fn done(self) -> Result<(), Fault> {
        match self.rooms.shares {
            [] => Ok(()),
            _ => Err(Fault::Internal("a batch with buckets missing".into())),
        }
    }

    /// Folds all buckets by several threads, their members in the given order of all that lie in `pieces`, which are as long as the first but for the
    /// last. An order is shuffled much faster than what it is of.
    ///
    /// # Errors
    /// As [`Folding::done`].
    ///
    /// # Panics
    /// If a place is none.
    pub fn fold_in_order(
        mut self,
        workers: &Workers,
        pieces: &[Members<'_, N>],
        order: &[u32],
    ) -> Result<(), Fault> {
        let (bucket, role) = (self.bucket, self.role);
        let len = pieces.first().map_or(1, |(items, _)| items.len());
        let masks = pieces.iter().flat_map(|(_, masks)| masks.chunks(TASK));
        let mut order = order;
        workers.run(masks.map(|masks| {
            let own =
                order.split_off(..(bucket * masks.len()).min(order.len())).unwrap_or_default();
            let mut rooms = self.rooms.split_off(masks.len(), bucket);
            Box::new(move || {
                let mut drawn = Secret::with_capacity(bucket * GRAIN);
                for (i, masks) in masks.chunks(GRAIN).enumerate() {
                    gather(
                        pieces,
                        len,
                        &own[i * bucket * GRAIN..],
                        bucket * masks.len(),
                        &mut drawn,
                    );
                    rooms.split_off(masks.len(), bucket).fold((&drawn, masks), bucket, role);
                }
            }) as Task<'_>
        }));
        self.done()
    }

    /// Folds all buckets of `pieces` by several threads.
    ///
    /// # Errors
    /// As [`Folding::done`].
    pub fn fold_on<'m>(
        mut self,
        workers: &Workers,
        pieces: impl Iterator<Item = Members<'m, N>>,
    ) -> Result<(), Fault> {
        let (bucket, role) = (self.bucket, self.role);
        let grains = pieces
            .flat_map(|(members, masks)| members.chunks(bucket * TASK).zip(masks.chunks(TASK)));
        workers.run(grains.map(|members| {
            let rooms = self.rooms.split_off(members.1.len(), bucket);
            Box::new(move || rooms.fold(members, bucket, role)) as Task<'_>
        }));
        self.done()
    }
}

/// The first `n` items in an order, out of pieces of `len` items; those of places beyond are fetched ahead.
fn gather<const N: usize>(
    pieces: &[Members<'_, N>],
    len: usize,
    order: &[u32],
    n: usize,
    drawn: &mut Secret<Vec<LeakyAnd<N>>>,
) {
    // Numbers of 32 bits are divided faster.
    let len = len as u32;
    let place = |place: &u32| (pieces[(place / len) as usize].0, (place % len) as usize);
    drawn.clear();
    drawn.extend(order[..n].iter().enumerate().map(|(i, own)| {
        if let Some(later) = order.get(i + PREFETCH) {
            let (items, later) = place(later);
            cenote_prim::prefetch(items, later);
        }
        let (items, own) = place(own);
        items[own]
    }));
}

/// The triples of folded buckets; `first` is the place of their first difference among those opened.
fn combine<const N: usize>(
    folded: &[Packed<N>],
    bucket: usize,
    (own, peer): (&[u8], &[u8]),
    first: usize,
    triples: &mut [Triple<N>],
) {
    for (k, (folded, triple)) in folded.chunks_exact(folded_len(bucket)).zip(triples).enumerate() {
        let [x, y, mut z, mask] = [folded[0], folded[1], folded[2], folded[3]];
        for (i, other) in folded[4..].iter().enumerate() {
            let place = first + k * (bucket - 1) + i;
            z = z ^ other.times(bits::get(own, place) ^ bits::get(peer, place));
        }
        *triple = [x, y, z, mask];
    }
}

fn split_off<'r, T>(room: &mut &'r mut [T], n: usize) -> &'r mut [T] {
    room.split_off_mut(..n).unwrap_or_default()
}

/// The shared factors of a gate that Beaver's step opens: f = x xor lambda_a, g = y xor lambda_b.
#[inline(always)]
pub fn beaver_differences((x, y): (Share, Share), a: Share, b: Share) -> (Share, Share) {
    (x ^ a, y ^ b)
}

/// g x xor f y xor f g, with f and g opened: what z lacks to be lambda_a lambda_b.
#[inline(always)]
pub fn beaver_correction(x: Share, y: Share, f: bool, g: bool, role: Role, delta: Block) -> Share {
    (x.times(g) ^ y.times(f)).add_public(f & g, role, delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::leaky_and::Width;
    use crate::backends::wrk::packed::BITS64;
    use crate::backends::wrk::share::dealer::Dealer;

    type Leaky = LeakyAnd<BITS64>;

    /// A triple dealt honestly, under the part of Delta_B that is kept.
    fn leaky(d: &mut Dealer) -> (Leaky, Leaky) {
        let ((xa, xb), (ya, yb), (za, zb)) = (d.share(), d.share(), d.share());
        let fix = d.value(za, zb) ^ (d.value(xa, xb) & d.value(ya, yb));
        let za = za.add_public(fix, Role::Garbler, d.deltas[0]);
        let zb = zb.add_public(fix, Role::Evaluator, d.deltas[1]);
        let pack = |[x, y, z]: [Share; 3], role| {
            let [x, y, z] = [x, y, z].map(|share| Packed::of(share, role));
            LeakyAnd { x, y, z }
        };
        (pack([xa, ya, za], Role::Garbler), pack([xb, yb, zb], Role::Evaluator))
    }

    /// A dealer of what is kept of shares.
    fn dealer(seed: u128) -> Dealer {
        let mut d = Dealer::new(seed);
        d.deltas[1] = Width::Bits64.kept_delta(d.deltas[1], Role::Evaluator);
        d
    }

    /// What is opened of the buckets, and the buckets.
    fn fold(
        workers: &Workers,
        pieces: &[Members<'_, BITS64>],
        bucket: usize,
        role: Role,
    ) -> (Vec<Share>, Folded<BITS64>) {
        let (mut folded, mut macs) = (Folded::default(), Secret::default());
        let buckets = pieces.iter().map(|(_, masks)| masks.len()).sum();
        let mut folding = folded.begin((buckets, bucket), role, &mut macs);
        match workers.threads() {
            1 => {
                pieces.iter().for_each(|piece| folding.fold(*piece));
                folding.done()
            }
            _ => folding.fold_on(workers, pieces.iter().copied()),
        }
        .expect("all of them");
        let shares = macs.iter().zip(folded.keys.iter()).map(|(&mac, &key)| Share { mac, key });
        (shares.collect(), folded)
    }

    fn triples(
        workers: &Workers,
        folded: &Folded<BITS64>,
        bucket: usize,
        opened: (&[u8], &[u8]),
    ) -> Vec<Triple<BITS64>> {
        let n = folded.keys.len() / (bucket - 1);
        let mut triples = vec![[Packed::default(); 4]; n];
        folded.combine(workers, bucket, opened, &mut triples);
        triples
    }

    /// However the buckets lie and whoever computes.
    #[test]
    fn pieces_are_as_good_as_one_array() {
        let mut d = dealer(10);
        let (n, bucket, role) = (2 * TASK + 40, 3, Role::Garbler);
        let (members, _): (Vec<_>, Vec<_>) = (0..n * bucket).map(|_| leaky(&mut d)).unzip();
        let masks: Vec<_> = (0..n).map(|_| Packed::of(d.share().0, role)).collect();
        let one = Workers::default();
        let (opened, folded) = fold(&one, &[(&members, &masks)], bucket, role);
        let own = bits::pack(opened.iter().map(|share| share.bit()));
        let peer = bits::pack(opened.iter().map(|share| share.key.colour()));
        let all = triples(&one, &folded, bucket, (&own, &peer));
        for (at, threads) in [(0, 1), (15, 1), (15, 2), (TASK + 1, 3)] {
            let workers = Workers::new(threads).expect("threads");
            let (left, right) = members.split_at(at * bucket);
            let (first, others) = masks.split_at(at);
            let (shares, folded) = fold(&workers, &[(left, first), (right, others)], bucket, role);
            assert!(shares == opened);
            let made = triples(&workers, &folded, bucket, (&own, &peer));
            assert!(
                made.as_flattened()
                    .iter()
                    .zip(all.as_flattened())
                    .all(|(a, b)| a.share(role) == b.share(role))
            );
        }
    }

    /// In any order of the items, by any number of threads.
    #[test]
    fn an_order_is_as_good_as_items_in_that_order() {
        let mut d = dealer(11);
        let (bucket, role, len) = (3, Role::Garbler, 3 * (TASK + 50));
        let n = 2 * len + 9 * bucket;
        let (members, _): (Vec<_>, Vec<_>) = (0..n).map(|_| leaky(&mut d)).unzip();
        let masks: Vec<_> = (0..n / bucket).map(|_| Packed::of(d.share().0, role)).collect();
        let mut order: Vec<u32> = (0..n as u32).collect();
        cenote_pool::shuffle(&mut order, || d.prg.block().to_u128() as u64);
        let drawn: Vec<_> = order.iter().map(|place| members[*place as usize]).collect();
        let (right, _) = fold(&Workers::default(), &[(&drawn, &masks)], bucket, role);
        for threads in [1, 3] {
            let workers = Workers::new(threads).expect("threads");
            let (mut folded, mut macs) = (Folded::default(), Secret::default());
            let pieces: Vec<_> = members.chunks(len).zip(masks.chunks(len / bucket)).collect();
            let folding = folded.begin((masks.len(), bucket), role, &mut macs);
            folding.fold_in_order(&workers, &pieces, &order).expect("all of them");
            assert!(macs.iter().zip(&right).all(|(mac, right)| *mac == right.mac));
            assert!(folded.keys.iter().zip(&right).all(|(key, right)| *key == right.key));
        }
        let (mut folded, mut macs) = (Folded::default(), Secret::default());
        let folding = folded.begin((masks.len() + 1, bucket), role, &mut macs);
        let lacks = folding.fold_in_order(&Workers::default(), &[(&members, &masks)], &order);
        assert!(matches!(lacks, Err(Fault::Internal(_))));
    }

    #[test]
    fn buckets_and_beaver_multiply() {
        let (mut d, one) = (dealer(9), Workers::default());
        for bucket in 2..=5 {
            let n = 40;
            let (a, b): (Vec<_>, Vec<_>) = (0..n * bucket).map(|_| leaky(&mut d)).unzip();
            let (ma, mb): (Vec<_>, Vec<_>) = (0..n)
                .map(|_| d.share())
                .map(|(a, b)| (Packed::of(a, Role::Garbler), Packed::of(b, Role::Evaluator)))
                .unzip();
            let (opened_a, a) = fold(&one, &[(&a, &ma)], bucket, Role::Garbler);
            let (opened_b, b) = fold(&one, &[(&b, &mb)], bucket, Role::Evaluator);
            for (p, q) in opened_a.iter().zip(&opened_b) {
                d.value(*p, *q);
            }
            let own = bits::pack(opened_a.iter().map(|share| share.bit()));
            let peer = bits::pack(opened_b.iter().map(|share| share.bit()));
            let ta = triples(&one, &a, bucket, (&own, &peer));
            let tb = triples(&one, &b, bucket, (&peer, &own));
            assert_eq!((ta.len(), tb.len()), (n, n));
            for (p, q) in ta.iter().zip(&tb) {
                let [px, py, pz, pmask] = p.map(|share| share.share(Role::Garbler));
                let [qx, qy, qz, qmask] = q.map(|share| share.share(Role::Evaluator));
                assert_eq!(d.value(pz, qz), d.value(px, qx) & d.value(py, qy));
                d.value(pmask, qmask);
                let ((la, lb), (ra, rb)) = (d.share(), d.share());
                let (fa, ga) = beaver_differences((px, py), la, ra);
                let (fb, gb) = beaver_differences((qx, qy), lb, rb);
                let (f, g) = (d.value(fa, fb), d.value(ga, gb));
                let sa = pz ^ beaver_correction(px, py, f, g, Role::Garbler, d.deltas[0]);
                let sb = qz ^ beaver_correction(qx, qy, f, g, Role::Evaluator, d.deltas[1]);
                assert_eq!(d.value(sa, sb), d.value(la, lb) & d.value(ra, rb));
            }
        }
    }
}

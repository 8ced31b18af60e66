//! Buckets: B leaky ANDs become one triple of which nothing leaks unless all B were attacked.
//!
//! **Construction.** WRK17 / KRRW18 bucketing in POOL's setting (POOL section 8, figure 7): the
//! members of a bucket are drawn by a coin tossed after they were fixed; see `supply.rs`.
//! **Steps.** For members i = 2..B both parties open d_i = y_1 xor y_i (`opening.rs`); then
//! x = xor of all x_i, y = y_1, z = z_1 xor the xor over i >= 2 of (z_i xor d_i x_i).
//! **Checks.** `opening.mac` on the d_i. **Private values.** y_1 and y_i: d_i is masked by y_i,
//! which is used nowhere else. **Leakage.** x leaks only if every x_i leaked.
//! **Costs.** B - 1 bits each way.

use bytemuck::{Pod, Zeroable};
use cenote_net::Role;
use cenote_prim::{Block, Secret, Task, Workers, bits, zeroize_to_fit};

use super::leaky_and::LeakyAnd;
use super::share::{Share, ShareSlice};

/// One party's half of a ready triple z = x y, with a spare authenticated bit for the mask of the
/// gate's output wire: neither depends on the function, so both are made ahead.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Triple {
    /// First factor.
    pub x: Share,
    /// Second factor.
    pub y: Share,
    /// Product.
    pub z: Share,
    /// A random bit, unrelated to the others.
    pub mask: Share,
}

/// The shares of the bits d to open: B - 1 for each bucket of `bucket` members, in order.
pub fn differences(members: &[LeakyAnd], bucket: usize) -> impl Iterator<Item = Share> + '_ {
    members.chunks_exact(bucket).flat_map(|members| {
        let (first, others) = members.split_first().expect("buckets have members");
        others.iter().map(|member| first.y ^ member.y)
    })
}

/// Buckets that one thread works on at a time.
const GRAIN: usize = 1024;

/// Whole buckets that lie together, and a spare share for each of their triples.
pub(super) type Members<'m> = (&'m [LeakyAnd], ShareSlice<'m>);

/// [`differences`] of all `pieces` by several threads: their MACs and keys.
pub(super) fn differences_on<'m>(
    workers: &Workers,
    pieces: impl Iterator<Item = Members<'m>> + Clone,
    bucket: usize,
    macs: &mut Secret<Vec<Block>>,
    keys: &mut Secret<Vec<Block>>,
) {
    let buckets: usize = pieces.clone().map(|(members, _)| members.len() / bucket).sum();
    for room in [&mut *macs, &mut *keys] {
        zeroize_to_fit(room, (bucket - 1) * buckets);
        room.resize((bucket - 1) * buckets, Block::ZERO);
    }
    let (mut macs, mut keys) = (&mut macs[..], &mut keys[..]);
    workers.run(grains(pieces, bucket).map(|(members, _)| {
        let opened = members.len() / bucket * (bucket - 1);
        let room = split_off(&mut macs, opened).iter_mut().zip(split_off(&mut keys, opened));
        Box::new(move || {
            for ((mac, key), share) in room.zip(differences(members, bucket)) {
                (*mac, *key) = (share.mac, share.key);
            }
        }) as Task<'_>
    }));
}

/// [`combine`] of all `pieces` by several threads, with the bits opened by both parties; writes to `triples`.
pub(super) fn combine_on<'m>(
    workers: &Workers,
    pieces: impl Iterator<Item = Members<'m>>,
    bucket: usize,
    opened: (&[u8], &[u8]),
    mut triples: &mut [Triple],
) {
    let mut first = 0;
    workers.run(grains(pieces, bucket).map(|(members, masks)| {
        let buckets = members.len() / bucket;
        let made = combine(members, bucket, opened, first, masks);
        first += buckets * (bucket - 1);
        let room = split_off(&mut triples, buckets);
        Box::new(move || room.iter_mut().zip(made).for_each(|(place, triple)| *place = triple))
            as Task<'_>
    }));
}

/// So many buckets at a time that a thread works on them.
fn grains<'m>(
    pieces: impl Iterator<Item = Members<'m>>,
    bucket: usize,
) -> impl Iterator<Item = Members<'m>> {
    pieces.flat_map(move |(members, masks)| {
        let grains = members.chunks(bucket * GRAIN).enumerate();
        grains.map(move |(i, members)| (members, masks.split_at(i * GRAIN).1))
    })
}

fn split_off<'r, T>(room: &mut &'r mut [T], n: usize) -> &'r mut [T] {
    room.split_off_mut(..n).unwrap_or_default()
}

/// The triples, from the members, the opened shares of both parties (packed, those of the first member from bit `first` on) and
/// spare shares.
pub fn combine<'a>(
    members: &'a [LeakyAnd],
    bucket: usize,
    (own, peer): (&'a [u8], &'a [u8]),
    first: usize,
    masks: ShareSlice<'a>,
) -> impl ExactSizeIterator<Item = Triple> + 'a {
    members.chunks_exact(bucket).zip(masks.iter()).enumerate().map(move |(k, (members, mask))| {
        let LeakyAnd { mut x, y, mut z } = members[0];
        for (i, member) in members[1..].iter().enumerate() {
            let place = first + k * (bucket - 1) + i;
            let d = bits::get(own, place) ^ bits::get(peer, place);
            x = x ^ member.x;
            z = z ^ member.z ^ member.x.times(d);
        }
        Triple { x, y, z, mask }
    })
}

/// The shared factors of a gate that Beaver's step opens: f = x xor lambda_a, g = y xor lambda_b.
#[inline(always)]
pub fn beaver_differences(triple: &Triple, a: Share, b: Share) -> (Share, Share) {
    (triple.x ^ a, triple.y ^ b)
}

/// g x xor f y xor f g, with f and g opened: what z lacks to be lambda_a lambda_b.
#[inline(always)]
pub fn beaver_correction(x: Share, y: Share, f: bool, g: bool, role: Role, delta: Block) -> Share {
    (x.times(g) ^ y.times(f)).add_public(f & g, role, delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::share::dealer::Dealer;

    /// A triple dealt honestly.
    fn leaky(d: &mut Dealer) -> (LeakyAnd, LeakyAnd) {
        let ((xa, xb), (ya, yb), (za, zb)) = (d.share(), d.share(), d.share());
        let fix = d.value(za, zb) ^ (d.value(xa, xb) & d.value(ya, yb));
        let za = za.add_public(fix, Role::Garbler, d.deltas[0]);
        let zb = zb.add_public(fix, Role::Evaluator, d.deltas[1]);
        (LeakyAnd { x: xa, y: ya, z: za }, LeakyAnd { x: xb, y: yb, z: zb })
    }

    /// However the buckets lie and whoever computes.
    #[test]
    fn pieces_are_as_good_as_one_array() {
        let mut d = Dealer::new(10);
        let (n, bucket) = (2 * GRAIN + 40, 3);
        let (members, _): (Vec<_>, Vec<_>) = (0..n * bucket).map(|_| leaky(&mut d)).unzip();
        let (macs, keys): (Vec<_>, Vec<_>) =
            d.shares(n).0.iter().map(|share| (share.mac, share.key)).unzip();
        let masks = ShareSlice { macs: &macs, keys: &keys };
        let opened: Vec<Share> = differences(&members, bucket).collect();
        let own = bits::pack(opened.iter().map(|share| share.bit()));
        let peer = bits::pack(opened.iter().map(|share| share.key.colour()));
        let all: Vec<Triple> = combine(&members, bucket, (&own, &peer), 0, masks).collect();
        for (at, threads) in [(0, 1), (15, 1), (15, 2), (GRAIN + 1, 3)] {
            let workers = Workers::new(threads).expect("threads");
            let (left, right) = members.split_at(at * bucket);
            let (first, others) = masks.split_at(at);
            let pieces = [(left, first), (right, others)];
            let (mut macs, mut keys) = <(Secret<Vec<Block>>, Secret<Vec<Block>>)>::default();
            differences_on(&workers, pieces.into_iter(), bucket, &mut macs, &mut keys);
            let shares = macs.iter().zip(keys.iter()).map(|(&mac, &key)| Share { mac, key });
            assert!(shares.eq(opened.iter().copied()));
            let mut triples = vec![Triple::default(); n];
            combine_on(&workers, pieces.into_iter(), bucket, (&own, &peer), &mut triples);
            assert!(
                bytemuck::cast_slice::<_, Block>(&triples)
                    == bytemuck::cast_slice::<_, Block>(&all)
            );
        }
    }

    #[test]
    fn buckets_and_beaver_multiply() {
        let mut d = Dealer::new(9);
        for bucket in 1..=5 {
            let n = 40;
            let (a, b): (Vec<_>, Vec<_>) = (0..n * bucket).map(|_| leaky(&mut d)).unzip();
            let (ma, mb) = d.shares(n);
            let arrays = |shares: &[Share]| -> (Vec<Block>, Vec<Block>) {
                shares.iter().map(|share| (share.mac, share.key)).unzip()
            };
            let (ma, mb) = (arrays(&ma), arrays(&mb));
            let ma = ShareSlice { macs: &ma.0, keys: &ma.1 };
            let mb = ShareSlice { macs: &mb.0, keys: &mb.1 };
            let own = bits::pack(differences(&a, bucket).map(Share::bit));
            let peer = bits::pack(differences(&b, bucket).map(Share::bit));
            let ta: Vec<Triple> = combine(&a, bucket, (&own, &peer), 0, ma).collect();
            let tb: Vec<Triple> = combine(&b, bucket, (&peer, &own), 0, mb).collect();
            assert_eq!((ta.len(), tb.len()), (n, n));
            for (p, q) in ta.iter().zip(&tb) {
                assert_eq!(d.value(p.z, q.z), d.value(p.x, q.x) & d.value(p.y, q.y));
                d.value(p.mask, q.mask);
                let ((la, lb), (ra, rb)) = (d.share(), d.share());
                let (fa, ga) = beaver_differences(p, la, ra);
                let (fb, gb) = beaver_differences(q, lb, rb);
                let (f, g) = (d.value(fa, fb), d.value(ga, gb));
                let sa = p.z ^ beaver_correction(p.x, p.y, f, g, Role::Garbler, d.deltas[0]);
                let sb = q.z ^ beaver_correction(q.x, q.y, f, g, Role::Evaluator, d.deltas[1]);
                assert_eq!(d.value(sa, sb), d.value(la, lb) & d.value(ra, rb));
            }
        }
    }
}

//! Leaky AND: authenticated triples z = x y, of which a cheater may guess bits of x.
//!
//! **Construction.** Katz, Ranellucci, Rosulek, Wang (CRYPTO 2018, figure 5), as in POOL section 8.
//! **Roles.** Symmetric: each party P has an own direction, in which it sends G_P.
//! **Adversary.** Malicious. **Model.** H is the re-keyed circular correlation-robust hash MITCCRH,
//! a start point for each direction from a coin tossed after both Deltas were fixed, key index =
//! running number of the triple in the session.
//! **Width.** C, G, S and L are cut to their low t bits ([`Width`]), in which Delta has t - 2 random ones.
//! docs/protocols/wrk.md, "Leaky ANDs of t bits", has the argument; it needs a test of equality that
//! shows no digest.
//! **Steps**, for random shares x, y, z:
//! 1. C_P = y^P Delta_P xor K_P\[y\] xor M_P\[y\], so that C_A xor C_B = y (Delta_A xor Delta_B).
//! 2. P sends G_P = H(K_P\[x\]) xor H(K_P\[x\] xor Delta_P) xor C_P.
//! 3. S_P = H(M_P\[x\]) xor x^P G_{P'} xor H(K_P\[x\]) xor x^P C_P xor z^P Delta_P xor K_P\[z\] xor M_P\[z\];
//!    then S_A xor S_B = (x y xor z)(Delta_A xor Delta_B). All of it but x^P G_{P'} is there in step 2.
//! 4. Exchange d_P = colour(S_P); d = d_A xor d_B; z := z xor d; L_P = S_P xor d Delta_P.
//! 5. Equality of the digests of all L of the batch, of which nothing is shown (`equality.rs`).
//!
//! **Leakage and abort.** A cheater that shifts its G by E moves the victim's S by x^victim E: the
//! equality test then passes only for one value of x^victim. So it learns that bit with probability
//! 1/2 and is caught with probability 1/2. Nothing of y and z leaks; buckets (`bucket.rs`) remove
//! the leak of x. A wrong d puts Delta into the victim's L: it passes with 20 x 2^-(t-2), once a session and with wrong opened bits counted.
//! **Checks.** `equality.tag` (in `equality.rs`): catches a wrong G, a wrong d, shares under a wrong
//! Delta. Before it no triple may be used, and the coin of the buckets may not be known.
//! **Private values.** x^P, y^P, z^P: never sent. G_P is masked by H(K xor Delta) or H(K), one of
//! which the peer does not know. d_P is masked by z^P: the colours of Delta_A and Delta_B differ, so z^P
//! enters the colour of S_P, by z^A Delta_A at A and by M_B\[z\] at B. A garbler whose Delta_A has colour 0 would
//! unmask d_B, but its own S_A xor S_B then has the wrong colour for every triple whose product is 1, and
//! the equality of the whole batch fails before any triple is used. So the colours carry privacy.
//! **Costs.** Per triple and party: 3 COT each way, 2 AES keys and 3 hashes (2 + 1), t + 1 bits.

use std::mem;

use cenote_net::{Fault, Role};
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::{Block, RandomOracle, Secret, SessionId, bits, zeroize_to_fit};
use zeroize::Zeroize;

use super::packed::Packed;
use super::share::{Share, ShareSlice};
use crate::options::Rho;
use crate::parts::toss::MOST_REPLIED;

/// One party's half of a leaky triple z = x y, in shares of N bytes.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct LeakyAnd<const N: usize> {
    /// First factor: the one that may leak.
    pub x: Packed<N>,
    /// Second factor.
    pub y: Packed<N>,
    /// Product.
    pub z: Packed<N>,
}

impl<const N: usize> Zeroize for LeakyAnd<N> {
    fn zeroize(&mut self) {
        self.x.zeroize();
        self.y.zeroize();
        self.z.zeroize();
    }
}

/// How many low bits of C, G, S and L are sent, kept and compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 64.
    Bits64,
    /// 96.
    Bits96,
    /// All 128.
    Bits128,
}

impl Width {
    /// The narrowest of which an error of 2^-rho is left by far.
    #[must_use]
    pub const fn of(rho: Rho) -> Width {
        match rho {
            Rho::Bits40 => Width::Bits64,
            Rho::Bits64 => Width::Bits96,
            Rho::Bits80 => Width::Bits128,
        }
    }

    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Width::Bits64 => 64,
            Width::Bits96 => 96,
            Width::Bits128 => 128,
        }
    }

    /// Bytes of a message G for each leaky AND.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// Base-2 logarithm of the probability that a wrong leaky AND or a wrong opened bit ever passes: as many guesses of the
    /// random bits of Delta among these as tests may be open at once, and one on each channel (docs/protocols/wrk.md).
    #[must_use]
    pub fn error_log2(self) -> f64 {
        2.0 - f64::from(self.bits()) + ((MOST_REPLIED + CHANNELS) as f64).log2()
    }
}

/// Channels on which bits are opened, by one party at a time and in order.
const CHANNELS: usize = 2;

/// One party's generator of leaky ANDs: the hash of each direction and Delta.
pub struct Generator {
    session: SessionId,
    role: Role,
    delta: Secret<Block>,
    own: Mitccrh,
    peer: Mitccrh,
    width: Width,
    batches: u64,
    /// Slices of all batches so far.
    slices: u64,
    /// Digests of the L of those of this batch.
    tested: Secret<Vec<u8>>,
}

/// What a slice of leaky ANDs keeps for the peer's messages, besides the leaky ANDs.
#[derive(Default)]
pub struct Pending {
    /// The own bits of x, packed.
    x: Secret<Vec<u8>>,
    /// S as far as it is known, and L in the end, of the [`Width`].
    s: Secret<Vec<u8>>,
}

/// The shares x, y, z of a slice of a batch, as many of each.
#[derive(Clone, Copy)]
struct Shares<'s> {
    x: ShareSlice<'s>,
    y: ShareSlice<'s>,
    z: ShareSlice<'s>,
}

impl<'s> Shares<'s> {
    fn of(shares: ShareSlice<'s>) -> Result<Shares<'s>, Fault> {
        let n = shares.len() / 3;
        if shares.len() != 3 * n {
            return Err(Fault::Misuse("leaky ANDs take three shares each".into()));
        }
        let (x, rest) = shares.split_at(n);
        let (y, z) = rest.split_at(n);
        Ok(Shares { x, y, z })
    }
}

impl Generator {
    /// A generator; `coin` was tossed after both Deltas were fixed.
    #[must_use]
    pub fn new(
        session: SessionId,
        role: Role,
        delta: Block,
        coin: Block,
        width: Width,
    ) -> Generator {
        let start = |direction: Role| {
            let oracle = RandomOracle::new("cenote 2026 engine leaky-and start v1", &session);
            Mitccrh::new(oracle.number(direction as u64).blocks(&[coin]).block())
        };
        let (own, peer) = (start(role), start(role.peer()));
        let delta = Secret::new(delta);
        let (batches, slices, tested) = (0, 0, Secret::default());
        Generator { session, role, delta, own, peer, width, batches, slices, tested }
    }

    /// Returns Delta.
    #[cfg(test)]
    pub(super) fn delta(&self) -> Block {
        *self.delta
    }

    /// What the steps use, apart, so that they can run side by side on different slices.
    pub(super) fn parts(&mut self) -> (First<'_>, Last<'_>) {
        let Generator { session, role, delta, own, peer, width, slices, tested, .. } = self;
        let (role, width) = (*role, *width);
        (First { own, peer, delta, role, width }, Last { session, delta, width, slices, tested })
    }

    /// Steps 1 and 2 for a slice of a batch: `shares` holds all x, then all y, then all z. Appends the triples to `items`, z as
    /// it is before d is added ([`settling`]), and writes what is known of S to `pending`. They may not be used before step 5, the
    /// equality of the digests of their batch, was established. Returns the message G, [`Width::bytes`] bytes a triple.
    ///
    /// # Errors
    /// `Misuse` if the number of shares is not a multiple of 3.
    pub fn send_g<const N: usize>(
        &mut self,
        shares: ShareSlice<'_>,
        pending: &mut Pending,
        items: &mut Secret<Vec<LeakyAnd<N>>>,
    ) -> Result<Vec<u8>, Fault> {
        self.parts().0.send_g(shares, pending, items)
    }

    /// Steps 3 and 4: takes the peer's G into S. The message is d, packed bits.
    ///
    /// # Errors
    /// `Misbehaved` if the peer's message has another length.
    pub fn send_d(&self, pending: &mut Pending, peer_g: &[u8]) -> Result<Vec<u8>, Fault> {
        pending.send_d(self.width, peer_g)
    }

    /// The end of step 4: writes d to `d`, packed, which is still to be added to the triples ([`settling`]).
    ///
    /// # Errors
    /// `Misbehaved` if the peer's message is not as many packed bits.
    pub fn finish(
        &mut self,
        pending: &mut Pending,
        peer_d: &[u8],
        d: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.parts().1.finish(pending, peer_d, d)
    }

    /// The digest of all L of a batch, of which the slice before was the last, for step 5. It may not be shown: it
    /// would tell a peer that sent a wrong d about Delta.
    pub fn digest(&mut self) -> Secret<[u8; 32]> {
        let oracle = RandomOracle::new("cenote 2026 engine leaky-and digest v2", &self.session);
        let tested = mem::take(&mut self.tested);
        self.batches += 1;
        Secret::new(oracle.number(self.batches - 1).bytes(&tested).digest())
    }
}

/// What makes leaky ANDs and G.
pub(super) struct First<'g> {
    own: &'g mut Mitccrh,
    peer: &'g mut Mitccrh,
    delta: &'g Block,
    role: Role,
    width: Width,
}

impl First<'_> {
    /// [`Generator::send_g`].
    pub(super) fn send_g<const N: usize>(
        &mut self,
        shares: ShareSlice<'_>,
        pending: &mut Pending,
        items: &mut Secret<Vec<LeakyAnd<N>>>,
    ) -> Result<Vec<u8>, Fault> {
        let shares = Shares::of(shares)?;
        let Pending { x, s } = pending;
        zeroize_to_fit(x, bits::packed_len(shares.x.len()));
        bits::pack_into(x, shares.x.macs.iter().map(|mac| mac.lsb()));
        let mut g = vec![0; self.width.bytes() * shares.x.len()];
        s.resize(g.len(), 0);
        match self.width {
            Width::Bits64 => self.make_g::<8, N>(shares, &mut g, s, items),
            Width::Bits96 => self.make_g::<12, N>(shares, &mut g, s, items),
            Width::Bits128 => self.make_g::<16, N>(shares, &mut g, s, items),
        }
        Ok(g)
    }

    fn make_g<const W: usize, const N: usize>(
        &mut self,
        Shares { x, y, z }: Shares<'_>,
        g: &mut [u8],
        s: &mut [u8],
        items: &mut Secret<Vec<LeakyAnd<N>>>,
    ) {
        let (delta, role) = (*self.delta, self.role);
        let mut room = Secret::new([Block::ZERO; 3 * GROUP]);
        let (pairs, singles) = room.split_at_mut(2 * GROUP);
        let out = g.as_chunks_mut::<W>().0.iter_mut().zip(s.as_chunks_mut::<W>().0);
        let mut others = out.zip(x.iter().zip(y.iter()).zip(z.iter()));
        for (keys, macs) in x.keys.chunks(GROUP).zip(x.macs.chunks(GROUP)) {
            let (pairs, singles) = (&mut pairs[..2 * keys.len()], &mut singles[..macs.len()]);
            for (pair, &key) in pairs.as_chunks_mut::<2>().0.iter_mut().zip(keys) {
                *pair = [key, key ^ delta];
            }
            singles.copy_from_slice(macs);
            self.own.pairs(pairs);
            self.peer.singles(singles);
            // The hashes come first: `zip` would otherwise lose a triple at the end of a group.
            let hashed = pairs.as_chunks::<2>().0.iter().zip(&*singles);
            items.extend(hashed.zip(&mut others).map(|((pair, h), ((g, s), ((x, y), z)))| {
                let c = y.times_both_deltas(delta);
                *g = low(pair[0] ^ pair[1] ^ c);
                let x_is_one = all(x.mac.to_u128() as u64);
                *s = low(pair[0] ^ *h ^ (c & x_is_one) ^ z.times_both_deltas(delta));
                let [x, y, z] = [x, y, z].map(|share| Packed::of(share, role));
                LeakyAnd { x, y, z }
            }));
        }
    }
}

impl Pending {
    /// [`Generator::send_d`].
    pub(super) fn send_d(&mut self, width: Width, peer_g: &[u8]) -> Result<Vec<u8>, Fault> {
        if peer_g.len() != self.s.len() {
            return Err(Fault::Misbehaved("leaky-and.length"));
        }
        Ok(match width {
            Width::Bits64 => self.make_d::<8>(peer_g),
            Width::Bits96 => self.make_d::<12>(peer_g),
            Width::Bits128 => self.make_d::<16>(peer_g),
        })
    }

    fn make_d<const W: usize>(&mut self, peer_g: &[u8]) -> Vec<u8> {
        let s = self.s.as_chunks_mut::<W>().0;
        let each = s.chunks_mut(8).zip(peer_g.as_chunks::<W>().0.chunks(8)).zip(self.x.iter());
        for ((s, g), &x) in each {
            for (i, (s, g)) in s.iter_mut().zip(g).enumerate() {
                *s = low(wide(s) ^ (wide(g) & all(u64::from(x >> i))));
            }
        }
        bits::pack(s.iter().map(|s| wide(s).colour()))
    }
}

/// What finds d, and what is tested of leaky ANDs.
pub(super) struct Last<'g> {
    session: &'g SessionId,
    delta: &'g Block,
    width: Width,
    slices: &'g mut u64,
    tested: &'g mut Secret<Vec<u8>>,
}

impl Last<'_> {
    /// [`Generator::finish`].
    pub(super) fn finish(
        &mut self,
        Pending { s, .. }: &mut Pending,
        peer_d: &[u8],
        d: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if !bits::is_canonical(peer_d, s.len() / self.width.bytes()) {
            return Err(Fault::Misbehaved("leaky-and.length"));
        }
        match self.width {
            Width::Bits64 => self.make_l::<8>(s, peer_d, d),
            Width::Bits96 => self.make_l::<12>(s, peer_d, d),
            Width::Bits128 => self.make_l::<16>(s, peer_d, d),
        }
        let oracle = RandomOracle::new("cenote 2026 engine leaky-and slice v1", self.session);
        let before = self.tested.len();
        self.tested.resize(before + 32, 0);
        self.tested[before..].copy_from_slice(&oracle.number(*self.slices).bytes(s).digest());
        *self.slices += 1;
        Ok(())
    }

    /// Turns S into L.
    fn make_l<const W: usize>(&self, s: &mut [u8], peer_d: &[u8], d: &mut Vec<u8>) {
        let s = s.as_chunks_mut::<W>().0;
        bits::pack_into(d, s.iter().map(|s| wide(s).colour()));
        d.iter_mut().zip(peer_d).for_each(|(own, peer)| *own ^= peer);
        for (s, &d) in s.chunks_mut(8).zip(&*d) {
            for (i, s) in s.iter_mut().enumerate() {
                *s = low(wide(s) ^ (*self.delta & all(u64::from(d >> i))));
            }
        }
    }
}

/// The last of step 4: what adds a bit of d to the z of a triple. `delta` is what is kept of this party's ([`Width::kept_delta`]).
pub fn settling<const N: usize>(role: Role, delta: Block) -> impl Fn(&mut LeakyAnd<N>, bool) {
    let one = Packed::of(Share::ZERO.add_public(true, role, delta), role);
    move |item, d| item.z = item.z ^ one.times(d)
}

/// All ones if bit 0 of `bits` is one, zero otherwise. By arithmetic: of a few bytes of `Block::times` a branch is made.
#[inline(always)]
fn all(bits: u64) -> Block {
    Block::new(u128::from(bits & 1).wrapping_neg())
}

/// The low bytes of a block: bit 0 and the colour are in the first.
#[inline(always)]
fn low<const W: usize>(block: Block) -> [u8; W] {
    let mut low = [0; W];
    low.copy_from_slice(&block.to_bytes()[..W]);
    low
}

/// The block with these low bytes.
#[inline(always)]
fn wide<const W: usize>(low: &[u8; W]) -> Block {
    let mut bytes = [0; 16];
    bytes[..W].copy_from_slice(low);
    Block::from_bytes(bytes)
}

/// Triples hashed per call.
const GROUP: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::packed::BITS128;
    use crate::backends::wrk::share::dealer::Dealer;

    const SESSION: SessionId = SessionId([2; 32]);

    const WIDTHS: [Width; 3] = [Width::Bits64, Width::Bits96, Width::Bits128];

    fn generators(d: &Dealer, width: Width) -> (Generator, Generator) {
        let coin = Block::new(99);
        (
            Generator::new(SESSION, Role::Garbler, d.deltas[0], coin, width),
            Generator::new(SESSION, Role::Evaluator, d.deltas[1], coin, width),
        )
    }

    struct Arrays(Vec<Block>, Vec<Block>);

    impl Arrays {
        fn new(shares: &[Share]) -> Arrays {
            let (macs, keys) = shares.iter().map(|share| (share.mac, share.key)).unzip();
            Arrays(macs, keys)
        }

        fn slice(&self) -> ShareSlice<'_> {
            ShareSlice { macs: &self.0, keys: &self.1 }
        }
    }

    /// The shares of a leaky AND, whole.
    struct Item {
        x: Share,
        y: Share,
        z: Share,
    }

    type Half = (Vec<Item>, Secret<[u8; 32]>);

    type Items = Secret<Vec<LeakyAnd<BITS128>>>;

    /// One batch; `cheat` sees the garbler's G and d before they are sent.
    fn batch(
        d: &mut Dealer,
        a: &mut Generator,
        b: &mut Generator,
        n: usize,
        cheat: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> (Half, Half) {
        let (sa, sb) = d.shares(3 * n);
        let (sa, sb) = (Arrays::new(&sa), Arrays::new(&sb));
        let ((mut pa, mut pb), (mut ia, mut ib)) = <((_, _), (Items, Items))>::default();
        let mut g_a = a.send_g(sa.slice(), &mut pa, &mut ia).expect("three each");
        let g_b = b.send_g(sb.slice(), &mut pb, &mut ib).expect("three each");
        let mut d_a = a.send_d(&mut pa, &g_b).expect("length");
        cheat(&mut g_a, &mut d_a);
        let d_b = b.send_d(&mut pb, &g_a).expect("length");
        let half = |generator: &mut Generator, mut pending, mut items: Items, peer_d: &[u8]| {
            let (role, mut d) = (generator.role, vec![0xff; 3]);
            generator.finish(&mut pending, peer_d, &mut d).expect("length");
            let settle = settling(role, *generator.delta);
            items.iter_mut().enumerate().for_each(|(i, item)| settle(item, bits::get(&d, i)));
            let items = items.iter().map(|item| {
                let [x, y, z] = [item.x, item.y, item.z].map(|share| share.share(role));
                Item { x, y, z }
            });
            (items.collect(), generator.digest())
        };
        (half(a, pa, ia, &d_b), half(b, pb, ib, &d_a))
    }

    #[test]
    fn triples_multiply_and_digests_agree() {
        for width in WIDTHS {
            let mut d = Dealer::new(6);
            let (mut a, mut b) = generators(&d, width);
            for n in [1, 5, GROUP, GROUP + 1, 700] {
                let ((ta, ha), (tb, hb)) = batch(&mut d, &mut a, &mut b, n, |g, _| {
                    assert_eq!(g.len(), n * width.bytes());
                });
                assert_eq!(*ha, *hb);
                for (p, q) in ta.iter().zip(tb.iter()) {
                    assert_eq!(d.value(p.z, q.z), d.value(p.x, q.x) & d.value(p.y, q.y));
                }
            }
        }
    }

    /// What a longer slice has left in its room means nothing to a shorter one.
    #[test]
    fn rooms_are_used_again() {
        for width in WIDTHS {
            let mut d = Dealer::new(13);
            let ((mut a, mut b), mut again) = (generators(&d, width), <[Pending; 2]>::default());
            for n in [300, 7, 1, 64] {
                let (sa, sb) = d.shares(3 * n);
                let (sa, sb) = (Arrays::new(&sa), Arrays::new(&sb));
                let (mut items, mut ds) = <([Items; 2], [Vec<u8>; 2])>::default();
                let g_a = a.send_g(sa.slice(), &mut again[0], &mut items[0]).expect("three each");
                let g_b = b.send_g(sb.slice(), &mut again[1], &mut items[1]).expect("three each");
                let d_a = a.send_d(&mut again[0], &g_b).expect("length");
                let d_b = b.send_d(&mut again[1], &g_a).expect("length");
                a.finish(&mut again[0], &d_b, &mut ds[0]).expect("length");
                b.finish(&mut again[1], &d_a, &mut ds[1]).expect("length");
                assert_eq!((*a.digest(), ds[0].len()), (*b.digest(), bits::packed_len(n)));
                assert!(ds[0] == ds[1] && items.iter().all(|items| items.len() == n));
            }
        }
    }

    /// Narrow messages are the low bytes of wide ones.
    #[test]
    fn a_width_cuts_g_and_nothing_else() {
        let d = || Dealer::new(10);
        let sent = WIDTHS.map(|width| {
            let mut d = d();
            let (mut a, mut b) = generators(&d, width);
            let mut sent = (Vec::new(), Vec::new());
            let ((items, _), _) = batch(&mut d, &mut a, &mut b, 300, |g, bits| {
                sent = (g.chunks(width.bytes()).map(|g| g[..8].to_vec()).collect(), bits.to_vec());
            });
            (sent, items.iter().map(|item| item.z).collect::<Vec<_>>())
        });
        assert!(sent[0] == sent[1] && sent[1] == sent[2]);
    }

    #[test]
    fn a_wrong_g_is_caught_half_the_time_and_exactly_when_the_victims_x_is_one() {
        for width in WIDTHS {
            let mut d = Dealer::new(7);
            let (mut a, mut b) = generators(&d, width);
            let (rounds, mut caught) = (2000u32, 0u32);
            for round in 0..rounds {
                // Every bit of G but the colour, which the next test has.
                let bit = 2 + round as usize % (8 * width.bytes() - 2);
                let ((_, ha), (tb, hb)) =
                    batch(&mut d, &mut a, &mut b, 1, |g, _| g[bit / 8] ^= 1 << (bit % 8));
                assert_eq!(*ha != *hb, tb[0].x.bit());
                caught += u32::from(*ha != *hb);
            }
            // Binomial(2000, 1/2): six standard deviations are 134.
            assert!(caught.abs_diff(rounds / 2) < 134, "{width:?}: {caught} of {rounds} caught");
        }
    }

    /// With the colour of G moved, the victim's d is wrong where its x is one: caught for that value of x, or, if
    /// d is flipped as well, because of Delta for the other one.
    #[test]
    fn a_wrong_d_is_caught_whatever_g_was() {
        for width in WIDTHS {
            let mut d = Dealer::new(11);
            let (mut a, mut b) = generators(&d, width);
            for round in 0..200u8 {
                let (colour, flip) = (round & 1, round >> 1 & 1);
                let ((_, ha), (tb, hb)) = batch(&mut d, &mut a, &mut b, 1, |g, bits| {
                    g[0] ^= 2 * colour;
                    bits[0] ^= flip;
                });
                let caught = flip == 1 || colour == 1 && tb[0].x.bit();
                assert_eq!(*ha != *hb, caught, "{width:?} {colour} {flip}");
            }
        }
    }

    /// What the test of equality must not show: after a flipped d, the digest of the evaluator is a function
    /// of what the garbler knows and of the low bits of the evaluator's Delta. Here the garbler lacks eight.
    #[test]
    fn a_digest_after_a_flipped_d_gives_delta_away() {
        let mut d = Dealer::new(12);
        let (mut a, mut b) = generators(&d, Width::Bits64);
        let (sa, sb) = d.shares(3);
        let (sa, sb) = (Arrays::new(&sa), Arrays::new(&sb));
        let ((mut pa, mut pb), mut items) = <((Pending, Pending), Items)>::default();
        let g_a = a.send_g(sa.slice(), &mut pa, &mut items).expect("three each");
        let g_b = b.send_g(sb.slice(), &mut pb, &mut items).expect("three each");
        let d_a = a.send_d(&mut pa, &g_b).expect("length");
        let d_b = b.send_d(&mut pb, &g_a).expect("length");
        let known = wide(pa.s.as_chunks::<8>().0.first().expect("one"))
            ^ d.deltas[0].times(d_a[0] ^ d_b[0] == 1);
        b.finish(&mut pb, &[d_a[0] ^ 1], &mut Vec::new()).expect("length");
        let digest = b.digest();
        let unknown = Block::new(0xff << 20);
        let found: Vec<u128> = (0..256u128)
            .map(|guess| d.deltas[1].to_u128() & !unknown.to_u128() | guess << 20)
            .filter(|&delta| {
                let l: [u8; 8] = low(known ^ Block::new(delta));
                let slice = RandomOracle::new("cenote 2026 engine leaky-and slice v1", &SESSION);
                let batch = RandomOracle::new("cenote 2026 engine leaky-and digest v2", &SESSION);
                let slice = slice.number(0).bytes(&l).digest();
                batch.number(0).bytes(&slice).digest() == *digest
            })
            .collect();
        assert_eq!(found, [d.deltas[1].to_u128()]);
    }

    #[test]
    fn malformed_messages_are_misbehaviour() {
        for width in WIDTHS {
            let mut d = Dealer::new(8);
            let (mut a, _) = generators(&d, width);
            let sa = Arrays::new(&d.shares(9).0);
            let (mut pending, mut items) = <(Pending, Items)>::default();
            let g = a.send_g(sa.slice(), &mut pending, &mut items).expect("three each");
            for wrong in [0, 2 * width.bytes(), 3 * width.bytes() - 1, 3 * width.bytes() + 1] {
                let refused = a.send_d(&mut pending, &vec![0; wrong]);
                assert!(matches!(refused, Err(Fault::Misbehaved(_))));
            }
            a.send_d(&mut pending, &g).expect("length");
            for wrong in [&[0b1000][..], &[], &[0, 0]] {
                let refused = a.finish(&mut pending, wrong, &mut Vec::new());
                assert!(matches!(refused, Err(Fault::Misbehaved(_))));
            }
            let refused = a.send_g(sa.slice().split_at(4).0, &mut pending, &mut items);
            assert!(matches!(refused, Err(Fault::Misuse(_))));
        }
    }
}

//! Leaky AND: authenticated triples z = x y, of which a cheater may guess bits of x.
//!
//! **Construction.** Katz, Ranellucci, Rosulek, Wang (CRYPTO 2018, figure 5), as in POOL section 8.
//! **Roles.** Symmetric: each party P has an own direction, in which it sends G_P.
//! **Adversary.** Malicious. **Model.** H is the re-keyed circular correlation-robust hash MITCCRH,
//! a start point for each direction from a coin tossed after both Deltas were fixed, key index =
//! running number of the triple in the session.
//! **Steps**, for random shares x, y, z:
//! 1. C_P = y^P Delta_P xor K_P\[y\] xor M_P\[y\], so that C_A xor C_B = y (Delta_A xor Delta_B).
//! 2. P sends G_P = H(K_P\[x\]) xor H(K_P\[x\] xor Delta_P) xor C_P.
//! 3. S_P = H(M_P\[x\]) xor x^P G_{P'} xor H(K_P\[x\]) xor x^P C_P xor z^P Delta_P xor K_P\[z\] xor M_P\[z\];
//!    then S_A xor S_B = (x y xor z)(Delta_A xor Delta_B).
//! 4. Exchange d_P = colour(S_P); d = d_A xor d_B; z := z xor d; L_P = S_P xor d Delta_P.
//! 5. Equality of all L of the batch: digests under commit and open (`coin.rs`).
//!
//! **Leakage and abort.** A cheater that shifts its G by E moves the victim's S by x^victim E: the
//! equality test then passes only for one value of x^victim. So it learns that bit with probability
//! 1/2 and is caught with probability 1/2. Nothing of y and z leaks; buckets (`bucket.rs`) remove
//! the leak of x.
//! **Checks.** `equality.digest` (in `coin.rs`): catches a wrong G, a wrong d, shares under a wrong
//! Delta. Before it no triple may be used, and the coin of the buckets may not be known.
//! **Private values.** x^P, y^P, z^P: never sent. G_P is masked by H(K xor Delta) or H(K), one of
//! which the peer does not know. d_P is masked by z^P: the colours of Delta_A and Delta_B differ, so z^P
//! enters the colour of S_P, by z^A Delta_A at A and by M_B\[z\] at B. A garbler whose Delta_A has colour 0 would
//! unmask d_B, but its own S_A xor S_B then has the wrong colour for every triple whose product is 1, and
//! the equality of the whole batch fails before any triple is used. So the colours carry privacy.
//! **Costs.** Per triple and party: 3 COT each way, 3 AES keys and hashes (2 + 1), 16 B + 1 bit.

use std::mem;

use cenote_net::{Fault, Role};
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::{Block, RandomOracle, Secret, SessionId, bits};
use zeroize::Zeroize;

use super::share::{Share, ShareSlice};

/// One party's half of a leaky triple z = x y.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct LeakyAnd {
    /// First factor: the one that may leak.
    pub x: Share,
    /// Second factor.
    pub y: Share,
    /// Product.
    pub z: Share,
}

impl Zeroize for LeakyAnd {
    fn zeroize(&mut self) {
        self.x.zeroize();
        self.y.zeroize();
        self.z.zeroize();
    }
}

/// One party's generator of leaky ANDs: the hash of each direction and Delta.
pub struct Generator {
    session: SessionId,
    role: Role,
    delta: Secret<Block>,
    own: Mitccrh,
    peer: Mitccrh,
    batches: u64,
    /// All L of the batch so far.
    checked: RandomOracle,
}

impl Generator {
    /// A generator; `coin` was tossed after both Deltas were fixed.
    #[must_use]
    pub fn new(session: SessionId, role: Role, delta: Block, coin: Block) -> Generator {
        let start = |direction: Role| {
            let oracle = RandomOracle::new("cenote 2026 engine leaky-and start v1", &session);
            Mitccrh::new(oracle.number(direction as u64).blocks(&[coin]).block())
        };
        let (own, peer) = (start(role), start(role.peer()));
        let checked = digest_of(&session, 0);
        Generator { session, role, delta: Secret::new(delta), own, peer, batches: 0, checked }
    }

    /// Steps 1 and 2: `shares` holds all x, then all y, then all z. Appends to `partial` all of S but what depends
    /// on the peer's G, H(K\[x\]) xor x C xor (z Delta xor K\[z\] xor M\[z\]), and to `g` the message, one block a triple.
    ///
    /// # Errors
    /// `Misuse` if the number of shares is not a multiple of 3.
    pub fn send_g(
        &mut self,
        shares: ShareSlice<'_>,
        partial: &mut Secret<Vec<Block>>,
        g: &mut Vec<Block>,
    ) -> Result<(), Fault> {
        let Shares { x, y, z } = Shares::of(shares)?;
        let delta = *self.delta;
        let mut room = Secret::new([Block::ZERO; 2 * GROUP]);
        let mut others = x.iter().zip(y.iter()).zip(z.iter());
        for keys in x.keys.chunks(GROUP) {
            let hashed = &mut room[..2 * keys.len()];
            for (pair, &key) in hashed.as_chunks_mut::<2>().0.iter_mut().zip(keys) {
                *pair = [key, key ^ delta];
            }
            self.own.pairs(hashed);
            // The hashes come first: `zip` would otherwise lose a triple at the end of a group.
            for (pair, ((x, y), z)) in hashed.as_chunks::<2>().0.iter().zip(&mut others) {
                let c = y.times_both_deltas(delta);
                g.push(pair[0] ^ pair[1] ^ c);
                partial.push(pair[0] ^ c.times(x.bit()) ^ z.times_both_deltas(delta));
            }
        }
        Ok(())
    }

    /// Steps 3 and 4: takes the peer's G, and turns what [`Generator::send_g`] left into S. The message is d, packed
    /// bits.
    ///
    /// # Errors
    /// `Misbehaved` if the peer's message has another length; `Misuse` for other shares than before.
    pub fn send_d(
        &mut self,
        shares: ShareSlice<'_>,
        s: &mut [Block],
        peer_g: &[Block],
    ) -> Result<Vec<u8>, Fault> {
        let Shares { x, .. } = Shares::of(shares)?;
        if peer_g.len() != s.len() {
            return Err(Fault::Misbehaved("leaky-and.length"));
        }
        let mut room = Secret::new([Block::ZERO; GROUP]);
        let groups = x.macs.chunks(GROUP).zip(s.chunks_mut(GROUP)).zip(peer_g.chunks(GROUP));
        for ((macs, s), g) in groups {
            let hashed = &mut room[..macs.len()];
            hashed.copy_from_slice(macs);
            self.peer.singles(hashed);
            for (((s, h), mac), g) in s.iter_mut().zip(&*hashed).zip(macs).zip(g) {
                *s ^= *h ^ g.times(mac.lsb());
            }
        }
        Ok(bits::pack(s.iter().map(|s| s.colour())))
    }

    /// The end of step 4: appends the triples to `items`. They may not be used before step 5, the equality of the
    /// digests of their batch, was established.
    ///
    /// # Errors
    /// `Misbehaved` if the peer's message is not `n` packed bits; `Misuse` for other shares than before.
    pub fn finish(
        &mut self,
        shares: ShareSlice<'_>,
        s: &mut [Block],
        peer_d: &[u8],
        items: &mut Secret<Vec<LeakyAnd>>,
    ) -> Result<(), Fault> {
        let Shares { x, y, z } = Shares::of(shares)?;
        if !bits::is_canonical(peer_d, s.len()) {
            return Err(Fault::Misbehaved("leaky-and.length"));
        }
        let delta = *self.delta;
        let shares = x.iter().zip(y.iter()).zip(z.iter());
        for (i, (((x, y), z), s)) in shares.zip(s.iter_mut()).enumerate() {
            let d = s.colour() ^ bits::get(peer_d, i);
            items.push(LeakyAnd { x, y, z: z.add_public(d, self.role, delta) });
            *s ^= delta.times(d);
        }
        self.checked = mem::replace(&mut self.checked, digest_of(&self.session, 0)).blocks(s);
        Ok(())
    }

    /// The digest of all L of a batch, which ends with the slice before, for step 5.
    pub fn digest(&mut self) -> [u8; 32] {
        self.batches += 1;
        mem::replace(&mut self.checked, digest_of(&self.session, self.batches)).digest()
    }
}

/// The oracle that the L of a batch go into.
fn digest_of(session: &SessionId, batch: u64) -> RandomOracle {
    RandomOracle::new("cenote 2026 engine leaky-and digest v1", session).number(batch)
}

/// The shares x, y, z of a slice, as many of each.
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

/// Triples hashed per call.
const GROUP: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::share::dealer::Dealer;

    const SESSION: SessionId = SessionId([2; 32]);

    pub(super) fn generators(d: &Dealer) -> (Generator, Generator) {
        let coin = Block::new(99);
        (
            Generator::new(SESSION, Role::Garbler, d.deltas[0], coin),
            Generator::new(SESSION, Role::Evaluator, d.deltas[1], coin),
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

    type Half = (Secret<Vec<LeakyAnd>>, [u8; 32]);

    /// One batch; `cheat` sees the garbler's G before it is sent.
    fn batch(
        d: &mut Dealer,
        a: &mut Generator,
        b: &mut Generator,
        n: usize,
        cheat: impl FnOnce(&mut [Block]),
    ) -> (Half, Half) {
        let (sa, sb) = d.shares(3 * n);
        let (sa, sb) = (Arrays::new(&sa), Arrays::new(&sb));
        let ((mut s_a, mut g_a), (mut s_b, mut g_b)) = <((_, Vec<_>), (_, Vec<_>))>::default();
        a.send_g(sa.slice(), &mut s_a, &mut g_a).expect("three each");
        b.send_g(sb.slice(), &mut s_b, &mut g_b).expect("three each");
        cheat(&mut g_a);
        let d_a = a.send_d(sa.slice(), &mut s_a, &g_b).expect("length");
        let d_b = b.send_d(sb.slice(), &mut s_b, &g_a).expect("length");
        let half = |generator: &mut Generator, shares: &Arrays, s: &mut [Block], d: &[u8]| {
            let mut items = Secret::default();
            generator.finish(shares.slice(), s, d, &mut items).expect("length");
            (items, generator.digest())
        };
        (half(a, &sa, &mut s_a, &d_b), half(b, &sb, &mut s_b, &d_a))
    }

    #[test]
    fn triples_multiply_and_digests_agree() {
        let mut d = Dealer::new(6);
        let (mut a, mut b) = generators(&d);
        for n in [1, 5, GROUP, GROUP + 1, 700] {
            let ((ta, ha), (tb, hb)) = batch(&mut d, &mut a, &mut b, n, |_| ());
            assert_eq!(ha, hb);
            for (p, q) in ta.iter().zip(tb.iter()) {
                assert_eq!(d.value(p.z, q.z), d.value(p.x, q.x) & d.value(p.y, q.y));
            }
        }
    }

    #[test]
    fn a_wrong_g_is_caught_half_the_time_and_exactly_when_the_victims_x_is_one() {
        let mut d = Dealer::new(7);
        let (mut a, mut b) = generators(&d);
        let (rounds, mut caught) = (2000u32, 0u32);
        for _ in 0..rounds {
            let ((_, ha), (tb, hb)) =
                batch(&mut d, &mut a, &mut b, 1, |g| g[0] ^= Block::new(1 << 77));
            assert_eq!(ha != hb, tb[0].x.bit());
            caught += u32::from(ha != hb);
        }
        // Binomial(2000, 1/2): six standard deviations are 134.
        assert!(caught.abs_diff(rounds / 2) < 134, "caught {caught} of {rounds}");
    }

    #[test]
    fn malformed_messages_are_misbehaviour() {
        let mut d = Dealer::new(8);
        let (mut a, _) = generators(&d);
        let sa = Arrays::new(&d.shares(9).0);
        let (mut s, mut g, mut items) = Default::default();
        a.send_g(sa.slice(), &mut s, &mut g).expect("three each");
        let refused = a.send_d(sa.slice(), &mut s, &[Block::ZERO; 2]);
        assert!(matches!(refused, Err(Fault::Misbehaved(_))));
        a.send_d(sa.slice(), &mut s, &[Block::ZERO; 3]).expect("length");
        let refused = a.finish(sa.slice(), &mut s, &[0b1000], &mut items);
        assert!(matches!(refused, Err(Fault::Misbehaved(_))));
        let refused = a.send_g(sa.slice().split_at(4).0, &mut s, &mut g);
        assert!(matches!(refused, Err(Fault::Misuse(_))));
    }
}

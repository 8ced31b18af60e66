//! Watch lists: one party has n seeds, the other learns those at w secret random places.
//!
//! Source: docs/protocols/ot.md, "Watch lists"; a design of ours in the place of what the released code of JIMU
//! leaves out (it sends all seeds); the sharing is Shamir's ("How to Share a Secret", 1979).
//! Construction: n chosen OTs of (seed i, share i) of a sharing over GF(2^128) of which n - w shares
//! determine the secret U and fewer say nothing about it. To take a seed is to go without a share, so
//! that whoever can tell U has w seeds at most.
//!  1. S to R: `ot.watch.commit`, the random oracle on U and all shares.
//!  2. R to S: correlated OT, `ot.choices`; S to R: `ot.masked`. R takes seeds at W, else shares.
//!  3. R computes U and all shares from its n - w shares and compares the commitment.
//!  4. R to S: `ot.watch.secret`, U. S compares.
//!
//! Roles: [`send`] has the seeds (the garbler of `jimu`), [`receive`] the watch list W.
//! Adversary: malicious, static, either party. Model: random oracle, and that of the OT below.
//! Parameters: n up to [`MAX_SEEDS`], 0 < w < n; codes that make w watched places binding come from
//! `cenote_pool::params::hash_codes`. A receiver with w + 1 seeds lacks a share, and guesses U with
//! probability 2^-128 a try, at the commitment or at the sender.
//! Leakage and abort: a receiver may choose W instead of drawing it, and take fewer seeds. A sender
//! that deals wrong shares at places K learns by the abort whether K lies in W: exactly that, because
//! the commitment fixes every share, so that wrong ones cannot make up for one another. If K does not
//! lie in W, the session is over. If it does, the sender knows |K| watched places, and has gained
//! nothing: let it win when W misses a set D of places, those where two of its words differ. Nothing
//! else that it has seen depends on W, and what it does is of interest on the one path where nothing
//! failed, so that D is fixed there before W is drawn. It wins with the probability that K lies in W
//! *and* W misses D, which is at most that of the second alone: C(n - |D|, w) / C(n, w), the bound on a
//! sender that did not cheat here. Only if it wins when W *contains* K as well, since it has sealed other shares there ([`Sealed::agrees`]), that is one more event, of
//! probability C(n - |K|, w - |K|) / C(n, w), which the caller counts. The same counts for later checks against W, if each of them ends
//! the session when it fails or shows the sender nothing. It does not count across sessions: each
//! draws its own W.
//! Checks: `jimu.watch.share` - shares that are not the committed ones - in [`receive`], before it
//! says U; `jimu.watch.secret` - a receiver that took more than w seeds - in [`send`], before it
//! returns: no message that depends on seeds may leave earlier.
//! What the receiver did not take, the seeds beyond W and shares at W, opens to whoever has its side of the OTs and Delta ([`Sealed`]): an honest sender
//! never shows that. A sender may have sealed other shares at W than it committed to, or under other keys, unseen; beyond W it may not. A seed beyond W is
//! whatever its ciphertext opens to: nobody can say that it is another.
//! Private values: W - in `ot.choices`, masked by random choice bits (see [`crate::rot`]); U does not
//! depend on it. Seeds not watched - in `ot.masked`, masked by pads that the receiver lacks. U - in
//! the commitment, as an input of 128 unknown bits of the oracle until n - w shares are known.
//! Cost: [`message_len`]: 32 + 32 n bytes and ceil(n / 8) + 16 bytes back, besides n COTs rounded up
//! to 128; one round and a half. For the receiver 2 n^2 products in GF(2^128) and at most 3 n
//! inverses of 139.
//! Differences from the source: the commitment, without which a wrong share would be noticed by the
//! *sender*, as a wrong U, in a way that can tell more than whether K lies in W; it covers all shares.
//! Constant time in W: yes, places and seeds are drawn, masked and gathered by scans.
//! Status: not audited.

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId, bits};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

use crate::rot::{Others, RotReceiver, RotSender, unmask};
use crate::tags::{WATCH_COMMIT, WATCH_SECRET};
use crate::{CotReceive, CotSend, sharing};

/// Most seeds of a watch list: places are bytes.
pub const MAX_SEEDS: usize = 256;

/// The receiver's check: the shares it took are those that the sender committed to.
pub const SHARE_CHECK: &str = "jimu.watch.share";

/// The sender's check: the receiver took as many shares as it had to, hence no seed too many.
pub const SECRET_CHECK: &str = "jimu.watch.secret";

const COMMITMENT: usize = 32;
const SECRET: usize = 16;

/// Payload bytes for `seeds` seeds, from the sender and from the receiver, without those of the
/// extension by `seeds.next_multiple_of(128)` COTs.
pub const fn message_len(seeds: usize) -> (usize, usize) {
    (COMMITMENT + 32 * seeds, bits::packed_len(seeds) + SECRET)
}

/// The positions and seeds that the receiver got; wiped when dropped, never printed.
#[derive(Debug)]
pub struct Watch {
    /// The watched places, counted from 0, in ascending order.
    pub positions: Secret<Vec<u8>>,
    /// The seed at each of them.
    pub seeds: Secret<Vec<Block>>,
    /// What the receiver did not get, as it has it.
    pub sealed: Sealed,
}

/// The messages of a watch list that its receiver did not take, which Delta opens. Secret, never printed.
#[derive(Clone, Debug)]
pub struct Sealed {
    others: Others,
    /// All shares.
    shares: Secret<Vec<Block>>,
    /// Whether a share was taken, for each place.
    shared: Secret<Vec<bool>>,
}

impl Sealed {
    /// Seeds that are not known.
    pub fn unwatched(&self) -> usize {
        self.shared.iter().map(|shared| usize::from(*shared)).sum()
    }

    /// The places that are not watched, ascending, and the seeds there, if `delta` is that of the correlated OT. The same work for any.
    pub fn open(&self, delta: Block) -> (Secret<Vec<u8>>, Secret<Vec<Block>>) {
        let opened = self.others.open(delta);
        let watched: Secret<Vec<bool>> = self.shared.iter().map(|shared| !shared).collect();
        gather(&opened, &watched, self.unwatched())
    }

    /// At how many of the watched places the share that was dealt there opens with `delta`; all of them with that of the correlated OT and an
    /// honest sender, and with another delta only those that the sender sealed for it as well. The same work for any.
    pub fn agrees(&self, delta: Block) -> usize {
        let opened = self.others.open(delta);
        let places = opened.iter().zip(self.shares.iter()).zip(self.shared.iter());
        places.map(|((a, b), shared)| usize::from(a.ct_eq(*b) & !shared)).sum()
    }

    /// Blocks of [`Sealed::to_blocks`] for so many seeds.
    pub const fn blocks(seeds: usize) -> usize {
        1 + 3 * seeds
    }

    /// All but the places, to be kept.
    pub fn to_blocks(&self) -> Secret<Vec<Block>> {
        let Others { start, macs, masked } = &self.others;
        let parts = macs.iter().chain(masked.iter()).chain(self.shares.iter());
        std::iter::once(&**start).chain(parts).copied().collect()
    }

    /// What [`Sealed::to_blocks`] gave, of a list with these watched places.
    ///
    /// # Panics
    /// If it is not as many blocks as for so many seeds.
    pub fn from_blocks(blocks: &[Block], positions: &[u8], seeds: usize) -> Sealed {
        assert_eq!(blocks.len(), Sealed::blocks(seeds));
        let part = |number: usize| &blocks[1 + number * seeds..][..seeds];
        let others = Others {
            start: Secret::new(blocks[0]),
            macs: part(0).iter().copied().collect(),
            masked: part(1).iter().copied().collect(),
        };
        let among = |place: u8| {
            let watched = positions.iter().map(|position| position.ct_eq(&place));
            watched.fold(Choice::from(0), |any, here| any | here)
        };
        let shared = (0..=u8::MAX).take(seeds).map(|place| !bool::from(among(place)));
        Sealed {
            others,
            shares: part(2).iter().copied().collect(),
            shared: Secret::new(shared.collect()),
        }
    }
}

/// Lets the peer learn `watched` of `seeds`, at places that this party does not learn. The peer
/// calls [`receive`] at the same place among its uses of the correlated OT.
///
/// `instance` is a number that no other watch list in `session` has. `prg` is secret. If it
/// returns, the peer has `watched` seeds at most; before, nothing that depends on them may be sent.
///
/// # Errors
/// `Misuse` for sizes other than 0 < `watched` < `seeds.len()` <= [`MAX_SEEDS`];
/// `Misbehaved(SECRET_CHECK)`; those of [`RotSender::chosen`].
pub fn send(
    ch: &mut Channel,
    cot: &mut dyn CotSend,
    session: &SessionId,
    instance: u64,
    seeds: &[Block],
    watched: usize,
    prg: &mut Prg,
) -> Result<(), Fault> {
    check_sizes(seeds.len(), watched)?;
    let mut coefficients = Secret::new(vec![Block::ZERO; seeds.len() - watched]);
    prg.fill(&mut coefficients);
    let values = sharing::share(&coefficients, seeds.len());
    ch.send(WATCH_COMMIT, &commitment(session, instance, watched, &values))?;
    let messages = seeds.iter().zip(&values[1..]).map(|(seed, share)| [*seed, *share]);
    let messages = Secret::new(messages.collect::<Vec<_>>());
    RotSender::new(cot).chosen(ch, cot, &messages)?;
    let mut answer = [0; SECRET];
    ch.recv_into(WATCH_SECRET, &mut answer)?;
    if !Block::from_bytes(answer).ct_eq(values[0]) {
        return Err(Fault::Misbehaved(SECRET_CHECK));
    }
    Ok(())
}

/// Learns `watched` of the peer's `seeds` seeds, at random places; see [`send`].
///
/// # Errors
/// `Misuse` for sizes other than 0 < `watched` < `seeds` <= [`MAX_SEEDS`];
/// `Misbehaved(SHARE_CHECK)`; those of [`RotReceiver::chosen`].
pub fn receive(
    ch: &mut Channel,
    cot: &mut dyn CotReceive,
    session: &SessionId,
    instance: u64,
    seeds: usize,
    watched: usize,
    prg: &mut Prg,
) -> Result<Watch, Fault> {
    check_sizes(seeds, watched)?;
    let shared = places(seeds, watched, prg);
    let (theirs, messages, others) = take(ch, cot, &shared)?;
    let values = sharing::interpolate(&messages, &shared);
    let ours = commitment(session, instance, watched, &values);
    if !bool::from(ours.ct_eq(&theirs)) {
        return Err(Fault::Misbehaved(SHARE_CHECK));
    }
    ch.send(WATCH_SECRET, &values[0].to_bytes())?;
    ch.flush()?;
    let (positions, seeds) = gather(&messages, &shared, watched);
    let shares = values[1..].iter().copied().collect();
    Ok(Watch { positions, seeds, sealed: Sealed { others, shares, shared } })
}

fn check_sizes(seeds: usize, watched: usize) -> Result<(), Fault> {
    if watched == 0 || watched >= seeds || seeds > MAX_SEEDS {
        return Err(Fault::Misuse(format!("ot: a watch list of {watched} of {seeds} seeds")));
    }
    Ok(())
}

/// Returns the commitment of the sender: to U and all shares, and to what they are for.
fn commitment(
    session: &SessionId,
    instance: u64,
    watched: usize,
    values: &[Block],
) -> [u8; COMMITMENT] {
    let oracle = RandomOracle::new("cenote 2026 ot watch commitment v1", session);
    oracle.number(instance).number(watched as u64).blocks(values).digest()
}

/// The sender's commitment; the message of each OT, the second one where choices say so; the other ones, sealed.
type Taken = ([u8; COMMITMENT], Secret<Vec<Block>>, Others);

/// Runs the OTs.
fn take(ch: &mut Channel, cot: &mut dyn CotReceive, choices: &[bool]) -> Result<Taken, Fault> {
    let mut messages = Secret::new(vec![Block::ZERO; choices.len()]);
    let mut commitment = [0; COMMITMENT];
    // Choices leave before the commitment is read, which saves half a round: masked, they tell the
    // sender nothing that it could commit by.
    let mut others = RotReceiver::choose_few(ch, cot, choices, &mut messages)?;
    ch.recv_into(WATCH_COMMIT, &mut commitment)?;
    unmask(ch, choices, &mut messages, |other| others.masked.push(other))?;
    Ok((commitment, messages, others))
}

/// Draws the watch list: false at `watched` of `n` places, each set of them as likely as any other
/// up to 2^-113, and true where a share is taken.
fn places(n: usize, watched: usize, prg: &mut Prg) -> Secret<Vec<bool>> {
    let mut keys = Secret::new(vec![Block::ZERO; n]);
    prg.fill(&mut keys);
    Secret::new((0..n).map(|i| !is_among_lowest(&keys, i, watched)).collect())
}

/// Whether key `i` is one of the `count` lowest. Equal keys are ranked by their places, so that there
/// are as many in any case.
fn is_among_lowest(keys: &[Block], i: usize, count: usize) -> bool {
    let own = keys[i].to_u128();
    let lower = keys.iter().enumerate().map(|(j, key)| {
        let key = key.to_u128();
        let first = key.ct_eq(&own) & Choice::from(u8::from(j < i));
        u16::from((key.ct_lt(&own) | first).unwrap_u8())
    });
    lower.sum::<u16>().ct_lt(&(count as u16)).into()
}

/// The `watched` places where `shared` is false, and the messages there.
fn gather(
    messages: &[Block],
    shared: &[bool],
    watched: usize,
) -> (Secret<Vec<u8>>, Secret<Vec<Block>>) {
    let mut positions = Secret::new(vec![0; watched]);
    let mut seeds = Secret::new(vec![Block::ZERO; watched]);
    let mut found = 0u16;
    for ((place, message), shared) in (0u8..=u8::MAX).zip(messages).zip(shared) {
        for (slot, (position, seed)) in positions.iter_mut().zip(seeds.iter_mut()).enumerate() {
            let here = found.ct_eq(&(slot as u16)) & Choice::from(u8::from(!shared));
            position.conditional_assign(&place, here);
            *seed ^= message.times(here.into());
        }
        found += u16::from(!shared);
    }
    (positions, seeds)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;
    use std::time::Duration;

    use cenote_net::{Deviation, Tag, mem_pair};

    use super::*;
    use crate::ideal::{IdealReceiver, IdealSender, ideal_pair};
    use crate::softspoken::{CotReceiver, CotSender, Params};
    use crate::tags;

    const SESSION: SessionId = SessionId([5; 32]);
    const SHARE: Fault = Fault::Misbehaved(SHARE_CHECK);
    const SECRET_FAULT: Fault = Fault::Misbehaved(SECRET_CHECK);

    fn prg(seed: u128) -> Prg {
        Prg::new(Block::new(seed))
    }

    fn delta() -> Block {
        prg(8).block().with_lsb(true)
    }

    fn seeds(n: usize) -> Vec<Block> {
        let mut seeds = vec![Block::ZERO; n];
        prg(21).fill(&mut seeds);
        seeds
    }

    /// Runs the two sides; one that fails aborts.
    fn both<A: Send, B>(
        (mut ca, mut cb): (Channel, Channel),
        a: impl FnOnce(&mut Channel, &mut IdealSender) -> Result<A, Fault> + Send,
        b: impl FnOnce(&mut Channel, &mut IdealReceiver) -> Result<B, Fault>,
    ) -> (Result<A, Fault>, Result<B, Fault>) {
        let (mut s, mut r) = ideal_pair(Block::new(4), delta());
        thread::scope(|scope| {
            let a = scope.spawn(move || a(&mut ca, &mut s).inspect_err(|_| ca.abort()));
            let b = b(&mut cb, &mut r).inspect_err(|_| cb.abort());
            (a.join().expect("no panic"), b)
        })
    }

    fn sender(
        n: usize,
        watched: usize,
        seed: u128,
    ) -> impl FnOnce(&mut Channel, &mut IdealSender) -> Result<(), Fault> {
        move |ch, cot| send(ch, cot, &SESSION, 1, &seeds(n), watched, &mut prg(seed))
    }

    fn receiver(
        n: usize,
        watched: usize,
        seed: u128,
    ) -> impl FnOnce(&mut Channel, &mut IdealReceiver) -> Result<Watch, Fault> {
        move |ch, cot| receive(ch, cot, &SESSION, 1, n, watched, &mut prg(seed))
    }

    fn check(watch: &Watch, n: usize, watched: usize) {
        assert_eq!((watch.positions.len(), watch.seeds.len()), (watched, watched));
        assert!(watch.positions.is_sorted_by(|a, b| a < b));
        let all = seeds(n);
        let expected = watch.positions.iter().map(|i| all[usize::from(*i)]);
        assert!(expected.eq(watch.seeds.iter().copied()));
    }

    #[test]
    fn the_receiver_gets_the_seeds_at_its_places() {
        let sizes = [(2, 1), (3, 1), (3, 2), (9, 4), (44, 20), (88, 32), (137, 32), (186, 32)];
        for (n, watched) in sizes.into_iter().chain([(128, 127), (256, 1), (256, 255)]) {
            let ends = both(mem_pair(), sender(n, watched, 1), receiver(n, watched, 2));
            assert_eq!(ends.0, Ok(()));
            let watch = ends.1.expect("honest");
            check(&watch, n, watched);
            let drawn = places(n, watched, &mut prg(2));
            assert!((0..n).all(|i| drawn[i] != watch.positions.contains(&(i as u8))));
            let secrets = ["start", "macs", "masked"].map(|name| format!("{name}: Secret(..)"));
            let sealed = format!(
                "Sealed {{ others: Others {{ {} }}, shares: Secret(..), shared: Secret(..) }}",
                secrets.join(", ")
            );
            let shown = format!("positions: Secret(..), seeds: Secret(..), sealed: {sealed}");
            assert_eq!(format!("{watch:?}"), format!("Watch {{ {shown} }}"));
        }
    }

    #[test]
    fn delta_opens_what_was_not_taken_and_nothing_else_does() {
        let (n, watched) = (44, 20);
        let ends = both(mem_pair(), sender(n, watched, 1), receiver(n, watched, 2));
        let Watch { positions, sealed, .. } = ends.1.expect("honest");
        let blocks = sealed.to_blocks();
        assert_eq!(blocks.len(), Sealed::blocks(n));
        for sealed in [&sealed, &Sealed::from_blocks(&blocks, &positions, n)] {
            assert_eq!((sealed.unwatched(), sealed.agrees(delta())), (n - watched, watched));
            let (places, opened) = sealed.open(delta());
            let others = (0..n as u8).filter(|place| !positions.contains(place));
            assert!(others.eq(places.iter().copied()));
            let all = seeds(n);
            assert!(places.iter().zip(&*opened).all(|(i, seed)| *seed == all[usize::from(*i)]));
            for wrong in [Block::ZERO, delta() ^ Block::new(1 << 127)] {
                assert_eq!(sealed.agrees(wrong), 0);
                let (places, opened) = sealed.open(wrong);
                let same = |(i, seed): (&u8, &Block)| *seed == all[usize::from(*i)];
                assert!(!places.iter().zip(&*opened).any(same));
            }
        }
    }

    /// What opens for another delta: shares that were sealed for it where the receiver watches. What was sealed elsewhere, where a sender
    /// is never found out, does not count.
    #[test]
    fn shares_count_for_another_delta_where_they_were_sealed_for_it() {
        let (n, watched) = (44, 20);
        let ends = both(mem_pair(), sender(n, watched, 1), receiver(n, watched, 2));
        let Watch { positions, sealed, .. } = ends.1.expect("honest");
        let other = delta() ^ Block::new(6 << 90);
        let seal = |places: &[u8]| {
            let mut sealed = sealed.clone();
            let opened = sealed.others.open(other);
            for place in places.iter().map(|place| usize::from(*place)) {
                sealed.others.masked[place] ^= opened[place] ^ sealed.shares[place];
            }
            sealed
        };
        for count in [0, 3, 20] {
            let sealed = seal(&positions[..count]);
            assert_eq!((sealed.agrees(other), sealed.agrees(delta())), (count, watched - count));
        }
        let elsewhere: Vec<u8> = (0..n as u8).filter(|place| !positions.contains(place)).collect();
        let sealed = seal(&elsewhere);
        assert_eq!((sealed.agrees(other), sealed.agrees(delta())), (0, watched));
    }

    /// A sender that seals another share where the receiver watches is not found out, and opens in one place less.
    #[test]
    fn a_wrong_share_at_a_watched_place_does_not_open() {
        let (n, watched, mut passed) = (9, 4, 0);
        for seed in 0..40 {
            let (mut ca, cb) = mem_pair();
            // A pair of messages is a seed and a share.
            ca.deviate(tags::MASKED, 0, Deviation::Flip(8 * (32 * 5 + 16)));
            let ends = both((ca, cb), sender(n, watched, 1), receiver(n, watched, seed));
            let Ok(Watch { positions, sealed, .. }) = ends.1 else { continue };
            passed += 1;
            assert!(positions.contains(&5));
            assert_eq!(sealed.agrees(delta()), watched - 1);
        }
        assert!((5..35).contains(&passed), "{passed} of 40");
    }

    #[test]
    fn two_lists_on_real_correlated_ot_have_the_bytes_of_the_formula() {
        let params = Params::default();
        let lists = [(0, 88, 32), (1, 44, 20)];
        let (mut ca, mut cb) = mem_pair();
        let (received, sent) = thread::scope(|scope| {
            let a = scope.spawn(move || {
                let mut rng = prg(1);
                let mut cot =
                    CotSender::setup(&mut ca, &SESSION, 0, params, delta(), &mut rng).unwrap();
                for (instance, n, watched) in lists {
                    let seeds = seeds(n);
                    send(&mut ca, &mut cot, &SESSION, instance, &seeds, watched, &mut rng).unwrap();
                }
            });
            let mut rng = prg(2);
            let mut cot = CotReceiver::setup(&mut cb, &SESSION, 0, params, &mut rng).unwrap();
            let before = cb.counters();
            for (instance, n, watched) in lists {
                let watch =
                    receive(&mut cb, &mut cot, &SESSION, instance, n, watched, &mut rng).unwrap();
                check(&watch, n, watched);
            }
            a.join().expect("no panic");
            let traffic = cb.counters().since(&before).total();
            (traffic.bytes_received as usize, traffic.bytes_sent as usize)
        });
        // Frames of 5 bytes: commitment and messages; chunk, choices and secret.
        let expected = lists.map(|(_, n, _)| message_len(n));
        assert_eq!(expected, [(32 + 32 * 88, 11 + 16), (32 + 32 * 44, 6 + 16)]);
        assert_eq!(received, expected.iter().map(|(to, _)| to + 2 * 5).sum());
        let chunk = crate::softspoken::message_len(params, 128);
        assert_eq!(sent, expected.iter().map(|(_, from)| from + chunk + 3 * 5).sum());
    }

    #[test]
    fn every_watch_list_is_as_likely_as_any_other() {
        let mut rng = prg(3);
        for (n, watched, sets) in [(2, 1, 2usize), (5, 2, 10), (6, 3, 20), (7, 6, 7)] {
            let mut counts = BTreeMap::new();
            let draws = 400 * sets;
            for _ in 0..draws {
                *counts.entry(places(n, watched, &mut rng).to_vec()).or_insert(0u32) += 1;
            }
            assert_eq!(counts.len(), sets);
            assert!(counts.keys().all(|set| set.iter().filter(|s| !**s).count() == watched));
            let chi: f64 = counts.values().map(|c| (f64::from(*c) - 400.0).powi(2) / 400.0).sum();
            // Mean sets - 1, variance twice that; one in 10^5 at most.
            let degrees = sets as f64 - 1.0;
            assert!(chi < degrees + 6.0 * (2.0 * degrees).sqrt() + 12.0, "{n} {watched}: {chi}");
        }
        let mut counts = [0u32; 88];
        for _ in 0..2000 {
            let shared = places(88, 32, &mut rng);
            counts.iter_mut().zip(shared.iter()).for_each(|(n, s)| *n += u32::from(!s));
        }
        // 727 +- 6 sigma (sigma 21.5).
        assert!(counts.iter().all(|n| (598..=856).contains(n)), "{counts:?}");
    }

    #[test]
    fn equal_keys_still_give_as_many_places() {
        for keys in [[7; 6], [1, 0, 1, 1, 0, 1], [u128::MAX, 3, u128::MAX, 3, 3, 0]] {
            let keys = keys.map(Block::new);
            for count in 0..=6 {
                let found = (0..6).filter(|i| is_among_lowest(&keys, *i, count));
                assert_eq!(found.count(), count);
            }
        }
    }

    /// A receiver that takes the seeds where `shared` is false, and says what it makes of the rest.
    fn greedy(
        shared: Vec<bool>,
    ) -> impl FnOnce(&mut Channel, &mut IdealReceiver) -> Result<Vec<Block>, Fault> {
        move |ch, cot| {
            let (_, messages, _) = take(ch, cot, &shared)?;
            let values = sharing::interpolate(&messages, &shared);
            ch.send(WATCH_SECRET, &values[0].to_bytes())?;
            ch.flush()?;
            Ok(messages.to_vec())
        }
    }

    #[test]
    fn a_receiver_with_one_seed_too_many_cannot_tell_the_secret() {
        for (n, watched) in [(2, 1), (6, 2), (44, 20), (88, 32)] {
            for more in 0..2 {
                let mut shared = places(n, watched, &mut prg(7)).to_vec();
                let takes = shared.iter().position(|s| *s).expect("a share");
                shared[takes] = more == 0;
                let ends = both(mem_pair(), sender(n, watched, 1), greedy(shared.clone()));
                // As many seeds as it should, wherever it likes: that is its right.
                let expected = if more == 0 { Ok(()) } else { Err(SECRET_FAULT) };
                assert_eq!(ends.0, expected, "{n} {watched}");
                let messages = ends.1.expect("sent all");
                assert!((0..n).all(|i| shared[i] || messages[i] == seeds(n)[i]));
            }
        }
    }

    /// A sender that adds `errors` to the shares, after it committed to the right ones.
    fn dealer(
        n: usize,
        watched: usize,
        errors: Vec<Block>,
    ) -> impl FnOnce(&mut Channel, &mut IdealSender) -> Result<Block, Fault> {
        move |ch, cot| {
            let mut coefficients = vec![Block::ZERO; n - watched];
            prg(1).fill(&mut coefficients);
            let values = sharing::share(&coefficients, n);
            ch.send(WATCH_COMMIT, &commitment(&SESSION, 1, watched, &values))?;
            let shares = values[1..].iter().zip(&errors).map(|(share, error)| *share ^ *error);
            let messages: Vec<[Block; 2]> =
                seeds(n).into_iter().zip(shares).map(Into::into).collect();
            RotSender::new(cot).chosen(ch, cot, &messages)?;
            let mut answer = [0; SECRET];
            ch.recv_into(WATCH_SECRET, &mut answer)?;
            assert_eq!(Block::from_bytes(answer), values[0]);
            Ok(values[0])
        }
    }

    #[test]
    fn a_wrong_share_is_noticed_exactly_where_it_is_taken() {
        let (n, watched) = (7, 3);
        let mut passed = 0;
        for seed in 0..6 {
            let shared = places(n, watched, &mut prg(seed));
            for wrong in 0..1u32 << n {
                let errors = (0..n).map(|i| Block::ONE.times(wrong >> i & 1 == 1)).collect();
                let ends = both(mem_pair(), dealer(n, watched, errors), receiver(n, watched, seed));
                let taken = (0..n).any(|i| shared[i] && wrong >> i & 1 == 1);
                passed += u32::from(!taken);
                match ends.1 {
                    Ok(watch) => check(&watch, n, watched),
                    Err(ref fault) => {
                        assert_eq!((fault, &ends.0), (&SHARE, &Err(Fault::PeerAborted)))
                    }
                }
                assert_eq!(ends.0.is_err(), taken, "{wrong:b}");
            }
        }
        // All subsets of the watched places, and no others.
        assert_eq!(passed, 6 * 8);
    }

    /// Two wrong shares that leave U as it is: a commitment to U alone would miss them.
    #[test]
    fn errors_that_cancel_in_the_secret_are_noticed() {
        let (n, watched) = (6, 2);
        let shared = places(n, watched, &mut prg(2));
        let unit = |i: usize, value: Block| (0..n).map(|j| value.times(i == j)).collect::<Vec<_>>();
        let coefficient = |i: usize| sharing::interpolate(&unit(i, Block::ONE), &shared)[0];
        let taken: Vec<usize> = (0..n).filter(|i| shared[*i]).collect();
        let (a, b) = (taken[0], taken[1]);
        // Each error is the other's coefficient.
        let mut errors = unit(a, coefficient(b));
        errors[b] = coefficient(a);
        assert_eq!(sharing::interpolate(&errors, &shared)[0], Block::ZERO);
        let ends = both(mem_pair(), dealer(n, watched, errors), receiver(n, watched, 2));
        assert_eq!((ends.0, ends.1.err()), (Err(Fault::PeerAborted), Some(SHARE)));
    }

    #[test]
    fn the_secret_does_not_depend_on_the_watch_list() {
        let said = |seed: u128| {
            let (ca, mut cb) = mem_pair();
            let recording = cb.record();
            both((ca, cb), sender(9, 4, 1), receiver(9, 4, seed)).1.expect("honest");
            let frames = recording.frames();
            frames.into_iter().find(|f| f.tag == WATCH_SECRET.id).expect("said").payload
        };
        let first = said(0);
        assert!((1..40).all(|seed| said(seed) == first));
    }

    #[test]
    fn parties_that_disagree_fail() {
        let other = SessionId([6; 32]);
        for (session, instance, watched) in [(&other, 1, 4), (&SESSION, 2, 4), (&SESSION, 1, 5)] {
            let ends = both(mem_pair(), sender(9, 4, 1), |ch, cot| {
                receive(ch, cot, session, instance, 9, watched, &mut prg(2))
            });
            assert_eq!((ends.0, ends.1.err()), (Err(Fault::PeerAborted), Some(SHARE)));
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused_before_anything_is_sent() {
        for (n, watched) in [(0, 0), (1, 0), (1, 1), (5, 0), (5, 5), (5, 6), (257, 32)] {
            let (mut ca, mut cb) = mem_pair();
            let (mut s, mut r) = ideal_pair(Block::new(4), delta());
            let sent = sender(n, watched, 1)(&mut ca, &mut s);
            let received = receiver(n, watched, 2)(&mut cb, &mut r);
            assert!(matches!(
                (sent, received.err()),
                (Err(Fault::Misuse(_)), Some(Fault::Misuse(_)))
            ));
            assert_eq!(ca.counters().total().bytes_sent + cb.counters().total().bytes_sent, 0);
        }
    }

    /// Plays a list of 4 of 9 with one frame changed; the first of the two is the sender.
    fn changed(tag: Tag, deviation: &Deviation) -> (Option<Fault>, Option<Fault>) {
        let (mut ca, mut cb) = mem_pair();
        for ch in [&mut ca, &mut cb] {
            ch.set_work_limit(Duration::from_millis(300));
        }
        let by_sender = tag == WATCH_COMMIT || tag == tags::MASKED;
        let ch = if by_sender { &mut ca } else { &mut cb };
        let witness = ch.deviate(tag, 0, deviation.clone());
        let ends = both((ca, cb), sender(9, 4, 1), receiver(9, 4, 2));
        assert!(witness.happened(), "{}", tag.name);
        (ends.0.err(), ends.1.err())
    }

    #[test]
    fn flipped_frames_are_noticed_where_they_are_read() {
        let shared = places(9, 4, &mut prg(2));
        for bit in (0..256).step_by(11) {
            let ends = changed(WATCH_COMMIT, &Deviation::Flip(bit));
            assert_eq!(ends, (Some(Fault::PeerAborted), Some(SHARE)));
        }
        for bit in 0..128 {
            let ends = changed(WATCH_SECRET, &Deviation::Flip(bit));
            assert_eq!(ends, (Some(SECRET_FAULT), None));
        }
        for place in 0..9 {
            // Either of the messages; the receiver's seeds are the sender's affair. Another choice
            // is a wrong share where one is taken.
            for half in 0..2 {
                let ends = changed(tags::MASKED, &Deviation::Flip(256 * place + 128 * half + 77));
                assert!(matches!(ends, (None, None) | (Some(Fault::PeerAborted), Some(SHARE))));
                assert!(shared[place] || ends.1.is_none());
            }
            let ends = changed(tags::CHOICES, &Deviation::Flip(place));
            assert_eq!(ends.1, shared[place].then_some(SHARE));
        }
        let stray = changed(tags::CHOICES, &Deviation::Flip(9));
        assert_eq!(stray.0, Some(Fault::Misbehaved(crate::rot::CHOICE_CHECK)));
    }

    #[test]
    fn cut_lost_and_repeated_frames_end_in_a_fault() {
        for tag in [WATCH_COMMIT, tags::MASKED, tags::CHOICES, WATCH_SECRET] {
            for cut in [1, 15, usize::MAX] {
                let (sent, received) = changed(tag, &Deviation::Cut(cut));
                let by_sender = tag == WATCH_COMMIT || tag == tags::MASKED;
                let victim = if by_sender { received } else { sent };
                assert_eq!(victim, Some(Fault::Misbehaved("frame: wrong length")), "{}", tag.name);
            }
            let ends = changed(tag, &Deviation::Drop);
            assert!(ends.0.is_some() || ends.1.is_some(), "{}", tag.name);
            let long = Deviation::Replace(vec![0; 4096]);
            assert_ne!(changed(tag, &long), (None, None), "{}", tag.name);
        }
        for tag in [WATCH_COMMIT, tags::CHOICES] {
            assert_ne!(changed(tag, &Deviation::Double), (None, None), "{}", tag.name);
        }
    }

    /// The bytes of a list, for fixed randomness: they do not change unnoticed.
    #[test]
    fn known_transcript() {
        let (ca, mut cb) = mem_pair();
        let recording = cb.record();
        let watch = both((ca, cb), sender(44, 20, 1), receiver(44, 20, 2)).1.expect("honest");
        let mut oracle = RandomOracle::new("cenote test watch transcript", &SESSION);
        for frame in recording.frames() {
            oracle = oracle.number(frame.tag.into()).bytes(&frame.payload);
        }
        let oracle = oracle.bytes(&watch.positions).blocks(&watch.seeds);
        assert_eq!(oracle.block().to_u128() as u64, 10697008924585183769);
    }
}

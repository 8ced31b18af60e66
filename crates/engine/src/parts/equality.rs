//! A coin toss (`coin.rs`) that also tells both parties whether their digests are equal, and nothing else
//! about them.
//!
//! **Construction.** CPace (draft-irtf-cfrg-cpace; Abdalla, Haase, Hesse, Asiacrypt 2021) over
//! ristretto255 with the digest as password, and key confirmation in both directions. The three messages
//! are those of the toss.
//! **Messages.** garbler -> evaluator: commitment to its coin, Y_A = y_A g; evaluator -> garbler: its coin,
//! Y_B = y_B g, tag T_B; garbler -> evaluator: opening, tag T_A. g is a hash of the digest to the group; the
//! tags are hashes of the role under a key that is a hash of y_A y_B g and of all before the tags.
//! **Adversary.** Malicious. **Model.** Random oracle, simultaneous Diffie-Hellman in the gap group.
//! **Leakage and abort.** A cheater has one guess at the peer's digest a run: a tag can be tried against the
//! one digest of which the cheater's own point was made. A garbler learns first whether its guess was
//! right, and the coin with it; abort is final. With r replies
//! that are not confirmed it has r guesses, so there are few (`toss.rs`).
//! **Checks.**
//! - `equality.point`: a point is canonical and not the identity \[any use\]. Catches points that
//!   make the key independent of the digest.
//! - `equality.tag`: the peer has the same digest \[the opening of the coin; any use of what the digest is
//!   of\].
//! - `coin.opening`, of the toss.
//!
//! **Private values.** The digest: a point is uniform, as its scalar is; a tag is a hash of a product that
//! takes one of the scalars and the digest to compute. The scalars: never sent. Constant time in all of them.
//! **Costs.** 64 B + 80 B + 80 B; three messages; two scalar multiplications, a hash to the group each.
//! **Differences from the draft.** The session's random oracle in place of SHA-512, with its own separation
//! of inputs; the commitment and the evaluator's coin are the associated data.

use cenote_net::{Fault, Role};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::coin;

/// Bytes of the garbler's first message: commitment and point.
pub const COMMIT_LEN: usize = coin::COMMIT_LEN + POINT;
/// Bytes of the evaluator's reply: coin, point, tag.
pub const REPLY_LEN: usize = coin::REPLY_LEN + POINT + TAG;
/// Bytes of the garbler's last message: opening and tag.
pub const OPENING_LEN: usize = coin::OPENING_LEN + TAG;

const POINT: usize = 32;
const TAG: usize = 32;

/// The garbler between its first message and its last.
pub struct Committer {
    coin: coin::Committer,
    session: SessionId,
    label: String,
    secret: Secret<Scalar>,
    message: [u8; COMMIT_LEN],
}

impl Committer {
    /// Begins the test of `digest` in the toss `label` of the session.
    #[must_use]
    pub fn new(
        session: &SessionId,
        label: &str,
        prg: &mut Prg,
        digest: &[u8; 32],
    ) -> (Committer, [u8; COMMIT_LEN]) {
        let (coin, commitment) = coin::Committer::new(session, label, prg);
        let (secret, point) = exponent(session, label, prg, digest);
        let mut message = [0; COMMIT_LEN];
        message[..coin::COMMIT_LEN].copy_from_slice(&commitment);
        message[coin::COMMIT_LEN..].copy_from_slice(&point);
        let label = label.to_owned();
        (Committer { coin, session: *session, label, secret, message }, message)
    }

    /// The joint coin and the last message, once the digests are equal.
    ///
    /// # Errors
    /// `Misbehaved("equality.point")`, `Misbehaved("equality.tag")`; then nothing is opened.
    pub fn open(self, reply: &[u8; REPLY_LEN]) -> Result<(Block, [u8; OPENING_LEN]), Fault> {
        let (contribution, tag) = split::<{ coin::REPLY_LEN + POINT }, TAG>(reply);
        let (peer_coin, point) = split::<{ coin::REPLY_LEN }, POINT>(&contribution);
        let shared = *self.secret * decode(&point)?;
        let key = key(&self.session, &self.label, shared, &self.message, &contribution);
        verify(&self.session, &key, Role::Evaluator, &tag)?;
        let (coin, opened) = self.coin.open(&peer_coin);
        let mut opening = [0; OPENING_LEN];
        opening[..coin::OPENING_LEN].copy_from_slice(&opened);
        opening[coin::OPENING_LEN..].copy_from_slice(&tag_of(&self.session, &key, Role::Garbler));
        Ok((coin, opening))
    }
}

/// The evaluator between its reply and the garbler's last message.
pub struct Replier {
    coin: coin::Replier,
    session: SessionId,
    key: Secret<[u8; 32]>,
}

impl Replier {
    /// Takes the garbler's first message into the test of `digest`.
    ///
    /// # Errors
    /// `Misbehaved("equality.point")`.
    pub fn new(
        session: &SessionId,
        label: &str,
        prg: &mut Prg,
        digest: &[u8; 32],
        message: &[u8; COMMIT_LEN],
    ) -> Result<(Replier, [u8; REPLY_LEN]), Fault> {
        let (commitment, point) = split::<{ coin::COMMIT_LEN }, POINT>(message);
        let point = decode(&point)?;
        let (coin, own_coin) = coin::Replier::new(session, label, prg, commitment);
        let (secret, own_point) = exponent(session, label, prg, digest);
        let (mut contribution, mut reply) = ([0; coin::REPLY_LEN + POINT], [0; REPLY_LEN]);
        contribution[..coin::REPLY_LEN].copy_from_slice(&own_coin);
        contribution[coin::REPLY_LEN..].copy_from_slice(&own_point);
        let key = key(session, label, *secret * point, message, &contribution);
        reply[..contribution.len()].copy_from_slice(&contribution);
        reply[contribution.len()..].copy_from_slice(&tag_of(session, &key, Role::Evaluator));
        Ok((Replier { coin, session: *session, key }, reply))
    }

    /// The joint coin, once the digests are equal.
    ///
    /// # Errors
    /// `Misbehaved("equality.tag")`, `Misbehaved("coin.opening")`.
    pub fn finish(self, opening: &[u8; OPENING_LEN]) -> Result<Block, Fault> {
        let (opened, tag) = split::<{ coin::OPENING_LEN }, TAG>(opening);
        verify(&self.session, &self.key, Role::Garbler, &tag)?;
        self.coin.finish(&opened)
    }
}

/// A message of `A + B` bytes in two parts.
fn split<const A: usize, const B: usize>(message: &[u8]) -> ([u8; A], [u8; B]) {
    let (mut a, mut b) = ([0; A], [0; B]);
    a.copy_from_slice(&message[..A]);
    b.copy_from_slice(&message[A..]);
    (a, b)
}

/// A fresh scalar and its multiple of the generator that belongs to `digest`.
fn exponent(
    session: &SessionId,
    label: &str,
    prg: &mut Prg,
    digest: &[u8; 32],
) -> (Secret<Scalar>, [u8; POINT]) {
    let mut wide = Secret::new([0; 64]);
    prg.fill_bytes(&mut *wide);
    let secret = Secret::new(Scalar::from_bytes_mod_order_wide(&wide));
    let oracle = RandomOracle::new("cenote 2026 engine equality generator v1", session);
    oracle.bytes(label.as_bytes()).bytes(digest).fill(&mut *wide);
    let mut generator = RistrettoPoint::from_uniform_bytes(&wide);
    let point = (generator * *secret).compress().to_bytes();
    generator.zeroize();
    (secret, point)
}

fn decode(bytes: &[u8; POINT]) -> Result<RistrettoPoint, Fault> {
    let point = CompressedRistretto(*bytes).decompress();
    point.filter(|point| !point.is_identity()).ok_or(Fault::Misbehaved("equality.point"))
}

/// The key under which both tags are made: of the shared point and all that was sent before them.
fn key(
    session: &SessionId,
    label: &str,
    mut shared: RistrettoPoint,
    message: &[u8; COMMIT_LEN],
    contribution: &[u8; coin::REPLY_LEN + POINT],
) -> Secret<[u8; 32]> {
    let mut encoded = Secret::new(shared.compress().to_bytes());
    shared.zeroize();
    let oracle = RandomOracle::new("cenote 2026 engine equality key v1", session);
    let oracle = oracle.bytes(label.as_bytes()).bytes(&*encoded).bytes(message).bytes(contribution);
    *encoded = oracle.digest();
    encoded
}

fn tag_of(session: &SessionId, key: &[u8; 32], role: Role) -> [u8; TAG] {
    let oracle = RandomOracle::new("cenote 2026 engine equality tag v1", session);
    oracle.number(role as u64).bytes(key).digest()
}

fn verify(session: &SessionId, key: &[u8; 32], role: Role, tag: &[u8; TAG]) -> Result<(), Fault> {
    if !bool::from(tag_of(session, key, role).ct_eq(tag)) {
        return Err(Fault::Misbehaved("equality.tag"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([5; 32]);
    const TAG_FAULT: Fault = Fault::Misbehaved("equality.tag");
    const POINT_FAULT: Fault = Fault::Misbehaved("equality.point");

    fn prg(seed: u128) -> Prg {
        Prg::new(Block::new(seed))
    }

    fn commit(seed: u128, digest: u8) -> (Committer, [u8; COMMIT_LEN]) {
        Committer::new(&SESSION, "t", &mut prg(seed), &[digest; 32])
    }

    fn reply(seed: u128, digest: u8, message: &[u8; COMMIT_LEN]) -> (Replier, [u8; REPLY_LEN]) {
        Replier::new(&SESSION, "t", &mut prg(seed), &[digest; 32], message).expect("a point")
    }

    #[test]
    fn equal_digests_give_a_joint_coin() {
        let (committer, message) = commit(1, 7);
        let (replier, answer) = reply(2, 7, &message);
        let (coin, opening) = committer.open(&answer).expect("equal");
        assert_eq!(coin, prg(1).block() ^ prg(2).block());
        assert_eq!(replier.finish(&opening), Ok(coin));
    }

    #[test]
    fn different_digests_end_it_before_anything_is_opened() {
        let (committer, message) = commit(1, 7);
        let (_, answer) = reply(2, 8, &message);
        assert_eq!(committer.open(&answer).err(), Some(TAG_FAULT));
    }

    #[test]
    fn a_garbler_with_another_digest_has_no_tag_for_the_evaluator() {
        let (committer, message) = commit(1, 7);
        let (replier, answer) = reply(2, 8, &message);
        // It goes on as if the evaluator's tag were right, under the key that it has.
        let (contribution, tag) = split::<48, 32>(&answer);
        let (peer_coin, point) = split::<16, 32>(&contribution);
        let shared = *committer.secret * decode(&point).expect("honest");
        let key = key(&SESSION, "t", shared, &message, &contribution);
        let (_, opened) = committer.coin.open(&peer_coin);
        for tag in [tag_of(&SESSION, &key, Role::Garbler), tag, [0; 32]] {
            let mut opening = [0; OPENING_LEN];
            opening[..48].copy_from_slice(&opened);
            opening[48..].copy_from_slice(&tag);
            let replier = Replier {
                coin: coin::Replier::new(&SESSION, "t", &mut prg(2), split::<32, 32>(&message).0).0,
                session: SESSION,
                key: replier.key.clone(),
            };
            assert_eq!(replier.finish(&opening).err(), Some(TAG_FAULT));
        }
    }

    #[test]
    fn an_echoed_tag_is_not_the_garblers() {
        let (committer, message) = commit(1, 7);
        let (replier, answer) = reply(2, 7, &message);
        let (_, mut opening) = committer.open(&answer).expect("equal");
        opening[48..].copy_from_slice(&answer[48..]);
        assert_eq!(replier.finish(&opening).err(), Some(TAG_FAULT));
    }

    #[test]
    fn every_byte_of_every_message_counts() {
        let (_, message) = commit(1, 7);
        for i in 0..COMMIT_LEN {
            let mut changed = message;
            changed[i] ^= 2;
            let prg = &mut prg(2);
            match Replier::new(&SESSION, "t", prg, &[7; 32], &changed) {
                Err(fault) => assert_eq!(fault, POINT_FAULT),
                Ok((_, answer)) => {
                    assert_eq!(commit(1, 7).0.open(&answer).err(), Some(TAG_FAULT), "byte {i}");
                }
            }
        }
        let (_, answer) = reply(2, 7, &message);
        for i in 0..REPLY_LEN {
            let mut changed = answer;
            changed[i] ^= 2;
            let fault = commit(1, 7).0.open(&changed).err();
            let no_point = (16..48).contains(&i) && fault == Some(POINT_FAULT);
            assert!(no_point || fault == Some(TAG_FAULT), "byte {i}: {fault:?}");
        }
        let (_, opening) = commit(1, 7).0.open(&answer).expect("equal");
        for i in 0..OPENING_LEN {
            let mut changed = opening;
            changed[i] ^= 2;
            let check = if i < 48 { "coin.opening" } else { "equality.tag" };
            let fault = reply(2, 7, &message).0.finish(&changed).err();
            assert_eq!(fault, Some(Fault::Misbehaved(check)), "byte {i}");
        }
    }

    #[test]
    fn a_test_is_bound_to_its_session_and_its_toss() {
        let digest = [7; 32];
        for (session, label) in [(SessionId([6; 32]), "t"), (SESSION, "u")] {
            let (committer, message) = Committer::new(&session, label, &mut prg(1), &digest);
            assert_eq!(committer.open(&reply(2, 7, &message).1).err(), Some(TAG_FAULT));
        }
    }

    #[test]
    fn bad_points_are_refused() {
        // The identity is all zero; an odd field element and one over the prime are not canonical.
        for bad in [[0; 32], [1; 32], [255; 32]] {
            let (committer, mut message) = commit(1, 7);
            let (_, mut answer) = reply(2, 7, &message);
            message[32..].copy_from_slice(&bad);
            let refused = Replier::new(&SESSION, "t", &mut prg(2), &[7; 32], &message).err();
            assert_eq!(refused, Some(POINT_FAULT));
            answer[16..48].copy_from_slice(&bad);
            assert_eq!(committer.open(&answer).err(), Some(POINT_FAULT));
        }
    }

    /// The points of two runs with one digest, and of runs with two digests, have nothing in common.
    #[test]
    fn messages_are_not_functions_of_the_digest() {
        let parts = |seed: u128, digest: u8| {
            let (_, message) = commit(seed, digest);
            let (_, answer) = reply(seed + 1, digest, &message);
            let parts = [&message[..32], &message[32..], &answer[..16], &answer[16..48]];
            [parts.map(<[u8]>::to_vec).to_vec(), vec![answer[48..].to_vec()]].concat()
        };
        let (one, again, other) = (parts(1, 7), parts(3, 7), parts(1, 8));
        for (i, part) in one.iter().enumerate() {
            assert_ne!(part, &again[i], "part {i} depends on fresh randomness");
            // The coins and the commitment do not depend on the digest, points and tags do on both.
            assert_eq!(part == &other[i], i == 0 || i == 2, "part {i}");
        }
    }

    /// The attack on a test that shows a digest: a garbler that flips a bit d of a leaky AND knows the
    /// evaluator's digest but for the unknown low bits of Delta, here 8 of them, and tries them all
    /// against what it received.
    #[test]
    fn what_a_garbler_receives_tells_one_guess_and_no_more() {
        let digest = |bits: u64| {
            let oracle = RandomOracle::new("cenote test digest of L", &SESSION);
            oracle.number(bits).digest()
        };
        let of = |guess| Committer::new(&SESSION, "t", &mut prg(1), &digest(guess));
        let right = 0xa7;
        for own in [0x13, right] {
            let (committer, message) = of(own);
            let answer = Replier::new(&SESSION, "t", &mut prg(2), &digest(right), &message);
            let (_, answer) = answer.expect("a point");
            let (contribution, tag) = split::<48, 32>(&answer);
            let point = decode(&split::<16, 32>(&contribution).1).expect("honest");
            // All that the garbler can compute: its scalar times the point that it got, after the message
            // that it sent, or that it would have sent for a guess.
            let explains = |secret: &Scalar, message: &[u8; COMMIT_LEN]| {
                let key = key(&SESSION, "t", secret * point, message, &contribution);
                tag_of(&SESSION, &key, Role::Evaluator) == tag
            };
            let by_digest: Vec<u64> = (0..256).filter(|&g| digest(g) == digest(right)).collect();
            assert_eq!(by_digest, [right], "a digest that is shown gives Delta away");
            let tried = |&guess: &u64| {
                let (again, would_have_sent) = of(guess);
                explains(&again.secret, &would_have_sent)
            };
            let by_tag: Vec<u64> = (0..256).filter(tried).collect();
            let expected = if own == right { vec![right] } else { vec![] };
            assert_eq!(by_tag, expected, "a tag tells whether the guess that was made is right");
            assert_eq!(explains(&committer.secret, &message), own == right);
            assert_eq!(committer.open(&answer).is_ok(), own == right);
        }
    }
}

//! Masny-Rindal base OT: 128 random 1-of-2 OTs with chosen choice bits, the *endemic*
//! functionality.
//!
//! Paper: Masny, Rindal, "Endemic Oblivious Transfer", CCS 2019 (the one-round Diffie-Hellman
//! protocol), over ristretto255. Chosen over Chou-Orlandi, whose proof does not give extractable
//! choices, and over McQuoid-Rosulek-Roy, which saves one hash to the group per OT, for the shorter
//! argument.
//! Roles here / in the paper: the same; the COT sender is the *receiver* of these OTs.
//! Adversary: malicious, static, either party. Model: random oracle (programmable), CDH in the gap
//! group (the sender's one point serves all OTs of a batch).
//! Parameters: 128 OTs; choice bit `i` is bit `i` of a block; keys of 128 bits.
//! Leakage and abort: a corrupted party may influence the keys that it learns itself, nothing else
//! (hence *endemic*). That is enough here, because keys are only used as one-time masks of values
//! that the sender chose. The choice bits are hidden from an unbounded sender.
//! Checks: `ot.base.point` - every point is canonical and not the identity - on receipt, before
//! use.
//! Private values: choice bit `c` - in the receiver's two points (r_0, r_1), where r_c = b G -
//! H_c(r_{1-c}) is masked by the uniform scalar b and r_{1-c} is uniform, so that the pair is
//! uniform for either c.
//! Cost: one round; 32 bytes sender to receiver, 8192 bytes receiver to sender, in eight messages: no point depends on
//! another's, so that the sender computes on what came while the receiver makes the rest.
//! Differences from the paper: the batch reuses the sender's point, so that (as McQuoid, Rosulek,
//! Roy, "Batching Base Oblivious Transfers", Asiacrypt 2021, demand) both oracles take the index of
//! the OT, and the key oracle takes all points. Constant time in choice bits and scalars. Status:
//! not audited.

use cenote_net::{Channel, Fault};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoBasepointTable, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use zeroize::Zeroize;

use crate::tags::BASE_POINTS;

/// OTs of a batch.
pub const COUNT: usize = 128;

/// Bytes of the sender's message: one point.
pub const SENDER_LEN: usize = POINT;

/// Bytes of the receiver's messages together: two points for each OT.
pub const RECEIVER_LEN: usize = PARTS * PART_LEN;

/// Messages of the receiver.
pub const PARTS: usize = 8;

/// Bytes of one of them.
pub const PART_LEN: usize = PART * 2 * POINT;

/// OTs of one message of the receiver.
const PART: usize = COUNT / PARTS;

const POINT: usize = 32;

/// The check of this protocol: a point that no honest peer sends.
pub const POINT_CHECK: &str = "ot.base.point";

/// The sender's message, the receiver's, one after the other, and both keys of every OT.
pub type Made = ([u8; SENDER_LEN], Vec<u8>, Secret<Vec<[Block; 2]>>);

/// The party that gets both keys of every OT.
pub struct BaseSender {
    session: SessionId,
    secret: Secret<Scalar>,
    point: [u8; POINT],
    keys: Secret<Vec<[Block; 2]>>,
    /// The receiver's messages so far.
    received: Vec<u8>,
}

impl BaseSender {
    /// Starts a batch; returns the message to the receiver.
    pub fn new(session: &SessionId, prg: &mut Prg) -> (BaseSender, [u8; SENDER_LEN]) {
        let secret = Secret::new(scalar(prg));
        let point = RistrettoPoint::mul_base(&secret).compress().to_bytes();
        let keys = Secret::with_capacity(COUNT);
        let received = Vec::with_capacity(RECEIVER_LEN);
        (BaseSender { session: *session, secret, point, keys, received }, point)
    }

    /// Takes in the receiver's next message.
    ///
    /// # Errors
    /// `Misbehaved` when the message has the wrong length, a bad point, or is one too many.
    pub fn take(&mut self, message: &[u8]) -> Result<(), Fault> {
        let (pairs, rest) = message.as_chunks::<{ 2 * POINT }>();
        if pairs.len() != PART || !rest.is_empty() || self.keys.len() == COUNT {
            return Err(Fault::Misbehaved(POINT_CHECK));
        }
        // All are looked at first: a message with a bad point leaves nothing behind.
        let points = pairs.iter().map(|pair| {
            let (r, _) = pair.as_chunks::<POINT>();
            Ok([decode(&r[0])?, decode(&r[1])?])
        });
        let points: Vec<[RistrettoPoint; 2]> = points.collect::<Result<_, Fault>>()?;
        for (pair, points) in pairs.iter().zip(points) {
            let index = self.keys.len();
            let (r, _) = pair.as_chunks::<POINT>();
            let key = |side: usize| {
                let shift = hash_to_group(&self.session, index, side == 1, &r[1 - side]);
                let shared = (points[side] + shift) * *self.secret;
                key(&self.session, index, side == 1, &self.point, pair, &shared)
            };
            let keys = [key(0), key(1)];
            self.keys.push(keys);
        }
        self.received.extend_from_slice(message);
        Ok(())
    }

    /// Takes in all of them from the channel.
    ///
    /// # Errors
    /// Those of [`BaseSender::take`]; faults of the channel.
    pub fn receive(&mut self, ch: &mut Channel) -> Result<(), Fault> {
        // The receiver should have the point before it needs it.
        ch.flush()?;
        (0..PARTS).try_for_each(|_| self.take(&ch.recv(BASE_POINTS, PART_LEN)?))
    }

    /// The own message and those of the receiver, and the two keys of every OT.
    ///
    /// # Errors
    /// `Misbehaved` when a message is missing.
    pub fn finish(self) -> Result<Made, Fault> {
        if self.keys.len() != COUNT {
            return Err(Fault::Misbehaved(POINT_CHECK));
        }
        Ok((self.point, self.received, self.keys))
    }
}

/// The party that chooses a bit for every OT and gets one key of each.
pub struct BaseReceiver {
    session: SessionId,
    choices: Secret<Block>,
    scalars: Secret<Vec<Scalar>>,
    /// The messages to the sender so far.
    sent: Vec<u8>,
}

impl BaseReceiver {
    /// Starts a batch with bit `i` of `choices` the choice of OT `i`.
    pub fn new(session: &SessionId, choices: Block) -> BaseReceiver {
        BaseReceiver {
            session: *session,
            choices: Secret::new(choices),
            scalars: Secret::with_capacity(COUNT),
            sent: Vec::with_capacity(RECEIVER_LEN),
        }
    }

    /// The next of the [`PARTS`] messages to the sender, of [`PART_LEN`] bytes. None depends on the sender's.
    pub fn part(&mut self, prg: &mut Prg) -> &[u8] {
        let start = self.sent.len();
        for index in self.scalars.len()..COUNT.min(self.scalars.len() + PART) {
            let choice = bit(*self.choices, index);
            let secret = scalar(prg);
            let mut uniform = [0; 64];
            prg.fill_bytes(&mut uniform);
            let other = RistrettoPoint::from_uniform_bytes(&uniform).compress().to_bytes();
            uniform.zeroize();
            let shift = hash_to_group(&self.session, index, choice, &other);
            let chosen = (RistrettoPoint::mul_base(&secret) - shift).compress().to_bytes();
            self.scalars.push(secret);
            // The chosen point goes to place `choice`, by masks.
            let mask = u8::from(choice).wrapping_neg();
            self.sent.extend(chosen.iter().zip(&other).map(|(c, o)| c ^ ((c ^ o) & mask)));
            self.sent.extend(chosen.iter().zip(&other).map(|(c, o)| o ^ ((c ^ o) & mask)));
        }
        &self.sent[start..]
    }

    /// Sends all of them, each as soon as it is made.
    ///
    /// # Errors
    /// Faults of the channel.
    pub fn send(&mut self, ch: &mut Channel, prg: &mut Prg) -> Result<(), Fault> {
        (0..PARTS).try_for_each(|_| {
            ch.send(BASE_POINTS, self.part(prg))?;
            ch.flush()
        })
    }

    /// The messages to the sender so far, one after the other.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// The chosen key of every OT whose message was made.
    ///
    /// # Errors
    /// `Misbehaved` when the message has the wrong length or a bad point.
    pub fn finish(&self, message: &[u8]) -> Result<Secret<Vec<Block>>, Fault> {
        let point: &[u8; POINT] = message.try_into().map_err(|_| Fault::Misbehaved(POINT_CHECK))?;
        let table = RistrettoBasepointTable::create(&decode(point)?);
        let (pairs, _) = self.sent.as_chunks::<{ 2 * POINT }>();
        let keys = pairs.iter().zip(self.scalars.iter()).enumerate();
        let keys = keys.map(|(index, (pair, secret))| {
            let choice = bit(*self.choices, index);
            key(&self.session, index, choice, point, pair, &(&table * secret))
        });
        Ok(Secret::new(keys.collect()))
    }
}

fn bit(choices: Block, index: usize) -> bool {
    choices.to_u128() >> index & 1 == 1
}

fn scalar(prg: &mut Prg) -> Scalar {
    let mut wide = [0; 64];
    prg.fill_bytes(&mut wide);
    let scalar = Scalar::from_bytes_mod_order_wide(&wide);
    wide.zeroize();
    scalar
}

fn decode(bytes: &[u8; POINT]) -> Result<RistrettoPoint, Fault> {
    let point = CompressedRistretto(*bytes).decompress();
    point.filter(|point| !point.is_identity()).ok_or(Fault::Misbehaved(POINT_CHECK))
}

/// H_side of the paper, for one OT of the batch.
fn hash_to_group(session: &SessionId, index: usize, side: bool, other: &[u8]) -> RistrettoPoint {
    let oracle = RandomOracle::new("cenote 2026 ot base hash to group v1", session);
    let mut uniform = [0; 64];
    oracle.number(index as u64).number(u64::from(side)).bytes(other).fill(&mut uniform);
    RistrettoPoint::from_uniform_bytes(&uniform)
}

fn key(
    session: &SessionId,
    index: usize,
    side: bool,
    sender: &[u8; POINT],
    receiver: &[u8; 2 * POINT],
    shared: &RistrettoPoint,
) -> Block {
    let oracle = RandomOracle::new("cenote 2026 ot base key v1", session);
    let oracle = oracle.number(index as u64).number(u64::from(side)).bytes(sender).bytes(receiver);
    oracle.bytes(shared.compress().as_bytes()).block()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId([7; 32])
    }

    fn choices() -> Block {
        Prg::new(Block::new(99)).block()
    }

    fn start() -> (BaseSender, [u8; 32], BaseReceiver, Vec<u8>) {
        let (s, a) = BaseSender::new(&session(), &mut Prg::new(Block::new(1)));
        let (r, b) = receiver(&session(), choices(), 2);
        (s, a, r, b)
    }

    fn receiver(session: &SessionId, choices: Block, seed: u128) -> (BaseReceiver, Vec<u8>) {
        let (mut receiver, mut prg) =
            (BaseReceiver::new(session, choices), Prg::new(Block::new(seed)));
        (0..PARTS).for_each(|_| assert_eq!(receiver.part(&mut prg).len(), PART_LEN));
        assert!(receiver.part(&mut prg).is_empty());
        let sent = receiver.sent().to_vec();
        (receiver, sent)
    }

    fn pairs(mut sender: BaseSender, message: &[u8]) -> Result<Secret<Vec<[Block; 2]>>, Fault> {
        message.chunks(PART_LEN).try_for_each(|part| sender.take(part))?;
        let (_, received, pairs) = sender.finish()?;
        assert_eq!(received, message);
        Ok(pairs)
    }

    #[test]
    fn the_receiver_gets_the_chosen_key_and_all_keys_differ() {
        let (s, a, r, b) = start();
        assert_eq!(b.len(), RECEIVER_LEN);
        let pairs = pairs(s, &b).unwrap();
        let chosen = r.finish(&a).unwrap();
        let mut all = Vec::new();
        for i in 0..COUNT {
            assert_eq!(chosen[i], pairs[i][usize::from(bit(choices(), i))]);
            all.extend(pairs[i].map(Block::to_u128));
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2 * COUNT);
    }

    #[test]
    fn known_answer() {
        let (s, a, _, b) = start();
        let pairs = pairs(s, &b).unwrap();
        let mut digest = RandomOracle::new("cenote test base OT", &session()).bytes(&a).bytes(&b);
        for pair in pairs.iter() {
            digest = digest.blocks(pair);
        }
        assert_eq!(digest.block().to_u128(), 155482888385519358335285470333277044983);
    }

    #[test]
    fn both_parties_must_agree_on_the_session() {
        let (s, a, _, b) = start();
        let (other, _) = receiver(&SessionId([8; 32]), choices(), 2);
        let pairs = pairs(s, &b).unwrap();
        let chosen = other.finish(&a).unwrap();
        assert!((0..COUNT).all(|i| !pairs[i].contains(&chosen[i])));
    }

    #[test]
    fn bad_points_and_lengths_are_refused() {
        let refused = Some(Fault::Misbehaved(POINT_CHECK));
        // The identity is all zero; an odd field element and one over the prime are not canonical.
        for bad in [[0; 32], [1; 32], [255; 32]] {
            let (s, _, r, mut b) = start();
            b[32 * 77..][..32].copy_from_slice(&bad);
            assert_eq!(pairs(s, &b).err(), refused);
            assert_eq!(r.finish(&bad).err(), refused);
        }
        for len in
            [0, 1, 31, 33, RECEIVER_LEN - 64, RECEIVER_LEN - 1, RECEIVER_LEN + 1, RECEIVER_LEN + 64]
        {
            let (s, _, r, _) = start();
            assert_eq!(pairs(s, &vec![2; len]).err(), refused);
            assert_eq!(r.finish(&vec![2; len]).err(), refused);
        }
    }

    #[test]
    fn a_replaced_point_changes_the_keys_of_its_ot_only() {
        let (s, a, r, mut b) = start();
        let (head, tail) = b.split_at_mut(64);
        head.swap_with_slice(&mut tail[..64]);
        let pairs = pairs(s, &b).unwrap();
        let chosen = r.finish(&a).unwrap();
        for i in 0..COUNT {
            assert_eq!(pairs[i].contains(&chosen[i]), i > 1);
        }
    }

    /// The pair of points is uniform for either choice: no byte of it may lean with the choice bit.
    #[test]
    fn points_do_not_lean_with_the_choice() {
        let mut counts = [[0u32; 2 * POINT]; 2];
        for seed in 0..4 {
            for (side, count) in counts.iter_mut().enumerate() {
                let choices = Block::new((side as u128).wrapping_neg());
                let (_, message) = receiver(&session(), choices, seed * 2 + side as u128);
                for pair in message.chunks(2 * POINT) {
                    count.iter_mut().zip(pair).for_each(|(n, byte)| *n += u32::from(byte >> 1 & 1));
                }
            }
        }
        // 512 samples of a fair bit: 256 +- 6 sigma (sigma 11.3).
        for count in counts.iter().flatten() {
            assert!((188..=324).contains(count), "{count}");
        }
    }
}

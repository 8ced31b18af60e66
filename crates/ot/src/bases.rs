//! Base OTs of both directions, which may outlive their session: made once, set-ups are made of them again and again.
//!
//! Papers: Masny, Rindal, CCS 2019, for the first direction (`base.rs`); the second comes out of an extension of the first (Roy, CRYPTO
//! 2022), as base OTs of any OT extension may: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO
//! 2003, section 4 (random OTs out of correlated ones by a hash).
//! Construction: in the first direction the evaluator has Delta, and is the receiver of 128 base OTs of public keys. A set-up of
//! `softspoken.rs` made of them gives one chunk of 128 COTs, whose random choice bits x the garbler corrects to the ones that its own Delta
//! asks for: these are the OTs of the second direction, keys H(K_i) and H(K_i xor Delta). So a party computes half of the public keys,
//! and the one computes while the other does. The set-up of a session takes in place of the base keys those that a random
//! oracle makes of them and of the session's id (OT is random OT, and its keys are used for nothing else). So two sessions
//! have nothing in common but the Deltas: no stream, chunk or tree of one ever occurs in another, and no counter has to be kept for that.
//! Roles: each party has Delta in one direction, both keys of every OT in the other.
//! Adversary: malicious, static, either party. Model: random oracle, besides that of `base.rs`. The ids of sessions must never repeat:
//! they have fresh randomness of both parties.
//! Leakage and abort: as of one set-up for the chunk between the directions and one for each session; a party whose check fails in any of
//! them may use the base OTs no more, since guesses at Delta would add up. A corrupted party may influence the keys of its own (endemic), as
//! in `base.rs`.
//! Checks: `ot.base.point`; `ot.pprf` and `ot.softspoken.columns` on the message between the directions, before any key of the second is
//! made; those of each set-up.
//! Private values: the evaluator's Delta - in its points, as in `base.rs`. The garbler's Delta - in the corrections of its choice bits,
//! masked by x, which is uniform, used for nothing else, and hidden as the choice bits of any chunk: computationally, where points
//! hide the evaluator's from an unbounded peer. The keys - in no message after those
//! of `base.rs`; those of the second direction that the garbler did not choose - hidden by the evaluator's Delta, of which at least
//! 126 - t bits stay unknown with a chance of 2^-t (bit 0 is public, and one more in `wrk`).
//! Wrong corrections: a garbler that sends others has chosen another Delta, as in any base OT. On the way, they make keys that do not fit,
//! and `ot.pprf` of the next set-up fails.
//! Cost: once 8192 bytes from the evaluator, 32 and one message of 8224 bytes from the garbler; for each set-up the trees
//! alone, n_c (32 k + 32) + 32 bytes each way, one message.
//! Status: not audited.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};

use crate::base::{self, BaseReceiver, BaseSender, COUNT};
use crate::correlated::Sent;
use crate::params::Params;
use crate::pprf;
use crate::setup::{built, choices, instance_id, opened};
use crate::softspoken::{CotReceiver, CotSender, message_len};
use crate::tags::{BASE_POINT, TREES, TURNED};

/// One party's base OTs of both directions.
pub struct Bases {
    delta: Secret<Block>,
    /// Of the direction in which the peer has Delta: both keys of each OT.
    pairs: Secret<Vec<[Block; 2]>>,
    /// Of the direction of this party's: the key at *not* bit `i` of Delta.
    chosen: Secret<Vec<Block>>,
}

impl Bases {
    /// Bytes of [`Bases::to_bytes`].
    pub const LEN: usize = 16 * (1 + 3 * COUNT);

    /// What garbler and evaluator send for them.
    pub(crate) const SENT: [Sent; 2] = [
        Sent { bytes: (base::SENDER_LEN + TURN_LEN) as u64, messages: 2 },
        Sent { bytes: base::RECEIVER_LEN as u64, messages: base::PARTS as u64 },
    ];

    /// Runs them. Bit 0 of `delta` must be 1.
    ///
    /// # Errors
    /// `Misuse` when bit 0 of `delta` is 0; `Misbehaved`; faults of the channel.
    pub fn run(
        ch: &mut Channel,
        session: &SessionId,
        role: Role,
        delta: Block,
        prg: &mut Prg,
    ) -> Result<Bases, Fault> {
        let choices = choices(delta)?;
        let id = SessionId(RandomOracle::new("cenote 2026 ot bases v2", session).digest());
        let (pairs, chosen) = match role {
            Role::Garbler => with_pairs(ch, &id, choices, prg)?,
            Role::Evaluator => with_choices(ch, &id, delta, prg)?,
        };
        Ok(Bases { delta: Secret::new(delta), pairs, chosen })
    }

    /// The set-up of a session with this id, in both directions: this party is sender with its Delta in the instance of its role's
    /// number, receiver in that of its peer's. No public keys, one message each way, and both compute at once.
    ///
    /// # Errors
    /// `Misbehaved`; faults of the channel.
    pub fn setup(
        &self,
        ch: &mut Channel,
        session: &SessionId,
        role: Role,
        params: Params,
        prg: &mut Prg,
    ) -> Result<(CotSender, CotReceiver), Fault> {
        let id = |sender: Role| instance_id(session, sender as u64, params);
        let (own, peers) = (id(role), id(role.peer()));
        let (receiver, trees) =
            built(&peers, params, &pairs_of(&peers, &self.pairs), [&[]; 2], prg);
        ch.send(TREES, &trees)?;
        let trees = ch.recv(TREES, pprf::message_len(params))?;
        let keys = chosen_of(&own, *self.delta, &self.chosen);
        Ok((opened(&own, params, *self.delta, &keys, [&[], &[], &trees])?, receiver))
    }

    /// This party's Delta.
    #[must_use]
    pub fn delta(&self) -> Block {
        *self.delta
    }

    /// All of it, to be kept where nobody else reads it.
    #[must_use]
    pub fn to_bytes(&self) -> Secret<Vec<u8>> {
        let mut bytes = Secret::with_capacity(Bases::LEN);
        bytes.extend_from_slice(&self.delta.to_bytes());
        bytes.extend_from_slice(Block::as_bytes(self.pairs.as_flattened()));
        bytes.extend_from_slice(Block::as_bytes(&self.chosen));
        bytes
    }

    /// What [`Bases::to_bytes`] gave; none of another length, or without bit 0 of Delta.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Bases> {
        let (blocks, rest) = bytes.as_chunks::<16>();
        if bytes.len() != Bases::LEN || !rest.is_empty() {
            return None;
        }
        let mut blocks = blocks.iter().map(|block| Block::from_bytes(*block));
        let delta = blocks.next().filter(|delta| delta.lsb())?;
        let mut pairs = Secret::with_capacity(COUNT);
        for _ in 0..COUNT {
            pairs.push([blocks.next()?, blocks.next()?]);
        }
        Some(Bases { delta: Secret::new(delta), pairs, chosen: blocks.collect() })
    }
}

/// Both keys of each OT, and the chosen ones of the other direction.
type Keys = (Secret<Vec<[Block; 2]>>, Secret<Vec<Block>>);

/// What turns the first direction round: one chunk of 128 COTs. Its oracles do not take these parameters: others need another label.
const TURN: Params = Params { digit_bits: 4, chunk: COUNT };

/// Bytes of the message about it: trees, chunk, choices.
const TURN_LEN: usize = pprf::message_len(TURN) + message_len(TURN, COUNT) + 16;

/// The party with both keys of the first direction's OTs, and with `choices` in the second.
fn with_pairs(
    ch: &mut Channel,
    id: &SessionId,
    choices: Block,
    prg: &mut Prg,
) -> Result<Keys, Fault> {
    let (mut base, point) = BaseSender::new(id, prg);
    ch.send(BASE_POINT, &point)?;
    base.receive(ch)?;
    let (_, _, pairs) = base.finish()?;
    let (chosen, message) = turn(id, &pairs, choices, prg)?;
    ch.send(TURNED, &message)?;
    ch.flush()?;
    Ok((pairs, chosen))
}

/// The party with choices by Delta in the first direction, and both keys in the second.
fn with_choices(
    ch: &mut Channel,
    id: &SessionId,
    delta: Block,
    prg: &mut Prg,
) -> Result<Keys, Fault> {
    let mut base = BaseReceiver::new(id, choices(delta)?);
    base.send(ch, prg)?;
    let chosen = base.finish(&ch.recv(BASE_POINT, base::SENDER_LEN)?)?;
    let pairs = turned(id, &chosen, delta, &ch.recv(TURNED, TURN_LEN)?)?;
    Ok((pairs, chosen))
}

/// From both keys of the first direction and the choices in the second to the chosen keys there, and the message.
fn turn(
    id: &SessionId,
    pairs: &[[Block; 2]],
    choices: Block,
    prg: &mut Prg,
) -> Result<(Secret<Vec<Block>>, Vec<u8>), Fault> {
    let (mut cots, mut message) = built(id, TURN, &pairs_of(id, pairs), [&[]; 2], prg);
    let (mut macs, mut chunk) = (Secret::new(vec![Block::ZERO; COUNT]), Vec::new());
    cots.produce(&mut macs, &mut chunk)?;
    let bits = macs.iter().enumerate().map(|(i, mac)| u128::from(mac.lsb()) << i);
    let random = Secret::new(Block::new(bits.sum()));
    message.extend_from_slice(&chunk);
    message.extend_from_slice(&(*random ^ choices).to_bytes());
    let keys = macs.iter().enumerate().map(|(i, mac)| hashed(id, i, *mac));
    Ok((keys.collect(), message))
}

/// From the chosen keys of the first direction and the message to both keys of the second.
fn turned(
    id: &SessionId,
    chosen: &[Block],
    delta: Block,
    message: &[u8],
) -> Result<Secret<Vec<[Block; 2]>>, Fault> {
    let (trees, rest) = message.split_at(pprf::message_len(TURN));
    let (chunk, flips) = rest.split_at(message_len(TURN, COUNT));
    let mut cots = opened(id, TURN, delta, &chosen_of(id, delta, chosen), [&[], &[], trees])?;
    let mut keys = Secret::new(vec![Block::ZERO; COUNT]);
    cots.absorb(chunk, &mut keys)?;
    let flip = |i: usize| flips[i / 8] >> (i % 8) & 1 == 1;
    let pair = |(i, key): (usize, &Block)| {
        [false, true].map(|side| hashed(id, i, *key ^ delta.times(side ^ flip(i))))
    };
    Ok(keys.iter().enumerate().map(pair).collect())
}

/// A key of the second direction, of a COT of the first: its two keys there are Delta apart, here they have nothing in common.
fn hashed(id: &SessionId, index: usize, key: Block) -> Block {
    let oracle = RandomOracle::new("cenote 2026 ot base turned v1", id);
    oracle.number(index as u64).blocks(&[key]).block()
}

/// Both keys of each OT, for the set-up with this id.
fn pairs_of(id: &SessionId, pairs: &[[Block; 2]]) -> Secret<Vec<[Block; 2]>> {
    let pairs = pairs.iter().enumerate();
    pairs.map(|(i, pair)| [derived(id, i, false, pair[0]), derived(id, i, true, pair[1])]).collect()
}

/// The chosen key of each OT, for the set-up with this id.
fn chosen_of(id: &SessionId, delta: Block, chosen: &[Block]) -> Secret<Vec<Block>> {
    let side = |i: usize| delta.to_u128() >> i & 1 == 0;
    chosen.iter().enumerate().map(|(i, key)| derived(id, i, side(i), *key)).collect()
}

fn derived(id: &SessionId, index: usize, side: bool, key: Block) -> Block {
    let oracle = RandomOracle::new("cenote 2026 ot base derived v1", id);
    oracle.number(index as u64).number(u64::from(side)).blocks(&[key]).block()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_net::mem_pair;

    use crate::choice::Choice;
    use crate::duplex::Duplex;
    use crate::softspoken::COLUMN_CHECK;

    fn prg(role: Role, seed: u128) -> Prg {
        Prg::new(Block::new(100 * seed + role as u128))
    }

    fn both<T: Send>(step: impl Fn(&mut Channel, Role) -> T + Sync) -> [T; 2] {
        let (mut a, mut b) = mem_pair();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| step(&mut b, Role::Evaluator));
            let own = step(&mut a, Role::Garbler);
            [own, other.join().expect("no panic")]
        })
    }

    fn bases() -> [Bases; 2] {
        bases_with(1)
    }

    /// MACs, keys and Delta of one party.
    type Made = (Vec<Block>, Vec<Block>, Block);

    fn made(bases: &[Bases; 2], session: u8, choice: Choice) -> [Result<Made, Fault>; 2] {
        both(|ch, role| {
            let (id, mut prg) = (SessionId([session; 32]), prg(role, 2));
            let bases = &bases[role as usize];
            let mut cots = Duplex::setup_from(ch, &id, role, choice, bases, &mut prg)?;
            let (mut macs, mut keys) = (vec![Block::ZERO; 256], vec![Block::ZERO; 256]);
            cots.take_macs(ch, &mut macs)?;
            cots.take_keys(ch, &mut keys)?;
            Ok((macs, keys, bases.delta()))
        })
    }

    #[test]
    fn set_ups_of_one_base_are_correlated_and_have_nothing_in_common_but_delta() {
        let bases = bases().map(|bases| Bases::from_bytes(&bases.to_bytes()).expect("its own"));
        let mut seen = Vec::new();
        for (session, k) in [(1, 4), (2, 4), (3, 8)] {
            let choice = Choice::softspoken(k).expect("a digit");
            let [a, b] = made(&bases, session, choice).map(|made| made.expect("honest"));
            for ((macs, ..), (_, keys, delta)) in [(&a, &b), (&b, &a)] {
                for (k, m) in keys.iter().zip(macs) {
                    assert_eq!(*k, *m ^ delta.times(m.lsb()));
                }
                seen.extend(keys.iter().map(|key| key.to_u128()));
            }
        }
        let made = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((made, seen.len()), (6 * 256, 6 * 256));
    }

    #[test]
    fn keys_of_two_set_ups_have_nothing_in_common() {
        let [bases, _] = bases();
        let mut keys = bases.pairs.as_flattened().to_vec();
        for id in [1, 2].map(|id| SessionId([id; 32])) {
            keys.extend_from_slice(pairs_of(&id, &bases.pairs).as_flattened());
            keys.extend_from_slice(&chosen_of(&id, *bases.delta, &bases.chosen));
        }
        keys.extend_from_slice(&bases.chosen);
        let mut keys: Vec<u128> = keys.iter().map(|key| key.to_u128()).collect();
        let made = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!((made, keys.len()), (9 * COUNT, 9 * COUNT));
    }

    #[test]
    fn bases_of_different_runs_do_not_fit() {
        let [a, _] = bases();
        let (other, choice) = (bases_with(7), Choice::softspoken(4).expect("a digit"));
        let [_, b] = other;
        for made in made(&[a, b], 1, choice) {
            assert!(matches!(
                made,
                Err(Fault::Misbehaved("ot.pprf") | Fault::PeerAborted | Fault::Transport(_))
            ));
        }
    }

    fn bases_with(seed: u128) -> [Bases; 2] {
        both(|ch, role| {
            let mut prg = prg(role, seed);
            let delta = prg.block().with_lsb(true);
            Bases::run(ch, &SessionId([9; 32]), role, delta, &mut prg).expect("honest")
        })
    }

    const ID: SessionId = SessionId([3; 32]);

    /// The first direction of honest base OTs: both keys, the evaluator's chosen ones and its Delta.
    fn first(seed: u128) -> (Vec<[Block; 2]>, Vec<Block>, Block) {
        let mut prg = Prg::new(Block::new(seed));
        let delta = prg.block().with_lsb(true);
        let pairs: Vec<_> = (0..COUNT).map(|_| [prg.block(), prg.block()]).collect();
        let side = |i: usize| usize::from(delta.to_u128() >> i & 1 == 0);
        let chosen = pairs.iter().enumerate().map(|(i, pair)| pair[side(i)]).collect();
        (pairs, chosen, delta)
    }

    #[test]
    fn the_second_direction_has_the_choices_that_were_asked_for() {
        let (pairs, chosen, delta) = first(1);
        for choices in [0, u128::MAX, 0x1234_5678 << 77] {
            let mut prg = Prg::new(Block::new(choices));
            let (own, message) = turn(&ID, &pairs, Block::new(choices), &mut prg).expect("honest");
            assert_eq!(message.len(), TURN_LEN);
            let both = turned(&ID, &chosen, delta, &message).expect("honest");
            for (i, (own, both)) in own.iter().zip(both.iter()).enumerate() {
                assert_eq!(*own, both[(choices >> i & 1) as usize]);
            }
            let mut keys: Vec<u128> = both.as_flattened().iter().map(|k| k.to_u128()).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), 2 * COUNT);
        }
    }

    /// Each part of the message changed: which check catches it, and that corrections alone turn choices round.
    #[test]
    fn a_changed_message_between_the_directions_is_caught_or_is_another_choice() {
        let (pairs, chosen, delta) = first(2);
        let mut prg = Prg::new(Block::new(9));
        let (own, message) = turn(&ID, &pairs, Block::ONE, &mut prg).expect("honest");
        let changed = |at: usize| {
            let mut message = message.clone();
            message[at] ^= 4;
            turned(&ID, &chosen, delta, &message)
        };
        let trees = pprf::message_len(TURN);
        let caught = |at: usize| changed(at).err();
        assert_eq!(caught(128), Some(Fault::Misbehaved(pprf::TREE_CHECK)));
        assert_eq!(caught(trees - 1), Some(Fault::Misbehaved(pprf::TREE_CHECK)));
        for at in [trees, trees + 999, TURN_LEN - 17] {
            assert_eq!(caught(at), Some(Fault::Misbehaved(COLUMN_CHECK)));
        }
        let both = changed(TURN_LEN - 16).expect("another Delta of the garbler's");
        for (i, (own, both)) in own.iter().zip(both.iter()).enumerate() {
            assert_eq!(*own, both[usize::from((i == 0) ^ (i == 2))], "{i}");
        }
    }

    /// Corrections are masked: over many runs none leans with the choice, which is the garbler's Delta.
    #[test]
    fn corrections_do_not_lean_with_the_choices() {
        let (pairs, ..) = first(3);
        let mut leaning = [0i32; 128];
        for seed in 0..256u128 {
            let choices = Block::new((seed & 1).wrapping_neg());
            let mut prg = Prg::new(Block::new(seed));
            let (_, message) = turn(&ID, &pairs, choices, &mut prg).expect("honest");
            let flips = message[TURN_LEN - 16..].try_into().map(Block::from_bytes).expect("16");
            let sign = 1 - 2 * (seed & 1) as i32;
            for (i, leaning) in leaning.iter_mut().enumerate() {
                *leaning += sign * (flips.to_u128() >> i & 1) as i32;
            }
        }
        // 128 fair bits less 128 others: 0 +- 6 sigma (sigma 8).
        assert!(leaning.iter().all(|leaning| leaning.abs() <= 48), "{leaning:?}");
    }

    #[test]
    fn bytes_of_another_length_or_an_even_delta_are_refused() {
        let bytes = bases()[0].to_bytes();
        assert_eq!(bytes.len(), Bases::LEN);
        for len in [0, 1, 15, 16, Bases::LEN - 16, Bases::LEN - 1, Bases::LEN + 16] {
            let mut bad = bytes.to_vec();
            bad.resize(len, 1);
            assert!(Bases::from_bytes(&bad).is_none(), "{len}");
        }
        let mut even = bytes.to_vec();
        even[0] ^= 1;
        assert!(Bases::from_bytes(&even).is_none());
    }
}

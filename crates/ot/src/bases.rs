//! Base OTs that outlive their session: made once, set-ups are made of them again and again.
//!
//! Construction: the base OTs of both directions (`base.rs`) are run once; the set-up of a session takes in
//! their place keys that a random oracle makes of them and of the session's id (OT is random OT, and its keys are used for
//! nothing else). So two sessions have nothing in common but Delta: no stream, chunk or tree of one ever occurs in another, and no counter
//! has to be kept for that.
//! Roles: each party has Delta in one direction, both keys of every OT in the other.
//! Adversary: malicious, static, either party. Model: random oracle, besides that of `base.rs`. The ids of sessions must never repeat:
//! they have fresh randomness of both parties.
//! Leakage and abort: as of one set-up for each session; a party whose check fails in any of them may use the base OTs no more, since guesses
//! at Delta would add up.
//! Checks: `ot.base.point`; those of each set-up.
//! Private values: Delta, the keys; in no message after those of `base.rs`.
//! Cost: once 32 + 8192 bytes each way; for each set-up the trees alone, n_c (32 k + 32) + 32 bytes each way, one message.

use cenote_net::{Channel, Fault, Role};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId};

use crate::base::{self, BaseReceiver, BaseSender, COUNT};
use crate::tags::{BASE_POINT, BASE_POINTS};

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
        if !delta.lsb() {
            return Err(Fault::Misuse("ot: bit 0 of Delta is not 1".into()));
        }
        let id = |holder: Role| {
            let oracle = RandomOracle::new("cenote 2026 ot bases v1", session);
            SessionId(oracle.number(holder as u64).digest())
        };
        let choices = delta ^ Block::new(u128::MAX);
        let (receiver, points) = BaseReceiver::new(&id(role), choices, prg);
        let (sender, point) = BaseSender::new(&id(role.peer()), prg);
        ch.send(BASE_POINTS, &points)?;
        ch.send(BASE_POINT, &point)?;
        let pairs = sender.finish(&ch.recv(BASE_POINTS, base::RECEIVER_LEN)?)?;
        let chosen = receiver.finish(&ch.recv(BASE_POINT, base::SENDER_LEN)?)?;
        Ok(Bases { delta: Secret::new(delta), pairs, chosen })
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

    /// Both keys of each OT, for the set-up with this id.
    pub(crate) fn pairs_of(&self, id: &SessionId) -> Secret<Vec<[Block; 2]>> {
        let pairs = self.pairs.iter().enumerate();
        pairs
            .map(|(i, pair)| [derived(id, i, false, pair[0]), derived(id, i, true, pair[1])])
            .collect()
    }

    /// The chosen key of each OT, for the set-up with this id.
    pub(crate) fn chosen_of(&self, id: &SessionId) -> Secret<Vec<Block>> {
        let side = |i: usize| self.delta.to_u128() >> i & 1 == 0;
        let keys = self.chosen.iter().enumerate();
        keys.map(|(i, key)| derived(id, i, side(i), *key)).collect()
    }
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
            keys.extend_from_slice(bases.pairs_of(&id).as_flattened());
            keys.extend_from_slice(&bases.chosen_of(&id));
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

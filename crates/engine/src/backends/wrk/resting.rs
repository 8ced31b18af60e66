//! Wires at rest: what a session keeps of a wire between two requests, half a byte at each side, and how it comes back.
//!
//! **Construction.** Ours (docs/protocols/wrk.md, "Wires at rest"). Of a wire rest the own bit of its mask, Lambda, and, of 128 wires together,
//! the sums of X^i M_i and of X^i K_i in GF(2^128): the sum of MACs is one on the sum of X^i s_i, which is as good as the bits. A wire comes
//! back on a fresh authenticated share, moved by a correction to the mask that it had, with a label of its own.
//! **Messages.** `wrk.kept.bits`, the garbler's first: the own bit of the mask xor that of the fresh share, of all wires that come back
//! together, 65,536 at a time. `wrk.kept.proof`, the evaluator's first: the sum, with coefficients from the random oracle on both sides' corrections, of what fresh MACs
//! and those at rest differ by.
//! **Roles.** Symmetric but for the order. Both know every Lambda by the time a wire is kept, after all checks (`mod.rs`), so that both can tell
//! the labels: that of Lambda is from the oracle as well, and only the garbler knows the other.
//! **Adversary.** Malicious, either party; random-oracle model.
//! **Checks.** `wrk.kept`: the peer's masks are those that it kept \[any use of the wires\]. Other corrections, in a set of wires e, need the
//! sum of chi_j D_j times the verifier's Delta, where D_j, the sum of X^i e_i over 128 wires, is not zero for some j: the powers of X are independent.
//! The coefficients are fixed by the corrections, so that the sum is zero with probability 2^-128 for each query of the oracle, and otherwise
//! the cheater would know what is kept of Delta (`opening.rs`, with the same bound). A mask at rest that was changed is another correction.
//! `wrk.kept.format`: canonical packing \[decoding\].
//! **Private values.** Own bits of masks: masked by the bits of fresh shares, which are used once. MACs: their sum is a function of
//! corrections and of keys that the verifier knows. Deltas: keys are never sent. Labels: that of Lambda alone is shown; Lambda both know.
//! **Costs.** n / 8 + 16 bytes each way and a fresh share for each of n wires, three messages in a row, two more for each further 65,536 wires.

use cenote_net::{Fault, Role};
use cenote_prim::gf128::{LinearHash, inner_product};
use cenote_prim::{Block, Prg, RandomOracle, Secret, SessionId, bits};

use super::share::Share;
use crate::party::MAX_RESTING_WIRES;

/// Wires whose MACs are summed up together.
pub(super) const GROUP: usize = 128;

/// X^i, which are independent over GF(2).
const POWERS: [Block; GROUP] = {
    let mut powers = [Block::ZERO; GROUP];
    let mut i = 0;
    while i < GROUP {
        powers[i] = Block::new(1 << i);
        i += 1;
    }
    powers
};

/// What one side has of wires at rest.
pub(super) struct Resting {
    wires: usize,
    /// Own bits of the masks, packed.
    own: Secret<Vec<u8>>,
    /// Lambda, packed.
    masked: Vec<u8>,
    /// The sums of 128 MACs each, and of as many keys.
    macs: Secret<Vec<Block>>,
    keys: Secret<Vec<Block>>,
}

impl Resting {
    /// Wires with these masks and masked values, after all checks.
    pub(super) fn of(shares: &[Share], masked: impl Iterator<Item = bool>) -> Resting {
        let groups = shares.len().div_ceil(GROUP);
        let (mut macs, mut keys) = (Secret::with_capacity(groups), Secret::with_capacity(groups));
        for sums in shares.chunks(GROUP).map(sums) {
            macs.push(sums.mac);
            keys.push(sums.key);
        }
        let own = Secret::new(bits::pack(shares.iter().map(|share| share.bit())));
        Resting { wires: shares.len(), own, masked: bits::pack(masked), macs, keys }
    }

    pub(super) const fn wires(&self) -> usize {
        self.wires
    }

    /// As it lies in a file: wires, own bits, Lambda, MACs, keys.
    pub(super) fn encode(&self, out: &mut Secret<Vec<u8>>) {
        out.extend_from_slice(&(self.wires as u64).to_le_bytes());
        out.extend_from_slice(&self.own);
        out.extend_from_slice(&self.masked);
        out.extend_from_slice(Block::as_bytes(&self.macs));
        out.extend_from_slice(Block::as_bytes(&self.keys));
    }

    /// As [`Self::encode`] has it.
    pub(super) fn to_bytes(&self) -> Secret<Vec<u8>> {
        let mut bytes = Secret::with_capacity(Resting::encoded_len(self.wires));
        self.encode(&mut bytes);
        bytes
    }

    /// The wires that all of `bytes` are.
    pub(super) fn of_bytes(mut bytes: &[u8]) -> Option<Resting> {
        Resting::decode(&mut bytes).filter(|_| bytes.is_empty())
    }

    /// Bytes that [`Self::encode`] adds for so many wires.
    pub(super) const fn encoded_len(wires: usize) -> usize {
        8 + 2 * bits::packed_len(wires) + 32 * wires.div_ceil(GROUP)
    }

    /// Takes wires off the beginning of `bytes`; none if they are no such wires.
    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Resting> {
        let wires = u64::from_le_bytes(bytes.split_off(..8)?.try_into().ok()?);
        let wires = usize::try_from(wires).ok().filter(|wires| *wires <= MAX_RESTING_WIRES)?;
        let packed = bits::packed_len(wires);
        let own = Secret::new(bytes.split_off(..packed)?.to_vec());
        let masked = bytes.split_off(..packed)?.to_vec();
        let blocks =
            |bytes: &[u8]| bytes.as_chunks().0.iter().map(|b| Block::from_bytes(*b)).collect();
        let sums = 16 * wires.div_ceil(GROUP);
        let (macs, keys) = (blocks(bytes.split_off(..sums)?), blocks(bytes.split_off(..sums)?));
        Some(Resting { wires, own, masked, macs, keys })
    }

    /// Whether Lambda of wire `i` is one.
    pub(super) fn masked(&self, i: usize) -> bool {
        bits::get(&self.masked, i)
    }

    /// The own bit of the mask of wire `i`.
    pub(super) fn own(&self, i: usize) -> bool {
        bits::get(&self.own, i)
    }
}

/// The sums of X^i times MACs, and keys, of as many as 128 shares.
fn sums(shares: &[Share]) -> Share {
    let mut macs = Secret::new([Block::ZERO; GROUP]);
    let mut keys = Secret::new([Block::ZERO; GROUP]);
    for ((share, mac), key) in shares.iter().zip(macs.iter_mut()).zip(keys.iter_mut()) {
        (*mac, *key) = (share.mac, share.key);
    }
    Share { mac: inner_product(&POWERS, &macs[..]), key: inner_product(&POWERS, &keys[..]) }
}

/// A fresh share, moved to the mask that the owner of each correction had.
pub(super) fn moved(fresh: Share, own: bool, peer: bool, delta: Block) -> Share {
    Share {
        mac: fresh.mac ^ Block::ONE.times(own),
        key: fresh.key ^ (delta ^ Block::ONE).times(peer),
    }
}

/// What both sides say of wires that come back together, packed.
#[derive(Default)]
pub(super) struct Corrections {
    pub(super) garbler: Vec<u8>,
    pub(super) evaluator: Vec<u8>,
}

impl Corrections {
    /// The peer's corrections, of so many wires.
    ///
    /// # Errors
    /// `Misbehaved("wrk.kept.format")` unless they are packed in the one way.
    pub(super) fn checked(packed: Vec<u8>, wires: usize) -> Result<Vec<u8>, Fault> {
        if bits::is_canonical(&packed, wires) {
            Ok(packed)
        } else {
            Err(Fault::Misbehaved("wrk.kept.format"))
        }
    }

    /// Corrections of both by whose they are for `role`: the own ones first.
    pub(super) fn by(&self, role: Role) -> [&[u8]; 2] {
        match role {
            Role::Garbler => [&self.garbler, &self.evaluator],
            Role::Evaluator => [&self.evaluator, &self.garbler],
        }
    }

    /// What the proofs and the labels of the `count`-th return of the session are made from.
    pub(super) fn coins(&self, session: &SessionId, count: u64) -> Coins {
        let oracle = RandomOracle::new("cenote 2026 engine wrk kept v1", session).number(count);
        let mut seeds = [0; 32];
        oracle.bytes(&self.garbler).bytes(&self.evaluator).fill(&mut seeds);
        let [coefficients, labels] =
            [0, 16].map(|at| Block::from_bytes(std::array::from_fn(|i| seeds[at + i])));
        Coins {
            own: LinearHash::new(coefficients),
            peer: LinearHash::new(coefficients),
            labels: Prg::new(labels),
        }
    }
}

/// The two sums and the labels of Lambda.
pub(super) struct Coins {
    own: LinearHash,
    peer: LinearHash,
    pub(super) labels: Prg,
}

impl Coins {
    /// Takes the shares in place of `resting` into the sums.
    pub(super) fn absorb(&mut self, resting: &Resting, shares: &[Share]) {
        let at_rest = resting.macs.iter().zip(resting.keys.iter());
        for (group, (mac, key)) in shares.chunks(GROUP).zip(at_rest) {
            let sums = sums(group);
            self.own.absorb(&[sums.mac ^ *mac]);
            self.peer.absorb(&[sums.key ^ *key]);
        }
    }

    /// The own proof, and the one that the peer must send.
    pub(super) fn proofs(self) -> [Block; 2] {
        [self.own.finish(), self.peer.finish()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::wrk::share::dealer::Dealer;

    /// Own and expected proof of each side, when `liar` adds something to its correction of each wire: what, it says once all that a cheater may
    /// know is said.
    fn proofs(
        wires: usize,
        liar: Role,
        lie: impl Fn(&Corrections, usize) -> bool,
    ) -> [[Block; 2]; 2] {
        let mut d = Dealer::new(wires as u128);
        let (a, b) = d.shares(wires);
        let lambda = |i: usize| i.is_multiple_of(3);
        let rest = [&a, &b].map(|shares| Resting::of(shares, (0..wires).map(lambda)));
        let (fresh_a, fresh_b) = d.shares(wires);
        let fresh = [fresh_a, fresh_b];
        let said =
            |side: usize| bits::pack((0..wires).map(|i| rest[side].own(i) ^ fresh[side][i].bit()));
        let mut said = Corrections { garbler: said(0), evaluator: said(1) };
        let lies = bits::pack((0..wires).map(|i| lie(&said, i)));
        let lying = match liar {
            Role::Garbler => &mut said.garbler,
            Role::Evaluator => &mut said.evaluator,
        };
        lying.iter_mut().zip(&lies).for_each(|(said, lie)| *said ^= lie);
        [Role::Garbler, Role::Evaluator].map(|role| {
            let side = role as usize;
            let [own, peer] = said.by(role);
            let back = fresh[side].iter().enumerate().map(|(i, fresh)| {
                moved(*fresh, bits::get(own, i), bits::get(peer, i), d.deltas[side])
            });
            let back: Vec<Share> = back.collect();
            let honest = |i: usize| role != liar || !bits::get(&lies, i);
            let was = [&a, &b][side];
            assert!((0..wires).all(|i| back[i].bit() == was[i].bit() || !honest(i)));
            assert!((0..wires).all(|i| rest[side].masked(i) == lambda(i)));
            let mut coins = said.coins(&SessionId([3; 32]), 0);
            coins.absorb(&rest[side], &back);
            coins.proofs()
        })
    }

    #[test]
    fn masks_come_back_at_every_length() {
        for wires in [1, 7, 127, 128, 129, 300] {
            let [[own_a, for_b], [own_b, for_a]] = proofs(wires, Role::Garbler, |_, _| false);
            assert!(own_a == for_a && own_b == for_b, "{wires}");
        }
    }

    /// Whichever masks are not those that were kept, and however many.
    #[test]
    fn other_masks_fail() {
        for wires in [1, 128, 200] {
            let lies: [&dyn Fn(usize) -> bool; 4] =
                [&|i| i == 0, &|i| i == wires - 1, &|_| true, &|i| i % 5 == 1 || i == 0];
            for (which, lie) in lies.iter().enumerate() {
                let [[own_a, for_b], [own_b, for_a]] = proofs(wires, Role::Garbler, |_, i| lie(i));
                assert!(own_a != for_a && own_b == for_b, "{which} of {wires}");
                let [[own_a, for_b], [own_b, for_a]] =
                    proofs(wires, Role::Evaluator, |_, i| lie(i));
                assert!(own_a == for_a && own_b != for_b, "{which} of {wires}");
            }
        }
    }

    /// With coefficients that are known before, a cheater lies in two groups so that the sum is what it would have been: x of one for the
    /// coefficient of the other.
    #[test]
    fn lies_that_fit_coefficients_known_before_fail() {
        let fits = |known: &Corrections, i: usize| {
            let mut coins = known.coins(&SessionId([3; 32]), 0);
            let mut unit = |one: [Block; 2]| {
                let mut hash = std::mem::replace(&mut coins.own, LinearHash::new(Block::ZERO));
                hash.absorb(&one);
                coins = known.coins(&SessionId([3; 32]), 0);
                hash.finish()
            };
            let of_second = unit([Block::ZERO, Block::ONE]);
            let of_first = unit([Block::ONE, Block::ZERO]);
            [of_second, of_first][i / GROUP].to_u128() >> (i % GROUP) & 1 == 1
        };
        let nothing = Corrections { garbler: Vec::new(), evaluator: Vec::new() };
        let before = |_: &Corrections, i: usize| fits(&nothing, i);
        let [[own, _], [_, expected]] = proofs(2 * GROUP, Role::Garbler, before);
        assert!(own != expected, "coefficients that hang on no correction");
        // The evaluator, who goes second.
        let second = |said: &Corrections, i: usize| fits(said, i);
        let [[_, expected], [own, _]] = proofs(2 * GROUP, Role::Evaluator, second);
        assert!(own != expected, "coefficients that do not hang on the evaluator's corrections");
    }

    #[test]
    fn what_lies_in_a_file_comes_back() {
        let mut d = Dealer::new(7);
        for wires in [0, 1, 127, 128, 300] {
            let shares = d.shares(wires).0;
            let resting = Resting::of(&shares, (0..wires).map(|i| i % 2 == 1));
            let mut bytes = Secret::new(Vec::new());
            resting.encode(&mut bytes);
            assert_eq!(bytes.len(), Resting::encoded_len(wires));
            let mut rest = &bytes[..];
            let again = Resting::decode(&mut rest).expect("whole");
            assert!(rest.is_empty() && again.wires == wires && again.masked == resting.masked);
            assert!(*again.own == *resting.own && *again.macs == *resting.macs);
            assert!(*again.keys == *resting.keys);
            for len in 0..bytes.len() {
                assert!(Resting::decode(&mut &bytes[..len]).is_none(), "cut to {len}");
            }
        }
        assert!(Resting::decode(&mut &[255; 64][..]).is_none(), "more than there may be");
    }

    #[test]
    fn stray_bits_are_refused() {
        assert!(Corrections::checked(vec![0b111], 3).is_ok());
        for bad in [vec![0b1111], vec![0, 0], vec![]] {
            assert_eq!(Corrections::checked(bad, 3), Err(Fault::Misbehaved("wrk.kept.format")));
        }
    }
}

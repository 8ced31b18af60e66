//! What outlives a session: the secrets of an epoch, ready items, pools, and what the evaluator found out.
//!
//! **Construction.** docs/protocols/epoch.md, the burn variant (`parts/keeper.rs`); what is particular to this backend:
//! docs/protocols/jimu.md, "What is kept". An epoch is one watch list and one Delta.
//! **Kept.** Garbler: the seeds of the hash, Delta; messages of ready wires; which item lies in which slot of a pool. Evaluator: its places and
//! seeds, what the watch lists have in escrow, the seed of its compressing matrices, the tag of Delta; ready buckets, wires in escrow and wires for inputs; the rows of
//! pools, or their roots in compact storage; two labels of one wire, if it saw any.
//! **Made anew in each connection.** Base OTs and the OT for the evaluator's inputs, under the same k(Delta); coins, coefficients, hashes of reports.
//! **What must never repeat under one Delta or one watch list.** Wire numbers, which are places in the streams of the hash and tweaks of gate hashes: numbered like
//! a stock ([`WIRES`]), on disk before the first correction of a wire leaves. Ready items: as in any epoch. Steps of a pool: none is
//! undone, as a pool is taken off the disk before anything is made.
//! **Adversary.** Malicious, either party: any check that fails ends the epoch, so there is one try at the watch list in it as in a session. What a garbler
//! gains by hanging up is another pool, and pools count.
//! **Leakage and abort.** Two labels of one wire end nothing. Whatever ends a session, the evaluator writes its secrets anew behind it, with such labels or with
//! zeros in their place.
//! **Checks.** None of its own beside those of `keeper.rs`: what is on disk is sealed.
//! **Private values.** None in a message.
//! **Costs.** 99 + 8 (stocks + 1) bytes each way at the start, instead of watch lists and Delta. Snapshots: docs/formats/pool.md.

use cenote_net::{Fault, Fingerprint, Role};
use cenote_prim::{Block, RandomOracle, Secret, SessionId};

use super::batch::{ESCROW, INPUTS};
use super::garbled_core::Conflict;
use super::ihash::Label;
use super::params::JimuParams;
use crate::parts::keeper::{Keeper, Terms};

/// Under this name the numbers of hashed wires are noted.
pub(super) const WIRES: &str = "wires";
/// Wires of an epoch: with more no connection begins. What they take on the line bounds batches of inputs as well
/// ([`JimuParams::input_sacrificed`]).
pub(super) const MOST_WIRES: u64 = 1 << 42;
/// Items or wires that one of two honest sides may have noted before the other: more than any line holds, or one output has bits.
pub(super) const MOST_APART: u64 = 1 << 24;
/// Wires for inputs, and wires in escrow, that are made with a stock that is kept: later requests had better make nothing.
pub(super) const SPARE: usize = 1 << 13;
/// Buckets that are kept at most.
pub(super) const MOST_KEPT: usize = 1 << 20;

/// The stocks whose items are numbered for the life of an epoch, in the order in which the supplies have them, and the wires.
pub(super) fn stocks(params: &JimuParams) -> Vec<String> {
    let cores = params.cores().map(|(shape, _)| shape.stock_name());
    cores.chain([ESCROW, INPUTS, WIRES].map(str::to_owned)).collect()
}

/// What the items of an epoch depend on besides its keys: all that both sides agree on but the OT, which is made anew.
pub(super) fn terms(params: &JimuParams, role: Role, peer: Option<Fingerprint>) -> Terms {
    let oracle = || RandomOracle::new("cenote 2026 engine jimu epoch v1", &SessionId([0; 32]));
    let params = JimuParams { ot: cenote_ot::Choice::default(), ..params.clone() };
    Terms::of(oracle, role, peer, |items| {
        params.terms().iter().fold(items, |items, (name, value)| {
            items.bytes(name.as_bytes()).bytes(value.as_bytes())
        })
    })
}

/// A whole set-up counts as a set of pools: the hash of Delta is checked by a coin, too, that the garbler sees first.
pub(super) fn count(keeper: Option<&mut Keeper>) -> Result<(), Fault> {
    match keeper {
        Some(keeper) => keeper.begin_making().map(drop),
        None => Ok(()),
    }
}

/// One side's secrets of an epoch.
pub(super) struct Epoch {
    /// The connection that it began in, by which the leaves of compact storage are hashed.
    pub(super) id: SessionId,
    /// Wires that the set-up took.
    pub(super) wires: u64,
    pub(super) blocks: Secret<Vec<Block>>,
    /// Places that are watched; none at the garbler.
    pub(super) places: Secret<Vec<u8>>,
}

impl Epoch {
    pub(super) fn to_bytes(&self) -> Secret<Vec<u8>> {
        let mut bytes = Secret::with_capacity(40 + 16 * self.blocks.len() + self.places.len());
        bytes.extend_from_slice(&self.id.0);
        bytes.extend_from_slice(&self.wires.to_le_bytes());
        bytes.extend_from_slice(Block::as_bytes(&self.blocks));
        bytes.extend_from_slice(&self.places);
        bytes
    }

    /// What [`Epoch::to_bytes`] gave with as many blocks and places.
    pub(super) fn from_bytes(bytes: &[u8], blocks: usize, places: usize) -> Option<Epoch> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (wires, rest) = rest.split_first_chunk()?;
        let (own, rest) = rest.split_at_checked(16 * blocks)?;
        let own = own.as_chunks().0.iter().map(|block| Block::from_bytes(*block));
        (rest.len() == places).then(|| Epoch {
            id: SessionId(*id),
            wires: u64::from_le_bytes(*wires),
            blocks: own.collect(),
            places: rest.iter().copied().collect(),
        })
    }
}

/// Two labels of one wire, and the session in which they were seen. As many bytes whether or not there are any.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) conflict: Conflict,
    pub(super) session: SessionId,
    /// It was seen in an epoch before this one: its Delta opens nothing here.
    pub(super) earlier: bool,
}

impl Found {
    /// The conflict, if it opens wires of the epoch that goes on.
    pub(super) fn opens(&self) -> Option<Conflict> {
        (!self.earlier).then(|| self.conflict.clone())
    }

    const LEN: usize = 1 + 32 + 8 + 2 * size_of::<Label>();

    /// What is written of what was found, if anything was.
    pub(super) fn to_bytes(found: Option<&Found>) -> Secret<Vec<u8>> {
        let mut bytes = Secret::with_capacity(Found::LEN);
        if let Some(Found { conflict, session, earlier }) = found {
            bytes.push(1 + u8::from(*earlier));
            bytes.extend_from_slice(&session.0);
            bytes.extend_from_slice(&conflict.wire.to_le_bytes());
            bytes.extend_from_slice(bytemuck::cast_slice(&conflict.labels));
        }
        bytes.resize(Found::LEN, 0);
        bytes
    }

    /// Splits off what was found, if anything, from the end of the secrets of an epoch.
    pub(super) fn split_off(bytes: &[u8]) -> Option<(&[u8], Option<Found>)> {
        let (rest, own) = bytes.split_at_checked(bytes.len().checked_sub(Found::LEN)?)?;
        Some((rest, Found::from_bytes(own)))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Found> {
        let (found, rest) = bytes.split_first()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (wire, labels) = rest.split_first_chunk()?;
        let mut conflict = Conflict { labels: [Label::ZERO; 2], wire: u64::from_le_bytes(*wire) };
        let own: &mut [u8] = bytemuck::cast_slice_mut(&mut conflict.labels);
        if own.len() != labels.len() || !(1..=2).contains(found) {
            return None;
        }
        own.copy_from_slice(labels);
        Some(Found { conflict, session: SessionId(*session), earlier: *found == 2 })
    }
}

/// A part of a snapshot is not what was written.
pub(super) fn other_size(what: &str) -> Fault {
    Fault::Storage(format!("{what}: items of another size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_back_as_they_were_and_in_no_other_size() {
        let (blocks, places) = (vec![Block::new(5), Block::new(1 << 90)], vec![7, 0, 255]);
        let (blocks, places) = (Secret::new(blocks), Secret::new(places));
        let epoch = Epoch { id: SessionId([3; 32]), wires: 1 << 33, blocks, places };
        let bytes = epoch.to_bytes();
        let again = Epoch::from_bytes(&bytes, 2, 3).expect("its own");
        assert_eq!((again.id, again.wires), (epoch.id, epoch.wires));
        assert_eq!(*again.to_bytes(), *bytes);
        assert!(again.blocks[1].ct_eq(epoch.blocks[1]));
        assert_eq!(*again.places, *epoch.places);
        for (blocks, places) in [(1, 3), (3, 3), (2, 2), (2, 4), (usize::MAX >> 5, 0)] {
            assert!(Epoch::from_bytes(&bytes, blocks, places).is_none());
        }
        assert!(Epoch::from_bytes(&bytes[..39], 0, 0).is_none());
    }

    #[test]
    fn what_was_found_takes_as_many_bytes_as_nothing() {
        let label = |number| Label([Block::new(number); 3]);
        let conflict = Conflict { labels: [label(3), label(8)], wire: 77 };
        let delta = conflict.delta();
        let mut found = Found { conflict, session: SessionId([9; 32]), earlier: true };
        let (none, old) = (Found::to_bytes(None), Found::to_bytes(Some(&found)));
        found.earlier = false;
        let some = Found::to_bytes(Some(&found));
        assert_eq!([none.len(), old.len(), some.len()], [Found::LEN; 3]);
        for (bytes, earlier) in [(&some, false), (&old, true)] {
            let read = Found::from_bytes(bytes).expect("found");
            assert_eq!((read.conflict.wire, read.session), (77, found.session));
            assert!(read.conflict.delta().key().ct_eq(delta.key()));
            assert_eq!(read.earlier, earlier);
        }
        for nothing in [&none[..], &[], &some[..Found::LEN - 1]] {
            assert!(Found::from_bytes(nothing).is_none());
        }
    }
}

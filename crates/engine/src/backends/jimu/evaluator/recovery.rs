//! Recovery: two valid labels of one wire give the evaluator the offset, with it the garbler's
//! inputs, and with those the right outputs. The garbler must not notice.
//!
//! The garbled run goes on as if nothing had happened, so that every message has its place and its
//! length. At each reveal from then on the job runs again from its start, in the clear, up to that
//! reveal ([`Replay`]): its values are put out, and reported to the garbler, instead of the garbled
//! ones (protocols A.13, option 4).

use cenote_circuit::Gates;
use cenote_net::{Fault, Role};
use cenote_prim::Block;
use zeroize::{Zeroize, Zeroizing};

use super::supply::Escrowed;
use crate::ihash::{HashReceiver, Label, Perm, ReedSolomonReceiver};
use crate::party::{Party, Receivers, expect_input};
use crate::protocols::escrow;

/// What one request keeps for a recovery.
#[derive(Default)]
pub(in crate::backends::jimu) struct Recovery {
    inputs: Escrows,
    masked: Vec<bool>,
    /// Reveals so far.
    pub(in crate::backends::jimu) reveals: usize,
}

/// Wires in escrow.
#[derive(Default)]
pub(super) struct Escrows {
    tags: Vec<Block>,
    records: Vec<Block>,
}

impl Escrows {
    pub(super) fn push(&mut self, escrowed: &Escrowed<'_>) {
        self.tags.push(escrowed.tag.perm);
        self.records.extend_from_slice(escrowed.records);
    }

    /// The permutation messages. Where every gadget of a bucket is bad, which the bound of the pool
    /// allows for, a zero one.
    pub(super) fn perms(&self, hash: &ReedSolomonReceiver, offset: &Label) -> Vec<Perm> {
        let blocks = hash.perm_blocks();
        let each = self.records.len() / self.tags.len().max(1);
        let recover = |(records, &tag): (&[Block], &Block)| {
            escrow::recover(blocks, hash, offset.key(), records, tag).unwrap_or(Perm::ZERO)
        };
        self.records.chunks_exact(each.max(1)).zip(&self.tags).map(recover).collect()
    }
}

impl Drop for Escrows {
    fn drop(&mut self) {
        self.records.zeroize();
    }
}

impl Drop for Recovery {
    fn drop(&mut self) {
        self.masked.zeroize();
    }
}

impl Recovery {
    /// An input of the garbler enters on a wire in escrow.
    pub(super) fn input(&mut self, escrowed: &Escrowed<'_>) {
        self.inputs.push(escrowed);
    }

    /// The masked value of the oldest input that has none.
    pub(super) fn masked(&mut self, masked: bool) {
        self.masked.push(masked);
    }

    /// The garbler's inputs of the request so far.
    pub(in crate::backends::jimu) fn inputs(
        &self,
        hash: &ReedSolomonReceiver,
        offset: &Label,
    ) -> Zeroizing<Vec<bool>> {
        let perms = Zeroizing::new(self.inputs.perms(hash, offset));
        let inputs = self.masked.iter().zip(&*perms).map(|(masked, perm)| masked ^ perm.bit());
        Zeroizing::new(inputs.collect())
    }
}

/// The evaluator's side of a job in the clear, up to one reveal.
pub struct Replay {
    garbler: Zeroizing<Vec<bool>>,
    /// How many of these were asked for.
    read: usize,
    /// Reveals still to pass.
    left: usize,
    found: Option<Vec<bool>>,
}

impl Replay {
    /// Runs until reveal number `until`, counted from 0, given the garbler's inputs.
    pub(in crate::backends::jimu) fn new(garbler: Zeroizing<Vec<bool>>, until: usize) -> Replay {
        Replay { garbler, read: 0, left: until, found: None }
    }

    /// The values of the wires of that reveal; `None` if the job did not come so far.
    pub(in crate::backends::jimu) fn found(self) -> Option<Vec<bool>> {
        self.found
    }
}

impl Gates for Replay {
    type Wire = bool;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<bool, Fault> {
        Ok(bit)
    }
    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a ^ b)
    }
    fn not(&mut self, a: &bool) -> Result<bool, Fault> {
        Ok(!a)
    }
    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a & b)
    }
}

impl Party for Replay {
    type Checked = ();

    fn role(&self) -> Role {
        Role::Evaluator
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<bool>, Fault> {
        let own = expect_input(Role::Evaluator, owner, len, bits)?;
        match owner {
            Role::Evaluator => Ok(own.to_vec()),
            Role::Garbler => {
                let from = self.read;
                self.read = from.saturating_add(len).min(self.garbler.len());
                Ok(self.garbler[from..self.read].to_vec())
            }
        }
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn open(&mut self, (): (), to: Receivers, wires: &[bool]) -> Result<Option<Vec<bool>>, Fault> {
        if self.left == 0 {
            self.found = Some(wires.to_vec());
            return Err(Fault::Internal("the replay has come as far as it should".into()));
        }
        self.left -= 1;
        Ok(to.include(Role::Evaluator).then(|| wires.to_vec()))
    }
}

//! What the garbler has left in escrow: an evaluator that was given both labels of a wire learns the permutation bits of all wires.
//!
//! **Functionality.** The watch lists are chosen OTs under correlated OT, whose correlation is the key of Delta: where the evaluator E watches it has
//! taken a seed, elsewhere a share of a secret. Whoever knows Delta opens the other message of each, so that the garbler G has left *all* seeds of
//! the hash with E, locked by Delta. If G cheats so that E meets both labels of a wire, E reads permutation bits off the streams
//! (`ihash/reed_solomon/escrow.rs`), and computes the result that an honest run has.
//! **The trial.** [`Escrow::agrees`]: E knows all shares. A sum of two labels is held for Delta if it opens shares as they were dealt, at places that E
//! watches, of each of the two lists. G may seal wrong shares there unseen if it guesses places that are watched; elsewhere a wrong share ends the set-up.
//! **Adversary.** Malicious garbler. How many places must agree: [`JimuParams::tried`], where the bound counts them.
//! **Private values.** None in a message, and no message depends on what opens: E does not say that it could have seen wrong seeds.
//! **Work.** The trial: as many pads as there are seeds, whether or not there is a candidate.
//! **Difference from the papers.** JIMU leaves open what to do with both labels; this is ours.

use cenote_ot::watch::Sealed;
use cenote_prim::{Block, Secret};

use crate::backends::jimu::ihash::{Label, ReedSolomonEscrow, Watch};
use crate::backends::jimu::params::JimuParams;

/// What is in escrow.
pub(in crate::backends::jimu) struct Escrow {
    params: JimuParams,
    /// Places and seeds that are watched of permutation messages.
    places: Secret<Vec<u8>>,
    seeds: Secret<Vec<Block>>,
    /// The watch lists of labels and of permutation messages.
    lists: [Sealed; 2],
}

impl Escrow {
    /// Of these lists, where `perms` is watched of the second.
    pub(in crate::backends::jimu) fn new(
        params: &JimuParams,
        perms: Watch<'_>,
        lists: [Sealed; 2],
    ) -> Escrow {
        Escrow {
            params: params.clone(),
            places: perms.positions.iter().copied().collect(),
            seeds: perms.seeds.iter().copied().collect(),
            lists,
        }
    }

    /// Whether `delta` opens shares of both lists: any, and enough to tell it from a sum that has the tag of Delta by luck.
    pub(in crate::backends::jimu) fn agrees(&self, delta: &Label) -> [bool; 2] {
        #[cfg(test)]
        crate::backends::jimu::tally::step();
        let counts = self.lists.each_ref().map(|list| list.agrees(delta.key()));
        let tried = self.params.tried();
        let [labels, perms] = [0, 1].map(|list| counts[list] >= tried[list] as usize);
        [(counts[0] > 0) & (counts[1] > 0), labels & perms]
    }

    /// What decodes permutation bits, by Delta.
    pub(in crate::backends::jimu) fn open(&self, delta: &Label) -> ReedSolomonEscrow {
        let (places, seeds) = self.lists[1].open(delta.key());
        let watched = Watch { positions: &self.places, seeds: &self.seeds };
        let others = Watch { positions: &places, seeds: &seeds };
        ReedSolomonEscrow::new(&self.params.codes, watched, others)
    }
}

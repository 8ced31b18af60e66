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

#[cfg(test)]
impl Escrow {
    /// The same with shares sealed for `sum` at so many of the watched places of each list, as a garbler with this Delta may have guessed them.
    pub(in crate::backends::jimu) fn sealed_for(
        &self,
        sum: &Label,
        delta: &Label,
        counts: [usize; 2],
    ) -> Escrow {
        let codes = &self.params.codes;
        let mut sizes = [codes.labels, codes.perms].map(|code| code.n as usize).into_iter();
        let mut counts = counts.into_iter();
        let lists = self.lists.each_ref().map(|list| {
            let (n, count) = (sizes.next().expect("two"), counts.next().expect("two"));
            let mut blocks = list.to_blocks();
            let pads = |delta: &Label| {
                let mut pads: Vec<Block> =
                    blocks[1..=n].iter().map(|mac| *mac ^ delta.key()).collect();
                cenote_prim::mitccrh::Mitccrh::new(blocks[0]).singles(&mut pads);
                pads
            };
            let (right, wrong) = (pads(delta), pads(sum));
            let masked = |place: usize| 1 + n + place;
            let share = |place: usize| 1 + 2 * n + place;
            let is_watched = |place: &usize| {
                (blocks[masked(*place)] ^ right[*place]).ct_eq(blocks[share(*place)])
            };
            let watched: Vec<usize> = (0..n).filter(is_watched).collect();
            for place in &watched[..count] {
                blocks[masked(*place)] = blocks[share(*place)] ^ wrong[*place];
            }
            let watched: Vec<u8> = watched.iter().map(|place| *place as u8).collect();
            Sealed::from_blocks(&blocks, &watched, n)
        });
        Escrow {
            params: self.params.clone(),
            places: self.places.clone(),
            seeds: self.seeds.clone(),
            lists,
        }
    }
}

//! Wires of the cheater at rest, and what it changes in its part of wires: between requests, while some rest, or after a reveal.

use cenote_engine::backends::wrk;
use cenote_engine::backends::wrk::share::Share;
use cenote_engine::{Fault, Role};
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, Prg, RandomOracle, bits};

use super::Cheater;
use super::online::{Gate, Wire};

/// The part of its wires that a cheater changes between two requests.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Lambda.
    Masked,
    /// The own bit of the share of the mask, without a MAC for it.
    Share,
    /// The label, by the cheater's Delta: at the garbler, L_{w,1} in place of L_{w,0}.
    Label,
}

/// What a cheater does to its part of wires at rest.
#[derive(Clone, Copy, Debug)]
pub enum AtRest {
    /// Changes each.
    Changed(Change),
    /// Takes each for the one before it.
    Swapped,
    /// Takes for them what rested there before, or in another cell of this length.
    Older,
}

impl Cheater {
    /// Changes the wires kept as `name`.
    ///
    /// # Panics
    /// If they are to be older ones, and as many were not kept before.
    pub fn change(&mut self, name: &str, change: AtRest) {
        let mut wires = self.kept[name].clone();
        if matches!(change, AtRest::Older) {
            assert_eq!(wires.len(), self.older[name].len(), "a memory of another shape");
            wires.clone_from(&self.older[name]);
        }
        self.change_resting(&mut wires, change);
        self.kept.insert(name.into(), wires);
    }

    /// Changes packed wires that rest in a request, in the call that wakes some after so many others.
    pub fn change_at_wake(&mut self, others: u64, change: AtRest) {
        self.at_wake = Some((others, change));
    }

    fn change_resting(&mut self, wires: &mut [usize], change: AtRest) {
        match change {
            // Labels are made when wires come back.
            AtRest::Changed(Change::Label) => self.relabelled = true,
            AtRest::Changed(change) => {
                wires.iter().for_each(|wire| self.change_wire(*wire, change))
            }
            AtRest::Swapped => wires.rotate_left(1),
            AtRest::Older => {}
        }
    }

    /// Cells that were packed and wake, as the cheater takes them: each wire is another one from now on, as one may rest at several places.
    pub(super) fn woken(&mut self, cells: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let change = match &mut self.at_wake {
            Some((0, _)) => self.at_wake.take().map(|(_, change)| change),
            Some((others, _)) => {
                *others -= 1;
                None
            }
            None => None,
        };
        let mut wires = Vec::new();
        for cell in cells {
            let older = self.woken_cells.insert(cell.len(), cell.clone());
            let older = older.filter(|_| matches!(change, Some(AtRest::Older)));
            for wire in older.unwrap_or_else(|| cell.clone()) {
                self.wires.push(self.wires[wire]);
                wires.push(self.wires.len() - 1);
            }
        }
        if let Some(change) = change {
            self.cheated_in = Some(self.jobs);
            self.change_resting(&mut wires, change);
        }
        let mut wires = &wires[..];
        cells
            .iter()
            .map(|cell| wires.split_off(..cell.len()).unwrap_or_default().to_vec())
            .collect()
    }

    fn change_wire(&mut self, wire: usize, change: Change) {
        let wire = &mut self.wires[wire];
        match change {
            Change::Masked => wire.masked ^= true,
            Change::Share => wire.mask.mac ^= Block::ONE,
            Change::Label => wire.label ^= self.delta,
        }
    }

    /// Changes wires after `reveals` more reveals: all that there are then, or the one of them that a gate takes up again after
    /// `only` others have.
    pub fn change_after(&mut self, reveals: u64, only: Option<u64>, change: Change) {
        self.changes = Some((self.reveals + reveals, only, change));
    }

    pub(super) fn revealed(&mut self) {
        self.reveals += 1;
        let Some((_, only, change)) = self.changes.take_if(|(at, ..)| *at == self.reveals) else {
            return;
        };
        let all = self.wires.len();
        if let Some(only) = only {
            self.due = Some((all, only, change));
            return;
        }
        self.cheated_in = Some(self.jobs);
        (0..all).for_each(|wire| self.change_wire(wire, change));
    }

    pub(super) fn change_taken(&mut self, gate: Gate) {
        let Some((all, left, change)) = &mut self.due else { return };
        let (a, b) = match gate {
            Gate::Constant(_) => return,
            Gate::Not(a) => (a, a),
            Gate::Xor(a, b) | Gate::And(a, b) => (a, b),
        };
        let Some(wire) = [a, b].into_iter().find(|wire| wire < all) else { return };
        if *left > 0 {
            *left -= 1;
            return;
        }
        let change = *change;
        self.due = None;
        self.cheated_in = Some(self.jobs);
        self.change_wire(wire, change);
    }

    /// Kept wires come back: the protocol of `resting.rs`, by what the wires had.
    pub(super) fn come_back(&mut self, lists: &[Vec<usize>]) -> Result<(), Fault> {
        if lists.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let all = lists.concat();
        assert!(all.len() <= 1 << 16, "one piece");
        let fresh = self.take_shares(all.len())?;
        let own = all.iter().zip(&fresh).map(|(&w, f)| self.wires[w].mask.bit() ^ f.bit());
        let own = bits::pack(own);
        let say = |cheater: &mut Cheater| {
            cheater.channel.send(wrk::tags::KEPT_BITS, &own)?;
            cheater.channel.flush()
        };
        if self.role == Role::Garbler {
            say(self)?;
        }
        let peer = self.channel.recv(wrk::tags::KEPT_BITS, bits::packed_len(all.len()))?;
        if self.role == Role::Evaluator {
            say(self)?;
        }
        let said = if self.role == Role::Garbler { [&own, &peer] } else { [&peer, &own] };
        let oracle = RandomOracle::new("cenote 2026 engine wrk kept v1", &self.session);
        let oracle = oracle.number(self.woken).bytes(said[0]).bytes(said[1]);
        self.woken += 1;
        let mut seeds = [0; 32];
        oracle.fill(&mut seeds);
        let seed = |at: usize| Block::from_bytes(std::array::from_fn(|i| seeds[at + i]));
        let (mut hash, mut labels) = (LinearHash::new(seed(0)), Prg::new(seed(16)));
        let mut first = 0;
        for wires in lists {
            let fresh = &fresh[first..first + wires.len()];
            let mut active = vec![Block::ZERO; wires.len()];
            labels.fill(&mut active);
            let mut differences = Vec::new();
            for (i, (&w, fresh)) in wires.iter().zip(fresh).enumerate() {
                let Wire { masked, mask: old, .. } = self.wires[w];
                let [own, peer] = [&own, &peer].map(|said| bits::get(said, first + i));
                let mac = fresh.mac ^ Block::ONE.times(own);
                let key = fresh.key ^ (self.delta ^ Block::ONE).times(peer);
                differences.push(self.cut_mac(mac ^ old.mac));
                let zero = active[i] ^ self.delta.times(masked && self.role == Role::Garbler);
                let label = zero ^ self.delta.times(self.relabelled);
                self.wires[w] = Wire { label, masked, mask: Share { mac, key } };
            }
            first += wires.len();
            for group in differences.chunks(128) {
                let power = |(i, difference): (usize, &Block)| {
                    cenote_prim::gf128::mul(Block::new(1 << i), *difference)
                };
                let sum = group.iter().enumerate().map(power);
                hash.absorb(&[sum.fold(Block::ZERO, |a, b| a ^ b)]);
            }
        }
        self.exchange_proofs(hash.finish())
    }

    /// Sends the proof for wires that came back; looks at none.
    fn exchange_proofs(&mut self, own: Block) -> Result<(), Fault> {
        if self.role == Role::Garbler {
            self.channel.recv(wrk::tags::KEPT_PROOF, 16)?;
        }
        self.channel.send(wrk::tags::KEPT_PROOF, &own.to_bytes())?;
        self.channel.flush()?;
        if self.role == Role::Evaluator {
            self.channel.recv(wrk::tags::KEPT_PROOF, 16)?;
        }
        Ok(())
    }
}

//! The mask pass: authenticated masks of all wires of a chunk, and Beaver's step for its ANDs.

use cenote_net::Role;
use cenote_pool::Lease;
use cenote_prim::{Block, bits};

use super::recorder::{Chunk, Kind};
use crate::protocols::authenticated_half_gates::Gate;
use crate::protocols::bucket::{Triple, beaver_differences, beaver_product};
use crate::protocols::share::Share;

/// This party's share of the mask of each live wire.
#[derive(Default)]
pub(super) struct Masks {
    pub(super) shares: Vec<Share>,
}

/// A chunk whose masks are known and whose f and g are being opened.
pub(super) struct Masked {
    chunk: Chunk,
    gates: Vec<Gate>,
    triples: Vec<Triple>,
    /// MACs on the own shares of f and g, gate after gate.
    pub(super) macs: Vec<Block>,
    /// Keys for the peer's.
    pub(super) keys: Vec<Block>,
}

/// A chunk ready for garbling and evaluation.
pub(super) struct Ready {
    pub(super) chunk: Chunk,
    pub(super) gates: Vec<Gate>,
}

impl Masks {
    /// Walks the chunk once: linear gates move masks, each AND takes a triple and a fresh mask.
    pub(super) fn pass(&mut self, chunk: Chunk, mut lease: Lease<Triple>) -> Masked {
        let n = chunk.ands;
        let triples = lease.rest().to_vec();
        let mut next = triples.iter();
        let mut gates = Vec::with_capacity(n);
        let mut macs = Vec::with_capacity(2 * n);
        let mut keys = Vec::with_capacity(2 * n);
        let shares = &mut self.shares;
        for gate in &chunk.gates {
            let (a, b) = (shares[gate.a as usize], shares[gate.b as usize]);
            shares[gate.out as usize] = match gate.kind {
                Kind::Zero | Kind::One => Share::ZERO,
                Kind::Xor => a.xor(b),
                Kind::Not => a,
                Kind::And => {
                    let triple = next.next().expect("one triple was taken for each AND");
                    let (f, g) = beaver_differences(triple, a, b);
                    macs.extend([f.mac, g.mac]);
                    keys.extend([f.key, g.key]);
                    gates.push(Gate { a, b, out: triple.mask });
                    triple.mask
                }
            };
        }
        Masked { chunk, gates, triples, macs, keys }
    }
}

impl Masked {
    /// ANDs of the chunk.
    pub(super) fn ands(&self) -> usize {
        self.gates.len()
    }

    /// With the peer's verified shares of f and g: adds the product of the input masks to the
    /// output masks.
    pub(super) fn finish(mut self, peer: &[u8], role: Role, delta: Block) -> Ready {
        let opened = |i: usize| self.macs[i].lsb() ^ bits::get(peer, i);
        for (i, (gate, triple)) in self.gates.iter_mut().zip(&self.triples).enumerate() {
            let (f, g) = (opened(2 * i), opened(2 * i + 1));
            gate.out = gate.out.xor(beaver_product(triple, f, g, role, delta));
        }
        Ready { chunk: self.chunk, gates: self.gates }
    }
}

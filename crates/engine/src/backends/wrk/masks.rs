//! The mask pass: authenticated masks of all wires of a chunk, and Beaver's step for its ANDs.

use cenote_net::Role;
use cenote_pool::Lease;
use cenote_prim::{Block, Growing, Secret, bits};

use crate::backends::wrk::authenticated_half_gates::Gate;
use crate::backends::wrk::bucket::{Triple, beaver_correction, beaver_differences};
use crate::backends::wrk::leaky_and::Width;
use crate::backends::wrk::packed::{BITS64, BITS96, BITS128};
use crate::backends::wrk::share::Share;
use crate::parts::chunk::{Chunk, Kind};

/// This party's share of the mask of each live wire.
#[derive(Default)]
pub(super) struct Masks {
    pub(super) shares: Growing<Share>,
}

/// A chunk whose masks are known and whose f and g are being opened.
pub(super) struct Beaver {
    chunk: Chunk,
    gates: Secret<Vec<Gate>>,
    /// MACs on the own shares of f and g, gate after gate.
    pub(super) macs: Secret<Vec<Block>>,
    /// Keys for the peer's.
    pub(super) keys: Secret<Vec<Block>>,
}

/// A chunk ready for garbling and evaluation.
pub(super) struct Ready {
    pub(super) chunk: Chunk,
    pub(super) gates: Secret<Vec<Gate>>,
}

impl Masks {
    /// Walks the chunk once: linear gates move masks, each AND takes a triple and a fresh mask.
    pub(super) fn pass(
        &mut self,
        chunk: Chunk,
        triples: Lease<'_>,
        width: Width,
        role: Role,
    ) -> Beaver {
        match width {
            Width::Bits64 => self.pass_of::<BITS64>(chunk, triples, role),
            Width::Bits96 => self.pass_of::<BITS96>(chunk, triples, role),
            Width::Bits128 => self.pass_of::<BITS128>(chunk, triples, role),
        }
    }

    fn pass_of<const N: usize>(&mut self, chunk: Chunk, triples: Lease<'_>, role: Role) -> Beaver {
        let n = chunk.ands;
        let mut next = bytemuck::cast_slice::<Block, Triple<N>>(&triples).iter();
        let mut gates = Secret::with_capacity(n);
        let mut macs = Secret::with_capacity(2 * n);
        let mut keys = Secret::with_capacity(2 * n);
        let shares = &mut self.shares;
        for gate in &chunk.gates {
            if gate.kind != Kind::And {
                gate.linear(shares, Share::ZERO);
                continue;
            }
            for [a, b, out] in gate.each() {
                let (a, b) = (shares[a], shares[b]);
                let triple = next.next().expect("one triple was taken for each AND");
                let [x, y, z, mask] = triple.map(|share| share.share(role));
                let (f, g) = beaver_differences((x, y), a, b);
                macs.extend([f.mac, g.mac]);
                keys.extend([f.key, g.key]);
                gates.push(Gate { a, b, out: z ^ mask });
                shares[out] = mask;
            }
        }
        Beaver { chunk, gates, macs, keys }
    }
}

impl Beaver {
    /// ANDs of the chunk.
    pub(super) fn ands(&self) -> usize {
        self.gates.len()
    }

    /// With the peer's verified shares of f and g: turns z in the output masks into the product of
    /// the input masks. The triple's x and y are f xor lambda_a and g xor lambda_b.
    pub(super) fn finish(mut self, peer: &[u8], role: Role, delta: Block) -> Ready {
        let share = |i: usize| Share { mac: self.macs[i], key: self.keys[i] };
        for (i, gate) in self.gates.iter_mut().enumerate() {
            let (own_f, own_g) = (share(2 * i), share(2 * i + 1));
            let f = own_f.bit() ^ bits::get(peer, 2 * i);
            let g = own_g.bit() ^ bits::get(peer, 2 * i + 1);
            let (x, y) = (own_f ^ gate.a, own_g ^ gate.b);
            gate.out = gate.out ^ beaver_correction(x, y, f, g, role, delta);
        }
        Ready { chunk: self.chunk, gates: self.gates }
    }
}

//! The one request of the puppet: inputs, a chunk of ten ANDs, outputs to both.

use cenote_engine::protocols::share::Share;
use cenote_engine::{Fault, Role, tags};
use cenote_prim::gf128::LinearHash;
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::{Block, RandomOracle, bits};

use super::{Cheat, Puppet};

/// Bits of each input, ANDs of each of the two layers.
const SIDE: usize = 5;
/// ANDs of the chunk.
const ANDS: usize = 2 * SIDE;

/// One wire: label (L_0 at the garbler, the active one at the evaluator), masked value, mask.
#[derive(Clone, Copy, Default)]
struct Wire {
    label: Block,
    masked: bool,
    mask: Share,
}

/// One AND: inputs, and the mask of the output xor the product of the input masks.
struct Gate {
    a: Wire,
    b: Wire,
    out: Share,
}

impl Puppet {
    pub(super) fn request(&mut self, inputs: &[Vec<bool>]) -> Result<Vec<bool>, Fault> {
        let mut wires = self.input(Role::Garbler, &inputs[0])?;
        wires.extend(self.input(Role::Evaluator, &inputs[1])?);
        let outputs = self.chunk(&wires)?;
        let mut result = vec![false; ANDS];
        for to in [Role::Evaluator, Role::Garbler] {
            if to != self.role {
                let macs: Vec<Block> = outputs.iter().map(|wire| wire.mask.mac).collect();
                let message = self.open(&macs, self.cheat == Cheat::FalseOutputMask);
                self.channel.send(tags::OUTPUT_MASK, &message)?;
                self.channel.flush()?;
                continue;
            }
            let peer = self.channel.recv(tags::OUTPUT_MASK, opening_len(ANDS))?;
            for (i, (bit, wire)) in result.iter_mut().zip(&outputs).enumerate() {
                *bit = wire.masked ^ wire.mask.bit() ^ bits::get(&peer, i);
            }
        }
        Ok(result)
    }

    fn input(&mut self, owner: Role, bits_of_owner: &[bool]) -> Result<Vec<Wire>, Fault> {
        let shares = self.take_shares(SIDE)?;
        let stray = if self.cheat == Cheat::StrayInputBit { 1 << 7 } else { 0 };
        let masked = if owner == self.role {
            let peer = self.channel.recv(tags::INPUT_MASK, opening_len(SIDE))?;
            let masked =
                (0..SIDE).map(|i| bits_of_owner[i] ^ shares[i].bit() ^ bits::get(&peer, i));
            let mut packed = bits::pack(masked);
            packed[0] |= stray;
            self.channel.send(tags::INPUT_BITS, &packed)?;
            packed
        } else {
            let macs: Vec<Block> = shares.iter().map(|share| share.mac).collect();
            let message = self.open(&macs, self.cheat == Cheat::FalseInputMask);
            self.channel.send(tags::INPUT_MASK, &message)?;
            self.channel.recv(tags::INPUT_BITS, bits::packed_len(SIDE))?
        };
        let mut labels = vec![Block::ZERO; SIDE];
        match self.role {
            Role::Garbler => {
                self.prg.fill(&mut labels);
                let active = |i: usize| labels[i] ^ self.delta.times(bits::get(&masked, i));
                let mut active: Vec<Block> = (0..SIDE).map(active).collect();
                if self.cheat == Cheat::InputLabel && owner == Role::Evaluator {
                    active[0] ^= Block::new(1 << 99);
                }
                self.channel.send(tags::INPUT_LABELS, Block::as_bytes(&active))?;
            }
            Role::Evaluator => {
                self.channel.recv_into(tags::INPUT_LABELS, Block::as_bytes_mut(&mut labels))?;
            }
        }
        let wire =
            |i: usize| Wire { label: labels[i], masked: bits::get(&masked, i), mask: shares[i] };
        Ok((0..SIDE).map(wire).collect())
    }

    /// Inputs of AND `i`: x[i] and y[i], then x[i] y[i] and y[i].
    fn operands(&self, i: usize) -> (usize, usize) {
        match i.checked_sub(SIDE) {
            None => (i, SIDE + i),
            Some(second) if self.cheat == Cheat::OtherCircuit => (second, SIDE + second),
            Some(second) => (2 * SIDE + second, SIDE + second),
        }
    }

    /// All ANDs: wires grow by one for each.
    fn chunk(&mut self, inputs: &[Wire]) -> Result<Vec<Wire>, Fault> {
        let triples = self.take_triples(ANDS)?;
        let mut wires = inputs.to_vec();
        wires.extend(triples.iter().map(|triple| Wire { mask: triple.mask, ..Wire::default() }));
        let mut differences = Vec::with_capacity(2 * ANDS);
        for (i, triple) in triples.iter().enumerate() {
            let (a, b) = self.operands(i);
            differences.push(triple.x.xor(wires[a].mask));
            differences.push(triple.y.xor(wires[b].mask));
        }
        let macs: Vec<Block> = differences.iter().map(|share| share.mac).collect();
        let message = self.open(&macs, self.cheat == Cheat::FalseBeaverBit);
        self.channel.send(tags::BEAVER_OPEN, &message)?;
        let peer = self.channel.recv(tags::BEAVER_OPEN, opening_len(2 * ANDS))?;
        let products: Vec<Share> = (triples.iter().enumerate())
            .map(|(i, triple)| {
                let f = differences[2 * i].bit() ^ bits::get(&peer, 2 * i);
                let g = differences[2 * i + 1].bit() ^ bits::get(&peer, 2 * i + 1);
                let product = triple.z.xor(triple.x.times(g)).xor(triple.y.times(f));
                product.add_public(f & g, self.role, self.delta).xor(triple.mask)
            })
            .collect();
        let oracle = RandomOracle::new("cenote 2026 engine half-gate start v1", &self.session);
        let mut hash = Mitccrh::new(oracle.blocks(&[self.start]).block());
        match self.role {
            Role::Garbler => self.garble(&mut wires, &products, &mut hash)?,
            Role::Evaluator => self.evaluate(&mut wires, &products, &mut hash)?,
        }
        Ok(wires.split_off(2 * SIDE))
    }

    fn garble(
        &mut self,
        wires: &mut [Wire],
        products: &[Share],
        hash: &mut Mitccrh,
    ) -> Result<(), Fault> {
        let (delta, mut tables, mut colours) = (self.delta, Vec::new(), Vec::new());
        for (i, out) in products.iter().enumerate() {
            let (a, b) = self.operands(i);
            let (a, b) = (wires[a], wires[b]);
            let mut h = [a.label, a.label ^ delta, b.label, b.label ^ delta];
            hash.pairs(&mut h);
            tables.push(h[0] ^ h[1] ^ b.mask.times_delta(delta));
            tables.push(h[2] ^ h[3] ^ a.label ^ a.mask.times_delta(delta));
            let label = h[0] ^ h[2] ^ out.times_delta(delta);
            colours.push(label.colour());
            wires[2 * SIDE + i].label = label;
        }
        match self.cheat {
            // The last AND: nothing reads it, so nothing else goes wrong.
            Cheat::TableColour(block) => tables[2 * (ANDS - 1) + block] ^= Block::new(2),
            Cheat::TableBits => tables.iter_mut().for_each(|block| *block ^= Block::new(1 << 77)),
            Cheat::ColourBit => colours[ANDS - 1] ^= true,
            Cheat::StrayColour => colours.extend([false, false, false, true]),
            _ => {}
        }
        let packed = bits::pack(colours);
        self.channel.send(tags::TABLES, &[Block::as_bytes(&tables), &packed].concat())?;
        let report = self.channel.recv(tags::MASKED, bits::packed_len(ANDS) + 32)?;
        for i in 0..ANDS {
            wires[2 * SIDE + i].masked = bits::get(&report, i);
        }
        let mut seed = [0; 16];
        seed.copy_from_slice(&report[report.len() - 16..]);
        let terms: Vec<Block> = (0..ANDS)
            .map(|i| {
                let Gate { a, b, out } = self.gate(wires, products, i);
                out.mac ^ b.mask.mac.times(a.masked) ^ a.mask.mac.times(b.masked)
            })
            .collect();
        let mut answer = LinearHash::new(Block::from_bytes(seed));
        answer.absorb(&terms);
        let mut answer = answer.finish();
        if self.cheat == Cheat::WrongAnswer {
            answer ^= Block::new(1 << 64);
        }
        self.channel.send(tags::MAC_HASH, &answer.to_bytes())
    }

    fn gate(&self, wires: &[Wire], products: &[Share], i: usize) -> Gate {
        let (a, b) = self.operands(i);
        Gate { a: wires[a], b: wires[b], out: products[i] }
    }

    fn evaluate(
        &mut self,
        wires: &mut [Wire],
        products: &[Share],
        hash: &mut Mitccrh,
    ) -> Result<(), Fault> {
        let message = self.channel.recv(tags::TABLES, 32 * ANDS + bits::packed_len(ANDS))?;
        let mut tables = vec![Block::ZERO; 2 * ANDS];
        Block::as_bytes_mut(&mut tables).copy_from_slice(&message[..32 * ANDS]);
        for i in 0..ANDS {
            let Gate { a, b, out } = self.gate(wires, products, i);
            let mut h = [a.label, b.label];
            hash.singles(&mut h);
            let left = h[0] ^ (tables[2 * i] ^ b.mask.mac).times(a.masked);
            let right = h[1] ^ (tables[2 * i + 1] ^ a.mask.mac ^ a.label).times(b.masked);
            let wire = &mut wires[2 * SIDE + i];
            wire.label = left ^ right ^ out.mac;
            wire.masked = bits::get(&message[32 * ANDS..], i) ^ wire.label.colour();
        }
        let outputs = &wires[2 * SIDE..];
        let mut masked = bits::pack(outputs.iter().map(|wire| wire.masked));
        match self.cheat {
            Cheat::FalseMasked => masked[0] ^= 1,
            Cheat::StrayMasked => masked[1] |= 1 << 7,
            _ => {}
        }
        let oracle = RandomOracle::new("cenote 2026 engine wrk labels v1", &self.session);
        let mut labels = LinearHash::new(oracle.number(1).bytes(&masked).block());
        labels.absorb(&outputs.iter().map(|wire| wire.label).collect::<Vec<Block>>());
        let mut labels = labels.finish();
        if self.cheat == Cheat::FalseLabelHash {
            labels ^= Block::ONE;
        }
        let seed = self.prg.block();
        let report = [masked.as_slice(), &labels.to_bytes(), &seed.to_bytes()].concat();
        self.channel.send(tags::MASKED, &report)?;
        self.channel.recv(tags::MAC_HASH, 16).map(|_| ())
    }
}

/// Bytes of the opening of `n` bits.
fn opening_len(n: usize) -> usize {
    bits::packed_len(n) + 16
}

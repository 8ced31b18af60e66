//! Requests of the cheater: inputs, gates in chunks of which some are in flight, reveals.

use cenote_circuit::{Gates, Resting};
use cenote_engine::backends::wrk;
use cenote_engine::backends::wrk::share::Share;
use cenote_engine::{Checked, Fault, Party, Receivers, Role};
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, Prg, RandomOracle, bits};

use super::{Cheat, Cheater, set_stray_bit};

/// ANDs and gates at which a chunk is full.
const CHUNK_ANDS: usize = 4096;
const CHUNK_GATES: usize = 131_072;

/// One wire: label (L_0 at the garbler, the active one at the evaluator), masked value, mask.
#[derive(Clone, Copy, Default)]
pub(super) struct Wire {
    pub(super) label: Block,
    pub(super) masked: bool,
    pub(super) mask: Share,
}

/// A gate; its output is the next wire.
#[derive(Clone, Copy)]
pub(super) enum Gate {
    Constant(bool),
    Xor(usize, usize),
    Not(usize),
    And(usize, usize),
}

/// An input whose masks are chosen.
pub(super) struct Input {
    /// Its first wire.
    first: usize,
    shares: Vec<Share>,
    /// At the owner.
    own: Option<Vec<bool>>,
}

/// Gates whose outputs are the wires from `first` on.
pub(super) struct Chunk {
    first: usize,
    gates: Vec<Gate>,
    number: u64,
    /// The product of each AND as far as it is known without f and g; then the mask of its output,
    /// with the product of the input masks added.
    products: Vec<Share>,
    /// x xor lambda_a, x, y xor lambda_b and y of each AND.
    factors: Vec<[Share; 4]>,
}

impl Chunk {
    fn ands(&self) -> usize {
        self.products.len()
    }

    /// Each gate with its output wire.
    fn gates(&self) -> impl Iterator<Item = (Gate, usize)> + '_ {
        self.gates.iter().copied().zip(self.first..)
    }
}

impl Cheater {
    fn record(&mut self, gate: Gate) -> Result<usize, Fault> {
        if self.gates.len() == CHUNK_GATES || self.ands == CHUNK_ANDS {
            self.flush()?;
        }
        self.change_taken(gate);
        self.ands += usize::from(matches!(gate, Gate::And(..)));
        self.gates.push(gate);
        self.wires.push(Wire::default());
        Ok(self.wires.len() - 1)
    }

    /// Opens f and g of the recorded chunk, if there is one, and moves the chunks in flight on by one.
    fn flush(&mut self) -> Result<(), Fault> {
        if self.gates.is_empty() {
            return Ok(());
        }
        self.finish_inputs()?;
        let mut gates = std::mem::take(&mut self.gates);
        let ands = std::mem::take(&mut self.ands);
        if self.triples.len() < ands {
            // Nothing may be in flight while a refill talks.
            self.settle()?;
        }
        if ands > 0 && self.cheats(Cheat::OtherCircuit) {
            let last = gates.iter_mut().rev().find(|gate| matches!(gate, Gate::And(..)));
            if let Some(Gate::And(a, _)) = last {
                *a = 0;
            }
        }
        let chunk = self.mask(gates, ands)?;
        if ands > 0 {
            let macs: Vec<Block> =
                chunk.factors.iter().flat_map(|[f, _, g, _]| [f.mac, g.mac]).collect();
            let lie = self.cheats(Cheat::FalseBeaverBit);
            let message = self.open_bits(&macs, lie);
            self.channel.send(wrk::tags::BEAVER_OPEN, &message)?;
        }
        match self.role {
            Role::Garbler => {
                while self.waiting.len() > 1 {
                    self.answer()?;
                }
                let chunk = self.multiply(chunk)?;
                self.garble(&chunk)?;
                self.waiting.push_back(chunk);
            }
            Role::Evaluator => {
                self.channel.flush()?;
                self.evaluate_waiting()?;
                self.waiting.push_back(chunk);
            }
        }
        Ok(())
    }

    /// Ends what is in flight.
    fn settle(&mut self) -> Result<(), Fault> {
        self.finish_inputs()?;
        match self.role {
            Role::Garbler => {
                while !self.waiting.is_empty() {
                    self.answer()?;
                }
            }
            Role::Evaluator => {
                self.evaluate_waiting()?;
                while !self.unanswered.is_empty() {
                    self.take_answer()?;
                }
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Fault> {
        self.flush()?;
        self.settle()
    }

    /// The masks of all wires of a chunk: each AND takes a triple.
    fn mask(&mut self, gates: Vec<Gate>, ands: usize) -> Result<Chunk, Fault> {
        let triples = self.take_triples(ands)?;
        let mut triples = triples.iter();
        self.chunks += 1;
        let mut chunk = Chunk {
            first: self.wires.len() - gates.len(),
            gates,
            number: self.chunks,
            products: Vec::with_capacity(ands),
            factors: Vec::with_capacity(ands),
        };
        for (gate, out) in chunk.gates.iter().zip(chunk.first..) {
            let mask = |wire: usize| self.wires[wire].mask;
            self.wires[out].mask = match *gate {
                Gate::Constant(_) => Share::ZERO,
                Gate::Xor(a, b) => mask(a) ^ mask(b),
                Gate::Not(a) => mask(a),
                Gate::And(a, b) => {
                    let triple = triples.next().expect("one for each AND");
                    let (f, g) = (triple.x ^ mask(a), triple.y ^ mask(b));
                    chunk.factors.push([f, triple.x, g, triple.y]);
                    chunk.products.push(triple.z ^ triple.mask);
                    triple.mask
                }
            };
        }
        Ok(chunk)
    }

    /// Beaver's step with the peer's shares of f and g.
    fn multiply(&mut self, mut chunk: Chunk) -> Result<Chunk, Fault> {
        if chunk.ands() == 0 {
            return Ok(chunk);
        }
        let peer = self.channel.recv(wrk::tags::BEAVER_OPEN, opening_len(2 * chunk.ands()))?;
        for (i, (product, [f, x, g, y])) in
            chunk.products.iter_mut().zip(&chunk.factors).enumerate()
        {
            let f = f.bit() ^ bits::get(&peer, 2 * i);
            let g = g.bit() ^ bits::get(&peer, 2 * i + 1);
            *product = *product ^ x.times(g) ^ y.times(f);
            *product = product.add_public(f & g, self.role, self.delta);
        }
        Ok(chunk)
    }

    /// Garbler: labels and tables of a chunk.
    fn garble(&mut self, chunk: &Chunk) -> Result<(), Fault> {
        let (delta, mut tables, mut colours) = (self.delta, Vec::new(), Vec::new());
        for (gate, out) in chunk.gates() {
            let label = |wire: usize| self.wires[wire].label;
            self.wires[out].label = match gate {
                Gate::Constant(bit) => delta.times(bit),
                Gate::Xor(a, b) => label(a) ^ label(b),
                Gate::Not(a) => label(a) ^ delta,
                Gate::And(a, b) => {
                    let (a, b) = (self.wires[a], self.wires[b]);
                    let mut h = [a.label, a.label ^ delta, b.label, b.label ^ delta];
                    self.half_gates.pairs(&mut h);
                    tables.push(h[0] ^ h[1] ^ b.mask.times_delta(delta));
                    tables.push(h[2] ^ h[3] ^ a.label ^ a.mask.times_delta(delta));
                    let product = chunk.products[colours.len()];
                    let label = h[0] ^ h[2] ^ product.times_delta(delta);
                    colours.push(label.colour());
                    label
                }
            };
        }
        if chunk.ands() == 0 {
            return Ok(());
        }
        self.falsify_tables(&mut tables, &mut colours);
        let mut packed = bits::pack(colours);
        if self.cheats(Cheat::StrayColour) {
            set_stray_bit(&mut packed, chunk.ands());
        }
        self.channel.send(wrk::tags::TABLES, &[Block::as_bytes(&tables), &packed].concat())?;
        self.channel.flush()
    }

    /// The cheats with tables. Nothing should read the last AND, so that nothing else goes wrong.
    fn falsify_tables(&mut self, tables: &mut [Block], colours: &mut [bool]) {
        let cheat = self.cheat;
        let of_tables = matches!(cheat, Cheat::TableBits | Cheat::ColourBit | Cheat::ForeseenSeed);
        if !(of_tables || matches!(cheat, Cheat::TableColour(_))) || !self.is_time() {
            return;
        }
        let last = colours.len() - 1;
        match cheat {
            Cheat::TableColour(block) => tables[2 * last + block] ^= Block::new(2),
            Cheat::TableBits => {
                tables.iter_mut().for_each(|block| *block ^= Block::new(1 << 77));
            }
            Cheat::ColourBit => colours[last] ^= true,
            _ => {
                for gate in unseen(self.last_seed, colours.len()) {
                    colours[gate] ^= true;
                }
            }
        }
    }

    /// Whether it came to cheat.
    #[must_use]
    pub fn has_cheated(&self) -> bool {
        self.cheated_in.is_some()
    }

    /// Garbler: gives up a request at which the honest side gave up, once it has the report on the
    /// oldest chunk in flight. No answer is sent.
    ///
    /// # Errors
    /// Whatever comes in place of the report.
    pub fn abandon(&mut self) -> Result<(), Fault> {
        if let Some(chunk) = self.waiting.pop_front() {
            self.take_report(chunk.ands())?;
        }
        self.waiting.clear();
        Ok(())
    }

    fn take_report(&mut self, ands: usize) -> Result<Vec<u8>, Fault> {
        match ands {
            0 => Ok(Vec::new()),
            n => self.channel.recv(wrk::tags::REPORT, bits::packed_len(n) + 32),
        }
    }

    /// Garbler: takes the report on the oldest chunk in flight, and answers it.
    fn answer(&mut self) -> Result<(), Fault> {
        let Some(chunk) = self.waiting.pop_front() else { return Ok(()) };
        let n = chunk.ands();
        let report = self.take_report(n)?;
        let mut terms = Vec::with_capacity(n);
        for (gate, out) in chunk.gates() {
            let masked = |wire: usize| self.wires[wire].masked;
            self.wires[out].masked = match gate {
                Gate::Constant(bit) => bit,
                Gate::Xor(a, b) => masked(a) ^ masked(b),
                Gate::Not(a) => !masked(a),
                Gate::And(a, b) => {
                    let (a, b, i) = (self.wires[a], self.wires[b], terms.len());
                    let inputs = b.mask.mac.times(a.masked) ^ a.mask.mac.times(b.masked);
                    terms.push(self.cut_mac(chunk.products[i].mac ^ inputs));
                    bits::get(&report, i)
                }
            };
        }
        if n == 0 {
            return Ok(());
        }
        let mut seed = [0; 16];
        seed.copy_from_slice(&report[report.len() - 16..]);
        self.last_seed = Block::from_bytes(seed);
        let mut answer = LinearHash::new(self.last_seed);
        answer.absorb(&terms);
        let mut answer = answer.finish();
        if self.cheats(Cheat::WrongAnswer) {
            answer ^= Block::new(1 << 64);
        }
        self.channel.send(wrk::tags::MAC_HASH, &answer.to_bytes())
    }

    /// Evaluator: evaluates the chunk whose f and g were opened last, and reports.
    fn evaluate_waiting(&mut self) -> Result<(), Fault> {
        let Some(chunk) = self.waiting.pop_front() else { return Ok(()) };
        let chunk = self.multiply(chunk)?;
        while self.unanswered.len() > 1 {
            self.take_answer()?;
        }
        let n = chunk.ands();
        let message = match n {
            0 => Vec::new(),
            _ => self.channel.recv(wrk::tags::TABLES, 32 * n + bits::packed_len(n))?,
        };
        let mut tables = vec![Block::ZERO; 2 * n];
        Block::as_bytes_mut(&mut tables).copy_from_slice(&message[..32 * n]);
        let outputs = self.evaluate(&chunk, &tables, &message[32 * n..]);
        self.unanswered.push_back(n > 0);
        if n == 0 { Ok(()) } else { self.report(chunk.number, &outputs) }
    }

    /// The outputs of all ANDs of a chunk.
    fn evaluate(&mut self, chunk: &Chunk, tables: &[Block], colours: &[u8]) -> Vec<Wire> {
        let mut outputs = Vec::with_capacity(chunk.ands());
        for (gate, out) in chunk.gates() {
            let wire = |wire: usize| self.wires[wire];
            let (label, masked) = match gate {
                Gate::Constant(bit) => (Block::ZERO, bit),
                Gate::Xor(a, b) => (wire(a).label ^ wire(b).label, wire(a).masked ^ wire(b).masked),
                Gate::Not(a) => (wire(a).label, !wire(a).masked),
                Gate::And(a, b) => {
                    let (a, b, i) = (wire(a), wire(b), outputs.len());
                    let mut h = [a.label, b.label];
                    self.half_gates.singles(&mut h);
                    let left = h[0] ^ (tables[2 * i] ^ b.mask.mac).times(a.masked);
                    let right = h[1] ^ (tables[2 * i + 1] ^ a.mask.mac ^ a.label).times(b.masked);
                    let label = left ^ right ^ chunk.products[i].mac;
                    (label, bits::get(colours, i) ^ label.colour())
                }
            };
            let wire = Wire { label, masked, mask: self.wires[out].mask };
            self.wires[out] = wire;
            if matches!(gate, Gate::And(..)) {
                outputs.push(wire);
            }
        }
        outputs
    }

    fn report(&mut self, chunk: u64, outputs: &[Wire]) -> Result<(), Fault> {
        let mut masked = bits::pack(outputs.iter().map(|wire| wire.masked));
        masked[0] ^= u8::from(self.cheats(Cheat::FalseMasked));
        if self.cheats(Cheat::StrayMasked) {
            set_stray_bit(&mut masked, outputs.len());
        }
        let oracle = RandomOracle::new("cenote 2026 engine wrk labels v1", &self.session);
        let mut labels = LinearHash::new(oracle.number(chunk).bytes(&masked).block());
        labels.absorb(&outputs.iter().map(|wire| wire.label).collect::<Vec<Block>>());
        let mut labels = labels.finish();
        if self.cheats(Cheat::FalseLabelHash) {
            labels ^= Block::ONE;
        }
        let seed = self.prg.block();
        let report = [masked.as_slice(), &labels.to_bytes(), &seed.to_bytes()].concat();
        self.channel.send(wrk::tags::REPORT, &report)
    }

    /// Evaluator: takes the answer to the oldest report without one, and does not look at it.
    fn take_answer(&mut self) -> Result<(), Fault> {
        if self.unanswered.pop_front() == Some(true) {
            self.channel.recv(wrk::tags::MAC_HASH, 16)?;
            self.answers += 1;
        }
        Ok(())
    }

    /// Masked values of all inputs that were begun, then their labels in their order.
    fn finish_inputs(&mut self) -> Result<(), Fault> {
        let inputs = std::mem::take(&mut self.inputs);
        let mut masked = Vec::with_capacity(inputs.len());
        for input in &inputs {
            masked.push(input.own.as_ref().map(|own| self.say_masked(input, own)).transpose()?);
        }
        for (input, masked) in inputs.iter().zip(&mut masked) {
            if self.role == Role::Evaluator && masked.is_none() {
                *masked = Some(self.hear_masked(input)?);
            }
        }
        for (input, masked) in inputs.iter().zip(masked) {
            let masked = masked.map_or_else(|| self.hear_masked(input), Ok)?;
            self.label(input, &masked)?;
        }
        Ok(())
    }

    /// Announces Lambda = x xor lambda of an own input; returns it, packed.
    fn say_masked(&mut self, input: &Input, own: &[bool]) -> Result<Vec<u8>, Fault> {
        let shares = &input.shares;
        let peer = self.channel.recv(wrk::tags::INPUT_MASK, opening_len(shares.len()))?;
        let masked = own.iter().zip(shares).enumerate();
        let masked = masked.map(|(i, (bit, share))| bit ^ share.bit() ^ bits::get(&peer, i));
        let mut packed = bits::pack(masked);
        if self.cheats(Cheat::StrayInputBit) {
            set_stray_bit(&mut packed, shares.len());
        }
        self.channel.send(wrk::tags::INPUT_BITS, &packed)?;
        Ok(packed)
    }

    fn hear_masked(&mut self, input: &Input) -> Result<Vec<u8>, Fault> {
        self.channel.recv(wrk::tags::INPUT_BITS, bits::packed_len(input.shares.len()))
    }

    fn label(&mut self, input: &Input, masked: &[u8]) -> Result<(), Fault> {
        let mut labels = vec![Block::ZERO; input.shares.len()];
        match self.role {
            Role::Garbler => {
                self.prg.fill(&mut labels);
                let active =
                    |(i, label): (usize, &Block)| *label ^ self.delta.times(bits::get(masked, i));
                let mut active: Vec<Block> = labels.iter().enumerate().map(active).collect();
                if input.own.is_none() && self.cheats(Cheat::InputLabel) {
                    active[0] ^= Block::new(1 << 99);
                }
                self.channel.send(wrk::tags::INPUT_LABELS, Block::as_bytes(&active))?;
            }
            Role::Evaluator => {
                self.channel
                    .recv_into(wrk::tags::INPUT_LABELS, Block::as_bytes_mut(&mut labels))?;
            }
        }
        for (i, (&label, &mask)) in labels.iter().zip(&input.shares).enumerate() {
            self.wires[input.first + i] = Wire { label, masked: bits::get(masked, i), mask };
        }
        Ok(())
    }
}

impl Gates for Cheater {
    type Wire = usize;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<usize, Fault> {
        self.record(Gate::Constant(bit))
    }

    fn xor(&mut self, a: &usize, b: &usize) -> Result<usize, Fault> {
        self.record(Gate::Xor(*a, *b))
    }

    fn not(&mut self, a: &usize) -> Result<usize, Fault> {
        self.record(Gate::Not(*a))
    }

    fn and(&mut self, a: &usize, b: &usize) -> Result<usize, Fault> {
        self.record(Gate::And(*a, *b))
    }
}

impl Party for Cheater {
    type Checked<'p> = &'p mut Self;

    fn role(&self) -> Role {
        self.role
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        own: Option<&[bool]>,
    ) -> Result<Vec<usize>, Fault> {
        self.flush()?;
        if self.inputs.is_empty() || self.shares.len() < len {
            self.settle()?;
        }
        if len == 0 {
            return Ok(Vec::new());
        }
        let shares = self.take_shares(len)?;
        if owner != self.role {
            let macs: Vec<Block> = shares.iter().map(|share| share.mac).collect();
            let lie = self.cheats(Cheat::FalseInputMask);
            let message = self.open_bits(&macs, lie);
            self.channel.send(wrk::tags::INPUT_MASK, &message)?;
        }
        let first = self.wires.len();
        let masks = shares.iter().map(|&mask| Wire { mask, ..Wire::default() });
        self.wires.extend(masks);
        self.inputs.push(Input { first, shares, own: own.map(<[bool]>::to_vec) });
        Ok((first..first + len).collect())
    }

    fn check(&mut self) -> Result<&mut Self, Fault> {
        self.drain()?;
        Ok(self)
    }

    fn keep(&mut self, name: &str, wires: &[usize]) -> Result<(), Fault> {
        self.drain()?;
        if let Some(before) = self.kept.insert(name.into(), wires.to_vec()) {
            self.older.insert(name.into(), before);
        }
        Ok(())
    }

    fn packs(&self) -> bool {
        true
    }

    fn rest(&mut self, wires: Vec<usize>) -> Result<Resting<usize>, Fault> {
        Ok(packed(&wires))
    }

    fn wake(&mut self, cells: Vec<Resting<usize>>) -> Result<Vec<Vec<usize>>, Fault> {
        let is_packed = |cell: &&Resting<usize>| matches!(cell, Resting::Packed { .. });
        let resting: Vec<Vec<usize>> = cells.iter().filter(is_packed).map(numbers).collect();
        if resting.is_empty() {
            return Ok(cells.iter().map(numbers).collect());
        }
        self.drain()?;
        let woken = self.woken(&resting);
        self.come_back(&woken)?;
        let mut woken = woken.into_iter();
        let taken = |cell: &Resting<usize>| match cell {
            Resting::Wires(wires) => wires.clone(),
            Resting::Packed { .. } => woken.next().unwrap_or_default(),
        };
        Ok(cells.iter().map(taken).collect())
    }

    fn keep_cells(&mut self, name: &str, cells: Vec<Resting<usize>>) -> Result<(), Fault> {
        let wires: Vec<usize> = cells.iter().flat_map(numbers).collect();
        self.keep(name, &wires)
    }

    fn kept_cells(&mut self, name: &str, lengths: &[usize]) -> Result<Vec<Resting<usize>>, Fault> {
        let mut wires = &self.kept[name][..];
        let cells = lengths.iter().map(|len| packed(wires.split_off(..*len).unwrap_or_default()));
        Ok(cells.collect())
    }

    /// They are the same wires, with other masks and labels.
    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<usize>>, Fault> {
        self.drain()?;
        let all: Vec<Vec<usize>> = names.iter().map(|name| self.kept[*name].clone()).collect();
        self.come_back(&all)?;
        Ok(all)
    }
}

/// What a cheater packs: the numbers of the wires.
fn packed(wires: &[usize]) -> Resting<usize> {
    let bytes = wires.iter().flat_map(|wire| wire.to_le_bytes()).collect();
    Resting::Packed { wires: wires.len(), bytes }
}

fn numbers(cell: &Resting<usize>) -> Vec<usize> {
    match cell {
        Resting::Wires(wires) => wires.clone(),
        Resting::Packed { bytes, .. } => {
            bytes.as_chunks().0.iter().map(|wire| usize::from_le_bytes(*wire)).collect()
        }
    }
}

impl Checked<usize> for &mut Cheater {
    fn open(self, to: Receivers, wires: &[usize]) -> Result<Option<Vec<bool>>, Fault> {
        let mut result = None;
        for receiver in [Role::Evaluator, Role::Garbler] {
            if !to.include(receiver) {
                continue;
            }
            if receiver != self.role {
                let macs: Vec<Block> = wires.iter().map(|&w| self.wires[w].mask.mac).collect();
                let lie = self.cheats(Cheat::FalseOutputMask);
                let message = self.open_bits(&macs, lie);
                self.channel.send(wrk::tags::OUTPUT_MASK, &message)?;
                self.channel.flush()?;
                continue;
            }
            let peer = self.channel.recv(wrk::tags::OUTPUT_MASK, opening_len(wires.len()))?;
            let value = |(i, &w): (usize, &usize)| {
                let Wire { masked, mask, .. } = self.wires[w];
                masked ^ mask.bit() ^ bits::get(&peer, i)
            };
            result = Some(wires.iter().enumerate().map(value).collect());
        }
        self.revealed();
        Ok(result)
    }
}

/// Gates, of `ands`, whose coefficients in D_M under `seed` add up to zero: among more than 128
/// coefficients of 128 bits there are such.
fn unseen(seed: Block, ands: usize) -> Vec<usize> {
    let mut coefficients = vec![Block::ZERO; ands];
    Prg::new(seed).fill(&mut coefficients);
    // Sums of coefficients, each without the leading bits of those before it, and what they are of.
    let mut basis: Vec<(u128, Vec<bool>)> = Vec::new();
    for (gate, coefficient) in coefficients.iter().enumerate() {
        let mut sum = coefficient.to_u128();
        let mut gates = vec![false; ands];
        gates[gate] = true;
        for (other, others) in &basis {
            if sum ^ other > sum {
                continue;
            }
            sum ^= other;
            gates.iter_mut().zip(others).for_each(|(gate, other)| *gate ^= other);
        }
        if sum == 0 {
            return (0..ands).filter(|&gate| gates[gate]).collect();
        }
        basis.push((sum, gates));
    }
    panic!("{ands} ANDs are too few for coefficients that add up to zero")
}

/// Bytes of the opening of `n` bits.
fn opening_len(n: usize) -> usize {
    bits::packed_len(n) + 16
}

//! The garbling cheater: requests.

use cenote_circuit::Gates;
use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::garbled_core::outer_solder;
use cenote_engine::backends::jimu::ihash::{Label, Message, Perm, encode};
use cenote_engine::{Checked, Fault, Party, Receivers, Role};
use cenote_prim::gf128::LinearHash;
use cenote_prim::{Block, RandomOracle, bits};

use super::cheat::{AtRest, Cheat};
use super::garbler::{Garbler, Wire};
use super::items::Kind;
use super::lies::{garbage, negated, turned};
use super::params::{PIECE, WIDTH};

impl Garbler {
    fn flush(&mut self) -> Result<(), Fault> {
        if self.solders.is_empty() {
            return Ok(());
        }

        if self.reports >= self.plan.after && !std::mem::replace(&mut self.flushed, true) {
            let first = &mut self.solders[0];
            match self.plan.cheat {
                Cheat::OuterLabel => first.label ^= self.delta,
                Cheat::OuterNot => *first = negated(first, &self.delta),
                _ => {}
            }
        }
        let mut frame = Vec::new();
        encode(&self.solders, 1, &mut frame);
        self.solders.clear();
        self.channel.send(jimu::tags::JIMU_OUTER, &frame)
    }

    fn own_inputs(&mut self, values: &[bool]) -> Result<Vec<Wire>, Fault> {
        let wires = self.take_escrowed(values.len())?;
        let active = wires.iter().zip(values);
        let mut labels: Vec<Label> = active
            .map(|(wire, value)| wire.label ^ self.delta.times(value ^ wire.perm.bit()))
            .collect();
        if self.cheats(Cheat::InputLabel) {
            labels[0] = garbage(0);
        }
        let blocks: Vec<Block> = labels.iter().flat_map(|label| label.0).collect();
        self.channel.send(jimu::tags::JIMU_LABELS, Block::as_bytes(&blocks))?;
        Ok(wires.into_iter().map(|message| Wire { message, flip: false }).collect())
    }

    fn peer_inputs(&mut self, len: usize) -> Result<Vec<Wire>, Fault> {
        let labels = self.take_inputs(len)?;
        let masked = self.channel.recv(jimu::tags::JIMU_CHOICES, bits::packed_len(len))?;
        let wire = |(i, label)| Wire {
            message: Message { label, perm: Perm::ZERO },
            flip: bits::get(&masked, i),
        };
        Ok(labels.into_iter().enumerate().map(wire).collect())
    }

    /// A reveal of at most [`PIECE`] wires.
    fn open_piece(&mut self, to: Receivers, wires: &[Wire]) -> Result<Vec<bool>, Fault> {
        let number = self.reports;
        let lies = [Cheat::OutputPerm, Cheat::Bond].map(|lie| self.cheats(lie));
        self.reports += 1;
        let mut perms: Vec<Perm> = wires.iter().map(|wire| wire.message.perm).collect();
        let tag = if to.include(Role::Evaluator) {
            jimu::tags::JIMU_PERMS
        } else {
            let escrowed = self.take_escrowed(wires.len())?;
            perms.iter_mut().zip(escrowed).for_each(|(perm, wire)| *perm ^= wire.perm);
            jimu::tags::JIMU_BOND
        };
        if lies[usize::from(tag == jimu::tags::JIMU_BOND)] {
            perms[0] = turned(perms[0]);
        }
        self.send_perms(tag, &perms)?;
        if to.include(Role::Garbler) {
            return self.report(number, wires);
        }
        self.channel.flush().map(|()| Vec::new())
    }

    fn send_perms(&mut self, tag: cenote_net::Tag, perms: &[Perm]) -> Result<(), Fault> {
        let blocks: Vec<Block> = perms.iter().map(|perm| perm.0[0]).collect();
        self.channel.send(tag, Block::as_bytes(&blocks))
    }

    /// Returns the values in the evaluator's report; whether its labels fit goes into the history.
    fn report(&mut self, number: u64, wires: &[Wire]) -> Result<Vec<bool>, Fault> {
        let (n, key) = (wires.len(), self.delta.key());
        let message = self.channel.recv(jimu::tags::JIMU_RESULT, bits::packed_len(n) + 16)?;
        let (masked, proof) = message.split_at(bits::packed_len(n));
        let oracle = RandomOracle::new("cenote 2026 engine jimu output labels v1", &self.session);
        let mut hash = LinearHash::new(oracle.number(number).bytes(masked).block());
        let keys = wires.iter().enumerate();
        let keys: Vec<Block> =
            keys.map(|(i, w)| w.message.label.key() ^ key.times(bits::get(masked, i))).collect();
        hash.absorb(&keys);
        self.history.reports.push(hash.finish().to_bytes() == proof);
        let value = |(i, w): (usize, &Wire)| bits::get(masked, i) ^ w.message.perm.bit() ^ w.flip;
        Ok(wires.iter().enumerate().map(value).collect())
    }
}

impl Gates for Garbler {
    type Wire = Wire;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<Wire, Fault> {
        Ok(Wire { message: Message::ZERO, flip: bit })
    }

    fn xor(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        Ok(Wire { message: a.message ^ b.message, flip: a.flip ^ b.flip })
    }

    fn not(&mut self, a: &Wire) -> Result<Wire, Fault> {
        Ok(Wire { flip: !a.flip, ..*a })
    }

    fn and(&mut self, a: &Wire, b: &Wire) -> Result<Wire, Fault> {
        let first = self.history.gates.used == 0;
        let b = if first && self.cheats(Cheat::OtherCircuit) { a } else { b };
        let core = self.take_core(Kind::And)?;
        for (wire, base) in [a, b].into_iter().zip(&core) {
            self.solders.push(outer_solder(&wire.message, wire.flip, base, &self.delta));
        }
        Ok(Wire { message: core[2], flip: false })
    }

    fn mux_many(
        &mut self,
        select: &Wire,
        on_true: &[Wire],
        on_false: &[Wire],
    ) -> Result<Vec<Wire>, Fault> {
        let difference = self.xor_many(on_true, on_false)?;
        if self.params.muxes.is_empty() {
            let chosen: Result<Vec<Wire>, Fault> =
                difference.iter().map(|lane| self.and(select, lane)).collect();
            return self.xor_many(&chosen?, on_false);
        }
        assert_eq!(difference.len(), WIDTH, "the one pool there is");
        let core = self.take_core(Kind::Wide)?;
        for (wire, base) in std::iter::once(select).chain(&difference).zip(&core) {
            self.solders.push(outer_solder(&wire.message, wire.flip, base, &self.delta));
        }
        let output = |message: &Message| Wire { message: *message, flip: false };
        let chosen: Vec<Wire> = core[1 + WIDTH..].iter().map(output).collect();
        self.xor_many(&chosen, on_false)
    }
}

impl Party for Garbler {
    type Checked<'p> = &'p mut Self;

    fn role(&self) -> Role {
        Role::Garbler
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<Wire>, Fault> {
        self.flush()?;
        match owner {
            Role::Garbler => self.own_inputs(bits.unwrap_or_default()),
            Role::Evaluator => self.peer_inputs(len),
        }
    }

    fn check(&mut self) -> Result<&mut Self, Fault> {
        self.flush()?;
        Ok(self)
    }

    /// Ties each wire to a fresh one in escrow.
    fn keep(&mut self, name: &str, wires: &[Wire]) -> Result<(), Fault> {
        self.flush()?;
        let escrowed = self.take_escrowed(wires.len())?;
        let sums = wires.iter().zip(escrowed).map(|(wire, bond)| wire.message.perm ^ bond.perm);
        let mut perms: Vec<Perm> = sums.collect();
        if self.cheats(Cheat::Bond) {
            perms[0] = turned(perms[0]);
        }
        for piece in perms.chunks(PIECE) {
            self.send_perms(jimu::tags::JIMU_BOND, piece)?;
        }
        self.kept.keep(name, wires);
        Ok(())
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<Wire>>, Fault> {
        self.flush()?;
        let delta = self.delta;
        let change = |how: AtRest, wire: &Wire| {
            let Message { label, perm } = wire.message;
            let message = match how {
                AtRest::Label => Message { label: label ^ delta, perm },
                AtRest::Perm => Message { label, perm: turned(perm) },
                _ => negated(&wire.message, &delta),
            };
            Wire { message, ..*wire }
        };
        Ok(names.iter().map(|name| self.kept.of(name, self.plan.cheat, change)).collect())
    }
}

impl Checked<Wire> for &mut Garbler {
    fn open(self, to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault> {
        let mut values = Vec::new();
        for piece in wires.chunks(PIECE) {
            values.extend(self.open_piece(to, piece)?);
        }
        Ok(to.include(Role::Garbler).then_some(values))
    }
}

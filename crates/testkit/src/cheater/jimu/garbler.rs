//! The garbling cheater: set-up and requests.

use cenote_circuit::Gates;
use cenote_engine::backends::jimu;
use cenote_engine::backends::jimu::garbled_core::outer_solder;
use cenote_engine::backends::jimu::ihash::{
    HashSender, LANES, Label, Message, Perm, ReedSolomonSender, encode,
};
use cenote_engine::{Fault, JimuParams, Party, Receivers, Role};
use cenote_net::{Channel, Deviation};
use cenote_ot::{CotSend, watch};
use cenote_prim::gf128::LinearHash;
use cenote_prim::seeds::SeedBank;
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits};

use super::compact::Sent;
use super::supply::{Pools, zero_seeds};
use super::{Cheat, History, Kind, PIECE, Plan, Tosses, WIDTH};

/// The cheater that garbles.
pub(super) struct Garbler {
    pub(super) channel: Channel,
    pub(super) session: SessionId,
    pub(super) params: JimuParams,
    pub(super) plan: Plan,
    pub(super) prg: Prg,
    pub(super) hash: ReedSolomonSender,
    pub(super) delta: Label,
    pub(super) choices: Box<dyn CotSend>,
    pub(super) tosses: Tosses,
    pub(super) pools: Pools,
    pub(super) history: History,
    pub(super) sent: Sent,
    /// Solders of the gates since the last flush.
    solders: Vec<Message>,
    /// Reports asked for, and solders sent.
    reports: u64,
    flushed: bool,
}

/// A live wire: value = masked value + permutation bit + flip.
#[derive(Clone, Copy, Default)]
pub(super) struct Wire {
    message: Message,
    flip: bool,
}

/// A label that nobody hashed. It does not come from the cheater's randomness, which has to be that
/// of the rehearsal.
pub(super) fn garbage(number: u64) -> Label {
    let mut blocks = [Block::ZERO; 3];
    Prg::new(Block::new(u128::from(number) | 1 << 100)).fill(&mut blocks);
    Label(blocks)
}

/// Returns the difference of a wrong key from the right one; bit 0 is that of no Delta.
pub(super) fn wrong_key() -> Block {
    garbage(1).key().with_lsb(false)
}

/// Returns the message that opens a solder to the negated wire: nothing but its permutation message
/// is wrong.
pub(super) fn negated(solder: &Message, delta: &Label) -> Message {
    Message { label: solder.label ^ *delta, perm: turned(solder.perm) }
}

/// A permutation message with another permutation bit.
fn turned(perm: Perm) -> Perm {
    Perm([perm.0[0] ^ Block::ONE, perm.0[1]])
}

/// The seeds of both codes, of which the peer learns some.
fn send_seeds(
    channel: &mut Channel,
    session: &SessionId,
    params: &JimuParams,
    cheat: Cheat,
    prg: &mut Prg,
) -> Result<[Vec<Block>; 2], Fault> {
    match cheat {
        Cheat::Commitment => {
            channel.deviate(cenote_ot::tags::WATCH_COMMIT, 0, Deviation::Flip(9));
        }
        // A pair of messages is a seed and a share.
        Cheat::Share => {
            channel.deviate(cenote_ot::tags::MASKED, 0, Deviation::Flip(128 + 5));
        }
        _ => {}
    }
    let cot_delta = prg.block().with_lsb(true);
    let mut cot = params.ot.sender(channel, session, 0, cot_delta, prg)?;
    let mut lists = [Vec::new(), Vec::new()];
    let codes = [&params.codes.labels, &params.codes.perms];
    for (instance, (list, code)) in (0..).zip(lists.iter_mut().zip(codes)) {
        list.resize(code.n as usize, Block::ZERO);
        prg.fill(list);
        if cheat == Cheat::ZeroDelta && instance == 0 {
            zero_seeds(&mut list[..code.k as usize]);
        }
        watch::send(channel, &mut *cot, session, instance, list, code.w as usize, prg)?;
    }
    Ok(lists)
}

impl Garbler {
    pub(super) fn set_up(
        mut channel: Channel,
        session: SessionId,
        params: JimuParams,
        plan: Plan,
        mut prg: Prg,
    ) -> Result<Garbler, Fault> {
        let cheat = plan.cheat;
        let [labels, perms] = send_seeds(&mut channel, &session, &params, cheat, &mut prg)?;
        let mut hash = ReedSolomonSender::new(&params.codes, session, &labels, &perms);
        let mut tosses = Tosses { session, role: Role::Garbler, count: 0, cheat };
        let (mut messages, mut frame) = (Vec::new(), vec![0]);
        hash.hash(LANES, &mut messages, &mut frame);
        let mut flip = !messages[0].label.key().lsb();
        match cheat {
            Cheat::ZeroDelta => flip = false,
            Cheat::EvenDelta => flip ^= true,
            _ => {}
        }
        frame[0] = if cheat == Cheat::DeltaFlag { 2 } else { flip.into() };
        let delta = messages[0].label ^ Label::one().times(flip);
        hash.close(&mut frame);
        channel.send(jimu::tags::JIMU_DELTA, &frame)?;
        let coin = tosses.toss(&mut channel, &mut prg)?;
        channel.send(jimu::tags::JIMU_ANSWER, &hash.answer(coin))?;
        let mut correlation = delta.key().with_lsb(true);
        if matches!(cheat, Cheat::Correlation | Cheat::FittingCorrelation) {
            correlation ^= wrong_key();
        }
        let choices = params.ot.sender(&mut channel, &session, 1, correlation, &mut prg)?;
        Ok(Garbler {
            pools: Pools::default(),
            history: History::default(),
            sent: Sent::default(),
            solders: Vec::new(),
            reports: 0,
            flushed: false,
            channel,
            session,
            params,
            plan,
            prg,
            hash,
            delta,
            choices,
            tosses,
        })
    }

    pub(super) fn cheats(&self, cheat: Cheat) -> bool {
        self.plan.cheat == cheat
    }

    fn flush(&mut self) -> Result<(), Fault> {
        if self.solders.is_empty() {
            return Ok(());
        }
        if !self.plan.hasty {
            self.reserve_escrow(0)?;
        }
        if !std::mem::replace(&mut self.flushed, true) {
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
        self.reports += 1;
        let mut perms: Vec<Perm> = wires.iter().map(|wire| wire.message.perm).collect();
        let tag = if to.include(Role::Evaluator) {
            jimu::tags::JIMU_PERMS
        } else {
            let escrowed = self.take_escrowed(wires.len())?;
            perms.iter_mut().zip(escrowed).for_each(|(perm, wire)| *perm ^= wire.perm);
            jimu::tags::JIMU_BOND
        };
        let lie = if tag == jimu::tags::JIMU_PERMS { Cheat::OutputPerm } else { Cheat::Bond };
        if self.cheats(lie) {
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
    type Checked = ();

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

    fn check(&mut self) -> Result<(), Fault> {
        self.flush()
    }

    fn open(&mut self, (): (), to: Receivers, wires: &[Wire]) -> Result<Option<Vec<bool>>, Fault> {
        let mut values = Vec::new();
        for piece in wires.chunks(PIECE) {
            values.extend(self.open_piece(to, piece)?);
        }
        Ok(to.include(Role::Garbler).then_some(values))
    }
}

/// Searches for seeds whose streams begin with zero, so that the first label is.
pub(super) fn first_symbols_vanish(seed: Block) -> bool {
    let mut symbols = [0; LANES];
    SeedBank::new(&[seed]).fill(0..1, 0, LANES, u8::MAX, &mut symbols);
    symbols[0] == 0
}

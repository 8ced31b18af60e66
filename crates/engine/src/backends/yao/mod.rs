//! Backend `yao`: half-gates garbled circuits, streamed; semi-honest security.
//!
//! **Construction.** Yao's protocol in the streamed form of KSS12 section 4, with half gates
//! ([`cenote_prim::half_gates`]). **Roles.** The garbler garbles and sends tables in frames as they fill; the evaluator
//! evaluates as they come. **Adversary.** Semi-honest. **Parameters.** kappa 120.
//! **Inputs** of the garbler: it sends active labels. Of the evaluator: correlated OT with Delta
//! gives the garbler L_0 = K and the evaluator M = K xor x Delta.
//! **Outputs.** To the evaluator: the garbler sends the permute bits of L_0. To the garbler: the evaluator
//! sends bit 0 of the active labels.
//! **Leakage and abort.** Nothing to a peer that follows the protocol; no promise against others.
//! **Checks.** `yao.tables.format`, `yao.format`: lengths and canonical packing, for robustness.
//! **Private values.** Garbler's input: the label is one of two random ones. Evaluator's input: the choice bits of the OT.
//! **Kept wires.** Their labels, under the Delta of the session; gates go on to be numbered through it. A wire that is used in
//! a later request is one that is used later in a request.
//! **Costs.** 32 B an AND, 16 B an input bit of the garbler, 1 bit and one COT an input bit of the evaluator.

mod plan;
pub mod tags;

use cenote_circuit::{BATCH, Deck, Gates, Operand, Tape, lane_groups};
use cenote_net::{Channel, Channels, Fault, Phase, Role, Tag};
use cenote_ot::rot::{receive_correlated, send_correlated};
use cenote_ot::{Choice, CotReceive, CotSend};
use cenote_pool::Store;
use cenote_prim::half_gates::HalfGates;
use cenote_prim::{Block, Prg, Secret, SessionId, bits};

use super::{Live, ProbeSize, Protocol, Terms};
use crate::claims::{Adversary, Assumption, Covers, FirstOutput, Leak, Leakage, Promise};
use crate::cost::{Demand, Plan, Speed};
use crate::options::{Opt, SessionConfig};
use crate::parts::kept::Kept;
use crate::party::{Checked, Party, Receivers, expect_input};
use crate::session::{Job, run_and_check};

/// Gates of a full frame of tables: long enough that waking the peer for each costs little.
const FRAME: usize = 16 << 10;
/// Input bits of one message.
const PIECE: usize = 1 << 16;

/// Parameters of a `yao` session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct YaoParams {
    /// The protocol of correlated OT, for the evaluator's inputs.
    pub ot: Choice,
}

/// One party's end of a session.
pub struct YaoSession {
    channel: Channel,
    params: YaoParams,
    side: Side,
    gates: HalfGates,
    /// Tables of one frame: garbled and not sent yet, or received.
    tables: Box<[[Block; 2]]>,
    /// How many of `tables` there are.
    filled: usize,
    /// Evaluator: how many of those are used up.
    used: usize,
    /// Labels, under the Delta of the session.
    kept: Kept<Secret<Vec<Block>>>,
    /// Labels of the tape that is played.
    deck: Deck<Block>,
}

enum Side {
    Garbler { delta: Secret<Block>, cot: Box<dyn CotSend>, prg: Box<Prg> },
    Evaluator { cot: Box<dyn CotReceive> },
}

impl YaoSession {
    /// The party of the next request.
    pub fn party(&mut self) -> YaoParty<'_> {
        self.channel.set_phase(Phase::Online);
        YaoParty { session: self }
    }

    fn send_tables(&mut self) -> Result<(), Fault> {
        if self.filled > 0 {
            let tables = self.tables[..self.filled].as_flattened();
            self.channel.send(tags::YAO_TABLES, Block::as_bytes(tables))?;
            self.filled = 0;
        }
        Ok(())
    }

    fn receive_tables(&mut self) -> Result<(), Fault> {
        let tables = Block::as_bytes_mut(self.tables.as_flattened_mut());
        let len = self.channel.recv_at_most(tags::YAO_TABLES, tables)?;
        if len == 0 || !len.is_multiple_of(32) {
            return Err(Fault::Misbehaved("yao.tables.format"));
        }
        (self.filled, self.used) = (len / 32, 0);
        Ok(())
    }

    /// Before the parties talk about anything but tables: the garbler's have all left, the
    /// evaluator's are all used.
    fn sync(&mut self) -> Result<(), Fault> {
        match &self.side {
            Side::Garbler { .. } => self.send_tables(),
            Side::Evaluator { .. } if self.used == self.filled => Ok(()),
            Side::Evaluator { .. } => Err(Fault::Misbehaved("yao.tables.format")),
        }
    }

    #[inline]
    fn and(&mut self, input: [Block; 2]) -> Result<Block, Fault> {
        match &self.side {
            Side::Garbler { delta, .. } => {
                let (table, out) = self.gates.garble_one(**delta, input);
                self.tables[self.filled] = table;
                self.filled += 1;
                if self.filled >= FRAME {
                    self.send_tables()?;
                }
                Ok(out)
            }
            Side::Evaluator { .. } => {
                if self.used == self.filled {
                    self.receive_tables()?;
                }
                self.used += 1;
                Ok(self.gates.evaluate_one(input, self.tables[self.used - 1]))
            }
        }
    }

    /// At most [`BATCH`] independent ANDs of rows of labels; `out` receives the labels.
    fn ands(&mut self, [a, b]: [&[Block]; 2], out: &mut [Block]) -> Result<(), Fault> {
        match &self.side {
            Side::Garbler { delta, .. } => {
                let tables = &mut self.tables[self.filled..self.filled + out.len()];
                self.gates.garble(**delta, [a, b], tables, out);
                self.filled += out.len();
                if self.filled >= FRAME {
                    self.send_tables()?;
                }
            }
            Side::Evaluator { .. } => {
                let mut done = 0;
                while done < out.len() {
                    if self.used == self.filled {
                        self.receive_tables()?;
                    }
                    let n = (out.len() - done).min(self.filled - self.used);
                    let tables = &self.tables[self.used..self.used + n];
                    let rows = [&a[done..done + n], &b[done..done + n]];
                    self.gates.evaluate(rows, tables, &mut out[done..done + n]);
                    self.used += n;
                    done += n;
                }
            }
        }
        Ok(())
    }
}

/// Base OTs, and the start point of the hash.
fn set_up(
    channel: &mut Channel,
    session: &SessionId,
    role: Role,
    ot: Choice,
    mut prg: Prg,
) -> Result<(Side, Block), Fault> {
    Ok(match role {
        Role::Garbler => {
            let delta = prg.block().with_lsb(true);
            let cot = ot.sender(channel, session, 0, delta, &mut prg)?;
            let start = prg.block();
            channel.send(tags::YAO_START, &start.to_bytes())?;
            channel.flush()?;
            let delta = Secret::new(delta);
            (Side::Garbler { delta, cot, prg: Box::new(prg) }, start)
        }
        Role::Evaluator => {
            let cot = ot.receiver(channel, session, 0, &mut prg)?;
            let mut start = [0; 16];
            channel.recv_into(tags::YAO_START, &mut start)?;
            (Side::Evaluator { cot }, Block::from_bytes(start))
        }
    })
}

/// Base OTs in one direction; the garbler chooses the hash's start point after its delta.
impl Protocol for YaoSession {
    const NAME: &'static str = "yao";
    const TAGS: &'static [Tag] = tags::ALL;
    const TYPICAL: Speed = Speed {
        setup_s: 2.5e-2,
        made_s: 0.0,
        evaluated_s: 1.4e-8,
        batch_s: 2.5e-8,
        linear_s: 7e-11,
        linear_batch_s: 2.5e-9,
        call_s: 2.5e-8,
        moved_s: 4e-10,
        wide_s: 1e-9,
        statement_s: 1.4e-7,
        pool_s: 0.0,
        input_s: [1.3e-8, 2e-8],
    };
    const KEEPS_WIRES: bool = true;
    const PROBE: ProbeSize = ProbeSize { trips: 16, inputs: 1 << 20 };
    const OPTIONS: &'static [Opt] = &[Opt::SOFTSPOKEN];
    type Params = YaoParams;

    fn derive(config: &SessionConfig) -> Result<YaoParams, Fault> {
        Ok(YaoParams { ot: config.ot().unwrap_or_default() })
    }

    fn terms(params: &YaoParams) -> Terms {
        params.ot.term().into_iter().collect()
    }

    fn promises(_: &YaoParams) -> Promise {
        Promise {
            adversary: Adversary::SemiHonest,
            // Bit 0 of Delta is fixed.
            kappa: cenote_ot::KAPPA,
            covers: Covers::Session,
            epsilon_log2: None,
            adaptive_epsilon_log2: None,
            assumptions: &[
                Assumption::RandomOracle,
                Assumption::IdealCipher("re-keyed hash, PRG"),
                Assumption::GapDiffieHellman,
            ],
            leakage: Leakage(&[Leak::Outputs, Leak::Traffic]),
            first_output: FirstOutput::Party(Role::Evaluator),
            constant_time: true,
            audited: false,
        }
    }

    fn plan(params: &YaoParams, demand: &Demand, plan: &mut Plan) {
        plan::plan(plan, params, demand);
    }

    fn open(
        channels: Channels,
        session: SessionId,
        role: Role,
        params: YaoParams,
        prg: impl FnOnce() -> Prg,
        _: Option<Box<dyn Store>>,
    ) -> Result<YaoSession, Fault> {
        let mut channel = channels.into_control();
        match set_up(&mut channel, &session, role, params.ot, prg()) {
            Ok((side, start)) => {
                let tables = vec![[Block::ZERO; 2]; FRAME + BATCH].into();
                let gates = HalfGates::new(start);
                let kept = Kept::default();
                let deck = Deck::default();
                Ok(YaoSession {
                    channel,
                    params,
                    side,
                    gates,
                    tables,
                    filled: 0,
                    used: 0,
                    kept,
                    deck,
                })
            }
            Err(fault) => {
                channel.abort();
                Err(fault)
            }
        }
    }

    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
        run_and_check(&mut self.party(), job)
    }
}

impl Live for YaoSession {
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn promise(&self) -> Promise {
        YaoSession::promises(&self.params)
    }

    fn forget(&mut self, are_gone: &dyn Fn(&str) -> bool) {
        self.kept.forget(are_gone);
    }
}

/// One party of one request. A wire is its label: L_0 at the garbler, the active one at the evaluator.
pub struct YaoParty<'s> {
    session: &'s mut YaoSession,
}

impl Gates for YaoParty<'_> {
    type Wire = Block;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<Block, Fault> {
        // The evaluator's label of a constant is zero, so L_0 is bit times Delta.
        Ok(match &self.session.side {
            Side::Garbler { delta, .. } => delta.times(bit),
            Side::Evaluator { .. } => Block::ZERO,
        })
    }

    #[inline]
    fn xor(&mut self, a: &Block, b: &Block) -> Result<Block, Fault> {
        Ok(*a ^ *b)
    }

    #[inline]
    fn not(&mut self, a: &Block) -> Result<Block, Fault> {
        Ok(match &self.session.side {
            Side::Garbler { delta, .. } => *a ^ **delta,
            Side::Evaluator { .. } => *a,
        })
    }

    #[inline]
    fn and(&mut self, a: &Block, b: &Block) -> Result<Block, Fault> {
        self.session.and([*a, *b])
    }

    // Written out because collecting plain values vectorises and collecting results does not.
    fn xor_many(&mut self, a: &[Block], b: &[Block]) -> Result<Vec<Block>, Fault> {
        Ok(a.iter().zip(b).map(|(a, b)| *a ^ *b).collect())
    }

    fn and_many(&mut self, a: &[Block], b: &[Block]) -> Result<Vec<Block>, Fault> {
        let n = a.len().min(b.len());
        let mut out = vec![Block::ZERO; n];
        for ((a, b), out) in
            a[..n].chunks(BATCH).zip(b[..n].chunks(BATCH)).zip(out.chunks_mut(BATCH))
        {
            self.session.ands([a, b], out)?;
        }
        Ok(out)
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, Block>],
        out: &mut [Vec<Block>],
    ) -> Result<(), Fault> {
        let one = self.constant(true)?;
        let mut deck = std::mem::take(&mut self.session.deck);
        for (first, count) in lane_groups(lanes, tape.lanes_together()) {
            deck.load(tape, operands, [first, count], one);
            self.play_on(&mut deck, tape)?;
            deck.store(tape, out);
        }
        self.session.deck = deck;
        Ok(())
    }

    fn play_in_place(
        &mut self,
        tape: &Tape,
        wires: &mut [Block],
        starts: &[&[u32]],
    ) -> Result<(), Fault> {
        let lanes = starts.first().map_or(0, |starts| starts.len());
        let one = self.constant(true)?;
        let mut deck = std::mem::take(&mut self.session.deck);
        for (first, count) in lane_groups(lanes, tape.lanes_together()) {
            deck.load(tape, &tape.operands_in_place(wires, starts), [first, count], one);
            self.play_on(&mut deck, tape)?;
            deck.store_in_place(tape, wires, starts, first);
        }
        self.session.deck = deck;
        Ok(())
    }
}

impl YaoParty<'_> {
    /// Plays a tape on the lanes that are loaded.
    fn play_on(&mut self, deck: &mut Deck<Block>, tape: &Tape) -> Result<(), Fault> {
        let session = &mut *self.session;
        for (linear, ands) in tape.runs() {
            deck.linear_all(linear);
            match ands {
                [step] if deck.lanes() == 1 => {
                    let [a, b, out] = step.slots().map(|slot| slot as usize);
                    let cells = deck.cells_mut();
                    cells[out] = session.and([cells[a], cells[b]])?;
                }
                ands => deck.ands(tape, ands, |rows, out| session.ands(rows, out))?,
            }
        }
        Ok(())
    }

    fn garbler_input(&mut self, len: usize, bits: &[bool]) -> Result<Vec<Block>, Fault> {
        let YaoSession { channel, side, .. } = &mut *self.session;
        let mut labels = vec![Block::ZERO; len];
        match side {
            Side::Garbler { delta, prg, .. } => {
                prg.fill(&mut labels);
                for (labels, bits) in labels.chunks(PIECE).zip(bits.chunks(PIECE)) {
                    let active: Vec<Block> =
                        labels.iter().zip(bits).map(|(l, &bit)| *l ^ delta.times(bit)).collect();
                    channel.send(tags::YAO_LABELS, Block::as_bytes(&active))?;
                }
            }
            Side::Evaluator { .. } => {
                for labels in labels.chunks_mut(PIECE) {
                    channel.recv_into(tags::YAO_LABELS, Block::as_bytes_mut(labels))?;
                }
            }
        }
        Ok(labels)
    }

    /// The garbler's key is L_0, the evaluator's MAC the active label.
    fn evaluator_input(&mut self, len: usize, bits: &[bool]) -> Result<Vec<Block>, Fault> {
        let YaoSession { channel, side, .. } = &mut *self.session;
        let mut labels = vec![Block::ZERO; len];
        match side {
            Side::Garbler { cot, .. } => send_correlated(channel, &mut **cot, &mut labels)?,
            Side::Evaluator { cot } => receive_correlated(channel, &mut **cot, bits, &mut labels)?,
        }
        channel.flush()?;
        Ok(labels)
    }

    /// Bit 0 of each wire goes to `to`, tagged `tag`; returns the values there.
    fn exchange(
        &mut self,
        to: Role,
        tag: cenote_net::Tag,
        wires: &[Block],
    ) -> Result<Option<Vec<bool>>, Fault> {
        let role = self.role();
        let channel = &mut self.session.channel;
        let mut values = Vec::with_capacity(wires.len());
        for wires in wires.chunks(PIECE) {
            if role == to {
                let packed = channel.recv(tag, bits::packed_len(wires.len()))?;
                if !bits::is_canonical(&packed, wires.len()) {
                    return Err(Fault::Misbehaved("yao.format"));
                }
                values
                    .extend(wires.iter().enumerate().map(|(i, w)| w.lsb() ^ bits::get(&packed, i)));
            } else {
                channel.send(tag, &bits::pack(wires.iter().map(|wire| wire.lsb())))?;
            }
        }
        channel.flush()?;
        Ok((role == to).then_some(values))
    }
}

impl<'s> Party for YaoParty<'s> {
    type Checked<'p>
        = YaoChecked<'p, 's>
    where
        Self: 'p;

    fn role(&self) -> Role {
        match self.session.side {
            Side::Garbler { .. } => Role::Garbler,
            Side::Evaluator { .. } => Role::Evaluator,
        }
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<Block>, Fault> {
        let own = expect_input(self.role(), owner, len, bits)?;
        self.session.sync()?;
        match owner {
            Role::Garbler => self.garbler_input(len, own),
            Role::Evaluator => self.evaluator_input(len, own),
        }
    }

    fn check(&mut self) -> Result<YaoChecked<'_, 's>, Fault> {
        self.session.sync()?;
        Ok(YaoChecked(self))
    }

    fn keep(&mut self, name: &str, wires: &[Block]) -> Result<(), Fault> {
        self.session.sync()?;
        self.session.kept.keep(name, wires.len(), Secret::new(wires.to_vec()))
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<Block>>, Fault> {
        self.session.sync()?;
        let kept = |name: &&str| self.session.kept.of(name).map(|(_, wires)| wires.to_vec());
        names.iter().map(kept).collect()
    }
}

/// A party after its deferred checks, of which this backend has none.
pub struct YaoChecked<'p, 's>(&'p mut YaoParty<'s>);

impl Checked<Block> for YaoChecked<'_, '_> {
    fn open(self, to: Receivers, wires: &[Block]) -> Result<Option<Vec<bool>>, Fault> {
        let mut result = None;
        if to.include(Role::Evaluator) {
            let opened = self.0.exchange(Role::Evaluator, tags::YAO_DECODE, wires)?;
            result = result.or(opened);
        }
        if to.include(Role::Garbler) {
            let opened = self.0.exchange(Role::Garbler, tags::YAO_OUTPUT, wires)?;
            result = result.or(opened);
        }
        Ok(result)
    }
}

//! Backend `toy`: clear evaluation after a delay; the smallest backend that has an option.
//!
//! **Construction.** Each owner sends its input bits as they are, and both compute every gate. Each request
//! begins with a wait of `delay` milliseconds on both sides.
//! **Adversary.** None: inputs travel in the clear, and nothing is checked but that a value has one encoding
//! (`toy.input.format`).

use std::thread;
use std::time::Duration;

use cenote_circuit::Gates;
use cenote_net::{Channel, Channels, Fault, Phase, Role, Tag};
use cenote_prim::{Prg, SessionId, bits};

use super::{Live, ProbeSize, Protocol, Terms};
use crate::claims::{Adversary, Covers, FirstOutput, Leak, Leakage, Promise};
use crate::cost::{Demand, Flow, Plan, Speed, packed};
use crate::options::{Opt, OptValue, SessionConfig, Values};
use crate::party::{Checked, Party, Receivers, expect_input};
use crate::session::{Job, run_and_check};

/// Input bits in the clear.
pub const TOY_INPUT: Tag = Tag::new(200, "toy.input");

/// Input bits of one message: keeps frames under the limit.
const PIECE: usize = 1 << 20;

const DELAY: Opt = Opt::new(
    "delay",
    Values::Positive,
    OptValue::Number(1),
    "milliseconds before each request",
);

/// One party's end of a session.
pub struct ToySession {
    channel: Channel,
    role: Role,
    delay: u64,
}

impl Protocol for ToySession {
    const NAME: &'static str = "toy";
    const TAGS: &'static [Tag] = &[TOY_INPUT];
    const OPTIONS: &'static [Opt] = &[DELAY];
    const TYPICAL: Speed = Speed {
        setup_s: 5e-3,
        made_s: 0.0,
        evaluated_s: 1e-9,
        batch_s: 1e-8,
        linear_s: 1e-9,
        linear_batch_s: 1e-8,
        call_s: 1e-7,
        moved_s: 1e-10,
        wide_s: 1e-9,
        statement_s: 1e-7,
        pool_s: 0.0,
        input_s: [2e-9; 2],
    };
    const PROBE: ProbeSize = ProbeSize { trips: 16, inputs: 1 << 20 };
    /// The delay in milliseconds.
    type Params = u64;

    fn derive(config: &SessionConfig) -> Result<u64, Fault> {
        match config.option(DELAY.name) {
            Some(OptValue::Number(delay)) if delay <= 1_000 => Ok(delay),
            _ => Err(Fault::Policy("toy: a delay of more than a second".into())),
        }
    }

    fn terms(delay: &u64) -> Terms {
        vec![(DELAY.name, delay.to_string())]
    }

    fn promises(_: &u64) -> Promise {
        Promise {
            adversary: Adversary::None,
            kappa: 0,
            covers: Covers::Session,
            epsilon_log2: None,
            adaptive_epsilon_log2: None,
            assumptions: &[],
            leakage: Leakage(&[Leak::Everything]),
            first_output: FirstOutput::BothAtOnce,
            constant_time: false,
            audited: false,
        }
    }

    fn plan(_: &u64, demand: &Demand, plan: &mut Plan) {
        plan.job(demand);
        for &(owner, bits) in &demand.inputs {
            let pieces = bits.div_ceil(PIECE as u64);
            plan.then(Phase::Online, Flow::default().sends(owner, packed(bits), pieces).waits(1));
        }
        plan.memory = [demand.stats.live_bits.saturating_mul(6); 2];
        plan.evaluated = demand.stats.ands as f64;
    }

    fn open(
        channels: Channels,
        _: SessionId,
        role: Role,
        delay: u64,
        _: impl FnOnce() -> Prg,
    ) -> Result<ToySession, Fault> {
        Ok(ToySession { channel: channels.into_control(), role, delay })
    }

    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
        thread::sleep(Duration::from_millis(self.delay));
        self.channel.set_phase(Phase::Online);
        run_and_check(&mut ToyParty { session: self }, job)
    }
}

impl Live for ToySession {
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn promise(&self) -> Promise {
        ToySession::promises(&self.delay)
    }
}

/// One party of one request.
pub struct ToyParty<'s> {
    session: &'s mut ToySession,
}

impl Gates for ToyParty<'_> {
    type Wire = bool;
    type Error = Fault;

    fn constant(&mut self, bit: bool) -> Result<bool, Fault> {
        Ok(bit)
    }

    fn xor(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a ^ b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Fault> {
        Ok(!a)
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Fault> {
        Ok(a & b)
    }
}

impl Party for ToyParty<'_> {
    type Checked<'p>
        = ToyChecked<'p>
    where
        Self: 'p;

    fn role(&self) -> Role {
        self.session.role
    }

    fn input(
        &mut self,
        owner: Role,
        len: usize,
        bits: Option<&[bool]>,
    ) -> Result<Vec<bool>, Fault> {
        let own = expect_input(self.session.role, owner, len, bits)?;
        let channel = &mut self.session.channel;
        if owner == self.session.role {
            for piece in own.chunks(PIECE) {
                channel.send(TOY_INPUT, &bits::pack(piece.iter().copied()))?;
            }
            channel.flush()?;
            return Ok(own.to_vec());
        }
        let mut wires = Vec::with_capacity(len);
        while wires.len() < len {
            let piece = PIECE.min(len - wires.len());
            let packed = channel.recv(TOY_INPUT, bits::packed_len(piece))?;
            if !bits::is_canonical(&packed, piece) {
                return Err(Fault::Misbehaved("toy.input.format"));
            }
            wires.extend((0..piece).map(|i| bits::get(&packed, i)));
        }
        Ok(wires)
    }

    fn check(&mut self) -> Result<ToyChecked<'_>, Fault> {
        Ok(ToyChecked(self.session))
    }
}

/// A party after its deferred checks, of which this backend has none.
pub struct ToyChecked<'p>(&'p ToySession);

impl Checked<bool> for ToyChecked<'_> {
    fn open(self, to: Receivers, wires: &[bool]) -> Result<Option<Vec<bool>>, Fault> {
        Ok(to.include(self.0.role).then(|| wires.to_vec()))
    }
}

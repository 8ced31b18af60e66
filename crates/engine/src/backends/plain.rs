//! Backend `plain`: clear evaluation at both parties; the oracle and the debugger.
//!
//! **Adversary.** None: inputs travel in the clear to the peer, and nothing is checked. It takes
//! the same steps as every other backend, so that programs and services can be tested with it.

use cenote_circuit::{Deck, Gates, Operand, Tape};
use cenote_net::{Channel, Channels, Fault, Phase, Role, Tag};
use cenote_pool::Store;
use cenote_prim::{Prg, Secret, SessionId, bits};

use super::{Live, ProbeSize, Protocol};
use crate::claims::{Adversary, Covers, FirstOutput, Leak, Leakage, Promise};
use crate::cost::{Demand, Flow, Plan, Speed, packed};
use crate::options::SessionConfig;
use crate::parts::kept::Kept;
use crate::party::{Checked, Party, Receivers, expect_input};
use crate::session::{Job, run_and_check};

/// Plain: input bits in the clear.
pub const PLAIN_INPUT: Tag = Tag::new(60, "plain.input");

/// One party's end of a session.
pub struct PlainSession {
    channel: Channel,
    role: Role,
    kept: Kept<Secret<Vec<bool>>>,
    /// Room for tapes.
    deck: Deck<bool>,
}

impl PlainSession {
    /// The party of the next request.
    pub fn party(&mut self) -> PlainParty<'_> {
        self.channel.set_phase(Phase::Online);
        PlainParty { session: self }
    }
}

impl Protocol for PlainSession {
    const NAME: &'static str = "plain";
    const TAGS: &'static [Tag] = &[PLAIN_INPUT];
    const TYPICAL: Speed = Speed {
        setup_s: 5e-3,
        made_s: 0.0,
        evaluated_s: 1e-10,
        batch_s: 7e-9,
        linear_s: 1e-10,
        linear_batch_s: 1.3e-9,
        call_s: 1.2e-7,
        moved_s: 3e-11,
        wide_s: 4e-10,
        statement_s: 8e-8,
        pool_s: 0.0,
        input_s: [2e-9; 2],
    };
    const KEEPS_WIRES: bool = true;
    const PROBE: ProbeSize = ProbeSize { trips: 16, inputs: 1 << 20 };
    type Params = ();

    fn derive(_: &SessionConfig) -> Result<(), Fault> {
        Ok(())
    }

    fn promises((): &()) -> Promise {
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

    /// Inputs in the clear; there is nothing else to send.
    fn plan((): &(), demand: &Demand, plan: &mut Plan) {
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
        (): (),
        _: impl FnOnce() -> Prg,
        _: Option<Box<dyn Store>>,
    ) -> Result<PlainSession, Fault> {
        Ok(PlainSession {
            channel: channels.into_control(),
            role,
            kept: Kept::default(),
            deck: Deck::default(),
        })
    }

    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
        run_and_check(&mut self.party(), job)
    }
}

impl Live for PlainSession {
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn promise(&self) -> Promise {
        PlainSession::promises(&())
    }

    fn forget(&mut self, are_gone: &dyn Fn(&str) -> bool) {
        self.kept.forget(are_gone);
    }
}

/// One party of one request.
pub struct PlainParty<'s> {
    session: &'s mut PlainSession,
}

impl Gates for PlainParty<'_> {
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

    // Written out because collecting plain values vectorises and collecting results does not.
    fn xor_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Fault> {
        Ok(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
    }

    fn and_many(&mut self, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Fault> {
        Ok(a.iter().zip(b).map(|(a, b)| a & b).collect())
    }

    fn play(
        &mut self,
        tape: &Tape,
        lanes: usize,
        operands: &[Operand<'_, bool>],
        out: &mut [Vec<bool>],
    ) -> Result<(), Fault> {
        self.session.deck.play(tape, lanes, operands, out);
        Ok(())
    }
}

/// Input bits of one message: keeps frames under the limit.
const PIECE: usize = 1 << 20;

impl Party for PlainParty<'_> {
    type Checked<'p>
        = PlainChecked<'p>
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
                channel.send(PLAIN_INPUT, &bits::pack(piece.iter().copied()))?;
            }
            channel.flush()?;
            return Ok(own.to_vec());
        }
        let mut wires = Vec::with_capacity(len);
        while wires.len() < len {
            let piece = PIECE.min(len - wires.len());
            let packed = channel.recv(PLAIN_INPUT, bits::packed_len(piece))?;
            if !bits::is_canonical(&packed, piece) {
                return Err(Fault::Misbehaved("plain.input.format"));
            }
            wires.extend((0..piece).map(|i| bits::get(&packed, i)));
        }
        Ok(wires)
    }

    fn check(&mut self) -> Result<PlainChecked<'_>, Fault> {
        Ok(PlainChecked(self.session))
    }

    fn keep(&mut self, name: &str, wires: &[bool]) -> Result<(), Fault> {
        self.session.kept.keep(name, wires.len(), Secret::new(wires.to_vec()))
    }

    fn kept_all(&mut self, names: &[&str]) -> Result<Vec<Vec<bool>>, Fault> {
        let kept = |name: &&str| self.session.kept.of(name).map(|(_, wires)| wires.to_vec());
        names.iter().map(kept).collect()
    }
}

/// A party after its deferred checks, of which this backend has none.
pub struct PlainChecked<'p>(&'p PlainSession);

impl Checked<bool> for PlainChecked<'_> {
    fn open(self, to: Receivers, wires: &[bool]) -> Result<Option<Vec<bool>>, Fault> {
        Ok(to.include(self.0.role).then(|| wires.to_vec()))
    }
}

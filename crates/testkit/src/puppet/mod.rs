//! A second, independent implementation of the `wrk` wire protocol that cheats on command.
//!
//! It speaks to an honest session of the engine, checks nothing that it receives, and goes on after
//! its cheat as well as it can: what frames changed on their way cannot show, because the honest
//! code behind them gives up first. Without a cheat it is a test of the protocol's description.
//! It runs one request of one program, [`Kind::Small`], whose outputs both parties receive.

pub mod jimu;
mod online;
mod supply;

use std::collections::VecDeque;

use cenote_circuit::Program;
use cenote_engine::protocols::share::{Share, conventional_delta};
use cenote_engine::{Fault, Job, PoolChoice, Receivers, Rho, Role, WrkParams};
use cenote_net::{Channel, Handshake};
use cenote_ot::{CotReceiver, CotSender};
use cenote_prim::gf128::LinearHash;
use cenote_prim::mitccrh::Mitccrh;
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits};

use crate::programs::{Kind, TestProgram};
use crate::run::program_job;

/// What a [`Puppet`] does instead of following the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cheat {
    /// Nothing.
    None,
    /// Names another program in the handshake of the job.
    OtherProgram,
    /// Sends a first base-OT point that is not one.
    BadPoint,
    /// Sends corrections of correlated OT that belong to two vectors of choice bits.
    InconsistentChoices,
    /// Opens a coin other than the one committed to, in the toss with this number.
    BiasedCoin(u64),
    /// Moves this many of its blocks G, each by a random offset.
    WrongG(usize),
    /// Makes its blocks G under another Delta.
    WrongDelta,
    /// Flips a bit d of a leaky AND.
    WrongD,
    /// Sets a bit after the last bit d.
    StrayD,
    /// As [`Cheat::WrongDelta`], then shows the peer's own digest as the one committed to.
    EchoDigest,
    /// Claims another digest of the batch.
    WrongDigest,
    /// Shows a false bit in the opening of the bucket differences.
    FalseBucketBit,
    /// Shows a false bit of its share of a mask of the peer's input.
    FalseInputMask,
    /// Shows a false bit in Beaver's step.
    FalseBeaverBit,
    /// Shows a false bit of an output mask.
    FalseOutputMask,
    /// Shows output masks with a proof made for an earlier opening.
    ReplayedOpening,
    /// Sets a bit after the last masked input bit.
    StrayInputBit,
    /// Garbler: flips the colour in one block of the table of an AND: the first or the second block.
    TableColour(usize),
    /// Garbler: flips another bit of every table block.
    TableBits,
    /// Garbler: flips the colour bit of an AND.
    ColourBit,
    /// Garbler: sets a bit after the last colour bit.
    StrayColour,
    /// Garbler: sends a wrong label for an input of the evaluator.
    InputLabel,
    /// Garbler: sends a wrong answer to the report.
    WrongAnswer,
    /// Runs another circuit than the one agreed on: the second layer reads other wires.
    OtherCircuit,
    /// Evaluator: reports a false masked value, with the hash of the labels it has.
    FalseMasked,
    /// Evaluator: reports true masked values with a false hash of labels.
    FalseLabelHash,
    /// Evaluator: sets a bit after the last masked value.
    StrayMasked,
}

impl Cheat {
    /// Every cheat, with every value of its argument that the table tries.
    pub const ALL: &[Cheat] = &[
        Cheat::OtherProgram,
        Cheat::BadPoint,
        Cheat::InconsistentChoices,
        Cheat::BiasedCoin(0),
        Cheat::BiasedCoin(1),
        Cheat::WrongG(1),
        Cheat::WrongG(2),
        Cheat::WrongDelta,
        Cheat::WrongD,
        Cheat::StrayD,
        Cheat::EchoDigest,
        Cheat::WrongDigest,
        Cheat::FalseBucketBit,
        Cheat::FalseInputMask,
        Cheat::FalseBeaverBit,
        Cheat::FalseOutputMask,
        Cheat::ReplayedOpening,
        Cheat::StrayInputBit,
        Cheat::TableColour(0),
        Cheat::TableColour(1),
        Cheat::TableBits,
        Cheat::ColourBit,
        Cheat::StrayColour,
        Cheat::InputLabel,
        Cheat::WrongAnswer,
        Cheat::OtherCircuit,
        Cheat::FalseMasked,
        Cheat::FalseLabelHash,
        Cheat::StrayMasked,
    ];
}

/// The cheating party.
pub struct Puppet {
    channel: Channel,
    role: Role,
    session: SessionId,
    params: WrkParams,
    cheat: Cheat,
    prg: Prg,
    delta: Block,
    keys: CotSender,
    macs: CotReceiver,
    start: Block,
    tosses: u64,
    /// Openings shown to the peer and seen from it.
    shown: u64,
    leaky: [Mitccrh; 2],
    triples: VecDeque<Triple>,
    shares: VecDeque<Share>,
}

/// A ready triple with a spare share for the mask of the gate's output.
#[derive(Clone, Copy)]
struct Triple {
    x: Share,
    y: Share,
    z: Share,
    mask: Share,
}

impl Puppet {
    /// Plays `role` over `channel` with the inputs of all ports (its own are used) in a session with
    /// the smallest batches at 2^-40; returns the outputs, right or wrong.
    ///
    /// # Errors
    /// Whatever ends the session: what the cheater sees.
    pub fn play(
        mut channel: Channel,
        role: Role,
        inputs: &[Vec<bool>],
        cheat: Cheat,
        seed: u128,
    ) -> Result<Vec<bool>, Fault> {
        let mut prg = crate::run::prg_of(role, seed);
        let params = WrkParams::derive(PoolChoice::OneShot(1), Rho::Bits40)?;
        let id = open_session(&mut channel, role, &params, prg.bytes32())?;
        let mut puppet = Puppet::set_up(channel, role, SessionId(id), params, cheat, prg)?;
        puppet.agree_on_job(inputs)?;
        let outputs = puppet.request(inputs)?;
        puppet.channel.close();
        Ok(outputs)
    }

    fn agree_on_job(&mut self, inputs: &[Vec<bool>]) -> Result<(), Fault> {
        let other = self.cheat == Cheat::OtherProgram;
        let small = TestProgram(Kind::Small);
        let mut terms = program_job(&small, self.role, inputs, Receivers::Both)?.terms();
        if other {
            let digest = TestProgram(Kind::OneAnd).digest();
            terms[1].1 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        let mut handshake = Handshake::new("job").field("session", self.session.0);
        for (name, value) in terms {
            handshake = handshake.field(name, value);
        }
        handshake.run(&mut self.channel, self.role, self.prg.bytes32()).map(|_| ())
    }

    fn set_up(
        mut channel: Channel,
        role: Role,
        session: SessionId,
        params: WrkParams,
        cheat: Cheat,
        mut prg: Prg,
    ) -> Result<Puppet, Fault> {
        let delta = conventional_delta(prg.block(), role);
        if cheat == Cheat::BadPoint {
            supply::send_bad_point(&mut channel, role, params.ot)?;
        }
        let (ch, ot, own, peer) = (&mut channel, params.ot, role as u64, role.peer() as u64);
        let (keys, macs) = match role {
            Role::Garbler => {
                let keys = CotSender::setup(ch, &session, own, ot, delta, &mut prg)?;
                (keys, CotReceiver::setup(ch, &session, peer, ot, &mut prg)?)
            }
            Role::Evaluator => {
                let macs = CotReceiver::setup(ch, &session, peer, ot, &mut prg)?;
                (CotSender::setup(ch, &session, own, ot, delta, &mut prg)?, macs)
            }
        };
        let nothing = || Mitccrh::new(Block::ZERO);
        let mut puppet = Puppet {
            channel,
            role,
            session,
            params,
            cheat,
            prg,
            delta,
            keys,
            macs,
            start: Block::ZERO,
            tosses: 0,
            shown: 0,
            leaky: [nothing(), nothing()],
            triples: VecDeque::new(),
            shares: VecDeque::new(),
        };
        puppet.start = puppet.toss([0; 32])?;
        puppet.leaky = [role, role.peer()].map(|direction| {
            let oracle = RandomOracle::new("cenote 2026 engine leaky-and start v1", &session);
            Mitccrh::new(oracle.number(direction as u64).blocks(&[puppet.start]).block())
        });
        Ok(puppet)
    }

    /// The message that opens the bits under `macs`; with `lie`, the first bit is false.
    fn open(&mut self, macs: &[Block], lie: bool) -> Vec<u8> {
        let mut message = bits::pack(macs.iter().map(|mac| mac.lsb()));
        if lie {
            message[0] ^= 1;
        }
        let place = if self.cheat == Cheat::ReplayedOpening { 0 } else { self.shown };
        self.shown += 1;
        let oracle = RandomOracle::new("cenote 2026 engine opening v1", &self.session);
        let seed = oracle.number(self.role as u64).number(place).bytes(&message).block();
        let mut hash = LinearHash::new(seed);
        hash.absorb(macs);
        message.extend_from_slice(&hash.finish().to_bytes());
        message
    }
}

fn open_session(
    channel: &mut Channel,
    role: Role,
    params: &WrkParams,
    nonce: [u8; 32],
) -> Result<[u8; 32], Fault> {
    let handshake = Handshake::new("session")
        .field("backend", "wrk")
        .field("pool", "none")
        .field("bucket", params.bucket.to_string())
        .field("batch", params.batch.to_string())
        .field("epsilon", format!("2^{}", params.epsilon_log2));
    handshake.run(channel, role, nonce).map(|agreed| agreed.session_id)
}

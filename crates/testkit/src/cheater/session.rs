//! Sessions of a cheater with an honest party.

use cenote_circuit::Clear;
use cenote_engine::{
    Backend, Fault, Job, Party, PoolChoice, Receivers, Role, Session, SessionConfig, WrkParams,
};
use cenote_net::{Channel, Handshake, RecordedFrame};
use cenote_prim::SessionId;

use super::{Cheat, Cheater};
use crate::pair::run_pair_over;
use crate::programs::{Kind, TestProgram};
use crate::run::{
    Outputs, expected, patient_pair, prg_of, program_job, run_program, smallest, with_pool,
};

/// The setting of a session in which a cheater takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// One request of one chunk; one batch without a pool.
    Small,
    /// Requests of three chunks, one and two: chunks are garbled before others are checked. No pool.
    Long,
    /// A pool that is filled by two batches; refills before the first request, in it, and between the
    /// chunks of the last one.
    Pool,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Setting; 3] = [Setting::Small, Setting::Long, Setting::Pool];

    /// The session's configuration.
    #[must_use]
    pub fn config(self) -> SessionConfig {
        match self {
            Setting::Small => smallest(Backend::Wrk),
            // A refill would end what is in flight: one batch serves all requests.
            Setting::Long => with_pool(Backend::Wrk, PoolChoice::OneShot(800)),
            // More than the 4096 leaky ANDs of a batch.
            Setting::Pool => with_pool(Backend::Wrk, PoolChoice::Kept(5_000)),
        }
    }

    /// The programs of its requests, and who receives.
    #[must_use]
    pub const fn requests(self) -> &'static [(Kind, Receivers)] {
        match self {
            Setting::Small => &[(Kind::Small, Receivers::Both)],
            Setting::Long => &[
                (Kind::Chunks(3), Receivers::Both),
                (Kind::Small, Receivers::Both),
                (Kind::Chunks(2), Receivers::Both),
            ],
            Setting::Pool => &[
                (Kind::Ands(1_450), Receivers::Both),
                (Kind::Small, Receivers::Garbler),
                (Kind::Chunks(2), Receivers::Both),
            ],
        }
    }
}

/// A session with a cheater.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The setting of the session.
    pub setting: Setting,
    /// The cheater's role.
    pub by: Role,
    /// The deviation of the cheater, and at which of its occasions.
    pub cheat: (Cheat, usize),
    /// Inputs of all ports, request by request.
    pub inputs: Vec<Vec<Vec<bool>>>,
    /// Of all randomness.
    pub seed: u128,
}

/// The observations of the cheater.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its outputs, request by request.
    pub outputs: Vec<Outputs>,
    /// The fault that stopped it.
    pub fault: Option<Fault>,
    /// The request in which it cheated, counted from 0; what comes before the first counts to it.
    pub cheated_in: Option<usize>,
    /// Answers to its reports that arrived.
    pub answers: usize,
}

/// How a session went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Outputs of the honest side.
    pub honest: Vec<Outputs>,
    /// The fault that stopped it.
    pub fault: Option<Fault>,
    /// The observations of the cheater.
    pub seen: Seen,
    /// The frames, as the cheater sent and received them.
    pub frames: Vec<RecordedFrame>,
}

impl Plan {
    /// A session of this setting with random inputs.
    #[must_use]
    pub fn new(setting: Setting, by: Role, cheat: (Cheat, usize), seed: u128) -> Plan {
        let requests = (0..).zip(setting.requests());
        let inputs = requests.map(|(i, (kind, _))| TestProgram(*kind).inputs(seed << 8 | i));
        Plan { setting, by, cheat, inputs: inputs.collect(), seed }
    }

    /// Runs it.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let mut channels = patient_pair();
        let cheaters = if self.by == Role::Garbler { &mut channels.0 } else { &mut channels.1 };
        let recording = cheaters.record();
        let (garbler, evaluator) = run_pair_over(channels, |channel, role| {
            if role == self.by {
                (None, Some(self.cheat(channel)))
            } else {
                (Some(self.serve(channel)), None)
            }
        });
        let (honest, cheater) = match self.by {
            Role::Garbler => (evaluator.0, garbler.1),
            Role::Evaluator => (garbler.0, evaluator.1),
        };
        let (honest, fault) = honest.expect("one side is honest");
        let seen = cheater.expect("one side is a cheater");
        Outcome { honest, fault, seen, frames: recording.frames() }
    }

    /// Returns the outputs that `role` must obtain, request by request.
    #[must_use]
    pub fn expected(&self, role: Role) -> Vec<Outputs> {
        let requests = self.setting.requests().iter().zip(&self.inputs);
        let outputs = requests.map(|((kind, to), inputs)| {
            expected(&Clear::eval(&TestProgram(*kind), inputs), *to, role)
        });
        outputs.collect()
    }

    /// The honest side: its outputs, and what stopped it.
    fn serve(&self, channel: Channel) -> (Vec<Outputs>, Option<Fault>) {
        let role = self.by.peer();
        let mut outputs = Vec::new();
        let prg = prg_of(role, self.seed);
        let opened = Session::open_seeded(channel, role, &self.setting.config(), prg);
        let mut session = match opened {
            Ok(session) => session,
            Err(fault) => return (outputs, Some(fault)),
        };
        for ((kind, to), inputs) in self.setting.requests().iter().zip(&self.inputs) {
            match run_program(&mut session, &TestProgram(*kind), inputs, *to) {
                Ok(output) => outputs.push(output),
                Err(fault) => return (outputs, Some(fault)),
            }
        }
        session.close();
        (outputs, None)
    }

    fn cheat(&self, channel: Channel) -> Seen {
        // Only a bad point comes before the cheater has made something to count by.
        let cheated_in = (self.cheat.0 == Cheat::BadPoint).then_some(0);
        let mut seen = Seen { outputs: Vec::new(), fault: None, cheated_in, answers: 0 };
        let end = self.cheater(channel).and_then(|mut cheater| {
            let end = self.run_all(&mut cheater, &mut seen.outputs);
            (seen.cheated_in, seen.answers) = (cheater.cheated_in, cheater.answers);
            end.map(|()| cheater.channel.close())
        });
        seen.fault = end.err();
        seen
    }

    fn run_all(&self, cheater: &mut Cheater, outputs: &mut Vec<Outputs>) -> Result<(), Fault> {
        for ((kind, to), inputs) in self.setting.requests().iter().zip(&self.inputs) {
            outputs.push(cheater.run(&TestProgram(*kind), inputs, *to)?);
        }
        Ok(())
    }

    fn cheater(&self, mut channel: Channel) -> Result<Cheater, Fault> {
        let config = self.setting.config();
        let params = WrkParams::derive(config.pool(), config.rho())?;
        let mut prg = prg_of(self.by, self.seed);
        let handshake = Handshake::new("session")
            .field("backend", "wrk")
            .field("pool", params.pool.map_or("none".to_owned(), |pool| pool.to_string()))
            .field("bucket", params.bucket.to_string())
            .field("batch", params.batch.to_string())
            .field("epsilon", format!("2^{}", params.epsilon_log2))
            .field("leaky", params.leaky.bits().to_string());
        let agreed = handshake.run(&mut channel, self.by, prg.bytes32())?;
        let session = SessionId(agreed.session_id);
        Cheater::set_up(channel, self.by, session, params, self.cheat, prg)
    }
}

impl Cheater {
    /// One request.
    fn run(
        &mut self,
        program: &TestProgram,
        inputs: &[Vec<bool>],
        to: Receivers,
    ) -> Result<Outputs, Fault> {
        let job = program_job(program, self.role, inputs, to)?;
        let mut handshake = Handshake::new("job").field("session", self.session.0);
        let other = self.cheats(Cheat::OtherProgram);
        for (name, value) in job.terms() {
            let value = if other && name == "digest" { "00".repeat(32) } else { value };
            handshake = handshake.field(name, value);
        }
        handshake.run(&mut self.channel, self.role, self.prg.bytes32())?;
        let outputs = job.run(self)?;
        self.check()?;
        self.channel.flush()?;
        self.jobs += 1;
        Ok(outputs)
    }
}

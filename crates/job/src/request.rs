//! One side's part of a run of a program.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cenote_circuit::{Circuit, Gates, Program, Signature};
use cenote_engine::cost::{Excess, Limits, Link, Machine, Plan};
use cenote_engine::{
    Backend, Fault, Job, Metered, ModuleJob, Outcome, ProgramJob, Receivers, Role, Session,
    SessionConfig,
};
use cenote_net::{Channels, Handshake};
use cenote_pool::Store;
use cenote_prim::{RandomOracle, SessionId};

use crate::evidence::hex;
use crate::{Computation, Summary};

/// Most owners of ports that a hello spells out.
const SPELLED_OUT: usize = 512;

/// One side's part of a run: everything that is checked before the peer hears of it.
pub struct Request {
    computation: Arc<Computation>,
    signature: Signature,
    own: Vec<Vec<bool>>,
    to: Receivers,
    config: SessionConfig,
    threads: usize,
    /// Why this side will not run it.
    excess: Option<Excess>,
}

/// How a run went.
pub struct Ran {
    /// The outputs, one entry for each port, `None` where the other party alone receives; with the cost of the
    /// job.
    pub outcome: Result<Outcome<Vec<Option<Vec<bool>>>>, Fault>,
    /// The session, as it was at its end.
    pub summary: Summary,
    /// Whether the items that are left were put away, for a run with a store that went well.
    pub put_away: Option<Result<(), Fault>>,
}

impl Request {
    /// A run of `computation` with the owners and receivers of `signature`, in which this side provides `own`:
    /// the bits of each port that it owns, in port order. Outputs whose port names nobody go to `to`.
    ///
    /// # Errors
    /// `Policy` when the backend has no sound parameters for it.
    pub fn new(
        computation: Arc<Computation>,
        signature: Signature,
        own: Vec<Vec<bool>>,
        to: Receivers,
        config: SessionConfig,
    ) -> Result<Request, Fault> {
        let config = config.for_ands(computation.ands());
        Backend::shown(&config)?;
        Ok(Request { computation, signature, own, to, config, threads: 1, excess: None })
    }

    /// The same run on so many threads of this side, for a backend that can ([`Session::set_threads`]).
    #[must_use]
    pub fn on(self, threads: usize) -> Request {
        Request { threads, ..self }
    }

    /// The backend and its options.
    #[must_use]
    pub const fn config(&self) -> SessionConfig {
        self.config
    }

    /// The same run, which `role` refuses when the parties meet if it is predicted to take more than `limits`
    /// allow on `machine` and `link`.
    ///
    /// # Errors
    /// `Policy` when the configuration is unsound.
    pub fn within(
        self,
        limits: &Limits,
        machine: &Machine,
        link: Link,
        role: Role,
    ) -> Result<Request, Fault> {
        let demand = self.computation.demand(&self.signature);
        let plan = Plan::new(&self.config, &demand)?;
        let excess = plan.check(limits, machine, self.config.backend, &demand, link, &[role]).err();
        Ok(Request { excess, ..self })
    }

    /// Agrees with the peer, computes, and ends the session. A side that refuses says so in the handshake, and
    /// nothing follows, whatever the peer answers.
    ///
    /// # Errors
    /// `Misuse` for inputs that are not those of the ports, before the peer hears of it; `Policy`, on both sides,
    /// naming what differs, or that one side refuses; faults of the set-up.
    pub fn run(
        &self,
        channels: impl Into<Channels>,
        role: Role,
        done: &AtomicU64,
    ) -> Result<Ran, Fault> {
        self.run_with(channels.into(), role, done, None)
    }

    /// The same with items that earlier sessions with this peer have kept in `store`; what is left is put away there. The peer does the same.
    ///
    /// # Errors
    /// As [`Request::run`]; those of [`Session::open_kept`].
    pub fn run_kept(
        &self,
        channels: impl Into<Channels>,
        role: Role,
        done: &AtomicU64,
        store: Box<dyn Store>,
    ) -> Result<Ran, Fault> {
        self.run_with(channels.into(), role, done, Some(store))
    }

    fn run_with(
        &self,
        channels: Channels,
        role: Role,
        done: &AtomicU64,
        store: Option<Box<dyn Store>>,
    ) -> Result<Ran, Fault> {
        if let Some(excess) = &self.excess {
            return Err(self.refuse(channels, role, excess));
        }
        let ands = self.computation.ands();
        match &*self.computation {
            Computation::Circuit(circuit) => {
                let bound = Bound { signature: &self.signature, circuit };
                let job = ProgramJob::new(&bound, role, self.own.clone(), self.to)?.of_ands(ands);
                self.compute(channels, role, Metered { job, done }, store)
            }
            Computation::Module { module, .. } => {
                let job = ModuleJob::new(module, role, self.own.clone())?;
                let job = job.at(self.config.rho()).of_ands(ands);
                self.compute(channels, role, Metered { job, done }, store)
            }
        }
    }

    fn compute<J>(
        &self,
        channels: Channels,
        role: Role,
        job: J,
        store: Option<Box<dyn Store>>,
    ) -> Result<Ran, Fault>
    where
        J: Job<Output = Vec<Option<Vec<bool>>>>,
    {
        let (config, facts, keeps) = (&self.config, self.facts(None), store.is_some());
        let mut session = match store {
            Some(store) => Session::open_kept(channels, role, config, facts, store)?,
            None => Session::open_for(channels, role, config, facts)?,
        };
        session.set_threads(self.threads)?;
        let outcome = session.run(&job);
        let summary = Summary::of(&mut session);
        let put_away = if keeps && outcome.is_ok() {
            Some(session.put_away())
        } else {
            session.close();
            None
        };
        Ok(Ran { outcome, summary, put_away })
    }

    fn refuse(&self, channels: Channels, role: Role, excess: &Excess) -> Fault {
        let heard = Session::refuse(channels, role, &self.config, self.facts(Some((role, excess))));
        let what = format!("the program takes too much: {excess}");
        match heard {
            Fault::Policy(differences) => Fault::Policy(format!("{what}; {differences}")),
            other => other,
        }
    }

    fn facts<'r>(
        &'r self,
        refused: Option<(Role, &'r Excess)>,
    ) -> impl FnOnce(Handshake) -> Handshake + 'r {
        facts(&self.computation, &self.signature, self.to, self.config, refused)
    }
}

/// All that both sides have to agree on of a run, for the handshake of its session; `refused` has the role of
/// this side and why it refuses.
pub fn facts<'a>(
    computation: &'a Computation,
    signature: &'a Signature,
    to: Receivers,
    config: SessionConfig,
    refused: Option<(Role, &'a Excess)>,
) -> impl FnOnce(Handshake) -> Handshake + 'a {
    move |handshake| {
        let compare = format!("compare with `cenote {}` on both sides", computation.info_command());
        let handshake = handshake
            .field("program", hex(&computation.digest()))
            .remedy("program", &compare)
            .field("owners", owners(signature))
            .field("reveal-to", to.name());
        let options = config.options();
        let handshake = options.fold(handshake, |all, (name, value)| {
            all.field(&format!("option {name}"), value.to_string())
        });
        // The figure of a side that refuses: both hear it, the limit stays with its owner. Two that refuse
        // do not agree either.
        let Some((role, excess)) = refused else {
            let remedy = "the program is above the limits of the other side";
            return handshake.field("price", "accepted").remedy("price", remedy);
        };
        handshake.field("price", format!("refused by the {role}: {}", excess.figure))
    }
}

/// One letter for each input port, or a digest where there are very many.
fn owners(signature: &Signature) -> String {
    let letter = |owner| match owner {
        Role::Garbler => 'g',
        Role::Evaluator => 'e',
    };
    let letters: String = signature.owners().into_iter().map(letter).collect();
    if letters.len() <= SPELLED_OUT { letters } else { hex(&digest(&letters)) }
}

fn digest(text: &str) -> [u8; 32] {
    RandomOracle::new("cenote 2026 job owners of many ports v1", &SessionId([0; 32]))
        .bytes(text.as_bytes())
        .digest()
}

/// The circuit with the owners of this run. Its file's name is nobody's business but the owner's.
struct Bound<'r> {
    signature: &'r Signature,
    circuit: &'r Circuit,
}

impl Program for Bound<'_> {
    fn name(&self) -> String {
        "circuit".to_owned()
    }

    fn signature(&self) -> Signature {
        self.signature.clone()
    }

    fn digest(&self) -> [u8; 32] {
        self.circuit.digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.circuit.run(g, inputs)
    }
}

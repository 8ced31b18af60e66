//! Backend `jimu`: LEGO with interactive hashes on pools of garbled cores (POOL-JIMU), malicious
//! security.
//!
//! **Construction.** JIMU (Zhu, Huang, ASIACRYPT 2017) on POOL's pools (CCS 2017, sections 3 to 7),
//! repaired (docs/protocols/jimu.md): gates garbled and hashed with no circuit in mind, some checked, the rest
//! kept in a pool from which each logical AND draws a bucket; one good member is enough.
//! **Parts.** Hash: `ihash`. Garbling, checking, soldering, evaluating: `garbled_core`.
//! Escrow: `evaluator::escrow` and `ihash`. Inputs of the evaluator: `input_check`. Batches and pools: `batch`,
//! `store` and the supply of each role; pools that are not stored: `compact`; ready items: `depot`;
//! made beside requests: `refiller`. Requests:
//! `garbler`, `evaluator`, `party`.
//! **Roles.** The garbler holds the labels and permutation messages of all wires and Delta; the
//! evaluator their tags, active labels and masked values.
//! **Adversary.** Malicious, either party; random-oracle and ideal-cipher model. **Parameters.**
//! `params.rs`: everything from rho and the size of the pool.
//!
//! **Set-up.** Correlated OT with k(Delta); over it the watch lists (`cenote_ot::watch`); the hashed Delta, with the proof of k(Delta).
//! **Batch** of a pool, G -> E unless said: strips (corrections, tables), closing wires, coin toss,
//! answer to the consistency check, openings of checked items; survivors change places with drawn
//! items; inner solders of the drawn buckets.
//! **Inputs.** G: active label of a wire in escrow. E -> G: y + r on wires made ahead.
//! **Chunk** of gates in program order: outer solders of all its cores. The evaluator verifies all,
//! then evaluates.
//! **Outputs.** To E: G opens permutation messages. To G: E reports masked values and a hash of
//! labels; if E does not receive, G has first bound the permutation messages to wires in escrow.
//!
//! **Leakage and abort.** Security with abort, no fairness: the evaluator learns an output for both
//! first. Two valid labels of one wire make the evaluator finish in the clear (`evaluator/recovery`):
//! it sends what an honest run would, with the same work but for a thread that runs the job beside it.
//! **Checks** (what may not happen before them in brackets):
//! - `jimu.watch.*`, `ot.*`: set-up \[any hash\].
//! - `jimu.delta`: Delta is not zero \[any label\].
//! - `jimu.hash.codeword`: hashes are of codewords; catches words half-way between two \[any use of
//!   a tag of the batch\].
//! - `jimu.check`: opened cores; catches bad tables, a wrong Delta in a gate \[survivors enter the pool\].
//! - `jimu.merkle`: items sent again, in compact storage; catches all but what the slot of the pool
//!   held \[their solders\].
//! - `jimu.inner`: solders made ahead; catches openings that were not hashed \[the bucket is ready\].
//! - `jimu.input.sum`, `jimu.input.proof`: the evaluator's input wires, and those that prove k(Delta) \[y + r; the end of the set-up\].
//! - `jimu.input.label`: the label is one of the wire's two \[its use\].
//! - `jimu.outer`: solders of a chunk \[its evaluation\].
//! - `jimu.output.perm`, `jimu.output.bond`: opened permutation messages \[the output; the report\].
//! - `jimu.output.result` (garbler): reported labels; catches a forged output \[the output\].
//! - `jimu.order`: what the garbler orders of a supply with a channel of its own \[carrying it out\].
//! - `jimu.format`: canonical packing \[decoding\].
//!
//! **Private values.** Wire values: masked by permutation bits, whose messages the evaluator cannot
//! tell from its watched symbols. Delta: one label a wire is shown. The garbler's input: masked by
//! the permutation bit of its wire. The evaluator's input: masked by choice bits.
//! **Kept wires.** What each side has of them, under the Delta and the hash of the session; and, as for an output to the garbler
//! alone, the sum of each permutation message with that of a wire in escrow, which is used for nothing else and hides it. Recovery in
//! a later request has their values from there, or from the run in the clear in which they were kept.
//! **Costs.** [`costs`], with which the tests compare every message.
//! **Differences from the papers.** docs/protocols/jimu.md.

mod batch;
mod compact;
pub mod costs;
mod depot;
mod evaluator;
pub mod garbled_core;
mod garbler;
pub mod ihash;
mod input_check;
mod kept;
mod measure;
mod messages;
mod params;
mod party;
mod plan;
mod refiller;
mod store;
pub mod tags;
#[cfg(test)]
pub(crate) mod tally;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::Builder;

use cenote_net::{Channel, Channels, Counters, Fault, Phase, Role, Tag};
use cenote_pool::{Journal, Level, Occupancy, Store};
use cenote_prim::{Block, Prg, SessionId, wipe_stack};

// For the fuzz targets.
#[doc(hidden)]
pub use messages::{decode_perms, encode_perms};
pub use params::{JimuParams, JimuSwitches, PoolSpec};
pub use party::JimuParty;

use serde_json::Value;

use super::{Live, MeasuredCores, ProbeSize, Protocol, Terms};
use crate::NamedMemories;
use crate::claims::{Adversary, Assumption, Covers, Evidence, FirstOutput, Leak, Leakage, Promise};
use crate::cost::{Demand, Plan, Speed};
use crate::options::{Opt, OptValue, SessionConfig, Values};
use crate::parts::keeper::{CONNECTIONS_LOG2, Keeper};
use crate::parts::kept::Kept;
use crate::session::{Job, run_and_check};
use evaluator::Replay;
use garbled_core::{Conflict, Shape};
use kept::Found;

/// Most openings, labels or outputs of one message.
pub(crate) const MAX_PIECE: usize = 1 << 13;

/// Stack of a replay: a job must not need more there than on a main thread.
const STACK: usize = 8 << 20;

/// One party's end of a session: serves many requests from one supply, one after the other.
pub struct JimuSession {
    core: Core,
}

/// The part of a session that outlives a request.
struct Core {
    channels: Channels,
    session: SessionId,
    role: Role,
    /// Reveals so far, in pieces.
    reports: u64,
    side: Side,
    /// What was found out is on disk.
    remembered: bool,
}

/// However a session ends, by a panic as well, the evaluator writes its secrets anew.
impl Drop for JimuSession {
    fn drop(&mut self) {
        let _ = self.core.remember();
    }
}

/// The part of a session that differs by role.
enum Side {
    Garbler(Box<GarblerSide>),
    Evaluator(Box<EvaluatorSide>),
}

struct GarblerSide {
    depot: garbler::Depot,
    request: garbler::Garbler,
    kept: Kept<garbler::KeptWires>,
}

struct EvaluatorSide {
    depot: evaluator::Depot,
    request: evaluator::Evaluator,
    kept: Kept<evaluator::KeptWires>,
    /// Two valid labels of one wire, once they were seen: from then on reveals come from the clear.
    conflict: Option<Conflict>,
    /// What earlier sessions have found out.
    found: Option<Found>,
}

impl Side {
    fn params(&self) -> &JimuParams {
        match self {
            Side::Garbler(side) => side.depot.params(),
            Side::Evaluator(side) => side.depot.params(),
        }
    }
}

impl JimuSession {
    /// Number of the pool of cores of `width`.
    fn pool_of(&self, width: usize) -> Result<usize, Fault> {
        let pool = self.core.side.params().cores().position(|(shape, _)| shape.ands() == width);
        pool.ok_or_else(|| Fault::Misuse(format!("no pool of width {width}")))
    }

    /// The party of the next request, of which only this run is possible: nothing to hide a cheat of the
    /// garbler with, as [`JimuSession::run`] does.
    pub fn party(&mut self) -> JimuParty<'_> {
        self.core.party(&no_job)
    }
}

/// Set-up: watch lists, delta, correlated OT.
impl Protocol for JimuSession {
    const NAME: &'static str = "jimu";
    const TAGS: &'static [Tag] = tags::ALL;
    const TYPICAL: Speed = Speed {
        setup_s: 6e-2,
        made_s: 9e-8,
        evaluated_s: 2.5e-7,
        batch_s: 8e-8,
        linear_s: 2e-8,
        linear_batch_s: 1e-9,
        call_s: 5e-7,
        moved_s: 5e-9,
        wide_s: 1e-9,
        statement_s: 1.7e-7,
        pool_s: 2e-10,
        input_s: [8.5e-7; 2],
    };
    const PROBE: ProbeSize = ProbeSize { trips: 1, inputs: 1 << 16 };
    const GIVES_EVIDENCE: bool = true;
    const DATA_CHANNELS: u32 = 1;
    const KEEPS_WIRES: bool = true;
    const KEEPS_ITEMS: bool = true;
    const OPTIONS: &'static [Opt] = &[
        // Filled in about a second; a larger one makes each AND cheaper.
        Opt::pool(
            Values::Positive,
            OptValue::Number(10_000),
            (1 << 20, u64::MAX),
            "garbled ANDs of the pool; for none take wrk, which does without a pool",
        ),
        Opt::RHO,
        params::MUXCORE,
        params::COMPACT,
        Opt::SOFTSPOKEN,
    ];
    type Params = JimuParams;

    fn derive(config: &SessionConfig) -> Result<JimuParams, Fault> {
        JimuParams::of(config)
    }

    fn shown(params: &JimuParams) -> Value {
        params.shown()
    }

    fn terms(params: &JimuParams) -> Terms {
        params.terms()
    }

    fn promises(params: &JimuParams) -> Promise {
        Promise {
            adversary: Adversary::Malicious,
            kappa: cenote_ot::KAPPA,
            covers: Covers::Session,
            epsilon_log2: Some(params.epsilon_log2()),
            adaptive_epsilon_log2: Some(params.adaptive_epsilon_log2()),
            assumptions: &[
                Assumption::RandomOracle,
                Assumption::IdealCipher("gate hash, OT pads, PRG"),
                Assumption::GapDiffieHellman,
            ],
            leakage: Leakage(&[Leak::Outputs, Leak::Abort, Leak::Traffic, Leak::ChunkFoundOut]),
            first_output: FirstOutput::Party(Role::Evaluator),
            constant_time: true,
            audited: false,
        }
    }

    fn plan(params: &JimuParams, demand: &Demand, plan: &mut Plan) {
        plan::plan(plan, params, demand);
    }

    fn open(
        mut channels: Channels,
        session: SessionId,
        role: Role,
        params: JimuParams,
        prg: impl FnOnce() -> Prg,
        store: Option<Box<dyn Store>>,
    ) -> Result<JimuSession, Fault> {
        let channel = channels.control();
        let mut keeper = store.map(|store| {
            let terms = kept::terms(&params, role, channel.peer());
            let error = |sets| params.error(sets);
            Keeper::new(store, kept::stocks(&params), terms, kept::MOST_APART, error)
        });
        let side = Side::setup(channel, session, role, params, prg(), keeper.as_mut());
        let side = side.inspect_err(|fault| {
            keeper.iter_mut().for_each(|keeper| keeper.fail(fault));
            channel.abort();
        });
        let mut side = side?;
        if let Some(keeper) = keeper {
            side.put_back(keeper).inspect_err(|_| channel.abort())?;
        }
        let remembered = false;
        Ok(JimuSession { core: Core { channels, session, role, reports: 0, side, remembered } })
    }

    /// Should it become necessary, the job runs once more beside itself, in the clear: `Internal` if it does
    /// not run alike there, or there is no thread for that.
    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
        std::thread::scope(|scope| {
            // There is a thread before it is known whether it has anything to do: that a machine has none
            // left must not depend on it.
            let (begin, waits) = mpsc::channel::<Replay>();
            if self.core.role == Role::Evaluator {
                let run = move || {
                    let Ok(mut replay) = waits.recv() else { return };
                    // Whatever ends it, the other run finds that there are no values.
                    let _ = catch_unwind(AssertUnwindSafe(|| job.run(&mut replay).map(drop)));
                    drop(replay);
                    wipe_stack();
                };
                let thread = Builder::new().name("cenote replay".into()).stack_size(STACK);
                thread.spawn_scoped(scope, run).map_err(|error| {
                    self.core.channels.control().abort();
                    Fault::Internal(format!("no thread for a replay: {error}"))
                })?;
            }
            let beside = move |replay| begin.send(replay).map_err(|_| no_replay());
            let mut party = self.core.party(&beside);
            run_and_check(&mut party, job)
        })
    }
}

impl Live for JimuSession {
    fn channel(&mut self) -> &mut Channel {
        self.core.channels.control()
    }

    fn counters(&mut self) -> Counters {
        let beside = match &self.core.side {
            Side::Garbler(side) => side.depot.counters(),
            Side::Evaluator(side) => side.depot.counters(),
        };
        self.core.channels.control().counters().beside(&beside)
    }

    fn promise(&self) -> Promise {
        let mut promise = JimuSession::promises(self.core.side.params());
        if self.core.side.is_kept() {
            promise.kappa -= CONNECTIONS_LOG2;
        }
        promise
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.core.fail(fault)
    }

    fn close(&mut self) {
        match &self.core.side {
            Side::Garbler(side) => side.depot.finish(),
            Side::Evaluator(side) => side.depot.finish(),
        }
        self.core.channels.control().close();
        // Its owner has the results; what was found is on disk or is found again.
        let _ = self.core.remember();
    }

    fn evidence(&self) -> Option<Evidence> {
        self.core.found().map(|Found { conflict, session, .. }| evidence(&conflict, session))
    }

    fn fill(&mut self) -> Result<(), Fault> {
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.fill(channels.control()),
            Side::Evaluator(side) => side.depot.fill(channels.control()),
        })
    }

    fn stock(&mut self, ands: usize) -> Result<(), Fault> {
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.stock(channels.control(), ands),
            Side::Evaluator(side) => side.depot.stock(channels.control(), ands),
        })
    }

    fn keep(&mut self, low: usize, high: usize) -> Result<(), Fault> {
        let role = self.core.role;
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.keep(channels, role, (low, high)),
            Side::Evaluator(side) => side.depot.keep(channels, role, (low, high)),
        })
    }

    fn save(&mut self, last: bool, _memories: &NamedMemories) -> Result<(), Fault> {
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.save(channels.control(), last),
            Side::Evaluator(side) => side.depot.save(channels.control(), last),
        })
    }

    fn forget(&mut self, are_gone: &dyn Fn(&str) -> bool) {
        match &mut self.core.side {
            Side::Garbler(side) => side.kept.forget(are_gone),
            Side::Evaluator(side) => side.kept.forget(are_gone),
        }
    }

    fn occupancy(&self) -> Option<Occupancy> {
        Some(match &self.core.side {
            Side::Garbler(side) => side.depot.occupancy(),
            Side::Evaluator(side) => side.depot.occupancy(),
        })
    }

    fn ready(&self) -> Option<Level> {
        self.occupancy().and_then(|all| all.of(&Shape::AND.stock_name()).cloned())
    }

    fn set_journal(&mut self, journal: Box<dyn Journal>) -> Result<(), Fault> {
        match &mut self.core.side {
            Side::Garbler(side) => side.depot.set_journal(journal),
            Side::Evaluator(side) => side.depot.set_journal(journal),
        }
    }

    fn cores(&mut self) -> Option<&mut dyn MeasuredCores> {
        Some(self)
    }
}

fn no_replay() -> Fault {
    Fault::Internal("the thread of the replay is gone".into())
}

fn no_job(_: Replay) -> Result<(), Fault> {
    Err(Fault::Internal("there is no job to run in the clear".into()))
}

/// Most buckets kept ready: POOL's buffer.
const MAX_STOCK: usize = 128 << 10;

impl Side {
    fn setup(
        channel: &mut Channel,
        session: SessionId,
        role: Role,
        params: JimuParams,
        prg: Prg,
        keeper: Option<&mut Keeper>,
    ) -> Result<Side, Fault> {
        channel.set_phase(Phase::Setup);
        Ok(match role {
            Role::Garbler => Side::Garbler(Box::new(GarblerSide {
                depot: garbler::Depot::new(
                    params.clone(),
                    garbler::Supply::setup(channel, session, params, prg, keeper)?,
                ),
                request: garbler::Garbler::default(),
                kept: Kept::default(),
            })),
            Role::Evaluator => {
                let own = params.clone();
                let setup = evaluator::Supply::setup(channel, session, params, prg, keeper);
                let mut supply = setup?;
                let found = supply.take_found();
                Side::Evaluator(Box::new(EvaluatorSide {
                    depot: evaluator::Depot::new(own, supply),
                    request: evaluator::Evaluator::default(),
                    kept: Kept::default(),
                    conflict: found.as_ref().and_then(Found::opens),
                    found,
                }))
            }
        })
    }

    fn put_back(&mut self, keeper: Keeper) -> Result<(), Fault> {
        match self {
            Side::Garbler(side) => side.depot.put_back(keeper),
            Side::Evaluator(side) => side.depot.put_back(keeper),
        }
    }

    /// Whether items outlive the session.
    fn is_kept(&self) -> bool {
        match self {
            Side::Garbler(side) => side.depot.is_kept(),
            Side::Evaluator(side) => side.depot.is_kept(),
        }
    }
}

impl Core {
    /// Work on the supply; a fault ends the session for the peer as well.
    fn between_requests(
        &mut self,
        work: impl FnOnce(&mut Side, &mut Channels) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        work(&mut self.side, &mut self.channels).map_err(|fault| self.fail(fault))
    }

    /// Ends the session for the peer as well, and what is kept before it, if `fault` asks for that; returns the fault to report.
    fn fail(&mut self, fault: Fault) -> Fault {
        let fault = match &self.side {
            Side::Garbler(side) => side.depot.burn(fault),
            Side::Evaluator(side) => side.depot.burn(fault),
        };
        self.channels.control().abort();
        self.end();
        // Whatever the disk says, the session ends with `fault`.
        let _ = self.remember();
        fault
    }

    /// Asks the supply to end, where it works beside requests.
    fn end(&self) {
        match &self.side {
            Side::Garbler(side) => side.depot.end(),
            Side::Evaluator(side) => side.depot.end(),
        }
    }

    /// The evaluator's labels of one wire, if it has any, or zeros in their place: whatever ends a session, they are on disk.
    fn remember(&mut self) -> Result<(), Fault> {
        let found = self.found();
        let Side::Evaluator(side) = &self.side else { return Ok(()) };
        if std::mem::replace(&mut self.remembered, true) {
            return Ok(());
        }
        side.depot.remember(&Found::to_bytes(found.as_ref()))
    }

    /// What the evaluator found out of its peer: in this epoch, if anything, and else before it.
    fn found(&self) -> Option<Found> {
        let Side::Evaluator(side) = &self.side else { return None };
        match (&side.found, side.conflict.clone()) {
            (Some(found), _) if !found.earlier => Some(found.clone()),
            (_, Some(conflict)) => Some(Found { conflict, session: self.session, earlier: false }),
            (found, None) => found.clone(),
        }
    }
}

/// Returns the evidence that a conflict gives.
fn evidence(conflict: &Conflict, session: SessionId) -> Evidence {
    let labels = conflict.labels.map(|label| {
        let mut bytes = [0; 48];
        bytes.copy_from_slice(Block::as_bytes(&label.0));
        bytes
    });
    Evidence { session: session.0, wire: conflict.wire, labels }
}

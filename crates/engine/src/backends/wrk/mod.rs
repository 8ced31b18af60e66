//! Backend `wrk`: authenticated garbling on a pool of leaky ANDs (POOL-WRK), malicious security.
//!
//! **Construction.** Two-party authenticated garbling: POOL section 8 for the preprocessing
//! (`supply.rs`), Katz, Ranellucci, Rosulek, Wang (CRYPTO 2018) for half gates
//! (`authenticated_half_gates.rs`), in chunks so that memory follows the live wires.
//! **Roles.** The garbler holds L_{w,0} and Delta_A, the evaluator L_{w,Lambda}, Lambda and Delta_B; masks
//! lambda are authenticated shares on both sides.
//! **Adversary.** Malicious, either party; random-oracle and ideal-cipher model. **Parameters.**
//! `params.rs`: kappa 120, rho 40, 64 or 80; bucket and pool from `cenote_pool::params`.
//!
//! **Supply.** Shares and triples come from the depot (`depot.rs`), which is filled beside requests on a channel of
//! its own (`refiller.rs`), or between chunks where there is but one channel.
//! **Inputs** of owner P: the peer opens its shares of fresh masks to P; P sends Lambda = x xor lambda;
//! the garbler sends, or answers with, L_{w,Lambda}. Never are both shares of an input mask opened. All inputs between two chunks go together.
//! **Chunk** of gates in program order: both open f and g of all ANDs; the garbler sends tables;
//! the evaluator reports Lambda with a hash of its labels; the garbler checks the report, then
//! answers with a hash of MACs. The garbler works some chunks ahead of the evaluator (`parts/pace.rs`).
//! **Outputs.** After every deferred check: to B, A opens its shares of the masks; to A, B opens its.
//!
//! **Leakage and abort.** Security with abort, no fairness: the evaluator learns an output for both
//! first. A fault ends the session; the peer sees one uniform abort frame.
//! **Checks** (what may not happen before them in brackets):
//! - `ot.*`: consistency of the OT extension \[any use of a share\].
//! - `equality.point`, `equality.tag`, `coin.opening`: leaky ANDs \[entry in the pool; the coin\].
//! - `opening.mac`: every opened bit \[its use\].
//! - `wrk.labels`: the reported Lambda are those of the labels \[`wrk.masked`'s answer\].
//! - `wrk.masked`: every Lambda is right \[any reveal\].
//! - `supply.order`, `supply.room`: what the garbler orders of the supply \[carrying it out\].
//! - `wrk.kept`: masks that come back are those that were kept \[any use of the wires\].
//! - `wrk.kept.format`, `wrk.tables.format`, `wrk.report.format`, `wrk.input.format`: canonical packing \[decoding\].
//!
//! **Private values.** Input x: masked by lambda, of which the peer knows one share at most. Wire
//! values: masked alike. Delta_A: difference of labels, one of each pair is shown; Delta_B: keys are never sent.
//! Output of one receiver: masked by its own share of lambda, which it never opens.
//! **Kept wires** rest (`resting.rs`) once every check of the request ran: as of then Lambda is right on both sides, so that it needs no proof of
//! its own. They come back with masks that are proven to be those that were kept, on shares and labels under Deltas that last; openings, chunks and keys of
//! gates are counted through the session, so that later gates and openings are checked as those of the same request are: a Lambda that
//! is changed in between fails `wrk.labels` or `wrk.masked`, a mask `wrk.kept`.
//! **Costs.** docs/protocols/wrk.md; asserted in the tests.
//! **Differences from the papers.** The label hash D_L is ours and mandatory (docs/protocols/wrk.md, "A request");
//! universal hashes replace lists of MACs; f and g are opened a chunk at a time.

pub mod authenticated_half_gates;
pub mod bucket;
pub mod depot;
mod evaluator;
mod garbler;
mod gate_hash;
mod lag;
pub mod leaky_and;
mod masks;
mod messages;
pub mod opening;
pub mod packed;
mod params;
mod party;
mod plan;
mod refiller;
mod resting;
pub mod share;
mod shelves;
mod slices;
mod steps;
mod stored;
pub mod supply;
pub mod tags;

use cenote_net::{Channel, Channels, Counters, Fault, Fingerprint, Role, Tag};
use cenote_pool::{Journal, Level, MOST_STRIDE, Occupancy, Store};
use cenote_prim::{Block, Prg, RandomOracle, SessionId, bits};

pub use leaky_and::Width;
pub use params::WrkParams;
pub use party::WrkParty;

use serde_json::Value;

use super::{Live, ProbeSize, Protocol, Terms};
use crate::claims::{Adversary, Assumption, Covers, FirstOutput, Leak, Leakage, Promise};
use crate::cost::{Demand, OnTheLine, Plan, Speed};
use crate::named_memory::NamedMemories;
use crate::options::{Opt, OptValue, SessionConfig, Values};
use crate::parts::chunk::CHUNK_ANDS;
use crate::parts::keeper::{self, CONNECTIONS_LOG2, Keeper, MEMORIES};
use crate::parts::kept::Kept;
use crate::parts::pace::MOST_AHEAD;
use crate::party::MAX_RESTING_WIRES;
use crate::session::{Job, run_and_check};
use depot::Depot;
use gate_hash::GateHash;
use masks::{Beaver, Ready};
use resting::Resting;
use stored::Stored;
use supply::{MAX_TAKE, SHARES, TRIPLES};

/// One party's end of a session: serves many requests from one depot, one after the other.
pub struct WrkSession {
    core: Core,
}

/// The part of a session that outlives a request.
struct Core {
    channel: Channel,
    depot: Depot,
    session: SessionId,
    role: Role,
    /// Half-gate hash: its key indices run on through all requests.
    hash: GateHash,
    prg: Prg,
    chunks: u64,
    /// Chunks that the garbler may garble ahead of their check while the evaluator works on them and the line carries them. Both
    /// sides go by it, as it fixes which answers come before which tables.
    ahead: usize,
    /// A request has inputs without labels, or chunks whose checks are outstanding.
    in_flight: bool,
    kept: Kept<Vec<Resting>>,
    /// How often kept wires came back.
    woken: u64,
}

impl WrkSession {
    /// The party of the next request. It refuses everything if the request before it ended without
    /// its checks.
    pub fn party(&mut self) -> WrkParty<'_> {
        self.core.party()
    }

    /// The depot, for its levels.
    #[must_use]
    pub fn depot(&self) -> &Depot {
        &self.core.depot
    }
}

/// Items that one of two honest sides may have noted as taken before the other: what is in flight, and a stride.
const MOST_APART: u64 = (MOST_AHEAD * CHUNK_ANDS + MAX_TAKE) as u64 + MOST_STRIDE;

/// What the triples and shares of an epoch depend on besides its keys.
fn epoch_terms(params: &WrkParams, role: Role, peer: Option<Fingerprint>) -> keeper::Terms {
    let oracle = || RandomOracle::new("cenote 2026 engine wrk epoch v1", &SessionId([0; 32]));
    let (width, bound) = (params.leaky.bits().into(), params.epsilon_log2.to_bits());
    keeper::Terms::of(oracle, role, peer, |items| items.number(width).number(bound))
}

/// With silent OT, and without it all but the last.
const ASSUMED: &[Assumption] = &[
    Assumption::RandomOracle,
    Assumption::IdealCipher("re-keyed hash, PRG"),
    Assumption::GapDiffieHellman,
    Assumption::SimultaneousDiffieHellman,
    Assumption::ParityWithNoise,
];

impl Protocol for WrkSession {
    const NAME: &'static str = "wrk";
    const TAGS: &'static [Tag] = tags::ALL;
    const TYPICAL: Speed = Speed {
        setup_s: 4e-2,
        made_s: 1.2e-7,
        evaluated_s: 4e-7,
        batch_s: 4e-8,
        linear_s: 2e-8,
        linear_batch_s: 1e-9,
        call_s: 7e-7,
        moved_s: 5.5e-9,
        wide_s: 4e-9,
        statement_s: 1.8e-7,
        pool_s: 0.0,
        input_s: [1.1e-7; 2],
    };
    const KEEPS_WIRES: bool = true;
    const MOST_KEPT_WIRES: usize = MAX_RESTING_WIRES;
    const KEEPS_ITEMS: bool = true;
    const PROBE: ProbeSize = ProbeSize { trips: 2, inputs: 1 << 17 };
    const DATA_CHANNELS: u32 = 1;
    const OPTIONS: &'static [Opt] = &[
        Opt::pool(
            Values::PositiveOrNone,
            OptValue::None,
            // A pool is worth filling for a job with as many ANDs.
            (480_000, 480_000),
            "leaky ANDs of the pool; none for one-shot batches",
        ),
        Opt::RHO,
        Opt::OT,
    ];
    type Params = WrkParams;

    fn derive(config: &SessionConfig) -> Result<WrkParams, Fault> {
        WrkParams::of(config)
    }

    fn shown(params: &WrkParams) -> Value {
        params.shown()
    }

    fn terms(params: &WrkParams) -> Terms {
        let mut terms = vec![
            ("pool", params.pool.map_or("none".into(), |pool| pool.to_string())),
            ("bucket", params.bucket.to_string()),
            ("batch", params.batch.to_string()),
            ("epsilon", format!("2^{}", params.epsilon_log2)),
            ("leaky", params.leaky.bits().to_string()),
        ];
        if !params.ot_by_line {
            terms.push(("ot", params.ot.to_string()));
        }
        terms
    }

    fn promises(params: &WrkParams) -> Promise {
        Promise {
            adversary: Adversary::Malicious,
            // Two bits of each global key are fixed.
            kappa: cenote_ot::KAPPA,
            covers: Covers::Session,
            epsilon_log2: Some(params.epsilon_log2),
            adaptive_epsilon_log2: Some(params.adaptive_epsilon_log2),
            assumptions: &ASSUMED[..if params.may_be_silent() { 5 } else { 4 }],
            leakage: Leakage(&[Leak::Outputs, Leak::Abort, Leak::Traffic]),
            first_output: FirstOutput::Party(Role::Evaluator),
            constant_time: true,
            audited: false,
        }
    }

    fn plan(params: &WrkParams, demand: &Demand, plan: &mut Plan) {
        plan::plan(plan, params, demand);
    }

    fn open(
        mut channels: Channels,
        session: SessionId,
        role: Role,
        params: WrkParams,
        prg: impl FnOnce() -> Prg,
        store: Option<Box<dyn Store>>,
    ) -> Result<WrkSession, Fault> {
        let mut prg = prg();
        let keeper = store.map(|store| {
            let terms = epoch_terms(&params, role, channels.control().peer());
            let stocks = [TRIPLES, SHARES, MEMORIES].map(Into::into).to_vec();
            Keeper::new(store, stocks, terms, MOST_APART, |pools| params.error(pools))
        });
        let depot = Depot::open(&mut channels, session, role, params, &mut prg, keeper)
            .inspect_err(|_| channels.control().abort())?;
        let channel = channels.into_control();
        let oracle = RandomOracle::new("cenote 2026 engine half-gate start v1", &session);
        let hash = GateHash::new(oracle.blocks(&[depot.start()]).block());
        let ahead = depot.pace().ahead;
        Ok(WrkSession {
            core: Core {
                channel,
                depot,
                session,
                role,
                hash,
                prg,
                chunks: 0,
                ahead,
                in_flight: false,
                kept: Kept::resting(),
                woken: 0,
            },
        })
    }

    fn run<J: Job>(&mut self, job: &J) -> Result<J::Output, Fault> {
        self.core.depot.expect(job.ands())?;
        let output = run_and_check(&mut self.party(), job)?;
        self.core.depot.expect(0)?;
        Ok(output)
    }
}

impl Live for WrkSession {
    fn channel(&mut self) -> &mut Channel {
        &mut self.core.channel
    }

    fn promise(&self) -> Promise {
        let mut promise = WrkSession::promises(self.core.depot.params());
        if self.core.depot.is_kept() {
            promise.kappa -= CONNECTIONS_LOG2;
        }
        promise
    }

    fn fill(&mut self) -> Result<(), Fault> {
        self.core.between_requests(Depot::fill)
    }

    fn stock(&mut self, ands: usize) -> Result<(), Fault> {
        self.core.between_requests(|depot, channel| depot.stock(channel, ands))
    }

    fn keep(&mut self, low: usize, high: usize) -> Result<(), Fault> {
        self.core.depot.keep(low, high)
    }

    fn save(&mut self, last: bool, memories: &NamedMemories) -> Result<(), Fault> {
        let saved = stored::encode(memories, &self.core.kept);
        self.core.depot.memories(|place| *place = saved);
        self.core.between_requests(|depot, channel| depot.save(channel, last))
    }

    fn change_memories(&mut self) -> Result<(), Fault> {
        self.core.depot.change_memories()
    }

    fn forget(&mut self, are_gone: &dyn Fn(&str) -> bool) {
        self.core.kept.forget(are_gone);
    }

    fn saved_memories(&mut self) -> Result<NamedMemories, Fault> {
        let mut saved = Stored::default();
        self.core.depot.memories(|place| saved = std::mem::take(place));
        if let Some(memories) = stored::decode(&saved.bytes, &mut self.core.kept) {
            return Ok(memories);
        }
        // The peer may be able to read its own, and both save the same ones or none: they end as if a job had changed them, on both sides.
        self.change_memories()?;
        Err(Fault::Storage(
            "its memories are of another version: they end; open another session".into(),
        ))
    }

    fn has_unsaved_memories(&self) -> bool {
        self.core.depot.has_changed_memories()
    }

    fn counters(&mut self) -> Counters {
        self.core.channel.counters().beside(&self.core.depot.counters())
    }

    fn fail(&mut self, fault: Fault) -> Fault {
        self.core.fail(fault)
    }

    fn close(&mut self) {
        self.core.depot.end();
        self.core.channel.close();
    }

    fn on_the_line(&self) -> Option<OnTheLine> {
        Some(OnTheLine::of(self.core.depot.pace(), self.core.depot.params().ot))
    }

    fn occupancy(&self) -> Option<Occupancy> {
        Some(self.core.depot.occupancy())
    }

    fn ready(&self) -> Option<Level> {
        self.occupancy().and_then(|all| all.of(TRIPLES).cloned())
    }

    fn set_journal(&mut self, journal: Box<dyn Journal>) -> Result<(), Fault> {
        self.core.depot.set_journal(journal)
    }

    fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        self.core.depot.set_threads(threads)
    }

    fn set_ahead(&mut self, triples: usize) {
        self.core.depot.set_ahead(triples);
    }
}

impl Core {
    /// Work on the depot while nothing is in flight; a fault ends the session for the peer as well.
    fn between_requests(
        &mut self,
        work: impl FnOnce(&mut Depot, &mut Channel) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.in_flight {
            return Err(Fault::Misuse("a request has checks outstanding".into()));
        }
        let worked = work(&mut self.depot, &mut self.channel);
        worked.map_err(|fault| self.fail(fault))
    }

    /// Ends the session for the peer as well; returns the fault to report.
    fn fail(&mut self, fault: Fault) -> Fault {
        let fault = self.depot.explain(fault);
        self.depot.burn(&fault);
        self.channel.abort();
        self.depot.end();
        self.kept = Kept::resting();
        self.depot.memories(|place| *place = Stored::default());
        fault
    }

    fn next_chunk(&mut self) -> u64 {
        self.chunks += 1;
        self.chunks
    }

    /// The masked values of an input of the peer.
    fn receive_masked(&mut self, len: usize) -> Result<Vec<bool>, Fault> {
        let packed = self.channel.recv(tags::INPUT_BITS, bits::packed_len(len))?;
        if !bits::is_canonical(&packed, len) {
            return Err(Fault::Misbehaved("wrk.input.format"));
        }
        Ok((0..len).map(|i| bits::get(&packed, i)).collect())
    }

    /// The peer's opening of f and g.
    fn receive_beaver(&mut self, beaver: &Beaver) -> Result<Vec<u8>, Fault> {
        if beaver.ands() == 0 {
            return Ok(Vec::new());
        }
        self.channel.recv(tags::BEAVER_OPEN, opening::message_len(beaver.keys.len()))
    }

    /// Returns the bits of that opening.
    fn verify_beaver(&mut self, beaver: &Beaver, message: &[u8]) -> Result<Vec<u8>, Fault> {
        if beaver.ands() == 0 {
            return Ok(Vec::new());
        }
        let delta = self.depot.delta();
        self.depot.openings().verify(message, &beaver.keys, delta)
    }

    fn finish_masks(&self, beaver: Beaver, peer: &[u8]) -> Ready {
        beaver.finish(peer, self.role, self.depot.delta())
    }

    /// Opens this side's bits under `macs` to the peer.
    fn open_to_peer(&mut self, tag: cenote_net::Tag, macs: &[Block]) -> Result<(), Fault> {
        let message = self.depot.openings().open(macs);
        self.channel.send(tag, &message)
    }

    /// The peer's bits under `keys`, opened to this side.
    fn open_from_peer(&mut self, tag: cenote_net::Tag, keys: &[Block]) -> Result<Vec<u8>, Fault> {
        let message = self.channel.recv(tag, opening::message_len(keys.len()))?;
        let delta = self.depot.delta();
        self.depot.openings().verify(&message, keys, delta)
    }
}

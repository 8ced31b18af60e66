//! Sessions and jobs: what a service or a command drives, whatever the backend.

use cenote_net::{Agreed, Channel, Channels, Counters, Fault, Handshake, Phase, Role};
use cenote_pool::{Journal, Level, Occupancy, Store, StoreError};
use cenote_prim::{Prg, SessionId, Workers, wipe_stack};

use crate::backends::{Backend, MeasuredCores, Opened};
use crate::claims::{Claims, Evidence, PeerIs};
use crate::cost::OnTheLine;
use crate::named_memory::{HeldMemory, MemoryUse, NamedMemories, RamStates, is_part};
use crate::options::SessionConfig;
use crate::parts::keeper;
use crate::party::Party;

/// A computation both parties run: a program with its inputs and receivers, or any function over
/// [`Party`], reactive ones included. A backend may run it on two threads at once.
pub trait Job: Sync {
    /// The output that this side obtains.
    type Output;

    /// Returns the terms that both sides must agree on, by name: the program's digest, its
    /// signature, the receivers, public parameters. Never a secret: differing values are shown to
    /// both sides.
    fn terms(&self) -> Vec<(&'static str, String)>;

    /// The ANDs that it is going to take, if that is known: a backend may make ready what they take while the job
    /// runs. More or fewer are no fault.
    fn ands(&self) -> u64 {
        0
    }

    /// The memories that it begins, goes on with or ends; each name once. The party keeps what it leaves in them, under
    /// [`kept_name`](crate::kept_name)s.
    fn memories(&self) -> Vec<MemoryUse> {
        Vec::new()
    }

    /// Takes note of the states of the random access memories that the session holds, before it runs.
    fn recall(&self, states: &RamStates) {
        let _ = states;
    }

    /// The states of those that it has left, once it has run.
    fn states(&self) -> RamStates {
        RamStates::new()
    }

    /// Runs the computation. Every run of a job must call the party alike and return alike, given the
    /// same revealed bits: a backend may run it again in the clear.
    ///
    /// # Errors
    /// Faults of the party.
    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault>;
}

/// The result and the cost of a finished job.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// This side's output.
    pub output: T,
    /// Traffic and time of the job, by phase, seen from this side.
    pub cost: Counters,
    /// Identity of the run, equal on both sides.
    pub job_id: [u8; 32],
}

/// One party's end of a session with a peer: serves jobs one after the other. A fault ends it.
pub struct Session {
    backend: Backend,
    opened: Opened,
    role: Role,
    prg: Box<Prg>,
    id: [u8; 32],
    peer: PeerIs,
    memories: NamedMemories,
    failed: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        wipe_stack();
    }
}

impl Session {
    /// Agrees with the peer on `config` and sets the backend up, with fresh randomness of the operating system.
    ///
    /// # Errors
    /// `Policy`, on both sides, when the configurations differ or are unsound; faults of the set-up.
    /// The connection is closed then.
    pub fn open(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
    ) -> Result<Session, Fault> {
        Session::open_for(channels, role, config, |handshake| handshake)
    }

    /// [`Session::open`] with `facts` in the same handshake, before those of the backend: what the session is
    /// for, so that one refusal names all that differs.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_for(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
        facts: impl FnOnce(Handshake) -> Handshake,
    ) -> Result<Session, Fault> {
        let channels = channels.into();
        let handshake = session_handshake(config, channels.can_open(), facts);
        Session::open_agreed(channels, role, config, handshake, Prg::from_os(), None)
    }

    /// [`Session::open_for`] with what earlier sessions with this peer have kept in `store`, and for what this one keeps there
    /// ([`Session::save`], [`Session::put_away`]), for a backend that [keeps items](Backend::keeps_items). The peer must do the same.
    ///
    /// # Errors
    /// As [`Session::open`]; `Policy` while the owner has to decide whether sessions with this peer go on; `Exhausted` when the
    /// bound on its cheating is spent; `Misuse` for another backend. Nothing was sent then.
    pub fn open_kept(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
        facts: impl FnOnce(Handshake) -> Handshake,
        store: Box<dyn Store>,
    ) -> Result<Session, Fault> {
        Session::open_kept_with(channels.into(), role, config, facts, Prg::from_os(), store)
    }

    /// [`Session::open_kept`] with randomness of the caller's, for tests: see [`Session::open_seeded`].
    ///
    /// # Errors
    /// As [`Session::open_kept`].
    pub fn open_kept_seeded(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
        prg: Prg,
        store: Box<dyn Store>,
    ) -> Result<Session, Fault> {
        Session::open_kept_with(channels.into(), role, config, |all| all, prg, store)
    }

    fn open_kept_with(
        mut channels: Channels,
        role: Role,
        config: &SessionConfig,
        facts: impl FnOnce(Handshake) -> Handshake,
        prg: Prg,
        store: Box<dyn Store>,
    ) -> Result<Session, Fault> {
        if !config.backend.keeps_items() {
            let name = config.backend.name();
            return Err(Fault::Misuse(format!("{name} keeps no items for later sessions")));
        }
        keeper::permits(&*store).inspect_err(|_| channels.control().abort())?;
        // First, so that it stands first where two sides differ.
        let kept = |all: Handshake| facts(all.field(ITEMS, "kept"));
        let handshake = session_handshake(config, channels.can_open(), kept);
        Session::open_agreed(channels, role, config, handshake, prg, Some(store))
    }

    /// Ends with a peer that this side will not open a session with, after a handshake in which `facts` say so.
    /// Nothing follows it, whatever the peer answers.
    pub fn refuse(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
        facts: impl FnOnce(Handshake) -> Handshake,
    ) -> Fault {
        let channels = channels.into();
        let handshake = session_handshake(config, channels.can_open(), facts);
        let mut channel = channels.into_control();
        let heard = handshake.and_then(|all| all.run(&mut channel, role, Prg::from_os().bytes32()));
        channel.abort();
        heard.err().unwrap_or_else(|| Fault::Policy("the peer agrees to be refused".into()))
    }

    /// [`Session::open`] with randomness of the caller's, for tests: a seed that is used twice repeats Delta, and
    /// a peer that saw the first session knows it. `cargo xtask lint` keeps it out of programs.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_seeded(
        channels: impl Into<Channels>,
        role: Role,
        config: &SessionConfig,
        prg: Prg,
    ) -> Result<Session, Fault> {
        let channels = channels.into();
        let handshake = session_handshake(config, channels.can_open(), |handshake| handshake);
        Session::open_agreed(channels, role, config, handshake, prg, None)
    }

    fn open_agreed(
        channels: Channels,
        role: Role,
        config: &SessionConfig,
        handshake: Result<Handshake, Fault>,
        prg: Prg,
        store: Option<Box<dyn Store>>,
    ) -> Result<Session, Fault> {
        let opened = Session::set_up(channels, role, config, handshake, prg, store);
        // Setting up moves keys through many frames.
        wipe_stack();
        opened
    }

    #[inline(never)]
    fn set_up(
        mut channels: Channels,
        role: Role,
        config: &SessionConfig,
        handshake: Result<Handshake, Fault>,
        mut prg: Prg,
        store: Option<Box<dyn Store>>,
    ) -> Result<Session, Fault> {
        let channel = channels.control();
        let agreed = handshake.and_then(|all| all.run(channel, role, prg.bytes32()));
        let agreed = agreed.inspect_err(|_| channel.abort())?;
        let (id, peer) = (agreed.session_id, PeerIs::of(channel));
        let backend = config.backend;
        let opened = backend.open(channels, SessionId(id), role, config, || prg.fork(), store)?;
        let prg = Box::new(prg);
        let memories = NamedMemories::default();
        let mut session = Session { backend, opened, role, prg, id, peer, memories, failed: false };
        session.guarded(|session| {
            session.memories = session.opened.live_mut().saved_memories()?;
            Ok(())
        })?;
        Ok(session)
    }

    /// Fills the pool of a backend that has one.
    ///
    /// # Errors
    /// Faults of the channel and of the checks; the session is over then.
    pub fn fill(&mut self) -> Result<(), Fault> {
        self.guarded(|session| session.opened.live_mut().fill())
    }

    /// Makes sure that `triples` ready triples, or buckets of ANDs, are in stock, for a backend that
    /// has any.
    ///
    /// # Errors
    /// As [`Session::fill`].
    pub fn stock(&mut self, triples: usize) -> Result<(), Fault> {
        self.guarded(|session| session.opened.live_mut().stock(triples))
    }

    /// From now on makes ready triples, or buckets of ANDs, beside requests, for a backend that can: where fewer than `low` are ready, until `high` are. Then a
    /// request waits only for what the ones before it have used up. Both sides call it with the same numbers, between the same jobs; the garbler's count, and in
    /// `jimu` the evaluator makes no more than its own.
    ///
    /// # Errors
    /// As [`Session::fill`].
    pub fn keep(&mut self, low: usize, high: usize) -> Result<(), Fault> {
        self.guarded(|session| session.opened.live_mut().keep(low, high))
    }

    /// Keeps what is ready for later sessions, if this one was opened with a store: on disk at both sides when this returns. Both sides call
    /// it, between the same jobs. With them go its memories, as far as the backend puts wires away, which `wrk` does: a later
    /// session goes on with them unless a job that names any has begun since. What a session makes after that is lost if it breaks off, and so is its pool.
    ///
    /// # Errors
    /// `Misuse` without a store; `Storage`; faults of the channel. The session is over then.
    pub fn save(&mut self) -> Result<(), Fault> {
        self.guarded(|session| session.opened.live_mut().save(false, &session.memories))
    }

    /// Keeps what is ready, and the pool with it, and ends the session in order. Both sides call it after the same job.
    ///
    /// # Errors
    /// As [`Session::save`].
    pub fn put_away(mut self) -> Result<(), Fault> {
        self.guarded(|session| session.opened.live_mut().save(true, &session.memories))?;
        self.close();
        Ok(())
    }

    /// One step on the pools of garbled cores, for benchmarks.
    ///
    /// # Errors
    /// `Misuse` when the backend has none; those of the step. The session is over then.
    pub fn measure<T>(
        &mut self,
        step: impl FnOnce(&mut dyn MeasuredCores) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.guarded(|session| match session.opened.live_mut().cores() {
            Some(cores) => step(cores),
            None => Err(Fault::Misuse("this backend has no pools of cores".into())),
        })
    }

    /// Agrees with the peer on `job`, runs it, and runs every check that is still outstanding.
    ///
    /// # Errors
    /// `Policy`, on both sides, naming the terms that differ; faults of the job. The session is
    /// over after any fault but those of [`Session::fits`].
    pub fn run<J: Job>(&mut self, job: &J) -> Result<Outcome<J::Output>, Fault> {
        self.fits(job)?;
        self.guarded(|session| {
            let before = session.counters();
            session.channel().set_phase(Phase::Online);
            let memories = job.memories();
            let agreed = session.agree_on_job(job, &memories)?;
            // What begins and ends with the job hangs on nothing that was saved.
            if memories.iter().any(|memory| !memory.is_new || memory.is_kept) {
                session.opened.live_mut().change_memories()?;
            }
            job.recall(&session.memories.states());
            let output = session.opened.run(job)?;
            session.memories.left(memories, job.states(), agreed.session_id);
            let cost = session.counters().since(&before);
            Ok(Outcome { output, cost, job_id: agreed.session_id })
        })
    }

    /// Whether the session holds the memories that a job goes on with, and none that it begins. The peer, which holds the same, finds the
    /// same; nothing is sent, so one that holds it all the same waits for the agreement in vain: services tell each other before.
    ///
    /// # Errors
    /// `Policy`, with what to do about it; `Exhausted` when it had to hold more than [`Backend::most_kept_wires`] bits. The
    /// session goes on.
    pub fn fits(&self, job: &impl Job) -> Result<(), Fault> {
        let memories = job.memories();
        if !memories.is_empty() && !self.backend.keeps_wires() {
            let name = self.backend.name();
            return Err(Fault::Misuse(format!("{name} has no memories that outlive a job")));
        }
        self.memories.fit(&memories, self.backend.most_kept_wires())
    }

    /// Ends a memory on both sides, as a job does that leaves nothing in it: both agree that it ends as they hold it, and forget it. Its wires are
    /// wiped, and what was saved of this session's memories goes no further, from before the end; [`Session::save`] puts the others away anew.
    /// Both sides call it, between the same jobs. Gives what the memory was.
    ///
    /// # Errors
    /// `Policy` if there is none, and the session goes on; as [`Session::run`] otherwise.
    pub fn end_memory(&mut self, name: &str) -> Result<HeldMemory, Fault> {
        let (held, term) = self.memories.ending(name)?;
        self.guarded(|session| {
            session.channel().set_phase(Phase::Online);
            let handshake = Handshake::new("end of a memory").field("session", session.id);
            session.agree(handshake.field("memories", term))?;
            let live = session.opened.live_mut();
            live.change_memories()?;
            live.forget(&|kept| is_part(kept, name));
            session.memories.end(name);
            Ok(held)
        })
    }

    /// Whether the store has older memories than this session, or would have none: [`Session::save`] mends that.
    #[must_use]
    pub fn has_unsaved_memories(&self) -> bool {
        self.opened.live().has_unsaved_memories()
    }

    /// The memories that it holds for later jobs.
    #[must_use]
    pub const fn memories(&self) -> &NamedMemories {
        &self.memories
    }

    /// Traffic and time of the session so far.
    pub fn counters(&mut self) -> Counters {
        self.opened.live_mut().counters()
    }

    /// This side's role.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Identity of the session, equal on both sides.
    #[must_use]
    pub const fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Returns the claims of the session.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let promise = self.opened.live().promise();
        Claims { backend: self.backend.name(), peer: self.peer, promise }
    }

    /// Returns the proof that the peer has cheated in this session, or before it under what both keep, once there is any.
    #[must_use]
    pub fn evidence(&self) -> Option<Evidence> {
        self.opened.live().evidence()
    }

    /// Lets `journal` see all items of pools and stocks before they leave, in place of one in memory
    /// that counts them. A backend that has none needs no journal.
    ///
    /// # Errors
    /// `Misuse` when items have left already.
    pub fn set_journal(&mut self, journal: Box<dyn Journal>) -> Result<(), Fault> {
        self.opened.live_mut().set_journal(journal)
    }

    /// Has this side compute on `threads` threads, from before the first job on, for a backend that can: `wrk`, whose items are
    /// made by several at a time then, with requests beside them. It concerns this side alone: whatever it sends is the same.
    /// Such a session may not be used from a thread of a rayon pool, which would take up other work while it waits.
    ///
    /// # Errors
    /// `Policy` when there may not be so many; `Misuse` when the session works already; `Internal` when there is no
    /// thread left.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), Fault> {
        let most = Workers::COUNTS.end();
        if !Workers::COUNTS.contains(&threads) {
            return Err(Fault::Policy(format!("a session has 1 to {most} threads, not {threads}")));
        }
        self.opened.live_mut().set_threads(threads)
    }

    /// Lets `triples` ready triples, 2^20 at most, be made ahead of a job that says what it takes ([`Job::ands`]), for a backend that
    /// makes them beside it; two batches without it, and what the line holds. More take memory, 128 bytes each in `wrk`, and are
    /// better for a job that takes none for a while. The garbler's number counts.
    pub fn set_ahead(&mut self, triples: usize) {
        self.opened.live_mut().set_ahead(triples);
    }

    /// What the session took by its line as it opened, for a backend that goes by that.
    #[must_use]
    pub fn on_the_line(&self) -> Option<OnTheLine> {
        self.opened.live().on_the_line()
    }

    /// Levels of the pools and stocks by name, for a backend that has them.
    #[must_use]
    pub fn occupancy(&self) -> Option<Occupancy> {
        self.opened.live().occupancy()
    }

    /// The level of ready triples, or buckets of ANDs, which [`Session::stock`] makes; none for a backend that makes nothing ahead.
    #[must_use]
    pub fn ready(&self) -> Option<Level> {
        self.opened.live().ready()
    }

    /// The connection: for limits and cancellation; messages between jobs go by [`Session::between`].
    pub fn channel(&mut self) -> &mut Channel {
        self.opened.live_mut().channel()
    }

    /// Runs a service's own exchange between jobs. A fault of it ends the session as one of a job does, with what was found beside it:
    /// a check that failed in the supply cancels the channel, and is the reason then.
    ///
    /// # Errors
    /// Those of the exchange, or of the supply.
    pub fn between<T>(
        &mut self,
        exchange: impl FnOnce(&mut Channel) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.guarded(|session| exchange(session.channel()))
    }

    /// Ends the session in order.
    pub fn close(mut self) {
        self.opened.live_mut().close();
    }

    fn agree_on_job(&mut self, job: &impl Job, memories: &[MemoryUse]) -> Result<Agreed, Fault> {
        let mut handshake = Handshake::new("job").field("session", self.id);
        for (name, value) in job.terms() {
            handshake = handshake.field(name, value);
        }
        if let Some(held) = self.memories.term(memories) {
            handshake = handshake.field("memories", held);
        }
        self.agree(handshake)
    }

    fn agree(&mut self, handshake: Handshake) -> Result<Agreed, Fault> {
        let (role, nonce) = (self.role, self.prg.bytes32());
        handshake.run(self.channel(), role, nonce)
    }

    /// Runs one step. Its last message leaves before the caller turns to something else, for which the
    /// peer would wait; a fault ends the session for the peer as well.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.failed {
            return Err(Fault::Misuse("the session has failed".into()));
        }
        // Set first: a step that panics leaves the session failed, for whoever catches the panic.
        self.failed = true;
        let result = step(self).and_then(|value| self.channel().flush().map(|()| value));
        self.failed = result.is_err();
        if self.failed {
            self.memories = NamedMemories::default();
        }
        result.map_err(|fault| self.opened.live_mut().fail(fault))
    }
}

/// Both sides count items alike and within bounds derived from the same parameters; a journal may refuse.
pub(crate) fn store_fault(error: StoreError) -> Fault {
    match error {
        StoreError::Refused(refused) => Fault::Storage(refused.to_string()),
        other => Fault::Internal(other.to_string()),
    }
}

pub(crate) fn late_journal() -> Fault {
    Fault::Misuse("items have left without this journal".into())
}

/// Runs `job` and what checks it leaves.
pub(crate) fn run_and_check<P: Party, J: Job>(party: &mut P, job: &J) -> Result<J::Output, Fault> {
    let output = job.run(party)?;
    // A job that revealed nothing at its end still has checks outstanding.
    party.check()?;
    Ok(output)
}

/// Returns the handshake with all that both sides of a session must agree on; `facts` come first. `extendable` says
/// whether data channels can be opened.
pub(crate) fn session_handshake(
    config: &SessionConfig,
    extendable: bool,
    facts: impl FnOnce(Handshake) -> Handshake,
) -> Result<Handshake, Fault> {
    let all = facts(Handshake::new("session")).field("backend", config.backend.name());
    let mut handshake = all.remedy(ITEMS, "give both sides a store, or neither");
    let data_channels = config.backend.data_channels();
    if extendable && data_channels > 0 {
        let remedy = "give both sides a way to open further channels, or neither";
        handshake =
            handshake.field(DATA_CHANNELS, data_channels.to_string()).remedy(DATA_CHANNELS, remedy);
    }
    let terms = config.backend.terms(config)?;
    Ok(terms.into_iter().fold(handshake, |all, (name, value)| all.field(name, value)))
}

/// The field of a hello that says that items are kept for later sessions.
const ITEMS: &str = "items";
/// The field of a hello that says how many data channels will follow.
const DATA_CHANNELS: &str = "data-channels";

#[cfg(test)]
mod tests;

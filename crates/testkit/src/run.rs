//! Both ends of a session, with fixed randomness, over one connection in memory.

use std::time::Duration;

use cenote_circuit::Program;
use cenote_engine::{
    Adversary, Backend, Fault, PoolChoice, ProgramJob, Receivers, Role, Session, SessionConfig,
};
use cenote_net::{Channel, Channels, mem_channels, mem_pair};
use cenote_prim::{Block, Prg};

use crate::pair::run_pair_over;

/// Outputs of one party: one entry for each output port, `None` where only the other receives.
pub type Outputs = Vec<Option<Vec<bool>>>;

/// The smallest sound session: it makes only small batches.
#[must_use]
pub fn smallest(backend: Backend) -> SessionConfig {
    let config = SessionConfig::new(backend);
    if config.has_pool() { with_option(config, "pool", "400") } else { config.for_ands(1) }
}

/// A session whose batches serve thousands of ANDs.
#[must_use]
pub fn roomy(backend: Backend) -> SessionConfig {
    with_pool(backend, batches_of(backend, 10_000))
}

/// One-shot batches for about `ands` ANDs, or the least pool whose batches come near.
#[must_use]
pub fn batches_of(backend: Backend, ands: u64) -> PoolChoice {
    match SessionConfig::new(backend).has_pool() {
        true => PoolChoice::Kept(2 * ands),
        false => PoolChoice::OneShot(ands),
    }
}

/// A session at 2^-40 with this pool, if the backend has one.
///
/// # Panics
/// If a pool has no items.
#[must_use]
pub fn with_pool(backend: Backend, pool: PoolChoice) -> SessionConfig {
    let config = SessionConfig::new(backend);
    match pool {
        PoolChoice::OneShot(ands) => config.for_ands(ands),
        PoolChoice::Kept(items) if config.option("pool").is_some() => {
            with_option(config, "pool", &items.to_string())
        }
        PoolChoice::Kept(_) => config,
    }
}

/// The session that this text names.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn config(text: &str) -> SessionConfig {
    text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// The same session with an option that it has not set.
///
/// # Panics
/// If the backend has no such option or value.
#[must_use]
pub fn with_option(config: SessionConfig, option: &str, value: &str) -> SessionConfig {
    config.set(option, value).expect("an option of the backend")
}

/// The adversary that sessions of `backend` promise to withstand.
///
/// # Panics
/// If a session does not open.
#[must_use]
pub fn adversary_of(backend: Backend) -> Adversary {
    let promised = |session: &mut Session, _| Ok(session.claims().promise.adversary);
    sessions(&smallest(backend), 1, promised).0.expect("honest")
}

/// This side's randomness in a test session.
#[must_use]
pub fn prg_of(role: Role, seed: u128) -> Prg {
    Prg::new(Block::new(seed << 1 | role as u128))
}

/// Opens a session on both sides of `channels`, garbler's first, and runs `party` on each.
pub fn sessions_over<C: Into<Channels> + Send, T: Send>(
    channels: (C, C),
    config: &SessionConfig,
    seed: u128,
    party: impl Fn(&mut Session, Role) -> Result<T, Fault> + Sync,
) -> (Result<T, Fault>, Result<T, Fault>) {
    run_pair_over(channels, |channels, role| {
        let mut session = Session::open_seeded(channels, role, config, prg_of(role, seed))?;
        let result = party(&mut session, role)?;
        session.close();
        Ok(result)
    })
}

/// [`sessions_over`] a fresh connection in memory.
pub fn sessions<T: Send>(
    config: &SessionConfig,
    seed: u128,
    party: impl Fn(&mut Session, Role) -> Result<T, Fault> + Sync,
) -> (Result<T, Fault>, Result<T, Fault>) {
    sessions_over(patient_pair(), config, seed, party)
}

/// A connection whose silent ends give up after a while, but not because the machine is busy.
#[must_use]
pub fn patient_pair() -> (Channel, Channel) {
    pair_with_limit(Duration::from_secs(30))
}

/// A connection whose ends wait for each other's messages no longer than this.
#[must_use]
pub fn pair_with_limit(limit: Duration) -> (Channel, Channel) {
    let (mut a, mut b) = mem_pair();
    for channel in [&mut a, &mut b] {
        channel.set_idle_limit(limit);
        channel.set_work_limit(limit);
    }
    (a, b)
}

/// The same with data channels on demand, each of which `hook` sees before its first frame, on either side.
#[must_use]
pub fn extendable_pair(
    limit: Duration,
    hook: impl Fn(Role, &mut Channel) + Clone + Send + 'static,
) -> (Channels, Channels) {
    let (a, b) = mem_channels();
    let side = |mut channels: Channels, role| {
        channels.control().set_idle_limit(limit);
        channels.control().set_work_limit(limit);
        let hook = hook.clone();
        channels.on_open(move |_, data| hook(role, data))
    };
    (side(a, Role::Garbler), side(b, Role::Evaluator))
}

/// Runs `program` once on `inputs` (all ports); returns this side's outputs.
///
/// # Errors
/// Those of [`Session::run`].
pub fn run_program<P: Program>(
    session: &mut Session,
    program: &P,
    inputs: &[Vec<bool>],
    to: Receivers,
) -> Result<Outputs, Fault> {
    let job = program_job(program, session.role(), inputs, to)?;
    session.run(&job).map(|outcome| outcome.output)
}

/// The job of one side, given the inputs of all ports.
///
/// # Errors
/// Those of [`ProgramJob::new`].
pub fn program_job<'p, P: Program>(
    program: &'p P,
    role: Role,
    inputs: &[Vec<bool>],
    to: Receivers,
) -> Result<ProgramJob<'p, P>, Fault> {
    let owners: Vec<Role> = program.signature().owners();
    let own = owners.iter().zip(inputs).filter(|(owner, _)| **owner == role);
    ProgramJob::new(program, role, own.map(|(_, bits)| bits.clone()).collect(), to)
}

/// Returns the outputs that `role` must obtain when `clear` are the outputs.
#[must_use]
pub fn expected(clear: &[Vec<bool>], to: Receivers, role: Role) -> Outputs {
    clear.iter().map(|bits| to.include(role).then(|| bits.clone())).collect()
}

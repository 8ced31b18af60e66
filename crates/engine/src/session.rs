//! Sessions and jobs: what a service or a command drives, whatever the backend.

use std::str::FromStr;

use cenote_net::{Agreed, Channel, Counters, Fault, Handshake, Phase, Role};
use cenote_pool::Occupancy;
use cenote_prim::{Prg, SessionId, wipe_stack};

use crate::backends::jimu::{self, JimuParams, JimuSwitches};
use crate::backends::{plain, wrk, yao};
use crate::claims::{Claims, PeerIs};
use crate::params::{PoolChoice, Rho, WrkParams};
use crate::party::Party;

/// The protocol a session speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Clear evaluation.
    Plain,
    /// Half-gates garbled circuits, semi-honest.
    Yao,
    /// Authenticated garbling on a pool, malicious.
    Wrk,
    /// LEGO with interactive hashes on a pool, malicious.
    Jimu,
}

impl Backend {
    /// All backends.
    pub const ALL: [Backend; 4] = [Backend::Plain, Backend::Yao, Backend::Wrk, Backend::Jimu];

    /// The name in commands, handshakes and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Plain => "plain",
            Backend::Yao => "yao",
            Backend::Wrk => "wrk",
            Backend::Jimu => "jimu",
        }
    }
}

impl FromStr for Backend {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Backend, Fault> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name).ok_or_else(|| {
            Fault::Misuse(format!("there is no backend `{name}`; use plain, yao, wrk or jimu"))
        })
    }
}

/// What both owners agree on before a session opens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SessionConfig {
    /// The protocol.
    pub backend: Backend,
    /// The pool of `wrk` or `jimu`; other backends have none.
    pub pool: PoolChoice,
    /// Statistical security of `wrk` or `jimu`.
    pub rho: Rho,
    /// Switches of `jimu`.
    pub jimu: JimuSwitches,
}

/// A computation both parties run: a program with its inputs and receivers, or any function over
/// [`Party`], reactive ones included. A backend may run it on two threads at once.
pub trait Job: Sync {
    /// What this side obtains.
    type Output;

    /// What both sides must agree on, by name: the program's digest, its signature, the receivers,
    /// public parameters. Never a secret: differing values are shown to both sides.
    fn terms(&self) -> Vec<(&'static str, String)>;

    /// Runs the computation. Every run of a job must call the party alike and return alike, given the
    /// same revealed bits: a backend may run it again in the clear.
    ///
    /// # Errors
    /// Faults of the party.
    fn run<P: Party>(&self, party: &mut P) -> Result<Self::Output, Fault>;
}

/// What a finished job gave and cost.
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
    /// Boxed, so that a session that moves leaves no copy of its keys behind.
    inner: Inner,
    role: Role,
    prg: Box<Prg>,
    id: [u8; 32],
    peer: PeerIs,
    failed: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        wipe_stack();
    }
}

enum Inner {
    Plain(Box<plain::PlainSession>),
    Yao(Box<yao::YaoSession>),
    Wrk(Box<wrk::WrkSession>),
    Jimu(Box<jimu::JimuSession>),
}

impl Session {
    /// Agrees with the peer on `config` and sets the backend up, with fresh randomness of the operating system.
    ///
    /// # Errors
    /// `Policy`, on both sides, when the configurations differ or are unsound; faults of the set-up.
    /// The connection is closed then.
    pub fn open(channel: Channel, role: Role, config: &SessionConfig) -> Result<Session, Fault> {
        Session::open_seeded(channel, role, config, Prg::from_os())
    }

    /// [`Session::open`] with randomness of the caller's, for tests: a seed that is used twice repeats Delta, and
    /// a peer that saw the first session knows it. `cargo xtask lint` keeps it out of programs.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_seeded(
        channel: Channel,
        role: Role,
        config: &SessionConfig,
        prg: Prg,
    ) -> Result<Session, Fault> {
        let opened = Session::set_up(channel, role, config, prg);
        // Setting up moves keys through many frames.
        wipe_stack();
        opened
    }

    #[inline(never)]
    fn set_up(
        mut channel: Channel,
        role: Role,
        config: &SessionConfig,
        mut prg: Prg,
    ) -> Result<Session, Fault> {
        let agreed = agree_on_session(&mut channel, role, config, &mut prg)
            .inspect_err(|_| channel.abort())?;
        let (id, peer) = (agreed.session_id, PeerIs::of(&channel));
        let session = SessionId(id);
        let inner = match config.backend {
            Backend::Plain => Inner::Plain(Box::new(plain::PlainSession::open(channel, role))),
            Backend::Yao => {
                Inner::Yao(Box::new(yao::YaoSession::open(channel, session, role, prg.fork())?))
            }
            Backend::Wrk => {
                let params = WrkParams::derive(config.pool, config.rho)?;
                let open = wrk::WrkSession::open(channel, session, role, params, prg.fork())?;
                Inner::Wrk(Box::new(open))
            }
            Backend::Jimu => {
                let params = JimuParams::derive(config.pool, config.rho, config.jimu)?;
                let open = jimu::JimuSession::open(channel, session, role, params, prg.fork())?;
                Inner::Jimu(Box::new(open))
            }
        };
        let prg = Box::new(prg);
        let mut session = Session { inner, role, prg, id, peer, failed: false };
        session.guarded(|_| Ok(()))?;
        Ok(session)
    }

    /// Fills the pool of a backend that has one.
    ///
    /// # Errors
    /// Faults of the channel and of the checks; the session is over then.
    pub fn fill(&mut self) -> Result<(), Fault> {
        self.guarded(|session| match &mut session.inner {
            Inner::Wrk(wrk) => wrk.fill(),
            Inner::Jimu(jimu) => jimu.fill(),
            Inner::Plain(_) | Inner::Yao(_) => Ok(()),
        })
    }

    /// Fills one pool of `jimu` alone: of cores of `width`, where 1 is a single AND.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool; as [`Session::fill`].
    pub fn fill_pool(&mut self, width: usize) -> Result<(), Fault> {
        self.guarded(|session| session.jimu()?.fill_width(width))
    }

    /// Makes, checks and throws away a batch of cores of `jimu`, for measurements: see
    /// [`jimu::JimuSession::rehearse`].
    ///
    /// # Errors
    /// As [`Session::fill_pool`].
    pub fn rehearse(&mut self, width: usize, items: usize) -> Result<(), Fault> {
        self.guarded(|session| session.jimu()?.rehearse(width, items))
    }

    /// Bytes that this side keeps for the items of one pool of `jimu`.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool.
    pub fn stored_bytes(&mut self, width: usize) -> Result<usize, Fault> {
        self.jimu()?.stored_bytes(width)
    }

    fn jimu(&mut self) -> Result<&mut jimu::JimuSession, Fault> {
        match &mut self.inner {
            Inner::Jimu(jimu) => Ok(jimu),
            _ => Err(Fault::Misuse("this backend has no pools of cores".into())),
        }
    }

    /// Makes sure that `triples` ready triples, or buckets of ANDs, are in stock, for a backend that
    /// has any.
    ///
    /// # Errors
    /// As [`Session::fill`].
    pub fn stock(&mut self, triples: usize) -> Result<(), Fault> {
        self.guarded(|session| match &mut session.inner {
            Inner::Wrk(wrk) => wrk.stock(triples),
            Inner::Jimu(jimu) => jimu.stock(triples),
            Inner::Plain(_) | Inner::Yao(_) => Ok(()),
        })
    }

    /// Agrees with the peer on `job`, runs it, and runs every check that is still outstanding.
    ///
    /// # Errors
    /// `Policy`, on both sides, naming the terms that differ; faults of the job. The session is
    /// over after any fault.
    pub fn run<J: Job>(&mut self, job: &J) -> Result<Outcome<J::Output>, Fault> {
        self.guarded(|session| {
            let before = session.counters();
            session.channel().set_phase(Phase::Online);
            let agreed = session.agree_on_job(job)?;
            let output = match &mut session.inner {
                Inner::Plain(plain) => run_and_check(&mut plain.party(), job),
                Inner::Yao(yao) => run_and_check(&mut yao.party(), job),
                Inner::Wrk(wrk) => run_and_check(&mut wrk.party(), job),
                Inner::Jimu(jimu) => jimu.run(job),
            }?;
            let cost = session.counters().since(&before);
            Ok(Outcome { output, cost, job_id: agreed.session_id })
        })
    }

    /// Traffic and time of the session so far.
    pub fn counters(&mut self) -> Counters {
        self.channel().counters()
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

    /// What the session promises.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let claims = match &self.inner {
            Inner::Plain(_) => plain::claims(),
            Inner::Yao(_) => yao::claims(),
            Inner::Wrk(wrk) => wrk.claims(),
            Inner::Jimu(jimu) => jimu.claims(),
        };
        Claims { peer: self.peer, ..claims }
    }

    /// Levels of the pool and its stock, for a backend that has them.
    #[must_use]
    pub fn occupancy(&self) -> Option<Occupancy> {
        match &self.inner {
            Inner::Wrk(wrk) => Some(wrk.supply().occupancy()),
            Inner::Jimu(jimu) => Some(jimu.occupancy()),
            Inner::Plain(_) | Inner::Yao(_) => None,
        }
    }

    /// The connection: for a service's own messages between jobs, limits and cancellation.
    pub fn channel(&mut self) -> &mut Channel {
        match &mut self.inner {
            Inner::Plain(plain) => plain.channel(),
            Inner::Yao(yao) => yao.channel(),
            Inner::Wrk(wrk) => wrk.channel(),
            Inner::Jimu(jimu) => jimu.channel(),
        }
    }

    /// Ends the session in order.
    pub fn close(mut self) {
        self.channel().close();
    }

    fn agree_on_job(&mut self, job: &impl Job) -> Result<Agreed, Fault> {
        let mut handshake = Handshake::new("job").field("session", self.id);
        for (name, value) in job.terms() {
            handshake = handshake.field(name, value);
        }
        let (role, nonce) = (self.role, self.prg.bytes32());
        handshake.run(self.channel(), role, nonce)
    }

    /// Runs one step. Its last message leaves before the caller turns to something else, for which the
    /// peer would wait; a fault ends the session for the peer as well.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.failed {
            return Err(Fault::Misuse("the session has failed".into()));
        }
        let result = step(self).and_then(|value| self.channel().flush().map(|()| value));
        result.inspect_err(|_| {
            self.failed = true;
            self.channel().abort();
        })
    }
}

/// Runs `job` and what checks it leaves.
pub(crate) fn run_and_check<P: Party, J: Job>(party: &mut P, job: &J) -> Result<J::Output, Fault> {
    let output = job.run(party)?;
    // A job that revealed nothing at its end still has checks outstanding.
    let _proof = party.check()?;
    Ok(output)
}

/// What both sides of a session must agree on.
pub(crate) fn session_handshake(config: &SessionConfig) -> Result<Handshake, Fault> {
    let mut handshake = Handshake::new("session").field("backend", config.backend.name());
    match config.backend {
        Backend::Wrk => {
            let params = WrkParams::derive(config.pool, config.rho)?;
            handshake = handshake
                .field("pool", params.pool.map_or("none".into(), |pool| pool.to_string()))
                .field("bucket", params.bucket.to_string())
                .field("batch", params.batch.to_string())
                .field("epsilon", format!("2^{}", params.epsilon_log2));
        }
        Backend::Jimu => {
            for (name, value) in JimuParams::derive(config.pool, config.rho, config.jimu)?.terms() {
                handshake = handshake.field(name, value);
            }
        }
        Backend::Plain | Backend::Yao => {}
    }
    Ok(handshake)
}

fn agree_on_session(
    channel: &mut Channel,
    role: Role,
    config: &SessionConfig,
    prg: &mut Prg,
) -> Result<Agreed, Fault> {
    session_handshake(config)?.run(channel, role, prg.bytes32())
}

#[cfg(test)]
mod tests;

//! The orders to a child process.

use std::path::PathBuf;
use std::time::Duration;

use cenote_engine::cost::Limits;
use cenote_engine::{Backend, JimuSwitches, Rho, SessionConfig};
use cenote_engine::{Receivers, Role};
use cenote_net::Shape;
use serde::{Deserialize, Serialize};

use crate::args::{PoolSize, RefineArgs};
use crate::bench::module::Work;
use crate::derived::Derived;
use crate::exit::Failure;

/// One child's work.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) role: Role,
    /// Where the other child listens; `None` to listen on the loopback address and say where.
    pub(crate) connect: Option<String>,
    /// The processor core to stay on.
    pub(crate) core: Option<usize>,
    pub(crate) line: LineSpec,
    pub(crate) task: Task,
}

/// The line between the two children.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct LineSpec {
    /// Directory with an identity for each role, `garbler` and `evaluator`, for TLS.
    pub(crate) identities: Option<PathBuf>,
    pub(crate) rtt_ms: f64,
    pub(crate) mbit: Option<f64>,
}

impl LineSpec {
    /// The shape of the line; `None` leaves it as it is.
    pub(crate) fn shape(&self) -> Option<Shape> {
        let shaped = self.rtt_ms > 0.0 || self.mbit.is_some();
        let rtt = Duration::from_secs_f64(self.rtt_ms.clamp(0.0, 1e6) / 1e3);
        shaped.then_some(Shape { rtt, mbit_per_s: self.mbit })
    }
}

/// The computation of the two children.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// A program or circuit file on given values.
    Run(RunSpec),
    /// The synthetic stream of ANDs.
    And { ands: u64, security: Security },
    /// Jobs of AES blocks.
    Aes { blocks: u32, jobs: u32, warm: bool, security: Security },
    /// Correlated OTs.
    Ot { digit_bits: usize, count: u64 },
    /// One pool of garbled cores.
    PoolFill { width: usize, security: Security },
    /// Multiplexers.
    Mux { width: usize, muxes: u64, security: Security },
    /// A program of the library.
    Module { work: Work, security: Security },
}

/// A program or circuit and one party's values, in hexadecimal.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    pub(crate) file: PathBuf,
    /// Of each input port.
    pub(crate) owners: Vec<Role>,
    /// Values of the own ports.
    pub(crate) own: Vec<String>,
    pub(crate) to: Receivers,
    pub(crate) security: Security,
    /// The most that the computation may be predicted to take; `None` for whatever it takes.
    pub(crate) limits: Option<Limits>,
    /// Where evidence goes, should there be any.
    pub(crate) evidence: Option<PathBuf>,
}

/// The choices that make a session, as they travel to a child.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Security {
    backend: BackendName,
    pool: Option<u64>,
    rho: u32,
    muxcore: bool,
    compact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BackendName {
    Plain,
    Yao,
    Wrk,
    Jimu,
}

impl Security {
    /// Options that no backend of the request has are bad input.
    pub(crate) fn check_options(
        backends: &[Backend],
        pool: Option<PoolSize>,
        refine: &RefineArgs,
    ) -> Result<(), Failure> {
        let (wrk, jimu) = (backends.contains(&Backend::Wrk), backends.contains(&Backend::Jimu));
        let refuse = |what: String| Err(Failure::bad_input(what));
        for (name, given, of, meant) in [
            ("--pool", pool.is_some(), "wrk or jimu", wrk || jimu),
            ("--rho", refine.rho.is_some(), "wrk or jimu", wrk || jimu),
            ("--no-muxcore", refine.no_muxcore, "jimu", jimu),
            ("--compact", refine.compact, "jimu", jimu),
        ] {
            if given && !meant {
                return refuse(format!(
                    "{name} means nothing without --backend {of}; leave it out"
                ));
            }
        }
        if jimu && pool == Some(PoolSize::None) {
            return refuse(
                "--pool none: jimu draws from a long-term pool; give it --pool N, or take wrk, \
                 which does without a pool"
                    .to_owned(),
            );
        }
        Ok(())
    }

    pub(crate) fn new(
        backend: Backend,
        pool: PoolSize,
        rho: Rho,
        JimuSwitches { muxcore, compact }: JimuSwitches,
    ) -> Security {
        let backend = match backend {
            Backend::Plain => BackendName::Plain,
            Backend::Yao => BackendName::Yao,
            Backend::Wrk => BackendName::Wrk,
            Backend::Jimu => BackendName::Jimu,
        };
        let pool = match pool {
            PoolSize::None => None,
            PoolSize::Kept(size) => Some(size),
        };
        Security { backend, pool, rho: rho.bits(), muxcore, compact }
    }

    pub(crate) const fn backend(self) -> Backend {
        match self.backend {
            BackendName::Plain => Backend::Plain,
            BackendName::Yao => Backend::Yao,
            BackendName::Wrk => Backend::Wrk,
            BackendName::Jimu => Backend::Jimu,
        }
    }

    pub(crate) const fn rho(self) -> u32 {
        self.rho
    }

    /// Whether there is a pool to fill before the first job.
    pub(crate) fn has_pool(self) -> bool {
        self.pool.is_some() && matches!(self.backend(), Backend::Wrk | Backend::Jimu)
    }

    /// Returns the owners' choices beside the backend, by name, as both sides compare them.
    pub(crate) fn terms(self) -> Vec<(&'static str, String)> {
        let pool = || self.pool.map_or("none".to_owned(), |pool| pool.to_string());
        let mut terms = match self.backend() {
            Backend::Plain | Backend::Yao => Vec::new(),
            Backend::Wrk | Backend::Jimu => vec![("pool", pool()), ("rho", self.rho.to_string())],
        };
        if self.backend() == Backend::Jimu {
            terms.push(("muxcore", self.muxcore.to_string()));
            terms.push(("compact", self.compact.to_string()));
        }
        terms
    }

    /// The session for computations of about `ands` ANDs.
    ///
    /// A pool that is too small for the error bound is bad input, and nothing starts.
    pub(crate) fn config(self, ands: u64) -> Result<SessionConfig, Failure> {
        let pool = self.pool.map_or(PoolSize::None, PoolSize::Kept).choice(ands);
        let rho = match self.rho {
            64 => Rho::Bits64,
            80 => Rho::Bits80,
            _ => Rho::Bits40,
        };
        let jimu = JimuSwitches { muxcore: self.muxcore, compact: self.compact };
        let config = SessionConfig { backend: self.backend(), pool, rho, jimu };
        Derived::of(&config)?;
        Ok(config)
    }
}

//! The orders to a child process.

use std::path::PathBuf;
use std::time::Duration;

use cenote_engine::cost::Limits;
use cenote_engine::{Receivers, Role, SessionConfig};
use cenote_net::Shape;
use serde::{Deserialize, Serialize};

use crate::bench::module::Work;
use crate::bench::oram;
use crate::computation::Computation;

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
    /// Without a way to data channels: phases come one after the other, as predictions have them.
    pub(crate) one_channel: bool,
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
    And { ands: u64, config: SessionConfig, threads: usize },
    /// Inputs of either party, and outputs.
    Wires { wires: usize, config: SessionConfig },
    /// Jobs of AES blocks.
    Aes { blocks: u32, jobs: u32, warm: bool, config: SessionConfig },
    /// Correlated OTs.
    Ot { digit_bits: Option<usize>, count: u64 },
    /// One pool of garbled cores.
    PoolFill { width: usize, config: SessionConfig },
    /// Multiplexers.
    Mux { width: usize, muxes: u64, config: SessionConfig },
    /// Accesses to a memory.
    Oram { work: oram::Work, warm: bool, config: SessionConfig },
    /// A program of the library.
    Module { work: Work, warm: bool, config: SessionConfig },
}

/// A program or circuit and one party's values.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    /// Follows the line, as [`cenote_job::Computation::hand_over`] writes it.
    #[serde(skip)]
    pub(crate) computation: Option<Computation>,
    /// Of each input port.
    pub(crate) owners: Vec<Role>,
    /// Packed bits of the own ports, in port order.
    pub(crate) own: Vec<Vec<u8>>,
    pub(crate) to: Receivers,
    pub(crate) config: SessionConfig,
    pub(crate) threads: usize,
    /// The most that the computation may be predicted to take; `None` for whatever it takes.
    pub(crate) limits: Option<Limits>,
    /// Where evidence goes, should there be any.
    pub(crate) evidence: Option<PathBuf>,
}

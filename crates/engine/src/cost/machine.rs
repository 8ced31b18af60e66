//! How fast a machine is and what a link carries: measured once, used for every prediction.

use std::collections::BTreeMap;
use std::time::Duration;

use cenote_net::{Role, Shape};
use serde::{Deserialize, Serialize};

use super::{Demand, Flow, Plan};
use crate::backends::Backend;
use crate::parts::pace::Line;

/// Version of the stored form of a [`Machine`]; files of another one are measured again.
pub const MACHINE_VERSION: u32 = 4;

/// The measurements of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// [`MACHINE_VERSION`].
    pub version: u32,
    /// Of each backend that was measured, by its name.
    speeds: BTreeMap<String, Speed>,
    /// Seconds that a unit of [`Stats::counted`](cenote_program::Stats::counted) takes.
    pub counted_s: f64,
    /// Bytes of a process that does nothing.
    pub process_bytes: u64,
}

/// Seconds that the slower of two parties takes, both on cores of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Starting, connecting and opening a session.
    pub setup_s: f64,
    /// A unit of [`super::Plan::made`].
    pub made_s: f64,
    /// A unit of [`super::Plan::evaluated`] in a large batch.
    pub evaluated_s: f64,
    /// A batch of ANDs, besides them.
    pub batch_s: f64,
    /// A gate that is no AND, in a large batch.
    pub linear_s: f64,
    /// A batch of those, besides them.
    pub linear_batch_s: f64,
    /// A batch of either kind that is no gate alone, besides them.
    pub call_s: f64,
    /// A bit that a statement gives.
    pub moved_s: f64,
    /// The time that a bit of a value takes besides that if the value leaves the caches.
    pub wide_s: f64,
    /// A statement.
    pub statement_s: f64,
    /// A byte of filled pools, besides making it.
    pub pool_s: f64,
    /// An input bit of the garbler and one of the evaluator.
    pub input_s: [f64; 2],
}

impl Speed {
    /// Returns the seconds that gates, values and inputs of a computation take.
    #[must_use]
    pub fn online(&self, plan: &Plan, demand: &Demand) -> f64 {
        let stats = &demand.stats;
        let inputs = [Role::Garbler, Role::Evaluator].map(|of| demand.input_bits(of));
        plan.evaluated * self.evaluated_s
            + stats.batches as f64 * self.batch_s
            + (stats.xors as f64 + stats.nots as f64) * self.linear_s
            + stats.linear_batches as f64 * self.linear_batch_s
            + stats.calls as f64 * self.call_s
            + stats.moved_bits as f64 * self.moved_s
            + stats.wide_bits as f64 * self.wide_s
            + stats.statements as f64 * self.statement_s
            + plan.pool_bytes as f64 * self.pool_s
            + inputs.iter().zip(self.input_s).map(|(bits, each)| *bits as f64 * each).sum::<f64>()
    }
}

impl Machine {
    /// Figures of a server core of 2024 with wide AES instructions, for machines that were not measured.
    #[must_use]
    pub fn typical() -> Machine {
        let speeds =
            Backend::ALL.iter().map(|backend| (backend.name().to_owned(), backend.typical_speed()));
        Machine {
            version: MACHINE_VERSION,
            speeds: speeds.collect(),
            counted_s: 1.2e-9,
            process_bytes: 12 << 20,
        }
    }

    /// The figures for a backend: typical ones, if it was not measured.
    #[must_use]
    pub fn speed(&self, backend: Backend) -> Speed {
        self.speeds.get(backend.name()).copied().unwrap_or(backend.typical_speed())
    }

    /// Whether there are figures of a backend.
    pub(super) fn has(&self, backend: Backend) -> bool {
        self.speeds.contains_key(backend.name())
    }

    /// Keeps what was measured of a backend.
    pub fn set_speed(&mut self, backend: Backend, speed: Speed) {
        self.speeds.insert(backend.name().to_owned(), speed);
    }
}

/// A line between two parties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Round-trip time in milliseconds.
    pub rtt_ms: f64,
    /// Bandwidth of each direction in Mbit/s; `None` for a line that never is what one waits for.
    pub mbit: Option<f64>,
}

impl Link {
    /// Both parties on one machine.
    pub const LOOPBACK: Link = Link { rtt_ms: 0.0, mbit: None };
    /// Two machines of one data centre.
    pub const LAN: Link = Link { rtt_ms: 0.5, mbit: Some(10_000.0) };
    /// Two companies of one continent.
    pub const WAN: Link = Link { rtt_ms: 50.0, mbit: Some(100.0) };

    /// The shape of a measuring line like this.
    #[must_use]
    pub fn shape(self) -> Option<Shape> {
        let rtt = Duration::from_secs_f64(self.rtt_ms.clamp(0.0, 1e6) / 1e3);
        let shaped = self.rtt_ms > 0.0 || self.mbit.is_some();
        shaped.then_some(Shape { rtt, mbit_per_s: self.mbit })
    }

    /// The line as a session would measure it.
    pub(super) fn line(self) -> Line {
        let byte = self.mbit.map_or(0.0, |mbit| 8e-6 / mbit);
        let rtt = Duration::from_secs_f64(self.rtt_ms.clamp(0.0, 1e6) / 1e3);
        Line::steady(rtt, byte)
    }

    /// Seconds of a part of a session that computes for `computing` seconds.
    pub(super) fn seconds(self, flow: &Flow, computing: f64) -> f64 {
        let rate = self.mbit.map_or(f64::INFINITY, |mbit| mbit * 1e6 / 8.0);
        let [a, b] = flow.bytes.map(|bytes| bytes as f64 / rate);
        computing.max(a).max(b) + flow.waits as f64 * self.rtt_ms / 2e3
    }
}

//! A real run beside a prediction: two processes on this machine, inputs that are all zero.

use cenote_circuit::{Receivers, Signature};
use cenote_engine::cost::Link;
use cenote_engine::{Role, SessionConfig};

use crate::bench::two_cores;
use crate::computation::Computation;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::workers::{LineSpec, Report, RunSpec, Spec, Task, run_pair};

/// The costs of a run; times are those of the slower party.
pub(super) struct Trial {
    pub(super) wall_s: f64,
    pub(super) preprocess_s: f64,
    pub(super) online_s: f64,
    /// From the garbler and from the evaluator.
    pub(super) bytes: [u64; 2],
    /// As the garbler's channel counts them.
    pub(super) rounds: u64,
    /// Of each process; 0 where the system does not tell.
    pub(super) memory: [u64; 2],
}

impl Trial {
    pub(super) fn run(
        computation: &Computation,
        signature: &Signature,
        config: SessionConfig,
        link: Option<Link>,
        interrupt: &Interrupt,
    ) -> Result<Trial, Failure> {
        let (owners, cores) = (signature.owners(), two_cores());
        let line = LineSpec {
            rtt_ms: link.map_or(0.0, |link| link.rtt_ms),
            mbit: link.and_then(|link| link.mbit),
            one_channel: true,
            ..LineSpec::default()
        };
        let own = |role: Role| -> Vec<Vec<u8>> {
            let ports = signature.inputs.iter().zip(&owners).filter(|(_, owner)| **owner == role);
            ports.map(|(port, _)| vec![0; port.bits.div_ceil(8)]).collect()
        };
        let spec = |role: Role| Spec {
            role,
            connect: None,
            core: cores.map(|cores| cores[role as usize]),
            line: line.clone(),
            task: Task::Run(RunSpec {
                computation: Some(computation.clone()),
                owners: owners.clone(),
                own: own(role),
                to: Receivers::Both,
                config,
                threads: 1,
                limits: None,
                evidence: None,
            }),
        };
        let both = run_pair(spec, interrupt)?;
        let most = |time: fn(&Report) -> f64| time(&both.garbler).max(time(&both.evaluator));
        let memory = |report: &Report| report.peak_rss_bytes.unwrap_or(0);
        Ok(Trial {
            wall_s: most(|report| report.wall_s),
            preprocess_s: most(|report| report.preprocess_s),
            online_s: most(|report| report.online_s),
            bytes: [both.garbler.bytes_sent, both.evaluator.bytes_sent],
            rounds: both.garbler.rounds,
            memory: [memory(&both.garbler), memory(&both.evaluator)],
        })
    }
}

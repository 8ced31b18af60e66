//! The demand of a computation on a backend.

use cenote_circuit::{Circuit, Program, Signature};
use cenote_net::{Handshake, Role};
use cenote_program::Stats;

use crate::memory::TOSSED;
use crate::parts::chunk::{CHUNK_ANDS, CHUNK_GATES};
use crate::party::Receivers;

/// Times that bits are tossed, and that permutations are entered, at most, that are priced one by one; what is beyond is priced together.
const MOST_TOSSED: u64 = 1 << 16;

/// Counts of a computation, its inputs and its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Gates and bits.
    pub stats: Stats,
    /// Owner and bits of each input, in order, and then of what both toss for memories.
    pub inputs: Vec<(Role, u64)>,
    /// Bits of the outputs for each set of receivers that has any.
    pub outputs: Vec<(Receivers, u64)>,
    /// Bytes of the hello of the job, about.
    pub(super) job_hello: usize,
    /// Bytes of what the hello of the session says of the computation.
    pub(super) facts: usize,
}

impl Demand {
    /// The demand of a program with these counts and ports; outputs that name no receiver go to both.
    #[must_use]
    pub fn new(stats: Stats, signature: &Signature) -> Demand {
        let owners = signature.owners().into_iter();
        let bits = signature.inputs.iter().map(|port| port.bits as u64);
        let mut outputs = Vec::new();
        for to in [Receivers::Evaluator, Receivers::Garbler, Receivers::Both] {
            let ports = signature
                .outputs
                .iter()
                .filter(|port| port.receiver.unwrap_or(Receivers::Both) == to);
            let ports: Vec<u64> = ports.map(|port| port.bits as u64).collect();
            if !ports.is_empty() {
                outputs.push((to, ports.iter().sum()));
            }
        }
        // Session, digest and a name: names are a few bytes of this.
        let hello = Handshake::new("job").field("session", [0; 32]).field("program", [0; 16]);
        let job_hello = hello.field("digest", [0; 64]).encoded_len();
        let mut inputs: Vec<(Role, u64)> = owners.zip(bits).collect();
        let tossed = TOSSED as u64;
        let [permutations, permuted] = stats.permutations;
        let mut both = |bits| inputs.extend([(Role::Garbler, bits), (Role::Evaluator, bits)]);
        let times = stats.tossed_bits.saturating_sub(permuted).div_ceil(tossed);
        for _ in 0..times.min(MOST_TOSSED) {
            both(tossed);
        }
        if let beyond @ 1.. = times.saturating_sub(MOST_TOSSED) {
            both(beyond.saturating_mul(tossed));
        }
        // Each enters the bits of a permutation at once.
        let times = permutations.min(MOST_TOSSED);
        for place in 0..times {
            both(permuted / times + u64::from(place < permuted % times));
        }
        Demand { stats, inputs, outputs, job_hello, facts: 0 }
    }

    /// The demand of a circuit under the owners and receivers of `signature`.
    #[must_use]
    pub fn of_circuit(circuit: &Circuit, signature: &Signature) -> Demand {
        let counts = circuit.stats();
        let stats = Stats {
            ands: counts.and as u64,
            xors: counts.xor as u64,
            nots: counts.inv as u64,
            depth: counts.and_depth as u64,
            batches: counts.and_depth as u64,
            linear_batches: (counts.xor + counts.inv) as u64,
            live_bits: counts.live_wires as u64,
            awake_bits: counts.live_wires as u64,
            ..Stats::default()
        };
        let mut demand = Demand::new(stats, signature);
        demand.job_hello += 24 + circuit.signature().inputs.len().min(60) * 9;
        demand
    }

    /// The demand of a session whose hello has these facts, as [`Session::open_for`](crate::Session::open_for)
    /// takes them.
    #[must_use]
    pub fn with_facts(mut self, facts: impl FnOnce(Handshake) -> Handshake) -> Demand {
        let none = Handshake::new("session");
        self.facts = facts(none.clone()).encoded_len() - none.encoded_len();
        self
    }

    /// Bits of all inputs of a party.
    pub(crate) fn input_bits(&self, of: Role) -> u64 {
        let own = self.inputs.iter().filter(|(owner, _)| *owner == of);
        own.fold(0, |sum, (_, bits)| sum.saturating_add(*bits))
    }

    /// Bits of the outputs of these receivers.
    pub(crate) fn bits_to(&self, receivers: Receivers) -> u64 {
        let outputs = self.outputs.iter().filter(|(to, _)| *to == receivers);
        outputs.fold(0, |sum, (_, bits)| sum.saturating_add(*bits))
    }

    /// Returns the values that are opened on the way, as (receivers, times, bits altogether).
    pub(crate) fn early(&self) -> Option<(Receivers, u64, u64)> {
        let Stats { reveals, revealed_bits, .. } = self.stats;
        (reveals > 0).then_some((Receivers::Both, reveals, revealed_bits))
    }

    /// Returns the values that are opened on the way and at the end.
    pub(crate) fn openings(&self) -> impl Iterator<Item = (Receivers, u64, u64)> {
        let last = self.outputs.iter().map(|(to, bits)| (*to, 1, *bits));
        self.early().into_iter().chain(last)
    }

    /// Chunks with ANDs in which recorded gates are handed on. Exact if the program opens nothing on the way, or
    /// has no more between two openings than one chunk holds; else up to one more for each stretch.
    pub(crate) fn and_chunks(&self) -> u64 {
        let Stats { ands, stretches, .. } = self.stats;
        let full =
            ands.div_ceil(CHUNK_ANDS as u64).max(self.stats.gates().div_ceil(CHUNK_GATES as u64));
        full.max(stretches).min(ands)
    }
}

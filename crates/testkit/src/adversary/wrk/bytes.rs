//! Bytes of the messages of `wrk`.

use cenote_engine::backends::Protocol;
use cenote_engine::backends::wrk::{WrkSession, tags};
use cenote_engine::{Receivers, Role, WrkParams};
use cenote_net::RecordedFrame;
use cenote_ot::{Choice, tags as ot};
use cenote_prim::bits::packed_len;

use crate::adversary::bytes::{Bytes, Case, Formula, Work, chunks};
use crate::programs::Kind;

/// Spare shares that inputs make.
const SPARE: usize = 4096;

const fn ands(config: &'static str, n: usize) -> Case {
    Case::new(config, Kind::Ands(n), Receivers::Both)
}

/// No ANDs, one, batches within a chunk, chunks within a batch; without and with a pool.
pub(super) const CASES: &[Case] = &[
    ands("wrk", 0),
    ands("wrk", 1),
    ands("wrk", 333),
    Case { at_a_time: 20_000, ..ands("wrk", 20_001) },
    ands("wrk:pool=1100", 3000),
    ands("wrk:pool=9000", 17_000),
    ands("wrk:rho=64,pool=10000", 3000),
    ands("wrk:rho=80,pool=10000", 1),
    ands("wrk:ot=softspoken8", 333),
    // Two extensions: 1.9 million COTs each way.
    Case { at_a_time: 333, ..ands("wrk:ot=silent", 333) },
    ands("wrk:pool=600000,ot=silent", 3000),
];

/// The bytes of a session of which both sides receive the outputs.
pub(super) fn of(case: &Case, _: &[RecordedFrame]) -> Bytes {
    let params = WrkSession::derive(&case.session()).expect("sound");
    let work = case.work();
    let mut formula = Formula::default();
    formula.wrk_setup(&params);
    formula.shares(params.ot, work.inputs[0] + SPARE);
    let refills = work.ands.div_ceil(params.batch / params.bucket);
    if params.ot == Choice::silent() {
        let extensions = 1 + usize::from(params.pool.is_some());
        (0..extensions).for_each(|_| formula.extension());
    }
    if refills > 0 {
        formula.fill(&params);
    }
    formula.wrk_request(&params, &work, refills);
    formula.0
}

impl Formula {
    fn shares(&mut self, choice: Choice, n: usize) {
        self.cots(choice, Role::Garbler, n);
        self.cots(choice, Role::Evaluator, n);
    }

    /// `n` leaky ANDs in as few slices of a multiple of `unit` as `most` allows, with `masks` of the shares of each.
    fn leaky_ands(
        &mut self,
        params: &WrkParams,
        n: usize,
        (most, unit): (usize, usize),
        masks: usize,
    ) {
        let slices = n.div_ceil(most);
        let each = (n / unit).div_ceil(slices) * unit;
        for first in (0..n).step_by(each.max(1)) {
            let ands = each.min(n - first);
            self.shares(params.ot, 3 * ands + if masks > 0 { ands / params.bucket } else { 0 });
            self.both(tags::LEAKY_G, params.leaky.bytes() * ands);
            self.both(tags::LEAKY_D, packed_len(ands));
        }
        self.toss_equal();
    }

    fn refill(&mut self, params: &WrkParams) {
        let (triples, bucket) = (params.batch / params.bucket, params.bucket);
        let most = 32_640 / (3 * bucket + 1) * bucket;
        self.leaky_ands(params, params.batch, (most, bucket), triples);
        self.both(tags::BUCKET_OPEN, packed_len((bucket - 1) * triples) + 16);
    }

    fn fill(&mut self, params: &WrkParams) {
        if let Some(capacity) = params.pool {
            self.leaky_ands(params, capacity, (32_640 / 3, 1), 0);
        }
    }

    fn wrk_setup(&mut self, params: &WrkParams) {
        self.bases(Role::Evaluator);
        // 32 trees of 16 leaves; corrections and answer of a chunk of 128 COTs; its choices.
        self.add(ot::TURNED, Role::Garbler, (32 * 160 + 32) + (31 * 2 * 16 + 2064) + 16);
        self.trees(params.ot, Role::Garbler);
        self.trees(params.ot, Role::Evaluator);
        self.toss();
    }

    /// A request whose supply makes `refills` batches; outputs to both.
    fn wrk_request(&mut self, params: &WrkParams, work: &Work, refills: usize) {
        for (owner, bits) in [Role::Garbler, Role::Evaluator].into_iter().zip(work.inputs) {
            self.add(tags::INPUT_MASK, owner.peer(), packed_len(bits) + 16);
            self.add(tags::INPUT_BITS, owner, packed_len(bits));
            self.add(tags::INPUT_LABELS, Role::Garbler, 16 * bits);
        }
        (0..refills).for_each(|_| self.refill(params));
        for n in chunks(work.ands) {
            self.both(tags::BEAVER_OPEN, packed_len(2 * n) + 16);
            self.add(tags::TABLES, Role::Garbler, 32 * n + packed_len(n));
            self.add(tags::REPORT, Role::Evaluator, packed_len(n) + 32);
            self.add(tags::MAC_HASH, Role::Garbler, 16);
        }
        self.both(tags::OUTPUT_MASK, packed_len(work.outputs) + 16);
    }
}

#[cfg(test)]
mod tests {
    use cenote_engine::{PoolChoice, Rho};

    use super::*;
    use crate::adversary::bytes::CHUNK;

    #[test]
    fn bytes_per_and_with_a_pool_of_480_thousand() {
        let params = WrkParams::derive(PoolChoice::Kept(480_000), Rho::Bits40).expect("sound");
        assert_eq!(params.bucket, 3);
        let triples = params.batch / params.bucket;
        let mut steady = Formula::default();
        steady.refill(&params);
        let mut online = Formula::default();
        let work = Work { inputs: [64, 64], ands: 100 * CHUNK, muxes: Vec::new(), outputs: 2 };
        online.wrk_request(&params, &work, 0);
        let per_and =
            steady.total() as f64 / triples as f64 + online.total() as f64 / work.ands as f64;
        assert!(per_and > 120.0 && per_and <= 170.0, "{per_and} bytes");
        // The pool's own filling and the set-up counted, over ten million ANDs.
        let mut once = Formula::default();
        once.wrk_setup(&params);
        once.fill(&params);
        let all = per_and + once.total() as f64 / 1e7;
        assert!(all <= 170.0, "{all} bytes");
    }
}

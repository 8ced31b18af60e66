//! The plan of a session of `wrk` (docs/protocols/wrk.md, "Costs").

use cenote_net::Role::{self, Evaluator, Garbler};

use super::flow::{Flow, packed};
use super::{Demand, Items, Plan};
use crate::chunk::CHUNK_ANDS;
use crate::params::WrkParams;
use crate::supply::{MAX_TAKE, SPARE_SHARES};

/// Bytes of a leaky AND in the pool.
const LEAKY: u64 = 96;
/// Bytes of a leaky AND while its batch is made: three shares, two messages, itself, its opening.
const MADE: u64 = 96 + 48 + LEAKY + 64;
/// Bytes of a ready triple.
const TRIPLE: u64 = 128;
/// Bytes of a live bit at the garbler and at the evaluator: its handle and a copy of that for the
/// operation that reads it, its share, its labels.
const LIVE: [u64; 2] = [64 + 56, 64 + 80];
/// Buffers of the connection, of OT and of its trees.
const FIXED: u64 = 6 << 20;
/// Bytes of an AND of a chunk in flight, and how many may be in flight.
const FLYING: u64 = 400;
const IN_FLIGHT: u64 = 3 * CHUNK_ANDS as u64;

pub(super) fn plan(params: &WrkParams, demand: &Demand) -> Plan {
    let mut plan = Plan { setup: setup(params), ..Plan::default() };
    inputs(params, demand, &mut plan);
    let ands = demand.stats.ands;
    let triples = (params.batch / params.bucket) as u64;
    let refills = ands.div_ceil(triples);
    let (mut made, mut pool) = (refills.saturating_mul(params.batch as u64), 0);
    plan.preprocess = plan.preprocess.and(refill(params).times(refills));
    if let Some(capacity) = params.pool.filter(|_| refills > 0) {
        let (batch, capacity) = (params.batch as u64, capacity as u64);
        let rest = capacity % batch;
        plan.preprocess = plan.preprocess.and(leaky(params, batch, 0).times(capacity / batch));
        if rest > 0 {
            plan.preprocess = plan.preprocess.and(leaky(params, rest, 0));
        }
        (made, pool) = (made.saturating_add(capacity), capacity);
    }
    plan.online = plan.online.and(chunks(demand));
    for (to, times, bits) in demand.openings() {
        for (from, receiver) in [(Garbler, Evaluator), (Evaluator, Garbler)] {
            if to.include(receiver) {
                let payload = packed(bits).saturating_add(16 * times);
                let received = if receiver == Garbler { times } else { 0 };
                plan.online = plan.online.sends(from, payload, times).waits(received, times);
            }
        }
    }
    plan.items.push(Items { what: "leaky ANDs", width: 1, made, pool });
    (plan.made, plan.evaluated) = (made as f64, ands as f64);
    plan.memory = LIVE.map(|live| memory(params, demand, live, pool, refills > 0));
    plan
}

fn memory(params: &WrkParams, demand: &Demand, live: u64, pool: u64, refills: bool) -> u64 {
    let batch = if refills { params.batch as u64 } else { 0 };
    let supply = LEAKY * pool + MADE * batch + 2 * TRIPLE * batch / params.bucket as u64;
    let flying = FLYING * demand.stats.ands.min(IN_FLIGHT);
    demand.stats.live_bits.saturating_mul(live).saturating_add(FIXED + flying + supply)
}

fn setup(params: &WrkParams) -> Flow {
    Flow::default().ot_setup(params.ot, Garbler).ot_setup(params.ot, Evaluator).toss().waits(3, 6)
}

/// Random shares: one COT each way for each.
fn shares(params: &WrkParams, count: u64) -> Flow {
    Flow::default().cots(params.ot, Garbler, count).cots(params.ot, Evaluator, count).waits(1, 1)
}

/// A batch of leaky ANDs, with `more` shares.
fn leaky(params: &WrkParams, count: u64, more: u64) -> Flow {
    shares(params, 3 * count + more)
        .crosses(16 * count, 1)
        .crosses(packed(count), 1)
        .toss()
        .waits(3, 5)
}

fn refill(params: &WrkParams) -> Flow {
    let (batch, bucket) = (params.batch as u64, params.bucket as u64);
    let triples = batch / bucket;
    leaky(params, batch, triples).crosses(packed((bucket - 1) * triples) + 16, 1).waits(1, 1)
}

/// Masks, masked values and labels of inputs, and the shares that they take.
fn inputs(params: &WrkParams, demand: &Demand, plan: &mut Plan) {
    let mut spare = 0u64;
    for &(owner, bits) in &demand.inputs {
        let pieces = bits.div_ceil(MAX_TAKE as u64);
        if bits > spare {
            // In pieces, each of which makes as many spare ones again.
            let each = bits.min(MAX_TAKE as u64) - spare.min(MAX_TAKE as u64);
            let made = (each + SPARE_SHARES as u64).next_multiple_of(128);
            plan.preprocess = plan.preprocess.and(shares(params, made));
            let later = shares(params, (MAX_TAKE as u64).next_multiple_of(128));
            plan.preprocess = plan.preprocess.and(later.times(pieces.saturating_sub(1)));
            spare = (spare + made + pieces.saturating_sub(1) * MAX_TAKE as u64).max(bits);
        }
        spare -= bits;
        plan.online = plan
            .online
            .sends(owner.peer(), packed(bits).saturating_add(16 * pieces), pieces)
            .sends(owner, packed(bits), pieces)
            .sends(Role::Garbler, bits.saturating_mul(16), pieces)
            .waits(pieces, 2 * pieces);
    }
}

/// Opened differences, tables, reports and their answers.
fn chunks(demand: &Demand) -> Flow {
    let (ands, chunks) = (demand.stats.ands, demand.and_chunks());
    let fixed = |bytes: u64| chunks.saturating_mul(bytes);
    Flow::default()
        .crosses(packed(ands.saturating_mul(2)).saturating_add(fixed(16)), chunks)
        .sends(Garbler, ands.saturating_mul(32).saturating_add(packed(ands)), chunks)
        .sends(Evaluator, packed(ands).saturating_add(fixed(32)), chunks)
        .sends(Garbler, fixed(16), chunks)
        // Two chunks are in flight, so that two of them share a round trip; the last ones do not.
        .waits(fixed(2), chunks.saturating_add(chunks.min(3)))
}

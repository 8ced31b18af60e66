//! The plan of a session of `wrk` (docs/protocols/wrk.md, "Costs").

use cenote_net::Phase;
use cenote_net::Role::{Evaluator, Garbler};

use crate::backends::wrk::WrkParams;
use crate::backends::wrk::supply::{MAX_TAKE, SPARE_SHARES};
use crate::cost::{Demand, Flow, Items, Plan, packed};
use crate::parts::chunk::CHUNK_ANDS;

/// Bytes of a leaky AND in the pool.
const LEAKY: u64 = 96;
/// Bytes of a leaky AND while its batch is made: three shares, S, both G, itself, its opening.
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

pub(super) fn plan(plan: &mut Plan, params: &WrkParams, demand: &Demand) {
    plan.ot = params.ot;
    plan.then(Phase::Setup, setup(params));
    plan.job(demand);
    inputs(params, demand, plan);
    let ands = demand.stats.ands;
    let triples = (params.batch / params.bucket) as u64;
    let refills = ands.div_ceil(triples);
    let (mut made, mut pool) = (refills.saturating_mul(params.batch as u64), 0);
    if let Some(capacity) = params.pool.filter(|_| refills > 0) {
        let (batch, capacity) = (params.batch as u64, capacity as u64);
        let rest = capacity % batch;
        plan.then(Phase::Preprocess, leaky(params, batch, 0).times(capacity / batch));
        if rest > 0 {
            plan.then(Phase::Preprocess, leaky(params, rest, 0));
        }
        (made, pool) = (made.saturating_add(capacity), capacity);
    }
    // They come between chunks, but either begins with what the garbler sends. On a channel of their own they
    // come beside chunks, and take less time than this says.
    plan.then(Phase::Preprocess, refill(params).times(refills));
    plan.compute(demand, chunks(demand), 16);
    plan.items.push(Items { what: "leaky ANDs", width: 1, made, pool });
    (plan.made, plan.evaluated) = (made as f64, ands as f64);
    plan.memory = LIVE.map(|live| memory(params, demand, live, pool, refills > 0));
}

fn memory(params: &WrkParams, demand: &Demand, live: u64, pool: u64, refills: bool) -> u64 {
    let batch = if refills { params.batch as u64 } else { 0 };
    let supply = LEAKY * pool + MADE * batch + 2 * TRIPLE * batch / params.bucket as u64;
    let flying = FLYING * demand.stats.ands.min(IN_FLIGHT);
    demand.stats.live_bits.saturating_mul(live).saturating_add(FIXED + flying + supply)
}

fn setup(params: &WrkParams) -> Flow {
    Flow::default().ot_setup(params.ot, Garbler).ot_setup(params.ot, Evaluator).toss().waits(6)
}

/// Random shares: one COT each way for each.
fn shares(params: &WrkParams, count: u64) -> Flow {
    Flow::default().cots(params.ot, Garbler, count).cots(params.ot, Evaluator, count).waits(1)
}

/// A batch of leaky ANDs, with `more` shares.
fn leaky(params: &WrkParams, count: u64, more: u64) -> Flow {
    shares(params, 3 * count + more)
        .crosses(params.leaky.bytes() as u64 * count, 1)
        .crosses(packed(count), 1)
        .toss_equal()
        .waits(5)
}

fn refill(params: &WrkParams) -> Flow {
    let (batch, bucket) = (params.batch as u64, params.bucket as u64);
    let triples = batch / bucket;
    leaky(params, batch, triples).crosses(packed((bucket - 1) * triples) + 16, 1).waits(1)
}

/// Masks, masked values and labels of inputs, and the shares that they take.
fn inputs(params: &WrkParams, demand: &Demand, plan: &mut Plan) {
    let mut spare = 0u64;
    for &(owner, bits) in &demand.inputs {
        let mut left = bits;
        while left > 0 {
            let piece = left.min(MAX_TAKE as u64);
            left -= piece;
            if piece > spare {
                let made = (piece - spare + SPARE_SHARES as u64).next_multiple_of(128);
                plan.then(Phase::Preprocess, shares(params, made));
                spare += made;
            }
            spare -= piece;
            let masks = Flow::default().sends(owner.peer(), packed(piece) + 16, 1);
            let values = masks.sends(owner, packed(piece), 1).sends(Garbler, 16 * piece, 1);
            plan.then(Phase::Online, values.waits(2));
        }
    }
}

/// Opened differences, tables, reports and their answers.
fn chunks(demand: &Demand) -> Flow {
    let (ands, chunks) = (demand.stats.ands, demand.and_chunks());
    // Two chunks are in flight, so that two of them share a round trip; the last ones do not. The garbler
    // waits for differences and a report of each chunk, whichever chunk is between the two.
    let one = Flow::default().crosses(16, 1).sends(Garbler, 0, 1).sends(Evaluator, 32, 1);
    let bytes = Flow::default()
        .crosses(packed(ands.saturating_mul(2)), 0)
        .sends(Garbler, ands.saturating_mul(32).saturating_add(packed(ands)), 0)
        .sends(Evaluator, packed(ands), 0);
    let waits = chunks.saturating_add(chunks.min(3));
    one.sends(Garbler, 16, 1).times(chunks).and(bytes).waits(waits)
}

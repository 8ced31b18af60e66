//! The plan of a session of `jimu`, by the formulas of its `costs` (docs/protocols/jimu.md, "Costs").

use cenote_net::Phase;
use cenote_net::Role::{self, Evaluator, Garbler};
use cenote_ot::watch;

use crate::backends::jimu::batch::{self, strips};
use crate::backends::jimu::costs::{self, InputBatch};
use crate::backends::jimu::garbled_core::Shape;
use crate::backends::jimu::params::row_bytes;
use crate::backends::jimu::{JimuParams, MAX_PIECE, PoolSpec, input_check};
use crate::cost::{Demand, Flow, Items, Numbers, Plan, packed};
use crate::parts::chunk::{CHUNK_ANDS, CHUNK_GATES};
use crate::party::Receivers;

/// Bytes of a live bit at the garbler and at the evaluator: its handle and a copy of that for the
/// operation that reads it, its message; its label, its tag.
const LIVE: [u64; 2] = [64 + 96, 64 + 136];
/// Bytes of an item in a stored pool, at the garbler.
const NUMBER: u64 = 16;
/// Strips and buffers of the connection.
const FIXED: u64 = 6 << 20;
/// Bytes of an AND of a chunk: solders, openings, tags.
const FLYING: u64 = 600;
/// Bytes of a gate of a chunk, at the garbler and at the evaluator: the wires inside of operations, which
/// are no values of the program.
const INSIDE: [u64; 2] = [100, 280];

/// Bytes of a wire of a batch for inputs, at each side: key, label, tag and choice, what waits for the check, the stock.
const INPUT: [u64; 2] = [150, 230];
/// Bytes of a wire of a batch for escrow, beside what the evaluator keeps of it: messages; tags, what waits for the check.
const ESCROWED: [u64; 2] = [160, 110];

pub(super) fn plan(plan: &mut Plan, params: &JimuParams, demand: &Demand) {
    plan.ot = params.ot;
    plan.then(Phase::Setup, setup(params));
    plan.job(demand);
    let mut wires = Wires::default();
    inputs(params, demand, &mut wires, plan);
    let fixed = FIXED + FLYING * demand.stats.ands.min(CHUNK_ANDS as u64);
    let inside = demand.stats.gates().min(CHUNK_GATES as u64);
    for (memory, (live, gate)) in plan.memory.iter_mut().zip(LIVE.into_iter().zip(INSIDE)) {
        let values = demand.stats.live_bits.saturating_mul(live);
        *memory = values.saturating_add(fixed + gate * inside);
    }
    let largest = |of: Role| {
        let inputs = demand.inputs.iter().filter(|(owner, _)| *owner == of);
        inputs.map(|(_, bits)| *bits).max().unwrap_or(0)
    };
    let alone = demand.bits_to(Receivers::Garbler).saturating_add(demand.stats.left_bits);
    let batches = [
        (largest(Evaluator).min(input_check::most(params) as u64), INPUT),
        (largest(Garbler).min(batch::MOST_ESCROWED as u64).max(alone), ESCROWED),
    ];
    for (wires, bytes) in batches {
        let all = plan.memory.iter_mut().zip(bytes);
        all.for_each(|(memory, each)| *memory = memory.saturating_add(wires * each));
    }
    // What the evaluator notes of each input until the request ends, to be able to run it again, and of outputs to the garbler and wires that are kept.
    let each = 1 + costs::escrowed_bytes(params) as u64;
    let noted = demand.input_bits(Garbler).saturating_add(alone);
    plan.memory[1] = plan.memory[1].saturating_add(noted.saturating_mul(each));
    let mut solders = 0u64;
    for (shape, cores) in cores(params, demand) {
        let Some(pool) = params.pool_of(shape) else { continue };
        let openings = cores.saturating_mul(shape.inputs() as u64);
        solders = solders.saturating_add(openings);
        plan.evaluated += cores as f64 * (shape.ands() * pool.bucket) as f64;
        supply(params, shape, pool, cores, plan);
    }
    let opening = costs::opening(params) as u64;
    let frames = (solders / MAX_PIECE as u64).saturating_add(demand.and_chunks());
    let solders = solders.saturating_mul(opening);
    plan.then(Phase::Online, Flow::default().sends(Garbler, solders, frames).waits(1));
    outputs(params, demand, &mut wires, plan);
}

/// Cores of each shape that the ANDs of the program take: the widest first, single ANDs for the rest.
fn cores(params: &JimuParams, demand: &Demand) -> Vec<(Shape, u64)> {
    let mut found: Vec<(Shape, u64)> = Vec::new();
    let mut lanes = 0u64;
    for (shape, _) in &params.muxes {
        // What wider cores left of a multiplexer.
        let rest =
            |bits: u64| found.iter().fold(bits, |rest, (wider, _)| rest % wider.ands() as u64);
        let width = shape.ands() as u64;
        let count = demand.stats.muxes.iter().fold(0u64, |sum, (bits, count)| {
            sum.saturating_add((rest(u64::from(*bits)) / width).saturating_mul(*count))
        });
        found.push((*shape, count));
        lanes = lanes.saturating_add(count.saturating_mul(width));
    }
    found.push((Shape::AND, demand.stats.ands.saturating_sub(lanes)));
    found
}

fn setup(params: &JimuParams) -> Flow {
    let mut flow = Flow::default().ot_setup(params.ot, Garbler);
    for code in [params.codes.labels, params.codes.perms] {
        let seeds = code.n as usize;
        let (out, back) = watch::message_len(seeds);
        // Commitment, choices, masked seeds, the secret; the bytes of each side with its first message.
        flow = flow
            .sends(Garbler, out as u64, 1)
            .cots(params.ot, Evaluator, seeds as u64)
            .sends(Evaluator, back as u64, 1)
            .sends(Garbler, 0, 1)
            .sends(Evaluator, 0, 1);
    }
    let proving = costs::proving(params);
    let flow = flow.cots(params.ot, Evaluator, proving as u64);
    let delta = flow.sends(Garbler, costs::delta(params) as u64, 1).toss();
    let answer = delta.sends(Garbler, costs::answer(params) as u64, 1);
    let InputBatch { sums, proof, .. } = InputBatch::new(params, proving);
    answer.sends(Evaluator, sums as u64, 1).sends(Garbler, proof as u64, 1).waits(10)
}

/// Returns the traffic that ends a batch beside its bulk: the sacrificed wires, the coin, the
/// answer.
fn batch_end(params: &JimuParams) -> Flow {
    let sacrificed = Flow::default().sends(Garbler, costs::closing(params) as u64, 1);
    sacrificed.toss().sends(Garbler, costs::answer(params) as u64, 1).waits(2)
}

/// A batch of `items`, with the expected number of checked ones.
fn items(params: &JimuParams, shape: Shape, pool: &PoolSpec, items: usize) -> Flow {
    let made = costs::strips(params, shape, items);
    let checked = pool.check_rate() * items as f64 * costs::check(params, shape, 1) as f64;
    let wires = (shape.wires() * items) as u64;
    batch_end(params).sends(Garbler, made as u64, wires / 3072 + 1).sends(
        Garbler,
        checked as u64,
        checked as u64 / (64 * MAX_PIECE as u64) + 1,
    )
}

/// Fills a pool and refills it until `taken` buckets were there.
fn supply(params: &JimuParams, shape: Shape, pool: &PoolSpec, taken: u64, plan: &mut Plan) {
    if taken == 0 {
        return;
    }
    let rate = pool.check_rate();
    let hashed = |items: usize| (shape.wires() * items) as f64;
    let numbered = |items: usize| costs::numbers(params, shape, items) as u64;
    let mut numbers = 0u64;
    let mut missing = pool.capacity as f64;
    while missing > 0.5 {
        let fresh = pool.fresh(missing.ceil() as usize);
        plan.then(Phase::Preprocess, items(params, shape, pool, fresh));
        plan.made += hashed(fresh);
        numbers += numbered(fresh);
        missing -= fresh as f64 * (1.0 - rate);
    }
    let survivors = pool.batch as f64 * (1.0 - rate);
    let buckets = (survivors / pool.bucket as f64).max(1.0) as usize;
    let refills = taken.div_ceil(buckets as u64);
    let each = refill(params, shape, pool, buckets);
    plan.then(Phase::Preprocess, each.times(refills));
    plan.made += refills as f64 * hashed(pool.batch);
    if params.switches.compact {
        // The garbler makes and hashes the whole pool again for every batch.
        plan.made += refills as f64 * hashed(pool.capacity);
    }
    let used = numbers.saturating_add(refills.saturating_mul(numbered(pool.batch)));
    let what = if shape == Shape::AND { "wires of ANDs" } else { "wires of cores" };
    plan.numbers.push(Numbers { what, used, bits: u64::BITS });
    let what = if shape == Shape::AND { "garbled ANDs" } else { "garbled cores" };
    let width = shape.ands() as u32;
    let fresh = refills.saturating_mul(pool.batch as u64);
    let made = fresh.saturating_add(pool.capacity as u64);
    plan.items.push(Items { what, width, made, pool: pool.capacity as u64 });
    // The garbler knows an item by its number and makes its parts from a seed when it needs them.
    let row = [NUMBER, row_bytes(shape) as u64];
    let ready = [NUMBER * pool.bucket as u64, costs::ready_bytes(shape, pool) as u64];
    let stored = if params.switches.compact { 8 } else { row[1] };
    plan.pool_bytes = plan.pool_bytes.saturating_add(stored * pool.capacity as u64);
    for (memory, (row, ready)) in plan.memory.iter_mut().zip(row.into_iter().zip(ready)) {
        let kept = if params.switches.compact { 8 } else { row } * pool.capacity as u64;
        let made = ready * buckets as u64 + row * pool.batch as u64;
        *memory = memory.saturating_add(kept + made);
    }
}

/// One refill of a pool, all that its buckets take included.
fn refill(params: &JimuParams, shape: Shape, pool: &PoolSpec, buckets: usize) -> Flow {
    let solders = costs::inner(params, shape, pool, buckets);
    let frames = solders as u64 / (64 * MAX_PIECE as u64) + 1;
    let mut flow = items(params, shape, pool, pool.batch).sends(Garbler, solders as u64, frames);
    if params.switches.compact {
        let slots = costs::drawn_slots(pool, buckets) as usize;
        let again = costs::again(params, shape, slots) as u64;
        let nodes = 32 * costs::rest_nodes(pool, buckets) as u64;
        flow = flow.sends(Garbler, again, again / (1 << 18) + 1).sends(Garbler, nodes, 1);
    }
    flow
}

/// Single wires that are ready, in escrow and for inputs of the evaluator, as a plan goes on.
#[derive(Default)]
struct Wires {
    escrowed: u64,
    inputs: u64,
}

impl Wires {
    /// Takes `count` wires in escrow, which are asked for by as many as `each`.
    fn take_escrowed(&mut self, params: &JimuParams, count: u64, each: u64, plan: &mut Plan) {
        let mut missing = count.saturating_sub(self.escrowed);
        self.escrowed = self.escrowed.saturating_sub(count);
        while missing > 0 {
            let wires = costs::escrow_batch(missing.min(each) as usize);
            let strips = strips(wires, 1).count() as u64;
            let made = costs::plain_strips(params, wires) as u64;
            let made = Flow::default().sends(Garbler, made, strips).and(batch_end(params));
            // All batches of this size, but for a last one that may be smaller.
            let batches = (missing / wires as u64).max(1);
            plan.then(Phase::Preprocess, made.times(batches));
            plan.made += batches as f64 * wires as f64;
            let made = batches.saturating_mul(wires as u64);
            self.escrowed += made.saturating_sub(missing);
            missing = missing.saturating_sub(made);
        }
    }

    fn take_inputs(&mut self, params: &JimuParams, piece: u64, left: u64, plan: &mut Plan) {
        while self.inputs < piece {
            let wanted = left.min(input_check::most(params) as u64).max(piece);
            let (wires, kept) = costs::input_batch(params, (wanted - self.inputs) as usize);
            plan.then(Phase::Preprocess, input_batch(params, wires));
            plan.made += wires as f64;
            self.inputs += kept as u64;
        }
        self.inputs -= piece;
    }
}

fn inputs(params: &JimuParams, demand: &Demand, wires: &mut Wires, plan: &mut Plan) {
    for &(owner, bits) in &demand.inputs {
        if owner == Garbler {
            wires.take_escrowed(params, bits, bits, plan);
            let pieces = bits.div_ceil(MAX_PIECE as u64);
            let labels = Flow::default().sends(Garbler, bits.saturating_mul(48), pieces);
            plan.then(Phase::Online, labels);
            continue;
        }
        let mut left = bits;
        while left > 0 {
            let piece = left.min(MAX_PIECE as u64);
            wires.take_inputs(params, piece, left, plan);
            left -= piece;
            let choices = Flow::default().sends(Evaluator, packed(piece), 1);
            plan.then(Phase::Online, choices.waits(1));
        }
    }
}

/// A batch of wires for inputs of the evaluator.
fn input_batch(params: &JimuParams, wires: usize) -> Flow {
    let (parts, strips) = (InputBatch::new(params, wires), strips(wires, 1).count());
    let made = Flow::default()
        .cots(params.ot, Evaluator, wires as u64)
        .sends(Garbler, parts.strip as u64, strips as u64)
        .and(batch_end(params));
    made.sends(Evaluator, parts.sums as u64, 1).sends(Garbler, parts.proof as u64, 1).waits(3)
}

fn outputs(params: &JimuParams, demand: &Demand, wires: &mut Wires, plan: &mut Plan) {
    // What is kept is bound to the evaluator's values as an output to the garbler is.
    let left = demand.stats.left_bits;
    let left = (left > 0).then_some((Receivers::Garbler, 1, left));
    for (to, times, bits) in demand.openings().chain(left) {
        if !to.include(Evaluator) {
            wires.take_escrowed(params, bits, bits.checked_div(times).unwrap_or(0), plan);
        }
        let pieces = bits.div_ceil(MAX_PIECE as u64).max(times);
        let perms = bits.saturating_mul(costs::perm(params) as u64);
        let mut one = Flow::default().sends(Garbler, 0, 1);
        let mut bytes = Flow::default().sends(Garbler, perms, 0).waits(times);
        if to.include(Garbler) {
            one = one.sends(Evaluator, 16, 1).waits(1);
            bytes = bytes.sends(Evaluator, packed(bits), 0);
        }
        plan.then(Phase::Online, one.times(pieces).and(bytes));
    }
}

//! The plan of a session of `wrk` (docs/protocols/wrk.md, "Costs").

use cenote_net::Role::{Evaluator, Garbler};
use cenote_net::{Phase, Role};
use cenote_program::Stats;

use crate::backends::wrk::WrkParams;
use crate::backends::wrk::bucket::folded_len;
use crate::backends::wrk::packed::packed_bytes;
use crate::backends::wrk::slices::{MOST_SHARES, Place, Slices};
use crate::backends::wrk::supply::{MAX_TAKE, SPARE_SHARES};
use crate::cost::{Demand, Flow, Items, Numbers, Pieces, Plan, packed};
use crate::parts::chunk::CHUNK_ANDS;

/// Bytes of a MAC or a key, which a share of a slice has until there are leaky ANDs. Over a short line three slices have MACs, one of them
/// keys, and four are leaky ANDs that are not finished.
const MAC: u64 = 16;
const SLICES: u64 = 4;
/// Bytes of a live bit at the garbler and at the evaluator: its handle and a copy of that for the
/// operation that reads it, its share, its labels.
const LIVE: [u64; 2] = [64 + 56, 64 + 80];
/// The same of a bit at rest, at both: bits, its part of the sums, and of a bucket; twice while the session keeps what a job goes on with.
const RESTING: u64 = 6;
/// Buffers of the connection, of OT and of its trees.
const FIXED: u64 = 6 << 20;
/// Bytes of silent OT: two secrets and what they are made from, at both ends, and the stream of the first COTs.
const SILENT: u64 = 14 << 20;
/// Bytes of an AND of a chunk in flight, tables that came early included, and how many may be in flight.
const FLYING: u64 = 200;
const IN_FLIGHT: u64 = 3 * CHUNK_ANDS as u64;

pub(super) fn plan(plan: &mut Plan, params: &WrkParams, demand: &Demand) {
    plan.ot = params.ot;
    plan.then(Phase::Setup, setup(params));
    plan.job(demand);
    let ands = demand.stats.ands;
    if let Some(extension) = params.ot.extension() {
        let one = extension
            .into_iter()
            .fold(Flow::default(), |flow, bytes| flow.crosses(bytes as u64, 1).waits(1));
        plan.then(Phase::Preprocess, one.times(extensions(params, demand)));
    }
    inputs(params, demand, plan);
    returns(params, &demand.stats, plan);
    let refills = ands.div_ceil(params.triples() as u64);
    let pool = params.pool.filter(|_| refills > 0).unwrap_or(0) as u64;
    let made = refills.saturating_mul(params.batch as u64).saturating_add(pool);
    // Over one channel they come between chunks, but either begins with what the garbler sends: rounds are those of that. On a channel of
    // their own the line is waited for once.
    plan.then(Phase::Preprocess, self::refills(params, ands));
    plan.compute(demand, chunks(demand), 16);
    plan.items.push(Items { what: "leaky ANDs", width: 1, made, pool });
    // Two keys a half gate, and one in each direction a leaky AND: `mitccrh` counts them.
    let keys = [("keys of half gates", ands.saturating_mul(2)), ("keys of leaky ANDs", made)];
    plan.numbers.extend(keys.map(|(what, used)| Numbers { what, used, bits: u64::BITS }));
    (plan.made, plan.evaluated) = (made as f64, ands as f64);
    plan.memory = LIVE.map(|live| memory(params, demand, live, pool, refills > 0));
    plan.pieces = (refills > 0).then(|| pieces(params));
}

/// Bytes of what is kept of a leaky AND.
struct Kept {
    /// In the pool.
    leaky: u64,
    /// While its batch is made: itself and its part of a mask.
    made: u64,
    /// Until it is finished: S and G as well.
    unfinished: u64,
    /// Its part of a bucket whose differences are not known: shares and keys.
    folded: u64,
    /// Of a ready triple.
    triple: u64,
}

impl Kept {
    fn of(params: &WrkParams) -> Kept {
        let (share, bucket) = (packed_bytes(params.leaky) as u64, params.bucket as u64);
        let folded = folded_len(params.bucket) as u64 * share + 16 * (bucket - 1);
        let made = 3 * share + share / bucket;
        Kept {
            leaky: 3 * share,
            made,
            unfinished: made + 2 * params.leaky.bytes() as u64,
            folded: folded.div_ceil(bucket),
            triple: 4 * share,
        }
    }
}

/// The MACs of a slice that waits for keys, unless the OT is silent; the leaky ANDs of one that wait for G or d, for the coin, and for the
/// differences; a chunk of gates.
fn pieces(params: &WrkParams) -> Pieces {
    let slices = Slices::of(params);
    let place = slices.place(slices.of_pool());
    let macs = if params.may_be_silent() { 0 } else { MAC * place.shares() as u64 };
    let Kept { made, unfinished, folded, .. } = Kept::of(params);
    let turn = macs + (unfinished + made + folded) * place.ands as u64;
    Pieces { loads: params.loads(), kept: [turn, FLYING * CHUNK_ANDS as u64] }
}

fn memory(params: &WrkParams, demand: &Demand, live: u64, pool: u64, refills: bool) -> u64 {
    let batch = if refills { params.batch as u64 } else { 0 };
    let Kept { leaky, made, unfinished, folded, triple } = Kept::of(params);
    let a_slice = MOST_SHARES as u64 / 3;
    let slices = if refills { SLICES * (unfinished * a_slice + MAC * 3 * a_slice) } else { 0 };
    // Besides the batch whose slices are made: those of four turns.
    let beside = batch.min(SLICES * a_slice);
    // MACs on differences as well, for a moment.
    let made = made * (batch + beside) + (folded + 16) * batch;
    let supply = leaky * pool + made + slices + 2 * triple * batch / params.bucket as u64;
    let flying = FLYING * demand.stats.ands.min(IN_FLIGHT);
    let trees = if params.may_be_silent() { SILENT } else { 0 };
    let Stats { live_bits, awake_bits, .. } = demand.stats;
    let resting = live_bits.saturating_sub(awake_bits).saturating_mul(RESTING);
    let values = awake_bits.saturating_mul(live).saturating_add(resting);
    values.saturating_add(FIXED + trees + flying + supply)
}

fn setup(params: &WrkParams) -> Flow {
    Flow::default().ot_setups(params.ot).toss().waits(3)
}

/// Random shares: one COT each way for each.
fn shares(params: &WrkParams, count: u64) -> Flow {
    Flow::default().cots(params.ot, Garbler, count).cots(params.ot, Evaluator, count).waits(1)
}

/// Extensions of silent OT: another begins when what is left would not last for the calls that are made meanwhile (`supply.rs`).
fn extensions(params: &WrkParams, demand: &Demand) -> u64 {
    let slices = Slices::of(params);
    let (fill, batch) = (slices.of_pool(), slices.of_batch());
    let refills = demand.stats.ands.div_ceil(params.triples() as u64);
    let cots = |number: u64| slices.place(number).shares().next_multiple_of(128) as u64;
    let a_batch: u64 = (fill..fill + batch).map(cots).sum();
    let lasts = params.ot.trips() as u64 + 2;
    // COTs that were taken, and those that must have been made by then.
    let call = |(taken, needed): (u64, u64), cots: u64| {
        (taken.saturating_add(cots), needed.max(taken.saturating_add(lasts * cots)))
    };
    let inputs = made_for_inputs(demand).into_iter().map(|(_, made)| made);
    let first = (0..if refills > 0 { fill + batch } else { 0 }).map(cots);
    let (taken, needed) = inputs.chain(first).fold((0, 0), call);
    // Of the refills between the first and the last, the last has the most before it.
    let before = taken.saturating_add(a_batch.saturating_mul(refills.saturating_sub(2)));
    let last = (fill..if refills > 1 { fill + batch } else { fill }).map(cots);
    let (_, needed) = last.fold((before, needed), call);
    needed.div_ceil(params.ot.chunk() as u64)
}

/// The fill and the refills of a request of `ands` ANDs.
fn refills(params: &WrkParams, ands: u64) -> Flow {
    let slices = Slices::of(params);
    let places = |from: u64, count: u64| -> Vec<Place> {
        (from..from + count).map(|number| slices.place(number)).collect()
    };
    let (fill, batch) = (slices.of_pool(), slices.of_batch());
    let refills = ands.div_ceil(params.triples() as u64);
    let filled = if refills > 0 { fill } else { 0 };
    let flow = streamed(params, &places(0, filled));
    // Of the pool and of the first batch: the others are on the line at the same time.
    let waits = (u64::from(filled > 0) + u64::from(refills > 0))
        * STEPS[usize::from(params.ot.is_silent())];
    flow.and(streamed(params, &places(fill, batch)).times(refills)).waits(waits)
}

/// Half round trips from the start of the last slice of a batch to its triples: keys, d, the coin and the differences take one each,
/// but keys of silent OT.
const STEPS: [u64; 2] = [8, 6];

/// Slices of leaky ANDs, one started a turn, as the garbler sends and receives (`supply.rs`).
fn streamed(params: &WrkParams, slices: &[Place]) -> Flow {
    let at = |turn: usize, later: usize| turn.checked_sub(later).and_then(|i| slices.get(i));
    let ends = |turn, later| at(turn, later).filter(|place| place.last);
    let opened = |place: &Place| {
        let triples = if place.masks == 0 { 0 } else { params.triples() as u64 };
        packed((params.bucket as u64 - 1) * triples) + 16
    };
    let shares = |place: &Place| place.shares().next_multiple_of(128) as u64;
    let g = |place: &Place| (params.leaky.bytes() * place.ands) as u64;
    let bits = |place: &Place| packed(place.ands as u64);
    let mut flow = Flow::default();
    if slices.is_empty() {
        return flow;
    }
    // Silent OT has no corrections to wait for.
    let sent = usize::from(!params.ot.is_silent());
    for turn in 0..slices.len() + sent + 6 {
        if let Some(place) = at(turn, 0) {
            flow = flow.cots(params.ot, Garbler, shares(place));
        }
        if let Some(place) = at(turn, sent) {
            flow = flow.cots(params.ot, Evaluator, shares(place)).sends(Garbler, g(place), 1);
        }
        if let Some(place) = at(turn, sent + 1) {
            flow = flow.sends(Evaluator, g(place), 1).sends(Garbler, bits(place), 1);
        }
        if let Some(place) = at(turn, sent + 2) {
            flow = flow.sends(Evaluator, bits(place), 1);
        }
        if ends(turn, sent + 2).is_some() {
            flow = flow.commits();
        }
        if let Some(place) = ends(turn, sent + 4) {
            flow = flow.replies_and_opens();
            flow = if place.masks > 0 { flow.sends(Garbler, opened(place), 1) } else { flow };
        }
        if let Some(place) = ends(turn, sent + 6).filter(|place| place.masks > 0) {
            flow = flow.sends(Evaluator, opened(place), 1);
        }
    }
    flow
}

/// Masks, masked values and labels of inputs, and the shares that they take. Inputs in a row go together until
/// shares have to be made, which beside requests ends no row: there it is a round less.
fn inputs(params: &WrkParams, demand: &Demand, plan: &mut Plan) {
    let mut row = Vec::new();
    let mut bits = 0;
    for ((owner, piece), made) in made_for_inputs(demand) {
        if made > 0 || bits + piece > MAX_TAKE as u64 {
            plan.then(Phase::Online, input_row(&std::mem::take(&mut row)));
            bits = 0;
        }
        if made > 0 {
            plan.then(Phase::Preprocess, shares(params, made));
        }
        row.push((owner, piece));
        bits += piece;
    }
    plan.then(Phase::Online, input_row(&row));
}

/// Kept wires that come back, at most: a share each, and, as often as some wake, corrections and proofs of both sides. Shares of what rests within a
/// run alone are few beside its ANDs, and not counted.
fn returns(params: &WrkParams, stats: &Stats, plan: &mut Plan) {
    let (bits, wakes) = (stats.found_bits, stats.wakes);
    if wakes == 0 {
        return;
    }
    // Each time some wake there may be one that is not full.
    let pieces = (bits / MAX_TAKE as u64).saturating_add(wakes);
    if bits > 0 {
        plan.then(Phase::Preprocess, shares(params, bits));
    }
    let corrections = Flow::default().crosses(0, 1).times(pieces);
    let proofs = Flow::default().crosses(16, 1).times(wakes);
    let both = corrections.and(proofs).and(Flow::default().crosses(packed(bits), 0));
    plan.then(Phase::Online, both.waits(pieces.saturating_mul(2).saturating_add(wakes)));
}

/// Inputs that go together, as the garbler sends and receives.
fn input_row(row: &[(Role, u64)]) -> Flow {
    let of = |role| row.iter().filter(move |(owner, _)| *owner == role).map(|(_, bits)| *bits);
    let asked =
        of(Evaluator).fold(Flow::default(), |flow, bits| flow.sends(Garbler, packed(bits) + 16, 1));
    let own = of(Garbler).fold(asked, |flow, bits| {
        flow.sends(Evaluator, packed(bits) + 16, 1).sends(Garbler, packed(bits), 1)
    });
    let labelled = row.iter().fold(own, |flow, &(owner, bits)| {
        let heard = if owner == Evaluator { flow.sends(Evaluator, packed(bits), 1) } else { flow };
        heard.sends(Garbler, 16 * bits, 1)
    });
    // The first tables leave with the last labels: f and g have come with the masks, or with the evaluator's masked values.
    let asks = row.iter().any(|(owner, _)| *owner == Evaluator);
    labelled.waits(if row.is_empty() { 0 } else { 1 + u64::from(asks) })
}

/// Each piece of inputs, and the shares that are made for it.
fn made_for_inputs(demand: &Demand) -> Vec<((Role, u64), u64)> {
    let mut spare = 0u64;
    let mut pieces = Vec::new();
    for &(owner, bits) in &demand.inputs {
        let mut left = bits;
        while left > 0 {
            let piece = left.min(MAX_TAKE as u64);
            left -= piece;
            let more = |missing: u64| (missing + SPARE_SHARES as u64).next_multiple_of(128);
            let made = if piece > spare { more(piece - spare) } else { 0 };
            spare = spare + made - piece;
            pieces.push(((owner, piece), made));
        }
    }
    pieces
}

/// Opened differences, tables, reports and their answers.
fn chunks(demand: &Demand) -> Flow {
    let (ands, chunks) = (demand.stats.ands, demand.and_chunks());
    // So many chunks are in flight that the last one's checks are waited for, and the first one's f and g where no input came before.
    let one = Flow::default().crosses(16, 1).sends(Garbler, 0, 1).sends(Evaluator, 32, 1);
    let bytes = Flow::default()
        .crosses(packed(ands.saturating_mul(2)), 0)
        .sends(Garbler, ands.saturating_mul(32).saturating_add(packed(ands)), 0)
        .sends(Evaluator, packed(ands), 0);
    let waits = 2 * chunks.min(if demand.inputs.is_empty() { 2 } else { 1 });
    one.sends(Garbler, 16, 1).times(chunks).and(bytes).waits(waits)
}

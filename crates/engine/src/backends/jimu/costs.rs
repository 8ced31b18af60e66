//! Bytes on the wire, as functions of the public parameters.
//!
//! All figures are payloads; each frame has a header of `cenote_net::HEADER_LEN` bytes beside. The
//! transcript tests compare every message of recorded sessions with these functions.
//!
//! Let c be the bytes of corrections of a hashed wire ([`wire`]), P those of a permutation message
//! ([`perm`]), m = 48 + P those of an opening ([`opening`]), and for a pool B the bucket, r the share
//! that is checked, N the items of a batch.
//!
//! | what | bytes | function |
//! |---|---|---|
//! | making a core of l lanes | (2l + 1) c + 144 l | [`strips`] |
//! | making a wire in escrow | c | [`plain_strips`] |
//! | showing a checked core | (2l + 1) m | [`check`] |
//! | end of a batch | 64 t c + 96 + 64 (48 t_l + P t_p) | [`closing`], [`TOSS`], [`answer`] |
//! | inner solders of a bucket | (B - 1) (2l + 1) m | [`inner`] |
//! | outer solders of a core | (l + 1) m | [`outer`] |
//! | compact storage: an old item again | 8 and what making it took | [`again`] |
//! | and of k of n slots: a node | 32, k log2(n / k) times about | [`rest_nodes`] |
//!
//! t_l and t_p are the combinations of the two codes, t is the larger one. Lanes are made in vectors
//! of 64. In steady state, what survives the check of a batch leaves the pool in buckets:
//!
//! - [`core()`]: B / (1 - r) (made + r shown + end / N) + inner + outer;
//! - [`wire_in_escrow`]: c + end / N, of N wires;
//! - [`garbler_input`]: 48 and a wire in escrow;
//! - [`evaluator_input`]: one bit, c + 16, a correlated OT, and a share of the check of a batch;
//! - [`output`]: P to the evaluator; a bit more to both; to the garbler, P, a bit and a wire in escrow.
//!
//! In bytes, for an AND, for a lane of cores of 8 and of 64, for inputs, for the set-up and for filling
//! the pool of ANDs:
//!
//! | rho | pool | c | m | B, r | AND | in 8 | in 64 | garbler's input | evaluator's | set-up | filling |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | 40 | 10000 | 58 | 64 | 6, 12.1 % | 3510 | 2859 | 2764 | 108 | 80 | 172 kB | 4 MB |
//! | 40 | 100000 | 58 | 64 | 5, 5.5 % | 2643 | 2141 | 2074 | 108 | 80 | 172 kB | 35 MB |
//! | 40 | 1048576 | 58 | 64 | 4, 5.3 % | 2095 | 1711 | 2017 | 108 | 80 | 172 kB | 365 MB |
//! | 40 | 16777216 | 58 | 64 | 3, 19.3 % | 1837 | 1691 | 2017 | 108 | 80 | 172 kB | 7409 MB |
//! | 64 | 1048576 | 125 | 80 | 6, 4.2 % | 4689 | 3633 | 4210 | 178 | 151 | 411 kB | 582 MB |
//! | 80 | 1048576 | 196 | 80 | 7, 6.0 % | 7195 | 5518 | 6457 | 253 | 226 | 694 kB | 839 MB |
//!
//! Pools of wide cores are bounded in memory, so that their buckets do not shrink as those of ANDs.
//!
//! In compact storage an AND takes as many bytes more:
//!
//! | rho | pool | slots drawn a batch | nodes | more bytes | AND |
//! |---|---|---|---|---|---|
//! | 40 | 100000 | 61115 | 30747 | 1107 | 3749 |
//! | 40 | 1048576 | 117009 | 292970 | 1532 | 3627 |
//! | 40 | 16777216 | 105385 | 679712 | 1592 | 3429 |

use cenote_ot::watch;
use cenote_prim::planes::packed6;

use super::batch::{self, lanes};
use super::compact::again_len;
use super::input_check;
use super::params::{JimuParams, PoolSpec};
use crate::backends::jimu::garbled_core::{Shape, inner_len, ready_blocks};
use crate::backends::jimu::ihash::{LANES, Label, ReedSolomonEscrow, encoded_len};
use crate::parts::coin::{COMMIT_LEN, OPENING_LEN, REPLY_LEN};
use crate::party::Receivers;

/// Corrections of a hashed wire.
#[must_use]
pub fn wire(params: &JimuParams) -> usize {
    let (labels, perms) = (params.codes.labels.parity(), params.codes.perms.parity() as usize);
    let packed = if params.codes.perms.field_bits == 6 { packed6(perms) } else { perms };
    labels as usize + packed
}

/// A permutation message: 126 bits in 16 bytes, or 32 symbols.
#[must_use]
pub fn perm(params: &JimuParams) -> usize {
    if params.codes.perms.field_bits == 6 { 16 } else { params.codes.perms.k as usize }
}

/// An opening: label and permutation message.
#[must_use]
pub fn opening(params: &JimuParams) -> usize {
    encoded_len(1, perm(params) / 16)
}

/// Fresh items with their tables, all strips of a batch (`jimu.strip`).
#[must_use]
pub fn strips(params: &JimuParams, shape: Shape, items: usize) -> usize {
    let wires = batch::strips(items, shape.wires()).map(|strip| lanes(strip * shape.wires()));
    wires.sum::<usize>() * wire(params) + items * 16 * shape.table_blocks()
}

/// Numbers of wires that a batch of fresh items takes, those of filled vectors and of sacrificed ones included.
#[must_use]
pub fn numbers(params: &JimuParams, shape: Shape, items: usize) -> usize {
    let tables = items * 16 * shape.table_blocks();
    (strips(params, shape, items) - tables + closing(params)) / wire(params)
}

/// Wires without tables (`jimu.strip`).
#[must_use]
pub fn plain_strips(params: &JimuParams, wires: usize) -> usize {
    batch::strips(wires, 1).map(lanes).sum::<usize>() * wire(params)
}

/// The sacrificed wires at the end of a batch (`jimu.close`).
#[must_use]
pub fn closing(params: &JimuParams) -> usize {
    let codes = &params.codes;
    codes.label_combinations.max(codes.perm_combinations) as usize * LANES * wire(params)
}

/// A toss of a joint coin: the garbler's commitment, the evaluator's coin, the opening.
pub const TOSS: usize = COMMIT_LEN + REPLY_LEN + OPENING_LEN;

/// The answer to the consistency check of a batch (`jimu.answer`).
#[must_use]
pub fn answer(params: &JimuParams) -> usize {
    let codes = &params.codes;
    let labels = size_of::<Label>() * codes.label_combinations as usize;
    LANES * (labels + perm(params) * codes.perm_combinations as usize)
}

/// Openings of checked items (`jimu.check`).
#[must_use]
pub fn check(params: &JimuParams, shape: Shape, checked: usize) -> usize {
    checked * shape.wires() * opening(params)
}

/// A batch of `items` fresh items, of which `checked` are checked: all messages up to the check.
#[must_use]
pub fn batch(params: &JimuParams, shape: Shape, items: usize, checked: usize) -> usize {
    strips(params, shape, items)
        + closing(params)
        + TOSS
        + answer(params)
        + check(params, shape, checked)
}

/// Items of the next batch while a pool still misses so many.
#[must_use]
pub fn fresh_items(pool: &PoolSpec, missing: usize) -> usize {
    pool.fresh(missing)
}

/// Inner solders of buckets of cores of this shape (`jimu.inner`).
#[must_use]
pub fn inner(params: &JimuParams, shape: Shape, pool: &PoolSpec, buckets: usize) -> usize {
    buckets * inner_len(shape, pool.bucket) * opening(params)
}

/// Old items of so many slots, in compact storage (`jimu.again`).
#[must_use]
pub fn again(params: &JimuParams, shape: Shape, slots: usize) -> usize {
    let strips = batch::strips(slots, shape.wires());
    strips.map(|items| again_len(shape, items, lanes(items * shape.wires()) * wire(params))).sum()
}

/// Slots of a pool that so many buckets are drawn from, on the average.
#[must_use]
pub fn drawn_slots(pool: &PoolSpec, buckets: usize) -> f64 {
    pool.capacity as f64 * (1.0 - passed_over(pool, buckets, 1))
}

/// Nodes that hold all other slots, 32 bytes each, on the average, in compact storage
/// (`jimu.paths`).
///
/// Of the whole nodes over slots that are not drawn, those count whose parents are no such nodes.
#[must_use]
pub fn rest_nodes(pool: &PoolSpec, buckets: usize) -> f64 {
    let heights = 1..=pool.capacity.ilog2();
    let whole = |slots: usize| (pool.capacity / slots) as f64 * passed_over(pool, buckets, slots);
    whole(1) - heights.map(|height| whole(1 << height)).sum::<f64>()
}

/// The probability that none of some slots is drawn.
fn passed_over(pool: &PoolSpec, buckets: usize, slots: usize) -> f64 {
    let (slots, capacity) = (slots as f64, pool.capacity as f64);
    let once = (0..pool.bucket).map(|i| (1.0 - slots / (capacity - i as f64)).max(0.0));
    once.product::<f64>().powi(buckets as i32)
}

/// Bytes that the evaluator keeps of a ready bucket.
#[must_use]
pub fn ready_bytes(shape: Shape, pool: &PoolSpec) -> usize {
    16 * ready_blocks(shape, pool.bucket)
}

/// Bytes that the evaluator keeps of a wire in escrow: tags, and corrections of its permutation message.
#[must_use]
pub fn escrowed_bytes(params: &JimuParams) -> usize {
    32 + 16 * ReedSolomonEscrow::correction_blocks(&params.codes)
}

/// Outer solders of a core of this shape (`jimu.outer`): all that is online about it.
#[must_use]
pub fn outer(params: &JimuParams, shape: Shape) -> usize {
    shape.inputs() * opening(params)
}

/// A core of this shape in steady state, on the average; `None` without a pool of such.
#[must_use]
pub fn core(params: &JimuParams, shape: Shape) -> Option<f64> {
    let pool = params.pool_of(shape)?;
    let (made, buckets) = steady(params, shape, pool);
    Some(made / buckets + (inner(params, shape, pool, 1) + outer(params, shape)) as f64)
}

/// Wires of the next batch for escrow when `missing` are needed.
#[must_use]
pub fn escrow_batch(missing: usize) -> usize {
    batch::escrow(missing)
}

/// The messages of a batch of `wires` wires in escrow.
#[must_use]
pub fn escrow(params: &JimuParams, wires: usize) -> usize {
    plain_strips(params, wires) + closing(params) + TOSS + answer(params)
}

/// A wire in escrow, many at a time.
#[must_use]
pub fn wire_in_escrow(params: &JimuParams) -> f64 {
    let wires = escrow_batch(usize::MAX / 2);
    escrow(params, wires) as f64 / wires as f64
}

/// Bytes of a batch and buckets that it gives, on the average; what is sent again in compact storage
/// counts.
fn steady(params: &JimuParams, shape: Shape, pool: &PoolSpec) -> (f64, f64) {
    let checked = pool.check_rate() * pool.batch as f64;
    let made = batch(params, shape, pool.batch, 0) as f64;
    let buckets = (pool.batch as f64 - checked) / pool.bucket as f64;
    let mut bytes = made + checked * check(params, shape, 1) as f64;
    if params.switches.compact {
        let slots = drawn_slots(pool, buckets as usize) as usize;
        bytes += again(params, shape, slots) as f64 + 32.0 * rest_nodes(pool, buckets as usize);
    }
    (bytes, buckets)
}

/// An input bit of the garbler.
#[must_use]
pub fn garbler_input(params: &JimuParams) -> f64 {
    size_of::<Label>() as f64 + wire_in_escrow(params)
}

/// Wires of a batch for the evaluator's inputs when `missing` are needed, and how many of them are
/// kept.
#[must_use]
pub fn input_batch(params: &JimuParams, missing: usize) -> (usize, usize) {
    let wires = input_check::batch(params, missing);
    (wires, wires - params.input_sacrificed())
}

/// The messages of a batch of `wires` wires for the evaluator's inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InputBatch {
    /// Correlated OT, from the evaluator (`ot.chunk`).
    pub cots: usize,
    /// Corrections and masked keys (`jimu.strip`).
    pub strip: usize,
    /// The evaluator's sums (`jimu.input.sum`).
    pub sums: usize,
    /// The opened sums of labels (`jimu.input.proof`).
    pub proof: usize,
}

impl InputBatch {
    /// For so many wires.
    #[must_use]
    pub fn new(params: &JimuParams, wires: usize) -> InputBatch {
        let sums = params.input_sums();
        InputBatch {
            cots: cots(params, wires),
            strip: wires * (wire(params) + 16),
            sums: sums + 32,
            proof: sums * size_of::<Label>(),
        }
    }

    /// All messages of the batch.
    #[must_use]
    pub fn total(&self, params: &JimuParams) -> usize {
        let end = closing(params) + TOSS + answer(params);
        self.cots + self.strip + end + self.sums + self.proof
    }
}

/// An input bit of the evaluator, many at a time.
#[must_use]
pub fn evaluator_input(params: &JimuParams) -> f64 {
    let (wires, kept) = input_batch(params, usize::MAX / 2);
    InputBatch::new(params, wires).total(params) as f64 / kept as f64 + 0.125
}

/// An output bit, without the hash of 16 bytes that a reveal to the garbler has beside.
#[must_use]
pub fn output(params: &JimuParams, to: Receivers) -> f64 {
    let message = perm(params) as f64;
    match to {
        Receivers::Evaluator => message,
        Receivers::Both => message + 0.125,
        Receivers::Garbler => message + 0.125 + wire_in_escrow(params),
    }
}

/// Correlated OTs.
fn cots(params: &JimuParams, count: usize) -> usize {
    params.ot.traffic(count as u64).bytes() as usize
}

/// The hashed Delta (`jimu.delta`): what is added to its key, a vector of wires, those that prove it with their masked keys, those that are sacrificed.
#[must_use]
pub fn delta(params: &JimuParams) -> usize {
    let proving = proving(params);
    16 + (LANES + proving) * wire(params) + 16 * proving + closing(params)
}

/// Wires by which a set-up proves Delta, and their correlated OTs.
#[must_use]
pub fn proving(params: &JimuParams) -> usize {
    input_check::none(params)
}

/// The set-up of a session: correlated OT, two watch lists, Delta and its proof.
#[must_use]
pub fn setup(params: &JimuParams) -> usize {
    let cot = params.ot.setup_traffic().bytes() as usize;
    let lists = [params.codes.labels, params.codes.perms].map(|code| {
        let seeds = code.n as usize;
        let (out, back) = watch::message_len(seeds);
        cots(params, seeds) + out + back
    });
    let InputBatch { cots, sums, proof, .. } = InputBatch::new(params, proving(params));
    let proof = cots + sums + proof;
    cot + lists.iter().sum::<usize>() + delta(params) + TOSS + answer(params) + proof
}

/// The first filling of a pool, on the average; `None` for a shape that has none.
#[must_use]
pub fn filling(params: &JimuParams, shape: Shape) -> Option<f64> {
    let pool = params.pool_of(shape)?;
    let rate = pool.check_rate();
    let (mut missing, mut bytes) = (pool.capacity as f64, 0.0);
    while missing > 0.5 {
        let items = pool.fresh(missing.ceil() as usize);
        bytes += batch(params, shape, items, 0) as f64;
        bytes += rate * check(params, shape, items) as f64;
        missing -= items as f64 * (1.0 - rate);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::jimu::JimuSwitches;
    use crate::options::{PoolChoice, Rho};
    use cenote_prim::merkle::cover;

    #[test]
    fn an_opening_is_a_label_and_a_permutation_message() {
        for (rho, sizes) in [
            // 40 + 18 of corrections; 48 + 16, 48 + 32.
            (Rho::Bits40, (58, 64, 16)),
            (Rho::Bits64, (125, 80, 32)),
            (Rho::Bits80, (196, 80, 32)),
        ] {
            let params = JimuParams::derive(PoolChoice::Kept(1000), rho, JimuSwitches::DEFAULT);
            let params = params.expect("sound");
            assert_eq!((wire(&params), opening(&params), perm(&params)), sizes);
            let wires = Shape::MUXES.map(|shape| outer(&params, shape) / opening(&params));
            assert_eq!(wires, [65, 33, 17, 9]);
            assert_eq!(outer(&params, Shape::AND), 2 * opening(&params));
            // Three wires an AND, 129 a core of 64, which take three vectors.
            let made = |shape, items| strips(&params, shape, items);
            assert_eq!(made(Shape::AND, 64), 64 * (3 * wire(&params) + 144));
            assert_eq!(made(Shape::MUXES[0], 1), 3 * 64 * wire(&params) + 64 * 144);
            assert_eq!(plain_strips(&params, 60), 64 * wire(&params));
            // Numbers are those of all wires whose corrections are sent.
            let closed = closing(&params) / wire(&params);
            assert!(closed > 0 && closed.is_multiple_of(LANES));
            let numbered = |shape, items| numbers(&params, shape, items) - closed;
            assert_eq!([1, 64, 65].map(|items| numbered(Shape::AND, items)), [64, 192, 256]);
            assert_eq!(numbered(Shape::MUXES[0], 1), 3 * 64);
        }
    }

    /// A row of the table of figures in the header.
    fn row(pool: u64, rho: Rho) -> String {
        let params = JimuParams::derive(PoolChoice::Kept(pool), rho, JimuSwitches::DEFAULT);
        let params = params.expect("sound");
        let PoolSpec { bucket, .. } = params.ands;
        let rate = 100.0 * params.ands.check_rate();
        let lane = |s: Shape| core(&params, s).expect("a pool") / s.ands() as f64;
        let [wide, .., eight] = Shape::MUXES.map(lane);
        let filling = filling(&params, Shape::AND).expect("a pool") / 1e6;
        [
            format!("//! | {} | {pool}", rho.bits()),
            format!("{} | {} | {bucket}, {rate:.1} %", wire(&params), opening(&params)),
            format!("{:.0} | {eight:.0} | {wide:.0}", lane(Shape::AND)),
            format!("{:.0} | {:.0}", garbler_input(&params), evaluator_input(&params)),
            format!("{:.0} kB | {filling:.0} MB |", setup(&params) as f64 / 1e3),
        ]
        .join(" | ")
    }

    /// A row of the table of compact storage.
    fn compact_row(pool: u64, rho: Rho) -> String {
        let derive = |compact| {
            let switches = JimuSwitches { compact, ..JimuSwitches::DEFAULT };
            JimuParams::derive(PoolChoice::Kept(pool), rho, switches).expect("sound")
        };
        let (stored, compact) = (derive(false), derive(true));
        let spec = &compact.ands;
        let buckets = ((1.0 - spec.check_rate()) * spec.batch as f64) as usize / spec.bucket;
        let [before, after] =
            [&stored, &compact].map(|params| core(params, Shape::AND).expect("a pool"));
        let (slots, nodes) = (drawn_slots(spec, buckets), rest_nodes(spec, buckets));
        let more = after - before;
        format!(
            "//! | {} | {pool} | {slots:.0} | {nodes:.0} | {more:.0} | {after:.0} |",
            rho.bits()
        )
    }

    #[test]
    fn the_figures_of_compact_storage_are_those_of_the_formulas() {
        let header = include_str!("costs.rs");
        for pool in [100_000, 1 << 20, 1 << 24] {
            let row = compact_row(pool, Rho::Bits40);
            assert!(header.lines().any(|line| line == row), "{row}");
        }
    }

    #[test]
    fn nodes_are_counted_as_a_cover_has_them() {
        let mut pool =
            JimuParams::derive(PoolChoice::Kept(400), Rho::Bits40, JimuSwitches::DEFAULT)
                .expect("sound")
                .ands;
        for (capacity, bucket) in [(64, 1), (64, 3), (100, 1), (7, 2), (1, 1), (333, 5)] {
            (pool.capacity, pool.bucket) = (capacity, bucket);
            // No draw; and one, over all places: exact.
            assert_eq!(rest_nodes(&pool, 0).round() as usize, cover(capacity, &[]).count());
            if bucket == 1 {
                let nodes = (0..capacity as u32).map(|slot| cover(capacity, &[slot]).count() - 1);
                let average = nodes.sum::<usize>() as f64 / capacity as f64;
                assert!((rest_nodes(&pool, 1) - average).abs() < 1e-9, "{capacity}");
                assert!((drawn_slots(&pool, 1) - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_figures_of_the_header_are_those_of_the_formulas() {
        let header = include_str!("costs.rs");
        for (pool, rho) in [
            (10_000, Rho::Bits40),
            (100_000, Rho::Bits40),
            (1 << 20, Rho::Bits40),
            (1 << 24, Rho::Bits40),
            (1 << 20, Rho::Bits64),
            (1 << 20, Rho::Bits80),
        ] {
            let row = row(pool, rho);
            assert!(header.lines().any(|line| line == row), "{row}");
        }
    }
}

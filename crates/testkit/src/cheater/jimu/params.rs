//! Sessions that are over in a moment, and what has a fixed size in them.

use std::sync::OnceLock;

use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::backends::jimu::garbled_core::Shape;
use cenote_engine::{JimuParams, JimuSwitches, PoolChoice, Rho};

/// Pools of a few dozen items, half of which are checked, with buckets of three: no security, but
/// everything happens in a moment.
#[must_use]
pub fn tiny() -> JimuParams {
    static TINY: OnceLock<JimuParams> = OnceLock::new();
    TINY.get_or_init(|| {
        let switches = JimuSwitches { muxcore: false, compact: false };
        let derived = JimuParams::derive(PoolChoice::Kept(400), Rho::Bits40, switches);
        let mut params = derived.expect("a pool of 400 has sound buckets");
        let pool = &mut params.ands;
        (pool.capacity, pool.bucket, pool.batch) = (24, 3, 96);
        pool.check_below = 1 << 31;
        params
    })
    .clone()
}

/// The same in compact storage, with pools of which some slots are not drawn.
#[must_use]
pub fn tiny_compact() -> JimuParams {
    let mut params = tiny();
    params.switches.compact = true;
    params.ands.capacity = 80;
    params
}

/// ANDs of a core of the widest multiplexers.
pub const WIDTH: usize = WIDEST.ands();
/// Such a core.
pub(super) const WIDEST: Shape = Shape::MUXES[0];

/// The same with a pool of cores for multiplexers of [`WIDTH`] lanes; there are to be no others.
#[must_use]
pub fn tiny_muxes() -> JimuParams {
    let mut params = tiny();
    params.switches.muxcore = true;
    params.muxes = vec![(WIDEST, PoolSpec { capacity: 6, bucket: 2, batch: 20, ..params.ands })];
    params
}

/// The same with a code of labels so short that one place of 48 tells two of them apart. The evaluator
/// watches 32.
#[must_use]
pub fn weak() -> JimuParams {
    let mut params = tiny();
    params.codes.labels.n = params.codes.labels.k;
    params
}

/// Most outputs of a message.
pub(super) const PIECE: usize = 8192;

/// Wires to make for the evaluator's inputs when `missing` are needed, and how many of them are
/// sacrificed.
pub(super) fn input_batch(params: &JimuParams, missing: usize) -> (usize, usize) {
    let sacrificed = params.input_sacrificed();
    let total = (missing + sacrificed).clamp(2048, 1 << 16).next_multiple_of(128);
    (total, sacrificed)
}

/// Wires to make for escrow when `missing` are needed.
pub(super) fn escrow_batch(missing: usize) -> usize {
    missing.clamp(2048, 1 << 16).next_multiple_of(64)
}

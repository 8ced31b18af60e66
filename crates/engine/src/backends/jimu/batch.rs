//! The data that both parties derive alike about a batch of fresh items: its strips, and from the
//! joint coin which items are checked on which inputs and which are drawn into buckets.

use cenote_net::Fault;
use cenote_pool::{Draws, Level, Stock};
use cenote_prim::Block;

use super::params::PoolSpec;
use crate::backends::jimu::garbled_core::Shape;
use crate::backends::jimu::ihash::LANES;
use crate::parts::toss::Coins;
use crate::session::store_fault;

/// Names of what holds cores of one shape.
impl Shape {
    /// Name of the pool, for journals and in the occupancy.
    pub(super) fn pool_name(self) -> String {
        format!("pool.{}", self.name())
    }

    /// An empty stock of what buckets are combined into, in `stride` blocks.
    pub(super) fn stock(self, stride: usize) -> Stock {
        Stock::new(self.stock_name(), stride)
    }

    /// Its name.
    pub(super) fn stock_name(self) -> String {
        format!("stock.{}", self.name())
    }
}

/// The name of the stock of wires in escrow.
pub(super) const ESCROW: &str = "stock.escrow";
/// The name of the stock of wires for the evaluator's inputs.
pub(super) const INPUTS: &str = "stock.input";

/// Empty stocks of single wires, in so many blocks each: those in escrow, those for the evaluator's inputs.
pub(super) fn stocks_of_wires(escrowed: usize, inputs: usize) -> [Stock; 2] {
    [Stock::new(ESCROW, escrowed), Stock::new(INPUTS, inputs)]
}

/// The level of a pool that lies on disk, full.
pub(super) fn waiting(shape: Shape, spec: &PoolSpec) -> Level {
    let capacity = spec.capacity as u64;
    Level { level: capacity, made: capacity, ..Level::unfilled(shape.pool_name(), spec.capacity) }
}

/// Wires of a strip, about: what one message brings, small enough for the caches.
const STRIP_WIRES: usize = 3072;
/// Openings of a message, about.
const PIECE: usize = 8192;

/// Wires that are worked on at a time, about: what goes with them stays near the core. A message is
/// many times that.
const NEAR_WIRES: usize = 1024;

/// How many items of `wires` wires each to work on at a time.
pub(super) fn near(wires: usize) -> usize {
    (NEAR_WIRES / wires).max(1)
}

/// Fewest and most wires of a batch for escrow.
const FEWEST_ESCROWED: usize = 1 << 11;
pub(super) const MOST_ESCROWED: usize = 1 << 16;

/// Wires in escrow of the next batch when `missing` are needed.
pub(super) fn escrow(missing: usize) -> usize {
    lanes(missing.clamp(FEWEST_ESCROWED, MOST_ESCROWED))
}

/// Vectors that hold `wires`.
pub(super) fn lanes(wires: usize) -> usize {
    wires.next_multiple_of(LANES)
}

/// `total` in pieces whose items of `wires` wires fill about a strip.
pub(super) fn strips(total: usize, wires: usize) -> impl Iterator<Item = usize> {
    pieces(total, (STRIP_WIRES / wires).max(1))
}

/// `total` items of `openings` openings each in pieces that fit a message.
pub(super) fn messages(total: usize, openings: usize) -> impl Iterator<Item = usize> {
    pieces(total, (PIECE / openings.max(1)).max(1))
}

/// `total` in pieces of at most `most`.
pub(super) fn pieces(total: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..total).step_by(most).map(move |first| most.min(total - first))
}

/// Which items of a batch are checked and which survive, by their index in the batch.
pub(super) struct Selection {
    pub(super) checked: Vec<usize>,
    /// [`Shape::inputs`] bits for each checked item.
    pub(super) inputs: Vec<bool>,
    pub(super) survivors: Vec<usize>,
    /// The words that follow, for the draws.
    pub(super) coins: Coins,
}

impl Selection {
    /// `coin` was tossed after all of the batch was sent.
    pub(super) fn new(coin: Block, spec: &PoolSpec, shape: Shape, items: usize) -> Selection {
        let mut coins = Coins::new(coin);
        let (mut checked, mut inputs, mut survivors) = (vec![], vec![], vec![]);
        for item in 0..items {
            if (coins.word() as u32) < spec.check_below {
                checked.push(item);
                inputs.extend(bits(&mut coins, shape.inputs()));
            } else {
                survivors.push(item);
            }
        }
        Selection { checked, inputs, survivors, coins }
    }
}

fn bits(coins: &mut Coins, count: usize) -> impl Iterator<Item = bool> {
    let words: Vec<u64> = (0..count.div_ceil(64)).map(|_| coins.word()).collect();
    (0..count).map(move |bit| words[bit / 64] >> (bit % 64) & 1 == 1)
}

/// Draws as many buckets as can be refilled from `fresh` items.
pub(super) fn draws(spec: &PoolSpec, coins: &mut Coins, fresh: usize) -> Result<Draws, Fault> {
    let mut draws = Draws::new(spec.bucket, spec.capacity).map_err(store_fault)?;
    draws.draw(fresh / spec.bucket, || coins.word());
    Ok(draws)
}

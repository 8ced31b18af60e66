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

/// The kind of items that a pool holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// Garbled cores of one shape.
    Core(Shape),
    /// Escrow gadgets, whose ciphertext has this many blocks.
    Escrow(usize),
}

impl Kind {
    /// Hashed wires of an item.
    pub(super) fn wires(self) -> usize {
        match self {
            Kind::Core(shape) => shape.wires(),
            Kind::Escrow(_) => 1,
        }
    }

    /// Blocks of an item's tables.
    pub(super) fn table_blocks(self) -> usize {
        match self {
            Kind::Core(shape) => shape.table_blocks(),
            Kind::Escrow(blocks) => blocks,
        }
    }

    /// Bits of the input on which an item is checked.
    pub(super) fn inputs(self) -> usize {
        match self {
            Kind::Core(shape) => shape.inputs(),
            Kind::Escrow(_) => 0,
        }
    }

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

    fn name(self) -> &'static str {
        match self {
            Kind::Core(shape) => shape.name(),
            Kind::Escrow(_) => "escrow",
        }
    }
}

/// The name of the stock of wires for the evaluator's inputs.
pub(super) const INPUTS: &str = "stock.input";

/// An empty stock of wires for the evaluator's inputs, in `stride` blocks.
pub(super) fn input_stock(stride: usize) -> Stock {
    Stock::new(INPUTS, stride)
}

/// Which of a supply's pools.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Of cores.
    Core(usize),
    Escrow,
}

impl Place {
    /// Pool number `at` of all, where so many are of cores.
    pub(super) fn at(at: usize, cores: usize) -> Place {
        if at < cores { Place::Core(at) } else { Place::Escrow }
    }

    /// Its number among all pools, where so many are of cores.
    pub(super) fn of(self, cores: usize) -> usize {
        match self {
            Place::Core(at) => at,
            Place::Escrow => cores,
        }
    }
}

/// The level of a pool that lies on disk, full.
pub(super) fn waiting(kind: Kind, spec: &PoolSpec) -> Level {
    let capacity = spec.capacity as u64;
    Level { level: capacity, made: capacity, ..Level::unfilled(kind.pool_name(), spec.capacity) }
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
    /// [`Kind::inputs`] bits for each checked item.
    pub(super) inputs: Vec<bool>,
    pub(super) survivors: Vec<usize>,
    /// The words that follow, for the draws.
    pub(super) coins: Coins,
}

impl Selection {
    /// `coin` was tossed after all of the batch was sent.
    pub(super) fn new(coin: Block, spec: &PoolSpec, kind: Kind, items: usize) -> Selection {
        let mut coins = Coins::new(coin);
        let (mut checked, mut inputs, mut survivors) = (vec![], vec![], vec![]);
        for item in 0..items {
            if (coins.word() as u32) < spec.check_below {
                checked.push(item);
                inputs.extend(bits(&mut coins, kind.inputs()));
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

//! The items that a cheater makes: their kinds, and what became of them.

use cenote_engine::JimuParams;
use cenote_engine::backends::jimu::PoolSpec;
use cenote_engine::backends::jimu::garbled_core::Shape;

use super::cheat::Which;
use super::params::WIDEST;

/// The kind of items that a pool holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// ANDs.
    And,
    /// Cores of the widest multiplexers.
    Wide,
}

impl Kind {
    /// Returns the shape of what is garbled.
    pub(super) const fn shape(self) -> Shape {
        match self {
            Kind::And => Shape::AND,
            Kind::Wide => WIDEST,
        }
    }

    /// Its pool.
    pub(super) fn spec(self, params: &JimuParams) -> PoolSpec {
        match self {
            Kind::And => params.ands,
            Kind::Wide => params.muxes[0].1,
        }
    }
}

/// The fate of the items of one kind, by the number of their first wire.
#[derive(Clone, Default, Debug)]
pub struct Items {
    /// Those that were made, in order.
    pub made: Vec<u64>,
    /// Those that were checked.
    pub checked: Vec<u64>,
    /// Members of the buckets, in the order in which these are used.
    pub buckets: Vec<Vec<u64>>,
    /// Buckets used so far.
    pub used: usize,
}

impl Items {
    /// Members of the buckets that were used.
    pub fn used(&self) -> impl Iterator<Item = &[u64]> {
        self.buckets[..self.used].iter().map(Vec::as_slice)
    }

    /// One item of this kind.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn find(&self, which: Which) -> u64 {
        match which {
            Which::First => self.made[0],
            Which::Checked => self.checked[self.checked.len() / 2],
            Which::Used(member) => self.buckets[self.used / 2][member],
        }
    }
}

/// The record of what a garbling cheater saw of the coins, and the labels that it knows.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// ANDs.
    pub gates: Items,
    /// Cores of multiplexers.
    pub cores: Items,
    /// Wires in escrow that were used.
    pub escrowed: usize,
    /// Both labels of the output of the base of each used bucket.
    pub outputs: Vec<[[u8; 48]; 2]>,
    /// For each report of the evaluator, whether its hash is that of the labels it implies.
    pub reports: Vec<bool>,
}

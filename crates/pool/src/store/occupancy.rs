//! How full pools and stocks are.

use serde::{Deserialize, Serialize};

/// All pools and stocks of one side of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Pools, then stocks.
    pub stores: Vec<Level>,
    /// The error bound that the pools keep together for their whole life, as a base-2 logarithm.
    pub epsilon_log2: f64,
}

impl Occupancy {
    /// Whether anything has left.
    pub fn has_consumed(&self) -> bool {
        self.stores.iter().any(|store| store.consumed > 0)
    }

    /// The counters of the pool or stock with this name.
    pub fn of(&self, name: &str) -> Option<&Level> {
        self.stores.iter().find(|level| level.name == name)
    }
}

/// How full a pool or stock is and what went through it: `level = made - consumed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The name, as its journal knows it.
    pub name: String,
    /// Items there.
    pub level: u64,
    /// Items of a pool that is full; a stock grows as needed.
    pub capacity: Option<u64>,
    /// Items that have entered.
    pub made: u64,
    /// Items that have left, used or burned.
    pub consumed: u64,
}

impl Level {
    /// Of a pool of `capacity` that has not been filled.
    pub fn unfilled(name: impl Into<String>, capacity: usize) -> Self {
        Self { name: name.into(), level: 0, capacity: Some(capacity as u64), made: 0, consumed: 0 }
    }
}

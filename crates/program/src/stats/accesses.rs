//! What accesses to tables take.

use serde::{Deserialize, Serialize};

/// Accesses to tables of one shape that are kept alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// Rows of each table.
    pub rows: u32,
    /// Bits of a row.
    pub bits: u32,
    /// Trees of the memory that it lives in (Circuit ORAM), else 0.
    pub trees: u32,
    /// Levels of the memory that it lives in (square-root ORAM), else 0; where both are 0, every access looks at all rows.
    pub levels: u32,
    /// Rows that are read, those that are taken out of a memory at the end among them.
    pub reads: u64,
    /// Rows that are written, perhaps.
    pub writes: u64,
    /// Rows that are read and written in one access.
    pub updates: u64,
    /// ANDs of all of these, and of shuffles; they are in [`Stats::ands`](super::Stats::ands) as well.
    pub ands: u64,
    /// Those of them that a job does not take on average, where memories go from job to job: shuffles come now and then.
    pub spare_ands: u64,
    /// ANDs of the beginning, which are in [`Stats::ands`](super::Stats::ands) too.
    pub start_ands: u64,
    /// Leaves, places and shuffles that are opened; they are in [`Stats::reveals`](super::Stats::reveals) as well.
    pub opens: u64,
}

impl Accesses {
    pub(super) fn key(&self) -> [u32; 4] {
        [self.rows, self.bits, self.trees, self.levels]
    }
}

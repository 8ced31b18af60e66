//! What a core costs to make, to check and to keep. Nothing here serves a request.

use cenote_net::Fault;

use super::{JimuSession, PoolSpec, Side};

/// The same pool with every fresh item checked, but for one in 2^32.
pub(super) fn all_checked(spec: PoolSpec) -> PoolSpec {
    PoolSpec { check_below: u32::MAX, ..spec }
}

impl JimuSession {
    /// Makes a batch of `items` cores of `width`, checks every one of them and throws all away.
    /// Garbling and hashing are booked to preprocessing, opening and checking to the online phase,
    /// so that the times by phase give the speed of either: of the slower party, as each waits for the
    /// other.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool, or when its batches are smaller than `items`; faults of
    /// the channel and of the checks.
    pub fn rehearse(&mut self, width: usize, items: usize) -> Result<(), Fault> {
        let at = self.pool_of(width)?;
        let batch = match at.checked_sub(1) {
            None => self.core.side.params().ands.batch,
            Some(mux) => self.core.side.params().muxes[mux].1.batch,
        };
        if items > batch {
            return Err(Fault::Misuse(format!("a batch of this pool has at most {batch} items")));
        }
        self.core.between_requests(|side, channel| match side {
            Side::Garbler(side) => side.supply.rehearse(channel, at, items),
            Side::Evaluator(side) => side.supply.rehearse(channel, at, items),
        })
    }

    /// Bytes that this side keeps for the items of the pool of cores of `width`; none before it is
    /// filled.
    ///
    /// # Errors
    /// `Misuse` when there is no such pool.
    pub fn stored_bytes(&self, width: usize) -> Result<usize, Fault> {
        let at = self.pool_of(width)?;
        Ok(match &self.core.side {
            Side::Garbler(side) => side.supply.stored_bytes(at),
            Side::Evaluator(side) => side.supply.stored_bytes(at),
        })
    }
}

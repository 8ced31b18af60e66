//! The cost of making, checking and keeping a core. Nothing here serves a request.

use cenote_net::Fault;

use super::depot::Supply;
use super::{JimuSession, PoolSpec, Side};
use crate::backends::MeasuredCores;

/// The same pool with every fresh item checked, but for one in 2^32.
pub(super) fn all_checked(spec: PoolSpec) -> PoolSpec {
    PoolSpec { check_below: u32::MAX, ..spec }
}

impl MeasuredCores for JimuSession {
    fn fill_pool(&mut self, width: usize) -> Result<(), Fault> {
        let pool = self.pool_of(width)?;
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.supply()?.fill(channels.control(), pool),
            Side::Evaluator(side) => side.depot.supply()?.fill(channels.control(), pool),
        })
    }

    fn rehearse(&mut self, width: usize, items: usize) -> Result<(), Fault> {
        let at = self.pool_of(width)?;
        let batch = self.core.side.params().cores().nth(at).map_or(0, |(_, spec)| spec.batch);
        if items > batch {
            return Err(Fault::Misuse(format!("a batch of this pool has at most {batch} items")));
        }
        self.core.between_requests(|side, channels| match side {
            Side::Garbler(side) => side.depot.supply()?.rehearse(channels.control(), at, items),
            Side::Evaluator(side) => side.depot.supply()?.rehearse(channels.control(), at, items),
        })
    }

    fn stored_bytes(&mut self, width: usize) -> Result<usize, Fault> {
        let at = self.pool_of(width)?;
        Ok(match &mut self.core.side {
            Side::Garbler(side) => side.depot.supply()?.stored_bytes(at),
            Side::Evaluator(side) => side.depot.supply()?.stored_bytes(at),
        })
    }
}

//! The cost of cores to the garbler, for measurements.

use cenote_net::{Channel, Fault, Phase};

use super::{Keep, Supply};
use crate::backends::jimu::batch::Selection;
use crate::backends::jimu::measure::all_checked;

impl Supply {
    /// Makes `items` cores as for pool number `at`, opens every one and keeps none.
    pub(in crate::backends::jimu) fn rehearse(
        &mut self,
        channel: &mut Channel,
        at: usize,
        items: usize,
    ) -> Result<(), Fault> {
        let (spec, shape) = (all_checked(self.pools[at].spec), self.pools[at].shape);
        channel.set_phase(Phase::Preprocess);
        let numbers = self.send_items(channel, shape, items)?;
        let coin = self.close(channel)?;
        channel.set_phase(Phase::Online);
        let selection = Selection::new(coin, &spec, shape, items);
        self.open_checked(channel, shape, &selection, &numbers)
    }

    /// Bytes kept for the items of pool number `at` of cores.
    pub(in crate::backends::jimu) fn stored_bytes(&self, at: usize) -> usize {
        self.pools[at].pool.as_ref().map_or(0, Keep::bytes)
    }
}

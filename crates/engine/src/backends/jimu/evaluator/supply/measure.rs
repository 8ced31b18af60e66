//! The cost of cores to the evaluator, for measurements.

use cenote_net::{Channel, Fault, Phase};

use super::Supply;
use crate::backends::jimu::batch::Selection;
use crate::backends::jimu::measure::all_checked;

impl Supply {
    /// Takes `items` cores as for pool number `at`, checks every one and keeps none.
    pub(in crate::backends::jimu) fn rehearse(
        &mut self,
        channel: &mut Channel,
        at: usize,
        items: usize,
    ) -> Result<(), Fault> {
        let (shape, spec) = (self.pools[at].shape, all_checked(self.pools[at].store.spec));
        channel.set_phase(Phase::Preprocess);
        self.pools[at].store.begin(items);
        let rows = self.receive_items(channel, at, items)?;
        let coin = self.close(channel)?;
        channel.set_phase(Phase::Online);
        let selection = Selection::new(coin, &spec, shape, items);
        self.check_opened(channel, at, &selection, &rows)?;
        let store = &mut self.pools[at].store;
        store.release(&rows);
        store.end();
        Ok(())
    }

    /// Bytes kept for the items of pool number `at` of cores.
    pub(in crate::backends::jimu) fn stored_bytes(&self, at: usize) -> usize {
        self.pools[at].store.bytes()
    }
}

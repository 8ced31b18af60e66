use cenote_net::{Channel, Fault};
use cenote_prim::Block;

use crate::{CotReceiver, CotSender};

/// The side of correlated OT that has Delta, whatever protocol makes it.
pub trait CorrelatedSender {
    /// Delta; its bit 0 is 1.
    fn delta(&self) -> Block;

    /// Fills `keys` together with the peer's [`CorrelatedReceiver::extend`]: K = M xor x Delta, bit
    /// 0 of K is 0.
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Misbehaved`; `Exhausted`; faults of
    /// the channel. After a fault no key may be used.
    fn extend(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault>;

    /// A start point for a hash that breaks the correlation: fixed after Delta, equal on both sides
    /// when both ask in the same order, and never returned before.
    fn hash_start(&mut self) -> Block;
}

/// The side of correlated OT that has the random choice bits.
pub trait CorrelatedReceiver {
    /// Fills `macs`, whose bits 0 are the choice bits x, together with the peer's
    /// [`CorrelatedSender::extend`].
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Exhausted`; faults of the channel.
    fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault>;

    /// As [`CorrelatedSender::hash_start`].
    fn hash_start(&mut self) -> Block;
}

impl CorrelatedSender for CotSender {
    fn delta(&self) -> Block {
        CotSender::delta(self)
    }

    fn extend(&mut self, ch: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        CotSender::extend(self, ch, keys)
    }

    fn hash_start(&mut self) -> Block {
        CotSender::hash_start(self)
    }
}

impl CorrelatedReceiver for CotReceiver {
    fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        CotReceiver::extend(self, ch, macs)
    }

    fn hash_start(&mut self) -> Block {
        CotReceiver::hash_start(self)
    }
}

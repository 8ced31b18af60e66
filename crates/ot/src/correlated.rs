//! Correlated OT as its users see it, whatever protocol makes it.

use cenote_net::{Channel, Fault};
use cenote_prim::Block;

/// The side of correlated OT that has Delta, whatever protocol makes it.
pub trait CotSend: Send {
    /// Delta; its bit 0 is 1.
    fn delta(&self) -> Block;

    /// Fills `keys` together with the peer's [`CotReceive::extend`]: K = M xor x Delta, bit
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
pub trait CotReceive: Send {
    /// Fills `macs`, whose bits 0 are the choice bits x, together with the peer's
    /// [`CotSend::extend`].
    ///
    /// # Errors
    /// `Misuse` when the length is 0 or no multiple of 128; `Exhausted`; faults of the channel.
    fn extend(&mut self, ch: &mut Channel, macs: &mut [Block]) -> Result<(), Fault>;

    /// As [`CotSend::hash_start`].
    fn hash_start(&mut self) -> Block;
}

/// COTs that one set-up may produce.
pub const MAX_COTS: u64 = 1 << 40;

/// The traffic of one end of a correlated OT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Payload bytes.
    pub bytes: u64,
    /// Messages that they are in.
    pub messages: u64,
}

/// The traffic of both ends of a correlated OT; sums stop at the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// By the side with Delta.
    pub sender: Sent,
    /// By the side with the choice bits.
    pub receiver: Sent,
}

impl Traffic {
    /// Payload bytes of both ends.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.sender.bytes.saturating_add(self.receiver.bytes)
    }
}

//! What waits for a message of the peer, by the turn in which it is due (`supply.rs`, "Turns").

use std::collections::VecDeque;

/// Turns between a message and its receipt, at this side and at the peer.
#[derive(Clone, Copy)]
pub(super) struct Lag {
    pub(super) own: u64,
    pub(super) peer: u64,
}

impl Lag {
    /// Turns until the peer's answer to what is sent now.
    pub(super) const fn both(self) -> u64 {
        self.own + self.peer
    }
}

/// Things in the order of the turns in which they are due.
pub(super) struct Lagged<T>(VecDeque<(u64, T)>);

impl<T> Default for Lagged<T> {
    fn default() -> Self {
        Lagged(VecDeque::new())
    }
}

impl<T> Lagged<T> {
    pub(super) fn put(&mut self, due: u64, thing: T) {
        self.0.push_back((due, thing));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn due(&mut self, turn: u64) -> Option<T> {
        let is_due = self.0.front().is_some_and(|(due, _)| *due <= turn);
        is_due.then(|| self.0.pop_front()).flatten().map(|(_, thing)| thing)
    }
}

//! Refills beside requests: a thread of each side, on a channel of their own.
//!
//! **Roles.** The garbler leads: it knows from its own depot what is needed, says so in an order, and both carry
//! it out (`supply.rs`). The evaluator follows; it computes the same requests, so what one side lacks the other
//! lacks as well.
//! **Domain.** The supply's session id is that of its channel, which hashes the session's and the channel's
//! number (`cenote_net::Channels`): it enters oblivious transfer, coins, the start points of the hash of leaky
//! ANDs and the coefficients of openings. Nothing of it is made or opened on the channel of requests, except
//! that Delta and the masks of triples are common to both, as in the papers.
//! **Adversary.** Malicious. A leader that orders nothing is a peer that is silent, for which limits of time
//! stand; one that orders without end is refused, since memory is the follower's.
//! **Leakage.** An order tells how fast the leader's requests go on, and the number of input bits, which both
//! know. Whether a batch passes depends on nothing of a request.
//! **Checks.** `supply.order`: an order is well-formed \[decoding\]. `supply.room`: it makes no more than an
//! honest leader could lack \[making it\]. Those of the supply.
//! **Private values.** None in an order.
//! **Costs.** 5 bytes and a frame header an order, from the garbler; the hellos of the channel.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_prim::wipe_stack;

use super::depot::Shelves;
use super::opening::Openings;
use super::supply::{MAX_STOCK, MAX_TAKE, SPARE_SHARES, Supply};
use super::tags;
use crate::parts::chunk::CHUNK_ANDS;

/// Ready triples beyond which no honest leader orders more: it has [`MAX_STOCK`] at most, and its requests are
/// ahead of the follower's by the chunks in flight.
const MOST_TRIPLES: usize = MAX_STOCK + 4 * CHUNK_ANDS;
/// The same for shares: one piece of inputs at a time waits for them.
const MOST_SHARES: usize = 2 * (MAX_TAKE + SPARE_SHARES);

/// Bytes of an order.
pub(super) const ORDER_LEN: usize = 5;

/// What is made next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The pool is filled, unless it is full.
    Pool,
    /// A refill of triples.
    Triples,
    /// So many shares, or some more.
    Shares(usize),
}

impl Order {
    fn encode(self) -> [u8; ORDER_LEN] {
        let (kind, count) = match self {
            Order::Pool => (0, 0),
            Order::Triples => (1, 0),
            Order::Shares(count) => (2, count as u32),
        };
        let mut bytes = [kind; ORDER_LEN];
        bytes[1..].copy_from_slice(&count.to_le_bytes());
        bytes
    }

    fn decode([kind, count @ ..]: [u8; ORDER_LEN]) -> Result<Order, Fault> {
        match (kind, u32::from_le_bytes(count) as usize) {
            (0, 0) => Ok(Order::Pool),
            (1, 0) => Ok(Order::Triples),
            (2, count) if (1..=MAX_TAKE + SPARE_SHARES).contains(&count) => {
                Ok(Order::Shares(count))
            }
            _ => Err(Fault::Misbehaved("supply.order")),
        }
    }
}

/// The supply with its channel, to be run by a thread.
pub(super) struct Refiller {
    pub(super) supply: Supply,
    pub(super) channel: Channel,
    pub(super) openings: Openings,
    pub(super) shelves: Arc<Shelves>,
    pub(super) role: Role,
}

impl Refiller {
    /// Starts the thread.
    pub(super) fn start(self) -> Result<JoinHandle<()>, Fault> {
        self.shelves.made(self.channel.counters());
        // Boxed, so that moving into the thread leaves no copy of its keys behind.
        let mut refiller = Box::new(self);
        let thread = Builder::new().name("cenote supply".into()).spawn(move || {
            let _end = End(Arc::clone(&refiller.shelves));
            refiller.run();
            drop(refiller);
            wipe_stack();
        });
        thread.map_err(|error| Fault::Internal(format!("no thread for the supply: {error}")))
    }

    /// Works until the session ends or something fails, and says why.
    fn run(&mut self) {
        let result = match self.role {
            Role::Garbler => self.lead(),
            Role::Evaluator => self.follow(),
        };
        self.shelves.made(self.channel.counters());
        match result {
            Ok(()) => self.channel.close(),
            Err(fault) => {
                self.shelves.end(fault);
                self.channel.abort();
            }
        }
    }

    fn lead(&mut self) -> Result<(), Fault> {
        while let Some(order) = self.shelves.next_order() {
            self.channel.set_phase(Phase::Preprocess);
            self.channel.send(tags::ORDER, &order.encode())?;
            self.carry_out(order)?;
        }
        Ok(())
    }

    fn follow(&mut self) -> Result<(), Fault> {
        let limit = self.channel.work_limit();
        loop {
            // Nothing to do is no fault: who waits for items has a limit of its own.
            self.channel.set_work_limit(Duration::MAX);
            let mut order = [0; ORDER_LEN];
            match self.channel.recv_into(tags::ORDER, &mut order) {
                Err(_) if self.shelves.is_ending() => return Ok(()),
                received => received?,
            }
            self.channel.set_work_limit(limit);
            let order = Order::decode(order)?;
            self.room_for(order)?;
            self.channel.set_phase(Phase::Preprocess);
            self.carry_out(order)?;
        }
    }

    fn room_for(&self, order: Order) -> Result<(), Fault> {
        let store = self.shelves.lock();
        let fits = match order {
            Order::Pool => true,
            Order::Triples => store.triples.level() <= MOST_TRIPLES,
            Order::Shares(count) => store.shares.level() + count <= MOST_SHARES,
        };
        if fits { Ok(()) } else { Err(Fault::Misbehaved("supply.room")) }
    }

    fn carry_out(&mut self, order: Order) -> Result<(), Fault> {
        let Refiller { supply, channel, openings, shelves, .. } = self;
        match order {
            Order::Pool => supply.fill(channel, shelves)?,
            Order::Triples => supply.refill(channel, openings, shelves, Phase::Preprocess)?,
            Order::Shares(count) => supply.spare_shares(channel, shelves, count)?,
        }
        // The peer waits for what this side sent last.
        channel.flush()?;
        shelves.made(channel.counters());
        Ok(())
    }
}

/// Says that the supply has ended, even if its thread panics: requests would wait for ever.
struct End(Arc<Shelves>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end(Fault::Transport("the supply has ended".into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_one_form_each() {
        for order in [Order::Pool, Order::Triples, Order::Shares(1), Order::Shares(69_632)] {
            assert_eq!(Order::decode(order.encode()), Ok(order));
        }
        let refused =
            [[0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [2, 0, 0, 0, 0], [3, 0, 0, 0, 0], [2, 1, 16, 1, 0]];
        for bytes in refused {
            assert_eq!(Order::decode(bytes), Err(Fault::Misbehaved("supply.order")), "{bytes:?}");
        }
    }
}

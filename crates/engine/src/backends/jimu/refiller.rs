//! Refills beside requests: a thread of each side, on a channel of their own.
//!
//! **Roles.** The garbler leads: it knows from its own depot what is needed, and says what is made next. The evaluator follows. It computes
//! the same requests, so what one side lacks the other lacks as well.
//! **Domain.** Coins and the sums over input wires are of the channel's identity, which hashes the session's, the channel's number and both
//! hellos (`cenote_net::Channels`): who changes a hello has no coin in common with the peer. Wires are numbered on from where they were on
//! the channel of requests, under the same hash and Delta, and nothing is made there from then on.
//! **Adversary.** Malicious. A leader that orders nothing is a peer that is silent, for which limits of time stand; one that orders
//! without end waits: memory is the follower's, which makes no more than it lacks itself and a leader can be ahead by. An honest leader
//! waits likewise for a follower whose requests are far behind: whatever these take next was ordered before.
//! **Leakage.** An order tells how fast the leader's requests go on, and numbers of input and output bits, which both know. An evaluator that goes on
//! in the clear takes what an honest run does.
//! **Checks.** `jimu.order`: an order is well-formed \[carrying it out\]. Those of the supply.
//! **Private values.** None in an order.
//! **Costs.** 5 bytes and a frame header a batch, from the garbler; the hellos of the channel.

use std::sync::Arc;
use std::time::Duration;

use cenote_net::{Channel, Fault, Phase, Role};
use cenote_prim::Block;

use super::depot::{Items, Shelves, Supply, save};
use super::tags;
use crate::parts::shelves::Beside;

/// Most single wires, in escrow or for inputs, that an order asks for: a batch has no more.
pub(super) const MOST_WIRES: usize = 1 << 16;
/// Bytes of items of a stock that a follower has made beyond what it lacks itself, for a leader that is ahead.
pub(super) const SLACK: usize = 16 << 20;
/// In place of the number of a stock: all that is ready is saved.
pub(super) const SAVE: u8 = u8::MAX;

pub(super) const ORDER_LEN: usize = 5;
const ORDER: Fault = Fault::Misbehaved("jimu.order");

/// What is done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// A batch for the stock with this number, of so many wires if it is one of single wires.
    Make(usize, usize),
    /// All that is ready is saved; for the last time or not.
    Save(bool),
}

impl Order {
    pub(super) fn encode(self) -> [u8; ORDER_LEN] {
        let (kind, count) = match self {
            Order::Make(at, count) => (at as u8, count as u32),
            Order::Save(last) => (SAVE, last.into()),
        };
        let mut bytes = [kind; ORDER_LEN];
        bytes[1..].copy_from_slice(&count.to_le_bytes());
        bytes
    }

    /// Of a session whose stocks of single wires are number `escrow` and the next one.
    pub(super) fn decode(
        [kind, count @ ..]: [u8; ORDER_LEN],
        escrow: usize,
    ) -> Result<Order, Fault> {
        let (at, count) = (usize::from(kind), u32::from_le_bytes(count) as usize);
        let order = match kind {
            SAVE => Order::Save(count == 1),
            _ => Order::Make(at, count),
        };
        let fits = match kind {
            SAVE => count <= 1,
            _ if at < escrow => count == 0,
            _ => at <= escrow + 1 && (1..=MOST_WIRES).contains(&count),
        };
        if fits { Ok(order) } else { Err(ORDER) }
    }
}

/// A supply with its channel, to be run by a thread.
pub(super) struct Refiller<S> {
    pub(super) supply: Box<S>,
    pub(super) channel: Channel,
    pub(super) shelves: Arc<Shelves>,
    pub(super) role: Role,
}

impl<S: Supply> Beside for Refiller<S> {
    fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    fn work(&mut self) -> Result<(), Fault> {
        match self.role {
            Role::Garbler => self.lead(),
            Role::Evaluator => self.follow(),
        }
    }
}

impl<S: Supply> Refiller<S> {
    fn lead(&mut self) -> Result<(), Fault> {
        while let Some(order) = self.next() {
            self.channel.send(tags::JIMU_ORDER, &order.encode())?;
            self.obey(order)?;
            if order == Order::Save(true) {
                break;
            }
        }
        Ok(())
    }

    /// What is done next; none at the end. Waits until there is something.
    fn next(&self) -> Option<Order> {
        let mut store = self.shelves.lock();
        loop {
            if store.end {
                return None;
            }
            let (save, items) = (store.save, &mut store.items);
            // Nobody who saves waits for items.
            let missing = items.is_waited_for();
            let missing = if save.is_some() { missing } else { missing.or_else(|| items.is_low()) };
            if let Some((at, count)) = missing {
                let count = if at < items.escrow() { 0 } else { count.min(MOST_WIRES) };
                return Some(Order::Make(at, count));
            }
            if let Some(last) = save {
                return Some(Order::Save(last));
            }
            store = self.shelves.wait_for_change(store);
        }
    }

    fn follow(&mut self) -> Result<(), Fault> {
        let limit = self.channel.work_limit();
        loop {
            // Nothing to do is no fault: who waits for items has a limit of its own.
            self.channel.set_work_limit(Duration::MAX);
            let mut order = [0; ORDER_LEN];
            match self.channel.recv_into(tags::JIMU_ORDER, &mut order) {
                Err(_) if self.shelves.is_ending() => return Ok(()),
                received => received?,
            }
            self.channel.set_work_limit(limit);
            let escrow = self.shelves.lock().items.escrow();
            let order = Order::decode(order, escrow)?;
            match order {
                Order::Make(at, _) if !self.waits_for_room(at) => return Ok(()),
                Order::Make(..) => {}
                Order::Save(last) => match self.shelves.wants_to_save() {
                    None => return Ok(()),
                    Some(own) if own != last => {
                        let what = "one side saves for the last time and the other does not";
                        return Err(Fault::Policy(what.into()));
                    }
                    Some(_) => {}
                },
            }
            self.obey(order)?;
            if order == Order::Save(true) {
                return Ok(());
            }
        }
    }

    /// Waits until there is room for what stock number `at` holds; whether there is, and not the end.
    fn waits_for_room(&self, at: usize) -> bool {
        let mut store = self.shelves.lock();
        while !store.end && !has_room(&store.items, at) {
            store = self.shelves.wait_for_change(store);
        }
        !store.end
    }

    fn obey(&mut self, order: Order) -> Result<(), Fault> {
        let Refiller { supply, channel, shelves, .. } = self;
        match order {
            Order::Make(at, count) => {
                supply.make(channel, at, count, Phase::Preprocess)?;
                shelves.pools_are(supply.levels());
            }
            Order::Save(last) => save(&**supply, shelves, channel, last)?,
        }
        // The peer waits for what this side sent last.
        channel.flush()?;
        shelves.made(channel.counters());
        Ok(())
    }
}

/// Whether a batch may be made of what stock number `at` holds: this side lacks some, now or from time to time, and has no more than that and what
/// a leader may be ahead by. Of what no request has asked for yet, nothing is made.
fn has_room(items: &Items, at: usize) -> bool {
    let slack = SLACK / (size_of::<Block>() * items.stocks[at].stride());
    let most = items.most(at);
    most > 0 && items.level(at) < most + slack
}

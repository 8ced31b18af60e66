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

use cenote_net::{Canceller, Channel, Fault, Phase, Role};
use cenote_prim::wipe_stack;

use super::depot::{Shelves, panicked};
use super::opening::Openings;
use super::supply::{MAX_STOCK, MAX_TAKE, SPARE_SHARES, Supply};
use super::tags;
use crate::parts::chunk::CHUNK_ANDS;

/// Ready triples beyond which no honest leader orders more: it orders below [`MAX_STOCK`] alone, and its requests are
/// ahead of the follower's by the chunks in flight.
const MOST_TRIPLES: usize = MAX_STOCK + 4 * CHUNK_ANDS;
/// The same for shares: one piece of inputs at a time waits for them.
const MOST_SHARES: usize = 2 * (MAX_TAKE + SPARE_SHARES);

/// Bytes of an order.
const ORDER_LEN: usize = 5;

/// An order of the leader: the thing that both make next.
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

impl Order {
    /// Whether a leader that keeps to the protocol can give it to a follower with so many ready items.
    fn fits(self, triples: usize, shares: usize) -> bool {
        match self {
            Order::Pool => true,
            Order::Triples => triples <= MOST_TRIPLES,
            Order::Shares(count) => shares + count <= MOST_SHARES,
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
    /// Ends the channel of requests, when a check fails here.
    pub(super) cancel: Canceller,
}

impl Refiller {
    /// Starts the thread.
    pub(super) fn start(mut self: Box<Refiller>) -> Result<JoinHandle<()>, Fault> {
        let thread = Builder::new().name("cenote supply".into()).spawn(move || {
            let _end = End(Arc::clone(&self.shelves), self.cancel.clone());
            self.run();
            drop(self);
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
                if self.shelves.lock().failure().is_some() {
                    // First, as an abort may take a moment: requests send nothing more.
                    self.cancel.cancel();
                }
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
        if order.fits(store.triples.level(), store.shares.level()) {
            return Ok(());
        }
        Err(Fault::Misbehaved("supply.room"))
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

/// Says that the supply has ended, should its thread panic: requests would wait for ever, or open outputs.
struct End(Arc<Shelves>, Canceller);

impl Drop for End {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(panicked());
            self.1.cancel();
        }
        wipe_stack();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use cenote_net::{Agreed, Channels, Deviation, Fate, mem_channels};
    use cenote_prim::{Block, Prg, SessionId};

    use super::*;
    use crate::backends::wrk::depot::Depot;
    use crate::backends::wrk::{WrkParams, WrkSession};
    use crate::backends::{Live, Protocol};
    use crate::options::{PoolChoice, Rho};
    use crate::party::{Party, Receivers};

    const SESSION: SessionId = SessionId([3; 32]);
    const LIMIT: Duration = Duration::from_secs(30);

    fn params() -> WrkParams {
        WrkParams::derive(PoolChoice::OneShot(1000), Rho::Bits40).expect("sound")
    }

    fn prg(role: Role) -> Prg {
        Prg::new(Block::new(5 + role as u128))
    }

    fn channels() -> (Channels, Channels) {
        let (mut a, mut b) = mem_channels();
        for side in [&mut a, &mut b] {
            side.control().set_idle_limit(LIMIT);
            side.control().set_work_limit(LIMIT);
        }
        (a, b)
    }

    /// An honest evaluator against a garbler whose supply does `lead`, under a session id of its choice: how
    /// either ends.
    fn against<T: Send>(
        id: impl Fn(Agreed) -> SessionId + Sync,
        lead: impl Fn(&mut Channel, &mut Supply, &Shelves) -> T + Sync,
    ) -> (Result<T, Fault>, Result<(), Fault>) {
        let (mut a, mut b) = channels();
        thread::scope(|scope| {
            let honest = scope.spawn(move || {
                let mut prg = prg(Role::Evaluator);
                let mut depot = Depot::open(&mut b, SESSION, Role::Evaluator, params(), &mut prg)?;
                depot.keep(1)?;
                failure(&depot.shelves()).map_or(Ok(()), Err)
            });
            let mut prg = prg(Role::Garbler);
            let (mut channel, agreed) =
                a.open(1, SESSION.0, Role::Garbler, prg.bytes32()).expect("opens");
            let supply = Supply::setup(&mut channel, id(agreed), Role::Garbler, params(), prg);
            let shelves = Shelves::new(&params());
            let led = supply.map(|mut supply| lead(&mut channel, &mut supply, &shelves));
            channel.abort();
            (led, honest.join().expect("thread"))
        })
    }

    fn channels_own(agreed: Agreed) -> SessionId {
        SessionId(agreed.session_id)
    }

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

    #[test]
    fn an_honest_leaders_orders_fit_and_no_others() {
        assert!(Order::Triples.fits(MAX_STOCK + 3 * CHUNK_ANDS, 0));
        assert!(!Order::Triples.fits(MAX_STOCK + 4 * CHUNK_ANDS + 1, 0));
        assert!(Order::Shares(MAX_TAKE + SPARE_SHARES).fits(0, MAX_TAKE + 128));
        assert!(!Order::Shares(1).fits(0, MOST_SHARES));
    }

    #[test]
    fn a_malformed_order_is_refused() {
        let (led, honest) = against(channels_own, |channel, _, _| {
            channel.send(tags::ORDER, &[1, 0, 0, 0, 1])?;
            channel.recv(tags::ORDER, 1)
        });
        assert_eq!(led, Ok(Err(Fault::PeerAborted)));
        assert_eq!(honest, Err(Fault::Misbehaved("supply.order")));
    }

    /// A leader that fills the follower's memory.
    #[test]
    fn orders_without_end_are_refused() {
        let count = MAX_TAKE + SPARE_SHARES;
        let (led, honest) = against(channels_own, |channel, supply, shelves| {
            let order = |channel: &mut Channel, supply: &mut Supply| {
                channel.send(tags::ORDER, &Order::Shares(count).encode())?;
                supply.spare_shares(channel, shelves, count)
            };
            (0..8).take_while(|_| order(channel, supply).is_ok()).count()
        });
        assert_eq!((led, honest), (Ok(2), Err(Fault::Misbehaved("supply.room"))));
    }

    /// Whoever uses the identity of the session for the supply does not get through its set-up: nothing that
    /// one channel hashes means anything on the other.
    #[test]
    fn the_supply_hashes_the_identity_of_its_channel() {
        let (led, honest) = against(|_| SESSION, |_, _, _| ());
        // Whoever comes first to a message that hashes it.
        assert!(led.is_err() && honest.is_err(), "{led:?} {honest:?}");
    }

    /// Waits until the supply has failed.
    fn failure(shelves: &Shelves) -> Option<Fault> {
        let began = Instant::now();
        while shelves.lock().failure().is_none() && began.elapsed() < LIMIT {
            thread::sleep(Duration::from_millis(1));
        }
        shelves.lock().failure()
    }

    /// The peer cheats in a refill that no request waits for. Whoever has seen that opens nothing more, even if
    /// all that the request took is good.
    #[test]
    fn a_failed_supply_opens_nothing() {
        let (a, b) = channels();
        let (released, opened) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (gate, mut orders) = (Arc::clone(&released), 0);
        // The third order, after a refill and shares: a refill beside the request, in which the peer cheats.
        let mut a = a.on_open(move |_, data| {
            let gate = Arc::clone(&gate);
            data.tamper(move |frame| {
                orders += usize::from(frame.tag == tags::ORDER.id);
                while orders == 3 && !gate.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
                Fate::Pass
            });
        });
        let seen = Arc::clone(&opened);
        a.control().tamper(move |frame| {
            seen.fetch_or(frame.tag == tags::OUTPUT_MASK.id, Ordering::SeqCst);
            Fate::Pass
        });
        let b = b.on_open(|_, data| drop(data.deviate(tags::LEAKY_D, 1, Deviation::Flip(3))));
        let session =
            |channels, role| WrkSession::open(channels, SESSION, role, params(), || prg(role));
        thread::scope(|scope| {
            let cheater = scope.spawn(move || {
                let mut session = session(b, Role::Evaluator)?;
                session.stock(1)?;
                let mut party = session.party();
                let wires = party.input(Role::Garbler, 1, None)?;
                party.reveal(Receivers::Both, &wires)
            });
            let mut session = session(a, Role::Garbler).expect("opens");
            session.stock(1).expect("the first batch is good");
            session.keep(params().triples() + 1).expect("a thread");
            let shelves = session.depot().shelves();
            let mut party = session.party();
            let wires = party.input(Role::Garbler, 1, Some(&[true])).expect("enough shares");
            released.store(true, Ordering::SeqCst);
            let caught = Fault::Misbehaved("equality.tag");
            assert_eq!(failure(&shelves), Some(caught.clone()));
            // Just after that the channel of requests is cancelled.
            thread::sleep(Duration::from_millis(100));
            assert_eq!(party.reveal(Receivers::Both, &wires).err(), Some(caught));
            assert!(!opened.load(Ordering::SeqCst));
            drop(session);
            assert!(cheater.join().expect("thread").is_err());
        });
    }
}

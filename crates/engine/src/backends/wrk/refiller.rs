//! Refills beside requests: a thread of each side, on a channel of their own.
//!
//! **Roles.** The garbler leads: it knows from its own depot what is needed, and each of its turns begins with an order, which says
//! what begins in the next one (`supply.rs`): the evaluator follows.
//! It computes the same requests, so what one side lacks the other lacks as well. A leader that lacks nothing has turns in which
//! nothing begins until nothing is under way, and then none.
//! **Domain.** The supply's session id is that of its channel, which hashes the session's and the channel's
//! number (`cenote_net::Channels`): it enters oblivious transfer, coins, the start points of the hash of leaky
//! ANDs and the coefficients of openings. Nothing of it is made or opened on the channel of requests, except
//! that Delta and the masks of triples are common to both, as in the papers.
//! **Adversary.** Malicious. A leader that orders nothing is a peer that is silent, for which limits of time
//! stand; one that orders without end is refused, since memory is the follower's.
//! **Leakage.** An order tells how fast the leader's requests go on, and the number of input bits, which both
//! know. Whether a batch passes depends on nothing of a request.
//! **Checks.** `supply.order`: an order is well-formed, and no more turns are empty than a leader needs to end what is under way
//! \[decoding\]. `supply.room`: it makes no more than an honest leader could lack \[making it\]. Those of the supply.
//! **Private values.** None in an order.
//! **Costs.** 5 bytes and a frame header a turn, from the garbler: a turn for each slice, for shares, and up to 4 `lag` + 4 for
//! what is under way when nothing more is needed; the hellos of the channel.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cenote_net::{Channel, Fault, Role};

use super::opening::Openings;
use super::shelves::Shelves;
use super::supply::{MAX_STOCK, MAX_TAKE, SPARE_SHARES, Supply};
use super::tags;
use crate::parts::chunk::CHUNK_ANDS;
use crate::parts::pace::MOST_AHEAD;
use crate::parts::shelves::Beside;

/// Triples, ready or under way, beyond which no honest leader begins more: it does below [`MAX_STOCK`] alone, and its requests are
/// ahead of the follower's by the chunks in flight.
const MOST_TRIPLES: usize = MAX_STOCK + (3 + MOST_AHEAD) * CHUNK_ANDS;
/// The same for shares: one piece of inputs at a time waits for them.
const MOST_SHARES: usize = 2 * (MAX_TAKE + SPARE_SHARES);

/// Bytes of an order.
const ORDER_LEN: usize = 5;

/// What begins in a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// Nothing.
    Nothing,
    /// The next slice: of the pool first, then of batch after batch.
    Slice,
    /// So many shares, or some more; at most [`MAX_TAKE`] and [`SPARE_SHARES`].
    Shares(usize),
    /// Nothing, and all that is ready is saved; for the last time or not. While nothing is under way.
    Save(bool),
}

impl Start {
    fn encode(self) -> [u8; ORDER_LEN] {
        let (kind, count) = match self {
            Start::Nothing => (0, 0),
            Start::Slice => (1, 0),
            Start::Shares(count) => (2, count as u32),
            Start::Save(last) => (3, last.into()),
        };
        let mut bytes = [kind; ORDER_LEN];
        bytes[1..].copy_from_slice(&count.to_le_bytes());
        bytes
    }

    fn decode([kind, count @ ..]: [u8; ORDER_LEN]) -> Result<Start, Fault> {
        match (kind, u32::from_le_bytes(count) as usize) {
            (0, 0) => Ok(Start::Nothing),
            (1, 0) => Ok(Start::Slice),
            (2, count) if (1..=MAX_TAKE + SPARE_SHARES).contains(&count) => {
                Ok(Start::Shares(count))
            }
            (3, last @ 0..=1) => Ok(Start::Save(last == 1)),
            _ => Err(ORDER),
        }
    }
}

const ORDER: Fault = Fault::Misbehaved("supply.order");

/// Whether a leader that keeps to the protocol can begin so many triples and shares, where the follower has so many ready or
/// under way.
const fn fits(begun: Begun, triples: usize, shares: usize) -> bool {
    (begun.triples == 0 || triples <= MOST_TRIPLES)
        && (begun.shares == 0 || shares + begun.shares <= MOST_SHARES)
}

/// The items that an order begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Begun {
    pub(super) triples: usize,
    pub(super) shares: usize,
}

/// The supply with its channel, to be run by a thread.
pub(super) struct Refiller {
    pub(super) supply: Box<dyn Supply>,
    pub(super) channel: Channel,
    pub(super) openings: Openings,
    pub(super) shelves: Arc<Shelves>,
    pub(super) role: Role,
    /// Turns between a message of the evaluator and its receipt.
    pub(super) lag: usize,
    /// Slices that were ordered so far.
    pub(super) ordered: u64,
}

impl Beside for Refiller {
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

impl Refiller {
    fn lead(&mut self) -> Result<(), Fault> {
        let mut ordered = Start::Nothing;
        loop {
            let rests = self.supply.is_idle() && ordered == Start::Nothing;
            let within = self.within_a_batch();
            let Some(next) = self.shelves.next_start(within, rests, self.ordered == 0) else {
                return Ok(());
            };
            let begun = self.begun_by(next);
            self.shelves.coming(begun);
            self.channel.send(tags::ORDER, &next.encode())?;
            if let Start::Save(last) = next {
                self.save(last)?;
                if last {
                    return Ok(());
                }
            } else {
                self.turn(mem::replace(&mut ordered, next))?;
            }
        }
    }

    fn follow(&mut self) -> Result<(), Fault> {
        let limit = self.channel.work_limit();
        let mut empty = 0;
        loop {
            // Nothing to do is no fault: who waits for items has a limit of its own.
            let idle = self.supply.is_idle();
            self.channel.set_work_limit(if idle { Duration::MAX } else { limit });
            let mut order = [0; ORDER_LEN];
            match self.channel.recv_into(tags::ORDER, &mut order) {
                Err(_) if self.shelves.is_ending() => return Ok(()),
                received => received?,
            }
            self.channel.set_work_limit(limit);
            let start = Start::decode(order)?;
            if let Start::Save(last) = start {
                match self.shelves.wants_to_save() {
                    _ if !idle => return Err(ORDER),
                    None => return Ok(()),
                    Some(own) if own != last => {
                        let what = "one side saves for the last time and the other does not";
                        return Err(Fault::Policy(what.into()));
                    }
                    Some(_) => self.save(last)?,
                }
                if last {
                    return Ok(());
                }
                continue;
            }
            empty = if idle && start == Start::Nothing { empty + 1 } else { 0 };
            if empty > 2 * (self.lag + 1) {
                return Err(ORDER);
            }
            self.room_for(start)?;
            self.turn(start)?;
        }
    }

    /// Whether the next slice goes on with what was begun.
    fn within_a_batch(&self) -> bool {
        !self.supply.slices().place(self.ordered).first
    }

    /// Takes note of an order: the items that it begins.
    fn begun_by(&mut self, start: Start) -> Begun {
        match start {
            Start::Nothing | Start::Save(_) => Begun::default(),
            // As many as are made.
            Start::Shares(count) => Begun { triples: 0, shares: count.next_multiple_of(128) },
            Start::Slice => {
                let triples = self.supply.slices().triples_from(self.ordered);
                self.ordered += 1;
                Begun { triples, shares: 0 }
            }
        }
    }

    fn room_for(&mut self, start: Start) -> Result<(), Fault> {
        let begun = self.begun_by(start);
        let (triples, shares) = self.shelves.levels();
        if !fits(begun, triples, shares) {
            return Err(Fault::Misbehaved("supply.room"));
        }
        self.shelves.coming(begun);
        Ok(())
    }

    /// Keeps all that is ready.
    fn save(&mut self, last: bool) -> Result<(), Fault> {
        self.shelves.save(&mut self.channel, &*self.supply, last)?;
        self.channel.flush()?;
        self.shelves.made(self.channel.counters());
        Ok(())
    }

    fn turn(&mut self, start: Start) -> Result<(), Fault> {
        let Refiller { supply, channel, openings, shelves, .. } = self;
        supply.turn(channel, openings, shelves, start)?;
        // The peer waits for what this side sent last.
        channel.flush()?;
        shelves.made(channel.counters());
        Ok(())
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
    use crate::backends::wrk::shelves::Items;
    use crate::backends::wrk::slices::Slices;
    use crate::backends::wrk::supply::set_up;
    use crate::backends::wrk::{WrkParams, WrkSession};
    use crate::backends::{Live, Protocol};
    use crate::options::{PoolChoice, Rho};
    use crate::parts::pace::{self, Pace};
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
        lead: impl Fn(&mut Channel, &mut dyn Supply, &Shelves) -> T + Sync,
    ) -> (Result<T, Fault>, Result<(), Fault>) {
        let (mut a, mut b) = channels();
        thread::scope(|scope| {
            let honest = scope.spawn(move || {
                let mut prg = prg(Role::Evaluator);
                let mut depot =
                    Depot::open(&mut b, SESSION, Role::Evaluator, params(), &mut prg, None)?;
                depot.keep(1, 1)?;
                failure(&depot.shelves()).map_or(Ok(()), Err)
            });
            let mut prg = prg(Role::Garbler);
            let (mut channel, agreed) =
                a.open(1, SESSION.0, Role::Garbler, prg.bytes32()).expect("opens");
            let supply = pace::dictate(&mut channel, Pace::LEAST, 0).and_then(|()| {
                set_up(&mut channel, id(agreed), Role::Garbler, params(), prg, None)
            });
            let shelves = Shelves::new(Items::new(&params()));
            let led = supply.map(|mut supply| lead(&mut channel, &mut *supply, &shelves));
            channel.abort();
            (led, honest.join().expect("thread"))
        })
    }

    fn channels_own(agreed: Agreed) -> SessionId {
        SessionId(agreed.session_id)
    }

    #[test]
    fn orders_have_one_form_each() {
        let shares = [1, 69_632].map(Start::Shares);
        let saves = [false, true].map(Start::Save);
        for order in [Start::Nothing, Start::Slice].into_iter().chain(shares).chain(saves) {
            assert_eq!(Start::decode(order.encode()), Ok(order));
        }
        let refused = [
            [0, 1, 0, 0, 0],
            [1, 0, 0, 0, 1],
            [2, 0, 0, 0, 0],
            [4, 0, 0, 0, 0],
            [2, 1, 16, 1, 0],
            [3, 2, 0, 0, 0],
        ];
        for bytes in refused {
            assert_eq!(Start::decode(bytes), Err(Fault::Misbehaved("supply.order")), "{bytes:?}");
        }
    }

    #[test]
    fn an_honest_leaders_orders_fit_and_no_others() {
        let triples = Begun { triples: 1000, shares: 0 };
        assert!(fits(triples, MAX_STOCK + (2 + MOST_AHEAD) * CHUNK_ANDS, 0));
        assert!(!fits(triples, MAX_STOCK + (3 + MOST_AHEAD) * CHUNK_ANDS + 1, 0));
        let shares = |shares| Begun { triples: 0, shares };
        assert!(fits(shares(MAX_TAKE + SPARE_SHARES), 0, MAX_TAKE + 128));
        assert!(!fits(shares(1), 0, MOST_SHARES));
        // The rest of a batch, or nothing.
        assert!(fits(shares(0), usize::MAX, MOST_SHARES));
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
            let mut openings = Openings::new(SESSION, Role::Garbler);
            let mut order = |start: Start, now: Start| {
                channel.send(tags::ORDER, &start.encode())?;
                supply.turn(channel, &mut openings, shelves, now)
            };
            let mut now = Start::Nothing;
            let mut next =
                || order(Start::Shares(count), std::mem::replace(&mut now, Start::Shares(count)));
            (0..8).take_while(|_| next().is_ok()).count()
        });
        assert!(matches!(led, Ok(2..=4)), "{led:?}");
        assert_eq!(honest, Err(Fault::Misbehaved("supply.room")));
    }

    /// A leader that keeps the follower busy with nothing.
    #[test]
    fn empty_turns_without_end_are_refused() {
        let (led, honest) = against(channels_own, |channel, _, _| {
            let empty = |channel: &mut Channel| {
                channel.send(tags::ORDER, &Start::Nothing.encode())?;
                channel.flush()
            };
            (0..5).try_for_each(|_| empty(channel))?;
            channel.recv(tags::ORDER, 1)
        });
        assert_eq!(led, Ok(Err(Fault::PeerAborted)));
        assert_eq!(honest, Err(Fault::Misbehaved("supply.order")));
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
        // The order after those of a refill and of shares: a refill beside the request, in which the peer cheats.
        let slices = Slices::of(&params()).of_batch() as usize;
        let before = slices + 1;
        let mut a = a.on_open(move |_, data| {
            let gate = Arc::clone(&gate);
            data.tamper(move |frame| {
                orders += usize::from(frame.tag == tags::ORDER.id && frame.payload[0] != 0);
                while orders == before + 1 && !gate.load(Ordering::SeqCst) {
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
        let b =
            b.on_open(move |_, data| drop(data.deviate(tags::LEAKY_D, slices, Deviation::Flip(3))));
        let session = |channels, role| {
            WrkSession::open(channels, SESSION, role, params(), || prg(role), None)
        };
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
            session.keep(params().triples() + 1, params().triples() + 1).expect("a thread");
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

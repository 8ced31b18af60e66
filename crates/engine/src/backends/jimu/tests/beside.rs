//! A supply with a channel of its own: what its leader may order, and how a session ends that fails there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use cenote_circuit::Gates;
use cenote_net::{Channel, Channels, Fate, Fault, Phase, Role, mem_channels};
use cenote_prim::{Block, Prg, SessionId};

use super::params;
use crate::backends::jimu::depot::Supply;
use crate::backends::jimu::refiller::{MOST_WIRES, ORDER_LEN, Order, SAVE, SLACK};
use crate::backends::jimu::{JimuSession, Side, garbler, tags};
use crate::backends::{Live, Protocol};
use crate::options::Rho;
use crate::parts::tags::COIN_REPLY;
use crate::party::{Party, Receivers};

const SESSION: SessionId = SessionId([7; 32]);
const LIMIT: Duration = Duration::from_secs(60);
/// Single ANDs that are kept ready.
const KEPT: usize = 300;

fn channels() -> (Channels, Channels) {
    let (mut a, mut b) = mem_channels();
    for side in [&mut a, &mut b] {
        side.control().set_idle_limit(LIMIT);
        side.control().set_work_limit(LIMIT);
    }
    (a, b)
}

fn open(channels: Channels, role: Role) -> JimuSession {
    let prg = || Prg::new(Block::new(90 + role as u128));
    let params = params(100, Rho::Bits40, false);
    JimuSession::open(channels, SESSION, role, params, prg, None).expect("honest")
}

fn ready(session: &JimuSession) -> usize {
    session.ready().expect("a stock").level as usize
}

/// Waits until `is`, or for long.
fn until(is: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is() && began.elapsed() < LIMIT {
        thread::sleep(Duration::from_millis(1));
    }
    is()
}

/// Why the supply of a session has failed, once it has.
fn failure(session: &JimuSession) -> Option<Fault> {
    let shelves = match &session.core.side {
        Side::Garbler(side) => side.depot.shelves(),
        Side::Evaluator(side) => side.depot.shelves(),
    };
    until(|| shelves.lock().failure().is_some());
    shelves.lock().failure()
}

#[test]
fn orders_have_one_form_each() {
    // Stocks of cores, then of wires in escrow and for inputs.
    const ESCROW: usize = 4;
    let makes = [Order::Make(0, 0), Order::Make(3, 0), Order::Make(4, 7), Order::Make(5, 65_536)];
    for order in makes.into_iter().chain([false, true].map(Order::Save)) {
        assert_eq!(Order::decode(order.encode(), ESCROW), Ok(order));
    }
    let refused = [
        [0, 1, 0, 0, 0],
        [3, 1, 0, 0, 0],
        [4, 0, 0, 0, 0],
        [4, 1, 0, 1, 0],
        [5, 0, 0, 0, 0],
        [5, 1, 0, 1, 0],
        [6, 0, 0, 0, 0],
        [6, 1, 0, 0, 0],
        [SAVE, 2, 0, 0, 0],
    ];
    for bytes in refused {
        assert_eq!(Order::decode(bytes, ESCROW), Err(Fault::Misbehaved("jimu.order")), "{bytes:?}");
    }
    assert_eq!(MOST_WIRES, 65_536);
}

/// What becomes of an honest evaluator that keeps [`KEPT`] ANDs ready, as `see` sees it, against a garbler whose supply does `lead`, as if it had coins
/// of the channel only if it `binds` them.
fn against<T>(
    binds: bool,
    lead: impl FnOnce(&mut Channel, &mut garbler::Supply) + Send,
    see: impl FnOnce(&JimuSession) -> T,
) -> T {
    let (a, b) = channels();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut session = open(a, Role::Garbler);
            let core = &mut session.core;
            let Side::Garbler(side) = &mut core.side else { unreachable!() };
            let supply = side.depot.supply().expect("its own");
            let opened = core.channels.open(1, SESSION.0, Role::Garbler, supply.nonce());
            let (mut channel, agreed) = opened.expect("the other one opens as well");
            if binds {
                supply.bind(SessionId(agreed.session_id));
            }
            lead(&mut channel, supply);
            // Until the other one has said what it thinks of that.
            let _ = channel.flush();
            let _ = channel.recv(tags::JIMU_ORDER, ORDER_LEN);
        });
        let mut honest = open(b, Role::Evaluator);
        honest.keep(KEPT, KEPT).expect("a channel");
        see(&honest)
    })
}

#[test]
fn a_malformed_order_is_refused() {
    let end = against(
        true,
        |channel, _| channel.send(tags::JIMU_ORDER, &[0, 1, 0, 0, 0]).expect("room"),
        failure,
    );
    assert_eq!(end, Some(Fault::Misbehaved("jimu.order")));
}

/// A leader that would fill the follower's memory waits: with wires for inputs, of which an order brings most, and with cores that no request has
/// asked for, of which there are none.
#[test]
fn a_follower_makes_no_more_than_it_lacks_and_a_leader_can_be_ahead_by() {
    let inputs = params(100, Rho::Bits40, false).escrow_stock() + 1;
    for (at, count) in [(inputs, MOST_WIRES), (1, 0)] {
        let (told, hears) = mpsc::channel();
        let (level, most) = against(
            true,
            |channel, supply| {
                channel.set_work_limit(Duration::from_secs(1));
                let mut make = || {
                    channel.send(tags::JIMU_ORDER, &Order::Make(at, count).encode())?;
                    supply.make(channel, at, count, Phase::Preprocess)
                };
                let made = (0..20).take_while(|_| make().is_ok()).count();
                told.send(made).expect("the other side waits");
            },
            |honest| {
                let made = hears.recv().expect("it ends");
                let Side::Evaluator(side) = &honest.core.side else { unreachable!() };
                let (shelves, most) = (side.depot.shelves(), made * count);
                let store = shelves.lock();
                assert!(store.failure().is_none());
                (store.items.level(at), most)
            },
        );
        let slack = SLACK / (5 * size_of::<Block>());
        assert!(level <= most, "{level} {most}");
        assert_eq!(most / MOST_WIRES, if at == inputs { slack / MOST_WIRES + 1 } else { 0 });
    }
}

/// Whoever goes on with the coins of the session does not get through the first one.
#[test]
fn coins_are_of_the_identity_of_the_channel() {
    let order = Order::Make(0, 0);
    let end = against(
        false,
        |channel, supply| {
            channel.send(tags::JIMU_ORDER, &order.encode()).expect("room");
            assert!(supply.make(channel, 0, 0, Phase::Preprocess).is_err());
        },
        failure,
    );
    assert_eq!(end, Some(Fault::Misbehaved("coin.opening")));
}

/// Runs both sides of a session with refills beside requests.
fn both<G: Send, E>(
    (a, b): (Channels, Channels),
    garble: impl FnOnce(&mut JimuSession) -> G + Send,
    evaluate: impl FnOnce(&mut JimuSession) -> E,
) -> (G, E) {
    thread::scope(|scope| {
        let garbler = scope.spawn(move || {
            let mut session = open(a, Role::Garbler);
            (garble(&mut session), session)
        });
        // Neither session ends before both are done: it would take the peer's supply with it.
        let mut session = open(b, Role::Evaluator);
        let evaluated = evaluate(&mut session);
        let (garbled, _garbler) = garbler.join().expect("no panic");
        (garbled, evaluated)
    })
}

/// A garbler that has made some wires for inputs already orders no others before it takes them: its peer, which has not, waits for these alone, not for all
/// that the input takes.
#[test]
fn a_follower_waits_for_no_input_wires_that_its_leader_need_not_order() {
    const PIECE: usize = 3000;
    let (waits, hears) = mpsc::channel();
    let (garbled, evaluated) = both(
        channels(),
        move |session| {
            session.keep(KEPT, KEPT)?;
            hears.recv().expect("the other side waits");
            let core = &mut session.core;
            let Side::Garbler(side) = &mut core.side else { unreachable!() };
            side.depot.take_inputs(core.channels.control(), PIECE, PIECE).map(drop)
        },
        |session| {
            session.keep(KEPT, KEPT)?;
            waits.send(()).expect("the other side waits");
            let core = &mut session.core;
            let Side::Evaluator(side) = &mut core.side else { unreachable!() };
            side.depot.take_inputs(core.channels.control(), PIECE, 10 * PIECE).map(drop)
        },
    );
    assert_eq!((garbled, evaluated), (Ok(()), Ok(())));
}

/// So many ANDs of both sides' bits, of which the last is revealed.
fn computes(session: &mut JimuSession, role: Role, ands: usize) -> Result<(), Fault> {
    let mut party = session.party();
    let own = |owner: Role| (owner == role).then_some(&[true][..]);
    let x = party.input(Role::Garbler, 1, own(Role::Garbler))?;
    let y = party.input(Role::Evaluator, 1, own(Role::Evaluator))?;
    let mut z = x[0].clone();
    for _ in 0..ands {
        z = party.and(&z, &y[0])?;
    }
    let bits = party.reveal(Receivers::Both, &[z])?;
    assert_eq!(bits, Some(vec![true]));
    Ok(())
}

/// The level rises to the high mark, stays while requests take less than the low one leaves, and rises again.
#[test]
fn what_is_kept_ready_goes_between_the_marks() {
    fn keeps(session: &mut JimuSession, role: Role) -> Result<(), Fault> {
        session.keep(KEPT - 3, KEPT)?;
        assert!(until(|| ready(session) >= KEPT));
        // Nothing more is made while requests take what is above the low mark.
        thread::sleep(Duration::from_millis(200));
        let full = ready(session);
        let above = full - (KEPT - 3);
        for request in 1..=above {
            computes(session, role, 1)?;
            assert_eq!(ready(session), full - request);
        }
        computes(session, role, 1)?;
        assert!(until(|| ready(session) >= KEPT));
        session.fill()?;
        session.stock(KEPT + 1)?;
        assert!(ready(session) > KEPT);
        computes(session, role, 1)
    }
    let ends = both(
        channels(),
        |session| keeps(session, Role::Garbler),
        |session| keeps(session, Role::Evaluator),
    );
    assert_eq!(ends, (Ok(()), Ok(())));
}

/// What is ready is enough for requests while the supply waits for its peer.
#[test]
fn a_request_does_not_wait_for_the_supply() {
    // The sides that have seen what they have while the supply waits: it goes on after both, for what it makes may come at once.
    let seen = Arc::new(AtomicUsize::new(0));
    let (gate, held) = (Arc::clone(&seen), Arc::new(AtomicBool::new(false)));
    let holds = Arc::clone(&held);
    let (a, b) = channels();
    let a = a.on_open(move |_, data| {
        let (gate, holds) = (Arc::clone(&gate), Arc::clone(&holds));
        data.tamper(move |frame| {
            while holds.load(Ordering::SeqCst)
                && frame.tag == tags::JIMU_STRIP.id
                && gate.load(Ordering::SeqCst) < 2
            {
                thread::sleep(Duration::from_millis(1));
            }
            Fate::Pass
        });
    });
    let serve = |session: &mut JimuSession, role| -> Result<(), Fault> {
        session.keep(KEPT, KEPT)?;
        // Inputs and escrow as well.
        session.stock(KEPT)?;
        // A refill that is under way comes in.
        thread::sleep(Duration::from_millis(200));
        held.store(true, Ordering::SeqCst);
        computes(session, role, ready(session) - KEPT + 1)?;
        (0..3).try_for_each(|_| computes(session, role, 1))?;
        assert_eq!(ready(session), KEPT - 4);
        seen.fetch_add(1, Ordering::SeqCst);
        session.stock(KEPT)
    };
    let ends = both(
        (a, b),
        |session| serve(session, Role::Garbler),
        |session| serve(session, Role::Evaluator),
    );
    assert_eq!(ends, (Ok(()), Ok(())));
}

/// The garbler cheats in a refill that no request waits for: the evaluator opens nothing from then on, even if all that its request took is good.
#[test]
fn a_failed_supply_opens_nothing() {
    let (released, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (a, mut b) = channels();
    let gate = Arc::clone(&released);
    let a = a.on_open(move |_, data| {
        let gate = Arc::clone(&gate);
        data.tamper(move |frame| {
            while frame.tag == tags::JIMU_ORDER.id && !gate.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            match frame.tag == tags::JIMU_INNER.id {
                true => Fate::Replace(frame.payload.iter().map(|byte| byte ^ 1).collect()),
                false => Fate::Pass,
            }
        });
    });
    let seen = Arc::clone(&opened);
    b.control().tamper(move |frame| {
        seen.fetch_or(frame.tag == tags::JIMU_RESULT.id, Ordering::SeqCst);
        Fate::Pass
    });
    let (garbler, ()) = both(
        (a, b),
        |session| {
            session.stock(KEPT)?;
            session.channel().flush()?;
            session.keep(2 * KEPT, 2 * KEPT)?;
            let mut party = session.party();
            let x = party.input(Role::Evaluator, 1, None)?;
            party.reveal(Receivers::Both, &x)
        },
        |session| {
            session.stock(KEPT).expect("the first batches are good");
            session.keep(2 * KEPT, 2 * KEPT).expect("a channel");
            let Side::Evaluator(side) = &session.core.side else { unreachable!() };
            let shelves = side.depot.shelves();
            let mut party = session.party();
            let x = party.input(Role::Evaluator, 1, Some(&[true])).expect("enough wires");
            released.store(true, Ordering::SeqCst);
            until(|| shelves.lock().failure().is_some());
            let caught = Fault::Misbehaved("jimu.inner");
            assert_eq!(shelves.lock().failure(), Some(caught.clone()));
            // Just after that the channel of requests is cancelled.
            thread::sleep(Duration::from_millis(100));
            assert_eq!(party.reveal(Receivers::Both, &x), Err(caught));
            assert!(!opened.load(Ordering::SeqCst));
        },
    );
    assert!(garbler.is_err(), "{garbler:?}");
}

/// A leader that closes in order ends its batch first.
#[test]
fn the_batch_of_a_leader_that_closes_is_made() {
    let (told, hears) = mpsc::channel();
    let (a, b) = channels();
    let b = b.on_open(move |_, data| {
        let told = told.clone();
        data.tamper(move |frame| {
            // In the middle of the first batch; the other side closes meanwhile.
            if frame.tag == COIN_REPLY.id && told.send(()).is_ok() {
                thread::sleep(Duration::from_millis(300));
            }
            Fate::Pass
        });
    });
    let ((), made) = both(
        (a, b),
        move |session| {
            session.keep(KEPT, KEPT).expect("a channel");
            hears.recv().expect("the other one replies");
            session.close();
        },
        |session| {
            session.keep(KEPT, KEPT).expect("a channel");
            let Side::Evaluator(side) = &session.core.side else { unreachable!() };
            let inputs = side.depot.params().escrow_stock() + 1;
            let began = Instant::now();
            while side.depot.level(inputs) == 0 && began.elapsed() < Duration::from_secs(5) {
                thread::sleep(Duration::from_millis(1));
            }
            side.depot.level(inputs)
        },
    );
    assert!(made > 0);
}

/// A garbler that waits for nothing closes in order while the last items are on their way: the evaluator's output needs them.
#[test]
fn the_last_output_comes_although_the_garbler_has_closed() {
    fn serve(session: &mut JimuSession, role: Role) -> Result<Option<Vec<bool>>, Fault> {
        session.keep(1, 1)?;
        let mut party = session.party();
        let x = party.input(Role::Garbler, 1, (role == Role::Garbler).then_some(&[true][..]))?;
        let mut z = x[0].clone();
        for _ in 0..6000 {
            z = party.and(&z, &x[0])?;
        }
        let bits = party.reveal(Receivers::Evaluator, &[z])?;
        drop(party);
        if role == Role::Garbler {
            session.close();
        }
        Ok(bits)
    }
    for slow in [false, true] {
        let (a, b) = channels();
        // The evaluator's supply is behind.
        let b = b.on_open(move |_, data| {
            data.tamper(move |_| {
                thread::sleep(Duration::from_millis(if slow { 5 } else { 0 }));
                Fate::Pass
            });
        });
        let (garbler, evaluator) = both(
            (a, b),
            |session| serve(session, Role::Garbler),
            |session| serve(session, Role::Evaluator),
        );
        assert_eq!((garbler, evaluator), (Ok(None), Ok(Some(vec![true]))));
    }
}

/// Nothing but requests and what the owners do between them has the supply once it works beside them.
#[test]
fn measurements_are_refused_beside_requests() {
    let measure = |session: &mut JimuSession| {
        session.keep(1, 1)?;
        session.cores().expect("pools").fill_pool(1)
    };
    let misuse = Err(Fault::Misuse("the supply works beside requests".into()));
    let (garbler, evaluator) = both(channels(), measure, measure);
    assert!(garbler == misuse || evaluator == misuse, "{garbler:?} {evaluator:?}");
}

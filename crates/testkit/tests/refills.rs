//! Refills of `wrk` on a channel of their own: requests wait for them only when nothing is ready, both sides
//! take the same items, and memory does not grow with a request.

use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cenote_circuit::Clear;
use cenote_engine::backends::wrk::supply::{POOL, SHARES, TRIPLES};
use cenote_engine::backends::wrk::tags;
use cenote_engine::{
    Backend, Fault, Job, Party, PoolChoice, Receivers, Role, Session, SessionConfig, WrkParams,
};
use cenote_net::{Channels, Deviation, Fate, HEADER_LEN, Shape, unix_channel};
use cenote_pool::{Journal, Refused};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    expected, extendable_pair, patient_pair, program_job, run_program, sessions_over, smallest,
    with_pool,
};
use rustix::net::sockopt::set_socket_send_buffer_size;

const LIMIT: Duration = Duration::from_secs(30);

fn params(config: &SessionConfig) -> WrkParams {
    WrkParams::derive(config.pool(), config.rho()).expect("sound")
}

/// Runs `ands` ANDs and compares with clear evaluation.
fn compute(session: &mut Session, role: Role, ands: usize, seed: u128) -> Result<(), Fault> {
    let program = TestProgram(Kind::Ands(ands));
    let inputs = program.inputs(seed);
    let job = program_job(&program, role, &inputs, Receivers::Both)?.of_ands(ands as u64);
    let output = session.run(&job)?.output;
    assert_eq!(output, expected(&Clear::eval(&program, &inputs), Receivers::Both, role), "{ands}");
    Ok(())
}

/// Channels on which the garbler does not give an order, counted from 0, before it is released.
fn held(order: usize, released: &Arc<AtomicBool>) -> (Channels, Channels) {
    let released = Arc::clone(released);
    extendable_pair(LIMIT, move |role, data| {
        if role == Role::Evaluator {
            return;
        }
        let (released, mut orders) = (Arc::clone(&released), 0);
        data.tamper(move |frame| {
            orders += usize::from(frame.tag == tags::ORDER.id && frame.payload[0] != 0);
            while orders == order + 1 && !released.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            Fate::Pass
        });
    })
}

/// Orders of a refill: one for each of its slices.
fn slices(params: &WrkParams) -> usize {
    (3 * params.batch + params.triples()).div_ceil(params.ot.chunk())
}

#[test]
fn a_request_waits_only_for_what_is_not_ready() {
    let config = smallest(Backend::Wrk);
    let ready = 2 * params(&config).triples();
    // Two refills and the shares of inputs.
    let before = 2 * slices(&params(&config)) + 1;
    let released = Arc::new(AtomicBool::new(false));
    // The sides that have seen what they have while the supply waits: it goes on after both, for what it makes may come at once.
    let seen = AtomicUsize::new(0);
    let (garbler, evaluator) =
        sessions_over(held(before, &released), &config, 1, |session, role| {
            let level = |session: &Session| {
                session.occupancy().expect("stocks").of(TRIPLES).expect("a stock").level as usize
            };
            session.stock(ready)?;
            session.keep(ready, ready)?;
            // The first of them makes the supply start on what is held.
            for request in 0..3 {
                compute(session, role, ready / 3, request)?;
            }
            assert_eq!(level(session), ready - 3 * (ready / 3));
            seen.fetch_add(1, Ordering::SeqCst);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let began = Instant::now();
                    while seen.load(Ordering::SeqCst) < 2 && began.elapsed() < LIMIT {
                        thread::sleep(Duration::from_millis(1));
                    }
                    thread::sleep(Duration::from_millis(50));
                    released.store(true, Ordering::SeqCst);
                });
                compute(session, role, ready, 9)
            })
        });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
}

#[test]
fn a_request_that_waits_for_items_can_be_cancelled() {
    let config = smallest(Backend::Wrk);
    let released = Arc::new(AtomicBool::new(false));
    let (garbler, evaluator) = sessions_over(held(0, &released), &config, 1, |session, role| {
        if role == Role::Evaluator {
            let canceller = session.channel().canceller();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                canceller.cancel();
            });
        }
        let stocked = session.stock(1);
        released.store(true, Ordering::SeqCst);
        stocked
    });
    assert_eq!(evaluator, Err(Fault::Transport("cancelled".into())));
    assert!(matches!(garbler, Err(Fault::Transport(_) | Fault::PeerAborted)), "{garbler:?}");
}

/// A job that begins its work once refills have come to rest: no frame of theirs, as counted, in a third of a second.
struct Slow<J>(J, Arc<AtomicUsize>);

impl<J: Job> Job for Slow<J> {
    type Output = J::Output;

    fn terms(&self) -> Vec<(&'static str, String)> {
        self.0.terms()
    }

    fn ands(&self) -> u64 {
        self.0.ands()
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<J::Output, Fault> {
        // A busy machine may stop all threads of this test for a while.
        let (mut quiet, mut before) = (0, 0);
        for _ in 0..600 {
            thread::sleep(Duration::from_millis(100));
            let now = self.1.load(Ordering::SeqCst);
            quiet = if now > 0 && now == before { quiet + 1 } else { 0 };
            before = now;
            if quiet == 10 {
                break;
            }
        }
        self.0.run(party)
    }
}

/// A request of many refills has a few of them made ahead of it.
#[test]
fn refills_run_ahead_of_a_request_by_a_few() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let triples = params(&config).triples();
    let frames = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&frames);
    let channels = extendable_pair(LIMIT, move |_, data| {
        let frames = Arc::clone(&counted);
        data.tamper(move |_| {
            frames.fetch_add(1, Ordering::SeqCst);
            Fate::Pass
        });
    });
    let (garbler, evaluator) = sessions_over(channels, &config, 2, |session, role| {
        let program = TestProgram(Kind::Ands(100));
        let job = program_job(&program, role, &program.inputs(1), Receivers::Both)?;
        session.run(&Slow(job.of_ands(1000 * triples as u64), Arc::clone(&frames)))?;
        Ok(session.occupancy().expect("stocks").of(TRIPLES).expect("a stock").made as usize)
    });
    let (made, other) = (garbler.expect("honest"), evaluator.expect("honest"));
    // Two, four of one slice each that a turn of lag holds, and one that begins just below that; more where a busy machine answers late, which is as a
    // long line is, and far fewer than the thousand that it says it takes.
    assert!(made >= triples && made <= 300 * triples, "{made} made, {triples} a refill");
    assert!(other <= made, "the leader has the last word");
}

/// No more is made than a request takes, and all that leaves is seen by the journals, alike on both sides.
#[test]
fn refills_stop_with_the_request() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let triples = params(&config).triples();
    let ands = 6 * triples + 5;
    let notes = [Notes::default(), Notes::default()];
    let channels = extendable_pair(LIMIT, |_, _| ());
    let (garbler, evaluator) = sessions_over(channels, &config, 2, |session, role| {
        session.set_journal(Box::new(notes[role as usize].clone()))?;
        compute(session, role, ands, 3)?;
        Ok(session.occupancy().expect("stocks"))
    });
    let (a, b) = (garbler.expect("honest"), evaluator.expect("honest"));
    assert_eq!(a, b, "both have made and taken the same");
    assert_eq!(a.of(TRIPLES).expect("a stock").made as usize, 7 * triples);
    let [one, two] = notes.map(|notes| {
        let seen = notes.0.lock().expect("no panic");
        let left = |name: &str| -> Vec<Range<u64>> {
            let left = seen.iter().filter(|(store, _)| store == name);
            left.map(|(_, items)| items.clone()).collect()
        };
        [POOL, TRIPLES, SHARES].map(left)
    });
    assert_eq!(one, two);
    for (left, name) in one.iter().zip([POOL, TRIPLES, SHARES]) {
        let next =
            left.iter().try_fold(0, |next, items| (items.start == next).then_some(items.end));
        assert_eq!(next, a.of(name).map(|store| store.consumed), "{name}: {left:?}");
    }
}

/// What left, of which store, in order.
type Left = Vec<(String, Range<u64>)>;

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Left>>);

impl Journal for Notes {
    fn reserve(&mut self, store: &str, items: Range<u64>) -> Result<(), Refused> {
        self.0.lock().expect("no panic").push((store.to_owned(), items));
        Ok(())
    }

    fn consumed(&self, store: &str) -> u64 {
        let seen = self.0.lock().expect("no panic");
        seen.iter().rev().find(|(name, _)| name == store).map_or(0, |(_, items)| items.end)
    }
}

/// Between requests the supply goes on, to what the owners want ready.
#[test]
fn as_much_is_kept_ready_as_was_asked_for() {
    let config = smallest(Backend::Wrk);
    let kept = 3 * params(&config).triples() - 1;
    let channels = extendable_pair(LIMIT, |_, _| ());
    let (garbler, evaluator) = sessions_over(channels, &config, 4, |session, role| {
        let level = |session: &Session| {
            session.occupancy().expect("stocks").of(TRIPLES).expect("a stock").level as usize
        };
        session.keep(kept, kept)?;
        for request in 0..3 {
            let began = Instant::now();
            while level(session) < kept {
                assert!(began.elapsed() < LIMIT, "{} ready", level(session));
                thread::sleep(Duration::from_millis(1));
            }
            compute(session, role, 100, request)?;
        }
        Ok(())
    });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
}

/// A side without a way to further channels is told so by name.
#[test]
fn sides_that_differ_in_their_channels_are_refused() {
    let (garbler, evaluator) = extendable_pair(LIMIT, |_, _| ());
    let config = smallest(Backend::Wrk);
    thread::scope(|scope| {
        let alone = evaluator.into_control();
        let other = scope.spawn(|| Session::open(alone, Role::Evaluator, &config).err());
        let own = Session::open(garbler, Role::Garbler, &config).err();
        for fault in [own, other.join().expect("thread")] {
            let Some(Fault::Policy(what)) = fault else { panic!("not refused: {fault:?}") };
            assert!(what.contains("data-channels"), "{what}");
        }
    });
}

/// A second channel costs a field of the session's hello, two hellos, the pace and an order a turn.
#[test]
fn a_channel_of_its_own_costs_hellos_pace_and_orders() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let triples = params(&config).triples();
    let sent = |session: &mut Session, role| {
        compute(session, role, 2 * triples, 3)?;
        Ok::<_, Fault>(session.counters().total().bytes_sent)
    };
    let of_both = |(garbler, evaluator): (Result<u64, Fault>, Result<u64, Fault>)| {
        [garbler.expect("honest") as usize, evaluator.expect("honest") as usize]
    };
    let one = of_both(sessions_over(patient_pair(), &config, 6, sent));
    let two = of_both(sessions_over(extendable_pair(LIMIT, |_, _| ()), &config, 6, sent));
    // Version, kind, role, nonce, count; then names and lengths before the values.
    let hello = HEADER_LEN + 1 + 5 + 1 + 32 + 1 + (1 + 7 + 2 + 32) + (1 + 6 + 2 + 4);
    let field = 1 + "data-channels".len() + 2 + 1;
    let [probe, pace, wagon] = [HEADER_LEN + 1, HEADER_LEN + 3, HEADER_LEN + (8 << 10)];
    // A slice of the pool, two refills, shares of inputs; and the turns in which these end.
    let orders = two[0] - one[0] - hello - field - probe - pace;
    assert_eq!(orders % (HEADER_LEN + 5), 0);
    let turns = orders / (HEADER_LEN + 5);
    assert!((4..=4 + 3 * 6 * 16).contains(&turns), "{turns}");
    assert_eq!(two[1] - one[1], hello + field + 24 * wagon);
}

/// Two channels over pairs of sockets, which hold far less than the tables of a chunk. The line of the data channel is cut as the garbler sends the
/// frame of this number on it, counted from 1.
fn narrow_pair(cut: usize) -> (Channels, Channels) {
    let ends = || {
        let ends = UnixStream::pair().expect("sockets");
        for end in [&ends.0, &ends.1] {
            set_socket_send_buffer_size(end, 8 << 10).expect("a size");
        }
        ends
    };
    let (control, data) = (ends(), ends());
    let line = data.0.try_clone().expect("a descriptor");
    let side = |control, data| {
        let mut data = Some(data);
        let mut channel = unix_channel(control).expect("a channel");
        channel.set_work_limit(LIMIT);
        Channels::new(channel, move |_| unix_channel(data.take().expect("one data channel")))
    };
    let (garbler, evaluator) = (side(control.0, data.0), side(control.1, data.1));
    let mut line = Some(line);
    let garbler = garbler.on_open(move |_, data| {
        let (line, mut frames) = (line.take(), 0);
        data.tamper(move |_| {
            frames += 1;
            if let Some(line) = line.as_ref().filter(|_| frames == cut) {
                line.shutdown(Shutdown::Both).expect("a line");
            }
            Fate::Pass
        });
    });
    (garbler, evaluator)
}

/// A data channel that breaks while the other line stays ends the session on both sides, wherever refills are.
#[test]
fn a_data_channel_that_breaks_ends_the_session() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    for cut in [1, 2, 7, 40, 200] {
        let began = Instant::now();
        let (garbler, evaluator) = sessions_over(narrow_pair(cut), &config, 7, |session, role| {
            compute(session, role, 50_000, 1)
        });
        let broke = |end: &Result<(), Fault>| matches!(end, Err(Fault::Transport(_)));
        let told = |end: &Result<(), Fault>| broke(end) || *end == Err(Fault::PeerAborted);
        assert!(told(&garbler) && told(&evaluator), "{cut}: {garbler:?} {evaluator:?}");
        assert!(broke(&garbler) || broke(&evaluator), "{cut}: {garbler:?} {evaluator:?}");
        assert!(began.elapsed() < LIMIT / 2, "{cut}");
    }
}

/// A data channel on which nothing comes any more, while the other line is well, ends the session when its time is over.
#[test]
fn a_data_channel_that_stalls_ends_the_session() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    for (side, last) in [(Role::Garbler, 5), (Role::Evaluator, 30)] {
        let channels = extendable_pair(Duration::from_secs(2), move |role, data| {
            let mut frames = 0;
            data.tamper(move |_| {
                frames += usize::from(role == side);
                if frames > last { Fate::Drop } else { Fate::Pass }
            });
        });
        let (garbler, evaluator) =
            sessions_over(channels, &config, 7, |session, role| compute(session, role, 50_000, 1));
        let ended =
            |end: &Result<(), Fault>| matches!(end, Err(Fault::Transport(_) | Fault::PeerAborted));
        assert!(ended(&garbler) && ended(&evaluator), "{side}: {garbler:?} {evaluator:?}");
    }
}

/// The evaluator waits for triples where the garbler has tables to send that the line does not hold: only who
/// takes them lets it come to the order that both wait for.
#[test]
fn whoever_waits_for_items_takes_what_the_peer_sends() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    for counted in [0, 50_000] {
        let (garbler, evaluator) = sessions_over(narrow_pair(0), &config, 7, |session, role| {
            let program = TestProgram(Kind::Ands(50_000));
            let job = program_job(&program, role, &program.inputs(1), Receivers::Both)?;
            session.run(&job.of_ands(counted)).map(drop)
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())), "{counted} announced");
    }
}

/// A job in which the evaluator brings nothing in, for as long as it likes.
struct Silence(Role);

impl Job for Silence {
    type Output = ();

    fn terms(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<(), Fault> {
        if self.0 == Role::Evaluator {
            thread::sleep(Duration::from_secs(2));
            return Err(Fault::Misuse("enough".into()));
        }
        party.input(Role::Evaluator, 8, None).map(drop)
    }
}

/// A peer that is caught in a refill, and says nothing where requests run, does not keep this side waiting.
#[test]
fn a_cheat_in_a_refill_ends_the_request_beside_it() {
    let config = smallest(Backend::Wrk);
    let ready = params(&config).triples();
    let slices = slices(&params(&config));
    let channels = extendable_pair(LIMIT, move |role, data| {
        if role == Role::Evaluator {
            data.deviate(tags::LEAKY_D, slices, Deviation::Flip(3));
        }
    });
    let (garbler, _) = sessions_over(channels, &config, 8, |session, role| {
        session.stock(ready)?;
        session.keep(ready + 1, ready + 1)?;
        let began = Instant::now();
        let ended = session.run(&Silence(role)).map(drop);
        assert!(role == Role::Evaluator || began.elapsed() < Duration::from_secs(2));
        ended
    });
    assert_eq!(garbler, Err(Fault::Misbehaved("equality.tag")));
}

/// A follower whose leader is ahead has not begun before its owner does: a journal comes in time.
#[test]
fn a_journal_comes_before_the_first_order_is_carried_out() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let notes = Notes::default();
    let channels = extendable_pair(LIMIT, |_, _| ());
    let (garbler, evaluator) = sessions_over(channels, &config, 9, |session, role| {
        if role == Role::Evaluator {
            thread::sleep(Duration::from_millis(200));
            session.set_journal(Box::new(notes.clone()))?;
        }
        session.stock(1)?;
        compute(session, role, 100, 1)
    });
    assert_eq!((garbler, evaluator), (Ok(()), Ok(())));
    assert!(notes.consumed(POOL) > 0 && notes.consumed(TRIPLES) == 100);
}

/// A session that ends while its supply works ends at once, on both sides.
#[test]
fn a_session_ends_beside_a_refill() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(20_000));
    for side in [Role::Garbler, Role::Evaluator] {
        let channels = extendable_pair(LIMIT, |_, _| ());
        let (garbler, evaluator) = sessions_over(channels, &config, 5, |session, role| {
            session.keep(1 << 20, 1 << 20)?;
            compute(session, role, 100, 6)?;
            if role != side {
                // The other one closes first.
                thread::sleep(Duration::from_millis(50));
            }
            Ok(())
        });
        assert_eq!((garbler, evaluator), (Ok(()), Ok(())), "{side} first");
    }
}

#[test]
fn programs_without_a_count_are_served_as_well() {
    let channels = extendable_pair(LIMIT, |_, _| ());
    let program = TestProgram(Kind::Sort);
    let inputs = program.inputs(8);
    let (garbler, evaluator) =
        sessions_over(channels, &smallest(Backend::Wrk), 7, |session, role| {
            let output = run_program(session, &program, &inputs, Receivers::Both)?;
            Ok(output == expected(&Clear::eval(&program, &inputs), Receivers::Both, role))
        });
    assert_eq!((garbler, evaluator), (Ok(true), Ok(true)));
}

/// A line on which both sides go as far ahead as they ever do: batches of one slice, several chunks.
fn long_way() -> (Channels, Channels) {
    let (mut garbler, mut evaluator) = extendable_pair(LIMIT, |_, _| ());
    let shape = Shape { rtt: Duration::from_millis(120), mbit_per_s: None };
    for side in [&mut garbler, &mut evaluator] {
        side.control().shape(shape).expect("before the first frame");
    }
    (garbler, evaluator)
}

/// Many refills, and many tests of equality that are not confirmed, are on the line at once; chunks as well.
#[test]
fn many_refills_and_chunks_are_on_a_long_line_at_once() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let triples = params(&config).triples();
    let (garbler, evaluator) = sessions_over(long_way(), &config, 9, |session, role| {
        compute(session, role, 60 * triples, 1)?;
        compute(session, role, 10, 2)?;
        Ok(session.counters().total().rounds)
    });
    let rounds = [garbler.expect("honest"), evaluator.expect("honest")];
    // One after the other, refills alone would take 60 of each of their messages.
    let stops = rounds.map(|rounds| rounds < 60 * 6);
    assert_eq!(stops, [true; 2], "{rounds:?}");
}

/// Cancelled with all of that under way.
#[test]
fn a_long_line_is_cancelled_at_any_time() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let triples = params(&config).triples();
    for after in [300, 700, 1100, 1500] {
        let ends = sessions_over(long_way(), &config, 9, |session, role| {
            if role == Role::Evaluator {
                let canceller = session.channel().canceller();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(after));
                    canceller.cancel();
                });
            }
            compute(session, role, 400 * triples, 1)
        });
        assert_eq!(ends.1, Err(Fault::Transport("cancelled".into())), "after {after} ms");
        assert!(matches!(ends.0, Err(Fault::Transport(_) | Fault::PeerAborted)), "{:?}", ends.0);
    }
}

/// Keeps many wires, or opens them again, late at the evaluator.
struct Many {
    role: Role,
    keeps: bool,
}

impl Many {
    /// Three pieces of shares, and a part of one.
    const WIRES: usize = 200_001;

    fn bits() -> Vec<bool> {
        (0..Many::WIRES).map(|i| i % 7 < 3).collect()
    }
}

impl Job for Many {
    type Output = Option<Vec<bool>>;

    fn terms(&self) -> Vec<(&'static str, String)> {
        vec![("program", "many wires".into())]
    }

    fn run<P: Party>(&self, party: &mut P) -> Result<Option<Vec<bool>>, Fault> {
        if self.keeps {
            let own = (self.role == Role::Garbler).then(Many::bits);
            let wires = party.input(Role::Garbler, Many::WIRES, own.as_deref())?;
            return party.keep("many", &wires).map(|()| None);
        }
        if self.role == Role::Evaluator {
            thread::sleep(Duration::from_secs(1));
        }
        let wires = party.kept("many")?;
        party.reveal(Receivers::Both, &wires)
    }
}

/// Shares for wires that come back are made piece by piece, as both sides take them: none is ordered for which the slower side has no room.
#[test]
fn whoever_is_late_has_room_for_the_shares_of_many_kept_wires() {
    for channels in [None, Some(extendable_pair(LIMIT, |_, _| ()))] {
        let config = smallest(Backend::Wrk);
        let run = |session: &mut Session, role| {
            session.run(&Many { role, keeps: true })?;
            Ok(session.run(&Many { role, keeps: false })?.output)
        };
        let ends = match channels {
            None => sessions_over(patient_pair(), &config, 4, run),
            Some(channels) => sessions_over(channels, &config, 4, run),
        };
        let expected = Ok(Some(Many::bits()));
        assert!(ends.0 == expected && ends.1 == expected);
    }
}

//! Sessions whose computation is spread over threads: the same bytes, the same checks, the same ends.

use std::thread;
use std::time::{Duration, Instant};

use cenote_circuit::Clear;
use cenote_engine::backends::wrk::tags;
use cenote_engine::{Backend, Fault, PoolChoice, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channels, Deviation, Direction, Tag};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    expected, extendable_pair, patient_pair, run_program, sessions_over, smallest, with_pool,
};

const LIMIT: Duration = Duration::from_secs(30);

/// Threads of the garbler and of the evaluator.
const THREADS: [[usize; 2]; 5] = [[1, 1], [2, 2], [4, 1], [1, 4], [4, 4]];

/// More than a refill, so that leaky ANDs of several batches are made, from a pool that is not small.
fn work(session: &mut Session, role: Role, ands: usize) -> Result<(), Fault> {
    session.fill()?;
    session.stock(ands)?;
    let program = TestProgram(Kind::Ands(ands));
    let inputs = program.inputs(5);
    let outputs = run_program(session, &program, &inputs, Receivers::Both)?;
    assert_eq!(outputs, expected(&Clear::eval(&program, &inputs), Receivers::Both, role));
    Ok(())
}

/// Bytes that each side sends.
fn sent(config: &SessionConfig, threads: [usize; 2]) -> [Vec<u8>; 2] {
    let (mut a, mut b) = patient_pair();
    let recordings = [a.record(), b.record()];
    let ends = sessions_over((a, b), config, 7, |session, role| {
        session.set_threads(threads[role as usize])?;
        work(session, role, 12_000)
    });
    assert_eq!(ends, (Ok(()), Ok(())), "{threads:?}");
    recordings.map(|recording| recording.wire_bytes(Direction::Sent))
}

#[test]
fn the_bytes_are_the_same_for_any_number_of_threads() {
    for pool in [PoolChoice::Kept(30_000), PoolChoice::OneShot(4000)] {
        let config = with_pool(Backend::Wrk, pool);
        // Over one channel: on a data channel, the pace of the line decides what a turn begins.
        let [alone, others @ ..] = THREADS.map(|threads| sent(&config, threads));
        assert!(alone.iter().map(Vec::len).sum::<usize>() > 2_000_000);
        for (others, threads) in others.iter().zip(&THREADS[1..]) {
            assert!(*others == alone, "{pool:?}, {threads:?}");
        }
    }
}

/// The cheat of `role` in its frame `index` of `tag`, on the channel that the supply uses.
fn caught(role: Role, tag: Tag, index: usize, extendable: bool) -> [Option<Fault>; 2] {
    let cheat = move |channel: &mut cenote_net::Channel| {
        channel.deviate(tag, index, Deviation::Flip(9));
    };
    let (a, b): (Channels, Channels) = if extendable {
        extendable_pair(LIMIT, move |side, data| {
            if side == role {
                cheat(data);
            }
        })
    } else {
        let (mut a, mut b) = patient_pair();
        cheat(if role == Role::Garbler { &mut a } else { &mut b });
        (a.into(), b.into())
    };
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(30_000));
    let (garbler, evaluator) = sessions_over((a, b), &config, 8, |session, role| {
        session.set_threads(2)?;
        work(session, role, 12_000)
    });
    [garbler.err(), evaluator.err()]
}

#[test]
fn cheats_are_caught_by_a_side_with_threads() {
    for (tag, index, check) in [
        (cenote_ot::tags::CHUNK, 2, "ot.softspoken.columns"),
        (tags::LEAKY_D, 3, "equality.tag"),
        (tags::BUCKET_OPEN, 0, "opening.mac"),
    ] {
        for (role, extendable) in [(Role::Garbler, false), (Role::Evaluator, true)] {
            let faults = caught(role, tag, index, extendable);
            let case = format!("{role:?} {tag:?} {extendable}: {faults:?}");
            assert!(faults.contains(&Some(Fault::Misbehaved(check))), "{case}");
        }
    }
}

#[test]
fn a_session_ends_when_it_is_cancelled_while_its_threads_work() {
    for extendable in [false, true] {
        let channels: (Channels, Channels) = if extendable {
            extendable_pair(LIMIT, |_, _| ())
        } else {
            let (a, b) = patient_pair();
            (a.into(), b.into())
        };
        let config = with_pool(Backend::Wrk, PoolChoice::Kept(480_000));
        let began = Instant::now();
        let (garbler, evaluator) = sessions_over(channels, &config, 9, |session, role| {
            session.set_threads(3)?;
            if role == Role::Evaluator {
                let canceller = session.channel().canceller();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(100));
                    canceller.cancel();
                });
            }
            session.stock(1 << 20)
        });
        assert_eq!(evaluator, Err(Fault::Transport("cancelled".into())));
        assert!(matches!(garbler, Err(Fault::Transport(_) | Fault::PeerAborted)), "{garbler:?}");
        assert!(began.elapsed() < LIMIT);
    }
}

#[test]
fn a_session_has_1_to_64_threads_from_its_beginning() {
    for backend in Backend::ALL {
        let (garbler, evaluator) =
            sessions_over(patient_pair(), &smallest(backend), 1, |session, role| {
                session.set_threads(2)?;
                let program = TestProgram(Kind::Compare);
                run_program(session, &program, &program.inputs(1), Receivers::Both)?;
                // Whoever is late still writes its last message, which the other need not have read to be done.
                thread::sleep(Duration::from_millis(300));
                let threads = if role == Role::Garbler { 0 } else { 65 };
                // No reason to end a session that the peer may be in.
                Ok(session.set_threads(threads))
            });
        for (end, threads) in [(garbler, 0), (evaluator, 65)] {
            let what = format!("a session has 1 to 64 threads, not {threads}");
            assert_eq!(end, Ok(Err(Fault::Policy(what))));
        }
    }
    let channels = extendable_pair(LIMIT, |_, _| ());
    let (garbler, _) = sessions_over(channels, &smallest(Backend::Wrk), 1, |session, _| {
        session.stock(1)?;
        Ok(session.set_threads(2))
    });
    assert!(matches!(garbler, Ok(Err(Fault::Misuse(_)))), "{garbler:?}");
}

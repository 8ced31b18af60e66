//! `epoch.rs` for `jimu`: watch list, Delta, stocks and pools outlive a session; no wire is hashed twice, nothing is used twice, a failed check on
//! either side ends it all, and every whole set-up and every pool counts.

mod relation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cenote_circuit::Clear;
use cenote_engine::backends::jimu::tags;
use cenote_engine::parts::tags::{COIN_OPEN, COIN_REPLY, EPOCH_STATE};
use cenote_engine::{Backend, Fault, Receivers, Role, Session, SessionConfig};
use cenote_net::{Channel, Fate, Tag};
use cenote_testkit::disk::Disk;
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{
    config, expected, extendable_pair, pair_with_limit, patient_pair, run_program, smallest,
};
use relation::{LIMIT, Relation, changed, compute, level, ok, second_answers};

/// The stock of single ANDs and its pool.
const ANDS: &str = "stock.and";
const POOL: &str = "pool.and";
/// What is not an item, and is numbered.
const WIRES: &str = "wires";

fn small() -> SessionConfig {
    smallest(Backend::Jimu)
}

/// Bytes that both sides have sent.
fn bytes(session: &mut Session) -> u64 {
    let total = session.counters().total();
    total.bytes_sent + total.bytes_received
}

/// Multiplexers of all widths, with outputs to one side alone.
fn multiplex(session: &mut Session, seed: u128) -> Result<(), Fault> {
    let (program, role) = (TestProgram(Kind::Muxes), session.role());
    for to in [Receivers::Garbler, Receivers::Evaluator] {
        let inputs = program.inputs(seed);
        let output = run_program(session, &program, &inputs, to)?;
        assert_eq!(output, expected(&Clear::eval(&program, &inputs), to, role));
    }
    Ok(())
}

/// More inputs than there are wires for, and hardly an AND.
fn use_up_inputs(session: &mut Session) -> Result<(), Fault> {
    let program = TestProgram(Kind::Xors(1));
    for seed in 0..40 {
        run_program(session, &program, &program.inputs(seed), Receivers::Both)?;
    }
    Ok(())
}

/// Ready ANDs and the levels of all pools.
fn levels(session: &Session) -> (u64, Vec<u64>) {
    let all = session.occupancy().expect("stocks").stores;
    let pools = all.iter().filter(|level| level.capacity.is_some()).map(|pool| pool.level);
    (level(session, ANDS), pools.collect())
}

#[test]
fn what_was_put_away_serves_later_sessions() {
    for text in [
        "jimu:pool=400",
        "jimu:pool=400,compact=true",
        "jimu:pool=400,muxcore=false,ot=softspoken8",
        "jimu:pool=300,rho=64",
    ] {
        let (config, mut relation) = (config(text), Relation::default());
        let first = ok(relation.session(&config, false, |mut session, _| {
            session.fill()?;
            session.stock(900)?;
            compute(&mut session, 300, 1)?;
            multiplex(&mut session, 2)?;
            session.stock(600)?;
            let ready = levels(&session);
            session.put_away()?;
            Ok(ready)
        }));
        assert_eq!(first[0], first[1]);
        let epochs = [0, 1].map(|side| relation.disks[side].ledger().epoch.expect("open"));
        assert_eq!(epochs[0], epochs[1]);
        for request in 0..2 {
            let found = ok(relation.session(&config, request == 1, |mut session, _| {
                assert_eq!(session.claims().promise.kappa, 112);
                // Filled pools that nothing needs stay where they are.
                session.fill()?;
                let found = levels(&session);
                compute(&mut session, 200, request)?;
                // No watch list, no pool, nothing made.
                assert!(bytes(&mut session) < 150_000, "{}", bytes(&mut session));
                session.put_away()?;
                Ok(found)
            }));
            let used = 200 * request as u64;
            assert_eq!(found[0], (first[0].0 - used, first[0].1.clone()), "{text}");
            assert_eq!(found[0], found[1]);
        }
        // From the pool that was kept, in which nobody finds another item than was put away.
        ok(relation.session(&config, false, |mut session, _| {
            let ready = level(&session, ANDS) as usize;
            compute(&mut session, ready + 300, 3)?;
            multiplex(&mut session, 4)?;
            session.put_away()
        }));
        for (disk, epoch) in relation.disks.iter().zip(epochs) {
            let ledger = disk.ledger();
            assert_eq!((ledger.epoch, ledger.epochs), (Some(epoch), 1));
            assert_eq!(ledger.pools, 1, "an orderly end costs no pool");
        }
        relation.check();
    }
}

/// One session of the script below: fill, compute, save, compute more, and an orderly end.
fn script(mut session: Session, _: Role) -> Result<(), Fault> {
    session.stock(120)?;
    compute(&mut session, 80, 1)?;
    session.save()?;
    compute(&mut session, 60, 2)?;
    session.put_away()
}

/// Power is lost on either side or on both before any change of the disk: sessions go on afterwards, nothing is used twice, no wire is hashed
/// twice, and every result that is given is right.
#[test]
fn a_loss_of_power_at_any_time_uses_nothing_twice() {
    let config = small();
    let mut whole = Relation::default();
    ok(whole.session(&config, false, script));
    ok(whole.session(&config, false, script));
    let changes = whole.disks[0].changes().max(whole.disks[1].changes());
    assert!((10..80).contains(&changes), "{changes}");
    for at in 0..changes {
        // The other side loses power some changes later, sooner, or not at all.
        let other = [None, Some(at), Some(at + 1), at.checked_sub(1)][at % 4];
        let mut relation = Relation::default();
        relation.disks.iter().for_each(|disk| disk.set_stride([64, 1 << 16][at / 4 % 2]));
        relation.disks[at % 2].cut_after(at);
        if let Some(other) = other {
            relation.disks[1 - at % 2].cut_after(other);
        }
        for _ in 0..2 {
            for end in relation.session(&config, false, script) {
                let lost = matches!(
                    end,
                    Ok(()) | Err(Fault::Storage(_) | Fault::PeerAborted | Fault::Transport(_))
                );
                assert!(lost, "at {at}: {end:?}");
            }
        }
        relation.disks.iter().for_each(Disk::restart);
        for _ in 0..2 {
            ok(relation.session(&config, false, script));
        }
        relation.check();
        let ledgers = [0, 1].map(|side| relation.disks[side].ledger());
        assert_eq!(ledgers[0].epoch, ledgers[1].epoch, "at {at}");
        assert!(ledgers.iter().all(|ledger| !ledger.held && ledger.pools <= 4), "{ledgers:?}");
    }
}

/// Once anything was made in a connection that breaks, the pools are gone, and count; wires for inputs are enough. What was saved is not.
#[test]
fn a_broken_connection_burns_the_pools_and_what_may_have_been_used() {
    let config = small();
    for makes in [false, true] {
        let mut relation = Relation::default();
        relation.disks.iter().for_each(|disk| disk.set_stride(64));
        let bounds = |session: &Session| {
            let promise = session.claims().promise;
            [promise.epsilon_log2, promise.adaptive_epsilon_log2].map(|bound| bound.expect("one"))
        };
        ok(relation.session(&config, false, |mut session, _| {
            session.stock(600)?;
            session.put_away()
        }));
        let before = ok(relation.session(&config, false, |mut session, _| {
            compute(&mut session, 10, 1)?;
            if makes {
                use_up_inputs(&mut session)?;
            }
            Ok(bounds(&session))
        }));
        let ledgers = relation.disks.each_ref().map(Disk::ledger);
        for ledger in &ledgers {
            let mut parts = ledger.snapshots.iter().flat_map(|(_, parts)| parts);
            assert_eq!(parts.any(|part| part == "pool"), !makes, "each side burns its own");
        }
        let wires = ledgers.map(|ledger| ledger.spent[WIRES]);
        let after = ok(relation.session(&config, false, |mut session, _| {
            let (found, bounds) = (levels(&session), bounds(&session));
            compute(&mut session, 10, 2)?;
            session.put_away()?;
            Ok((found, bounds))
        }));
        for (before, (found, after)) in before.into_iter().zip(after) {
            assert!((500..1200).contains(&found.0), "{found:?}");
            assert_eq!(found.1[0], if makes { 0 } else { 400 });
            for (before, after) in before.into_iter().zip(after) {
                // Two pools are twice the tries, and some guesses meet pairs of both (docs/protocols/jimu.md).
                let (more, least) = (after - before, f64::from(u8::from(makes)));
                assert!(least <= more && more <= least * 1.02, "{before} {after}");
            }
        }
        for (disk, wires) in relation.disks.iter().zip(wires) {
            let ledger = disk.ledger();
            assert_eq!((ledger.epochs, ledger.pools), (1, 1 + u64::from(makes)));
            assert!(ledger.spent[WIRES] >= wires - 64);
        }
        relation.check();
    }
}

/// What a supply beside requests makes is kept as what is made between them is, saved beside or put away; what was not saved burns.
#[test]
fn what_is_made_beside_requests_outlives_sessions() {
    for text in ["jimu:pool=400", "jimu:pool=400,compact=true"] {
        let (config, mut relation) = (config(text), Relation::default());
        let first = ok(relation.session(&config, true, |mut session, _| {
            session.stock(500)?;
            session.save()?;
            session.keep(400, 700)?;
            session.stock(700)?;
            multiplex(&mut session, 1)?;
            compute(&mut session, 900, 2)?;
            session.save()?;
            compute(&mut session, 100, 3)?;
            session.put_away()?;
            Ok(())
        }));
        assert_eq!(first, [(), ()]);
        // What was ready then is ready now, and the pools are where they were; more is made of them.
        let found = ok(relation.session(&config, true, |mut session, _| {
            let found = levels(&session);
            session.keep(2000, 2000)?;
            compute(&mut session, 1500, 4)?;
            session.save()?;
            // Nothing is put away.
            compute(&mut session, 50, 5)?;
            Ok(found)
        }));
        assert!(found[0] == found[1] && found[0].0 > 0 && found[0].1[0] == 400, "{found:?}");
        ok(relation.session(&config, false, |mut session, _| {
            compute(&mut session, 300, 6)?;
            session.put_away()
        }));
        relation.check();
    }
}

/// Messages that a cheater changes, each with the ANDs of a job in which it is sent; beside requests or not.
fn cheats() -> Vec<(Role, (Tag, usize), bool)> {
    let by_evaluator = [(cenote_ot::tags::TREES, 1), (tags::JIMU_RESULT, 10), (tags::JIMU_SUM, 1)];
    let by_garbler = [
        (tags::JIMU_OUTER, 10),
        (tags::JIMU_STRIP, 2000),
        (tags::JIMU_CHECK, 2000),
        (tags::JIMU_INNER, 2000),
        (tags::JIMU_PERMS, 10),
    ];
    // In what is made beside requests.
    let by_leader = [tags::JIMU_ORDER, tags::JIMU_CHECK, tags::JIMU_INNER, tags::JIMU_PROOF];
    let cheats = by_evaluator.map(|cheat| (Role::Evaluator, cheat, false)).into_iter();
    let cheats = cheats.chain(by_garbler.map(|cheat| (Role::Garbler, cheat, false)));
    cheats.chain(by_leader.map(|tag| (Role::Garbler, (tag, 2000), true))).collect()
}

/// The first message with this tag is another one.
fn changes_one(tag: Tag, channel: &mut Channel) {
    let mut cheated = false;
    channel.tamper(move |frame| {
        if frame.tag != tag.id || std::mem::replace(&mut cheated, true) {
            return Fate::Pass;
        }
        Fate::Replace(frame.payload.iter().map(|byte| byte ^ 0xff).collect())
    });
}

/// A check that fails, on either side, in a set-up, in the supply or in a request on what is ready, ends the epoch of whoever sees it and
/// holds the relation, before the other side hears of it.
#[test]
fn a_failed_check_ends_the_epoch_before_the_peer_hears_of_it() {
    let config = small();
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(500)?;
        session.put_away()
    }));
    for (cheater, (tag, ands), beside) in cheats() {
        let (mut copy, honest) = (relation.copy(), cheater.peer());
        let (ended, heard) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (is_ended, was) = (Arc::clone(&ended), Arc::<AtomicBool>::clone(&heard));
        copy.disks[honest as usize].at_end(move || {
            // Whoever does not wait for this is heard before.
            thread::sleep(Duration::from_millis(100));
            ended.store(true, Ordering::SeqCst);
        });
        copy.at_fault = Some(Arc::new(move |role| {
            if role == cheater {
                was.store(!is_ended.load(Ordering::SeqCst), Ordering::SeqCst);
            }
        }));
        let run = |mut session: Session, _| {
            if beside {
                session.keep(ands, ands)?;
            }
            if [tags::JIMU_SUM, tags::JIMU_PROOF].contains(&tag) {
                use_up_inputs(&mut session)?;
            }
            compute(&mut session, ands, 1)
        };
        let ends = if beside {
            let cheats = move |role, data: &mut Channel| {
                if role == cheater {
                    changes_one(tag, data);
                }
            };
            copy.session_over(extendable_pair(LIMIT, cheats), &config, run)
        } else {
            let (mut a, mut b) = patient_pair();
            changes_one(tag, if cheater == Role::Garbler { &mut a } else { &mut b });
            copy.session_over((a, b), &config, run)
        };
        let name = tag.name;
        assert!(matches!(ends[honest as usize], Err(Fault::Misbehaved(_))), "{name}: {ends:?}");
        let ledger = copy.disks[honest as usize].ledger();
        assert!(ledger.held && ledger.epoch.is_none() && ledger.snapshots.is_empty());
        assert!(!heard.load(Ordering::SeqCst), "the peer heard of it first: {name}");
        // Until the owner decides, the peer hears nothing but the end.
        copy.at_fault = None;
        let ends = copy.session(&config, false, |session, _| session.put_away());
        let held = &ends[honest as usize];
        assert!(matches!(held, Err(Fault::Policy(why)) if why.contains("cenote pool lift")));
        assert_eq!(ends[cheater as usize], Err(Fault::PeerAborted));
    }
}

/// A garbler that sees the coin, or an evaluator that hears of it, and hangs up: in a set-up each time is a set of pools, in a refill it
/// costs those that there were.
#[test]
fn whoever_hangs_up_at_a_coin_is_counted() {
    let config = small();
    let hangs_up = |tag: Tag, cheater: Role| {
        let (mut a, mut b) = pair_with_limit(Duration::from_secs(1));
        let (channel, mut gone) = (if cheater == Role::Garbler { &mut a } else { &mut b }, false);
        channel.tamper(move |frame| {
            gone |= frame.tag == tag.id;
            if gone { Fate::Drop } else { Fate::Pass }
        });
        (a, b)
    };
    let lost =
        |end: &Result<(), Fault>| matches!(end, Err(Fault::Transport(_) | Fault::PeerAborted));
    let cheats = [(COIN_OPEN, Role::Garbler), (tags::JIMU_ANSWER, Role::Garbler)];
    for (tag, cheater) in cheats.into_iter().chain([(COIN_REPLY, Role::Evaluator)]) {
        let mut relation = Relation::default();
        for pools in 1..4 {
            let ends = relation
                .session_over(hangs_up(tag, cheater), &config, |session, _| session.put_away());
            assert!(ends.iter().all(lost), "{ends:?}");
            let ledgers = [0, 1].map(|side| relation.disks[side].ledger());
            let honest = &ledgers[cheater.peer() as usize];
            assert_eq!((honest.pools, honest.epoch, honest.held), (pools, None, false), "{tag:?}");
        }
        ok(relation.session(&config, false, |mut session, _| {
            let promise = session.claims().promise;
            let times = promise.adaptive_epsilon_log2.expect("a bound") + 38.0;
            assert!((1.0..2.0).contains(&times), "four times the bound: {times}");
            session.stock(300)?;
            session.put_away()
        }));
        let more = |mut session: Session, _| session.stock(4000);
        let ends = relation.session_over(hangs_up(tag, cheater), &config, more);
        assert!(ends.iter().all(lost), "{ends:?}");
        let ledger = relation.disks[cheater.peer() as usize].ledger();
        assert!(!ledger.held && ledger.epoch.is_some());
        let mut parts = ledger.snapshots.iter().flat_map(|(_, parts)| parts);
        assert!(parts.clone().count() > 0 && !parts.any(|part| part == "pool"));
    }
}

/// What a side says of what it has, changed on the way: nothing comes back, and no wire, whatever it says.
#[test]
fn no_claim_of_a_peer_brings_anything_back() {
    let config = small();
    let mut relation = Relation::default();
    relation.disks.iter().for_each(|disk| disk.set_stride(64));
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(600)?;
        session.put_away()
    }));
    ok(relation.session(&config, false, |mut session, _| {
        compute(&mut session, 10, 1)?;
        session.put_away()
    }));
    let before = relation.disks[0].ledger();
    // Behind the epoch: a number for each stock and the wires, then a byte and a name for each snapshot.
    let stocks = before.spent.len() - 1;
    let (wires, snapshots) = (33 + 8 * (stocks - 1), 33 + 8 * stocks);
    let none = vec![0; snapshots + 66];
    let claims: [(&str, usize, &[u8]); 9] = [
        ("fewer ANDs", 33, &[0; 8]),
        ("fewer wires", wires, &[0; 8]),
        ("more wires, between two vectors", wires, &[1]),
        ("far more wires", wires + 7, &[1]),
        ("another epoch", 1, &[0; 8]),
        ("no epoch", 0, &none),
        ("another snapshot", snapshots + 1, &[0; 8]),
        ("no pool", snapshots, &[1]),
        ("no snapshot", snapshots, &[0; 66]),
    ];
    for side in [Role::Garbler, Role::Evaluator] {
        for (claim, at, bytes) in claims {
            let (mut copy, honest) = (relation.copy(), side.peer() as usize);
            let (mut a, mut b) = patient_pair();
            let channel = if side == Role::Garbler { &mut a } else { &mut b };
            let bytes = bytes.to_vec();
            channel.tamper(move |frame| {
                changed(frame.tag, frame.payload, |state| {
                    state[at..at + bytes.len()].copy_from_slice(&bytes);
                })
            });
            // The cheater's own side goes by what it really has, so that sessions fail or stand as they may.
            let ends = copy.session_over((a, b), &config, |mut session, _| {
                session.stock(700)?;
                compute(&mut session, 10, 2)?;
                session.put_away()
            });
            copy.check();
            let ledger = copy.disks[honest].ledger();
            if ledger.epoch.is_some() && ledger.epoch == before.epoch {
                for stock in [ANDS, WIRES] {
                    assert!(ledger.spent[stock] >= before.spent[stock], "{claim}: {ends:?}");
                }
            }
        }
    }
    let (mut a, b) = patient_pair();
    a.tamper(|frame| changed(frame.tag, frame.payload, |state| state[0] = 2));
    let ends = relation.session_over((a, b), &config, |session, _| session.put_away());
    assert_eq!(ends[1], Err(Fault::Misbehaved("epoch.state")));
    assert!(relation.disks[1].ledger().held && EPOCH_STATE.id > 0);
}

/// A backup that was put back on one side: the other side's numbers count, and what it has no snapshot of is lost.
#[test]
fn a_backup_that_was_put_back_reuses_nothing() {
    let config = small();
    let run = |mut session: Session, _| {
        session.stock(150)?;
        compute(&mut session, 100, 3)?;
        session.put_away()
    };
    for side in 0..2 {
        let mut relation = Relation::default();
        ok(relation.session(&config, true, run));
        let old = relation.disks[side].backup();
        for _ in 0..3 {
            ok(relation.session(&config, true, run));
        }
        relation.disks[side].put_back(old);
        let epoch = relation.disks[1 - side].ledger().epoch;
        ok(relation.session(&config, true, run));
        relation.check();
        for disk in &relation.disks {
            assert_ne!(disk.ledger().epoch, epoch, "an older snapshot ends the epoch");
        }
    }
}

/// Other parameters, other backends, and an epoch whose wires are spent.
#[test]
fn items_of_another_kind_or_of_a_spent_epoch_do_not_go_on() {
    let mut relation = Relation::default();
    let once = |mut session: Session, _| {
        compute(&mut session, 5, 1)?;
        session.put_away()
    };
    for (epochs, text) in [
        (1, "jimu:pool=400"),
        (2, "jimu:pool=401"),
        (3, "jimu:pool=401,compact=true"),
        (4, "jimu:pool=401,compact=true,muxcore=false"),
        (4, "jimu:pool=401,compact=true,muxcore=false,ot=softspoken8"),
    ] {
        ok(relation.session(&config(text), false, once));
        assert_eq!(relation.disks[0].ledger().epochs, epochs, "{text}");
    }
    let ends = relation.session(&smallest(Backend::Wrk), false, |session, _| session.put_away());
    assert!(
        ends.iter().any(|end| matches!(end, Err(Fault::Policy(why)) if why.contains("backend")))
    );
    let mut relation = Relation::default();
    ok(relation.session(&small(), false, once));
    for disk in &relation.disks {
        disk.store().spend(WIRES, 1 << 42).expect("power");
    }
    for epochs in [2, 2] {
        ok(relation.session(&small(), false, once));
        assert_eq!(relation.disks[0].ledger().epochs, epochs);
    }
    relation.check();
}

/// A second answer to one coin, the same or another, ends the epoch: nobody has buckets drawn again.
#[test]
fn whoever_answers_twice_has_one_draw() {
    second_answers(&small(), |cheater, tag, ends| {
        // A second reply is taken for that to the next coin, which the evaluator so fixed before it saw a commitment; it says another itself.
        let refused = |end: &Result<(), Fault>| matches!(end, Err(Fault::Misbehaved(_)));
        let side = ends.iter().position(refused)?;
        let by = side == cheater.peer() as usize || tag == COIN_REPLY;
        (by && ends.iter().all(Result::is_err)).then_some(side)
    });
}

/// Sessions over a line that can be extended open no other channel, and save as often as they like.
#[test]
fn saves_between_requests_keep_what_there_is() {
    let (config, mut relation) = (small(), Relation::default());
    let ends =
        relation.session_over(extendable_pair(LIMIT, |_, _| ()), &config, |mut session, _| {
            for request in 0..3 {
                session.stock(100)?;
                compute(&mut session, 50, request)?;
                session.save()?;
            }
            Ok(level(&session, ANDS))
        });
    let ready = ok(ends);
    // It broke off with nothing used since it saved: all of that is there, but not the pools.
    let found = ok(relation.session(&config, false, |mut session, _| {
        let found = (level(&session, ANDS), level(&session, POOL));
        multiplex(&mut session, 1)?;
        session.put_away()?;
        Ok(found)
    }));
    assert!(ready[0] > 0);
    assert_eq!(found, ready.map(|ready| (ready, 0)));
    relation.check();
}

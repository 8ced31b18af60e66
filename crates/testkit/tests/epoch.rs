//! Sessions that keep items for later ones: what was kept serves, nothing is used twice whatever is lost, a failed check ends it all,
//! and no claim of a peer brings anything back.

mod relation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cenote_engine::backends::wrk::supply::{POOL, TRIPLES};
use cenote_engine::backends::wrk::tags;
use cenote_engine::parts::tags::{EPOCH_SAVED, EPOCH_STATE};
use cenote_engine::{Backend, Fault, PoolChoice, Role, Session, SessionConfig};
use cenote_net::{Channel, Deviation};
use cenote_pool::PoolError;
use cenote_testkit::disk::Disk;
use cenote_testkit::run::{
    config, extendable_pair, pair_with_limit, patient_pair, prg_of, smallest, with_pool,
};
use cenote_testkit::run_pair_over;
use relation::{LIMIT, Relation, changed, compute, level, ok, second_answers};

/// With a pool and without, refills between requests and beside them.
fn kinds() -> Vec<(SessionConfig, bool)> {
    let pool = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let silent = config("wrk:ot=silent").for_ands(1);
    let wide = config("wrk:pool=1073,rho=80");
    vec![
        (smallest(Backend::Wrk), false),
        (smallest(Backend::Wrk), true),
        (pool, false),
        (pool, true),
        (silent, true),
        (wide, true),
    ]
}

#[test]
fn what_was_put_away_serves_later_sessions() {
    for (config, beside) in kinds() {
        let mut relation = Relation::default();
        let ready = ok(relation.session(&config, beside, |mut session, _| {
            session.fill()?;
            session.stock(1500)?;
            compute(&mut session, 300, 1)?;
            let ready = (level(&session, TRIPLES), level(&session, POOL));
            session.put_away()?;
            Ok(ready)
        }));
        let epochs = [0, 1].map(|side| relation.disks[side].ledger().epoch.expect("open"));
        assert_eq!(epochs[0], epochs[1]);
        for request in 2..4 {
            let found = ok(relation.session(&config, beside, |mut session, _| {
                let found = (level(&session, TRIPLES), level(&session, POOL));
                compute(&mut session, 300, request)?;
                session.put_away()?;
                Ok(found)
            }));
            let used = 300 * (request as u64 - 2);
            for (before, after) in ready.iter().zip(found) {
                assert_eq!((before.0 - used, before.1), after, "{config:?} {beside}");
            }
        }
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
    session.stock(600)?;
    compute(&mut session, 200, 1)?;
    session.save()?;
    compute(&mut session, 100, 2)?;
    session.put_away()
}

/// Power is lost on either side or on both before any change of the disk: sessions go on afterwards, nothing is used twice, and every result that is
/// given is right.
#[test]
fn a_loss_of_power_at_any_time_uses_nothing_twice() {
    for (config, beside) in
        [(smallest(Backend::Wrk), true), (with_pool(Backend::Wrk, PoolChoice::Kept(1073)), false)]
    {
        let mut whole = Relation::default();
        ok(whole.session(&config, beside, script));
        ok(whole.session(&config, beside, script));
        let changes = whole.disks[0].changes();
        assert!((10..60).contains(&changes), "{changes}");
        for at in 0..changes {
            // The evaluator loses power some changes later, sooner, or not at all.
            let other = [None, Some(at), Some(at + 1), at.checked_sub(1)][at % 4];
            let mut relation = Relation::default();
            // So that something of a snapshot is left after a crash, or nothing.
            relation.disks.iter().for_each(|disk| disk.set_stride([64, 1 << 16][at / 4 % 2]));
            relation.disks[at % 2].cut_after(at);
            if let Some(other) = other {
                relation.disks[1 - at % 2].cut_after(other);
            }
            let mut done = 0;
            for _ in 0..2 {
                let ends = relation.session(&config, beside, script);
                done += usize::from(ends.iter().all(Result::is_ok));
                for end in ends {
                    let lost = matches!(
                        end,
                        Ok(()) | Err(Fault::Storage(_) | Fault::PeerAborted | Fault::Transport(_))
                    );
                    assert!(lost, "at {at}: {end:?}");
                }
            }
            assert!(done < 2, "power was lost at {at}");
            relation.disks.iter().for_each(Disk::restart);
            for _ in 0..2 {
                ok(relation.session(&config, beside, script));
            }
            relation.check();
            let ledgers = [0, 1].map(|side| relation.disks[side].ledger());
            assert_eq!(ledgers[0].epoch, ledgers[1].epoch, "at {at}");
            assert!(ledgers.iter().all(|ledger| !ledger.held && ledger.pools <= 3), "{ledgers:?}");
        }
    }
}

/// A connection that breaks leaves what was saved, but for what may have been used; once anything was made in it the pool is gone, and counts.
#[test]
fn a_broken_connection_burns_the_pool_and_what_may_have_been_used() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    for (beside, makes) in [(false, true), (true, true), (false, false), (true, false)] {
        let mut relation = Relation::default();
        let bound =
            |session: &Session| session.claims().promise.adaptive_epsilon_log2.expect("a bound");
        ok(relation.session(&config, beside, |mut session, _| {
            session.stock(70_000)?;
            session.put_away()
        }));
        let before = ok(relation.session(&config, beside, |mut session, _| {
            compute(&mut session, 10, 1)?;
            // Whoever has enough first is gone.
            let stocked = if makes { session.stock(80_000) } else { Ok(()) };
            assert!(matches!(stocked, Ok(()) | Err(Fault::Transport(_) | Fault::PeerAborted)));
            Ok(bound(&session))
        }));
        let after = ok(relation.session(&config, beside, |mut session, _| {
            let found = (level(&session, TRIPLES), level(&session, POOL));
            compute(&mut session, 10, 2)?;
            let bound = bound(&session);
            session.put_away()?;
            Ok((found, bound))
        }));
        for (before, (found, bound)) in before.into_iter().zip(after) {
            // A stride of 2^16 is noted at the first item that leaves.
            assert!((4000..6000).contains(&found.0), "{found:?}");
            assert_eq!(found.1, if makes { 0 } else { 1073 });
            assert!((bound - before - f64::from(u8::from(makes))).abs() < 1e-9, "{before} {bound}");
        }
        // It made shares, all of which the stride had burnt: from the pool that was left, or with another one.
        for disk in &relation.disks {
            let ledger = disk.ledger();
            assert_eq!((ledger.epochs, ledger.pools), (1, 1 + u64::from(makes)));
        }
        relation.check();
    }
}

/// A check that fails, in a set-up, in the supply or in a request on what is ready, ends the epoch of whoever sees it and holds the relation, before the
/// other side hears of it.
#[test]
fn a_failed_check_ends_the_epoch_before_the_peer_hears_of_it() {
    let config = smallest(Backend::Wrk);
    for beside in [false, true] {
        let mut relation = Relation::default();
        ok(relation.session(&config, beside, |mut session, _| {
            session.stock(1500)?;
            session.put_away()
        }));
        for (tag, ands) in
            [(cenote_ot::tags::TREES, 1), (tags::LEAKY_D, 30_000), (tags::BEAVER_OPEN, 10)]
        {
            let mut copy = relation.copy();
            let (ended, heard) = (Arc::new(AtomicBool::new(false)), Arc::default());
            let (is_ended, was) = (Arc::clone(&ended), Arc::<AtomicBool>::clone(&heard));
            copy.disks[0].at_end(move || {
                // Whoever does not wait for this is heard before.
                thread::sleep(Duration::from_millis(100));
                ended.store(true, Ordering::SeqCst);
            });
            copy.at_fault = Some(Arc::new(move |role| {
                if role == Role::Evaluator {
                    was.store(!is_ended.load(Ordering::SeqCst), Ordering::SeqCst);
                }
            }));
            let cheat = move |role, channel: &mut Channel| {
                if role == Role::Evaluator {
                    drop(channel.deviate(tag, 0, Deviation::Flip(3)));
                }
            };
            let run = |mut session: Session, _| compute(&mut session, ands, 1);
            let ends = if beside {
                let (a, mut b) = extendable_pair(LIMIT, cheat);
                cheat(Role::Evaluator, b.control());
                copy.session_over((a, b), &config, run)
            } else {
                let (a, mut b) = patient_pair();
                cheat(Role::Evaluator, &mut b);
                copy.session_over((a, b), &config, run)
            };
            assert!(matches!(ends[0], Err(Fault::Misbehaved(_))), "{ends:?}");
            let ledger = copy.disks[0].ledger();
            assert!(ledger.held && ledger.epoch.is_none() && ledger.snapshots.is_empty());
            assert!(!heard.load(Ordering::SeqCst), "the peer heard of it first: {tag:?}");
            // Until the owner decides, the peer hears nothing but the end.
            copy.at_fault = None;
            let ends = copy.session(&config, beside, |session, _| session.put_away());
            assert!(
                matches!(&ends[0], Err(Fault::Policy(why)) if why.contains("cenote pool lift"))
            );
            assert_eq!(ends[1], Err(Fault::PeerAborted));
        }
    }
}

/// A cheater that hangs up when it sees that its guess was wrong has cost itself the pool.
#[test]
fn whoever_hangs_up_while_something_is_made_loses_the_pool() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(2000)?;
        session.put_away()
    }));
    let (a, mut b) = pair_with_limit(Duration::from_millis(300));
    drop(b.deviate(tags::LEAKY_D, 0, Deviation::Drop));
    let [honest, _] =
        relation.session_over((a, b), &config, |mut session, _| session.stock(9_000_000));
    assert!(matches!(honest, Err(Fault::Transport(_) | Fault::PeerAborted)), "{honest:?}");
    let ledger = relation.disks[0].ledger();
    assert!(!ledger.held && ledger.epoch.is_some());
    let parts = ledger.snapshots.iter().flat_map(|(_, parts)| parts);
    assert!(!parts.clone().any(|part| part == "pool") && parts.count() > 0);
}

/// Whoever has a slow disk hears that all is kept, however soon the other has closed.
#[test]
fn a_slow_disk_is_waited_for() {
    for (config, beside) in kinds() {
        let mut relation = Relation::default();
        relation.disks[usize::from(beside)].slow(Duration::from_millis(30));
        for _ in 0..2 {
            ok(relation.session(&config, beside, |mut session, _| {
                session.stock(600)?;
                session.put_away()
            }));
        }
    }
}

/// A second answer to one coin, the same or another, ends the epoch: nobody has buckets drawn again.
#[test]
fn whoever_answers_twice_has_one_draw() {
    let config = with_pool(Backend::Wrk, PoolChoice::Kept(1073));
    second_answers(&config, |cheater, _, ends| {
        let honest = cheater.peer() as usize;
        matches!(ends[honest], Err(Fault::Misbehaved(_))).then_some(honest)
    });
}

/// What a side says of what it has, changed on the way: nothing comes back, whatever it says.
#[test]
fn no_claim_of_a_peer_brings_anything_back() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(70_000)?;
        session.put_away()
    }));
    ok(relation.session(&config, false, |mut session, _| {
        compute(&mut session, 10, 1)?;
        session.put_away()
    }));
    let noted = relation.disks[0].ledger().spent[TRIPLES];
    // Number of triples noted: less, more, far too much; another epoch, none; another snapshot, no pool, a snapshot twice.
    type Claim = (&'static str, fn(&mut Vec<u8>));
    let claims: [Claim; 8] = [
        ("fewer", |state| state[33..41].copy_from_slice(&0u64.to_le_bytes())),
        ("more", |state| state[35] += 1),
        ("far more", |state| state[38] = 1),
        ("another epoch", |state| state[1] ^= 1),
        ("no epoch", |state| state.fill(0)),
        ("another snapshot", |state| state[58] ^= 1),
        ("no pool", |state| state[57] = 1),
        ("no snapshot", |state| state[57..].fill(0)),
    ];
    for (claim, change) in claims {
        let mut copy = relation.copy();
        let (a, mut b) = patient_pair();
        b.tamper(move |frame| changed(frame.tag, frame.payload, change));
        // The cheater's own side goes by what it really has, so that sessions fail or stand as they may.
        let [honest, _] = copy.session_over((a, b), &config, |mut session, _| {
            compute(&mut session, 10, 2)?;
            session.put_away()
        });
        copy.check();
        let ledger = copy.disks[0].ledger();
        let still = ledger.epoch.is_some() && ledger.epoch == relation.disks[0].ledger().epoch;
        assert!(!still || ledger.spent[TRIPLES] >= noted, "{claim}: {ledger:?} {honest:?}");
    }
}

#[test]
fn malformed_states_and_other_snapshots_are_refused() {
    let config = smallest(Backend::Wrk);
    let malformed: [(usize, u8); 4] = [(0, 2), (0, 255), (57, 3), (90, 7)];
    for (at, byte) in malformed {
        let mut relation = Relation::default();
        let (a, mut b) = patient_pair();
        b.tamper(move |frame| changed(frame.tag, frame.payload, |state| state[at] = byte));
        let [honest, _] = relation.session_over((a, b), &config, |session, _| session.put_away());
        assert_eq!(honest, Err(Fault::Misbehaved("epoch.state")), "{at}");
        assert!(relation.disks[0].ledger().held);
    }
    let mut relation = Relation::default();
    let (a, mut b) = patient_pair();
    drop(b.deviate(EPOCH_SAVED, 0, Deviation::Flip(9)));
    let [honest, _] = relation.session_over((a, b), &config, |session, _| session.put_away());
    assert!(matches!(honest, Err(Fault::Policy(_))), "{honest:?}");
    assert!(!relation.disks[0].ledger().held);
}

/// Every way to change the messages of an epoch, in a session that goes on from one before: results are right or there are none, and nothing is used twice.
#[test]
fn every_change_of_a_message_is_survived() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(70_000)?;
        session.put_away()
    }));
    let payload = |n: usize| Deviation::Replace(vec![7; n]);
    let mut changes = vec![
        Deviation::Cut(1),
        Deviation::Cut(200),
        Deviation::Drop,
        Deviation::Double,
        Deviation::Swap,
        Deviation::Replay,
        payload(0),
        payload(32),
        payload(123),
        payload(5000),
    ];
    changes.extend((0..984).step_by(67).map(Deviation::Flip));
    for (tag, index) in [(EPOCH_STATE, 0), (EPOCH_SAVED, 0), (EPOCH_SAVED, 1)] {
        for change in &changes {
            let mut copy = relation.copy();
            let (a, mut b) = pair_with_limit(Duration::from_millis(500));
            let witness = b.deviate(tag, index, change.clone());
            let [honest, _] = copy.session_over((a, b), &config, |mut session, _| {
                compute(&mut session, 10, 2)?;
                session.save()?;
                compute(&mut session, 10, 3)?;
                session.put_away()
            });
            assert!(
                witness.happened() || matches!(change, Deviation::Replay | Deviation::Swap),
                "{change:?}"
            );
            let ends = matches!(
                honest,
                Ok(())
                    | Err(Fault::Misbehaved(_)
                        | Fault::Transport(_)
                        | Fault::PeerAborted
                        | Fault::Policy(_))
            );
            assert!(ends, "{}: {change:?}: {honest:?}", tag.name);
            copy.check();
        }
    }
}

/// Whoever is on the line cannot make two honest sides decide differently: the connection ends in its set-up.
#[test]
fn whoever_changes_a_state_on_the_way_ends_the_connection() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |mut session, _| {
        session.stock(1000)?;
        session.put_away()
    }));
    let (a, mut b) = patient_pair();
    b.tamper(|frame| changed(frame.tag, frame.payload, |state| state[33] += 1));
    let ends = relation.session_over((a, b), &config, |session, _| session.put_away());
    assert!(ends.contains(&Err(Fault::Misbehaved("ot.pprf"))), "{ends:?}");
}

/// Too many broken connections, or connections of one epoch, and the bound or the keys are spent.
#[test]
fn the_bound_is_spent_by_pools_and_an_epoch_by_connections() {
    let config = smallest(Backend::Wrk);
    let disk = Disk::default();
    let mut store = disk.store();
    (0..1024).for_each(|_| store.count_pool(PoolError::default()).expect("power"));
    let (a, _b) = patient_pair();
    let spent = Session::open_kept(a, Role::Garbler, &config, |all| all, store).err();
    assert!(matches!(&spent, Some(Fault::Exhausted(why)) if why.contains("1024")), "{spent:?}");
    let mut relation = Relation::default();
    let once = |session: Session, _| session.put_away();
    ok(relation.session(&config, false, once));
    for disk in &relation.disks {
        disk.store().spend("epoch.connections", 255).expect("power");
    }
    for epochs in [1, 2] {
        ok(relation.session(&config, false, once));
        assert_eq!(relation.disks[0].ledger().epochs, epochs);
    }
}

/// A backup that was put back on one side: the other side's numbers count, and what it has no snapshot of is lost.
#[test]
fn a_backup_that_was_put_back_reuses_nothing() {
    let config = smallest(Backend::Wrk);
    let run = |mut session: Session, _| {
        session.stock(1000)?;
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

/// Whoever keeps nothing does not meet whoever does; both hear why. Parameters that items depend on begin another epoch.
#[test]
fn both_sides_keep_the_same_kind_of_items_or_none() {
    let config = smallest(Backend::Wrk);
    let disk = Disk::default();
    let (a, b) = run_pair_over(patient_pair(), |channel, role| match role {
        Role::Garbler => {
            Session::open_kept_seeded(channel, role, &config, prg_of(role, 1), disk.store())
        }
        Role::Evaluator => Session::open_seeded(channel, role, &config, prg_of(role, 1)),
    });
    for end in [a.err(), b.err()] {
        assert!(matches!(&end, Some(Fault::Policy(why)) if why.contains("items")), "{end:?}");
    }
    assert_eq!(disk.changes(), 0);
    let mut relation = Relation::default();
    for (epochs, config) in [
        (1, smallest(Backend::Wrk)),
        (2, self::config("wrk:rho=64").for_ands(1)),
        (2, self::config("wrk:rho=64,ot=softspoken8").for_ands(1)),
    ] {
        ok(relation.session(&config, false, |mut session, _| {
            compute(&mut session, 20, 1)?;
            session.put_away()
        }));
        assert_eq!(relation.disks[0].ledger().epochs, epochs, "{config:?}");
    }
    let (a, _) = patient_pair();
    let refused =
        Session::open_kept(a, Role::Garbler, &smallest(Backend::Yao), |all| all, disk.store());
    assert!(matches!(refused.err(), Some(Fault::Misuse(_))));
}

/// Whatever the owners change, a pool counts with the bound that it had: another security level or another backend forgets nothing.
#[test]
fn the_bound_is_the_sum_over_pools_of_all_kinds() {
    let bounds = |session: &Session| {
        let promise = session.claims().promise;
        [promise.epsilon_log2, promise.adaptive_epsilon_log2].map(|bound| bound.expect("one"))
    };
    let kinds = ["jimu:pool=400", "wrk:pool=1073", "wrk:pool=1073,rho=80"].map(config);
    let of_one = kinds.each_ref().map(|config| {
        let once = |session: Session, _| Ok(bounds(&session));
        ok(Relation::default().session(config, false, once))[0]
    });
    let (mut relation, mut expected) = (Relation::default(), [0.0; 2]);
    for (config, of_one) in kinds.iter().zip(of_one) {
        // Those of another backend are ended by their owners; the count stays.
        relation.disks.iter().for_each(|disk| disk.store().end(false).expect("power"));
        for whole in [false, true] {
            if !whole {
                expected = [0, 1].map(|i| expected[i] + f64::exp2(of_one[i]));
            }
            let shown = ok(relation.session(config, false, |mut session, _| {
                session.fill()?;
                let shown = bounds(&session);
                session.put_away()?;
                Ok(shown)
            }));
            for (shown, expected) in
                shown.into_iter().flat_map(|shown| shown.into_iter().zip(expected))
            {
                let more = shown - expected.log2();
                assert!(
                    (-1e-6..0.002).contains(&more),
                    "{config:?}: {shown} for {}",
                    expected.log2()
                );
            }
        }
    }
    assert!(relation.disks.iter().all(|disk| disk.ledger().pools == 3));
}

#[test]
fn a_session_without_a_store_saves_nothing() {
    let config = smallest(Backend::Wrk);
    let (a, b) = run_pair_over(patient_pair(), |channel, role| {
        let mut session = Session::open_seeded(channel, role, &config, prg_of(role, 1))?;
        let saved = session.save();
        assert!(matches!(saved, Err(Fault::Misuse(_))), "{saved:?}");
        Ok::<_, Fault>(())
    });
    assert_eq!((a, b), (Ok(()), Ok(())));
}

/// Callers out of step lose their session, and nothing that was kept.
#[test]
fn callers_out_of_step_keep_what_was_saved() {
    let config = smallest(Backend::Wrk);
    for beside in [false, true] {
        let mut relation = Relation::default();
        ok(relation.session(&config, beside, |mut session, _| {
            session.stock(600)?;
            session.put_away()
        }));
        let ends = relation.session(&config, beside, |mut session, role| match role {
            Role::Garbler => session.save(),
            Role::Evaluator => session.put_away(),
        });
        let refused = |end: &Result<(), Fault>| matches!(end, Err(Fault::Policy(_)));
        assert!(ends.iter().any(refused) && ends.iter().all(Result::is_err), "{ends:?}");
        let found =
            ok(relation.session(&config, beside, |session, _| Ok(level(&session, TRIPLES))));
        assert!(found.iter().all(|found| *found >= 600), "{found:?}");
    }
}

/// The store of one peer, or of one role, is not spent on another.
#[test]
fn a_store_serves_one_role() {
    let config = smallest(Backend::Wrk);
    let mut relation = Relation::default();
    ok(relation.session(&config, false, |session, _| session.put_away()));
    let epoch = relation.disks[0].ledger().epoch;
    relation.disks.reverse();
    let ends = relation.session(&config, false, |session, _| session.put_away());
    for end in ends {
        assert!(matches!(end, Err(Fault::Policy(_) | Fault::PeerAborted)), "{end:?}");
    }
    assert_eq!(relation.disks[0].ledger().epoch, epoch);
}

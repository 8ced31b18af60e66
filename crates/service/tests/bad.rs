//! What two services do about a line that goes nowhere, a peer of another version, stores that were put back, copied, cut or have lost their key,
//! other settings on both sides, and an end in order.

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, Deviation, Identity, PeerCertificate, Role, Tag, recv_route, send_route, tcp_listen,
    tls_accept, tls_connect,
};
use cenote_pool::{Ledger, Store as _};
use cenote_service::Service;
use cenote_service::model::{JobState, JobView, LaneView, NewJob, Sides, Source, Terms};
use common::{LESS, Pair, approve, open_store, prepared, terms};
use serde_json::json;

const LONG: Duration = Duration::from_secs(90);

fn compare(x: u32) -> NewJob {
    NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(x))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    }
}

#[track_caller]
fn is_computed(pair: &Pair, x: u32) -> JobView {
    let (job, _) = pair.a().submit(&compare(x)).unwrap();
    let done = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    assert_eq!(done.result.as_ref().unwrap()["z"], json!(x < 5));
    done
}

#[track_caller]
fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

fn lane(service: &Service, name: &str) -> LaneView {
    service.status().unwrap().lanes.into_iter().find(|lane| lane.name == name).unwrap()
}

/// Waits until a lane has failed; why.
#[track_caller]
fn why_failed(service: &Service, name: &str) -> String {
    until("the lane fails", || lane(service, name).state == "failed");
    lane(service, name).reason.unwrap()
}

/// What a store of a service that does not run says.
fn ledger(dir: &Path, lane: &str) -> Ledger {
    open_store(dir, lane).ledger().clone()
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

/// A line between both services, whose connections can end nowhere: nothing passes any more, and neither end is told.
struct Line {
    port: u16,
    /// Connections that were made before this many calls are dead.
    dead: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
    /// Bytes that one direction of a connection may still have before all that there are die; 0 for no limit.
    fuse: Arc<AtomicU64>,
}

impl Line {
    fn to(port: u16) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Line {
            port: listener.local_addr().unwrap().port(),
            dead: Arc::default(),
            calls: Arc::default(),
            fuse: Arc::default(),
        };
        let (dead, calls, fuse) =
            (Arc::clone(&line.dead), Arc::clone(&line.calls), Arc::clone(&line.fuse));
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let Ok(called) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let number = calls.fetch_add(1, Ordering::SeqCst);
                let ends = [(&caller, &called), (&called, &caller)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()));
                for (from, to) in ends {
                    let pass = Pass {
                        number,
                        dead: dead.clone(),
                        calls: calls.clone(),
                        fuse: fuse.clone(),
                    };
                    thread::spawn(move || pass.run(from, to));
                }
            }
        });
        line
    }

    /// From now on nothing passes on the connections that there are.
    fn die(&self) {
        self.dead.store(self.calls.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

struct Pass {
    number: u64,
    dead: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
    fuse: Arc<AtomicU64>,
}

impl Pass {
    fn run(self, mut from: TcpStream, mut to: TcpStream) {
        let (mut buffer, mut passed) = ([0; 4096], 0);
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            match self.fuse.load(Ordering::SeqCst) {
                0 => passed = 0,
                most => {
                    passed += read as u64;
                    if passed > most {
                        self.dead.store(self.calls.load(Ordering::SeqCst), Ordering::SeqCst);
                        self.fuse.store(0, Ordering::SeqCst);
                    }
                }
            }
            if self.number < self.dead.load(Ordering::SeqCst) {
                // Neither passed on nor closed; both sides of it stay with this thread.
                thread::sleep(2 * LONG);
                return;
            }
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        if self.number < self.dead.load(Ordering::SeqCst) {
            thread::sleep(2 * LONG);
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

#[test]
fn a_line_that_goes_nowhere_ends_the_job_and_a_fresh_one_takes_over() {
    let (temp, dirs, port) = prepared();
    let line = Line::to(port);
    let config = dirs[1].join("cenote.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let through = text.replace(&format!(":{port}"), &format!(":{}", line.port));
    std::fs::write(&config, through).unwrap();
    let pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    is_computed(&pair, 3);
    let wide = many(&pair, 20);
    assert_eq!(
        pair.a().wait(&pair.a().submit(&wide).unwrap().0.id, LONG).unwrap().state,
        JobState::Done
    );
    // While a job runs: an offer, its answer and the order have fewer bytes than its tables, and nothing is made beside it by then.
    thread::sleep(Duration::from_secs(4));
    line.fuse.store(8_000, Ordering::SeqCst);
    let died = Instant::now();
    let (job, _) = pair.a().submit(&wide).unwrap();
    let ended = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(line.fuse.load(Ordering::SeqCst), 0, "the line died under it");
    assert_eq!(ended.state, JobState::Failed, "{:?}", ended.reason);
    assert!(ended.reason.as_ref().unwrap().contains("connection: "), "{:?}", ended.reason);
    assert!(died.elapsed() < Duration::from_secs(40), "after {:?}", died.elapsed());
    let theirs = pair.b().wait(&job.id, LONG).unwrap();
    assert!(theirs.state.is_end() && theirs.reason.is_some(), "{theirs:?}");
    is_computed(&pair, 5);
    // While nobody does anything: what is asked for then waits for the fresh line.
    line.die();
    let died = Instant::now();
    is_computed(&pair, 6);
    assert!(died.elapsed() < Duration::from_secs(60), "after {:?}", died.elapsed());
    let used = pair.journals();
    assert!(used.iter().all(|items| *items > 0), "{used:?}");
    pair.stop();
}

/// A job of so many comparisons, of some 3 kB each, which both approve.
fn many(pair: &Pair, numbers: u32) -> NewJob {
    let text =
        LESS.replace("b32", &format!("{numbers}xb32")).replace("program less", "program many");
    let table = pair.dir(1).join("data/many.csv");
    let rows: String = (0..numbers).map(|y| format!("{y}\n")).collect();
    std::fs::write(&table, format!("y\n{rows}")).unwrap();
    pair.b().bind("many", &table, None).unwrap();
    let sources = [
        (pair.a(), Sides::Own, "x", Source::Submitter),
        (pair.b(), Sides::Peer, "y", Source::Table { dataset: "many".into(), columns: [].into() }),
    ];
    for (service, submitters, input, source) in sources {
        service.register("many", text.as_bytes()).unwrap();
        let terms = Terms { program: "many".into(), ..terms(submitters, None, source, input) };
        service.approve(terms).unwrap();
    }
    let x = ("x".to_owned(), json!(vec![7; numbers as usize]));
    NewJob { program: "many".into(), inputs: [x].into(), ..NewJob::default() }
}

/// A connection to the service at the port, by whoever has the identity in this directory.
fn call(dir: &Path, port: u16) -> Channel {
    let identity = Identity::load(dir).unwrap();
    let known = PeerCertificate::load(dir.join("peer.crt.pem")).unwrap();
    tls_connect(&format!("127.0.0.1:{port}"), &identity, &known, LONG).unwrap()
}

/// A hello of the next version: what the peer would send first.
fn other_version(channel: &mut Channel) {
    let mut hello = vec![2];
    hello.extend_from_slice(b"whatever that version says");
    channel.deviate(Tag::HELLO, 0, Deviation::Replace(hello));
    send_route(channel, Role::Garbler, "lane.small").unwrap();
}

/// A call for a data channel that came when its session had ended is not taken for one of the next session.
#[test]
fn a_late_data_call_ends_no_later_session() {
    let (_temp, [dir, peer], port) = prepared();
    let service = Service::start(&dir).unwrap();
    let late: Vec<Channel> = (0..3)
        .map(|number| {
            let mut channel = call(&peer, port);
            send_route(&mut channel, Role::Evaluator, &format!("lane.small.{number}")).unwrap();
            channel
        })
        .collect();
    thread::sleep(Duration::from_secs(1));
    let other = Service::start(&peer).unwrap();
    until("the lane is ready", || lane(&service, "small").state == "ready");
    until("and that of the peer", || lane(&other, "small").state == "ready");
    drop(late);
    other.stop();
    service.stop();
}

#[test]
fn a_caller_of_another_version_is_named_on_both_sides() {
    let (_temp, [dir, peer], port) = prepared();
    let service = Service::start(&dir).unwrap();
    let mut said = String::new();
    until("the lane says which versions", || {
        let mut channel = call(&peer, port);
        other_version(&mut channel);
        // What the caller reads is this side's version, first of all.
        said = recv_route(&mut channel).unwrap();
        lane(&service, "small").state == "failed"
    });
    assert_eq!(said, "another.version");
    let reason = why_failed(&service, "small");
    assert!(reason.contains("protocol version: here 1, the peer has 2"), "{reason}");
    assert!(reason.contains("use the same release on both sides"), "{reason}");
    // It stays the reason while nobody calls.
    thread::sleep(Duration::from_secs(7));
    assert_eq!(lane(&service, "small").reason, Some(reason));
    assert!(!service.is_ready() && !service.status().unwrap().peer.held);
    service.stop();
}

#[test]
fn a_listener_of_another_version_is_named_and_called_slowly() {
    let (_temp, [peer, dir], port) = prepared();
    let listener = tcp_listen(&format!("127.0.0.1:{port}")).unwrap();
    let identity = Identity::load(&peer).unwrap();
    let known = PeerCertificate::load(peer.join("peer.crt.pem")).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    thread::spawn(move || {
        loop {
            let Ok(mut channel) = tls_accept(&listener, &identity, &known, LONG, |_, _| {}) else {
                continue;
            };
            if recv_route(&mut channel).unwrap().starts_with("lane.") {
                count.fetch_add(1, Ordering::SeqCst);
                other_version(&mut channel);
            }
            channel.close();
        }
    });
    let service = Service::start(&dir).unwrap();
    for name in ["small", "large"] {
        let reason = why_failed(&service, name);
        assert!(reason.contains("protocol version: here 1, the peer has 2"), "{reason}");
    }
    let before = calls.load(Ordering::SeqCst);
    thread::sleep(Duration::from_secs(10));
    assert_eq!(calls.load(Ordering::SeqCst), before, "at the slowest pace");
    service.stop();
}

#[test]
fn a_certificate_that_is_not_the_one_that_was_kept_is_refused() {
    let (temp, dirs, _) = prepared();
    // The caller lost its identity and made another.
    for file in ["identity.crt.pem", "identity.key.pem"] {
        std::fs::remove_file(dirs[1].join(file)).unwrap();
    }
    Identity::generate("another").unwrap().save(&dirs[1]).unwrap();
    let pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    let reason = why_failed(pair.b(), "small");
    assert!(reason.starts_with("refused: ") && reason.contains("certificate"), "{reason}");
    assert_eq!(lane(pair.a(), "small").state, "waiting");
    assert!(!pair.a().status().unwrap().peer.held);
    assert!(!pair.a().job(&job.id).unwrap().state.is_end(), "it waits");
    pair.stop();
}

#[test]
fn settings_that_differ_are_named_with_what_to_do() {
    let (temp, dirs, _) = prepared();
    let config = dirs[1].join("cenote.toml");
    let good = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, good.replace("small_ands = 1000", "small_ands = 2000")).unwrap();
    let mut pair = Pair::of(temp, dirs);
    approve(&pair, Sides::Own, Sides::Peer);
    let (job, _) = pair.a().submit(&compare(3)).unwrap();
    for service in [pair.a(), pair.b()] {
        let reason = why_failed(service, "small");
        assert!(reason.contains("small_ands: here \""), "{reason}");
        assert!(reason.contains("give [jobs] the same number on both sides"), "{reason}");
    }
    assert!(!pair.a().job(&job.id).unwrap().state.is_end(), "it waits");
    // One owner puts it right; the other side does nothing for that.
    pair.stop_one(1);
    std::fs::write(&config, good).unwrap();
    let started = Instant::now();
    pair.start_one(1);
    let done = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    assert!(started.elapsed() < Duration::from_secs(45), "after {:?}", started.elapsed());
    pair.stop();
}

#[test]
fn stores_that_were_put_back_or_copied_begin_anew_and_nothing_leaves_twice() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    is_computed(&pair, 3);
    for (side, pools) in [(1, 2), (0, 3)] {
        pair.stop_one(side);
        let dir = pair.dir(side).to_owned();
        let (stores, backup) = (dir.join("stores"), dir.join("backup"));
        copy(&stores, &backup);
        pair.start_one(side);
        (0..3).for_each(|x| drop(is_computed(&pair, x)));
        pair.stop_one(side);
        assert_eq!(ledger(&dir, "small").epochs, pools - 1);
        // An older state of it.
        std::fs::remove_dir_all(&stores).unwrap();
        copy(&backup, &stores);
        pair.start_one(side);
        is_computed(&pair, 3);
        assert_eq!(lane(pair.b(), "small").pools, pools);
    }
    // The state in which it was left, in other files.
    pair.stop_one(1);
    let stores = pair.dir(1).join("stores");
    let moved = pair.dir(1).join("moved");
    std::fs::rename(&stores, &moved).unwrap();
    copy(&moved, &stores);
    pair.start_one(1);
    is_computed(&pair, 7);
    let used = pair.journals();
    assert!(used.iter().all(|items| *items > 0), "{used:?}");
    let dirs = [0, 1].map(|side| pair.dir(side).to_owned());
    pair.stop_and(|| {
        for dir in &dirs {
            let small = ledger(dir, "small");
            assert_eq!((small.epochs, small.held), (4, false), "{small:?}");
        }
    });
}

#[test]
fn stores_that_are_cut_or_have_another_key_say_so_and_the_other_lane_goes_on() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    is_computed(&pair, 3);
    pair.stop_one(1);
    let dir = pair.dir(1).to_owned();
    let key = dir.join("stores/small.key");
    let good = std::fs::read(&key).unwrap();
    std::fs::write(&key, [7; 32]).unwrap();
    pair.start_one(1);
    let (job, _) = pair.a().submit(&compare(4)).unwrap();
    let reason = why_failed(pair.b(), "small");
    assert!(reason.starts_with("storage: ") && reason.contains("key"), "{reason}");
    until("the other lane is ready", || lane(pair.b(), "large").state == "ready");
    // It waits; both have agreed.
    until("it is queued", || pair.a().job(&job.id).unwrap().state == JobState::Queued);
    // With the right key it goes on where it was.
    pair.stop_one(1);
    std::fs::write(&key, good).unwrap();
    pair.start_one(1);
    let done = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    pair.stop_one(1);
    assert_eq!(ledger(&dir, "small").epochs, 1);
    // Cut in the middle: never taken for a fresh one.
    let file = dir.join("stores/small/ledger");
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    pair.start_one(1);
    let reason = why_failed(pair.b(), "small");
    assert!(reason.contains("ledger") && reason.contains("; "), "{reason}");
    // What docs/errors.md says then.
    pair.stop_one(1);
    pair.stop_one(0);
    (0..2).for_each(|side| std::fs::remove_dir_all(pair.dir(side).join("stores")).unwrap());
    pair.start_one(0);
    pair.start_one(1);
    is_computed(&pair, 3);
    pair.stop();
}

#[test]
fn a_snapshot_that_is_cut_costs_its_items_and_nothing_else() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    is_computed(&pair, 3);
    pair.stop_one(1);
    let parts: Vec<_> = std::fs::read_dir(pair.dir(1).join("stores/small"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.metadata().unwrap().len() > 10_000)
        .collect();
    assert!(!parts.is_empty());
    let pools = |service: &Service| lane(service, "large").pools;
    let kept = pools(pair.a());
    for part in &parts {
        let length = part.metadata().unwrap().len();
        std::fs::OpenOptions::new().write(true).open(part).unwrap().set_len(length / 2).unwrap();
    }
    pair.start_one(1);
    let reason = why_failed(pair.b(), "small");
    assert!(reason.starts_with("storage: ") && reason.contains("; "), "{reason}");
    // The other lane goes on where it was, and what is asked for waits.
    until("the other lane is ready", || {
        [pair.a(), pair.b()].iter().all(|side| lane(side, "large").state == "ready")
    });
    assert_eq!(pools(pair.a()), kept);
    let (job, _) = pair.a().submit(&compare(4)).unwrap();
    until("it is queued", || pair.a().job(&job.id).unwrap().state == JobState::Queued);
    let wide = pair.a().submit(&many(&pair, 40)).unwrap().0;
    let wide = pair.a().wait(&wide.id, LONG).unwrap();
    assert_eq!(wide.state, JobState::Done, "{:?}", wide.reason);
    // What docs/errors.md says then. Nobody is taken for a cheat.
    (0..2).for_each(|side| pair.stop_one(side));
    (0..2).for_each(|side| std::fs::remove_dir_all(pair.dir(side).join("stores")).unwrap());
    (0..2).for_each(|side| pair.start_one(side));
    let done = pair.a().wait(&job.id, LONG).unwrap();
    assert_eq!(done.state, JobState::Done, "{:?}", done.reason);
    is_computed(&pair, 3);
    let used = pair.journals();
    assert!(used.iter().all(|items| *items > 0), "{used:?}");
    for side in [pair.a(), pair.b()] {
        assert!(!side.status().unwrap().peer.held);
    }
    pair.stop();
}

#[test]
fn an_end_in_order_is_seen_at_once() {
    let mut pair = Pair::start();
    until("both are ready", || pair.a().is_ready() && pair.b().is_ready());
    for (ends, stays) in [(1, 0), (0, 1)] {
        let stopped = thread::scope(|scope| {
            let other = if stays == 0 { pair.a().clone() } else { pair.b().clone() };
            let watch = scope.spawn(move || {
                until("it is not ready", || !other.is_ready());
                Instant::now()
            });
            let began = Instant::now();
            pair.stop_one(ends);
            watch.join().unwrap().saturating_duration_since(began)
        });
        assert!(stopped < Duration::from_secs(2), "{stopped:?}");
        let other = if stays == 0 { pair.a() } else { pair.b() };
        let end = Instant::now() + Duration::from_secs(4);
        while Instant::now() < end {
            assert!(!other.is_ready());
            thread::sleep(Duration::from_millis(5));
        }
        pair.start_one(ends);
        until("both are ready", || pair.a().is_ready() && pair.b().is_ready());
    }
    pair.stop();
}

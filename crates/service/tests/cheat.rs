//! A peer that cheats: one side, played by this test with its certificate.

mod common;

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use cenote_engine::{Role, Session, SessionConfig};
use cenote_net::{
    Channel, Channels, Fault, Identity, PeerCertificate, Tag, recv_route, send_route, tcp_listen,
    tls_accept, tls_connect,
};
use cenote_pool::{DiskStore, Store as _, StoreKey};
use cenote_service::Service;
use cenote_service::audit::{Head, PublicKey, verify};
use cenote_service::model::{JobState, LaneView, NewJob, Sides, Source};
use common::prepared;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const LONG: Duration = Duration::from_secs(60);
/// `service.order`.
const ORDER: Tag = Tag::new(110, "service.order");

/// Connections of the service by their purposes.
#[derive(Default)]
struct Calls(Mutex<HashMap<String, Channel>>, Condvar);

impl Calls {
    fn take(&self, purpose: &str) -> Channel {
        let calls = self.0.lock().unwrap();
        let waits = |calls: &mut HashMap<String, Channel>| !calls.contains_key(purpose);
        let mut calls = self.1.wait_timeout_while(calls, LONG, waits).unwrap().0;
        calls.remove(purpose).unwrap()
    }
}

/// The store at `path`, with its key beside it.
fn store(path: &std::path::Path) -> DiskStore {
    let key = path.with_extension(match path.extension() {
        Some(cheat) => format!("{}.key", cheat.to_str().unwrap()),
        None => "key".to_owned(),
    });
    let key = if key.exists() { StoreKey::load(&key) } else { StoreKey::create(&key) };
    DiskStore::open(path, &key.unwrap()).unwrap()
}

/// An honest session of a lane, as far as both have filled it; `connect` gives a connection for a purpose.
fn session(
    connect: impl Fn(&str) -> Channel + Send + 'static,
    role: Role,
    lane: &str,
    dir: &std::path::Path,
) -> Session {
    session_of("wrk", connect, role, lane, dir)
}

/// The same with a backend.
fn session_of(
    backend: &str,
    connect: impl Fn(&str) -> Channel + Send + 'static,
    role: Role,
    lane: &str,
    dir: &std::path::Path,
) -> Session {
    let store = store(&dir.join(format!("{lane}.cheat")));
    let purpose = format!("lane.{lane}");
    let control = connect(&purpose);
    let channels =
        Channels::new(control, move |number| Ok(connect(&format!("{purpose}.{number}"))));
    let config: SessionConfig = backend.parse().unwrap();
    let facts = |all: cenote_net::Handshake| {
        let all = all.field("for", format!("service, {lane} jobs"));
        all.field("level", "2000").field("small_ands", "1000")
    };
    let config = config.lasting().for_ands(2000);
    let mut session = Session::open_kept(channels, role, &config, facts, Box::new(store)).unwrap();
    session.fill().unwrap();
    session.stock(2000).unwrap();
    session.save().unwrap();
    session.keep(2000, 2000).unwrap();
    session
}

/// That both lanes of a service come to rest, and that it has kept once what is known: for its owner alone which check failed, in what owners show each
/// other a commitment to that.
fn is_held(service: &Service, dir: &std::path::Path) -> Value {
    until("both lanes are held", || {
        let status = service.status().unwrap();
        status.peer.held && status.lanes.iter().all(|lane| lane.state == "held")
    });
    until("that is in the audit log", || {
        std::fs::read_to_string(dir.join("audit.log")).unwrap().contains("peer.held")
    });
    let log = std::fs::read_to_string(dir.join("audit.log")).unwrap();
    let held: Vec<&str> = log.lines().filter(|line| line.contains("peer.held")).collect();
    assert_eq!(held.len(), 1, "{log}");
    assert!(!log.contains("service.message"), "which check failed is not for the peer: {log}");
    let line: Value = serde_json::from_str(held[0]).unwrap();
    let own = &line["own"];
    let path = dir.join(own["evidence"].as_str().unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let lines = LOG.lock().unwrap().clone();
    let said = |line: &str| {
        line.contains("a check failed: the peer is held")
            && line.contains(own["evidence"].as_str().unwrap())
    };
    let said: Vec<&str> = lines.lines().filter(|line| said(line)).collect();
    assert_eq!(said.len(), 1, "a line of its own in the log: {lines}");
    assert!(said[0].contains("ERROR") && said[0].contains("service.message"), "{}", said[0]);
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(own["sha256"], json!(digest));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let evidence: Value = serde_json::from_slice(&bytes).unwrap();
    assert!(evidence["fault"].as_str().unwrap().contains("service.message"), "{evidence}");
    for name in ["lane", "epoch", "epochs", "pools", "jobs", "peer_head"] {
        assert_eq!(evidence[name], own[name], "{name}");
    }
    assert_eq!(own["lane"], "small");
    assert_eq!(own["epoch"].as_str().map(str::len), Some(64), "{own}");
    let key = PublicKey::load(&dir.join("owner.pub")).unwrap();
    verify(&dir.join("audit.log"), &key).unwrap();
    evidence
}

fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

/// Takes all calls at the port, as the one who has this directory.
fn answer(dir: &std::path::Path, port: u16) -> Arc<Calls> {
    let listener = tcp_listen(&format!("127.0.0.1:{port}")).unwrap();
    let identity = Identity::load(dir).unwrap();
    let peer = PeerCertificate::load(dir.join("peer.crt.pem")).unwrap();
    let calls = Arc::new(Calls::default());
    let takes = Arc::clone(&calls);
    std::thread::spawn(move || {
        loop {
            let Ok(mut channel) = tls_accept(&listener, &identity, &peer, LONG, |_, _| {}) else {
                continue;
            };
            if let Ok(purpose) = recv_route(&mut channel) {
                takes.0.lock().unwrap().insert(purpose, channel);
                takes.1.notify_all();
            }
        }
    });
    calls
}

/// Whatever is offered is accepted.
fn accept_all(mut link: Channel) {
    while let Ok(news) = link.recv_bounded(Tag::new(112, "service.news"), 1 << 20) {
        let news: Value = serde_json::from_slice(&news).unwrap();
        let verdicts = vec!["accepted"; news["offers"].as_array().unwrap().len()];
        let head = Head::START.to_string();
        let answer = json!({ "verdicts": verdicts, "gone": [], "measures": false, "head": head });
        let answer = serde_json::to_vec(&answer).unwrap();
        link.send(Tag::new(113, "service.answer"), &answer).and_then(|()| link.flush()).unwrap();
    }
}

/// Lines of the log of this process, at `ERROR`.
#[derive(Clone)]
struct Lines(&'static Mutex<String>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

static LOG: Mutex<String> = Mutex::new(String::new());

fn keep_log() {
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines(&LOG));
    // The other test may have set it.
    let _ = log.with_max_level(tracing_subscriber::filter::LevelFilter::ERROR).try_init();
}

#[test]
fn a_failed_check_in_one_lane_ends_both_until_the_owner_lifts_it() {
    keep_log();
    let (_temp, [cheat, honest], port) = prepared();
    let calls = answer(&cheat, port);
    let service = Service::start(&honest).unwrap();
    let mut lanes = ["small", "large"].map(|lane| {
        let calls = Arc::clone(&calls);
        session(move |purpose| calls.take(purpose), Role::Garbler, lane, &cheat)
    });
    let [small, large] = &mut lanes;
    until("both lanes are ready", || {
        service.status().unwrap().lanes.iter().all(|lane| lane.state == "ready")
    });
    // An order that means nothing.
    small.between(|channel| channel.send(ORDER, &[9; 57])).unwrap();
    let evidence = is_held(&service, &honest);
    assert_eq!(evidence["jobs"], json!([]));
    // The other lane was cut as well: nothing more is to be had there.
    let cut = large.between(|channel| channel.recv_bounded(Tag::new(111, "service.reply"), 99));
    assert!(matches!(cut, Err(Fault::Transport(_) | Fault::PeerAborted)), "{cut:?}");
    // What was ready is gone in both, and stays counted.
    until("both lanes are held", || {
        service.status().unwrap().lanes.iter().all(|lane| (&*lane.state, lane.ready) == ("held", 0))
    });
    // Neither a restart nor a database that lost it lets the peer in.
    service.stop();
    drop(service);
    drop(lanes);
    let of = |dir: &std::path::Path, name: &str| store(&dir.join(name)).ledger().clone();
    let caught = of(&honest, "stores/small");
    let other = of(&honest, "stores/large");
    for ledger in [&caught, &other] {
        assert!(ledger.epoch.is_none() && ledger.snapshots.is_empty(), "{ledger:?}");
        assert_eq!(ledger.pools, 1);
    }
    assert!(caught.held);
    let before = of(&cheat, "small.cheat");
    assert!(before.epoch.is_some());
    let db = rusqlite::Connection::open(honest.join("service.db")).unwrap();
    db.execute("DELETE FROM flag", []).unwrap();
    drop(db);
    let service = Service::start(&honest).unwrap();
    until("it is held again", || {
        let status = service.status().unwrap();
        status.peer.held && status.lanes.iter().all(|lane| lane.state == "held")
    });
    assert!(!service.lift().unwrap().peer.held);
    assert!(service.lift().unwrap_err().what.contains("nothing is held"));
    // Let in again, it has nothing of what it had.
    let again = Arc::clone(&calls);
    drop(session(move |purpose| again.take(purpose), Role::Garbler, "small", &cheat));
    let after = of(&cheat, "small.cheat");
    assert_eq!(after.epochs, before.epochs + 1);
    assert_ne!(after.epoch, before.epoch);
    service.stop();
}

#[test]
fn a_leader_that_waits_for_jobs_in_the_other_lane_ends_it_as_well() {
    keep_log();
    let (_temp, [honest, cheat], port) = prepared();
    let service = Service::start(&honest).unwrap();
    service.register("less", common::LESS.as_bytes()).unwrap();
    service.approve(common::terms(Sides::Own, None, Source::Submitter, "x")).unwrap();
    let identity = Arc::new(Identity::load(&cheat).unwrap());
    let peer = Arc::new(PeerCertificate::load(cheat.join("peer.crt.pem")).unwrap());
    let connect = move |purpose: &str| {
        let address = format!("127.0.0.1:{port}");
        let mut channel = tls_connect(&address, &identity, &peer, LONG).unwrap();
        send_route(&mut channel, Role::Evaluator, purpose).unwrap();
        channel
    };
    let mut lanes =
        ["small", "large"].map(|lane| session(connect.clone(), Role::Evaluator, lane, &cheat));
    let link = connect("link.listener");
    std::thread::spawn(move || accept_all(link));
    let job = NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(1))].into(),
        ..NewJob::default()
    };
    let (job, _) = service.submit(&job).unwrap();
    // A reply that means nothing.
    let order = lanes[0].between(|channel| channel.recv_bounded(ORDER, 600)).unwrap();
    assert_eq!(order.len(), 17, "one job");
    let reply = Tag::new(111, "service.reply");
    lanes[0].between(|channel| channel.send(reply, &[200; 41])).unwrap();
    let evidence = is_held(&service, &honest);
    assert_eq!(evidence["jobs"], json!([{ "id": job.id, "program": job.digest }]));
    let ended = service.wait(&job.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Failed);
    assert!(ended.reason.unwrap().contains("the peer misbehaved"));
    let log = std::fs::read_to_string(honest.join("audit.log")).unwrap();
    assert!(log.contains("\"reason\":\"the peer misbehaved\""), "{log}");
    // Others wait for the owner.
    let next = NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(2))].into(),
        ..NewJob::default()
    };
    let (next, _) = service.submit(&next).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(!service.job(&next.id).unwrap().state.is_end());
    assert_eq!(service.approvals().unwrap()[0].spent, 1);
    assert!(!service.lift().unwrap().peer.held);
    service.stop();
}

#[test]
fn an_order_of_more_jobs_than_go_together_is_a_cheat() {
    keep_log();
    let (_temp, [cheat, honest], port) = prepared();
    let calls = answer(&cheat, port);
    let service = Service::start(&honest).unwrap();
    service.register("less", common::LESS.as_bytes()).unwrap();
    service.approve(common::terms(Sides::Own, None, Source::Submitter, "y")).unwrap();
    let mut lanes = ["small", "large"].map(|lane| {
        let calls = Arc::clone(&calls);
        session(move |purpose| calls.take(purpose), Role::Garbler, lane, &cheat)
    });
    let link = calls.take("link.caller");
    std::thread::spawn(move || accept_all(link));
    let job = NewJob {
        program: "less".into(),
        inputs: [("y".to_owned(), json!(1))].into(),
        ..NewJob::default()
    };
    // 32 comparisons have 1,024 ANDs, and 1,000 go together.
    let jobs: Vec<String> = (0..32).map(|_| service.submit(&job).unwrap().0.id).collect();
    until("all are agreed", || {
        jobs.iter().all(|id| service.job(id).unwrap().state == JobState::Queued)
    });
    let ids = jobs.iter().map(|id| u128::from_str_radix(id, 16).unwrap().to_be_bytes());
    let order: Vec<u8> = [1].into_iter().chain(ids.flatten()).collect();
    lanes[0].between(|channel| channel.send(ORDER, &order)).unwrap();
    let evidence = is_held(&service, &honest);
    assert_eq!(evidence["jobs"], json!([]));
    // None of them has begun.
    assert_eq!(service.approvals().unwrap()[0].spent, 0);
    service.stop();
}

/// What is ready is made beside jobs, on a channel of its own: an honest leader asks for nothing else in the lane.
#[test]
fn an_order_that_is_none_is_a_cheat() {
    keep_log();
    // No order, and one to end a memory that is not there.
    for (backend, order) in
        [("wrk", &b"\x05"[..]), ("jimu:pool=2000", b"\x05"), ("wrk", b"\x04sums")]
    {
        let (_temp, [cheat, honest], port) = prepared();
        let config = honest.join("cenote.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let text = text.replace("[pool]", &format!("[pool]\nbackend = \"{backend}\""));
        std::fs::write(&config, text).unwrap();
        let calls = answer(&cheat, port);
        let service = Service::start(&honest).unwrap();
        let again = Arc::clone(&calls);
        let mut small =
            session_of(backend, move |purpose| again.take(purpose), Role::Garbler, "small", &cheat);
        small.between(|channel| channel.send(ORDER, order)).unwrap();
        // The line of the audit log comes last.
        until("it is held", || {
            service.status().unwrap().peer.held
                && std::fs::read_to_string(honest.join("audit.log")).unwrap().contains("peer.held")
        });
        let files = std::fs::read_dir(honest.join("evidence")).unwrap();
        let kept: Vec<String> =
            files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        assert!(kept.len() == 1 && kept[0].contains("service.message"), "{kept:?}");
        service.stop();
    }
}

/// What the owner lifted stays lifted while the peer is away: sessions that find nobody hold nothing.
#[test]
fn a_lift_stands_while_the_peer_is_away() {
    let (_temp, [_, honest], _) = prepared();
    let path = honest.join("stores/small");
    std::fs::create_dir_all(honest.join("stores")).unwrap();
    let key = StoreKey::create(&honest.join("stores/small.key")).unwrap();
    let mut store = DiskStore::open(&path, &key).unwrap();
    store.begin([7; 32], b"secrets").unwrap();
    store.end(true).unwrap();
    drop(store);
    let service = Service::start(&honest).unwrap();
    until("both lanes are held", || {
        service.status().unwrap().lanes.iter().all(|lane| lane.state == "held")
    });
    assert!(!service.lift().unwrap().peer.held);
    let looks_for_it = |lane: &LaneView| ["waiting", "failed"].contains(&&*lane.state);
    until("it looks for the peer", || service.status().unwrap().lanes.iter().all(looks_for_it));
    assert!(!service.status().unwrap().peer.held);
    service.stop();
}

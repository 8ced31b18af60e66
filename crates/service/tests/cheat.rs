//! A peer that cheats: one side, played by this test with its certificate.

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use cenote_engine::{Role, Session, SessionConfig};
use cenote_net::{
    Channel, Channels, Fault, Identity, PeerCertificate, Tag, recv_route, send_route, tcp_listen,
    tls_accept, tls_connect,
};
use cenote_pool::{DiskStore, StoreKey};
use cenote_service::Service;
use cenote_service::audit::Head;
use cenote_service::model::{JobState, NewJob, Source, Submitters};
use common::prepared;
use serde_json::{Value, json};

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

/// An honest session of a lane, as far as both have filled it; `connect` gives a connection for a purpose.
fn session(
    connect: impl Fn(&str) -> Channel + Send + 'static,
    role: Role,
    lane: &str,
    dir: &std::path::Path,
) -> Session {
    let key = StoreKey::create(&dir.join(format!("{lane}.cheat.key"))).unwrap();
    let store = DiskStore::open(&dir.join(format!("{lane}.cheat")), &key).unwrap();
    let purpose = format!("lane.{lane}");
    let control = connect(&purpose);
    let channels =
        Channels::new(control, move |number| Ok(connect(&format!("{purpose}.{number}"))));
    let config: SessionConfig = "wrk:pool=480000".parse().unwrap();
    let facts = |all: cenote_net::Handshake| {
        let all = all.field("for", format!("service, {lane} jobs"));
        all.field("level", "2000").field("small_ands", "1000")
    };
    let config = config.lasting().for_ands(2000);
    let mut session = Session::open_kept(channels, role, &config, facts, Box::new(store)).unwrap();
    session.fill().unwrap();
    session.stock(2000).unwrap();
    session.save().unwrap();
    session.keep(2000).unwrap();
    session
}

/// That both lanes of a service come to rest, and its log says once why.
fn is_held(service: &Service, dir: &std::path::Path) {
    until("both lanes are held", || {
        let status = service.status().unwrap();
        status.peer.held && status.lanes.iter().all(|lane| lane.state == "held")
    });
    let log = std::fs::read_to_string(dir.join("audit.log")).unwrap();
    assert_eq!(log.matches("peer.held").count(), 1, "{log}");
    assert!(log.contains("service.message"), "the own log names the check: {log}");
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_failed_check_in_one_lane_ends_both_until_the_owner_lifts_it() {
    let (_temp, [cheat, honest], port) = prepared();
    let listener = tcp_listen(&format!("127.0.0.1:{port}")).unwrap();
    let identity = Identity::load(&cheat).unwrap();
    let peer = PeerCertificate::load(cheat.join("peer.crt.pem")).unwrap();
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
    is_held(&service, &honest);
    // The other lane was cut as well: nothing more is to be had there.
    let cut = large.between(|channel| channel.recv_bounded(Tag::new(111, "service.reply"), 99));
    assert!(matches!(cut, Err(Fault::Transport(_) | Fault::PeerAborted)), "{cut:?}");
    // Neither a restart nor a database that lost it lets the peer in.
    service.stop();
    drop(service);
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
    service.stop();
}

#[test]
fn a_leader_that_waits_for_jobs_in_the_other_lane_ends_it_as_well() {
    let (_temp, [honest, cheat], port) = prepared();
    let service = Service::start(&honest).unwrap();
    service.register("less", common::LESS.as_bytes()).unwrap();
    service.approve(common::terms(Submitters::Own, None, Source::Submitter, "x")).unwrap();
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
    let mut link = connect("link.listener");
    // Whatever is offered is accepted.
    std::thread::spawn(move || {
        while let Ok(news) = link.recv_bounded(Tag::new(112, "service.news"), 1 << 20) {
            let news: Value = serde_json::from_slice(&news).unwrap();
            let verdicts = vec!["accepted"; news["offers"].as_array().unwrap().len()];
            let answer =
                json!({ "verdicts": verdicts, "gone": [], "head": Head::START.to_string() });
            let answer = serde_json::to_vec(&answer).unwrap();
            link.send(Tag::new(113, "service.answer"), &answer)
                .and_then(|()| link.flush())
                .unwrap();
        }
    });
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
    is_held(&service, &honest);
    let ended = service.wait(&job.id, LONG).unwrap();
    assert_eq!(ended.state, JobState::Failed);
    assert_eq!(service.approvals().unwrap()[0].spent, 1);
    assert!(!service.lift().unwrap().peer.held);
    service.stop();
}

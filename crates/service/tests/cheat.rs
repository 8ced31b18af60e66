//! A peer that cheats: the garbler's side, played by this test with its certificate.

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use cenote_engine::{Role, Session, SessionConfig};
use cenote_net::{
    Channel, Channels, Fault, Identity, PeerCertificate, Tag, recv_route, tcp_listen, tls_accept,
};
use cenote_pool::{DiskStore, StoreKey};
use cenote_service::Service;
use common::prepared;

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

/// An honest session of a lane, as far as both have filled it.
fn session(calls: &Arc<Calls>, lane: &str, dir: &std::path::Path) -> Session {
    let key = StoreKey::create(&dir.join(format!("{lane}.cheat.key"))).unwrap();
    let store = DiskStore::open(&dir.join(format!("{lane}.cheat")), &key).unwrap();
    let (from, purpose) = (Arc::clone(calls), format!("lane.{lane}"));
    let control = calls.take(&purpose);
    let channels =
        Channels::new(control, move |number| Ok(from.take(&format!("{purpose}.{number}"))));
    let config: SessionConfig = "wrk:pool=480000".parse().unwrap();
    let facts = |all: cenote_net::Handshake| {
        let all = all.field("for", format!("service, {lane} jobs"));
        all.field("level", "2000").field("small_ands", "1000")
    };
    let config = config.lasting().for_ands(2000);
    let mut session =
        Session::open_kept(channels, Role::Garbler, &config, facts, Box::new(store)).unwrap();
    session.fill().unwrap();
    session.stock(2000).unwrap();
    session.save().unwrap();
    session.keep(2000).unwrap();
    session
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
    let (small, large) = std::thread::scope(|scope| {
        let small = scope.spawn(|| session(&calls, "small", &cheat));
        (small.join().unwrap(), session(&calls, "large", &cheat))
    });
    let (mut small, mut large) = (small, large);
    until("both lanes are ready", || {
        service.status().unwrap().lanes.iter().all(|lane| lane.state == "ready")
    });
    // An order that means nothing.
    small.between(|channel| channel.send(ORDER, &[9; 57])).unwrap();
    until("both lanes are held", || {
        let status = service.status().unwrap();
        status.peer.held && status.lanes.iter().all(|lane| lane.state == "held")
    });
    // The other lane was cut as well: nothing more is to be had there.
    let mut bytes = [0; 41];
    let cut =
        large.between(|channel| channel.recv_into(Tag::new(111, "service.reply"), &mut bytes));
    assert!(matches!(cut, Err(Fault::Transport(_) | Fault::PeerAborted)), "{cut:?}");
    let log = std::fs::read_to_string(honest.join("audit.log")).unwrap();
    assert_eq!(log.matches("peer.held").count(), 1, "{log}");
    assert!(log.contains("service.message"), "the own log names the check: {log}");
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

//! A certificate that changes while both services run: jobs go on, the one before is a stranger's, and a crash leaves two that connect.

mod common;

use std::path::Path;
use std::time::Duration;

use cenote_net::{Fingerprint, Identity, PeerCertificate, tls_connect};
use cenote_pool::{PoolError, Store as _};
use cenote_service::model::{JobState, NewJob, Sides, Source, Terms};
use cenote_service::{Service, next_peer_file, prepare_identity, want_identity};
use common::{Pair, approve, open_store, terms};

const LONG: Duration = Duration::from_secs(60);

fn until(what: &str, is: impl FnMut() -> bool) {
    common::until(LONG, what, is);
}

fn ready(pair: &Pair) {
    until("both are ready", || ready_both(pair));
}

fn job(service: &Service) -> JobState {
    let job = NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), 5.into())].into(),
        select: [("which".to_owned(), "six".to_owned())].into(),
        ..NewJob::default()
    };
    let (job, _) = service.submit(&job).unwrap();
    service.wait(&job.id, LONG).unwrap().state
}

fn trust(dir: &Path, certificate: &Path) {
    std::fs::copy(certificate, next_peer_file(&dir.join("peer.crt.pem"))).unwrap();
}

fn peer(service: &Service) -> String {
    service.status().unwrap().peer.fingerprint
}

fn logged(dir: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(dir.join("audit.log")).unwrap();
    text.matches(&format!("\"kind\":\"{kind}\"")).count()
}

/// The certificate that side `side` has next, trusted by the other.
fn prepared(pair: &Pair, side: usize) -> Fingerprint {
    let (file, next) = prepare_identity(pair.dir(side), "next").unwrap();
    trust(pair.dir(1 - side), &file);
    let other = pair.dir(1 - side).to_owned();
    until("it is trusted", || logged(&other, "peer.next") > 0);
    next
}

#[test]
fn either_side_changes_its_certificate_and_jobs_go_on() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    ready(&pair);
    assert_eq!(job(pair.a()), JobState::Done);
    // A listens, B calls: each changes once.
    for side in [0, 1] {
        let (own, other) = if side == 0 { (pair.a(), pair.b()) } else { (pair.b(), pair.a()) };
        let before = peer(other);
        let pools = other.status().unwrap().peer.pools[0];
        let old = Identity::load(pair.dir(side)).unwrap();
        let next = prepared(&pair, side);
        if side == 1 {
            // What it may is said beforehand.
            let peer = next.to_string();
            let of = |peer| Terms { peer, ..terms(Sides::Own, None, Source::Submitter, "x") };
            pair.a().approve(of(peer)).unwrap();
            assert!(pair.a().approve(of("another".into())).is_err());
        }
        // Trusted beside the other one, it changes nothing before it is used.
        assert_eq!((peer(other), logged(pair.dir(1 - side), "peer.changed")), (before.clone(), 0));
        assert_eq!(want_identity(pair.dir(side)).unwrap(), next);
        until("the peer has another", || peer(other) == next.to_string());
        until("both are ready again", || own.is_ready() && other.is_ready());
        assert!(!pair.dir(side).join("next").exists());
        assert!(!next_peer_file(&pair.dir(1 - side).join("peer.crt.pem")).exists());
        let kept = PeerCertificate::load(pair.dir(1 - side).join("peer.crt.pem")).unwrap();
        assert_eq!(kept.fingerprint(), next);
        assert_eq!(logged(pair.dir(side), "identity.changed"), 1);
        assert_eq!(logged(pair.dir(1 - side), "peer.changed"), 1);
        // What was ready ended, and counts on: a peer with another key had its tries.
        until("pools of both lanes count on", || {
            other.status().unwrap().peer.pools[0] >= pools + 2
        });
        // Approvals name a certificate: they are not carried over.
        if side == 0 {
            assert_eq!(job(pair.a()), JobState::Refused);
            pair.approve_b(Sides::Peer, None);
            until("the approval is seen", || job(pair.a()) == JobState::Done);
        } else {
            assert!(
                pair.a().submit(&NewJob { program: "less".into(), ..NewJob::default() }).is_err()
            );
            pair.approve_a(Sides::Own, None);
            // One that begins just when the sessions are cut fails, as when the line breaks.
            until("jobs run", || job(pair.a()) == JobState::Done);
            stranger(&pair, &old);
        }
        assert!(before != peer(other));
    }
    pair.journals();
    pair.stop();
}

/// That whoever has the key of before is turned away by A, who listens.
fn stranger(pair: &Pair, old: &Identity) {
    let text = std::fs::read_to_string(pair.dir(0).join("cenote.toml")).unwrap();
    let address = text.split("listen = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let a = Identity::load(pair.dir(0)).unwrap();
    let called = tls_connect(&address, old, a.certificate(), Duration::from_secs(5));
    let refused = called.err().map(|fault| fault.to_string()).unwrap_or_default();
    assert!(refused.contains("refused this side's certificate"), "{refused}");
    // Both connections of the link were cut, and the sessions end with each.
    until("it is ready all the same", || pair.a().is_ready());
}

#[test]
fn who_is_stopped_or_not_trusted_yet_connects_in_the_end() {
    let mut pair = Pair::start();
    ready(&pair);
    // B's next is wanted while B is down, and A does not trust it yet.
    let (_, next) = prepare_identity(pair.dir(1), "next").unwrap();
    pair.stop_one(1);
    want_identity(pair.dir(1)).unwrap();
    pair.start_one(1);
    assert_eq!(Identity::load(pair.dir(1)).unwrap().fingerprint(), next);
    until("A sees that nobody is there whom it knows", || !pair.a().is_ready());
    std::thread::sleep(Duration::from_secs(2));
    assert!(!pair.a().is_ready() && peer(pair.a()) != next.to_string());
    // A was killed after the certificate came, and finds it when it starts.
    pair.stop_one(0);
    trust(pair.dir(0), &pair.dir(1).join("identity.crt.pem"));
    pair.start_one(0);
    until("A has the next", || peer(pair.a()) == next.to_string());
    ready(&pair);
    pair.restart(0);
    assert_eq!(peer(pair.a()), next.to_string());
    ready(&pair);
    // The own certificate, and the one that is used, are no next ones.
    let own = pair.dir(0).join("identity.crt.pem");
    trust(pair.dir(0), &own);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(logged(pair.dir(0), "peer.next"), 1);
    // Both connections of the link were cut, and the sessions end with each.
    until("it is ready all the same", || pair.a().is_ready());
    pair.stop();
}

/// The lanes have a store each, and one peer: its tries add up, and end in both at once.
#[test]
fn the_bound_is_one_for_both_lanes() {
    let mut pair = Pair::start();
    ready(&pair);
    let shown = |pair: &Pair| {
        let peer = pair.a().status().unwrap().peer;
        (peer.pools, peer.epsilon_log2.unwrap())
    };
    let (pools, bound) = shown(&pair);
    assert_eq!(pools, [2, 1024]);
    let one = PoolError { at_once: 0.0, adaptive: bound.exp2() / 2.0 };
    restart(&mut pair, |pair| {
        begin(pair, "small", 600, one);
        begin(pair, "large", 419, one);
    });
    until("1,021 pools, and one more each", || ready_both(&pair));
    restart(&mut pair, |pair| {
        begin(pair, "small", 1, one);
        begin(pair, "large", 0, one);
    });
    let spent = |reason: &str| reason.contains("1024 pools");
    until("1,024 in both", || reasons(&pair).iter().all(|reason| spent(reason)));
    // Of a store that cannot be read nobody knows how many there were: the other lane begins none.
    let key = pair.dir(0).join("stores/large.key");
    let away = key.with_extension("away");
    restart(&mut pair, |_| std::fs::rename(&key, &away).unwrap());
    until("neither lane opens", || {
        let reasons = reasons(&pair);
        spent(&reasons[0]) && reasons[1].starts_with("storage")
    });
    assert_eq!(pair.a().status().unwrap().peer.epsilon_log2, None);
    restart(&mut pair, |_| std::fs::rename(&away, &key).unwrap());
    let (pools, spent) = shown(&pair);
    assert_eq!(pools, [1024, 1024]);
    assert!((spent - bound - 9.0).abs() < 0.01, "512 times that of two: {spent}");
}

/// Starts both again after a change to what A keeps.
fn restart(pair: &mut Pair, change: impl FnOnce(&Pair)) {
    (0..2).for_each(|side| pair.stop_one(side));
    change(pair);
    (0..2).for_each(|side| pair.start_one(side));
}

/// Has a lane of A's begin so many pools, of which none goes on.
fn begin(pair: &Pair, lane: &str, pools: usize, error: PoolError) {
    let mut store = open_store(pair.dir(0), lane);
    (0..pools).for_each(|_| store.count_pool(error).unwrap());
    store.end(false).unwrap();
}

/// Why the lanes of A are not ready.
fn reasons(pair: &Pair) -> Vec<String> {
    let lanes = pair.a().status().unwrap().lanes;
    lanes.into_iter().map(|lane| lane.reason.unwrap_or_default()).collect()
}

fn ready_both(pair: &Pair) -> bool {
    pair.a().is_ready() && pair.b().is_ready()
}

//! Connections to the peer over one port, mutual TLS with both certificates pinned, each with a purpose that the caller says first.
//!
//! One of both services calls, the other listens. A thread of the listener takes all calls and hands each to whoever waits for its
//! purpose; a newer one takes the place of one that nobody took. Strangers end at the handshake of TLS and change nothing.
//!
//! While the peer's certificate changes two are accepted. The first connection with the next one ends that: before anything is said on
//! it the next is the one, on disk, all others are cut, and the one before is a stranger's.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{
    Canceller, Channel, Fault, Fingerprint, Identity, Listener, PeerCertificate, Role, recv_route,
    send_route, tcp_listen, tls_accept_any, tls_connect_any,
};

use super::rotation;
use crate::config::PeerConfig;
use crate::error::ServiceError;

/// How long a call may take.
const CALL: Duration = Duration::from_secs(5);
/// How long the listener waits before it looks whether to stop.
const ROUND: Duration = Duration::from_secs(1);
/// How long the peer may take to say what it calls for.
const SAYS: Duration = Duration::from_secs(5);
/// What a call may be for: the two directions of the link, and control and data channels of lanes. No other one is kept: it would stay for ever, as
/// nobody takes it.
const PURPOSES: [&str; 6] =
    ["link.caller", "link.listener", "lane.small", "lane.small.1", "lane.large", "lane.large.1"];

/// Who both sides are, now.
struct Trust {
    identity: Arc<Identity>,
    peer: PeerCertificate,
    /// What the peer will have.
    next: Option<PeerCertificate>,
}

/// Writes down that the peer has another certificate now: first what it had.
type Note = Box<dyn Fn(Fingerprint, Fingerprint) -> Result<(), Fault> + Send + Sync>;

/// The way to the peer.
pub(crate) struct Way {
    trust: Mutex<Trust>,
    /// The file of the peer's certificate.
    file: PathBuf,
    note: OnceLock<Note>,
    role: Role,
    connect: Option<String>,
    calls: Mutex<HashMap<String, Channel>>,
    came: Condvar,
    /// When a call of another version was last turned away, and what its caller was told.
    refused: Mutex<Option<(Instant, Fault)>>,
    stop: AtomicBool,
    /// What is open, to be cancelled.
    open: Mutex<HashMap<String, Canceller>>,
}

impl Way {
    /// The way to the peer, and a listener if this side has one: it is bound by now.
    pub(crate) fn new(
        config: &PeerConfig,
        identity: Identity,
        peer: PeerCertificate,
        file: PathBuf,
    ) -> Result<(Arc<Way>, Option<Listener>), Fault> {
        if identity.fingerprint() == peer.fingerprint() {
            return Err(Fault::Misuse(
                "the peer's certificate is the own one; pair with the peer".into(),
            ));
        }
        let listener = config.listen.as_deref().map(tcp_listen).transpose()?;
        let way = Way {
            trust: Mutex::new(Trust { identity: Arc::new(identity), peer, next: None }),
            file,
            note: OnceLock::new(),
            role: config.role,
            connect: config.connect.clone(),
            calls: Mutex::default(),
            came: Condvar::new(),
            refused: Mutex::default(),
            stop: AtomicBool::new(false),
            open: Mutex::default(),
        };
        Ok((Arc::new(way), listener))
    }

    /// Who is told before the peer has another certificate; set once.
    pub(crate) fn note(&self, note: Note) {
        // A second one would be a defect of the start, which has one.
        let _ = self.note.set(note);
    }

    /// The peer's certificate.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        lock(&self.trust).peer.fingerprint()
    }

    /// The certificates of both, the own one first.
    pub(crate) fn certificates(&self) -> [PeerCertificate; 2] {
        let trust = lock(&self.trust);
        [trust.identity.certificate().clone(), trust.peer.clone()]
    }

    /// This side has another identity from now on; what is open was with the one before, and ends.
    pub(crate) fn set_identity(&self, identity: Identity) {
        lock(&self.trust).identity = Arc::new(identity);
        lock(&self.calls).clear();
        self.cut("");
    }

    /// The certificate that is accepted beside the peer's. A change is noted first: nobody is let in whom the log does not have.
    pub(crate) fn set_next(
        &self,
        next: Option<PeerCertificate>,
        note: impl FnOnce(Option<Fingerprint>) -> Result<(), ServiceError>,
    ) -> Result<(), ServiceError> {
        let mut trust = lock(&self.trust);
        let own = trust.identity.fingerprint();
        let fits = |next: &PeerCertificate| next.fingerprint() != own && *next != trust.peer;
        let next = next.filter(fits);
        if trust.next == next {
            return Ok(());
        }
        let noted = note(next.as_ref().map(PeerCertificate::fingerprint));
        trust.next = next.filter(|_| noted.is_ok());
        noted
    }

    /// The certificate that the peer will have.
    pub(crate) fn next(&self) -> Option<String> {
        lock(&self.trust).next.as_ref().map(|next| next.fingerprint().to_string())
    }

    /// The own identity, and whom it accepts.
    fn trusted(&self) -> (Arc<Identity>, Vec<PeerCertificate>) {
        let trust = lock(&self.trust);
        let peers = [Some(trust.peer.clone()), trust.next.clone()];
        (Arc::clone(&trust.identity), peers.into_iter().flatten().collect())
    }

    /// Whether whoever is at the other end is the peer still; the first with its next certificate is, and has none but that from then on.
    fn admit(&self, channel: &Channel) -> Result<(), Fault> {
        let mut trust = lock(&self.trust);
        if channel.peer() == Some(trust.peer.fingerprint()) {
            return Ok(());
        }
        let next = trust.next.clone().filter(|next| channel.peer() == Some(next.fingerprint()));
        let Some(next) = next else {
            return Err(Fault::Policy("the peer has another certificate by now".into()));
        };
        // What is in no log does not happen, and what is not on disk neither.
        if let Some(note) = self.note.get() {
            note(trust.peer.fingerprint(), next.fingerprint())?;
        }
        rotation::adopt(&self.file, &next)?;
        trust.peer = next;
        trust.next = None;
        lock(&self.calls).clear();
        self.cut("");
        Ok(())
    }

    /// Takes calls until the end; `note` hears of those who were turned away.
    pub(crate) fn listen(&self, listener: &Listener, mut note: impl FnMut(SocketAddr, &Fault)) {
        while !self.is_over() {
            let (identity, peers) = self.trusted();
            let call = tls_accept_any(listener, &identity, &peers, ROUND, &mut note);
            let Ok(mut channel) = call else {
                // Nobody came, or nothing is left to accept with: then the pause spares the machine.
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            if let Err(fault) = self.admit(&channel) {
                tracing::error!(%fault, "a call that is not taken");
                continue;
            }
            channel.set_idle_limit(SAYS);
            match recv_route(&mut channel) {
                Ok(purpose) => self.arrived(purpose, channel),
                Err(fault @ Fault::Policy(_)) => self.refuse(channel, fault),
                Err(fault) => tracing::warn!(%fault, "a call of the peer's that says nothing"),
            }
        }
    }

    /// A peer of another version: it gets a hello of this one, so that both owners read which versions these are.
    fn refuse(&self, mut channel: Channel, fault: Fault) {
        // Whether it arrives is not ours to know.
        let _ = send_route(&mut channel, self.role, "another.version");
        channel.close();
        *lock(&self.refused) = Some((Instant::now(), fault));
        self.came.notify_all();
    }

    fn arrived(&self, purpose: String, mut channel: Channel) {
        channel.set_idle_limit(cenote_net::DEFAULT_IDLE_LIMIT);
        let mut calls = lock(&self.calls);
        if PURPOSES.contains(&&*purpose) {
            calls.insert(purpose, channel);
            self.came.notify_all();
        }
    }

    /// A connection for this purpose: called for, or waited for, up to `wait`.
    pub(crate) fn channel(&self, purpose: &str, wait: Duration) -> Result<Channel, Fault> {
        if self.is_over() {
            return Err(over());
        }
        let channel = match &self.connect {
            Some(address) => {
                let (identity, peers) = self.trusted();
                let mut channel = tls_connect_any(address, &identity, &peers, wait.min(CALL))?;
                self.admit(&channel)?;
                send_route(&mut channel, self.role, purpose)?;
                channel
            }
            None => self.called(purpose, wait)?,
        };
        lock(&self.open).insert(purpose.to_owned(), channel.canceller());
        if self.is_over() {
            channel.canceller().cancel();
        }
        // Its certificate may have changed before this one could be cut.
        self.admit(&channel)?;
        Ok(channel)
    }

    /// Whether the peer has called for this, and waits.
    pub(crate) fn is_called(&self, purpose: &str) -> bool {
        lock(&self.calls).contains_key(purpose)
    }

    fn called(&self, purpose: &str, wait: Duration) -> Result<Channel, Fault> {
        let started = Instant::now();
        let end = started + wait;
        let mut calls = lock(&self.calls);
        loop {
            if let Some(channel) = calls.remove(purpose) {
                // Data calls come behind it: those that are there are of a session that has ended, and would be taken for those of this one.
                calls.retain(|other, _| !is_part(other, purpose));
                return Ok(channel);
            }
            if calls.keys().any(|other| is_part(purpose, other)) {
                // It gave the session up that this would be a part of: the call for that was an old one when it was taken. Waiting on, each side would
                // take what the other has just given up, again and again.
                return Err(Fault::Transport("the peer has called anew".into()));
            }
            if let Some((_, fault)) = lock(&self.refused).as_ref().filter(|(at, _)| *at >= started)
            {
                return Err(fault.clone());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_over() {
                return Err(Fault::Transport("the peer has not called".into()));
            }
            let round = left.min(Duration::from_millis(500));
            calls = self.came.wait_timeout(calls, round).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends whatever is open, and lets nothing open any more.
    pub(crate) fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for canceller in lock(&self.open).values() {
            canceller.cancel();
        }
        self.came.notify_all();
    }

    /// Cancels what is open for purposes that begin so.
    pub(crate) fn cut(&self, purposes: &str) {
        let open = lock(&self.open);
        open.iter().filter(|(one, _)| one.starts_with(purposes)).for_each(|(_, one)| one.cancel());
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Whether a call is for a data channel of what another is for.
fn is_part(of: &str, whole: &str) -> bool {
    of.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

fn over() -> Fault {
    Fault::Transport("the service stops".into())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits longer after each failure, up to 30 s, and not always alike, so that two sides do not keep missing each other.
pub(crate) struct Backoff {
    wait: Duration,
    /// What was refused, and will be until an owner has changed something.
    refused: Option<String>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(100);
    /// After a wait that something else ended: a peer that breaks off whatever it begins has this side try as often, not more.
    const SOON: Duration = Duration::from_millis(500);
    const LONGEST: Duration = Duration::from_secs(30);

    pub(crate) const fn new() -> Backoff {
        Backoff { wait: Backoff::FIRST, refused: None }
    }

    /// How long to wait now: between half and all of what has grown.
    pub(crate) fn next(&mut self) -> Duration {
        let mut random = [0];
        cenote_prim::os_bytes(&mut random);
        let whole = self.wait;
        self.wait = (whole * 2).min(Backoff::LONGEST);
        whole / 2 + whole.mul_f64(f64::from(random[0]) / 512.0)
    }

    /// Something went well.
    pub(crate) fn reset(&mut self) {
        *self = Backoff::new();
    }

    /// The peer is there, perhaps another one: what was refused may not be any more.
    pub(crate) const fn soon(&mut self) {
        self.wait = Backoff::SOON;
    }

    /// One that waits longest already, for tests.
    #[cfg(test)]
    pub(crate) const fn longest() -> Backoff {
        Backoff { wait: Backoff::LONGEST, refused: None }
    }

    /// A side refused the other for good: who calls waits longest from now on, who is called is there for the next call. Whether that is news.
    pub(crate) fn refuse(&mut self, fault: &Fault, calls: bool) -> bool {
        self.wait = if calls { Backoff::LONGEST } else { Backoff::FIRST };
        let text = Some(fault.to_string());
        let news = self.refused != text;
        self.refused = text;
        news
    }

    /// What was refused last, if nothing went well since.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use cenote_net::mem_pair;

    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_are_not_all_alike() {
        let mut backoff = Backoff::new();
        let waits: Vec<Duration> = (0..40).map(|_| backoff.next()).collect();
        assert!(waits[0] >= Backoff::FIRST / 2 && waits[0] <= Backoff::FIRST);
        assert!(waits.iter().all(|wait| *wait <= Backoff::LONGEST));
        assert!(waits[20..].iter().all(|wait| *wait >= Backoff::LONGEST / 2));
        assert!(waits[20..].iter().any(|wait| *wait != waits[20]));
        backoff.reset();
        assert!(backoff.next() <= Backoff::FIRST);
    }

    /// One that listens, whatever comes.
    fn listens() -> (Arc<Way>, Option<Listener>) {
        let [own, peer] = ["a", "b"].map(|name| Identity::generate(name).unwrap());
        let config = PeerConfig {
            name: "b".into(),
            certificate: PathBuf::new(),
            role: Role::Garbler,
            listen: Some("127.0.0.1:0".into()),
            connect: None,
        };
        Way::new(&config, own, peer.certificate().clone(), PathBuf::new()).unwrap()
    }

    #[test]
    fn a_call_for_nothing_that_is_ever_wanted_is_not_kept() {
        let (way, _listener) = listens();
        for purpose in ["lane", "link", "lane.small.2", "lane.small.1.1", "lane.other", ""] {
            way.arrived(purpose.to_owned(), mem_pair().0);
            assert!(!way.is_called(purpose), "{purpose}");
        }
        way.arrived("link.caller".to_owned(), mem_pair().0);
        assert!(way.is_called("link.caller"));
    }

    #[test]
    fn a_part_is_not_waited_for_once_the_whole_is_called_for_anew() {
        const LONG: Duration = Duration::from_secs(60);
        let (way, _listener) = listens();
        let arrive = |purpose: &str| way.arrived(purpose.to_owned(), mem_pair().0);
        for purpose in ["lane.small", "lane.small.1"] {
            arrive(purpose);
            way.called(purpose, LONG).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for purpose in ["lane.large", "lane.small"] {
                    std::thread::sleep(Duration::from_millis(300));
                    arrive(purpose);
                }
            });
            let begins = Instant::now();
            let ended = way.called("lane.small.1", LONG).map(drop);
            let took = begins.elapsed();
            assert_eq!(ended, Err(Fault::Transport("the peer has called anew".into())));
            assert!((Duration::from_millis(500)..LONG / 2).contains(&took), "{took:?}");
            way.called("lane.small", LONG).unwrap();
        });
    }

    #[test]
    fn what_is_refused_is_news_once_and_tried_slowly_by_who_calls() {
        let refused = |what: &str| Fault::Policy(what.into());
        let mut backoff = Backoff::new();
        assert!(backoff.refuse(&refused("version"), true));
        assert!(backoff.next() >= Backoff::LONGEST / 2);
        backoff.soon();
        assert!((Backoff::SOON / 2..=Backoff::SOON).contains(&backoff.next()));
        assert!(!backoff.refuse(&refused("version"), true));
        assert!(backoff.refuse(&refused("level"), false));
        assert!(backoff.next() <= Backoff::FIRST);
        assert_eq!(backoff.refused(), Some("refused: level"));
        backoff.reset();
        assert_eq!(backoff.refused(), None);
        assert!(backoff.refuse(&refused("level"), true));
    }
}

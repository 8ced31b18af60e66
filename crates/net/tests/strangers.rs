//! A listener among strangers: whoever calls it, and however many, the peer gets through.

mod common;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use cenote_net::{
    Channel, Fault, Identity, Listener, tcp_connect, tcp_listen, tls_accept, tls_connect,
};
use common::{DATA, LIMIT};
use rustix::net::{AddressFamily, SocketType};

/// More than are heard at once.
const FLOOD: usize = 100;

/// The two that belong together.
struct Owners {
    server: Identity,
    client: Identity,
    listener: Listener,
}

fn identity(name: &str) -> Identity {
    Identity::generate(name).unwrap()
}

impl Owners {
    fn new() -> Owners {
        let listener = tcp_listen("127.0.0.1:0").unwrap();
        Owners { server: identity("server"), client: identity("client"), listener }
    }

    fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Somebody at the listener, who has done nothing yet.
    fn stranger(&self) -> TcpStream {
        TcpStream::connect(self.address()).unwrap()
    }

    fn strangers(&self, number: usize) -> Vec<TcpStream> {
        (0..number).map(|_| self.stranger()).collect()
    }

    /// Returns what the listener obtains within this limit, and whom it turned away.
    fn accept(&self, limit: Duration) -> (Result<Channel, Fault>, Vec<(SocketAddr, Fault)>) {
        let mut turned_away = Vec::new();
        let note = |address, fault: &Fault| turned_away.push((address, fault.clone()));
        let peer = self.client.certificate();
        let accepted = tls_accept(&self.listener, &self.server, peer, limit, note);
        (accepted, turned_away)
    }

    fn connect(&self) -> Result<Channel, Fault> {
        self.connect_as(&self.client)
    }

    fn connect_as(&self, who: &Identity) -> Result<Channel, Fault> {
        tls_connect(&self.address().to_string(), who, self.server.certificate(), LIMIT)
    }
}

/// Both ends work, and are each other's.
fn assert_joined(accepted: Result<Channel, Fault>, connected: Result<Channel, Fault>) {
    let (mut accepted, mut connected) = (accepted.unwrap(), connected.unwrap());
    connected.send(DATA, b"hello").and(connected.flush()).unwrap();
    assert_eq!(accepted.recv(DATA, 5).unwrap(), b"hello");
}

/// Reads until the other side ends the connection, which it has to.
fn assert_ended(mut stranger: &TcpStream) {
    stranger.set_read_timeout(Some(LIMIT)).unwrap();
    loop {
        match stranger.read(&mut [0; 1024]) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
            Err(error) => panic!("not ended: {error}"),
        }
    }
}

const TOO_LONG: &str = "connection: the TLS handshake took too long";

/// The peer comes after these strangers: it gets through before any of them is given up for taking too
/// long, and all are gone then. The addresses of the strangers, and of those that were turned away.
fn peer_after(
    strangers: impl FnOnce(&Owners) -> Vec<TcpStream>,
) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
    let owners = Owners::new();
    let strangers = strangers(&owners);
    let ((accepted, turned_away), connected) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        let connected = owners.connect();
        (accepted.join().unwrap(), connected)
    });
    assert_joined(accepted, connected);
    strangers.iter().for_each(assert_ended);
    let transport = |fault: &Fault| matches!(fault, Fault::Transport(_));
    assert!(turned_away.iter().all(|(_, fault)| transport(fault) && fault.to_string() != TOO_LONG));
    let addresses = strangers.iter().map(|stranger| stranger.local_addr().unwrap());
    (addresses.collect(), turned_away.into_iter().map(|(address, _)| address).collect())
}

#[test]
fn silent_callers_do_not_keep_the_peer_out() {
    let (_, turned_away) = peer_after(|owners| owners.strangers(10));
    assert_eq!(turned_away, []);
}

#[test]
fn more_silent_callers_than_are_heard_at_once_do_not_keep_the_peer_out() {
    let (strangers, turned_away) = peer_after(|owners| owners.strangers(FLOOD));
    // The oldest make room for those who come after them.
    assert!((60..FLOOD).contains(&turned_away.len()), "{}", turned_away.len());
    assert_eq!(turned_away, strangers[..turned_away.len()]);
}

/// More silent callers than are heard at once, of whom the first have made room for the others.
fn flood(owners: &Owners) -> Vec<TcpStream> {
    let strangers = owners.strangers(FLOOD);
    assert_ended(&strangers[0]);
    strangers
}

/// Some bytes of what comes next.
fn some(stream: &mut TcpStream) -> Vec<u8> {
    let mut buf = vec![0; 64 << 10];
    let n = stream.read(&mut buf).unwrap();
    buf.truncate(n);
    buf
}

/// On a long line as many as anybody likes come between two messages of the handshake.
#[test]
fn silent_callers_do_not_push_out_who_said_hello() {
    let owners = Owners::new();
    let line = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = line.local_addr().unwrap().to_string();
    let (client, certificate) = (&owners.client, owners.server.certificate());
    let ((accepted, _), connected) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        let connecting = scope.spawn(|| tls_connect(&address, client, certificate, LIMIT));
        let (mut peer, mut far) = (line.accept().unwrap().0, owners.stranger());
        far.write_all(&some(&mut peer)).unwrap();
        let answer = some(&mut far);
        let first = flood(&owners);
        peer.write_all(&answer).unwrap();
        let ends = [far.try_clone().unwrap(), peer.try_clone().unwrap()];
        thread::spawn(move || io::copy(&mut &ends[0], &mut &ends[1]));
        let proof = some(&mut peer);
        far.write_all(&proof[..1]).unwrap();
        let second = flood(&owners);
        far.write_all(&proof[1..]).unwrap();
        thread::spawn(move || io::copy(&mut peer, &mut far));
        let ended = (accepted.join().unwrap(), connecting.join().unwrap());
        drop((first, second));
        ended
    });
    assert_joined(accepted, connected);
}

/// Nor somebody silent from another address, such as a peer whose first bytes were lost.
#[test]
fn callers_from_one_address_push_out_each_other() {
    let owners = Owners::new();
    let other = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&other, &SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
    rustix::net::connect(&other, &owners.address()).unwrap();
    let other = TcpStream::from(other);
    let ((accepted, turned_away), connected) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        let strangers = flood(&owners);
        let connected = owners.connect();
        drop(strangers);
        (accepted.join().unwrap(), connected)
    });
    assert_joined(accepted, connected);
    assert!(turned_away.iter().all(|(address, _)| *address != other.local_addr().unwrap()));
}

/// Silent callers who go on coming, also while the peer does its handshake.
#[test]
fn a_flood_that_goes_on_does_not_keep_the_peer_out() {
    let owners = Owners::new();
    let ((accepted, turned_away), connected) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        let connecting = scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            owners.connect()
        });
        let mut strangers = owners.strangers(FLOOD);
        while !accepted.is_finished() {
            thread::sleep(Duration::from_millis(2));
            strangers.push(owners.stranger());
            strangers.remove(0);
        }
        (accepted.join().unwrap(), connecting.join().unwrap())
    });
    assert!(turned_away.len() > FLOOD, "{}", turned_away.len());
    assert_joined(accepted, connected);
}

#[test]
fn bytes_that_are_no_tls_do_not_keep_the_peer_out() {
    let bytes: [&[u8]; 5] = [
        b"GET / HTTP/1.0\r\n\r\n",
        // A frame of ours, without TLS.
        &[2, 5, 0, 0, 0, 1, 1, 1, 1, 1],
        &[0xff; 100_000],
        // A TLS record that goes on for ever.
        &[22, 3, 1, 0x40, 0, 1, 0, 0x3f],
        &[],
    ];
    let (_, turned_away) = peer_after(|owners| {
        let strangers = bytes.map(|bytes| {
            let mut stranger = owners.stranger();
            stranger.write_all(bytes).unwrap();
            stranger
        });
        strangers[4].shutdown(std::net::Shutdown::Both).unwrap();
        strangers.into()
    });
    assert_eq!(turned_away.len(), 4, "{turned_away:?}");
}

#[test]
fn wrong_certificates_are_noted_and_the_wait_goes_on() {
    let owners = Owners::new();
    // The name of the peer, another key.
    let others = [(); 3].map(|()| identity("client"));
    let ((accepted, turned_away), connected) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        for other in &others {
            let refused = owners.connect_as(other);
            assert!(
                matches!(&refused, Err(Fault::Policy(text)) if text.contains("refused this side's")),
                "{refused:?}"
            );
        }
        let connected = owners.connect();
        (accepted.join().unwrap(), connected)
    });
    assert_joined(accepted, connected);
    assert_eq!(turned_away.len(), 3, "{turned_away:?}");
    for ((_, fault), other) in turned_away.iter().zip(&others) {
        let named = matches!(fault, Fault::Policy(text)
            if text.contains(&other.fingerprint().to_string())
                && text.contains(&owners.client.fingerprint().to_string()));
        assert!(named, "{fault}");
    }
}

#[test]
fn a_silent_caller_is_given_up_after_a_while() {
    let owners = Owners::new();
    let stranger = owners.stranger();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        assert_ended(&stranger);
        // The wait goes on.
        assert_eq!(owners.connect().err(), None);
        let (_, turned_away) = accepted.join().unwrap();
        assert_eq!(turned_away.len(), 1);
        assert_eq!(turned_away[0].1.to_string(), TOO_LONG);
    });
}

#[test]
fn the_wait_ends_when_it_should_whoever_calls() {
    let owners = Owners::new();
    let mut strangers = owners.strangers(FLOOD);
    for stranger in &mut strangers[..10] {
        stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    }
    let (limit, started) = (Duration::from_millis(600), Instant::now());
    let (accepted, turned_away) = thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(limit));
        let refused = owners.connect_as(&identity("client"));
        assert!(matches!(refused, Err(Fault::Policy(_))), "{refused:?}");
        accepted.join().unwrap()
    });
    assert!(started.elapsed() >= limit, "{:?}", started.elapsed());
    // It is over before the first of them has run out of time.
    assert!(turned_away.iter().all(|(_, fault)| fault.to_string() != TOO_LONG));
    let Err(Fault::Transport(text)) = accepted else { panic!("{accepted:?}") };
    let address = owners.address();
    assert!(text.starts_with(&format!("no peer came to {address} within 0.6 s")), "{text}");
    assert!(text.contains(&format!("turned away: {}", turned_away.len())), "{text}");
    // What a wrong set-up looks like is said before anything else.
    assert!(text.contains("fingerprint"), "{text}");
    strangers.iter().for_each(assert_ended);
}

/// Whoever calls next, which must be soon.
fn caller_of(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let started = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        assert!(started.elapsed() < LIMIT, "nobody came");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn who_connects_tries_again_until_the_listener_is_there_and_has_time() {
    let owners = Owners::new();
    let address = owners.address();
    let (server, client) = (&owners.server, &owners.client);
    drop(owners.listener);
    thread::scope(|scope| {
        let connecting = scope
            .spawn(move || tls_connect(&address.to_string(), client, server.certificate(), LIMIT));
        thread::sleep(Duration::from_millis(200));
        // Refused so far; now closed and reset before the handshake ends.
        let busy = TcpListener::bind(address).unwrap();
        for unread in [0, 1] {
            let mut stream = caller_of(&busy);
            if unread == 0 {
                let _ = stream.read(&mut [0; 4096]).unwrap();
            }
        }
        drop(busy);
        let listener = tcp_listen(&address.to_string()).unwrap();
        let accepted = tls_accept(&listener, server, client.certificate(), LIMIT, |_, _| ());
        assert_joined(accepted, connecting.join().unwrap());
    });
}

#[test]
fn who_connects_gives_up_in_time_and_at_once_where_it_is_wrong() {
    let owners = Owners::new();
    // Nobody accepts.
    let (limit, started) = (Duration::from_millis(300), Instant::now());
    let address = owners.address().to_string();
    let connected = tls_connect(&address, &owners.client, owners.server.certificate(), limit);
    assert!(matches!(connected, Err(Fault::Transport(_))), "{connected:?}");
    assert!((limit..LIMIT / 2).contains(&started.elapsed()), "{:?}", started.elapsed());

    // The one who accepts is somebody else, and is not asked twice.
    thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(Duration::from_millis(500)));
        let expected = identity("server");
        let connected = tls_connect(&address, &owners.client, expected.certificate(), LIMIT);
        let named = matches!(&connected, Err(Fault::Policy(text))
            if text.contains(&owners.server.fingerprint().to_string()));
        assert!(named, "{connected:?}");
        let (accepted, turned_away) = accepted.join().unwrap();
        assert!(accepted.is_err());
        assert_eq!(
            turned_away.len(),
            2,
            "the first is the one that gave up above: {turned_away:?}"
        );
    });
}

#[test]
fn a_plain_caller_is_told_apart() {
    let owners = Owners::new();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| owners.accept(LIMIT));
        let mut plain = tcp_connect(&owners.address().to_string(), LIMIT).unwrap();
        plain.send(DATA, &[0; 100]).unwrap();
        assert!(plain.recv(DATA, 100).is_err());
        assert_eq!(owners.connect().err(), None);
        let (_, turned_away) = accepted.join().unwrap();
        let text = turned_away[0].1.to_string();
        assert!(text.contains("does the peer use TLS"), "{text}");
    });
}

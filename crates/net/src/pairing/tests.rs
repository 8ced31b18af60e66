//! Honest pairings, and whoever is in between, calls instead, or does not keep to the order.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use super::*;
use crate::{tcp_listen, tls_connect};

const LIMIT: Duration = Duration::from_secs(20);

/// The connection of a listener and a connector with these certificates.
fn ends(session: u8, listener: u8, connector: u8) -> Ends {
    let fingerprint = |n| Fingerprint([n; 32]);
    Ends {
        session: SessionId([session; 32]),
        listener: fingerprint(listener),
        connector: fingerprint(connector),
    }
}

/// The n-th nonce of somebody.
fn nonce(whose: u8, n: u64) -> Nonce {
    let mut nonce = [whose; 32];
    nonce[..8].copy_from_slice(&n.to_le_bytes());
    nonce
}

/// The code on both screens, the listener's first, after an honest exchange.
fn screens(ends: &Ends, listener: Nonce, connector: Nonce) -> [Code; 2] {
    let (committer, commitment) = Committer::new(ends.clone(), listener);
    let (opening, first) = committer.open(&connector);
    let replier = Replier { ends: ends.clone(), commitment, nonce: connector };
    let second = replier.finish(&opening).unwrap();
    assert_eq!((first.shown, first.expected), (second.expected, second.shown));
    [first.shown, second.shown]
}

/// All of a code that the tests with somebody who computes compare.
fn short(code: Code) -> u16 {
    code.0 as u16
}

#[test]
fn codes_depend_on_all_that_an_attacker_could_change() {
    let honest = (ends(1, 2, 3), nonce(4, 0), nonce(5, 0));
    let mut all = Vec::new();
    for (ends, listener, connector) in [
        honest.clone(),
        (ends(9, 2, 3), honest.1, honest.2),
        (ends(1, 9, 3), honest.1, honest.2),
        (ends(1, 2, 9), honest.1, honest.2),
        (ends(1, 3, 2), honest.1, honest.2),
        (honest.0.clone(), nonce(4, 1), honest.2),
        (honest.0.clone(), honest.1, nonce(5, 1)),
        (honest.0.clone(), honest.2, honest.1),
    ] {
        all.extend(screens(&ends, listener, connector).map(|code| code.0));
    }
    assert!(all.iter().all(|code| *code < 1_000_000_000_000));
    assert!(all.iter().any(|code| *code > 100_000_000_000));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 16, "two codes of each");
}

#[test]
fn codes_are_read_as_people_type_them() {
    assert_eq!(Code(12_345_678).to_string(), "0000 1234 5678");
    for right in ["000012345678", "0000 1234 5678\n", " 0000-1234-5678", "000 012 345 678\r\n"] {
        assert_eq!(Code::typed(right), Some(Code(12_345_678)), "{right:?}");
    }
    for wrong in
        ["", "12345678", "0000123456789", "+00012345678", "00001234567x", "\u{0660}00012345678"]
    {
        assert_eq!(Code::typed(wrong), None, "{wrong:?}");
    }
}

#[test]
fn an_opening_of_anything_else_is_misbehaviour() {
    let (ends, other) = (ends(1, 2, 3), ends(1, 2, 4));
    let commitments = [
        Committer::new(ends.clone(), nonce(4, 0)).1,
        // Of other certificates, and the bytes themselves.
        Committer::new(other, nonce(4, 1)).1,
        Commitment(nonce(4, 1)),
    ];
    for commitment in commitments {
        let replier = Replier { ends: ends.clone(), commitment, nonce: nonce(5, 0) };
        let fault = replier.finish(&nonce(4, 1)).err();
        assert_eq!(fault, Some(Fault::Misbehaved("pair.commitment")));
    }
}

/// Somebody in between, who has put certificate 9 in place of both: on one connection it is the connector, on the
/// other the listener.
fn between() -> (Ends, Ends) {
    (ends(10, 1, 9), ends(11, 9, 2))
}

/// With the codes of both connections it tries nonces until one would do, and there is one: but it has committed.
#[test]
fn who_is_in_between_cannot_choose_its_opening() {
    let (to_listener, to_connector) = between();
    let goal = short(screens(&to_listener, nonce(4, 0), nonce(9, 0))[0]);
    let (_, commitment) = Committer::new(to_connector.clone(), nonce(8, 0));
    let theirs = nonce(5, 0);
    let hit = |n: &u64| short(to_connector.code(&nonce(8, *n), &theirs, End::Listener)) == goal;
    let hits: Vec<u64> = (1..1 << 18).filter(hit).collect();
    assert!(!hits.is_empty(), "that many tries are enough for 16 bits");
    for n in hits {
        let ends = to_connector.clone();
        let codes = Replier { ends, commitment, nonce: theirs }.finish(&nonce(8, n));
        assert_eq!(codes.err(), Some(Fault::Misbehaved("pair.commitment")));
    }
}

/// What the listener sends before it has the caller's nonce is no help to choose that: neither its bytes, taken for the
/// nonce, nor anything else, for the nonce is not in them.
#[test]
fn who_is_in_between_cannot_choose_its_nonce() {
    let (to_listener, to_connector) = between();
    for run in 0..4 {
        let goal = short(screens(&to_connector, nonce(8, run), nonce(5, run))[0]);
        let (committer, said) = Committer::new(to_listener.clone(), nonce(4, run));
        let hit = |n: &u64| short(to_listener.code(&said.0, &nonce(9, *n), End::Listener)) == goal;
        let chosen = (0..1 << 20).find(hit).expect("that many tries are enough for 16 bits");
        let (_, codes) = committer.open(&nonce(9, chosen));
        assert_ne!(short(codes.shown), goal, "run {run}");
    }
}

/// Blind choices, before anything was seen, hit as often as guesses: of 8 bits, 16 times in 4096.
#[test]
fn who_is_in_between_hits_a_code_as_often_as_a_guess() {
    let (to_listener, to_connector) = between();
    let hits = (0..4096).filter(|n| {
        let one = screens(&to_listener, nonce(4, *n), nonce(9, 0));
        let other = screens(&to_connector, nonce(9, 1), nonce(5, *n));
        one[0].0 % 256 == other[0].0 % 256
    });
    let hits = hits.count();
    assert!((4..=36).contains(&hits), "{hits}");
}

fn identity(name: &str) -> Identity {
    Identity::generate(name).unwrap()
}

/// Two owners, of whom one listens.
struct Owners {
    alice: Identity,
    bob: Identity,
    listener: Listener,
    address: String,
}

impl Owners {
    fn new() -> Owners {
        let listener = tcp_listen("127.0.0.1:0").unwrap();
        let address = listener.address().to_string();
        Owners { alice: identity("alice"), bob: identity("bob"), listener, address }
    }

    /// Lets both meet after what `strangers` do to the listener; also who was turned away.
    fn meet(self, strangers: impl FnOnce(&str)) -> ([Pairing; 2], Vec<Fault>) {
        let Owners { alice, bob, listener, address } = self;
        let mut turned_away = Vec::new();
        let note = |_, fault: &Fault| turned_away.push(fault.clone());
        let pairings = thread::scope(|scope| {
            let accepted = scope.spawn(|| pair_accept(listener, &alice, LIMIT, note));
            strangers(&address);
            let connected = pair_connect(&address, &bob, LIMIT);
            [accepted.join().unwrap(), connected]
        });
        let [one, two] = pairings.map(|it| it.unwrap_or_else(|fault| panic!("{fault}")));
        assert_eq!(one.fingerprint(), bob.fingerprint());
        assert_eq!(two.fingerprint(), alice.fingerprint());
        ([one, two], turned_away)
    }
}

/// What each of two sides hears in the end.
fn conclude(sides: [Confirmed; 2]) -> [Result<(), Fault>; 2] {
    let ends = sides.map(|side| thread::spawn(move || side.conclude()));
    ends.map(|end| end.join().unwrap())
}

fn policy<T>(result: Result<T, Fault>) -> String {
    match result.err() {
        Some(Fault::Policy(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn honest_owners_get_each_others_certificate() {
    let ([one, two], turned_away) = Owners::new().meet(|_| ());
    assert_eq!(turned_away, []);
    // The messages that the header says, with their headers.
    let traffic = [&one, &two].map(|side| side.channel.counters().total());
    let bytes = traffic.map(|total| (total.bytes_sent, total.bytes_received));
    assert_eq!(bytes, [(2 * 37, 37), (37, 2 * 37)]);
    let peers = [two.fingerprint(), one.fingerprint()];
    let codes = [two.code(), one.code()];
    assert_ne!(codes[0], codes[1]);
    let sides = [one.confirm(&format!("{}\n", codes[0])), two.confirm(&codes[1].to_string())];
    let sides = sides.map(|side| side.unwrap_or_else(|fault| panic!("{fault}")));
    assert_eq!(sides.each_ref().map(|side| side.peer().fingerprint()), [peers[1], peers[0]]);
    assert_eq!(conclude(sides), [Ok(()), Ok(())]);
}

#[test]
fn a_wrong_code_is_refused_and_the_other_owner_hears_of_it() {
    let ([one, two], _) = Owners::new().meet(|_| ());
    let right = one.code().to_string();
    // The code of the own screen is the first that comes to mind.
    let own = one.code().to_string();
    assert!(policy(one.confirm(&own)).contains("nothing was kept"));
    // The other side's decision is its own owner's.
    let two = two.confirm(&right).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(two.conclude(), Err(Fault::PeerAborted));

    let ([one, two], _) = Owners::new().meet(|_| ());
    let mut digits = two.code().to_string().into_bytes();
    digits[13] = if digits[13] == b'9' { b'0' } else { digits[13] + 1 };
    policy(one.confirm(&String::from_utf8(digits).unwrap()));
    drop(two);
    let ([one, two], _) = Owners::new().meet(|_| ());
    policy(two.confirm(""));
    drop(one);
}

#[test]
fn codes_of_a_relay_with_a_certificate_of_its_own_differ() {
    let (to_alice, to_bob) = (Owners::new(), tcp_listen("127.0.0.1:0").unwrap());
    let (relay, address) = (identity("relay"), to_bob.address().to_string());
    let Owners { alice, bob, listener, address: alice_at } = to_alice;
    let [alice_sees, bob_sees] = thread::scope(|scope| {
        let alice = scope.spawn(|| pair_accept(listener, &alice, LIMIT, |_, _| ()).ok());
        let bob = scope.spawn(|| pair_connect(&address, &bob, LIMIT).ok());
        let to_bob = scope.spawn(|| pair_accept(to_bob, &relay, LIMIT, |_, _| ()).ok());
        assert!(pair_connect(&alice_at, &relay, LIMIT).is_ok());
        assert!(to_bob.join().unwrap().is_some());
        [alice, bob].map(|side| side.join().unwrap().unwrap())
    });
    let (alices, bobs) = (alice_sees.code().to_string(), bob_sees.code().to_string());
    policy(alice_sees.confirm(&bobs));
    policy(bob_sees.confirm(&alices));
}

/// A caller who takes part up to its nonce, for which it sends this frame, if any.
fn caller(address: &str, sends: Option<(Tag, &[u8])>) -> Channel {
    let who = identity("stranger");
    let expected = Expected::Unknown(who.fingerprint());
    let Met { mut channel, .. } = tls::call(address, &who, expected, LIMIT).unwrap();
    let said = receive(&mut channel, COMMIT);
    assert!(said.is_ok(), "{said:?}");
    if let Some((tag, payload)) = sends {
        channel.send(tag, payload).and_then(|()| channel.flush()).unwrap();
    }
    channel
}

#[test]
fn a_listener_goes_on_after_strangers() {
    let started = Instant::now();
    let mut held = Vec::new();
    let (_, turned_away) = Owners::new().meet(|address| {
        let mut garbage = TcpStream::connect(address).unwrap();
        garbage.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let _ = garbage.read(&mut [0; 100]);
        // Somebody who wants to compute: the TLS handshake fails.
        let party = identity("party");
        let other = tls_connect(address, &party, identity("other").certificate(), LIMIT);
        assert!(other.is_err());
        drop(caller(address, None));
        caller(address, None).abort();
        held.push(caller(address, Some((NONCE, &[1; 31]))));
        held.push(caller(address, Some((OPEN, &[1; 32]))));
        // One more says nothing, and is given up.
        held.push(caller(address, None));
    });
    // The one who belongs here may have lost patience with the silent one, and come again.
    assert!((7..=8).contains(&turned_away.len()), "{turned_away:?}");
    let of = |fault: &Fault| turned_away.iter().filter(|it| *it == fault).count();
    assert_eq!(of(&Fault::PeerAborted), 1, "{turned_away:?}");
    assert_eq!(of(&Fault::Misbehaved("frame: wrong length")), 1, "{turned_away:?}");
    assert_eq!(of(&Fault::Misbehaved("frame: wrong tag")), 1, "{turned_away:?}");
    assert_eq!(of(&Fault::Transport("the peer was silent for 5 s".into())), 1, "{turned_away:?}");
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}

#[test]
fn a_wait_for_a_caller_ends() {
    let Owners { alice, listener, address, .. } = Owners::new();
    let accepted = pair_accept(listener, &alice, Duration::from_millis(200), |_, _| ());
    assert!(
        matches!(accepted.err(), Some(Fault::Transport(text)) if text.contains("no peer came"))
    );
    // It listens no longer.
    assert!(TcpStream::connect(&address).is_err());
}

/// With a caller's nonce the codes stand: whoever hangs up then has had its attempt, and nobody is heard after it.
#[test]
fn who_sent_a_nonce_was_the_attempt() {
    let Owners { alice, bob, listener, address } = Owners::new();
    let (mut turned_away, started) = (0, Instant::now());
    let accepted = thread::scope(|scope| {
        let accepted =
            scope.spawn(|| pair_accept(listener, &alice, LIMIT, |_, _| turned_away += 1));
        drop(caller(&address, Some((NONCE, &[1; 32]))));
        let accepted = accepted.join().unwrap();
        assert!(started.elapsed() < LIMIT / 2, "it waited on");
        let late = pair_connect(&address, &bob, Duration::from_millis(200));
        assert!(matches!(late.err(), Some(Fault::Transport(_))));
        accepted
    });
    assert_eq!(turned_away, 0);
    if let Ok(pairing) = accepted {
        assert_ne!(pairing.fingerprint(), bob.fingerprint());
        policy(pairing.confirm("0000 0000 0000"));
    }
}

/// Before the caller's nonce, the listener has sent its commitment and nothing else.
#[test]
fn a_listener_reveals_nothing_before_the_callers_nonce() {
    let Owners { alice, listener, address, .. } = Owners::new();
    thread::scope(|scope| {
        let accepted = scope.spawn(|| pair_accept(listener, &alice, LIMIT, |_, _| ()));
        let mut channel = caller(&address, None);
        channel.set_idle_limit(Duration::from_millis(500));
        channel.set_work_limit(Duration::from_millis(500));
        let early = receive(&mut channel, OPEN);
        assert!(matches!(early, Err(Fault::Transport(_))), "{early:?}");
        drop(channel);
        let mut channel = caller(&address, Some((NONCE, &[1; 32])));
        assert!(receive(&mut channel, OPEN).is_ok());
        assert!(accepted.join().unwrap().is_ok());
    });
}

/// What a connector says of a listener that does this once it has let it in.
fn meets(listener: impl FnOnce(Channel) + Send) -> Fault {
    let Owners { alice, bob, listener: socket, address } = Owners::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let expected = Expected::Unknown(alice.fingerprint());
            let met = tls::accept(&socket, &alice, expected, Limit::of(LIMIT), &mut |_, _| ());
            listener(met.unwrap().0.channel);
        });
        pair_connect(&address, &bob, LIMIT).err().expect("no pairing")
    })
}

#[test]
fn a_connector_ends_with_a_listener_that_does_something_else() {
    let gone = Fault::Transport("the peer closed the connection".into());
    assert_eq!(meets(drop), gone);
    let committed = |channel: &mut Channel| {
        channel.send(COMMIT, &[7; 32]).unwrap();
        receive(channel, NONCE).unwrap()
    };
    assert_eq!(meets(|mut channel| _ = committed(&mut channel)), gone);
    assert_eq!(meets(|mut channel| channel.abort()), Fault::PeerAborted);
    for (tag, len, what) in [
        (COMMIT, 33, "frame: wrong length"),
        (COMMIT, 1 << 20, "frame: wrong length"),
        (OPEN, 32, "frame: wrong tag"),
    ] {
        let fault = meets(|mut channel| {
            channel.send(tag, &vec![7; len]).and_then(|()| channel.flush()).unwrap();
            let _ = channel.recv(NONCE, 32);
        });
        assert_eq!(fault, Fault::Misbehaved(what));
    }
    // The mirror: what this side says comes back.
    let fault = meets(|mut channel| {
        let theirs = committed(&mut channel);
        channel.send(OPEN, &theirs).and_then(|()| channel.flush()).unwrap();
        let _ = channel.recv(ACCEPTED, 0);
    });
    assert_eq!(fault, Fault::Misbehaved("pair.commitment"));
    let started = Instant::now();
    let silent = meets(|mut channel| {
        committed(&mut channel);
        // It says that it is there, and no more.
        channel.set_work_limit(LIMIT);
        let _ = channel.recv(ACCEPTED, 0);
    });
    assert_eq!(silent, Fault::Transport("the peer did not go on for 5 s".into()));
    assert!(started.elapsed() < LIMIT);
}

#[test]
fn bytes_that_come_back_are_no_peer() {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = socket.accept().unwrap();
            let mut back = stream.try_clone().unwrap();
            let _ = std::io::copy(&mut stream, &mut back);
        });
        let paired = pair_connect(&address, &identity("bob"), LIMIT);
        assert!(matches!(paired.err(), Some(Fault::Transport(_))));
    });
}

/// After the codes are on the screens: gone, or another frame than the last.
#[test]
fn the_last_frame_is_bounded_too() {
    for cheat in 0..3 {
        let ([one, two], _) = Owners::new().meet(|_| ());
        let code = two.code().to_string();
        let one = one.confirm(&code).unwrap_or_else(|fault| panic!("{fault}"));
        let heard = thread::scope(|scope| {
            let heard = scope.spawn(|| one.conclude());
            let mut channel = two.channel;
            match cheat {
                0 => drop(channel),
                1 => channel.send(ACCEPTED, &[0]).and_then(|()| channel.flush()).unwrap(),
                _ => channel.send(OPEN, &[]).and_then(|()| channel.flush()).unwrap(),
            }
            heard.join().unwrap().err().unwrap()
        });
        match cheat {
            0 => assert!(matches!(heard, Fault::Transport(_)), "{heard}"),
            1 => assert_eq!(heard, Fault::Misbehaved("frame: wrong length")),
            _ => assert_eq!(heard, Fault::Misbehaved("frame: wrong tag")),
        }
    }
}

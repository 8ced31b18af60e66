//! The handshake: agreement, refusals that name the difference on both sides, hostile bytes.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use cenote_net::{
    Agreed, Channel, Fate, Fault, Handshake, Hello, MAX_HELLO, Role, Shape, Tag, decode_hello,
    encode_hello, mem_pair,
};
use common::{DATA, run, tcp_pair, tls_pair};
use proptest::prelude::*;

type Outcome = Result<Agreed, Fault>;

fn both(ours: &Handshake, theirs: &Handshake) -> (Outcome, Outcome) {
    run(
        mem_pair(),
        |mut a| ours.run(&mut a, Role::Garbler, [1; 32]),
        |mut b| theirs.run(&mut b, Role::Evaluator, [2; 32]),
    )
}

fn list() -> Handshake {
    Handshake::new("job").field("backend", "wrk").field("program", [7u8; 32]).field("rho", "40")
}

fn refusal(outcome: Outcome) -> String {
    match outcome {
        Err(Fault::Policy(text)) => text,
        other => panic!("not a refusal: {other:?}"),
    }
}

#[test]
fn equal_lists_agree_on_one_fresh_session_id() {
    let (a, b) = both(&list(), &list());
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.session_id, b.session_id);
    assert_eq!((a.role, b.role), (Role::Garbler, Role::Evaluator));
    let id = |list: Handshake, nonces: [u8; 2], role: Role| {
        let (a, _) = run(
            tcp_pair(),
            |mut c| list.run(&mut c, role, [nonces[0]; 32]),
            |mut c| list.run(&mut c, role.peer(), [nonces[1]; 32]),
        );
        a.unwrap().session_id
    };
    assert_eq!(id(list(), [1, 2], Role::Garbler), a.session_id);
    for other in [
        id(list(), [3, 2], Role::Garbler),
        id(list(), [1, 3], Role::Garbler),
        id(list(), [1, 2], Role::Evaluator),
        id(list().field("epoch", [0]), [1, 2], Role::Garbler),
    ] {
        assert_ne!(other, a.session_id);
    }
}

/// A remedy is said where its field differs, to the side that gave it alone.
#[test]
fn a_remedy_stays_on_its_side() {
    let ours = || list().remedy("rho", "ask the owner").remedy("program", "compare the files");
    let (a, b) = both(&ours(), &list());
    assert_eq!(a.expect("equal").session_id, b.expect("equal").session_id);
    assert_eq!(ours().encoded_len(), list().encoded_len());
    let theirs = Handshake::new("job").field("backend", "wrk").field("program", [7u8; 32]);
    let (here, there) = both(&ours(), &theirs.field("rho", "64"));
    assert_eq!(refusal(here), "rho: here \"40\", the peer has \"64\"; ask the owner");
    assert_eq!(refusal(there), "rho: here \"64\", the peer has \"40\"");
}

#[test]
fn a_difference_is_named_with_both_values_on_both_sides() {
    let (a, b) = both(&list().field("epsilon", "-41"), &list().field("epsilon", "-64"));
    assert_eq!(refusal(a), r#"epsilon: here "-41", the peer has "-64""#);
    assert_eq!(refusal(b), r#"epsilon: here "-64", the peer has "-41""#);

    let (a, b) = both(&list().field("extra", [0, 255]), &list());
    assert_eq!(refusal(a), r#"extra: here "00ff", the peer has nothing"#);
    assert_eq!(refusal(b), r#"extra: here nothing, the peer has "00ff""#);

    let (a, b) = both(&Handshake::new("job"), &Handshake::new("session"));
    assert_eq!(refusal(a), r#"kind: here "job", the peer has "session""#);
    assert!(refusal(b).contains("kind"));
}

#[test]
fn refusals_are_bounded_and_printable() {
    let mut ours = Handshake::new("job");
    let mut theirs = Handshake::new("job");
    for i in 0..20 {
        let name = format!("field {i}");
        ours = ours.field(&name, vec![b'x'; 1000]);
        theirs = theirs.field(&name, [b"\x1b[2J\n".as_slice(), &[200; 995]].concat());
    }
    let (a, b) = both(&ours, &theirs);
    for text in [refusal(a), refusal(b)] {
        assert!(text.len() < 1000, "{} characters", text.len());
        assert!(text.chars().all(|c| matches!(c, ' '..='~')), "{text:?}");
        assert!(text.ends_with("and 16 more"), "{text}");
    }
}

#[test]
fn equal_roles_are_refused_on_both_sides() {
    let side = |nonce| move |mut c: Channel| list().run(&mut c, Role::Garbler, [nonce; 32]);
    let (a, b) = run(mem_pair(), side(1), side(2));
    assert_eq!(refusal(a), "role: here garbler, the peer has garbler");
    assert_eq!(refusal(b), "role: here garbler, the peer has garbler");
}

#[test]
fn fields_in_another_order_are_misbehaviour() {
    let other = Handshake::new("job")
        .field("program", [7u8; 32])
        .field("backend", "wrk")
        .field("rho", "40");
    let (a, b) = both(&list(), &other);
    for outcome in [a, b] {
        assert_eq!(outcome, Err(Fault::Misbehaved("handshake: fields in another order")));
    }
}

#[test]
fn a_refused_channel_only_aborts_or_closes() {
    let (mut a, mut b) = mem_pair();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(Handshake::new("x").run(&mut b, Role::Evaluator, [2; 32])));
        assert!(list().run(&mut a, Role::Garbler, [1; 32]).is_err());
    });
    assert!(matches!(a.send(DATA, &[]), Err(Fault::Misuse(_))));
}

#[test]
fn a_reflected_hello_is_misbehaviour() {
    let bytes = encode_hello(&hello()).unwrap();
    let (mut a, mut b) = mem_pair();
    b.tamper(move |_| Fate::Replace(bytes.clone()));
    std::thread::scope(|scope| {
        scope.spawn(|| drop(list().run(&mut b, Role::Evaluator, [2; 32])));
        let outcome = list().run(&mut a, Role::Garbler, hello().nonce);
        assert_eq!(outcome, Err(Fault::Misbehaved("handshake: our own nonce came back")));
    });
}

#[test]
fn another_version_is_refused_by_name() {
    let mut bytes = encode_hello(&hello()).unwrap();
    bytes[0] = 9;
    let fault = decode_hello(&bytes).unwrap_err();
    assert!(matches!(&fault, Fault::Policy(text) if text.contains("the peer has 9")), "{fault}");
}

#[test]
fn lists_over_the_limits_are_misuse_and_send_nothing() {
    let many = (0..65).fold(Handshake::new("x"), |list, i| list.field(&format!("f{i}"), []));
    let full = (0..40).fold(Handshake::new("x"), |list, i| list.field(&format!("f{i}"), [0; 1024]));
    for list in [
        many,
        full,
        Handshake::new(""),
        Handshake::new(&"x".repeat(300)),
        Handshake::new("x").field("a", [0; 1025]),
        Handshake::new("x").field("a", vec![0; 70_000]),
        Handshake::new("x").field("a", []).field("a", []),
        Handshake::new("x").field("new\nline", []),
        Handshake::new("x").field("\u{e9}", []),
    ] {
        let (mut a, _b) = mem_pair();
        let outcome = list.run(&mut a, Role::Garbler, [0; 32]);
        assert!(matches!(outcome, Err(Fault::Misuse(_))), "{outcome:?}");
        assert_eq!(a.counters().total().messages_sent, 0);
    }
}

#[test]
fn over_tls_every_hello_shows_its_connection_whatever_lies_on_the_channel() {
    let shape = Shape { rtt: Duration::from_millis(1), mbit_per_s: None };
    let shown = |wrapped: bool| {
        let (mut a, mut b) = tls_pair();
        if wrapped {
            a.shape(shape).unwrap();
            b.shape(shape).unwrap();
            a.tamper(|_| Fate::Pass);
        }
        let (sent, received) = (a.record(), b.record());
        let (a, b) = run(
            (a, b),
            |mut a| [1, 2].map(|n| list().run(&mut a, Role::Garbler, [n; 32]).unwrap()),
            |mut b| [3, 4].map(|n| list().run(&mut b, Role::Evaluator, [n; 32]).unwrap()),
        );
        assert_eq!(a.map(|run| run.session_id), b.map(|run| run.session_id));
        let hellos = [sent.frames(), received.frames()].concat();
        let channels: BTreeSet<Vec<u8>> = hellos
            .iter()
            .map(|frame| {
                let hello = decode_hello(&frame.payload).unwrap();
                let field = hello.fields.into_iter().find(|(name, _)| name == "channel");
                field.expect("it shows its connection").1
            })
            .collect();
        assert_eq!((hellos.len(), channels.len()), (8, 1));
        channels
    };
    assert_eq!(shown(false).intersection(&shown(true)).count(), 0, "two connections");
}

fn hello() -> Hello {
    Hello {
        kind: "session".into(),
        role: Role::Garbler,
        nonce: [9; 32],
        fields: vec![("backend".into(), b"wrk".to_vec()), ("digest".into(), vec![0, 1, 2])],
    }
}

#[test]
fn every_cut_of_a_hello_is_refused() {
    let bytes = encode_hello(&hello()).unwrap();
    assert_eq!(decode_hello(&bytes), Ok(hello()));
    for len in 0..bytes.len() {
        assert!(decode_hello(&bytes[..len]).is_err(), "{len} bytes");
    }
    assert!(decode_hello(&[bytes, vec![0]].concat()).is_err());
    assert!(decode_hello(&vec![1; MAX_HELLO + 1]).is_err());
}

/// A hello as a peer may send it that keeps to no limit.
fn raw_hello(kind: &[u8], role: u8, fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes =
        [&[1, kind.len() as u8], kind, &[role], &[9; 32], &[fields.len() as u8]].concat();
    for (name, value) in fields {
        let lengths = (value.len() as u16).to_le_bytes();
        bytes.extend([&[name.len() as u8], *name, &lengths, *value].concat());
    }
    bytes
}

/// Each is well formed but for one thing, and the check of that thing refuses it.
#[test]
fn every_malformed_hello_meets_its_check() {
    let good = encode_hello(&hello()).unwrap();
    let names: Vec<String> = (0..65).map(|i| format!("f{i}")).collect();
    let many: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &[][..])).collect();
    let long: Vec<(&[u8], &[u8])> =
        many[..40].iter().map(|(name, _)| (*name, &[0; 1024][..])).collect();
    let cases = [
        ("handshake: hello cut short", good[..good.len() - 1].to_vec()),
        ("handshake: hello cut short", good[..5].to_vec()),
        ("handshake: hello cut short", vec![]),
        ("handshake: bytes after the end", [&good[..], &[0]].concat()),
        ("handshake: no such role", raw_hello(b"job", 2, &[])),
        ("handshake: bad name", raw_hello(b"", 0, &[])),
        ("handshake: bad name", raw_hello(&[b'x'; 65], 0, &[])),
        ("handshake: bad name", raw_hello(b"job", 0, &[(b"new\nline", b"")])),
        ("handshake: too many fields", raw_hello(b"job", 0, &many)),
        ("handshake: value too long", raw_hello(b"job", 0, &[(b"a", &[0; 1025])])),
        ("handshake: field named twice", raw_hello(b"job", 0, &[(b"a", b"1"), (b"a", b"1")])),
        ("handshake: hello too long", raw_hello(b"job", 0, &long)),
    ];
    for (check, bytes) in cases {
        assert_eq!(decode_hello(&bytes), Err(Fault::Misbehaved(check)));
        // The channel takes none that is too long.
        let check = if bytes.len() > MAX_HELLO { "frame: wrong length" } else { check };
        let (mut a, mut b) = mem_pair();
        b.tamper(move |_| Fate::Replace(bytes.clone()));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(list().run(&mut b, Role::Evaluator, [2; 32])));
            let outcome = list().run(&mut a, Role::Garbler, [1; 32]);
            assert_eq!(outcome, Err(Fault::Misbehaved(check)));
            a.abort();
        });
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_to_a_fault_or_to_their_only_source(
        random in proptest::collection::vec(any::<u8>(), 0..200),
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut near = encode_hello(&hello()).unwrap();
        let at = at.index(near.len());
        near[at] = byte;
        for bytes in [random, near] {
            if let Ok(decoded) = decode_hello(&bytes) {
                prop_assert_eq!(encode_hello(&decoded), Ok(bytes));
            }
        }
    }

    #[test]
    fn a_hostile_peer_gets_a_fault(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        framed in any::<bool>(),
    ) {
        let (mut a, mut b) = mem_pair();
        let raw = bytes.clone();
        b.tamper(move |_| if framed { Fate::Replace(raw.clone()) } else { Fate::Raw(raw.clone()) });
        b.send(DATA, &[]).unwrap();
        b.flush().unwrap();
        drop(b);
        prop_assert!(list().run(&mut a, Role::Garbler, [1; 32]).is_err());
        a.abort();
    }

    #[test]
    fn random_bytes_into_any_receive_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        len in 0usize..40,
    ) {
        for receive in 0..3 {
            let (mut a, mut b) = mem_pair();
            let raw = bytes.clone();
            b.tamper(move |_| Fate::Raw(raw.clone()));
            b.send(DATA, &[]).unwrap();
            b.flush().unwrap();
            drop(b);
            let tag = Tag::new(bytes.first().copied().unwrap_or(0).max(16), "any");
            while match receive {
                0 => a.recv(tag, len).is_ok(),
                1 => a.recv_into(tag, &mut vec![0; len]).is_ok(),
                _ => a.recv_bounded(tag, len).is_ok(),
            } {}
        }
    }
}

//! What is fed with arbitrary bytes: every decoder and parser that meets a peer or a file.
//!
//! A target must return for every input, quickly, without a panic. What it accepts it must also be
//! able to write again.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use cenote_circuit::bristol::{Ports, parse_any, parse_with_ports, write_bristol_fashion};
use cenote_circuit::{Circuit, Clear, ParseError, Program};
use cenote_engine::protocols::opening::{Openings, message_len};
use cenote_net::{
    Fault, HEADER_LEN, Handshake, Identity, Listener, MAX_FRAME, PeerCertificate, Role, Tag,
    decode_frame_header, decode_hello, encode_hello, tcp_accept, tcp_listen, tls_accept,
};
use cenote_ot::base::{BaseReceiver, BaseSender};
use cenote_prim::{Block, Prg, SessionId};

/// A target by its name, which is also the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("bristol", bristol),
    ("certificate", certificate),
    ("codec", codec),
    ("handshake", handshake),
    ("opening", opening),
    ("ot", ot),
    ("ports", ports),
    ("tls", tls),
];

const SESSION: SessionId = SessionId([7; 32]);

/// Circuit files in both Bristol formats; what is read computes the same after it was written again.
pub fn bristol(data: &[u8]) {
    match parse_any("fuzz.txt", data) {
        Ok(circuit) => {
            let text = write_bristol_fashion(&circuit);
            let again = parse_any("fuzz.txt", text.as_bytes()).expect("own output");
            assert_eq!(write_bristol_fashion(&again), text);
            for bit in [false, true] {
                assert_eq!(evaluate(&circuit, bit), evaluate(&again, bit));
            }
        }
        Err(error) => check_error(&error),
    }
}

/// Ports files beside a two-bit adder.
pub fn ports(data: &[u8]) {
    const ADDER: &[u8] = b"5 9\n2 2 2\n1 3\n\n2 1 0 2 6 XOR\n2 1 0 2 4 AND\n2 1 1 3 5 XOR\n\
                           2 1 4 5 7 XOR\n2 1 1 3 8 AND\n";
    let outcome = Ports::parse("fuzz.ports.toml", data)
        .and_then(|ports| parse_with_ports("adder.txt", ADDER, Some(&ports)));
    match outcome {
        Ok(circuit) => {
            let signature = circuit.signature();
            assert_eq!((signature.input_bits(), signature.output_bits()), (4, 3));
            let again = Ports::parse("fuzz.ports.toml", circuit.ports_toml().as_bytes());
            assert!(again.is_ok(), "own output");
        }
        Err(error) => check_error(&error),
    }
}

/// An error must say where, what, and what to do.
fn check_error(error: &ParseError) {
    assert!(error.line >= 1 && !error.message.is_empty() && !error.remedy.is_empty());
    assert!(!error.to_string().contains('\n'), "an error is one line");
}

/// The outputs with every input bit equal to `bit`.
fn evaluate(circuit: &Circuit, bit: bool) -> Vec<Vec<bool>> {
    let inputs: Vec<_> = circuit.signature().inputs.iter().map(|p| vec![bit; p.bits]).collect();
    Clear::eval(circuit, &inputs)
}

/// Frame headers and hellos.
pub fn codec(data: &[u8]) {
    let header = data.first_chunk::<HEADER_LEN>().map(decode_frame_header);
    if let Some(Ok(header)) = header {
        assert!(header.len <= MAX_FRAME);
        let control = [Tag::ABORT.id, Tag::BYE.id].contains(&header.tag);
        assert!(header.len == 0 || !control);
    }
    if let Ok(hello) = decode_hello(data) {
        let again = encode_hello(&hello).expect("what was decoded can be encoded");
        assert_eq!(again, data, "a hello has one encoding");
    }
}

/// Listens, and has a peer connect, send these bytes and close its side.
fn caller(data: &[u8]) -> (Listener, TcpStream) {
    let listener = tcp_listen("127.0.0.1:0").expect("loopback");
    let mut peer = TcpStream::connect(listener.address()).expect("loopback");
    peer.write_all(data).and_then(|()| peer.shutdown(Shutdown::Write)).expect("loopback");
    (listener, peer)
}

/// A peer that sends these bytes in place of a session's first messages.
pub fn handshake(data: &[u8]) {
    let (listener, _peer) = caller(data);
    let mut channel = tcp_accept(&listener, Duration::from_secs(5)).expect("connected above");
    let ours = Handshake::new("session").field("backend", "wrk").field("pool", [0, 83, 7, 0]);
    if let Ok(agreed) = ours.run(&mut channel, Role::Garbler, [9; 32]) {
        assert_eq!(agreed.role, Role::Garbler);
        let _ = channel.recv_bounded(Tag::new(16, "anything"), 64);
    }
    channel.abort();
}

/// Opened bits: no message but the right one is accepted.
pub fn opening(data: &[u8]) {
    let delta = Block::from_bytes([3; 16]);
    let bits = data.len().saturating_sub(16) * 8;
    let keys = vec![Block::from_bytes([2; 16]); bits.min(4096)];
    let known_length = data.len() == message_len(keys.len());
    let verified = Openings::new(SESSION, Role::Garbler).verify(data, &keys, delta);
    // Bits without a single key are right by definition; all others would need a forged MAC.
    assert!(verified.is_err() || (known_length && keys.is_empty()));
}

/// Both messages of the base oblivious transfer.
pub fn ot(data: &[u8]) {
    let (sender, _) = BaseSender::new(&SESSION, &mut Prg::new(Block::from_bytes([1; 16])));
    let _ = sender.finish(data);
    if data.len() == cenote_ot::base::SENDER_LEN {
        let mut prg = Prg::new(Block::from_bytes([2; 16]));
        let (receiver, _) = BaseReceiver::new(&SESSION, Block::from_bytes([5; 16]), &mut prg);
        let _ = receiver.finish(data);
    }
}

/// A peer that sends these bytes in place of a TLS handshake. Without the key of the expected
/// certificate nothing gets through.
pub fn tls(data: &[u8]) {
    static IDENTITY: LazyLock<Identity> =
        LazyLock::new(|| Identity::generate("fuzz").expect("a fresh identity"));
    let (listener, _peer) = caller(data);
    let accepted = tls_accept(&listener, &IDENTITY, IDENTITY.certificate(), Duration::from_secs(5));
    assert!(accepted.is_err());
}

/// A peer's certificate file.
pub fn certificate(data: &[u8]) {
    let file = std::env::temp_dir().join(format!("cenote-fuzz-{}.pem", std::process::id()));
    std::fs::write(&file, data).expect("a writable directory for temporary files");
    if let Err(fault) = PeerCertificate::load(&file) {
        assert!(matches!(fault, Fault::Misuse(_)));
        assert!(fault.to_string().contains("cenote-fuzz"), "an error names the file");
    }
    std::fs::remove_file(&file).expect("written above");
}

//! The targets of arbitrary bytes: every decoder and parser that meets a peer or a file.
//!
//! A target must return for every input, quickly, without a panic. What it accepts it must also be
//! able to write again.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use cenote_circuit::formats::aiger::{write_aiger_ascii, write_aiger_binary};
use cenote_circuit::formats::blif::write_blif;
use cenote_circuit::formats::bristol::write_bristol_fashion;
use cenote_circuit::formats::{
    Beside, Format, Parsed, Place, Ports, ReadError, detect, parse, parse_any, parse_with_ports,
};
use cenote_circuit::optimise::{self, OptimiseError, Options};
use cenote_circuit::{
    Circuit, Clear, ParseError, Program, hex_from_bits, read_circuit, value_from_hex,
};
use cenote_engine::backends::jimu::ihash::{
    HashReceiver, LANES, Message, Perm, Recogniser, ReedSolomonReceiver, Tag as HashTag, Watch,
    decode, encode, encoded_len,
};
use cenote_engine::backends::jimu::{decode_perms, encode_perms};
use cenote_engine::backends::wrk::opening::{Openings, message_len};
use cenote_engine::cost::Limits;
use cenote_net::{
    Channel, Fate, Fault, HEADER_LEN, Handshake, Identity, Listener, MAX_FRAME, PeerCertificate,
    Role, Tag, decode_frame_header, decode_hello, encode_hello, mem_pair, tcp_accept, tcp_listen,
    tls_accept,
};
use cenote_ot::base::{BaseReceiver, BaseSender};
use cenote_ot::{CotReceive, CotSend, watch as watch_list};
use cenote_pool::params::{Code, hash_codes};
use cenote_prim::planes::{pack6, packed6, unpack6};
use cenote_prim::{Block, Prg, SessionId};
use cenote_program::{Column, CsvFile, Input, Kind, Module, PortPath, Shape, Stats};

/// A target by its name, which is also the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("aiger", aiger),
    ("blif", blif),
    ("bristol", bristol),
    ("bristol_stream", bristol_stream),
    ("certificate", certificate),
    ("codec", codec),
    ("garble", garble),
    ("handshake", handshake),
    ("ihash", ihash),
    ("limits", limits),
    ("opening", opening),
    ("ot", ot),
    ("ports", ports),
    ("program_binary", program_binary),
    ("program_text", program_text),
    ("shdl", shdl),
    ("tls", tls),
    ("values", values),
    ("watch", watch),
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

/// Circuit files in both Bristol formats, read gate by gate and optimised in small windows: the reader
/// takes only what the one in memory takes, and the function stays.
pub fn bristol_stream(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a writable directory for temporary files");
    let [from, to] = ["from.txt", "to.txt"].map(|name| directory.path().join(name));
    std::fs::write(&from, data).expect("writable");
    let options = Options { window: 16, depth: data.len() % 2 == 1 };
    let whole = parse_any("from.txt", data);
    match optimise::file(&from, &to, &options) {
        Ok(_) => {
            let whole = whole.expect("both readers follow the same rules");
            let again = read_circuit(&to).expect("own output");
            for bit in [false, true] {
                assert_eq!(evaluate(&whole, bit), evaluate(&again, bit));
            }
            let word = |wire: u32| (u64::from(wire) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let [before, after] = [&from, &to].map(|path| optimise::outputs(path, word));
            assert_eq!(before.expect("read above"), after.expect("read above"));
        }
        Err(OptimiseError::Read(ReadError::Parse(error))) => {
            check_error(&error);
            // Circuits in other formats are read in memory only.
            let bristol =
                matches!(detect("from.txt", data), Ok(Format::OldBristol | Format::BristolFashion));
            assert!(!bristol || whole.is_err(), "{error}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Values as users give them: a byte for the kind, one for the width, one for the lanes, the text. What is
/// read is shown as a text that reads alike.
pub fn values(data: &[u8]) {
    let [kind, width, lanes, rest @ ..] = data else { return };
    let (width, lanes) = (u32::from(*width) % 200 + 1, u32::from(*lanes) % 5 + 1);
    let (kind, width) = match kind % 5 {
        0 => (Kind::Bits, width),
        1 => (Kind::Bool, 1),
        2 => (Kind::UInt, width),
        3 => (Kind::Int, width),
        _ => (Kind::Fixed { fraction: width / 2 }, width),
    };
    csv(rest, kind, width);
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let shape = Shape::vector(lanes, width);
    let (name, path) = ("x".to_owned(), PortPath::flat("x", lanes));
    let input = Input { name, path, owner: Role::Garbler, kind, shape };
    match input.parse(text) {
        Ok(bits) => {
            assert_eq!(bits.len(), shape.bits());
            let words = bits.chunks(width as usize).map(|word| kind.show_word(word));
            let shown = words.collect::<Vec<_>>().join(",");
            assert_eq!(input.parse(&shown), Ok(bits), "{shown}");
        }
        Err(error) => assert!(!error.what.is_empty() && !error.to_string().contains('\n')),
    }
    if let Ok(bits) = value_from_hex("x", shape.bits(), text) {
        assert_eq!(value_from_hex("x", bits.len(), &hex_from_bits(&bits)), Ok(bits));
    }
}

/// The text as a CSV file with one column: what is wrong is on one of its lines.
fn csv(text: &[u8], kind: Kind, width: u32) {
    let column = Column { name: "x".to_owned(), kind, width };
    let read =
        CsvFile::read(text).and_then(|file| Ok((file.lines().len(), file.columns(&[column])?)));
    match read {
        Ok((rows, columns)) => assert_eq!(columns[0].len(), rows * width as usize),
        Err(error) => {
            let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&error.line) && !error.what.is_empty(), "{error}");
        }
    }
}

/// Garble texts as far as no loop is unrolled: what is wrong has a place in the text, but for what makes
/// Garble's own compiler panic.
pub fn garble(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = cenote_frontend::garble::check("fuzz.garble.rs", text) {
        let lines = text.matches('\n').count() + 1;
        assert!(
            error.place.is_none_or(|(line, column)| (1..=lines).contains(&line) && column >= 1)
        );
        let failed = error.what == "the Garble compiler failed on this program";
        assert!(!error.what.is_empty() && (failed || error.place.is_some()), "{error}");
    }
}

/// Files of limits: those that are read can be written, and refuse nothing that takes nothing but by
/// limits below zero or that are no numbers.
pub fn limits(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match toml::from_str::<Limits>(text) {
        Ok(limits) => {
            let nothing = limits.check(&Stats::default(), 0, 0.0, 0);
            assert_eq!(nothing.is_ok(), limits.seconds >= 0.0);
            assert!(limits.check(&Stats::default(), u64::MAX, f64::NAN, u64::MAX).is_err());
        }
        Err(error) => assert!(!error.message().is_empty()),
    }
}

/// AIGER files, text or bytes by the first byte, whose header is completed; what is read is written in
/// both kinds and in BLIF.
pub fn aiger(data: &[u8]) {
    let start: &[u8] =
        if data.first().is_some_and(|byte| byte & 1 == 1) { b"aag " } else { b"aig " };
    match parse("fuzz", &[start, data.get(1..).unwrap_or_default()].concat(), Beside::default()) {
        Ok(parsed) => written(&parsed),
        Err(error) => check_error(&error),
    }
}

/// BLIF files; what is read is written again, and as AIGER.
pub fn blif(data: &[u8]) {
    match parse("fuzz.blif", data, Beside::default()) {
        Ok(parsed) => written(&parsed),
        Err(error) => check_error(&error),
    }
}

/// SHDL files, and after a byte 0 the `.fmt` file beside it.
pub fn shdl(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let circuit = parts.next().unwrap_or_default();
    let fmt = parts.next().map(|fmt| ("fuzz.fmt", fmt));
    match parse("fuzz.circuit", circuit, Beside { ports: None, fmt }) {
        Ok(parsed) => written(&parsed),
        Err(error) => check_error(&error),
    }
}

/// All formats that hold latches keep the function of a cycle.
fn written(parsed: &Parsed) {
    let files = [
        write_blif(parsed).into_bytes(),
        write_aiger_ascii(parsed).into_bytes(),
        write_aiger_binary(parsed),
    ];
    for file in files {
        let again = parse("fuzz", &file, Beside::default()).expect("own output");
        for bit in [false, true] {
            // Ports of no bits are in no file.
            let [a, b] = [parsed, &again].map(|parsed| {
                let circuit = match parsed {
                    Parsed::Circuit(circuit) => circuit,
                    Parsed::Sequential(sequential) => sequential.circuit(),
                };
                evaluate(circuit, bit).concat()
            });
            assert_eq!(a, b);
        }
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
    if let Place::Text { line, column } = error.place {
        assert!(line >= 1 && column >= 1);
    }
    assert!(!error.message.is_empty() && !error.remedy.is_empty());
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
    let (mut sender, _) = BaseSender::new(&SESSION, &mut Prg::new(Block::from_bytes([1; 16])));
    let _ = sender.take(data);
    if data.len() == cenote_ot::base::SENDER_LEN {
        let mut prg = Prg::new(Block::from_bytes([2; 16]));
        let mut receiver = BaseReceiver::new(&SESSION, Block::from_bytes([5; 16]));
        receiver.part(&mut prg);
        let _ = receiver.finish(data);
    }
}

/// The text form of programs: what is read has one text and one binary form, and can be counted.
pub fn program_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Module::parse_text(text) {
        Ok(module) => {
            let canonical = module.to_text();
            assert_eq!(Module::parse_text(&canonical).as_ref(), Ok(&module));
            assert_eq!(Module::from_bytes(&module.to_bytes()).as_ref(), Ok(&module));
            let _ = module.stats_within(1 << 22);
        }
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1);
            assert!(!error.what.is_empty() && !error.to_string().contains('\n'));
        }
    }
}

/// The binary form of programs: bytes that are read are the only form of what they say.
pub fn program_binary(data: &[u8]) {
    match Module::from_bytes(data) {
        Ok(module) => {
            assert_eq!(module.to_bytes(), data);
            assert_eq!(Module::parse_text(&module.to_text()).as_ref(), Ok(&module));
            if let Ok(stats) = module.stats_within(1 << 16) {
                optimised(&module, &stats);
            }
        }
        Err(error) => assert!(error.offset <= data.len() && !error.what.is_empty()),
    }
}

/// An optimised module has the ports and, where it is short to run, the outputs of the module.
fn optimised(module: &Module, stats: &Stats) {
    let (smaller, report) = module.optimised(&Options::default());
    assert!(report.ands_after <= report.ands_before);
    assert_eq!(smaller.signature(), module.signature());
    assert_eq!(Module::from_bytes(&smaller.to_bytes()).as_ref(), Ok(&smaller));
    if stats.statements.max(stats.ands).max(stats.moved_bits) < 1 << 16 {
        for bit in [false, true] {
            let bits = module.inputs().iter().map(|port| vec![bit; port.shape.bits()]);
            let bits: Vec<Vec<bool>> = bits.collect();
            assert_eq!(smaller.evaluate(&bits), module.evaluate(&bits));
        }
    }
}

/// A peer that sends these bytes in place of a TLS handshake. Without the key of the expected
/// certificate nothing gets through.
pub fn tls(data: &[u8]) {
    static IDENTITY: LazyLock<Identity> =
        LazyLock::new(|| Identity::generate("fuzz").expect("a fresh identity"));
    let (listener, _peer) = caller(data);
    let accepted =
        tls_accept(&listener, &IDENTITY, IDENTITY.certificate(), Duration::ZERO, |_, _| ());
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

/// The evaluator's end of the interactive hash, which has hashed one vector of zeros. It watches the
/// last places: messages hold the values at the first, where single bytes could be changed unseen.
fn receiver(rho: u32) -> ReedSolomonReceiver {
    let codes = hash_codes(rho).expect("in range");
    let list = |code: &Code| {
        let places: Vec<u8> = (code.n - code.w..code.n).map(|place| place as u8).collect();
        (places, vec![Block::from_bytes([6; 16]); code.w as usize])
    };
    let (labels, perms) = (list(&codes.labels), list(&codes.perms));
    let labels = Watch { positions: &labels.0, seeds: &labels.1 };
    let perms = Watch { positions: &perms.0, seeds: &perms.1 };
    let mut prg = Prg::new(Block::from_bytes([8; 16]));
    let mut receiver = ReedSolomonReceiver::new(&codes, SESSION, labels, perms, &mut prg);
    let zeros = vec![0; receiver.corrections_len(LANES)];
    receiver.hash(LANES, &zeros, &mut Vec::new()).expect("of the right length");
    receiver
}

/// Messages of the interactive hash: openings, permutation messages, corrections, answers.
pub fn ihash(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    static RECEIVERS: LazyLock<[ReedSolomonReceiver; 2]> = LazyLock::new(|| [40, 64].map(receiver));
    let which = usize::from(first & 1);
    let receiver = &RECEIVERS[which];
    openings(receiver, data);
    symbols(data);
    let mut tags = Vec::new();
    let accepted = receiver.hash_again(&[0], LANES, LANES, data, &mut tags).is_ok();
    let known_length = data.len() == receiver.corrections_len(LANES);
    // Over GF(2^6), the last of 18 planes has two bits for the last of 23 symbols.
    let padded = which == 1 || data.iter().rev().take(LANES).all(|byte| *byte < 4);
    assert_eq!(accepted, known_length && padded);
    if first & 2 != 0 {
        answers([40, 64][which], data);
    }
}

/// Checks that what is decoded is encoded alike, and agrees with the tag of zero if it is zero.
fn openings(receiver: &ReedSolomonReceiver, data: &[u8]) {
    let blocks = receiver.perm_blocks();
    let mut messages = vec![Message::ZERO; data.len() / encoded_len(1, blocks)];
    assert!(!decode(&[data, &[0]].concat(), blocks, &mut messages));
    let whole = &data[..encoded_len(messages.len(), blocks)];
    assert!(decode(whole, blocks, &mut messages));
    let mut again = Vec::new();
    encode(&messages, blocks, &mut again);
    assert_eq!(again, whole);
    let zeros = vec![HashTag::ZERO; messages.len()];
    assert_eq!(receiver.agree(&messages, &zeros), whole.iter().all(|byte| *byte == 0));
    let perms: Vec<Perm> = decode_perms(data, blocks).iter().map(|message| message.perm).collect();
    assert_eq!(encode_perms(&perms, blocks), data[..perms.len() * 16 * blocks]);
}

/// Packed symbols have one encoding.
fn symbols(data: &[u8]) {
    let packed = &data[..data.len() / (3 * LANES) * 3 * LANES];
    let most = packed.len() / LANES / 3 * 4;
    for count in most.saturating_sub(3)..=most {
        if packed6(count) != packed.len() / LANES {
            continue;
        }
        let (mut planes, mut again) = (vec![0; count * LANES], vec![0; packed.len()]);
        let canonical = unpack6(packed, LANES, &mut planes);
        pack6(&planes, LANES, &mut again);
        assert_eq!(canonical, again == packed);
    }
}

/// The end of a batch, in which nothing was hashed but zeros. After a refusal nothing is accepted.
fn answers(rho: u32, data: &[u8]) {
    let mut receiver = receiver(rho);
    let close = receiver.corrections_len(receiver.sacrificed());
    let (corrections, answer) = data.split_at(close.min(data.len()));
    let coin = Block::from_bytes([1; 16]);
    let closed = receiver.close(corrections);
    assert!(closed.is_err() || corrections.len() == close);
    let held = receiver.held(coin);
    let first = receiver.check(&held, answer);
    assert!(closed.is_ok() || first.is_err());
    if first.is_err() {
        assert!(receiver.check(&held, answer).is_err());
    }
}

/// Correlated OT from a dealer.
struct Dealer(Prg);

const DELTA: Block = Block::ONE;

impl CotReceive for Dealer {
    fn extend(&mut self, _: &mut Channel, macs: &mut [Block]) -> Result<(), Fault> {
        self.0.fill(macs);
        Ok(())
    }

    fn hash_start(&mut self) -> Block {
        Block::ONE
    }
}

impl CotSend for Dealer {
    fn delta(&self) -> Block {
        DELTA
    }

    fn extend(&mut self, _: &mut Channel, keys: &mut [Block]) -> Result<(), Fault> {
        self.0.fill(keys);
        keys.iter_mut().for_each(|key| *key ^= DELTA.times(key.lsb()));
        Ok(())
    }

    fn hash_start(&mut self) -> Block {
        Block::ONE
    }
}

/// A peer that sends these bytes, but for the first, in place of its side of a watch list.
pub fn watch(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let (mut own, mut peer) = mem_pair();
    own.set_idle_limit(Duration::from_millis(2));
    let mut bytes = Some(data.to_vec());
    peer.tamper(move |_| bytes.take().map_or(Fate::Drop, Fate::Raw));
    peer.send(Tag::new(99, "raw"), &[]).and_then(|()| peer.flush()).expect("room");
    let (mut cot, mut prg) =
        (Dealer(Prg::new(Block::from_bytes([4; 16]))), Prg::new(Block::from_bytes([3; 16])));
    let (own, cot, prg) = (&mut own, &mut cot, &mut prg);
    if first & 1 == 0 {
        if let Ok(found) = watch_list::receive(own, cot, &SESSION, 0, SEEDS, WATCHED, prg) {
            assert_eq!((found.positions.len(), found.seeds.len()), (WATCHED, WATCHED));
            assert!(found.positions.is_sorted_by(|a, b| a < b));
        }
    } else {
        let seeds = [Block::from_bytes([5; 16]); SEEDS];
        let _ = watch_list::send(own, cot, &SESSION, 0, &seeds, WATCHED, prg);
    }
}

/// Seeds of the watch list, and how many of them are watched.
const SEEDS: usize = 9;
const WATCHED: usize = 4;

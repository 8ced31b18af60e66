//! P between two owners that both deal with P: it takes the one's TLS connection, opens its own to the
//! other and passes frames on, so that each would compute with somebody it never authenticated.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cenote_engine::backends::wrk;
use cenote_engine::{Backend, Fault, Receivers, Role, Session};
use cenote_net::{
    CERTIFICATE_FILE, Channel, HEADER_LEN, Identity, KEY_FILE, Tag, decode_frame_header,
    decode_hello, encode_hello, tcp_listen, tls_accept, tls_connect,
};
use cenote_testkit::programs::{Kind, TestProgram};
use cenote_testkit::run::{Outputs, prg_of, run_program, smallest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, ServerConfig,
    ServerConnection, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

const LIMIT: Duration = Duration::from_secs(30);
/// The tags of the frames that came from an owner, in order.
type Tags = Vec<u8>;

/// The treatment of hellos by P; it passes on everything else as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hellos {
    Verbatim,
    /// Each owner reads what it said itself of its connection and of the session, so both are content.
    Rewritten,
}

/// One of P's two connections.
struct Leg {
    conn: Connection,
    stream: TcpStream,
    /// The bytes that came and are no whole frame yet.
    came: Vec<u8>,
    tags: Tags,
    /// A hello that waits for the other owner's.
    hello: Option<Vec<u8>>,
    ended: bool,
}

impl Leg {
    fn new(conn: Connection, stream: TcpStream) -> Leg {
        stream.set_nonblocking(true).expect("a socket");
        let mut leg = Leg { conn, stream, came: vec![], tags: vec![], hello: None, ended: false };
        leg.conn.set_buffer_limit(None);
        leg
    }

    fn send(&mut self, bytes: &[u8]) {
        self.conn.writer().write_all(bytes).expect("no limit");
    }

    /// Moves what can move without waiting; whether anything came.
    fn step(&mut self) -> bool {
        while self.conn.wants_write() && matches!(self.conn.write_tls(&mut self.stream), Ok(1..)) {}
        match self.conn.read_tls(&mut self.stream) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Ok(1..) if self.conn.process_new_packets().is_ok() => {}
            _ => self.ended = true,
        }
        let mut bytes = [0; 1 << 16];
        while let Ok(n @ 1..) = self.conn.reader().read(&mut bytes) {
            self.came.extend_from_slice(&bytes[..n]);
        }
        true
    }

    /// The next whole frame that came.
    fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let header = decode_frame_header(self.came.first_chunk()?).expect("of an honest party");
        let end = HEADER_LEN + header.len;
        let payload = self.came.get(HEADER_LEN..end)?.to_vec();
        self.came.drain(..end);
        self.tags.push(header.tag);
        Some((header.tag, payload))
    }

    fn send_frame(&mut self, tag: u8, payload: &[u8]) {
        self.send(&[&[tag], &(payload.len() as u32).to_le_bytes()[..], payload].concat());
    }
}

/// The hello of one owner, as the other is to read it.
fn rewritten(hello: &[u8], reader: &[u8]) -> Vec<u8> {
    let (mut hello, reader) =
        (decode_hello(hello).expect("one"), decode_hello(reader).expect("one"));
    for (name, value) in &mut hello.fields {
        if ["channel", "session"].contains(&name.as_str()) {
            let own = reader.fields.iter().find(|(other, _)| other == name);
            value.clone_from(&own.expect("it shows the same fields").1);
        }
    }
    encode_hello(&hello).expect("within the limits")
}

/// Passes frames on until one end is gone; the tags that came from each.
fn pass_on(mut legs: [Leg; 2], hellos: Hellos) -> [Tags; 2] {
    let deadline = Instant::now() + LIMIT;
    let mut welcomed = false;
    while !legs.iter().any(|leg| leg.ended) {
        assert!(Instant::now() < deadline, "the owners neither end nor give up");
        let moved = legs.iter_mut().map(Leg::step).fold(false, |any, moved| any | moved);
        // The listener's welcome, a byte alone.
        if !welcomed && let Some(byte) = legs[1].came.first().copied() {
            legs[1].came.remove(0);
            legs[0].send(&[byte]);
            welcomed = true;
        }
        for (from, to) in [(0, 1), (1, 0)] {
            while welcomed && let Some((tag, payload)) = legs[from].frame() {
                if tag == Tag::HELLO.id && hellos == Hellos::Rewritten {
                    legs[from].hello = Some(payload);
                } else {
                    legs[to].send_frame(tag, &payload);
                }
            }
        }
        if let [Some(one), Some(two)] = [0, 1].map(|i: usize| legs[i].hello.clone()) {
            legs[0].send_frame(Tag::HELLO.id, &rewritten(&two, &one));
            legs[1].send_frame(Tag::HELLO.id, &rewritten(&one, &two));
            legs.iter_mut().for_each(|leg| leg.hello = None);
        }
        if !moved {
            thread::sleep(Duration::from_micros(200));
        }
    }
    legs.map(|mut leg| {
        leg.step();
        leg.tags
    })
}

/// P's own key, which both owners take for their peer's.
struct P {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl P {
    fn new(identity: &Identity) -> P {
        let dir = tempfile::tempdir().expect("a directory");
        identity.save(dir.path()).expect("a fresh directory");
        let chain = CertificateDer::from_pem_file(dir.path().join(CERTIFICATE_FILE));
        let key = PrivateKeyDer::from_pem_file(dir.path().join(KEY_FILE));
        P { chain: vec![chain.expect("a certificate")], key: key.expect("a key") }
    }

    /// Stands between the owner who comes to `listener` and the one who listens at `address`.
    fn relay(&self, listener: &TcpListener, address: SocketAddr, hellos: Hellos) -> [Tags; 2] {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider.clone())))
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .expect("P's pair");
        client.alpn_protocols = vec![b"cenote/1".to_vec()];
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .expect("P's pair");
        server.alpn_protocols = vec![b"cenote/1".to_vec()];
        let name = ServerName::try_from("cenote.invalid").expect("a name");
        let client = ClientConnection::new(Arc::new(client), name).expect("a client");
        let server = ServerConnection::new(Arc::new(server)).expect("a server");
        let onward = TcpStream::connect(address).expect("it listens");
        let came = listener.accept().expect("it comes").0;
        pass_on([Leg::new(server.into(), came), Leg::new(client.into(), onward)], hellos)
    }
}

/// Takes every certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.3 alone".into()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Returns the results of the two owners who take P for their peer (the one who connects first),
/// and the tags that P saw from each.
fn between(first: Role, hellos: Hellos) -> ([Result<Outputs, Fault>; 2], [Tags; 2]) {
    let [one, two, p] = ["h1", "h2", "p"].map(|name| Identity::generate(name).expect("identity"));
    let program = TestProgram(Kind::Small);
    let inputs = program.inputs(3);
    let owner = |channel: Result<Channel, Fault>, role| {
        let mut channel = channel?;
        channel.set_idle_limit(LIMIT);
        let config = smallest(Backend::Wrk);
        let mut session = Session::open_seeded(channel, role, &config, prg_of(role, 3))?;
        run_program(&mut session, &program, &inputs, Receivers::Both)
    };
    let theirs = tcp_listen("127.0.0.1:0").expect("a port");
    let ours = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = ours.local_addr().expect("bound").to_string();
    thread::scope(|scope| {
        let listens = scope.spawn(|| {
            owner(tls_accept(&theirs, &two, p.certificate(), LIMIT, |_, _| ()), first.peer())
        });
        let connects =
            scope.spawn(|| owner(tls_connect(&address, &one, p.certificate(), LIMIT), first));
        let seen = P::new(&p).relay(&ours, theirs.address(), hellos);
        ([connects, listens].map(|owner| owner.join().expect("an owner")), seen)
    })
}

#[test]
fn hellos_of_two_connections_are_refused_on_both_sides_and_nothing_follows() {
    for first in [Role::Garbler, Role::Evaluator] {
        let (owners, seen) = between(first, Hellos::Verbatim);
        for (owner, seen) in owners.iter().zip(seen) {
            let refused =
                matches!(owner, Err(Fault::Policy(text)) if text.starts_with("channel: "));
            assert!(refused, "{owner:?}");
            // P may be gone before the second abort comes.
            assert_eq!(seen[0], Tag::HELLO.id);
            assert!(seen[1..].iter().all(|tag| *tag == Tag::ABORT.id), "{seen:?}");
        }
    }
}

#[test]
fn hellos_that_content_both_sides_do_not_give_them_one_session() {
    let inputs =
        [wrk::tags::INPUT_MASK, wrk::tags::INPUT_BITS, wrk::tags::INPUT_LABELS].map(|tag| tag.id);
    for first in [Role::Garbler, Role::Evaluator] {
        let (owners, seen) = between(first, Hellos::Rewritten);
        for (owner, seen) in owners.iter().zip(seen) {
            let fault = owner.as_ref().expect_err("two sessions");
            assert!(!matches!(fault, Fault::Policy(_)), "{fault}");
            // It took the hello for its peer's, and gave up in the set-up.
            assert!(seen.iter().any(|tag| *tag >= Tag::FIRST_FREE), "{seen:?}");
            assert!(!seen.iter().any(|tag| inputs.contains(tag)), "{seen:?}");
        }
        let caught = owners.iter().any(|owner| matches!(owner, Err(Fault::Misbehaved(_))));
        assert!(caught, "{owners:?}");
    }
}

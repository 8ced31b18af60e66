//! Both ends of a handshake, of which one does what no honest end does.

use std::net::TcpListener;
use std::thread;

use rustls::sign::CertifiedKey;
use rustls::{HandshakeKind, ServerConnection, StreamOwned};
use rustls_pki_types::PrivateKeyDer;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

fn identity(name: &str) -> Identity {
    Identity::generate(name).expect("identity")
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let address = listener.local_addr().expect("bound").to_string();
    (listener, address)
}

type End = Result<TlsLink, Fault>;

fn greeted(stream: TcpStream, conn: Connection) -> End {
    let mut link = TlsLink::new(stream, conn)?;
    match link.greet(Limit::of(LIMIT)) {
        Ok(Io::Moved(_)) => Ok(link),
        Ok(stop) => Err(unfinished(stop)),
        Err(fault) => {
            link.finish(FAREWELL);
            Err(fault)
        }
    }
}

/// Lets the two ends of one connection, the server first, meet.
fn meet(server: &Arc<ServerConfig>, client: &Arc<ClientConfig>) -> [End; 2] {
    let (listener, address) = listen();
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let stream = listener.accept().expect("accept").0;
            greeted(stream, ServerConnection::new(Arc::clone(server)).expect("server").into())
        });
        let connected = connect_as(&address, client, Limit::of(LIMIT));
        [served.join().expect("thread"), connected]
    })
}

#[track_caller]
fn assert_refused(met: [End; 2]) {
    for end in met {
        let fault = end.err();
        assert!(matches!(fault, Some(Fault::Policy(_))), "{fault:?}");
    }
}

/// Configurations of a server and a client that fit, and whose they are.
struct Pair {
    identities: [Identity; 2],
    server: ServerConfig,
    client: ClientConfig,
}

fn pair() -> Pair {
    let identities = [identity("server"), identity("client")];
    let [server, client] =
        identities.each_ref().map(|it| Expected::Pinned(vec![it.certificate().clone()]));
    let server_config = server_config(&identities[0], client).expect("config");
    let client_config = client_config(&identities[1], server).expect("config");
    Pair { identities, server: server_config, client: client_config }
}

/// These certificates with the key of this identity.
fn presents(certificates: &[&Identity], key: &Identity) -> Arc<SingleCertAndKey> {
    let key = key.certified_key().expect("key").key;
    let chain = certificates.iter().map(|identity| identity.certificate().der().clone());
    Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain.collect(), key)))
}

#[test]
fn what_is_pinned_is_accepted() {
    let Pair { server, client, .. } = pair();
    for end in meet(&Arc::new(server), &Arc::new(client)) {
        assert_eq!(end.err(), None);
    }
}

#[test]
fn a_stolen_certificate_without_its_key_is_refused() {
    let thief = identity("thief");
    let Pair { identities, mut server, client } = pair();
    server.cert_resolver = presents(&[&identities[0]], &thief);
    assert_refused(meet(&Arc::new(server), &Arc::new(client)));

    let Pair { identities, server, mut client } = pair();
    client.client_auth_cert_resolver = presents(&[&identities[1]], &thief);
    assert_refused(meet(&Arc::new(server), &Arc::new(client)));
}

#[test]
fn a_chain_of_more_than_the_pinned_certificate_is_refused() {
    let other = identity("other");
    let Pair { identities, mut server, client } = pair();
    server.cert_resolver = presents(&[&identities[0], &other], &identities[0]);
    assert_refused(meet(&Arc::new(server), &Arc::new(client)));

    let Pair { identities, server, mut client } = pair();
    client.client_auth_cert_resolver = presents(&[&identities[1], &other], &identities[1]);
    assert_refused(meet(&Arc::new(server), &Arc::new(client)));
}

/// An identity whose certificate is of this many bytes or a few more.
fn long_identity(len: usize) -> CertifiedKey {
    let key = rcgen::KeyPair::generate().expect("key");
    let mut params = rcgen::CertificateParams::new(vec!["long".to_owned()]).expect("params");
    let extension = rcgen::CustomExtension::from_oid_content(&[2, 5, 29, 99], vec![4; len]);
    params.custom_extensions.push(extension);
    let der = params.self_signed(&key).expect("certificate").der().clone();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    CertifiedKey::from_der(vec![der], key, &ring::default_provider()).expect("a pair")
}

/// How a server and a client end that would pair, when one of them shows this instead of its certificate.
fn pair_with(shown: &dyn Fn(&Identity) -> CertifiedKey) -> [[End; 2]; 2] {
    let [one, two] = [identity("server"), identity("client")];
    let unknown = |own: &Identity| Expected::Unknown(own.fingerprint());
    [true, false].map(|server_cheats| {
        let mut server = server_config(&one, unknown(&one)).expect("config");
        let mut client = client_config(&two, unknown(&two)).expect("config");
        if server_cheats {
            server.cert_resolver = Arc::new(SingleCertAndKey::from(shown(&two)));
        } else {
            client.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(shown(&one)));
        }
        meet(&Arc::new(server), &Arc::new(client))
    })
}

#[test]
fn a_pairing_takes_any_certificate_that_can_be_kept() {
    let (fits, too_long) = (MAX_CERTIFICATE - 1000, MAX_CERTIFICATE);
    for ends in pair_with(&|_| long_identity(fits)) {
        assert_eq!(ends.map(|end| end.err()), [None, None]);
    }
    // Of the one that refuses, and in general terms of the other.
    let refused = |shown: &dyn Fn(&Identity) -> CertifiedKey, why: &str| {
        for ends in pair_with(shown) {
            let told = ends.map(|end| end.err());
            let named = |fault: &Option<Fault>| matches!(fault, Some(Fault::Policy(text)) if text.contains(why));
            assert!(told.iter().any(named), "{why}: {told:?}");
            assert!(told.iter().all(Option::is_some), "{told:?}");
        }
    };
    refused(&|_| long_identity(too_long), "longer than 16 KiB");
    let key = |of: &Identity| of.certified_key().expect("key").key;
    let stranger = identity("stranger");
    let chain = |certificates: Vec<CertificateDer<'static>>| {
        CertifiedKey::new(certificates, key(&stranger))
    };
    for junk in [vec![], vec![0; 500], vec![0x30, 0x82, 0xff, 0xff]] {
        refused(&|_| chain(vec![CertificateDer::from(junk.clone())]), "did not prove");
    }
    let shown = stranger.certificate().der();
    refused(&|_| chain(vec![shown.clone(), shown.clone()]), "others come with it");
    refused(&|victim| victim.certified_key().expect("key"), "this side's own");
    // Somebody else's, whose key is not there.
    refused(&|_| chain(vec![identity("third").certificate().der().clone()]), "did not prove");
}

#[test]
fn a_pairing_is_no_session() {
    let Pair { identities: [one, two], server, client } = pair();
    let pairing = client_config(&two, Expected::Unknown(two.fingerprint())).expect("config");
    let named =
        |end: End| matches!(end.err(), Some(Fault::Transport(text)) if text.contains("one pairs"));
    assert_eq!(meet(&Arc::new(server), &Arc::new(pairing)).map(named), [true; 2]);
    let pairing = server_config(&one, Expected::Unknown(one.fingerprint())).expect("config");
    assert_eq!(meet(&Arc::new(pairing), &Arc::new(client)).map(named), [true; 2]);
}

#[test]
fn a_client_without_a_certificate_is_refused() {
    #[derive(Debug)]
    struct Nobody;

    impl rustls::client::ResolvesClientCert for Nobody {
        fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
            None
        }

        fn has_certs(&self) -> bool {
            false
        }
    }

    let Pair { server, mut client, .. } = pair();
    client.client_auth_cert_resolver = Arc::new(Nobody);
    assert_refused(meet(&Arc::new(server), &Arc::new(client)));
}

/// A server with the right certificate that does the handshake and then says this.
fn serve(
    listener: &TcpListener,
    config: &Arc<ServerConfig>,
    says: &[u8],
) -> StreamOwned<ServerConnection, TcpStream> {
    let stream = listener.accept().expect("accept").0;
    let mut conn = ServerConnection::new(Arc::clone(config)).expect("server");
    let mut stream = stream;
    conn.complete_io(&mut stream).expect("an honest client");
    let mut served = StreamOwned::new(conn, stream);
    served.write_all(says).and_then(|()| served.flush()).expect("sent");
    served
}

#[test]
fn a_server_that_says_something_else_than_welcome_misbehaves() {
    let Pair { server, client, .. } = pair();
    let (server, client) = (Arc::new(server), Arc::new(client));
    for other in [0, WELCOME + 1, 255] {
        let (listener, address) = listen();
        thread::scope(|scope| {
            scope.spawn(|| drop(serve(&listener, &server, &[other])));
            let fault = connect_as(&address, &client, Limit::of(LIMIT)).err();
            assert_eq!(fault, Some(Fault::Misbehaved("tls: no welcome")));
        });
    }
}

#[test]
fn a_client_is_not_in_before_it_was_welcomed() {
    let Pair { server, client, .. } = pair();
    let (server, client) = (Arc::new(server), Arc::new(client));
    let (listener, address) = listen();
    thread::scope(|scope| {
        let served = scope.spawn(|| serve(&listener, &server, &[]));
        let fault = connect_as(&address, &client, Limit::of(Duration::from_millis(300))).err();
        assert_eq!(fault, Some(unfinished(Io::Blocked)));
        drop(served.join().expect("thread"));
    });
    // One that closes instead may have had no place: the client comes again.
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            drop(serve(&listener, &server, &[]));
            serve(&listener, &server, &[WELCOME])
        });
        assert_eq!(connect_as(&address, &client, Limit::of(LIMIT)).err(), None);
        drop(served.join().expect("thread"));
    });
}

/// Two connections with the same configurations: how the second came about, at both ends.
fn twice(server: ServerConfig, client: ClientConfig) -> Vec<Option<HandshakeKind>> {
    let (server, client) = (Arc::new(server), Arc::new(client));
    let kinds = [(); 2].map(|()| {
        meet(&server, &client).map(|end| {
            let mut link = end.expect("they fit");
            // What the server says besides, such as tickets.
            let _ = link.read(&mut [IoSliceMut::new(&mut [0])]);
            link.conn.handshake_kind()
        })
    });
    kinds[1].to_vec()
}

#[test]
fn sessions_are_never_resumed() {
    let resuming = |client: &mut ClientConfig| {
        client.resumption = Resumption::in_memory_sessions(8);
    };
    let handing_out = |server: &mut ServerConfig| {
        server.session_storage = rustls::server::ServerSessionMemoryCache::new(8);
        server.send_tls13_tickets = 2;
    };
    let full = [Some(HandshakeKind::Full); 2];
    // A client that would resume, and a server that would let it.
    let Pair { server, mut client, .. } = pair();
    resuming(&mut client);
    assert_eq!(twice(server, client), full);
    let Pair { mut server, client, .. } = pair();
    handing_out(&mut server);
    assert_eq!(twice(server, client), full);
    // The two together do: it was one of ours that did not.
    let Pair { mut server, mut client, .. } = pair();
    resuming(&mut client);
    handing_out(&mut server);
    assert_eq!(twice(server, client), [Some(HandshakeKind::Resumed); 2]);
}

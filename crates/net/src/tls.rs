//! Channels over TLS 1.3 with both certificates pinned.
//!
//! Each side accepts exactly the certificate it was given for its peer, and the peer must prove, by
//! the handshake's signature, that it holds the key. Only a pairing (`pairing.rs`) takes a certificate
//! that it was not given. Sessions are never resumed.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFd;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection,
    DigitallySignedStruct, DistinguishedName, Error, OtherError, ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use zeroize::Zeroizing;

use crate::binding::Binding;
use crate::identity::{CERTIFICATE_FILE, Fingerprint, Identity, PeerCertificate};
use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::link::{Interest, Io, Link, Waker, read_each};
use crate::tcp::{Listener, RETRY, SocketLink, connect, outcome};
use crate::{Channel, Fault, callers};

/// Spoken inside TLS; a peer that speaks something else is refused by the TLS handshake.
const ALPN: &[u8] = b"cenote/1";
/// The same of a pairing: no connection of the one kind is ever taken for one of the other.
const PAIRING_ALPN: &[u8] = b"cenote-pair/1";
/// Most bytes of a certificate that is not known yet: many times an honest one, and its file can be read back.
const MAX_CERTIFICATE: usize = 16 << 10;
/// Label of the keying material that a channel is bound to.
const EXPORTER: &[u8] = b"EXPORTER-Cenote-Channel-Binding";
/// Encrypted bytes that a link holds back before it takes no more.
const OUTGOING: usize = 512 << 10;
/// Encrypted bytes read at once.
const INCOMING: usize = 256 << 10;
/// Said by the server once it accepted the client, who would otherwise learn of a refusal late.
const WELCOME: u8 = 1;

/// Time limit of one handshake: a few round trips of a bad line. A caller that says nothing, or too
/// little, is kept no longer.
pub(crate) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// How long a peer that was turned away may take to read why.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// Waits up to `limit` for `peer`. Whoever else calls is turned away, at the latest after 5 s, and the
/// wait goes on; up to 32 callers are heard at once, fewer where descriptors run out. `turned_away` is told where each of them called
/// from and why it was not let in; there may be very many. Who is there already is heard even if
/// `limit` is zero.
///
/// # Errors
/// `Transport` when the peer did not come in time, with the number of callers that were turned away and
/// the reason of one of them, or when the listener failed; `Internal`.
pub fn tls_accept(
    listener: &Listener,
    identity: &Identity,
    peer: &PeerCertificate,
    limit: Duration,
    turned_away: impl FnMut(SocketAddr, &Fault),
) -> Result<Channel, Fault> {
    tls_accept_any(listener, identity, std::slice::from_ref(peer), limit, turned_away)
}

/// The same where the peer may have any of several certificates, because it is changing from one to another;
/// [`Channel::peer`] says which it has. With none of them nobody is let in.
///
/// # Errors
/// Those of [`tls_accept`].
pub fn tls_accept_any(
    listener: &Listener,
    identity: &Identity,
    peers: &[PeerCertificate],
    limit: Duration,
    mut turned_away: impl FnMut(SocketAddr, &Fault),
) -> Result<Channel, Fault> {
    let expected = Expected::Pinned(peers.to_vec());
    let (met, _) = accept(listener, identity, expected, Limit::of(limit), &mut turned_away)?;
    Ok(met.channel)
}

/// The first caller that is as `expected`, and where it called from.
pub(crate) fn accept(
    listener: &Listener,
    identity: &Identity,
    expected: Expected,
    limit: Limit,
    turned_away: &mut dyn FnMut(SocketAddr, &Fault),
) -> Result<(Met, SocketAddr), Fault> {
    let config = Arc::new(server_config(identity, expected).map_err(internal)?);
    let (link, address) = callers::first_peer(listener, &config, limit, turned_away)?;
    Ok((link.meet(identity)?, address))
}

/// Connects to `address` (`host:port`) and demands proof that the other end is `peer`. For up to
/// `timeout` it tries again when nobody answers, or when the other end closes the connection or falls
/// silent before it has said who it is and let this side in: it may have to get rid of strangers first.
/// A certificate that is not the pinned one is no reason to try again, on neither side: this side chose
/// whom to call.
///
/// # Errors
/// `Policy` when either side refuses the other's certificate; `Misuse` when it is no address;
/// `Transport` when nobody let this side in in time or the other end does not speak TLS; `Misbehaved`;
/// `Internal`.
pub fn tls_connect(
    address: &str,
    identity: &Identity,
    peer: &PeerCertificate,
    timeout: Duration,
) -> Result<Channel, Fault> {
    tls_connect_any(address, identity, std::slice::from_ref(peer), timeout)
}

/// The same where the other end may have any of several certificates; see [`tls_accept_any`].
///
/// # Errors
/// Those of [`tls_connect`].
pub fn tls_connect_any(
    address: &str,
    identity: &Identity,
    peers: &[PeerCertificate],
    timeout: Duration,
) -> Result<Channel, Fault> {
    call(address, identity, Expected::Pinned(peers.to_vec()), timeout).map(|met| met.channel)
}

/// The listener at `address`, if it is as `expected`.
pub(crate) fn call(
    address: &str,
    identity: &Identity,
    expected: Expected,
    timeout: Duration,
) -> Result<Met, Fault> {
    let config = Arc::new(client_config(identity, expected).map_err(internal)?);
    connect_as(address, &config, Limit::of(timeout))?.meet(identity)
}

fn connect_as(address: &str, config: &Arc<ClientConfig>, timeout: Limit) -> Result<TlsLink, Fault> {
    // The certificate is pinned, so the name says nothing and is not sent.
    let name =
        ServerName::try_from("cenote.invalid").map_err(|e| Fault::Internal(e.to_string()))?;
    loop {
        let stream = connect(address, timeout)?;
        let conn = ClientConnection::new(Arc::clone(config), name.clone()).map_err(internal)?;
        let mut link = TlsLink::new(stream, conn.into())?.wakeable()?;
        match link.greet(timeout.part(HANDSHAKE_LIMIT)) {
            Ok(Io::Moved(_)) => return Ok(link),
            Ok(stop) if timeout.is_over() => return Err(unfinished(stop)),
            Ok(_) => {}
            Err(fault) => {
                // Lets the alert that says why reach the peer.
                link.finish(FAREWELL);
                return Err(fault);
            }
        }
        drop(link);
        std::thread::sleep(RETRY);
    }
}

pub(crate) fn internal(error: Error) -> Fault {
    Fault::Internal(format!("TLS set-up: {error}"))
}

/// Why a handshake that stopped so came to nothing.
pub(crate) fn unfinished(stop: Io) -> Fault {
    Fault::Transport(match stop {
        Io::Gone => "the peer closed the connection in the TLS handshake; does it use TLS?".into(),
        _ => "the TLS handshake took too long".into(),
    })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn server_config(identity: &Identity, expected: Expected) -> Result<ServerConfig, Error> {
    let protocol = expected.protocol();
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(Verifier::new(expected)))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified_key()?)));
    config.alpn_protocols = vec![protocol.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client_config(identity: &Identity, expected: Expected) -> Result<ClientConfig, Error> {
    let protocol = expected.protocol();
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(expected)))
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified_key()?)));
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

/// Whose certificate is accepted.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// One of these, byte for byte.
    Pinned(Vec<PeerCertificate>),
    /// Any that can be kept and is not the own, which this is: the owners find out whose it is.
    Unknown(Fingerprint),
}

impl Expected {
    fn protocol(&self) -> &'static [u8] {
        match self {
            Expected::Pinned(_) => ALPN,
            Expected::Unknown(_) => PAIRING_ALPN,
        }
    }
}

/// Accepts certificates as expected, and signatures by their keys.
#[derive(Debug)]
struct Verifier {
    expected: Expected,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The peer proved to be somebody, but not the one expected.
#[derive(Debug, thiserror::Error)]
#[error(
    "the peer's certificate has fingerprint {found}, expected {expected}; \
     correct the peer's certificate file, or find out who is there"
)]
struct WrongPeer {
    found: Fingerprint,
    expected: String,
}

/// No owner can have meant this certificate.
#[derive(Debug, thiserror::Error)]
#[error("the peer's certificate cannot be kept: {0}")]
struct Unfit(&'static str);

impl Verifier {
    fn new(expected: Expected) -> Verifier {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        Verifier { expected, algorithms }
    }

    fn check(
        &self,
        found: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
    ) -> Result<(), Error> {
        let refuse = |reason| Err(CertificateError::Other(OtherError(reason)).into());
        match &self.expected {
            Expected::Pinned(peers)
                if peers.iter().any(|peer| found == peer.der()) && others.is_empty() =>
            {
                Ok(())
            }
            Expected::Pinned(peers) => {
                let expected: Vec<String> =
                    peers.iter().map(|peer| peer.fingerprint().to_string()).collect();
                let found = Fingerprint::of(found);
                refuse(Arc::new(WrongPeer { found, expected: expected.join(" or ") }))
            }
            Expected::Unknown(own) => match unfit(found, others, own) {
                Some(what) => refuse(Arc::new(Unfit(what))),
                None => Ok(()),
            },
        }
    }
}

/// Why a certificate that nobody has seen yet is refused.
fn unfit(
    found: &CertificateDer<'_>,
    others: &[CertificateDer<'_>],
    own: &Fingerprint,
) -> Option<&'static str> {
    if found.len() > MAX_CERTIFICATE {
        return Some("it is longer than 16 KiB");
    }
    if !others.is_empty() {
        return Some("others come with it");
    }
    // That it is a certificate at all is seen when the signature is verified.
    (Fingerprint::of(found) == *own)
        .then_some("it is this side's own; each owner makes an identity with `cenote init`")
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not offered".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ServerCertVerifier::verify_tls12_signature(self, message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A peer that is as expected.
pub(crate) struct Met {
    pub(crate) channel: Channel,
    pub(crate) peer: PeerCertificate,
}

/// TLS over a TCP link, just as non-blocking.
pub(crate) struct TlsLink {
    tcp: SocketLink,
    conn: Connection,
    /// Encrypted bytes that arrived but were not taken in yet.
    incoming: Inbox,
}

impl TlsLink {
    pub(crate) fn new(stream: TcpStream, mut conn: Connection) -> Result<TlsLink, Fault> {
        conn.set_buffer_limit(Some(OUTGOING));
        Ok(TlsLink { tcp: SocketLink::tcp(stream)?, conn, incoming: Inbox::default() })
    }

    /// See [`SocketLink::wakeable`].
    pub(crate) fn wakeable(self) -> Result<TlsLink, Fault> {
        Ok(TlsLink { tcp: self.tcp.wakeable()?, ..self })
    }

    /// Whether the peer said something in TLS and this side took it up: of a client, its ClientHello.
    pub(crate) fn has_answered(&self) -> bool {
        self.conn.protocol_version().is_some()
    }

    /// Goes on with the handshake, the welcome included, until it is complete (`Moved`), the peer is gone
    /// or time is up (`Blocked`).
    fn greet(&mut self, limit: Limit) -> Result<Io, Fault> {
        loop {
            let io = self.greet_now()?;
            if io != Io::Blocked || limit.is_over() {
                return Ok(io);
            }
            self.wait(Interest { read: true, write: false }, limit.left())?;
        }
    }

    /// The channel over a completed handshake, and who is at its other end.
    fn meet(self, identity: &Identity) -> Result<Met, Fault> {
        let exported = self.conn.export_keying_material(Zeroizing::new([0; 32]), EXPORTER, None);
        let exported = exported.map_err(internal)?;
        let peer = self.conn.peer_certificates().and_then(|chain| chain.first());
        let peer =
            peer.ok_or_else(|| Fault::Internal("TLS without the peer's certificate".into()))?;
        let peer = PeerCertificate::shown(peer);
        let (own, of) = (identity.fingerprint(), peer.fingerprint());
        let mut channel = Channel::over(Box::new(self));
        channel.binding = Some(Binding { exported, own, peer: of });
        Ok(Met { channel, peer })
    }

    /// As much of the handshake as goes without waiting; `Moved` when it is complete.
    pub(crate) fn greet_now(&mut self) -> Result<Io, Fault> {
        while self.conn.is_handshaking() {
            // A peer that closed its end may have said why: what it sent is read all the same.
            self.push()?;
            match self.pull()? {
                Io::Moved(_) => {}
                stop => return Ok(stop),
            }
        }
        if matches!(self.conn, Connection::Server(_)) {
            return self.write(&[WELCOME], &[]);
        }
        let mut welcome = [0; 1];
        match self.read(&mut [IoSliceMut::new(&mut welcome)])? {
            Io::Moved(_) if welcome != [WELCOME] => Err(Fault::Misbehaved("tls: no welcome")),
            io => Ok(io),
        }
    }

    /// For a wait together with others.
    pub(crate) fn poll_fd(&self, interest: Interest) -> PollFd<'_> {
        self.tcp.poll_fd(self.interest(interest))
    }

    /// Ends the outgoing stream without waiting; what is left is the connection, from which the peer may
    /// still read why.
    pub(crate) fn hang_up(mut self) -> SocketLink {
        self.conn.send_close_notify();
        // The peer is told if it can be.
        let _ = self.push().and_then(|_| self.tcp.end());
        self.tcp
    }

    /// Returns what the connection waits for when its user waits for this.
    fn interest(&self, interest: Interest) -> Interest {
        Interest { write: interest.write || self.conn.wants_write(), ..interest }
    }

    /// Writes encrypted bytes that wait; `Moved` when none are left.
    fn push(&mut self) -> Result<Io, Fault> {
        while self.conn.wants_write() {
            let (conn, tcp) = (&mut self.conn, &self.tcp);
            match outcome(|| conn.write_tls(&mut Encrypted(tcp)))? {
                Io::Moved(_) => {}
                stop => return Ok(stop),
            }
        }
        Ok(Io::Moved(1))
    }

    /// Takes in encrypted bytes; `Moved` when there were any, whether or not they complete a record.
    fn pull(&mut self) -> Result<Io, Fault> {
        if self.incoming.len() == 0 {
            let room = &mut self.incoming.room(INCOMING)[..INCOMING];
            match self.tcp.read(&mut [IoSliceMut::new(room)])? {
                Io::Moved(n) => self.incoming.commit(n),
                stop => return Ok(stop),
            }
        }
        let (conn, mut data) = (&mut self.conn, self.incoming.data());
        let io = outcome(|| conn.read_tls(&mut data))?;
        if let Io::Moved(n) = io {
            self.incoming.skip(n);
        }
        if let Err(error) = self.conn.process_new_packets() {
            // The alert that tells the peer.
            self.push()?;
            return Err(tls_fault(error));
        }
        Ok(io)
    }
}

impl Link for TlsLink {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        match self.push()? {
            Io::Moved(_) => {}
            stop => return Ok(stop),
        }
        let parts = [IoSlice::new(first), IoSlice::new(second)];
        let io = outcome(|| self.conn.writer().write_vectored(&parts))?;
        self.push()?;
        Ok(io)
    }

    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        loop {
            match read_each(parts, |out| outcome(|| self.conn.reader().read(out)))? {
                Io::Blocked => {}
                io => return Ok(io),
            }
            match self.pull()? {
                Io::Moved(_) => {}
                stop => {
                    // Replies of TLS itself, such as to a change of keys.
                    self.push()?;
                    return Ok(stop);
                }
            }
        }
    }

    fn flush(&mut self) -> Result<Io, Fault> {
        self.push()
    }

    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        self.tcp.wait(self.interest(interest), limit)
    }

    fn waker(&self) -> Waker {
        self.tcp.waker()
    }

    fn finish(&mut self, limit: Duration) {
        let limit = Limit::of(limit);
        self.conn.send_close_notify();
        while let Ok(Io::Blocked) = self.push() {
            let interest = Interest { read: false, write: true };
            if limit.is_over() || self.tcp.wait(interest, limit.left()).is_err() {
                break;
            }
        }
        self.tcp.finish(limit.left());
    }
}

/// Where TLS writes its records.
struct Encrypted<'a>(&'a SocketLink);

impl Write for Encrypted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tls_fault(error: Error) -> Fault {
    use AlertDescription as Alert;
    match error {
        Error::InvalidCertificate(CertificateError::Other(reason)) => {
            Fault::Policy(reason.to_string())
        }
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => {
            Fault::Policy(format!("the peer did not prove who it is: {error}"))
        }
        Error::AlertReceived(
            Alert::BadCertificate
            | Alert::CertificateUnknown
            | Alert::CertificateRequired
            | Alert::UnsupportedCertificate
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError,
        ) => Fault::Policy(format!(
            "the peer refused this side's certificate; give the peer this side's {CERTIFICATE_FILE}"
        )),
        Error::NoApplicationProtocol | Error::AlertReceived(Alert::NoApplicationProtocol) => {
            Fault::Transport(
                "the two sides are at different things: one pairs and the other computes, or their \
                 releases differ"
                    .into(),
            )
        }
        Error::InvalidMessage(_) => {
            Fault::Transport(format!("TLS: {error}; does the peer use TLS, too?"))
        }
        error => Fault::Transport(format!("TLS: {error}")),
    }
}

#[cfg(test)]
mod tests;

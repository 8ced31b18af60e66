//! The API over TLS, on real sockets: whom callers trust, who is turned away and at what cost, and a certificate that is replaced meanwhile.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cenote_net::Identity;
use cenote_service::api::{self, Certificate, Role, Tokens};
use cenote_service::{ErrorKind, Service, ServiceError};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;
use tokio::sync::oneshot;

const CONFIG: &str = "name = \"alice\"
[peer]
name = \"bob\"
role = \"garbler\"
listen = \"127.0.0.1:0\"
[api]
certificate = \"api.crt.pem\"
key = \"api.key.pem\"
";
/// How long the API lets a handshake take.
const HANDSHAKE: Duration = Duration::from_secs(10);

struct Running {
    dir: TempDir,
    service: Service,
    address: SocketAddr,
    token: String,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<Result<(), ServiceError>>>,
}

/// The files of certificate and key in a directory.
fn files(dir: &Path) -> (PathBuf, PathBuf) {
    (dir.join("api.crt.pem"), dir.join("api.key.pem"))
}

fn make(dir: &Path, names: &[&str]) {
    let (certificate, key) = files(dir);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Certificate::make(&certificate, &key, &names).unwrap();
}

/// A directory of a service with a certificate of its API.
fn prepared() -> (TempDir, String) {
    let dir = TempDir::new().unwrap();
    let path = dir.path();
    Identity::generate("alice").unwrap().save(path).unwrap();
    let peer = Identity::generate("bob").unwrap().certificate().to_pem();
    fs::write(path.join("peer.crt.pem"), peer).unwrap();
    fs::write(path.join("cenote.toml"), CONFIG).unwrap();
    make(path, &["alice.example"]);
    let token = Tokens::add(&path.join("tokens.toml"), "all", &Role::ALL).unwrap().to_string();
    (dir, token)
}

impl Running {
    fn start() -> Running {
        let (dir, token) = prepared();
        let path = dir.path();
        let service = Service::start(path).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (certificate, key) = files(path);
        let tls = Some(Certificate::open(&certificate, &key).unwrap());
        let (of_api, tokens) = (service.clone(), Tokens::open(&path.join("tokens.toml")).unwrap());
        let served = thread::spawn(move || {
            api::serve(of_api, tokens, listener, tls, async { drop(stopped.await) })
        });
        Running { dir, service, address, token, stop: Some(stop), served: Some(served) }
    }

    /// The answer to `GET path` for whoever trusts the certificate in `trusted` and calls it by `name`.
    fn get(&self, trusted: &Path, name: &str, path: &str) -> Result<String, String> {
        let mut stream = self.greeted(trusted, name)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
            self.token
        );
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
        Ok(answer)
    }

    /// A handshake.
    fn greeted(
        &self,
        trusted: &Path,
        name: &str,
    ) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(trusted).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let conn = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(conn, self.tcp());
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(|error| error.to_string())?;
        }
        Ok(stream)
    }

    fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// That whoever trusts the current certificate is answered.
    #[track_caller]
    fn answers(&self) {
        let answer = self.get(&files(self.dir.path()).0, "alice.example", "/v1/status").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let served = self.served.take().map(|served| served.join().unwrap());
        self.service.stop();
        assert!(thread::panicking() || served.is_some_and(|served| served.is_ok()));
    }
}

#[test]
fn whoever_trusts_the_certificate_is_answered_and_nobody_else_sends_a_token() {
    let api = Running::start();
    api.answers();
    let own = files(api.dir.path()).0;
    for name in ["localhost", "127.0.0.1", "::1"] {
        assert!(api.get(&own, name, "/healthz").unwrap().ends_with("ok\n"), "{name}");
    }
    // Another name, and another certificate of the same name.
    let error = api.get(&own, "mallory.example", "/healthz").unwrap_err();
    assert!(error.contains("not valid for name"), "{error}");
    let other = TempDir::new().unwrap();
    make(other.path(), &["alice.example"]);
    let error = api.get(&files(other.path()).0, "alice.example", "/healthz").unwrap_err();
    assert!(error.contains("invalid peer certificate"), "{error}");
    api.answers();
}

#[test]
fn a_request_without_tls_is_told_so_and_gets_nothing() {
    let api = Running::start();
    let mut stream = api.tcp();
    let request = format!("GET /v1/status HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n", api.token);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.contains("https://") && !answer.contains("alice"), "{answer}");
    // Neither HTTP nor TLS, and a handshake that is none.
    for noise in [&b"\x00\x01\x02"[..], &[22; 600], b"\x16\x03\x01\xff\xff"] {
        let mut stream = api.tcp();
        stream.write_all(noise).unwrap();
        // It is closed, with an alert at most, and may be by now.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 16, "{answer:?}");
    }
    api.answers();
}

#[test]
fn silent_handshakes_end_and_keep_nobody_out() {
    let api = Running::start();
    let begun = Instant::now();
    // One says nothing, one stops in the middle of its first record.
    let mut silent = [api.tcp(), api.tcp()];
    silent[1].write_all(b"\x16\x03\x01\x02").unwrap();
    // More, who hold nobody up.
    let crowd: Vec<TcpStream> = (0..100).map(|_| api.tcp()).collect();
    api.answers();
    assert!(begun.elapsed() < HANDSHAKE, "{:?}", begun.elapsed());
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0; 64]).unwrap_or(0), 0);
    }
    let ended = begun.elapsed();
    assert!((HANDSHAKE..HANDSHAKE * 2).contains(&ended), "{ended:?}");
    drop(crowd);
    // So many that they make room for each other, before and in their handshakes.
    let mut crowd: Vec<TcpStream> = (0..300).map(|_| api.tcp()).collect();
    let begun = Instant::now();
    for stream in crowd.iter_mut().step_by(2) {
        // It may be closed by now.
        let _ = stream.write_all(b"\x16\x03\x01\x02");
    }
    api.answers();
    assert!(begun.elapsed() < HANDSHAKE, "{:?}", begun.elapsed());
}

#[test]
fn a_certificate_is_replaced_while_it_runs() {
    let api = Running::start();
    let dir = api.dir.path();
    let (certificate, key) = files(dir);
    let (first, second) = (dir.join("first.pem"), TempDir::new().unwrap());
    fs::copy(&certificate, &first).unwrap();
    make(second.path(), &["alice.example"]);
    let (new, new_key) = files(second.path());
    let mut open = api.greeted(&certificate, "alice.example").unwrap();
    // The key alone: both belong together no more, and the first certificate is shown still.
    fs::copy(&new_key, &key).unwrap();
    assert!(api.get(&first, "alice.example", "/healthz").is_ok());
    fs::copy(&new, &certificate).unwrap();
    assert!(api.get(&first, "alice.example", "/healthz").is_err());
    api.answers();
    // What is broken, or open to others, is not taken.
    fs::write(&certificate, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    assert!(api.get(&new, "alice.example", "/healthz").is_ok());
    fs::remove_file(&key).unwrap();
    assert!(api.get(&new, "alice.example", "/healthz").is_ok());
    // A connection from before goes on.
    open.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("ok\n"), "{answer}");
    make(dir, &["alice.example"]);
    assert!(api.get(&new, "alice.example", "/healthz").is_err());
    api.answers();
}

#[test]
fn files_that_cannot_be_used_are_named_with_a_remedy() {
    let (dir, _) = prepared();
    let (certificate, key) = files(dir.path());
    let refused = |words: &str| {
        let error = Certificate::open(&certificate, &key).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.what.contains(words), "{words}: {error}");
        assert!(!error.what.contains("PRIVATE"), "{error}");
    };
    fs::set_permissions(&key, Permissions::from_mode(0o604)).unwrap();
    refused("chmod 600");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let (text, secret) =
        (fs::read_to_string(&certificate).unwrap(), fs::read_to_string(&key).unwrap());
    fs::write(&key, &text).unwrap();
    refused("api.key.pem: no private key");
    fs::write(&key, &secret).unwrap();
    fs::write(&certificate, "").unwrap();
    refused("api.crt.pem: no certificate in it");
    fs::write(&certificate, &secret).unwrap();
    refused("api.crt.pem: no certificate in it");
    make(dir.path(), &[]);
    fs::write(&key, &secret).unwrap();
    refused("not the key of");
    fs::remove_file(&certificate).unwrap();
    refused("`cenote certificate` makes both");
    let name = ["no name".to_owned()];
    assert_eq!(Certificate::make(&certificate, &key, &name).err().map(|error| error.kind), None);
}

#[test]
fn its_end_is_known_and_without_tls_nobody_else_listens() {
    let (dir, _) = prepared();
    let service = Service::start(dir.path()).unwrap();
    let left = |service: &Service| -> i64 {
        let all = service.expiry().left();
        all.iter().find(|(whose, _)| *whose == "api").unwrap().1
    };
    let days = left(&service) / 86_400;
    assert!((820..=825).contains(&days), "{days}");
    let tokens = Tokens::open(&dir.path().join("tokens.toml")).unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let error = api::serve(service.clone(), tokens, listener, None, async {}).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.what.contains("no TLS"), "{error}");
    service.stop();
}

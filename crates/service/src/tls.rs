//! TLS of the API, 1.3 alone: a certificate and its key, from two files in PEM.
//!
//! They are an organisation's own, or self-signed ones that [`Certificate::make`] wrote. Whenever a caller comes, the files are looked at; if they
//! have changed, they are read again, so that a certificate is replaced while the service runs. Two files do not change at once: as
//! long as they do not belong together, or one cannot be used, the service goes on with what it has, and says so in its log. Whoever has the key can
//! take callers' tokens, so no other user may read it. Sessions are not resumed: each caller sees the certificate of its time.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use time::{Duration, OffsetDateTime};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use crate::error::{ErrorKind, ServiceError};
use crate::stamp::Stamp;

/// Largest file of a certificate or key.
const MAX_FILE: u64 = 256 << 10;
/// Days for which a certificate is made; no client takes offence at so many.
const DAYS: i64 = 825;
/// How far back it begins, for clocks that are behind.
const BEHIND: Duration = Duration::days(1);
/// Names under which this machine calls itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The certificate of the API and its key, as the files are now.
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    known: Mutex<Known>,
}

/// What is used, and which state of the files was looked at last.
struct Known {
    seen: [Option<Stamp>; 2],
    used: Arc<CertifiedKey>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("certificate", &self.certificate).finish()
    }
}

impl Certificate {
    /// The certificate, or chain with it in front, and the key in these files.
    ///
    /// # Errors
    /// `Invalid`, with file, cause and remedy, for files that are missing or of something else, a key that others may read, or one
    /// that is not the certificate's.
    pub fn open(certificate: &Path, key: &Path) -> Result<Certificate, ServiceError> {
        let seen = [Stamp::at(certificate), Stamp::at(key)];
        let used = Arc::new(read(certificate, key)?);
        Ok(Certificate {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            known: Mutex::new(Known { seen, used }),
        })
    }

    /// Makes a key and a self-signed certificate of these names, and of those under which this machine calls itself, in place of
    /// what the files hold.
    ///
    /// # Errors
    /// `Invalid` for a name that cannot be in a certificate; `Unavailable` when the files cannot be written.
    pub fn make(certificate: &Path, key: &Path, names: &[String]) -> Result<(), ServiceError> {
        let mut all: Vec<String> = names.to_vec();
        let own = OWN_NAMES.into_iter().filter(|own| names.iter().all(|name| name != own));
        all.extend(own.map(str::to_owned));
        let failed = |error: rcgen::Error| {
            let what = format!("{error}; names are as `alice.example` or an IP address");
            ServiceError::invalid(format!("no certificate for {}: {what}", names.join(", ")))
        };
        let mut wanted = rcgen::CertificateParams::new(all.clone()).map_err(failed)?;
        wanted.distinguished_name = rcgen::DistinguishedName::new();
        wanted.distinguished_name.push(rcgen::DnType::CommonName, all[0].as_str());
        wanted.not_before = OffsetDateTime::now_utc() - BEHIND;
        wanted.not_after = OffsetDateTime::now_utc() + Duration::days(DAYS);
        wanted.key_usages = vec![rcgen::KeyUsagePurpose::DigitalSignature];
        wanted.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        let pair = rcgen::KeyPair::generate().map_err(failed)?;
        let made = wanted.self_signed(&pair).map_err(failed)?;
        // A service that runs goes on with what it has until it finds both.
        put(key, &Zeroizing::new(pair.serialize_pem()), 0o600)?;
        put(certificate, &made.pem(), 0o644)
    }

    /// The last second of the certificate in this file, since 1970.
    ///
    /// # Errors
    /// `Invalid` for a file without a certificate that can be read.
    pub fn ends(certificate: &Path) -> Result<i64, ServiceError> {
        let chain = chain(certificate)?;
        let read = x509_parser::parse_x509_certificate(&chain[0]);
        let (_, read) = read.map_err(|error| invalid(certificate, &error.to_string()))?;
        Ok(read.validity().not_after.timestamp())
    }

    /// What greets callers with this certificate.
    pub(crate) fn acceptor(self) -> Result<TlsAcceptor, ServiceError> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13]);
        let config = config.map_err(|error| {
            ServiceError::new(ErrorKind::Internal, format!("TLS set-up: {error}"))
        })?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::new(self));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// What is used now.
    fn current(&self) -> Arc<CertifiedKey> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = [Stamp::at(&self.certificate), Stamp::at(&self.key)];
        if now != known.seen {
            let file = self.certificate.display();
            match read(&self.certificate, &self.key) {
                Ok(used) => {
                    tracing::info!(%file, "the certificate of the API was read again");
                    known.used = Arc::new(used);
                }
                Err(error) => {
                    tracing::error!(%error, "the API goes on with the certificate that it had");
                }
            }
            known.seen = now;
        }
        Arc::clone(&known.used)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, ServiceError> {
    let chain = chain(certificate)?;
    let text = text(key)?;
    let mode = std::fs::metadata(key).map_err(|error| invalid(key, &error.to_string()))?.mode();
    if mode & 0o027 != 0 {
        let what = format!("others may read this key; run: chmod 600 {}", key.display());
        return Err(invalid(key, &what));
    }
    let secret = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|error| invalid(key, &format!("no private key in PEM: {error}")))?;
    CertifiedKey::from_der(chain, secret, &ring::default_provider()).map_err(|error| {
        let what = format!("not the key of {} ({error})", certificate.display());
        invalid(key, &format!("{what}; put the right one there"))
    })
}

/// The certificates of a file, of which there is at least one.
fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, ServiceError> {
    let text = text(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(invalid(file, "no certificate in it; put one there, in PEM")),
        Err(error) => Err(invalid(file, &format!("no certificate in PEM: {error}"))),
    }
}

fn text(file: &Path) -> Result<Zeroizing<String>, ServiceError> {
    let failed = |error: std::io::Error| {
        let remedy = "[api] names certificate and key; `cenote certificate` makes both";
        invalid(file, &format!("{error}; {remedy}"))
    };
    // Large enough from the start: growing would leave copies of a key behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_FILE as usize));
    let opened = File::open(file).map_err(failed)?;
    opened.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

fn invalid(file: &Path, what: &str) -> ServiceError {
    ServiceError::invalid(format!("{}: {what}", file.display()))
}

/// Puts a text in a file: it is there as it was, or whole.
fn put(path: &Path, text: &str, mode: u32) -> Result<(), ServiceError> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let written =
        tempfile::NamedTempFile::new_in(parent.unwrap_or(Path::new("."))).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
            file.as_file().sync_all()?;
            Ok(file.persist(path)?)
        });
    written.map(drop).map_err(|error| {
        ServiceError::new(ErrorKind::Unavailable, format!("{}: {error}", path.display()))
    })
}

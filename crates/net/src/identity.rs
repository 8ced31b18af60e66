//! Who the parties are: a self-signed certificate and key for each, exchanged once, by hand or as `pairing.rs`
//! does.
//!
//! There is no authority to trust and no name to resolve: each side is given the other's certificate
//! and accepts exactly that certificate, whatever validity dates it carries.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::Fault;

/// The certificate's file name in an identity directory; this file is what the peer is given.
pub const CERTIFICATE_FILE: &str = "identity.crt.pem";
/// The private key's file name in an identity directory.
pub const KEY_FILE: &str = "identity.key.pem";

/// Most bytes of a certificate or key file.
const MAX_FILE: u64 = 64 << 10;
/// Longest name of an identity.
const MAX_NAME: usize = 64;

/// SHA-256 of a certificate; prints as `openssl x509 -fingerprint -sha256` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// When a certificate is meant to be used, in seconds since 1970. Sessions open whatever it says, for the certificate itself is
/// pinned: the dates are an owner's wish. [`Identity::generate`] makes certificates from 1975 to 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub not_before: i64,
    /// The last one.
    pub not_after: i64,
}

/// A certificate that this side expects its peer to have.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    der: CertificateDer<'static>,
}

impl PeerCertificate {
    /// Reads a certificate file (PEM, one certificate).
    ///
    /// # Errors
    /// `Misuse` naming the file, the line where there is one, and the remedy.
    pub fn load(file: impl AsRef<Path>) -> Result<PeerCertificate, Fault> {
        let file = file.as_ref();
        let text = read_file(file)?;
        check_pem(file, &text, &["CERTIFICATE"])?;
        let bad = |what: String| bad_file(file, &format!("no certificate: {what}"));
        let der =
            CertificateDer::from_pem_slice(text.as_bytes()).map_err(|e| bad(e.to_string()))?;
        ParsedCertificate::try_from(&der).map_err(|e| bad(e.to_string()))?;
        Ok(PeerCertificate { der })
    }

    /// The certificate that somebody has shown, whoever it is.
    pub(crate) fn shown(der: &CertificateDer<'_>) -> PeerCertificate {
        PeerCertificate { der: der.clone().into_owned() }
    }

    /// The fingerprint, for people to compare over another line.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.der)
    }

    /// When it is meant to be used, as it says itself.
    ///
    /// # Errors
    /// `Misuse`, with a remedy, where it says that in no known form.
    pub fn validity(&self) -> Result<Validity, Fault> {
        let (_, read) = x509_parser::parse_x509_certificate(&self.der).map_err(|error| {
            let what = format!("no validity can be read ({error}); make another by `cenote init`");
            Fault::Misuse(format!("certificate {}: {what}", self.fingerprint()))
        })?;
        let validity = read.validity();
        Ok(Validity {
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
        })
    }

    /// The certificate as [`load`](Self::load) reads it.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem("CERTIFICATE", &self.der).to_string()
    }

    pub(crate) fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }
}

impl fmt::Debug for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PeerCertificate").field(&self.fingerprint()).finish()
    }
}

/// This side's certificate and private key.
pub struct Identity {
    certificate: PeerCertificate,
    key: PrivateKeyDer<'static>,
}

impl Drop for Identity {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.certificate.fingerprint()).finish()
    }
}

impl Identity {
    /// Makes a new key (ECDSA P-256) and a certificate for `name`, which is 1 to 64 letters, digits,
    /// dots, hyphens or underscores and only tells people whose certificate it is.
    ///
    /// # Errors
    /// `Misuse` for a bad name; `Internal` when the system gives no randomness.
    pub fn generate(name: &str) -> Result<Identity, Fault> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) {
            return Err(Fault::Misuse(format!(
                "identity name {name:?}: use 1 to {MAX_NAME} letters, digits, dots, hyphens or underscores"
            )));
        }
        let failed = |error: rcgen::Error| Fault::Internal(format!("making an identity: {error}"));
        let key = rcgen::KeyPair::generate().map_err(failed)?;
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Identity {
            certificate: PeerCertificate { der: certificate.der().clone() },
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        })
    }

    /// Writes [`CERTIFICATE_FILE`] and [`KEY_FILE`] (readable by the owner alone) into `dir`, which is
    /// made when missing. Existing files are never overwritten.
    ///
    /// # Errors
    /// `Misuse` naming the file and the remedy.
    pub fn save(&self, dir: impl AsRef<Path>) -> Result<(), Fault> {
        let dir = dir.as_ref();
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(dir).map_err(|error| bad_file(dir, &error.to_string()))?;
        let key = pem("PRIVATE KEY", self.key.secret_der());
        write_new(&dir.join(KEY_FILE), &key, 0o600)?;
        let certificate = pem("CERTIFICATE", self.certificate.der());
        write_new(&dir.join(CERTIFICATE_FILE), &certificate, 0o644)
    }

    /// Reads the two files that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// `Misuse` naming the file, the line where there is one, and the remedy: also when others may
    /// read the key, or when key and certificate do not belong together.
    pub fn load(dir: impl AsRef<Path>) -> Result<Identity, Fault> {
        let dir = dir.as_ref();
        let certificate = PeerCertificate::load(dir.join(CERTIFICATE_FILE))?;
        let file = dir.join(KEY_FILE);
        let text = read_file(&file)?;
        let meta = fs::metadata(&file).map_err(|error| bad_file(&file, &error.to_string()))?;
        if meta.permissions().mode() & 0o077 != 0 {
            let what =
                format!("others can read this private key; run: chmod 600 {}", file.display());
            return Err(bad_file(&file, &what));
        }
        check_pem(&file, &text, &["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"])?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
            .map_err(|error| bad_file(&file, &format!("no private key: {error}")))?;
        let identity = Identity { certificate, key };
        identity.certified_key().map_err(|error| {
            let what =
                format!("not the key of {CERTIFICATE_FILE} beside it ({error}); restore the pair");
            bad_file(&file, &what)
        })?;
        Ok(identity)
    }

    /// This side's certificate, as the peer needs it.
    #[must_use]
    pub fn certificate(&self) -> &PeerCertificate {
        &self.certificate
    }

    /// The fingerprint of this side's certificate.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.certificate.fingerprint()
    }

    pub(crate) fn certified_key(&self) -> Result<CertifiedKey, rustls::Error> {
        let chain = vec![self.certificate.der.clone()];
        CertifiedKey::from_der(
            chain,
            self.key.clone_key(),
            &rustls::crypto::ring::default_provider(),
        )
    }
}

fn bad_file(file: &Path, what: &str) -> Fault {
    Fault::Misuse(format!("{}: {what}", file.display()))
}

fn read_file(file: &Path) -> Result<Zeroizing<String>, Fault> {
    let failed = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => {
                "; make one (a peer's comes by pairing), or correct the path"
            }
            io::ErrorKind::PermissionDenied => "; let this user read it",
            io::ErrorKind::InvalidData => "; give a PEM file (text)",
            _ => "",
        };
        bad_file(file, &format!("{error}{remedy}"))
    };
    // Large enough from the start: growing would leave copies of a key behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * MAX_FILE as usize));
    let mut limited = File::open(file).map_err(failed)?.take(MAX_FILE + 1);
    limited.read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE {
        return Err(bad_file(file, "too large for a certificate or a key; give a PEM file"));
    }
    Ok(text)
}

fn write_new(file: &Path, text: &str, mode: u32) -> Result<(), Fault> {
    let open = OpenOptions::new().write(true).create_new(true).mode(mode).open(file);
    let written = open.and_then(|mut open| {
        open.write_all(text.as_bytes())?;
        open.sync_all()
    });
    written.map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                "; an identity is never overwritten, use another directory"
            }
            _ => "",
        };
        bad_file(file, &format!("{error}{remedy}"))
    })
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// One PEM section.
fn pem(label: &str, der: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(2 * der.len() + 128));
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    // 48 bytes make a line of 64 characters.
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for i in 0..4 {
                let digit = BASE64[(bits >> (18 - 6 * i)) as usize & 63];
                text.push(if i <= group.len() { char::from(digit) } else { '=' });
            }
        }
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// Checks that the text of `file` is one PEM section with one of these labels; the error names file,
/// line and remedy.
fn check_pem(file: &Path, text: &str, labels: &[&str]) -> Result<(), Fault> {
    let bad = |line: usize, what: String| {
        Err(Fault::Misuse(format!("{}:{line}: {what}", file.display())))
    };
    let label = labels.first().copied().unwrap_or_default();
    let mut lines = text.lines().map(str::trim).enumerate().map(|(i, line)| (i + 1, line));
    let begins = |line: &str| {
        let name = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
        labels.contains(&name).then(|| name.to_owned())
    };
    let (start, found) = loop {
        match lines.next() {
            Some((_, "")) => {}
            Some((number, line)) => match begins(line) {
                Some(found) => break (number, found),
                None => return bad(number, format!("expected -----BEGIN {label}-----")),
            },
            None => return bad(1, format!("the file is empty; it needs a PEM section {label}")),
        }
    };
    let end = format!("-----END {found}-----");
    for (number, line) in lines.by_ref() {
        if line == end {
            return match lines.find(|(_, line)| !line.is_empty()) {
                Some((number, _)) => {
                    bad(number, format!("text after the end; keep one section {found} in the file"))
                }
                None => Ok(()),
            };
        }
        let digits = line.trim_end_matches('=');
        if line.len() - digits.len() > 2 || !digits.bytes().all(|byte| BASE64.contains(&byte)) {
            return bad(number, "not base64; copy the file again".into());
        }
    }
    bad(start, format!("this section has no {end}; the file was cut short, copy it again"))
}

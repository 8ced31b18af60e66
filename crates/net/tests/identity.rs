//! Identities and their files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cenote_net::{
    CERTIFICATE_FILE, Fault, Identity, KEY_FILE, PeerCertificate, tcp_connect, tcp_listen,
};

/// A certificate of 2020.
const ENDED: &str = "\
-----BEGIN CERTIFICATE-----
MIIBCTCBr6ADAgECAgEHMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA29sZDAeFw0y
MDAxMDEwMDAwMDBaFw0yMDEyMzEyMzU5NTlaMA4xDDAKBgNVBAMMA29sZDBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABJdkpARYJTg7CLMKuC08zwmO3H1tVZklz81h
V3iI1aeWCzwkekBfbUlCoUxjl06V+30acooVSFGO6phJr8O9AVAwCgYIKoZIzj0E
AwIDSQAwRgIhAN9REb8FI6s3+IxG/NuzdnVX6VvVImIlW2sObQbIjU7CAiEA54Pk
QY+rsu7WsxEbgTMuRrq2gdShb1NytQingWn/nTw=
-----END CERTIFICATE-----
";

fn identity(name: &str) -> Identity {
    Identity::generate(name).unwrap()
}

fn text(fault: Fault) -> String {
    assert!(matches!(fault, Fault::Misuse(_)), "{fault:?}");
    fault.to_string()
}

#[test]
fn a_saved_identity_loads_again_and_its_certificate_is_the_peers() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("deep/home");
    let made = identity("issuer-a");
    made.save(&home).unwrap();
    let loaded = Identity::load(&home).unwrap();
    assert_eq!(loaded.certificate(), made.certificate());
    let peer = PeerCertificate::load(home.join(CERTIFICATE_FILE)).unwrap();
    assert_eq!(&peer, made.certificate());
    assert_eq!(peer.fingerprint().to_string().len(), 32 * 3 - 1);
    assert_ne!(peer.fingerprint(), identity("issuer-a").fingerprint());
    let mode = fs::metadata(home.join(KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let refused = text(identity("other").save(&home).unwrap_err());
    assert!(refused.contains(KEY_FILE) && refused.contains("never overwritten"), "{refused}");
    assert!(Identity::load(&home).is_ok(), "the refused save changed nothing");
}

#[test]
fn a_certificate_says_how_long_it_is_meant_to_be_used() {
    let made = identity("a").certificate().validity().unwrap();
    // 1975-01-01 and 4096-01-01.
    assert_eq!((made.not_before, made.not_after), (157_766_400, 67_090_118_400));
    // Of another tool, ended in 2021; what an owner was given is kept whatever its dates.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("old.pem");
    fs::write(&file, ENDED).unwrap();
    let ended = PeerCertificate::load(&file).unwrap().validity().unwrap();
    assert_eq!((ended.not_before, ended.not_after), (1_577_836_800, 1_609_459_199));
}

#[test]
fn debug_output_shows_no_key() {
    let shown = format!("{:?}", identity("a"));
    assert!(shown.starts_with("Identity(") && shown.len() < 120, "{shown}");
}

#[test]
fn names_are_plain() {
    for bad in ["", "a b", "a/b", "\u{e9}", &"x".repeat(65)] {
        assert!(text(Identity::generate(bad).unwrap_err()).contains("letters"), "{bad:?}");
    }
    for good in ["a", "issuer-a.example_1", &"x".repeat(64)] {
        assert!(Identity::generate(good).is_ok(), "{good:?}");
    }
}

fn load_error(content: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("peer.pem");
    fs::write(&file, content).unwrap();
    let message = text(PeerCertificate::load(&file).unwrap_err());
    assert!(message.contains(&*file.to_string_lossy()), "{message} names the file");
    message
}

#[test]
fn malformed_certificates_name_file_line_and_remedy() {
    let dir = tempfile::tempdir().unwrap();
    identity("a").save(dir.path()).unwrap();
    let good = fs::read_to_string(dir.path().join(CERTIFICATE_FILE)).unwrap();
    let key = fs::read(dir.path().join(KEY_FILE)).unwrap();
    let mut lines: Vec<&str> = good.lines().collect();
    assert!(load_error(b"").contains("empty"));
    assert!(load_error(b"\nhello\n").contains(":2: expected -----BEGIN CERTIFICATE-----"));
    assert!(load_error(&key).contains(":1: expected -----BEGIN CERTIFICATE-----"));
    assert!(load_error(&[0xff; 20]).contains("PEM"));
    assert!(load_error(good.repeat(2).as_bytes()).contains("keep one section"));
    assert!(load_error(&vec![b'A'; 100_000]).contains("too large"));
    let cut = lines[..lines.len() - 1].join("\n");
    assert!(load_error(cut.as_bytes()).contains("cut short"));
    lines[2] = "not*base64";
    assert!(load_error(lines.join("\n").as_bytes()).contains(":3: not base64"));
    lines.truncate(2);
    lines.push("-----END CERTIFICATE-----");
    assert!(load_error(lines.join("\n").as_bytes()).contains("no certificate"));
    let missing = text(PeerCertificate::load(dir.path().join("none")).unwrap_err());
    assert!(missing.contains("none") && missing.contains("correct the path"), "{missing}");
}

#[test]
fn keys_that_are_open_foreign_or_malformed_are_refused() {
    let fresh = |dir: &Path| identity("a").save(dir).unwrap();
    let refused = |change: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        fresh(dir.path());
        change(dir.path());
        let message = text(Identity::load(dir.path()).unwrap_err());
        assert!(message.contains(KEY_FILE), "{message}");
        message
    };
    let message = refused(&|dir| {
        fs::set_permissions(dir.join(KEY_FILE), fs::Permissions::from_mode(0o644)).unwrap();
    });
    assert!(message.contains("chmod 600"), "{message}");
    let message = refused(&|dir| {
        let other = tempfile::tempdir().unwrap();
        fresh(other.path());
        fs::copy(other.path().join(KEY_FILE), dir.join(KEY_FILE)).unwrap();
    });
    assert!(message.contains("not the key of"), "{message}");
    let message = refused(&|dir| fs::write(dir.join(KEY_FILE), "x").unwrap());
    assert!(message.contains(":1: "), "{message}");
    refused(&|dir| fs::remove_file(dir.join(KEY_FILE)).unwrap());
}

#[test]
fn nobody_there_is_named_in_bounded_time() {
    let listener = tcp_listen("127.0.0.1:0").unwrap();
    let fault = cenote_net::tcp_accept(&listener, Duration::from_millis(50)).unwrap_err();
    assert!(fault.to_string().contains(&listener.address().to_string()), "{fault}");
    let address = listener.address().to_string();
    drop(listener);
    let fault = tcp_connect(&address, Duration::from_millis(120)).unwrap_err();
    assert!(fault.to_string().contains(&address), "{fault}");
    assert!(tcp_listen("no such address").is_err());
}

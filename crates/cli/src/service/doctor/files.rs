//! What lies in the directory: configuration, certificates, keys, tokens, what the service writes, data sets.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cenote_net::{CERTIFICATE_FILE, Identity, KEY_FILE, PeerCertificate};
use cenote_service::api::{Certificate, Tokens};
use cenote_service::audit::{OwnerKey, PublicKey, verify_lying};
use cenote_service::config::{CONFIG_FILE, Config, TOKEN_FILE};
use cenote_service::{expiry, is_database_lost, look_at_database};
use serde_json::json;

use super::super::shown::when;
use super::super::{client, serve};
use super::{Place, Report};

/// What helps where a file is gone or is not what it was.
const RESTORE: &str = "put it back from the backup";

pub(super) fn check(place: &mut Place<'_>, report: &mut Report) {
    directory(place, report);
    configuration(place, report);
    let own = identity(place, report);
    if let Some(config) = &place.config {
        place.peer = peer(config, own.as_deref(), report);
        tls(config, report);
        tokens(config, report);
    }
    token(place.dir, report);
    keys(place, report);
    if let Some(config) = &place.config {
        data(config, report);
    }
}

fn directory(place: &Place<'_>, report: &mut Report) {
    let (name, shown) = ("directory", place.dir.display());
    let metadata = match place.dir.metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => {
            return report.bad(name, format!("{shown} is no directory"), "name that of a service");
        }
        Err(error) => {
            let remedy = format!("`cenote init {shown} --listen HOST:PORT` makes one");
            return report.bad(name, format!("{shown}: {error}"), remedy);
        }
    };
    let mode = metadata.mode() & 0o7777;
    let chmod = format!("chmod 700 {shown}");
    if mode & 0o022 != 0 {
        let found = format!("{shown} has mode {mode:03o}: others may put other files in place");
        report.bad(name, found, chmod);
    } else if mode & 0o077 != 0 {
        report.warning(name, format!("{shown} has mode {mode:03o}: others may look in"), chmod);
    } else {
        report.ok(name, format!("{shown}, for its user alone"));
    }
    if !place.own {
        let uid = metadata.uid();
        let found = format!("{shown} belongs to user {uid}, who is not the one that runs this");
        let remedy = format!(
            "run it as the service does, such as: sudo -u '#{uid}' cenote doctor {shown}; some checks are left out, others say what this user may do"
        );
        report.warning("user", found, remedy);
    }
    let written = tempfile::NamedTempFile::new_in(place.dir).and_then(|mut file| {
        file.write_all(b"cenote doctor\n")?;
        file.as_file().sync_all()
    });
    match written {
        Ok(()) => report.ok("writable", "a file was written there, and taken away"),
        Err(error) => report.bad(
            "writable",
            format!("{shown} cannot be written: {error}"),
            "make room, let this user write there, or list it in ReadWritePaths= of the unit",
        ),
    }
}

fn configuration(place: &mut Place<'_>, report: &mut Report) {
    match Config::load(place.dir) {
        Ok(config) => {
            let role = config.peer.role.name();
            let file = place.dir.join(CONFIG_FILE);
            let found = format!(
                "{}: `{}`, {role} with `{}`",
                file.display(),
                config.name,
                config.peer.name
            );
            report.ok("configuration", found);
            place.config = Some(config);
        }
        Err(error) => {
            let remedy = "correct that line; `cenote init` in an empty directory writes a file that explains every key";
            report.bad("configuration", error.to_string(), remedy);
        }
    }
}

/// The fingerprint of the own certificate.
fn identity(place: &mut Place<'_>, report: &mut Report) -> Option<String> {
    match Identity::load(place.dir) {
        Ok(identity) => {
            let fingerprint = identity.fingerprint().to_string();
            let found = format!("{CERTIFICATE_FILE} and {KEY_FILE} belong together, {fingerprint}");
            report.ok("identity", found);
            place.not_before = validity("identity ends", identity.certificate(), report);
            Some(fingerprint)
        }
        Err(fault) => {
            let otherwise = "restore both files from the backup, or make an identity by `cenote init` in a new directory and pair again";
            report.failed("identity", &fault.to_string(), otherwise);
            None
        }
    }
}

/// Says when a certificate ends; its first second.
fn validity(name: &str, certificate: &PeerCertificate, report: &mut Report) -> Option<i64> {
    let validity = match certificate.validity() {
        Ok(validity) => validity,
        Err(fault) => {
            let remedy = "sessions open all the same; make another identity, and pair again";
            report.warning(name, fault.to_string(), remedy);
            return None;
        }
    };
    let left = validity.not_after.saturating_sub(expiry::now());
    let ends = date(validity.not_after);
    let remedy = "whose it is makes another by `cenote init` in a new directory, and both pair again with --replace";
    if left <= 0 {
        let found = format!("it ended {ends}; sessions open all the same, as it is pinned");
        report.warning(name, found, remedy);
    } else if expiry::is_near(left) {
        report.warning(name, format!("{ends}, in {} days", left / 86_400), remedy);
    } else {
        report.ok(name, ends);
    }
    Some(validity.not_before)
}

/// The fingerprint of the peer's certificate.
fn peer(config: &Config, own: Option<&str>, report: &mut Report) -> Option<String> {
    let file = config.path(&config.peer.certificate);
    let dir = config.dir.display();
    if !file.exists() {
        let found = format!("{}: there is no certificate of the peer's", file.display());
        let remedy = format!(
            "`cenote pair {dir} PEER-CERT`, or `cenote pair {dir} --listen` or `--connect HOST:PORT`, on both sides"
        );
        report.bad("peer's certificate", found, remedy);
        return None;
    }
    match PeerCertificate::load(&file) {
        Ok(peer) => {
            let fingerprint = peer.fingerprint().to_string();
            if own == Some(&fingerprint) {
                let found = format!("{} is the own certificate", file.display());
                let remedy = format!("`cenote pair {dir} PEER-CERT --replace` with the peer's");
                report.bad("peer's certificate", found, remedy);
                return None;
            }
            report.ok("peer's certificate", fingerprint.clone());
            validity("peer's ends", &peer, report);
            Some(fingerprint)
        }
        Err(fault) => {
            let otherwise = "`cenote pair` with --replace takes it again";
            report.failed("peer's certificate", &fault.to_string(), otherwise);
            None
        }
    }
}

fn date(seconds: i64) -> String {
    let text = when(&json!(seconds.saturating_mul(1000)));
    text.as_str().map_or_else(|| seconds.to_string(), str::to_owned)
}

/// The certificate of the API, and when it ends: clients heed that.
fn tls(config: &Config, report: &mut Report) {
    let Some((certificate, _)) = config.api_files() else { return };
    let again = "put another in its place, or `cenote certificate` makes one; the service reads it while it runs";
    match serve::tls(config) {
        Ok(_) => report.ok("API's certificate", certificate.display().to_string()),
        Err(failure) => return report.failed("API's certificate", &failure.message, again),
    }
    let name = "API's ends";
    let end = match Certificate::ends(&certificate) {
        Ok(end) => end,
        Err(error) => return report.failed(name, &error.to_string(), again),
    };
    let left = end.saturating_sub(expiry::now());
    if left <= 0 {
        report.bad(name, format!("it ended {}, and clients refuse it", date(end)), again);
    } else if expiry::is_near(left) {
        report.warning(name, format!("{}, in {} days", date(end), left / 86_400), again);
    } else {
        report.ok(name, date(end));
    }
}

fn tokens(config: &Config, report: &mut Report) {
    let file = config.path(&config.api.tokens);
    match Tokens::open(&file) {
        Ok(tokens) => match tokens.unknown(config.quota.tokens()).as_slice() {
            [] => report.ok("tokens", format!("{} can be used", file.display())),
            names => {
                let found = format!("[quota.token]: no token is called {}", names.join(", "));
                report.warning("tokens", found, "correct the name, or `cenote token add` it");
            }
        },
        Err(error) => {
            let otherwise = "`cenote token add` makes one";
            report.failed("tokens", &error.to_string(), otherwise);
        }
    }
}

/// The owner's own token, with which commands ask.
fn token(dir: &Path, report: &mut Report) {
    let file = dir.join(TOKEN_FILE);
    if !file.exists() {
        let found = format!("{}: none there, so commands need --token-file", file.display());
        return report.warning("token", found, "`cenote token add NAME --role ROLE,.. -o FILE`");
    }
    match client::token(&file) {
        Ok(_) => report.ok("token", format!("{}, for its user alone", file.display())),
        Err(failure) => {
            report.failed("token", &failure.message, "`cenote token add` makes another");
        }
    }
}

/// Files that the service makes: nobody else may read them, and it can use them.
fn keys(place: &Place<'_>, report: &mut Report) {
    let key = place.dir.join("owner.key");
    match mode(&key) {
        Some(mode) if mode & 0o077 != 0 => {
            let found = format!("owner.key has mode {mode:03o}: others may read it, and sign");
            let remedy = format!("chmod 600 {}; think about who has read it", key.display());
            report.bad("owner's key", found, remedy);
        }
        // Another user cannot read it.
        Some(_) if !place.own => report.ok("owner's key", "owner.key, for its user alone"),
        _ => match OwnerKey::look(&key) {
            Ok(Some(_)) => report.ok("owner's key", "owner.key, for its user alone"),
            Ok(None) => report.ok("owner's key", "owner.key is made at the first start"),
            Err(error) => report.failed("owner's key", &error.to_string(), RESTORE),
        },
    }
    database(place, report);
    log(place, report);
}

fn mode(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|metadata| metadata.mode() & 0o777)
}

fn database(place: &Place<'_>, report: &mut Report) {
    let (name, path) = ("database", place.dir.join("service.db"));
    let Some(mode) = mode(&path) else {
        if is_database_lost(place.dir) {
            let found = "service.db is not there, though the audit log has lines: programs, approvals and results are gone";
            return report.warning(name, found, RESTORE);
        }
        return report.ok(name, "service.db is made at the first start");
    };
    if mode & 0o077 != 0 {
        let found = format!("service.db has mode {mode:03o}; inputs and results are in it");
        report.warning(name, found, format!("chmod 600 {}", path.display()));
    }
    match look_at_database(&path) {
        _ if !place.own => {}
        Ok(()) if mode & 0o077 != 0 => {}
        Ok(()) => report.ok(name, "service.db, for its user alone"),
        Err(error) => report.failed(name, &error.to_string(), RESTORE),
    }
}

/// Whether each line of the audit log is as it was written.
fn log(place: &Place<'_>, report: &mut Report) {
    let (name, path) = ("audit log", place.dir.join("audit.log"));
    if mode(&path).is_none() || !place.own {
        return;
    }
    // One that is missing or of another key is said of the key.
    let key = PublicKey::load(&place.dir.join("owner.pub")).ok();
    match verify_lying(&path, key.as_ref()) {
        Ok(head) => report.ok(name, format!("{} lines, all in order and signed", head.sequence)),
        Err(error) => {
            let words = error.to_string();
            let (found, remedy) = words.split_once("; ").unwrap_or((&words, RESTORE));
            report.bad(name, found, remedy);
        }
    }
}

fn data(config: &Config, report: &mut Report) {
    for directory in &config.data.directories {
        let path = config.path(directory);
        match fs::read_dir(&path) {
            Ok(_) => report.ok("data sets", format!("they lie in {}", path.display())),
            Err(error) => report.warning(
                "data sets",
                format!("{}: {error}", path.display()),
                "make the directory, let the service's user read it, or take it out of [data] directories",
            ),
        }
    }
}

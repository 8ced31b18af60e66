//! What lies in the directory: configuration, certificates, keys, tokens, data sets.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cenote_net::{CERTIFICATE_FILE, Identity, KEY_FILE, PeerCertificate};
use cenote_service::api::{Certificate, Tokens};
use cenote_service::config::{CONFIG_FILE, Config, TOKEN_FILE};
use cenote_service::expiry;
use serde_json::json;

use super::super::shown::when;
use super::super::{client, serve};
use super::{Place, Report};

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
    keys(place.dir, report);
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

/// Files that the service makes: nobody else may read them.
fn keys(dir: &Path, report: &mut Report) {
    for (name, file, secret) in
        [("owner's key", "owner.key", true), ("database", "service.db", false)]
    {
        let path = dir.join(file);
        let Ok(metadata) = fs::metadata(&path) else {
            if secret && dir.join("owner.pub").exists() {
                let found = format!("{file} is not there, and its public half is");
                report.bad(name, found, "put it back from the backup");
            } else {
                report.ok(name, format!("{file} is made at the first start"));
            }
            continue;
        };
        let mode = metadata.mode() & 0o777;
        let chmod = format!("chmod 600 {}", path.display());
        if mode & 0o077 == 0 {
            report.ok(name, format!("{file}, for its user alone"));
        } else if secret {
            let found = format!("{file} has mode {mode:03o}: others may read it, and sign");
            report.bad(name, found, format!("{chmod}; think about who has read it"));
        } else {
            let found = format!("{file} has mode {mode:03o}; inputs and results are in it");
            report.warning(name, found, chmod);
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

//! `cenote init` and `cenote pair`: who this side is, and whom it talks to.

use std::fs;
use std::path::Path;

use cenote_net::{CERTIFICATE_FILE, Identity, PeerCertificate};
use serde_json::json;

use crate::args::{InitArgs, PairArgs};
use crate::exit::Failure;
use crate::output::Reply;

/// Where `pair` keeps the peer's certificate in an identity directory.
pub(crate) const PEER_FILE: &str = "peer.crt.pem";

pub(crate) fn init(args: &InitArgs) -> Result<Reply, Failure> {
    let identity = Identity::generate(&args.name)?;
    identity.save(&args.dir)?;
    let certificate = args.dir.join(CERTIFICATE_FILE);
    let fingerprint = identity.fingerprint().to_string();
    let text = format!(
        "identity made in {}\nfingerprint  {fingerprint}\n\
         Give {} to the peer; keep the key beside it to yourself.",
        args.dir.display(),
        certificate.display(),
    );
    let json = json!({
        "dir": args.dir.display().to_string(),
        "certificate": certificate.display().to_string(),
        "fingerprint": fingerprint,
    });
    Ok(Reply::new(json, text))
}

pub(crate) fn pair(args: &PairArgs) -> Result<Reply, Failure> {
    let identity = own(&args.dir)?;
    let certificate = args.dir.join(CERTIFICATE_FILE);
    let own = identity.fingerprint();
    let Some(file) = &args.peer_cert else {
        let text = format!("fingerprint  {own}\ncertificate  {}", certificate.display());
        let json = json!({ "certificate": certificate.display().to_string(), "fingerprint": own.to_string() });
        return Ok(Reply::new(json, text));
    };
    let peer = PeerCertificate::load(file)?;
    if peer.fingerprint() == own {
        return Err(Failure::bad_input(format!(
            "{}: this is the own certificate; give the one that the peer sent",
            file.display()
        )));
    }
    let kept = args.dir.join(PEER_FILE);
    if kept.exists() && !args.replace {
        refuse_another(&kept, &peer)?;
    }
    keep(&peer, &kept)?;
    let peer = peer.fingerprint();
    let text = format!(
        "own fingerprint   {own}\npeer fingerprint  {peer}\n\
         Compare both with the peer over another line. The peer's certificate is kept in {}.",
        kept.display(),
    );
    let json = json!({
        "certificate": certificate.display().to_string(),
        "fingerprint": own.to_string(),
        "peer_certificate": kept.display().to_string(),
        "peer_fingerprint": peer.to_string(),
    });
    Ok(Reply::new(json, text))
}

/// The identity of this side.
pub(crate) fn own(dir: &Path) -> Result<Identity, Failure> {
    if !dir.join(CERTIFICATE_FILE).exists() {
        let dir = dir.display();
        let message = format!("{dir}: no identity there; make one with `cenote init {dir}`");
        return Err(Failure::bad_input(message));
    }
    Ok(Identity::load(dir)?)
}

/// A peer that is known is not replaced by accident, nor by whoever sent a second file.
fn refuse_another(kept: &Path, new: &PeerCertificate) -> Result<(), Failure> {
    let place = kept.display();
    let old = PeerCertificate::load(kept).map_err(Failure::from).map_err(|failure| Failure {
        message: format!("{}; --replace replaces it", failure.message),
        ..failure
    })?;
    let (old, new) = (old.fingerprint(), new.fingerprint());
    if old == new {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{place} holds another peer's certificate, fingerprint {old}; the new one has {new}; \
         ask the peer over another line, then use --replace"
    )))
}

fn keep(peer: &PeerCertificate, to: &Path) -> Result<(), Failure> {
    fs::write(to, peer.to_pem()).map_err(|error| {
        Failure::bad_input(format!("{}: {error}; make the directory writable", to.display()))
    })
}

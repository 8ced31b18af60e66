//! `cenote init` and `cenote pair`: who this side is, and whom it talks to.

use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_net::{
    CERTIFICATE_FILE, Confirmed, Fault, Fingerprint, Identity, Pairing, PeerCertificate,
    pair_accept, pair_connect, tcp_listen,
};
use cenote_service::config::CONFIG_FILE;
use cenote_service::{next_peer_file, prepare_identity, want_identity};
use clap::{ArgGroup, Args};
use serde_json::json;

use crate::args::seconds;
use crate::exit::{Failure, Kind};
use crate::interrupt::Interrupt;
use crate::link;
use crate::output::{self, Format, Reply};
use crate::service::client;
use crate::service::running::Running;
use crate::service::setup::InitServiceArgs;

/// Where `pair` keeps the peer's certificate in an identity directory.
pub(crate) const PEER_FILE: &str = "peer.crt.pem";
/// Most bytes of a line that holds a code.
const LONGEST_LINE: u64 = 1024;

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Directory for certificate and key; made when missing.
    pub(crate) dir: PathBuf,
    /// Name in the certificate, for people.
    #[arg(long, default_value = "cenote")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) service: InitServiceArgs,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("from").args(["peer_cert", "listen", "connect"]))]
#[command(group = ArgGroup::new("network").args(["listen", "connect"]))]
pub(crate) struct PairArgs {
    /// Directory that `cenote init` made.
    pub(crate) dir: PathBuf,
    /// The peer's certificate file; without it and an address, only the own fingerprint is shown.
    pub(crate) peer_cert: Option<PathBuf>,
    /// Get the peer's certificate from the first who calls this address to pair; the two owners read codes to each other.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Get it from whoever listens at this address to pair.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// Seconds to wait for the peer to come.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = seconds, requires = "network")]
    pub(crate) wait: u64,
    /// Keep it in place of another peer's certificate.
    #[arg(long, requires = "from")]
    pub(crate) replace: bool,
    /// Keep it beside the peer's certificate, as its next one: a service that runs accepts both until the next one is used.
    #[arg(long, requires = "peer_cert", conflicts_with_all = ["replace", "network"])]
    pub(crate) next: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RotateArgs {
    /// Directory of the service.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Take the next identity, which the peer's owner trusts by now; without it, it is made, and nothing changes.
    #[arg(long)]
    pub(crate) now: bool,
}

/// Changes the own certificate, in two steps, while services run.
pub(crate) fn rotate(args: &RotateArgs) -> Result<Reply, Failure> {
    let name = client::config(&args.dir)?.name;
    let before = own(&args.dir)?.fingerprint().to_string();
    let dir = args.dir.display();
    if args.now {
        let next = want_identity(&args.dir)?.to_string();
        let text = format!(
            "next fingerprint  {next}\na service that runs takes it within seconds, one that does not when it starts; the peer then knows no other"
        );
        return Ok(Reply::new(json!({ "before": before, "fingerprint": next }), text));
    }
    let (file, next) = prepare_identity(&args.dir, &certificate_name(&name))?;
    let (file, next) = (file.display().to_string(), next.to_string());
    let text = format!(
        "own fingerprint   {before}\nnext fingerprint  {next}\n\
         {file} goes to the peer's owner: `cenote pair DIR FILE --next`. Compare the fingerprint over another line.\n\
         Once it is trusted there: cenote rotate {dir} --now"
    );
    Ok(Reply::new(json!({ "before": before, "certificate": file, "fingerprint": next }), text))
}

/// The name of a service as far as a certificate may have it.
fn certificate_name(name: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || ".-_".contains(*c);
    let name: String = name.chars().filter(fits).take(64).collect();
    if name.is_empty() { "cenote".to_owned() } else { name }
}

pub(crate) fn init(args: &InitArgs) -> Result<Reply, Failure> {
    let dir = &args.dir;
    // A directory that has an identity may become that of a service.
    let known = args.service.is_there() && dir.join(CERTIFICATE_FILE).exists();
    let identity = if known { Identity::load(dir)? } else { Identity::generate(&args.name)? };
    if !known {
        identity.save(dir)?;
    }
    let certificate = dir.join(CERTIFICATE_FILE);
    let fingerprint = identity.fingerprint().to_string();
    let text = format!(
        "identity {} in {}\nfingerprint  {fingerprint}\n\
         {} goes to the peer, by `cenote pair`; keep the key beside it to yourself.",
        if known { "kept" } else { "made" },
        dir.display(),
        certificate.display(),
    );
    let json = json!({
        "dir": dir.display().to_string(),
        "certificate": certificate.display().to_string(),
        "fingerprint": fingerprint,
    });
    args.service.write(dir, &args.name, Reply::new(json, text))
}

pub(crate) fn pair(args: &PairArgs, format: Format) -> Result<Reply, Failure> {
    let identity = own(&args.dir)?;
    let kept = args.dir.join(PEER_FILE);
    if let (Some(file), true) = (&args.peer_cert, args.next) {
        return pair_next(args, &identity, file);
    }
    if let Some(file) = &args.peer_cert {
        let peer = from_file(file, identity.fingerprint(), &known(&kept, args.replace)?)?;
        keep(&peer, &kept)?;
        let note = "Compare both with the peer over another line.";
        return Ok(paired(args, &identity, &peer, note));
    }
    if args.listen.is_none() && args.connect.is_none() {
        let (own, certificate) = (identity.fingerprint().to_string(), certificate(args));
        let text = format!("fingerprint  {own}\ncertificate  {certificate}");
        return Ok(Reply::new(json!({ "certificate": certificate, "fingerprint": own }), text));
    }
    let known = known(&kept, args.replace)?;
    // There is nothing to put in order before the process ends.
    let _interrupt = Interrupt::install(format)?;
    let pairing = meet(args, &identity)?;
    if let Err(failure) = refuse_another(&known, pairing.fingerprint()) {
        pairing.refuse();
        return Err(Failure { kind: Kind::Refused, ..failure });
    }
    let confirmed = ask(pairing, identity.fingerprint())?;
    keep(confirmed.peer(), &kept)?;
    output::note("the code is right; waiting for the other owner to type theirs");
    let peer = confirmed.peer().clone();
    let (accepted, note) = match confirmed.conclude() {
        Ok(()) => (Some(true), "Both owners typed the right code."),
        Err(Fault::PeerAborted) => (
            Some(false),
            "The other owner refused, or mistyped the code: for that side, start again on both.",
        ),
        Err(_) => (
            None,
            "Whether the other side keeps this one's is not known: the connection ended first.",
        ),
    };
    let reply = paired(args, &identity, &peer, note);
    Ok(reply.with("peer_accepted", json!(accepted)))
}

/// Keeps the certificate that the peer will have.
fn pair_next(args: &PairArgs, identity: &Identity, file: &Path) -> Result<Reply, Failure> {
    let used = match args.dir.join(CONFIG_FILE).exists() {
        true => {
            let config = client::config(&args.dir)?;
            config.path(&config.peer.certificate)
        }
        false => return Err(Failure::bad_input("--next is for the directory of a service")),
    };
    let now = PeerCertificate::load(&used)?.fingerprint();
    let peer = from_file(file, identity.fingerprint(), &None)?;
    if peer.fingerprint() == now {
        let what = format!("{}: the peer has this certificate already", file.display());
        return Err(Failure::bad_input(what));
    }
    let kept = next_peer_file(&used);
    keep(&peer, &kept)?;
    let (now, next) = (now.to_string(), peer.fingerprint().to_string());
    let kept = kept.display().to_string();
    let text = format!(
        "peer fingerprint  {now}\nnext fingerprint  {next}\n\
         Compare it with the peer's owner over another line; if it is wrong, remove {kept}. Both are accepted until the next one is used.\n\
         Give approvals for it (--peer); those for the one before end with it. The pools are made again then."
    );
    let json =
        json!({ "peer_fingerprint": now, "next_fingerprint": next, "next_certificate": kept });
    Ok(Reply::new(json, text))
}

/// Says whose certificate was kept, and what is to be known beside it.
fn paired(args: &PairArgs, identity: &Identity, peer: &PeerCertificate, note: &str) -> Reply {
    let (own, peer) = (identity.fingerprint().to_string(), peer.fingerprint().to_string());
    let kept = args.dir.join(PEER_FILE).display().to_string();
    let text = format!(
        "own fingerprint   {own}\npeer fingerprint  {peer}\n\
         {note} The peer's certificate is kept in {kept}.",
    );
    let json = json!({
        "certificate": certificate(args),
        "fingerprint": own,
        "peer_certificate": kept,
        "peer_fingerprint": peer,
    });
    Reply::new(json, text)
}

fn certificate(args: &PairArgs) -> String {
    args.dir.join(CERTIFICATE_FILE).display().to_string()
}

fn from_file(
    file: &Path,
    own: Fingerprint,
    known: &Option<Known>,
) -> Result<PeerCertificate, Failure> {
    let peer = PeerCertificate::load(file)?;
    if peer.fingerprint() == own {
        return Err(Failure::bad_input(format!(
            "{}: this is the own certificate; give the one that the peer sent",
            file.display()
        )));
    }
    refuse_another(known, peer.fingerprint())?;
    Ok(peer)
}

/// Somebody at the other end of the line, who may be the peer.
fn meet(args: &PairArgs, identity: &Identity) -> Result<Pairing, Failure> {
    let wait = Duration::from_secs(args.wait);
    if let Some(address) = &args.connect {
        return Ok(pair_connect(address, identity, wait)?);
    }
    let listener = tcp_listen(args.listen.as_deref().unwrap_or_default()).map_err(|fault| {
        let failure = Failure::from(fault);
        if Running::in_dir(&args.dir) != Running::Yes {
            return failure;
        }
        let what = "the service of this directory runs, and has the port if it is the one for its peer: stop it, pair, and start it again";
        Failure { message: format!("{}; {what}", failure.message), ..failure }
    })?;
    output::note(&format!("listening on {}", listener.address()));
    Ok(pair_accept(listener, identity, wait, link::strangers())?)
}

/// Lets the owners talk, and takes the code that the other one reads.
fn ask(pairing: Pairing, own: Fingerprint) -> Result<Confirmed, Failure> {
    output::note(&format!(
        "own fingerprint   {own}\npeer fingerprint  {}\n\
         Call the other owner, whose voice you know.\n\
         read this code to them: {}\n\
         type the code that they read to you:",
        pairing.fingerprint(),
        pairing.code(),
    ));
    let mut line = String::new();
    let read = io::stdin().lock().take(LONGEST_LINE).read_line(&mut line);
    if matches!(read, Ok(0) | Err(_)) {
        pairing.refuse();
        let what = "no code was typed: standard input has no line; nothing was kept";
        return Err(Failure::new(Kind::Refused, what));
    }
    Ok(pairing.confirm(&line)?)
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

/// A peer that is not to be replaced.
struct Known {
    file: PathBuf,
    fingerprint: Fingerprint,
}

/// The peer in `kept`, unless it may be replaced.
fn known(kept: &Path, replace: bool) -> Result<Option<Known>, Failure> {
    if replace || !kept.exists() {
        return Ok(None);
    }
    let old = PeerCertificate::load(kept).map_err(Failure::from).map_err(|failure| Failure {
        message: format!("{}; --replace replaces it", failure.message),
        ..failure
    })?;
    Ok(Some(Known { file: kept.to_owned(), fingerprint: old.fingerprint() }))
}

/// A peer that is known is not replaced by accident, nor by whoever sent or showed a second certificate.
fn refuse_another(known: &Option<Known>, new: Fingerprint) -> Result<(), Failure> {
    let Some(Known { file, fingerprint: old }) = known else { return Ok(()) };
    if *old == new {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{} holds another peer's certificate, fingerprint {old}; the new one has {new}; \
         ask the peer over another line, then use --replace",
        file.display()
    )))
}

fn keep(peer: &PeerCertificate, to: &Path) -> Result<(), Failure> {
    // Whole, or as it was.
    let aside = to.with_extension("new");
    fs::write(&aside, peer.to_pem()).and_then(|()| fs::rename(&aside, to)).map_err(|error| {
        Failure::bad_input(format!("{}: {error}; make the directory writable", to.display()))
    })
}

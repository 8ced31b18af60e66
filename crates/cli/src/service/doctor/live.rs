//! The running service and what it says, or whether it could start; and whether the peer answers.

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cenote_service::config::Config;
use serde_json::Value;

use super::super::client::{self, Client, ServiceArgs};
use super::super::serve;
use super::stores::pools;
use super::{Place, Report};
use crate::exit::Failure;
use crate::service::running::Running;

/// How long a connection to the peer may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Mbit/s each way below which pools are filled slowly.
const SLOW_MBIT: f64 = 10.0;
/// Milliseconds there and back above which jobs take noticeably longer.
const FAR_MS: f64 = 200.0;
/// Connections to the peer, of which the fastest counts.
const TRIES: usize = 3;

pub(super) fn check(place: &Place<'_>, token_file: Option<&Path>, report: &mut Report) {
    let Some(config) = &place.config else { return };
    let answers = client::ask_openly(config, "/healthz");
    let lives = matches!(&answers, Ok((200, text)) if text == "ok\n");
    if place.running == Running::No {
        free(place, config, answers.is_ok(), report);
        return peer_answers(config, report);
    }
    if !lives {
        let found = match answers {
            Ok((code, _)) => format!("answers {code}"),
            Err(error) => format!("does not answer ({error})"),
        };
        not_answering(place, config, &found, report);
        return peer_answers(config, report);
    }
    report.ok("service", format!("it runs, and answers at {}", config.api.url()));
    let ready = client::ask_openly(config, "/readyz");
    if matches!(ready, Ok((200, _))) {
        report.ok("ready", "jobs run");
    } else {
        report.warning("ready", "no job would run now", "see the peer and the lanes below");
    }
    let args = ServiceArgs {
        service: place.dir.to_owned(),
        url: None,
        ca: None,
        token_file: token_file.map(PathBuf::from),
    };
    let asked = Client::new(&args).and_then(|client| {
        let status = client.get("/v1/status", &[])?;
        Ok((client, status))
    });
    match asked {
        Ok((client, status)) => {
            says(place, config, &status, report);
            if status["peer"]["connected"] == true {
                line(client.post_empty("/v1/peer/line"), report);
            }
        }
        Err(failure) => {
            let remedy = "name a file with a token of this service by --token-file; if it is one of this service, another service answers at that address";
            report.warning("status", failure.message, remedy);
        }
    }
}

/// A service has the directory, or may have, and does not answer.
fn not_answering(place: &Place<'_>, config: &Config, found: &str, report: &mut Report) {
    let address = &config.api.listen;
    if place.running == Running::Unknown {
        let found = format!("{address} {found}; whether a service runs here cannot be seen");
        return report.warning("service", found, "run this as the user of the service");
    }
    if address.ends_with(":0") {
        let found = "it runs; its port is chosen at each start, so it is not asked";
        return report.warning("service", found, "give [api] listen a port of its own");
    }
    let found = format!("it runs in this directory, but {address} {found}");
    let remedy = "if it is ending, wait until it has (20 s at most); if [api] was changed since it started, or it hangs, start it again; its log says more";
    report.bad("service", found, remedy);
}

/// It does not run: whether it could.
fn free(place: &Place<'_>, config: &Config, answered: bool, report: &mut Report) {
    let dir = place.dir.display();
    report.ok("service", format!("it does not run; `cenote serve {dir}` starts it"));
    match serve::listen(config) {
        Ok((_, address)) => report.ok("port of the API", format!("{address} is free")),
        Err(failure) => {
            let otherwise = "choose another port, or end what is there";
            let what = if answered { "; another program answers there" } else { "" };
            let (found, remedy) =
                failure.message.rsplit_once("; ").unwrap_or((&failure.message, otherwise));
            report.bad("port of the API", format!("{found}{what}"), remedy);
        }
    }
    let Some(listen) = &config.peer.listen else { return };
    match TcpListener::bind(listen.as_str()) {
        Ok(_) => report.ok("port for the peer", format!("{listen} is free")),
        Err(error) => report.bad(
            "port for the peer",
            format!("[peer] listen = \"{listen}\": {error}"),
            "end what is there, or give an address of this machine and a free port, and tell the peer",
        ),
    }
}

/// Whether the peer's machine answers, for the side that calls.
fn peer_answers(config: &Config, report: &mut Report) {
    let (name, Some(connect)) = ("way to the peer", &config.peer.connect) else { return };
    let addresses: Vec<SocketAddr> = match connect.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            let found = format!("[peer] connect = \"{connect}\" gives no address: {error}");
            return report.bad(name, found, "write HOST:PORT, and look at the resolver");
        }
    };
    let tries: Vec<_> = (0..TRIES).map(|_| round_trip(&addresses)).collect();
    let fastest = tries.iter().filter_map(|tried| tried.as_ref().ok()).min();
    match (fastest, tries.first()) {
        (Some(fastest), _) => {
            let ms = fastest.as_secs_f64() * 1e3;
            let answered = tries.iter().filter(|tried| tried.is_ok()).count();
            let found = format!("{connect} answers in {ms:.1} ms");
            if answered == TRIES {
                report.ok(name, found);
            } else {
                let found = format!("{found}, {answered} times of {TRIES}");
                report.warning(name, found, "look at the line, and at firewalls between");
            }
        }
        (None, first) => {
            let why = first.and_then(|tried| tried.as_ref().err().cloned()).unwrap_or_default();
            let found = format!("{connect} does not answer: {why}");
            let remedy = "ask whether the peer's service runs; look at firewalls on both sides and at [peer] connect";
            report.warning(name, found, remedy);
        }
    }
}

/// How long it takes until one of these addresses has answered.
fn round_trip(addresses: &[SocketAddr]) -> Result<Duration, String> {
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        let started = Instant::now();
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(_) => return Ok(started.elapsed()),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// What the service says of itself.
fn says(place: &Place<'_>, config: &Config, status: &Value, report: &mut Report) {
    let own = env!("CARGO_PKG_VERSION");
    match status["version"].as_str() {
        Some(version) if version == own => report.ok("version", own),
        version => {
            let version = version.unwrap_or("unknown");
            let found = format!("{version} runs, this program is {own}");
            report.warning("version", found, "start the service again after an upgrade");
        }
    }
    let peer = &status["peer"];
    if let (Some(used), Some(kept)) = (peer["fingerprint"].as_str(), &place.peer)
        && used != kept
    {
        let found = format!("the service uses the peer's certificate {used}, another one is kept");
        let remedy = "start it again; if it is not the service of this directory, give [api] listen another port";
        report.bad("peer", found, remedy);
    } else if peer["held"] == true {
        let remedy = "no job runs. Find out what happened, with the peer's owner, then `cenote peer lift` (docs/operate.md)";
        report.bad("peer", "a check failed: it, or somebody in its place, cheated", remedy);
    } else if peer["cheated"] == true {
        let remedy = "decide without telling it; the labels are in evidence/ (docs/operate.md)";
        report.bad("peer", "it has cheated, and does not know that it was found out", remedy);
    } else if peer["connected"] == true {
        report.ok("peer", "connected");
    } else {
        let remedy =
            "ask whether its service runs and has this side's certificate; look at firewalls";
        report.warning("peer", "not connected", remedy);
        peer_answers(config, report);
    }
    if let (Some(begun), Some(most)) = (peer["pools"][0].as_u64(), peer["pools"][1].as_u64()) {
        pools(begun, most, report);
    }
    status["lanes"].as_array().into_iter().flatten().for_each(|one| lane(one, report));
}

/// What the service measured of the line to the peer, over the connection that both have.
fn line(measured: Result<Value, Failure>, report: &mut Report) {
    let (name, remedy) = (
        "line to the peer",
        "name a token of an operator by --token-file, or try again in a moment",
    );
    let measured = match measured {
        Ok(measured) => measured,
        Err(failure) => {
            let found = format!("not measured: {}", failure.message);
            return report.warning(name, found, remedy);
        }
    };
    let figure = |key: &str| measured[key].as_f64().unwrap_or_default();
    let round_trip_ms = figure("round_trip_s") * 1e3;
    let rates = ["sent_bytes_per_s", "received_bytes_per_s"].map(|key| figure(key) * 8e-6);
    let [sent, received] = rates;
    let found = format!(
        "{round_trip_ms:.2} ms there and back, {sent:.0} Mbit/s to the peer, {received:.0} Mbit/s from it"
    );
    if sent.min(received) < SLOW_MBIT {
        let remedy = "triples are made at this pace: see what else uses the line, and whether something between limits it, or keep more ready ([pool] of both sides)";
        report.warning(name, found, remedy);
    } else if round_trip_ms > FAR_MS {
        let remedy = "each job takes some round trips: see which way the packets take";
        report.warning(name, found, remedy);
    } else {
        report.ok(name, found);
    }
}

fn lane(lane: &Value, report: &mut Report) {
    let text = |name: &str| lane[name].as_str().unwrap_or_default();
    let name = format!("lane {}", text("name"));
    let why = lane["reason"].as_str().map_or(String::new(), |reason| format!(": {reason}"));
    let (ready, level) = (lane["ready"].as_u64(), lane["level"].as_u64());
    let ready = format!("{} of {} triples", ready.unwrap_or_default(), level.unwrap_or_default());
    let found = format!("{}{why}", text("state"));
    match text("state") {
        "ready" => report.ok(&name, format!("ready, {ready}")),
        "filling" => report.ok(&name, format!("being filled, {ready}")),
        "waiting" => report.warning(&name, found, "see the peer above"),
        "held" => report.bad(&name, found, "see the peer above"),
        _ => report.failed(&name, &found, "docs/operate.md has what each reason asks for"),
    }
}

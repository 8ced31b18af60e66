//! Requests to the API of a service, whose errors become failures of the command.
//!
//! A token goes to this machine itself, or through TLS to whom a certificate proves to be meant: no other way.

use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cenote_service::config::{Config, TOKEN_FILE};
use clap::Args;
use serde_json::Value;
use ureq::http::{Response, StatusCode, Uri, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};
use zeroize::Zeroizing;

use crate::exit::{Failure, Kind};

/// Longest answer.
const MAX_ANSWER: u64 = 256 << 20;
/// Longest answer to a question without a token.
const MAX_TEXT: u64 = 64 << 10;
/// Longest file of a token.
const MAX_TOKEN: u64 = 4096;
/// How long an answer may take; longer than the service itself allows.
const ANSWER: Duration = Duration::from_secs(100);
/// How long a connection may take to come.
const CONNECT: Duration = Duration::from_secs(5);

/// Which service a command speaks to, and with which token.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServiceArgs {
    /// Directory of the service on this machine; its address and token are taken from there.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) service: PathBuf,
    /// Address of its API, in place of the one in the directory: https://HOST:PORT, or http:// on this machine.
    #[arg(long, value_name = "URL", requires = "token_file")]
    pub(crate) url: Option<String>,
    /// File with a token, in place of the one in the directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates to trust, in PEM: the API's own, or its authority's. A service of this machine says it itself.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) ca: Option<PathBuf>,
}

/// A way to the API of a service.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    authorisation: Zeroizing<String>,
}

impl Client {
    pub(crate) fn new(args: &ServiceArgs) -> Result<Client, Failure> {
        let (base, ca) = match &args.url {
            Some(url) => (url.trim_end_matches('/').to_owned(), args.ca.clone()),
            None => {
                let config = config(&args.service)?;
                (config.api.url(), config.api_ca())
            }
        };
        let agent = agent(&base, ca.as_deref(), ANSWER)?;
        let file = args.token_file.clone().unwrap_or_else(|| args.service.join(TOKEN_FILE));
        let token = token(&file)?;
        let authorisation = Zeroizing::new(format!("Bearer {}", token.as_str()));
        Ok(Client { agent, base, authorisation })
    }

    pub(crate) fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Failure> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        for (name, value) in query {
            request = request.query(name, value);
        }
        let sent = request.header(header::AUTHORIZATION, self.authorisation.as_str()).call();
        self.answer(sent)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request = request.header(header::AUTHORIZATION, self.authorisation.as_str());
        self.answer(request.send_json(body))
    }

    /// Asks for something that needs no further words.
    pub(crate) fn post_empty(&self, path: &str) -> Result<Value, Failure> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request = request.header(header::AUTHORIZATION, self.authorisation.as_str());
        self.answer(request.send_empty())
    }

    pub(crate) fn post_bytes(
        &self,
        path: &str,
        query: &[(&str, &str)],
        bytes: &[u8],
    ) -> Result<Value, Failure> {
        let mut request = self.agent.post(format!("{}{path}", self.base));
        for (name, value) in query {
            request = request.query(name, value);
        }
        let request = request
            .header(header::AUTHORIZATION, self.authorisation.as_str())
            .header(header::CONTENT_TYPE, "application/octet-stream");
        self.answer(request.send(bytes))
    }

    /// A text, which is not in JSON.
    pub(crate) fn get_text(&self, path: &str) -> Result<String, Failure> {
        let request = self.agent.get(format!("{}{path}", self.base));
        let sent = request.header(header::AUTHORIZATION, self.authorisation.as_str()).call();
        let (status, body) = self.body(sent)?;
        if !status.is_success() {
            return Err(problem(&self.json(status, &body)?));
        }
        String::from_utf8(body.to_vec()).map_err(|_| {
            let what =
                format!("{} answered {status} without text: is it a service of cenote?", self.base);
            Failure::new(Kind::Connection, what)
        })
    }

    fn answer(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Value, Failure> {
        let (status, body) = self.body(sent)?;
        let value = self.json(status, &body)?;
        if status.is_success() { Ok(value) } else { Err(problem(&value)) }
    }

    /// Status and body of an answer.
    fn body(
        &self,
        sent: Result<Response<Body>, ureq::Error>,
    ) -> Result<(StatusCode, Zeroizing<Vec<u8>>), Failure> {
        let unanswered = |error: ureq::Error| {
            let base = &self.base;
            let what = format!(
                "no answer from {base} ({error}); is the service running (`cenote serve`)?"
            );
            Failure::new(Kind::Connection, what)
        };
        let mut response = sent.map_err(unanswered)?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
        Ok((status, Zeroizing::new(body.map_err(unanswered)?)))
    }

    fn json(&self, status: StatusCode, body: &[u8]) -> Result<Value, Failure> {
        serde_json::from_slice(body).map_err(|_| {
            let what =
                format!("{} answered {status} without JSON: is it a service of cenote?", self.base);
            Failure::new(Kind::Connection, what)
        })
    }
}

/// What sends requests to `base`, and trusts the certificates of a file.
fn agent(base: &str, ca: Option<&Path>, limit: Duration) -> Result<Agent, Failure> {
    let tls = match (scheme(base)?, ca) {
        (Scheme::Local, _) => TlsConfig::default(),
        (Scheme::Tls, Some(file)) => TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(trusted(file)?)
            .build(),
        (Scheme::Tls, None) => {
            let what = "https:// needs --ca FILE: the API's certificate (api.crt.pem of its directory), or that of its authority; those of this machine are often in /etc/ssl/certs/ca-certificates.crt";
            return Err(Failure::bad_input(what));
        }
    };
    let settings = Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(limit))
        .timeout_connect(Some(CONNECT))
        // A token goes to the service, nowhere else.
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false);
    Ok(settings.build().into())
}

/// How an address is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    /// Without TLS, on this machine.
    Local,
    Tls,
}

/// How this address is reached; a token goes over no network in the clear.
fn scheme(base: &str) -> Result<Scheme, Failure> {
    let refused = |what: &str| Failure::bad_input(format!("{base}: {what}"));
    let unusable = || refused("this is no address of a service; write https://HOST:PORT");
    let url: Uri = base.parse().map_err(|_| unusable())?;
    let host = url.host().ok_or_else(unusable)?;
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    match url.scheme_str() {
        Some("https") => Ok(Scheme::Tls),
        Some("http") if local => Ok(Scheme::Local),
        Some("http") => Err(refused(
            "without TLS a token could be read on its way; use https:// with --ca, or a tunnel (ssh -L) to 127.0.0.1",
        )),
        _ => Err(unusable()),
    }
}

/// The certificates of a file.
fn trusted(file: &Path) -> Result<RootCerts, Failure> {
    let failed = |what: &str| Failure::bad_input(format!("{}: {what}", file.display()));
    let text = std::fs::read(file).map_err(|error| failed(&error.to_string()))?;
    let mut all = Vec::new();
    for item in parse_pem(&text) {
        let item = item.map_err(|error| failed(&error.to_string()))?;
        if let PemItem::Certificate(certificate) = item {
            all.push(certificate);
        }
    }
    if all.is_empty() {
        return Err(failed("no certificate in PEM is in it"));
    }
    Ok(RootCerts::new_with_certs(&all))
}

/// What the API of a service answers to whoever asks for `path`: status and text; or why nothing is.
pub(crate) fn ask_openly(config: &Config, path: &str) -> Result<(u16, String), String> {
    let base = config.api.url();
    let agent = agent(&base, config.api_ca().as_deref(), CONNECT);
    let sent = agent.map_err(|failure| failure.message)?.get(format!("{base}{path}")).call();
    let mut response = sent.map_err(|error| error.to_string())?;
    let text = response.body_mut().with_config().limit(MAX_TEXT).read_to_string();
    Ok((response.status().as_u16(), text.map_err(|error| error.to_string())?))
}

/// A problem of the API (RFC 9457) as a failure.
fn problem(value: &Value) -> Failure {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let kind = text("type").rsplit(':').next().unwrap_or_default();
    let kind = match kind {
        "unauthorised" | "role" | "forbidden" => Kind::Refused,
        "busy" | "quota" => Kind::Exhausted,
        "timeout" | "unavailable" => Kind::Connection,
        "internal" => Kind::Internal,
        _ => Kind::BadInput,
    };
    Failure::new(kind, text("detail"))
}

/// The configuration of the service in `dir`.
pub(crate) fn config(dir: &Path) -> Result<Config, Failure> {
    Ok(Config::load(dir)?)
}

/// The token in a file that this user alone may read.
pub(crate) fn token(file: &Path) -> Result<Zeroizing<String>, Failure> {
    let failed = |what: String| {
        let remedy = "`cenote init` and `cenote token add` write one, which --token-file names";
        Failure::bad_input(format!("{}: {what}; {remedy}", file.display()))
    };
    let opened = File::open(file).map_err(|error| failed(error.to_string()))?;
    let mode = opened.metadata().map_err(|error| failed(error.to_string()))?.mode();
    if mode & 0o077 != 0 {
        let file = file.display();
        let what = format!("{file}: others can read this token; run: chmod 600 {file}");
        return Err(Failure::bad_input(what));
    }
    let mut text = Zeroizing::new(String::with_capacity(MAX_TOKEN as usize));
    let read = opened.take(MAX_TOKEN).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed("this is no token".into()));
    }
    Ok(Zeroizing::new(token.to_owned()))
}

/// A name as a part of a path.
pub(crate) fn part(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        assert_eq!(part("a-b_c.9"), "a-b_c.9");
        assert_eq!(part("../x?y#z %"), "..%2Fx%3Fy%23z%20%25");
    }

    #[test]
    fn a_token_goes_over_no_network_in_the_clear() {
        for local in
            ["http://127.0.0.1:1", "http://[::1]:1/", "http://localhost:1", "http://127.9.9.9"]
        {
            assert_eq!(scheme(local).unwrap(), Scheme::Local, "{local}");
        }
        assert_eq!(scheme("https://alice.example:8443").unwrap(), Scheme::Tls);
        for open in [
            "http://alice.example:1",
            "http://10.0.0.1:1",
            "http://127.0.0.1.example",
            "http://0.0.0.0:1",
        ] {
            let failure = scheme(open).unwrap_err();
            assert!(failure.message.contains("use https://"), "{failure:?}");
        }
        for other in ["ftp://127.0.0.1", "127.0.0.1:1", "https://", "nothing", ""] {
            assert!(scheme(other).unwrap_err().message.contains("no address"), "{other}");
        }
    }

    #[test]
    fn problems_have_the_exit_codes_of_their_kinds() {
        let of = |kind: &str| {
            problem(&json!({ "type": format!("urn:cenote:problem:{kind}"), "detail": "d" })).kind
        };
        assert_eq!(of("role"), Kind::Refused);
        assert_eq!(of("busy"), Kind::Exhausted);
        assert_eq!(of("quota"), Kind::Exhausted);
        assert_eq!(of("unavailable"), Kind::Connection);
        assert_eq!(of("not-found"), Kind::BadInput);
        assert_eq!(of("internal"), Kind::Internal);
    }
}

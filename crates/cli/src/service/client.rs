//! Requests to the API of a service, whose errors become failures of the command.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cenote_service::config::{Config, TOKEN_FILE};
use clap::Args;
use serde_json::Value;
use ureq::http::{Response, header};
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
    /// Address of its API, in place of the one in the directory: http://HOST:PORT.
    #[arg(long, value_name = "URL", requires = "token_file")]
    pub(crate) url: Option<String>,
    /// File with a token, in place of the one in the directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// A way to the API of a service.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    authorisation: Zeroizing<String>,
}

impl Client {
    pub(crate) fn new(args: &ServiceArgs) -> Result<Client, Failure> {
        let base = match &args.url {
            Some(url) if url.starts_with("http://") => url.trim_end_matches('/').to_owned(),
            Some(_) => {
                let what = "--url begins with http://; through TLS, go by a tunnel such as ssh -L";
                return Err(Failure::bad_input(what));
            }
            None => format!("http://{}", config(&args.service)?.api.listen),
        };
        let file = args.token_file.clone().unwrap_or_else(|| args.service.join(TOKEN_FILE));
        let token = token(&file)?;
        let authorisation = Zeroizing::new(format!("Bearer {}", token.as_str()));
        Ok(Client { agent: agent(ANSWER), base, authorisation })
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

    fn answer(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Value, Failure> {
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
        let body = Zeroizing::new(body.map_err(unanswered)?);
        let value: Value = serde_json::from_slice(&body).map_err(|_| {
            let what =
                format!("{} answered {status} without JSON: is it a service of cenote?", self.base);
            Failure::new(Kind::Connection, what)
        })?;
        if status.is_success() { Ok(value) } else { Err(problem(&value)) }
    }
}

fn agent(limit: Duration) -> Agent {
    let settings = Agent::config_builder()
        .timeout_global(Some(limit))
        .timeout_connect(Some(CONNECT))
        // A token goes to the service, nowhere else.
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false);
    settings.build().into()
}

/// What is answered at `address` to whoever asks for `path`: status and text; or why nothing is.
pub(crate) fn ask_openly(address: &str, path: &str) -> Result<(u16, String), String> {
    let sent = agent(CONNECT).get(format!("http://{address}{path}")).call();
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
        "busy" => Kind::Exhausted,
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
    fn problems_have_the_exit_codes_of_their_kinds() {
        let of = |kind: &str| {
            problem(&json!({ "type": format!("urn:cenote:problem:{kind}"), "detail": "d" })).kind
        };
        assert_eq!(of("role"), Kind::Refused);
        assert_eq!(of("busy"), Kind::Exhausted);
        assert_eq!(of("unavailable"), Kind::Connection);
        assert_eq!(of("not-found"), Kind::BadInput);
        assert_eq!(of("internal"), Kind::Internal);
    }
}

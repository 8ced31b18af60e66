//! The HTTP API of a service, whose peer mostly never comes: who may do what, what hostile requests get, and that the description is current.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

mod common;

use cenote_net::Identity;
use cenote_program::Module;
use cenote_service::api::{self, Role, Tokens};
use cenote_service::model::{JobState, NewJob, Sides};
use cenote_service::{Service, ServiceError};
use common::{Pair, approve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

const MILLIONAIRES: &str = "cenote 1
program millionaires \"who is richer\"
input a: garbler uint b32
input b: evaluator uint b32
{
  %2 = lt %1, %0
}
output richer: both bool %2
";

/// For a job of two services, on a machine that does more.
const LONG: Duration = Duration::from_secs(120);

const CONFIG: &str = "name = \"alice\"
[peer]
name = \"bob\"
role = \"garbler\"
listen = \"127.0.0.1:0\"
";

/// A service, its API, and a token of each role.
struct Running {
    dir: TempDir,
    service: Service,
    address: SocketAddr,
    tokens: BTreeMap<&'static str, String>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    served: Option<JoinHandle<Result<(), ServiceError>>>,
}

/// What was answered.
#[derive(Debug)]
struct Answered {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answered {
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json", "{self:?}");
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// Its detail, and that it is a problem of this status.
    #[track_caller]
    fn problem(&self, status: u16, kind: &str) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["type"], format!("urn:cenote:problem:{kind}"), "{self:?}");
        assert_eq!(problem["status"], status, "{self:?}");
        assert!(problem["title"].is_string(), "{self:?}");
        problem["detail"].as_str().expect("a detail").to_owned()
    }
}

impl Running {
    fn start() -> Running {
        let dir = TempDir::new().unwrap();
        let path = dir.path();
        Identity::generate("alice").unwrap().save(path).unwrap();
        let peer = TempDir::new().unwrap();
        Identity::generate("bob").unwrap().save(peer.path()).unwrap();
        fs::copy(peer.path().join("identity.crt.pem"), path.join("peer.crt.pem")).unwrap();
        fs::write(path.join("cenote.toml"), CONFIG).unwrap();
        let service = Service::start(path).unwrap();
        Running::serve(dir, service)
    }

    /// The API of a service, with tokens in a directory.
    fn serve(dir: TempDir, service: Service) -> Running {
        let file = dir.path().join("tokens.toml");
        let tokens = Role::ALL.map(|role| {
            let token = Tokens::add(&file, role.name(), &[role]).unwrap();
            (role.name(), token.to_string())
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (of_api, opened) = (service.clone(), Tokens::open(&file).unwrap());
        let served = thread::spawn(move || {
            api::serve(of_api, opened, listener, None, async { drop(stopped.await) })
        });
        let tokens = tokens.into_iter().collect();
        Running {
            dir,
            service,
            address,
            tokens,
            stop: Mutex::new(Some(stop)),
            served: Some(served),
        }
    }

    /// Sends a request as it stands, and takes the answer.
    fn raw(&self, request: &[u8]) -> Answered {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // A refusal may come before all is written.
        let _ = stream.write_all(request);
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        let mut body = String::new();
        let _ = reader.read_to_string(&mut body);
        Answered { status, headers, body }
    }

    /// A request as `who`: a role, another text for that token itself, or nothing.
    fn ask(&self, who: &str, line: &str, headers: &str, body: &[u8]) -> Answered {
        let mut request = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}");
        if !who.is_empty() {
            let token = self.tokens.get(who).map_or(who, String::as_str);
            request += &format!("Authorization: Bearer {token}\r\n");
        }
        if line.starts_with("POST") {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut request = (request + "\r\n").into_bytes();
        request.extend_from_slice(body);
        self.raw(&request)
    }

    fn get(&self, who: &str, path: &str) -> Answered {
        self.ask(who, &format!("GET {path}"), "", b"")
    }

    fn post(&self, who: &str, path: &str, body: &Value) -> Answered {
        let json = "Content-Type: application/json\r\n";
        self.ask(who, &format!("POST {path}"), json, body.to_string().as_bytes())
    }

    fn register(&self, who: &str, name: &str, module: &[u8]) -> Answered {
        let line = format!("POST /v1/programs?name={name}");
        self.ask(who, &line, "Content-Type: application/octet-stream\r\n", module)
    }

    /// Registers and approves the program of the millionaires.
    fn with_program(&self) {
        let made = self.register("approver", "richer", MILLIONAIRES.as_bytes());
        assert_eq!(made.status, 201, "{made:?}");
        let terms = json!({"program": "richer", "peer": "", "submitters": "own",
            "inputs": {"a": {"from": "submitter"}}});
        let given = self.post("approver", "/v1/approvals", &terms);
        assert_eq!(given.status, 201, "{given:?}");
    }

    fn submit(&self) -> Value {
        let job = json!({"program": "richer", "inputs": {"a": 5}});
        let answer = self.post("submitter", "/v1/jobs", &job);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// Asks the API to end.
    fn end(&self) {
        drop(self.stop.lock().unwrap().take());
    }

    /// Opens a stream of the events of a job.
    fn events(&self, who: &str, id: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let token = &self.tokens[who];
        write!(stream, "GET /v1/jobs/{id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        assert_eq!((status, headers["content-type"].as_str()), (200, "text/event-stream"));
        reader
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        if let Some(served) = self.served.take() {
            let ended = served.join();
            assert!(thread::panicking() || matches!(ended, Ok(Ok(()))), "{ended:?}");
        }
        self.service.stop();
    }
}

/// The first line and the headers of an answer.
fn head(reader: &mut impl BufRead) -> (u16, BTreeMap<String, String>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("an answer");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("headers");
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    (status, headers)
}

/// The next event of a stream: its state; none at the end.
fn next_state(reader: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).expect("the stream goes on") == 0 {
            return None;
        }
        if let Some(data) = line.strip_prefix("data: ") {
            let job: Value = serde_json::from_str(data).expect("a job");
            return Some(job["state"].as_str().expect("a state").to_owned());
        }
    }
}

/// That each path that needs a token is among these lines.
fn all_are_asked(lines: &[&str]) {
    let described: Value = serde_json::from_str(&api::openapi().unwrap()).unwrap();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            // Those of events never end; they are asked below.
            if about["security"].is_null() || path.ends_with("/events") {
                continue;
            }
            let parts: Vec<&str> = path.split('/').collect();
            let is = |line: &str| {
                let (verb, path) = line.split_once(' ').unwrap();
                let own: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
                let same = |(own, part): (&&str, &&str)| own == part || part.starts_with('{');
                verb.eq_ignore_ascii_case(method)
                    && own.len() == parts.len()
                    && own.iter().zip(&parts).all(same)
            };
            assert!(lines.iter().any(|line| is(line)), "{method} {path} has no row here");
        }
    }
}

#[test]
fn every_path_has_its_roles() {
    let service = Running::start();
    service.with_program();
    let id = service.submit()["id"].as_str().unwrap().to_owned();
    let all: &[&str] = &["submitter", "approver", "operator", "auditor"];
    let seers: &[&str] = &["submitter", "operator", "auditor"];
    let paths: Vec<(String, &[&str])> = vec![
        ("GET /v1/status".into(), all),
        ("GET /v1/programs".into(), all),
        ("GET /v1/programs/richer".into(), all),
        ("GET /v1/programs/richer/text".into(), all),
        ("GET /v1/approvals".into(), all),
        ("GET /v1/datasets".into(), all),
        ("GET /v1/audit/head".into(), all),
        ("GET /v1/jobs".into(), seers),
        (format!("GET /v1/jobs/{id}"), seers),
        ("GET /metrics".into(), &["operator", "auditor"]),
        ("POST /v1/jobs".into(), &["submitter"]),
        ("POST /v1/jobs/none/cancel".into(), &["submitter"]),
        ("POST /v1/programs?name=x".into(), &["approver", "operator"]),
        ("POST /v1/approvals".into(), &["approver"]),
        ("POST /v1/approvals/77/withdraw".into(), &["approver"]),
        ("POST /v1/datasets".into(), &["approver"]),
        ("POST /v1/memories/none/end".into(), &["approver"]),
        ("POST /v1/peer/lift".into(), &["operator"]),
        ("POST /v1/peer/line".into(), &["operator"]),
    ];
    all_are_asked(&paths.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>());
    for (line, may) in &paths {
        let none = service.ask("", line, "", b"");
        none.problem(401, "unauthorised");
        assert_eq!(none.headers["www-authenticate"], "Bearer realm=\"cenote\"");
        service.ask("wrong", line, "", b"").problem(401, "unauthorised");
        for role in all {
            let answer = service.ask(role, line, "", b"");
            assert_eq!(answer.headers["cache-control"], "no-store", "{line} {role}");
            if may.contains(role) {
                // Empty bodies are refused, for other reasons than the role.
                let ok = [200, 400, 404, 409, 415].contains(&answer.status);
                assert!(ok, "{line} {role}: {answer:?}");
                assert_eq!(line.starts_with("GET"), answer.status == 200, "{line}: {answer:?}");
            } else {
                let detail = answer.problem(403, "role");
                assert!(may.iter().all(|role| detail.contains(role)), "{line}: {detail}");
            }
        }
    }
    for path in ["/v1/openapi.json", "/healthz"] {
        assert_eq!(service.get("", path).status, 200, "{path}");
    }
    service.get("", "/readyz").problem(503, "unavailable");
    service.events("auditor", &id);
    service.get("approver", &format!("/v1/jobs/{id}/events")).problem(403, "role");
    service.get("", &format!("/v1/jobs/{id}/events")).problem(401, "unauthorised");
    // Every path of the description was asked for, in each of its methods.
    let described: Value = serde_json::from_str(&api::openapi().unwrap()).unwrap();
    let methods = described["paths"].as_object().unwrap().values();
    let methods: usize = methods.map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(methods, paths.len() + 4, "openapi, healthz, readyz and events are beside the list");
}

#[test]
fn schemes_of_authorisation() {
    let service = Running::start();
    let token = service.tokens["auditor"].clone();
    for (headers, status) in [
        (format!("Authorization: bearer {token}\r\n"), 200),
        (format!("Authorization: Basic {token}\r\n"), 401),
        (format!("Authorization: {token}\r\n"), 401),
        (format!("Authorization: Bearer {token}x\r\n"), 401),
        (format!("Authorization: Bearer {}\r\n", &token[..token.len() - 1]), 401),
        ("Authorization: Bearer \r\n".to_owned(), 401),
        ("Authorization: Bearer \u{fe}\u{ff}\r\n".to_owned(), 401),
        (format!("Authorization: Bearer wrong\r\nAuthorization: Bearer {token}\r\n"), 401),
    ] {
        let answer = service.ask("", "GET /v1/status", &headers, b"");
        assert_eq!(answer.status, status, "{headers} {answer:?}");
    }
}

#[test]
fn a_token_can_be_withdrawn_while_it_runs() {
    let service = Running::start();
    let file = service.dir.path().join("tokens.toml");
    assert_eq!(service.get("auditor", "/v1/status").status, 200);
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("\n[[token]]\nname = \"auditor\"").unwrap();
    fs::write(&file, &text[..at]).unwrap();
    service.get("auditor", "/v1/status").problem(401, "unauthorised");
    assert_eq!(service.get("operator", "/v1/status").status, 200);
    let token = Tokens::add(&file, "late", &[Role::Auditor]).unwrap();
    assert_eq!(service.get(&token, "/v1/status").status, 200);
    // A file that cannot be used lets nobody in, and one that is put right does.
    let right = fs::read_to_string(&file).unwrap();
    fs::write(&file, "[[token]]\nname = \"x\"\n").unwrap();
    service.get("operator", "/v1/status").problem(503, "unavailable");
    fs::remove_file(&file).unwrap();
    service.get("operator", "/v1/status").problem(503, "unavailable");
    fs::write(&file, right).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(service.get("operator", "/v1/status").status, 200);
}

#[test]
fn files_of_tokens_that_are_refused() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("tokens.toml");
    let refused = |text: &str, mode: u32| {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        match Tokens::open(&file) {
            Ok(_) => panic!("taken: {text}"),
            Err(error) => error.what,
        }
    };
    let hash = "00".repeat(32);
    let one = format!("[[token]]\nname = \"a\"\nhash = \"{hash}\"\nroles = [\"auditor\"]\n");
    assert!(refused(&one, 0o604).contains("chmod 600"));
    assert!(refused(&one, 0o660).contains("chmod 600"));
    assert!(refused(&format!("{one}{one}"), 0o600).contains("two tokens `a`"));
    assert!(refused(&one.replace("auditor", "owner"), 0o600).contains("toml:4: unknown variant"));
    assert!(refused(&one.replace("[\"auditor\"]", "[]"), 0o600).contains("no role"));
    assert!(refused(&format!("{one}level = 1\n"), 0o600).contains("unknown field"));
    let token = refused(&one.replace(&hash, "cenote_secret"), 0o600);
    assert!(token.contains("64 hexadecimal") && !token.contains("secret"), "{token}");
    fs::remove_file(&file).unwrap();
    assert!(Tokens::open(&file).err().unwrap().what.contains("cenote token add"));
    Tokens::add(&file, "a", &[Role::Auditor]).unwrap();
    assert!(Tokens::add(&file, "a", &[Role::Auditor]).unwrap_err().what.contains("`a`"));
    assert!(Tokens::add(&file, "a b", &[Role::Auditor]).is_err());
    assert!(Tokens::add(&file, "b", &[]).is_err());
    assert!(Tokens::open(&file).is_ok());
}

#[test]
fn a_job_from_its_program_to_its_end() {
    let service = Running::start();
    service.post("submitter", "/v1/jobs", &json!({"program": "richer"})).problem(404, "not-found");
    assert_eq!(service.register("operator", "richer", MILLIONAIRES.as_bytes()).status, 201);
    let job = json!({"program": "richer", "inputs": {"a": 5}});
    service.post("submitter", "/v1/jobs", &job).problem(403, "forbidden");
    service.with_program();
    let first = service.submit();
    assert_eq!(first["state"], "submitted");
    let id = first["id"].as_str().unwrap();
    let listed = service.get("submitter", "/v1/jobs?state=submitted&limit=5").json();
    assert_eq!(listed, json!([first]));
    assert_eq!(service.get("auditor", "/v1/jobs?state=done").json(), json!([]));
    let second = service.submit();
    let before = format!("/v1/jobs?before={}", second["id"].as_str().unwrap());
    assert_eq!(service.get("operator", &before).json(), json!([first]));
    let cancelled = service.post("submitter", &format!("/v1/jobs/{id}/cancel"), &json!(null));
    assert_eq!(cancelled.json()["state"], "cancelled");
    let again = service.post("submitter", &format!("/v1/jobs/{id}/cancel"), &json!(null));
    again.problem(409, "conflict");
    let status = service.get("auditor", "/v1/status").json();
    assert_eq!((&status["name"], &status["peer"]["connected"]), (&json!("alice"), &json!(false)));
    assert_eq!(
        (&status["jobs"]["submitted"], &status["jobs"]["cancelled"]),
        (&json!(1), &json!(1))
    );
    let head = service.get("submitter", "/v1/audit/head").json();
    assert!(head["head"].as_str().unwrap().contains(':') && head["peer_head"].is_null(), "{head}");
    service.post("operator", "/v1/peer/lift", &json!(null)).problem(409, "conflict");
    // The peer is away.
    let ended = service.post("approver", "/v1/memories/sums/end", &json!(null));
    assert!(ended.problem(409, "conflict").contains("none is open"), "{ended:?}");
}

#[test]
fn a_key_finds_the_first_job() {
    let service = Running::start();
    service.with_program();
    let job = json!({"program": "richer", "inputs": {"a": 5}});
    let text = job.to_string();
    let submit = |headers: &str| {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        service.ask("submitter", "POST /v1/jobs", &headers, text.as_bytes())
    };
    let first = submit("Idempotency-Key: k1\r\n");
    let second = submit("Idempotency-Key: k1\r\n");
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.json()["id"], second.json()["id"]);
    let mut with_key = job.clone();
    with_key["idempotency_key"] = "k1".into();
    assert_eq!(service.post("submitter", "/v1/jobs", &with_key).status, 200);
    let mut other = with_key.clone();
    other["inputs"]["a"] = 6.into();
    service.post("submitter", "/v1/jobs", &other).problem(409, "conflict");
    assert_eq!(submit("Idempotency-Key: k2\r\n").status, 201);
    submit("Idempotency-Key: k2\r\nIdempotency-Key: k3\r\n").problem(400, "invalid");
    submit("Idempotency-Key: \r\n").problem(400, "invalid");
    let json = "Content-Type: application/json\r\nIdempotency-Key: k4\r\n";
    let two = with_key.to_string();
    service.ask("submitter", "POST /v1/jobs", json, two.as_bytes()).problem(400, "invalid");
}

#[test]
fn programs_approvals_and_data() {
    let service = Running::start();
    let made = service.register("approver", "richer", MILLIONAIRES.as_bytes());
    assert_eq!((made.status, made.json()["inputs"][0]["party"].clone()), (201, json!("garbler")));
    let digest = made.json()["digest"].as_str().unwrap().to_owned();
    assert_eq!(service.get("auditor", &format!("/v1/programs/{digest}")).json()["name"], "richer");
    service.get("auditor", "/v1/programs/poorer").problem(404, "not-found");
    service.register("approver", "poorer", MILLIONAIRES.as_bytes()).problem(409, "conflict");
    service.register("approver", "a%20b", MILLIONAIRES.as_bytes()).problem(400, "invalid");
    service.register("approver", "x", b"\xff\x00").problem(400, "invalid");
    let table = service.dir.path().join("data/t.csv");
    fs::create_dir(service.dir.path().join("data")).unwrap();
    fs::write(&table, "id,amount\n1,2\n").unwrap();
    let bound =
        service.post("approver", "/v1/datasets", &json!({"name": "t", "path": "data/t.csv"}));
    assert_eq!(bound.status, 201, "{bound:?}");
    assert_eq!(bound.json()["path"], table.display().to_string());
    assert_eq!(service.get("auditor", "/v1/datasets").json()[0]["name"], "t");
    let other = json!({"program": "richer", "peer": "", "submitters": "peer"});
    let detail = service.post("approver", "/v1/approvals", &other).problem(400, "invalid");
    assert!(detail.contains("`a`"), "{detail}");
    let terms = json!({"program": "richer", "peer": "", "submitters": "own", "uses": 1});
    let given = service.post("approver", "/v1/approvals", &terms);
    assert_eq!((given.status, given.json()["terms"]["program"].clone()), (201, json!(digest)));
    let withdrawn = service.post("approver", "/v1/approvals/1/withdraw", &json!(null));
    assert!(withdrawn.json()["withdrawn_at"].is_i64(), "{withdrawn:?}");
    assert_eq!(service.get("auditor", "/v1/approvals").json(), json!([withdrawn.json()]));
    for view in [given.json(), withdrawn.json()] {
        assert_eq!(view["receivers"], json!({"richer": "both"}), "{view}");
    }
    service.post("approver", "/v1/approvals/2/withdraw", &json!(null)).problem(404, "not-found");
    service.post("approver", "/v1/approvals/x/withdraw", &json!(null)).problem(400, "invalid");
}

/// Whoever approves a program reads what it does, to whom it shows what, and what it takes.
#[test]
fn a_program_is_read_before_it_is_approved() {
    let service = Running::start();
    let secret = MILLIONAIRES.replace("richer: both", "richer: evaluator");
    let binary = Module::parse_text(&secret).unwrap().to_bytes();
    let made = service.register("approver", "richer", &binary).json();
    let digest = made["digest"].as_str().unwrap();
    for which in ["richer", digest] {
        let text = service.get("approver", &format!("/v1/programs/{which}/text"));
        assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
        assert_eq!(Module::parse_text(&text.body).unwrap().to_bytes(), binary, "{text:?}");
        assert!(text.body.contains("output richer: evaluator bool"), "{text:?}");
    }
    service.get("approver", "/v1/programs/poorer/text").problem(404, "not-found");
    let terms = json!({"program": "richer", "peer": "", "submitters": "own"});
    let given = service.post("approver", "/v1/approvals", &terms).json();
    assert_eq!(given["receivers"], json!({"richer": "evaluator"}), "{given}");
    // It is said of each approval, by its own program.
    assert_eq!(service.register("approver", "both", MILLIONAIRES.as_bytes()).status, 201);
    service.post(
        "approver",
        "/v1/approvals",
        &json!({"program": "both", "peer": "", "submitters": "own"}),
    );
    let all = service.get("auditor", "/v1/approvals").json();
    assert_eq!(all[0]["receivers"], given["receivers"], "{all}");
    assert_eq!(all[1]["receivers"], json!({"richer": "both"}), "{all}");
}

/// The program shows its output to the peer.
#[test]
fn receivers_are_whom_the_approval_names_or_it_is_not_given() {
    let service = Running::start();
    let hidden = MILLIONAIRES.replace("richer: both", "richer: evaluator");
    assert_eq!(service.register("approver", "hidden", hidden.as_bytes()).status, 201);
    let approve = |receivers: Value| {
        let terms =
            json!({"program": "hidden", "peer": "", "submitters": "own", "receivers": receivers});
        service.post("approver", "/v1/approvals", &terms)
    };
    for (receivers, signed) in
        [(json!(null), "peer"), (json!("peer"), "peer"), (json!("both"), "both")]
    {
        let given = approve(receivers);
        assert_eq!((given.status, &given.json()["terms"]["receivers"]), (201, &json!(signed)));
    }
    let detail = approve(json!("own")).problem(400, "invalid");
    assert!(
        detail.contains("permits receivers `own`, the program's outputs are for `peer`"),
        "{detail}"
    );
    approve(json!("nobody")).problem(400, "invalid");
    assert_eq!(service.get("auditor", "/v1/approvals").json().as_array().unwrap().len(), 3);
}

/// What is said of a program beforehand is what its jobs take.
#[test]
fn a_program_is_priced_as_its_jobs_are() {
    let pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let cost = pair.a().program("less").unwrap().cost;
    assert_eq!(cost.backend, "wrk");
    assert_eq!(cost, pair.b().program("less").unwrap().cost);
    let least = (0..5).map(|_| pair.a().job(&run_less(&pair)).unwrap().cost.unwrap());
    // Those beside which more was made ahead sent more.
    let least = least.min_by_key(|cost| cost.bytes_sent).unwrap();
    let [garbler, evaluator] = cost.bytes.map(|bytes| bytes as f64);
    let near = |said: f64, is: u64| (is as f64 - said).abs() <= said * 0.1;
    assert!(
        near(garbler, least.bytes_sent) && near(evaluator, least.bytes_received),
        "{cost:?} {least:?}"
    );
}

#[test]
fn hostile_requests_get_problems() {
    let service = Running::start();
    service.with_program();
    let ask =
        |line: &str, headers: &str, body: &[u8]| service.ask("submitter", line, headers, body);
    for path in ["/", "/v1", "/v1/jobs/", "/v2/jobs", "/v1/jobs/a/b", "//", "/../etc/passwd"] {
        service.get("submitter", path).problem(404, "not-found");
    }
    service.get("submitter", "/v1/jobs/none").problem(404, "not-found");
    service.get("submitter", "/v1/jobs/%ff").problem(400, "invalid");
    for line in ["DELETE /v1/jobs", "PUT /v1/status", "OPTIONS /v1/jobs", "POST /healthz"] {
        let answer = ask(line, "", b"");
        answer.problem(405, "method-not-allowed");
        assert!(answer.headers.contains_key("allow"), "{line}: {answer:?}");
    }
    for query in ["state=gone", "limit=-1", "limit=1001", "limit=x", "x=1", "limit=1&limit=2"] {
        service.get("submitter", &format!("/v1/jobs?{query}")).problem(400, "invalid");
    }
    for query in ["wait_s=61", "wait_s=-1", "wait=1"] {
        service.get("submitter", &format!("/v1/jobs/none?{query}")).problem(400, "invalid");
    }
    let json = "Content-Type: application/json\r\n";
    let deep = "[".repeat(100_000);
    let nested = format!("{{\"program\": \"richer\", \"inputs\": {{\"a\": {deep}");
    for body in [
        &b""[..],
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{\"program\": \"richer\"} {}",
        b"{\"program\": 7}",
        b"{\"program\": \"richer\", \"program\": \"richer\"}",
        b"{\"program\": \"richer\", \"unknown\": 1}",
        b"{\"program\": \"richer\", \"inputs\": {\"b\": 1}}",
        b"{\"program\": \"richer\", \"inputs\": {\"a\": -1}}",
        b"{\"program\": \"richer\", \"inputs\": {\"a\": 1}, \"priority\": 101}",
        deep.as_bytes(),
        nested.as_bytes(),
    ] {
        ask("POST /v1/jobs", json, body).problem(400, "invalid");
    }
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: multipart/form-data\r\n"] {
        ask("POST /v1/jobs", kind, b"{\"program\": \"richer\"}").problem(415, "media-type");
    }
    let large = vec![b' '; (1 << 20) + 1];
    ask("POST /v1/jobs", json, &large).problem(413, "too-large");
    // Without a token nothing of a body is read.
    service.ask("", "POST /v1/jobs", json, &large).problem(401, "unauthorised");
    assert_eq!(service.get("submitter", "/v1/jobs").json(), json!([]));
}

#[test]
fn modules_may_be_large_but_not_huge() {
    let service = Running::start();
    let spaces = vec![b' '; 2 << 20];
    let module = [MILLIONAIRES.as_bytes(), &spaces].concat();
    let large = service.register("operator", "large", &module);
    assert_ne!(large.status, 413, "{large:?}");
    let huge = vec![b' '; (32 << 20) + 1];
    service.register("operator", "huge", &huge).problem(413, "too-large");
    let json = "Content-Type: application/json\r\n";
    service.ask("operator", "POST /v1/programs?name=x", json, b"{}").problem(415, "media-type");
    service.ask("operator", "POST /v1/programs", json, b"{}").problem(400, "invalid");
}

#[test]
fn a_long_poll_ends_with_the_job() {
    let service = Running::start();
    service.with_program();
    let id = service.submit()["id"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    assert_eq!(
        service.get("auditor", &format!("/v1/jobs/{id}?wait_s=1")).json()["state"],
        "submitted"
    );
    assert!(begun.elapsed() >= Duration::from_millis(900));
    thread::scope(|scope| {
        let waits = scope.spawn(|| service.get("auditor", &format!("/v1/jobs/{id}?wait_s=60")));
        thread::sleep(Duration::from_millis(200));
        service.service.cancel(&id).unwrap();
        let cancelled = Instant::now();
        assert_eq!(waits.join().unwrap().json()["state"], "cancelled");
        assert!(cancelled.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn events_follow_a_job_to_its_end() {
    let service = Running::start();
    service.with_program();
    let id = service.submit()["id"].as_str().unwrap().to_owned();
    let mut events = service.events("operator", &id);
    assert_eq!(next_state(&mut events).as_deref(), Some("submitted"));
    service.service.cancel(&id).unwrap();
    assert_eq!(next_state(&mut events).as_deref(), Some("cancelled"));
    assert_eq!(next_state(&mut events), None);
    service.get("operator", "/v1/jobs/none/events").problem(404, "not-found");
}

#[test]
fn an_end_does_not_wait_for_those_who_wait() {
    let service = Running::start();
    service.with_program();
    let id = service.submit()["id"].as_str().unwrap().to_owned();
    let mut events = service.events("submitter", &id);
    assert_eq!(next_state(&mut events).as_deref(), Some("submitted"));
    let _idle = TcpStream::connect(service.address).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| service.get("submitter", &format!("/v1/jobs/{id}?wait_s=60")));
        thread::sleep(Duration::from_millis(300));
        // While the service ends, it still says so.
        service.service.stop();
        let job = json!({"program": "richer", "inputs": {"a": 5}});
        service.post("submitter", "/v1/jobs", &job).problem(503, "unavailable");
        service.get("", "/readyz").problem(503, "unavailable");
        assert_eq!(service.get("submitter", "/v1/status").json()["stopping"], true);
        let begun = Instant::now();
        service.end();
        assert_eq!(waits.join().unwrap().json()["state"], "submitted");
        assert_eq!(next_state(&mut events), None);
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    });
}

#[test]
fn figures_are_prometheus_text() {
    let service = Running::start();
    service.with_program();
    service.submit();
    let figures = service.get("operator", "/metrics");
    assert!(figures.headers["content-type"].starts_with("text/plain; version=0.0.4"));
    for line in [
        "cenote_jobs{state=\"submitted\"} 1",
        "cenote_jobs{state=\"done\"} 0",
        "cenote_pool_ready{lane=\"small\"} 0",
        "cenote_pool_level{lane=\"large\"} 500000",
        "cenote_pools_begun{lane=\"small\"} 0",
        "cenote_pools_left 1024",
        "# TYPE cenote_items_used_total counter",
        "# TYPE cenote_job_seconds histogram",
        "cenote_job_seconds_bucket{lane=\"small\",le=\"0.01\"} 0",
        "cenote_job_seconds_bucket{lane=\"large\",le=\"+Inf\"} 0",
        "cenote_job_seconds_sum{lane=\"small\"} 0",
        "cenote_job_seconds_count{lane=\"large\"} 0",
        "cenote_bytes_sent_total{lane=\"small\"} 0",
        "cenote_bytes_received_total{lane=\"large\"} 0",
        "cenote_jobs_done_total{lane=\"large\"} 0",
        "cenote_peer_connected 0",
        "cenote_peer_held 0",
    ] {
        assert!(figures.body.lines().any(|one| one == line), "{line} is not in:\n{}", figures.body);
    }
    // What `cenote init` makes lasts for ages.
    for whose in ["own", "peer"] {
        let begins = format!("cenote_certificate_expires_seconds{{whose=\"{whose}\"}} ");
        let left = figures.body.lines().find_map(|line| line.strip_prefix(&begins)).unwrap();
        assert!(left.parse::<f64>().unwrap() > 2000.0 * 365.0 * 86_400.0, "{left}");
    }
}

/// Figures of the small lane, by name and further label; those of a histogram without its buckets.
fn of_small(service: &Running) -> BTreeMap<String, f64> {
    let text = service.get("auditor", "/metrics").body;
    let figure = |line: &str| {
        let (name, number) = line.split_once("{lane=\"small\"")?;
        let (label, number) = number.split_once("} ")?;
        Some((format!("{name}{label}"), number.parse().ok()?))
    };
    text.lines().filter(|line| !line.contains("le=")).filter_map(figure).collect()
}

/// Has a job done by two services; its id.
fn run_less(pair: &Pair) -> String {
    let job = NewJob {
        program: "less".into(),
        inputs: [("x".to_owned(), json!(3))].into(),
        select: [("which".to_owned(), "five".to_owned())].into(),
        ..NewJob::default()
    };
    let (job, _) = pair.a().submit(&job).unwrap();
    assert_eq!(pair.a().wait(&job.id, LONG).unwrap().state, JobState::Done);
    job.id
}

/// A job and the next session change figures in one direction.
#[test]
fn figures_of_jobs_rise_and_sessions_take_none_back() {
    let mut pair = Pair::start();
    approve(&pair, Sides::Own, Sides::Peer);
    let service = Running::serve(TempDir::new().unwrap(), pair.a().clone());
    let until_ready = |pair: &Pair, seen: &mut dyn FnMut()| {
        let end = Instant::now() + LONG;
        while ![pair.a(), pair.b()].iter().all(|side| side.is_ready()) {
            assert!(Instant::now() < end, "{:?}", pair.a().status());
            seen();
            thread::sleep(Duration::from_millis(20));
        }
    };
    until_ready(&pair, &mut || {});
    let before = of_small(&service);
    let id = run_less(&pair);
    let after = of_small(&service);
    let triples = "cenote_items_used_total,store=\"stock.triple\"";
    let taken = after[triples] - before.get(triples).copied().unwrap_or(0.0);
    // As many as the program has ANDs.
    assert!(taken >= 31.0, "{before:?} {after:?}");
    assert_eq!((before["cenote_job_seconds_count"], after["cenote_job_seconds_count"]), (0.0, 1.0));
    let job = pair.a().job(&id).unwrap();
    let took = (job.ended_at.unwrap() - job.submitted_at) as f64 / 1000.0;
    assert!((after["cenote_job_seconds_sum"] - took).abs() < 1e-9, "{took} {after:?}");
    let [sent, received] = ["cenote_bytes_sent_total", "cenote_bytes_received_total"];
    assert!(after[sent] > before[sent] && after[received] > before[received]);
    // The peer starts again, and with it the next session.
    let mut last = after.clone();
    let mut seen = |now: BTreeMap<String, f64>| {
        for name in [sent, received, triples, "cenote_job_seconds_count"] {
            assert!(now[name] >= last[name], "{name}: {last:?} {now:?}");
        }
        last = now;
    };
    pair.restart(1);
    until_ready(&pair, &mut || seen(of_small(&service)));
    run_less(&pair);
    seen(of_small(&service));
    assert!(last[sent] > after[sent] && last["cenote_job_seconds_count"] == 2.0, "{last:?}");
    drop(service);
    pair.stop();
}

#[test]
fn the_description_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let current = api::openapi().unwrap();
    if std::env::var_os("CENOTE_UPDATE").is_some() {
        fs::write(file, &current).unwrap();
    }
    let written = fs::read_to_string(file).unwrap_or_default();
    assert!(written == current, "CENOTE_UPDATE=1 writes docs/openapi.json anew");
    let service = Running::start();
    assert_eq!(service.get("", "/v1/openapi.json").body, current);
    let described: Value = serde_json::from_str(&current).unwrap();
    assert_eq!(described["openapi"], "3.1.0");
}

/// A connection from another address of this machine, as from another machine.
fn from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(true).unwrap();
    stream
}

/// How many of these the service has not closed.
fn open(crowd: &mut [TcpStream]) -> usize {
    let is_open = |stream: &mut TcpStream| {
        loop {
            match stream.read(&mut [0; 4096]) {
                Ok(0) => return false,
                // What it was answered.
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    };
    crowd.iter_mut().map(is_open).filter(|open| *open).count()
}

#[test]
fn strangers_fill_nothing_and_keep_nobody_out() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let service = Running::start();
    // One with a token, who stays.
    let mut known = TcpStream::connect(service.address).unwrap();
    known.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let ask = |known: &mut TcpStream| {
        let token = &service.tokens["auditor"];
        write!(
            known,
            "GET /v1/programs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut reader = BufReader::new(known);
        let (status, headers) = head(&mut reader);
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        assert_eq!((status, body), (200, b"[]".to_vec()));
    };
    ask(&mut known);
    let begun = Instant::now();
    // Six machines of strangers: silent from the first, in the middle of a head, and on the first machine with a token that is none.
    let mut crowds: Vec<Vec<TcpStream>> = Vec::new();
    for machine in 2..8 {
        let connect = |number: usize| {
            let mut stream = from([127, 0, 0, machine], service.address);
            let says: &[u8] = match (machine, number % 2) {
                (2, _) => b"GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n",
                (_, 0) => b"",
                _ => b"GET /v1/status HT",
            };
            stream.write_all(says).unwrap();
            stream
        };
        crowds.push((0..120).map(connect).collect());
        assert_eq!(service.get("auditor", "/v1/status").status, 200, "{machine}");
    }
    ask(&mut known);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // Whoever came first made room.
    let left: Vec<usize> = crowds.iter_mut().map(|crowd| open(crowd)).collect();
    let all: usize = left.iter().sum();
    assert!((400..512).contains(&all), "{left:?}");
    assert!(left[0] < 20 && left[5] > 110, "{left:?}");
    // One machine with more than its share pushes out its own.
    let mut many: Vec<TcpStream> =
        (0..300).map(|_| from([127, 0, 0, 9], service.address)).collect();
    assert_eq!(service.get("auditor", "/v1/status").status, 200);
    // Those that came last may not be looked at yet.
    common::until(Duration::from_secs(5), "one has its share", || open(&mut many) <= 128);
    // And nobody is silent for long.
    let end = begun + Duration::from_secs(25);
    while open(&mut many) > 0 {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(200));
    }
    ask(&mut known);
}

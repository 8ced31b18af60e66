//! The commands that README.md, docs/cli.md, docs/cost.md and docs/operate.md show: they run as they stand there.
//!
//! Words in capitals stand for something ([`STANDS_FOR`]). `[..]` is left out once, then taken alone; `x|y` in it is each of them. A line
//! that names several commands at once (`circuit info|eval`) says that they exist. Lines marked `(long)` or `(two machines)`, at
//! their end or at the head of their block, are not run, but their options must exist; those marked `(two services)` run one after the
//! other, with both services. JSON under a line is what it prints.

mod common;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{PURCHASES, cenote, write};
use serde_json::Value;
use tempfile::TempDir;

const MARKS: [&str; 3] = ["(long)", "(two machines)", SERVICES];
/// What needs both services, on this machine.
const SERVICES: &str = "(two services)";

/// The meanings of the words in capitals; those that depend on the command are in
/// [`Scenario::words`].
const STANDS_FOR: [(&str, &str); 7] = [
    ("FILE.blif", "toggle.blif"),
    ("FILE.garble.rs", "richer.garble.rs"),
    ("CIRCUIT", "data/circuits/max32.txt"),
    ("HEX", "3e8"),
    ("DIR", "own"),
    ("PEER-CERT", "bob.crt.pem"),
    ("N", "1000"),
];

const MILLIONAIRES: &str = "cenote 1
program millionaires \"who is richer\"
input a: garbler uint b32
input b: evaluator uint b32
{
  %2 = lt %1, %0
}
output richer: both bool %2
";

const SALARIES: &str = "cenote 1
program salaries \"a total\"
input x: garbler int 2xb16
input rate: evaluator fixed.8 b12
{
  %2 = sums{width=20, groups=1} %0
}
output total: both int %2
";

const GARBLE: &str = "pub fn main(a: u32, b: u32) -> bool {\n    a > b\n}\n";

/// A circuit with a latch.
const TOGGLE: &str = ".model toggle
.inputs flip
.outputs state
.latch next state 0
.names flip state next
10 1
01 1
.end
";

/// A command of a page, with what is printed below it.
struct Shown {
    place: String,
    line: String,
    marked: bool,
    /// Marked with [`SERVICES`].
    services: bool,
    json: Option<Value>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_marked(comment: &str) -> bool {
    MARKS.iter().any(|mark| comment.contains(mark))
}

/// The commands in the indented blocks of a page.
fn commands(page: &str) -> Vec<Shown> {
    let text = fs::read_to_string(root().join(page)).expect("the page is there");
    let mut found: Vec<Shown> = Vec::new();
    let (mut block_marked, mut services, mut below) = (false, false, String::new());
    let finish = |found: &mut Vec<Shown>, below: &mut String| {
        if let Some(last) = found.last_mut().filter(|last| last.line.contains("--json")) {
            last.json = last.json.take().or_else(|| serde_json::from_str(below).ok());
        }
        below.clear();
    };
    for (number, line) in text.lines().enumerate() {
        let Some(code) = line.strip_prefix("    ") else {
            finish(&mut found, &mut below);
            (block_marked, services) = (false, false);
            continue;
        };
        let (code, comment) = code.split_once('#').unwrap_or((code, ""));
        if code.starts_with("cenote ") {
            finish(&mut found, &mut below);
            let place = format!("{page}:{}", number + 1);
            let marked = block_marked || is_marked(comment);
            let line = code.trim().to_owned();
            found.push(Shown { place, line, marked, services, json: None });
        } else {
            block_marked |= code.is_empty() && is_marked(comment);
            services |= code.is_empty() && comment.contains(SERVICES);
            below.push_str(code);
        }
    }
    finish(&mut found, &mut below);
    found
}

/// The line without what is in brackets, and with each choice of each bracket alone.
fn ways(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut bare = String::new();
    for piece in line.split('[') {
        let (inside, rest) = piece.split_once(']').unwrap_or(("", piece));
        if !inside.is_empty() {
            parts.push((bare.len(), inside));
        }
        bare.push_str(rest);
    }
    let mut ways = vec![bare.clone()];
    for (at, inside) in parts {
        let (option, choices) = inside.split_once(' ').unwrap_or((inside, ""));
        for choice in choices.split('|') {
            let (head, tail) = bare.split_at(at);
            ways.push(format!("{head} {option} {choice} {tail}"));
        }
    }
    ways
}

/// A directory with what the pages speak of, and how many files were made there.
struct Scenario {
    dir: TempDir,
    made: u32,
}

impl Scenario {
    fn new() -> Scenario {
        let scenario = Scenario { dir: TempDir::new().expect("a directory"), made: 0 };
        let path = scenario.dir.path();
        for (name, text) in [
            ("millionaires.cenote", MILLIONAIRES),
            ("edit.cenote", MILLIONAIRES),
            ("salaries.txt", SALARIES),
            ("spent.cenote", PURCHASES),
            ("purchases.csv", "amount,customer\r\n1.5,7.0\r\n3e-05,8\r\n-0.25,7\r\n"),
            ("richer.garble.rs", GARBLE),
            ("toggle.blif", TOGGLE),
            ("column.txt", "7\n"),
        ] {
            write(path, name, text);
        }
        symlink(root().join("data"), path.join("data")).expect("a link");
        for peer in ["bob", "other"] {
            let (code, said) = scenario.run(&["init", peer, "--name", peer].map(str::to_owned));
            assert_eq!(code, 0, "{said}");
            let from = path.join(peer).join("identity.crt.pem");
            fs::copy(from, path.join(format!("{peer}.crt.pem"))).expect("a certificate");
        }
        fs::rename(path.join("other.crt.pem"), path.join("other.pem")).expect("writable");
        scenario
    }

    /// Runs the command there, with a home of its own.
    fn run(&self, words: &[String]) -> (i32, String) {
        let home = self.dir.path();
        let output = cenote(words)
            .current_dir(home)
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .output()
            .expect("the command starts");
        let [out, err] =
            [output.stdout, output.stderr].map(|x| String::from_utf8_lossy(&x).into_owned());
        (output.status.code().unwrap_or(-1), if out.is_empty() { err } else { out })
    }

    /// The words of a line, with something in place of those that stand for it.
    fn words(&mut self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let file = match words.first() {
            Some(&"circuit") => "data/circuits/add64.txt",
            _ => "millionaires.cenote",
        };
        let mut filled = Vec::new();
        for word in words {
            let fixed = STANDS_FOR.iter().find(|(name, _)| *name == word).map(|(_, is)| *is);
            filled.push(match (word, fixed) {
                ("FILE", _) => file.to_owned(),
                ("OUT", _) => {
                    self.made += 1;
                    format!("out-{}", self.made)
                }
                (_, Some(is)) => is.to_owned(),
                _ => word.replace('~', &self.dir.path().display().to_string()),
            });
        }
        filled
    }
}

/// Whether all that the page shows was printed; `..` at the end of a text leaves the rest open, numbers have the digits that are shown.
fn shows(shown: &Value, printed: &Value) -> bool {
    match (shown, printed) {
        (Value::Object(shown), _) => {
            shown.iter().all(|(name, value)| printed.get(name).is_some_and(|p| shows(value, p)))
        }
        (Value::Array(shown), Value::Array(printed)) => {
            shown.len() == printed.len() && shown.iter().zip(printed).all(|(s, p)| shows(s, p))
        }
        (Value::String(shown), Value::String(printed)) => match shown.strip_suffix("...") {
            Some(head) => printed.starts_with(head),
            None => shown == printed,
        },
        (Value::Number(shown), Value::Number(printed)) => {
            let [shown, printed] = [shown, printed].map(|x| x.as_f64().unwrap_or(f64::NAN));
            (shown - printed).abs() <= 1e-5
        }
        _ => shown == printed,
    }
}

#[test]
fn commands_on_the_pages_run() {
    let mut scenario = Scenario::new();
    let (mut ran, mut compared) = (0, 0);
    for page in ["README.md", "docs/cli.md", "docs/cost.md", "docs/operate.md"] {
        for Shown { place, line, marked, json, .. } in commands(page) {
            let names: Vec<&str> = line.split_whitespace().take(3).collect();
            if let [_, name, choices] = names[..]
                && choices.contains('|')
            {
                for choice in choices.split('|') {
                    let (code, said) = scenario.run(&[name, choice, "--help"].map(str::to_owned));
                    assert_eq!(code, 0, "{place}: cenote {name} {choice}: {said}");
                }
                continue;
            }
            for way in ways(&line) {
                let mut words = scenario.words(&way);
                words.extend(marked.then(|| "--help".to_owned()));
                let (code, said) = scenario.run(&words);
                assert_eq!(code, 0, "{place}: cenote {}: {said}", words.join(" "));
                ran += usize::from(!marked);
                if let Some(shown) = &json {
                    let printed = serde_json::from_str(&said).expect("one object");
                    assert!(shows(shown, &printed), "{place}: {shown} is shown, {printed} is said");
                    compared += 1;
                }
            }
        }
    }
    assert!(ran > 30 && compared > 1, "{ran} commands ran, {compared} were compared");
}

/// A sum that is zero for a smaller group than either owner wants.
const GROUPS: &str = "cenote 1
program groups \"how many customers spend more than the other owner says\"
input mine: garbler uint 3xb32
input least: garbler uint b16
input above: evaluator uint b32
{
  %3 = lt %2, %0
  %4 = sum{width=16, groups=1} %3
  %5 = le %1, %4
  %6 = const b16 0x0
  %7 = mux %5, %4, %6
}
output customers: both uint %7
";

/// Commands that a service refuses, with what it says: they stand on the page for another moment.
const REFUSED: [(&str, &str); 3] = [
    ("peer lift", "nothing is held"),
    ("job cancel", "has ended"),
    ("memory end", "memory `sums`"),
];

/// Alice's service and Bob's, as the page has them made, on ports that are free.
struct Services {
    scenario: Scenario,
    ports: [(&'static str, String); 2],
    run: Vec<Child>,
    last_job: String,
}

impl Services {
    fn new() -> Services {
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("an address").to_string()
        };
        let ports = ["127.0.0.1:7700", "127.0.0.1:7781"].map(|shown| (shown, free()));
        let scenario = Scenario::new();
        write(scenario.dir.path(), "groups.cenote", GROUPS);
        let schema = r#"{"columns": [{"name": "who", "kind": "text", "unique": true}, {"name": "worth", "kind": "integer"}]}"#;
        write(scenario.dir.path(), "wealth.json", schema);
        // The page makes it.
        fs::remove_dir_all(scenario.dir.path().join("bob")).expect("it is there");
        Services { scenario, ports, run: Vec::new(), last_job: String::new() }
    }

    /// Runs a line of the page; gives what it printed.
    fn line(&mut self, place: &str, line: &str) -> String {
        let mut words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        for word in &mut words {
            if let Some((_, free)) = self.ports.iter().find(|(shown, _)| shown == word) {
                word.clone_from(free);
            }
            if word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                word.clone_from(&self.last_job);
            }
        }
        match (words[0].as_str(), words.get(1).map_or("", String::as_str)) {
            ("init", _) if !line.contains("--api") => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
                let address = listener.local_addr().expect("an address").to_string();
                words.extend(["--api".to_owned(), address]);
            }
            ("serve", name) => {
                self.prepare(name);
                let home = self.scenario.dir.path();
                let serve = cenote(&words).current_dir(home).stderr(Stdio::null()).spawn();
                self.run.push(serve.expect("the command starts"));
                if self.run.len() == 2 {
                    self.until_ready("alice");
                    self.until_ready("bob");
                }
                return String::new();
            }
            _ => {}
        }
        let (code, said) = self.scenario.run(&words);
        match REFUSED.iter().find(|(begins, _)| line.starts_with(&format!("cenote {begins}"))) {
            Some((_, why)) => assert!(code == 2 && said.contains(why), "{place}: {line}: {said}"),
            None => assert_eq!(code, 0, "{place}: cenote {}: {said}", words.join(" ")),
        }
        if words[..2] == ["job", "submit"] {
            let all = self.json(&["job", "list", "--service", "alice"]);
            self.last_job = all[0]["id"].as_str().expect("a job").to_owned();
        }
        said
    }

    /// What the page says is there before the service starts; less is kept ready.
    fn prepare(&self, name: &str) {
        let dir = self.scenario.dir.path().join(name);
        let config = dir.join("cenote.toml");
        let text = fs::read_to_string(&config).expect("a configuration");
        let pools = "[pool]\nsmall = 2000\nlarge = 2000\n[jobs]\nsmall_ands = 1000\n";
        let keep = |line: &&str| !["[pool]", "[jobs]"].contains(line);
        let rest: Vec<&str> = text.lines().filter(keep).collect();
        fs::write(config, format!("{}\n{pools}", rest.join("\n"))).expect("writable");
        write(&dir.join("data"), "wealth.csv", "who,worth\nann,5000000\nbert,9000000\n");
        write(&dir.join("data"), "customers.csv", "spend\n10\n20\n30\n");
    }

    fn json(&self, words: &[&str]) -> Value {
        let words: Vec<String> = words.iter().chain(&["--json"]).map(|&w| w.to_owned()).collect();
        let (_, said) = self.scenario.run(&words);
        serde_json::from_str(&said).unwrap_or_default()
    }

    fn until_ready(&self, name: &str) {
        let begun = Instant::now();
        loop {
            let status = self.json(&["status", "--service", name]);
            let lanes = status["lanes"].as_array().cloned().unwrap_or_default();
            if !lanes.is_empty() && lanes.iter().all(|lane| lane["state"] == "ready") {
                return;
            }
            assert!(begun.elapsed() < common::LIMIT, "{name}: {status}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        for service in &mut self.run {
            // It may have ended; then there is nothing to end.
            let _ = service.kill();
            let _ = service.wait();
        }
    }
}

/// The walk through a service on its page, from `init` to the comparison of both logs.
#[test]
fn both_services_of_the_page_do_what_it_says() {
    let mut services = Services::new();
    let all = commands("docs/cli.md");
    let makes = |line: &str| ["cenote init ", "cenote pair "].iter().any(|is| line.starts_with(is));
    let is_of_them = |one: &&Shown| {
        one.services || (!one.marked && makes(&one.line) && one.line.contains("alice"))
    };
    let mut ran = 0;
    for Shown { place, line, .. } in all.iter().filter(is_of_them) {
        let said = services.line(place, line);
        if line.contains("--select name=ann") {
            assert!(said.contains("richer") && said.contains("true"), "{place}: {said}");
            let bert = services.line(place, &line.replace("ann", "bert"));
            assert!(bert.contains("richer") && bert.contains("false"), "{place}: {bert}");
        }
        ran += 1;
    }
    assert!(ran > 25, "{ran}");
}

#[test]
fn brackets_are_taken_one_by_one() {
    let made = ways("cenote x FILE [-o OUT] [--to a|b]");
    let spaced: Vec<Vec<&str>> = made.iter().map(|way| way.split_whitespace().collect()).collect();
    assert_eq!(spaced.len(), 4);
    assert_eq!(spaced[0], ["cenote", "x", "FILE"]);
    assert_eq!(spaced[1], ["cenote", "x", "FILE", "-o", "OUT"]);
    assert_eq!(spaced[3], ["cenote", "x", "FILE", "--to", "b"]);
}

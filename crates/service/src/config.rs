//! The configuration: `cenote.toml` in the directory of the service. Unknown keys are refused.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cenote_engine::{Backend, Role, SessionConfig};
use cenote_pool::{StoreFailure, StoreKey};
use serde::Deserialize;

use crate::error::{ErrorKind, ServiceError};

/// Its name in the directory of a service.
pub const CONFIG_FILE: &str = "cenote.toml";
/// Where data sets lie in the directory of a service, where the configuration says nothing else.
pub const DATA_DIRECTORY: &str = "data";
/// The file of the owner's own token in the directory of a service, with all roles.
pub const TOKEN_FILE: &str = "token";
/// The certificate of the API that a command makes in the directory of a service.
pub const API_CERTIFICATE_FILE: &str = "api.crt.pem";
/// Its key.
pub const API_KEY_FILE: &str = "api.key.pem";

/// What a service is told by its owner.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of this service, for people.
    pub name: String,
    /// Whom it computes with.
    pub peer: PeerConfig,
    /// Where owners and their programs reach it.
    #[serde(default)]
    pub api: ApiConfig,
    /// What is kept ready.
    #[serde(default)]
    pub pool: PoolConfig,
    /// What opens the stores of what is kept.
    #[serde(default)]
    pub stores: StoresConfig,
    /// Limits of jobs.
    #[serde(default)]
    pub jobs: JobsConfig,
    /// What whoever asks for jobs may take.
    #[serde(default)]
    pub quota: QuotaConfig,
    /// Where data sets lie.
    #[serde(default)]
    pub data: DataConfig,
    /// The directory of the file.
    #[serde(skip)]
    pub dir: PathBuf,
}

/// The peer.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its name, for people.
    pub name: String,
    /// Its certificate, as `cenote pair` keeps it.
    #[serde(default = "peer_certificate")]
    pub certificate: PathBuf,
    /// `garbler` or `evaluator`, in all programs; the peer is the other.
    #[serde(with = "role")]
    pub role: Role,
    /// Address to listen on, `host:port`, for the one of both that does.
    #[serde(default)]
    pub listen: Option<String>,
    /// Address of the peer, for the other one.
    #[serde(default)]
    pub connect: Option<String>,
}

/// The HTTP API.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct ApiConfig {
    /// Address to listen on: of this machine, or any with TLS.
    pub listen: String,
    /// File with names, roles and hashes of tokens.
    pub tokens: PathBuf,
    /// Certificate of TLS, in PEM, with whatever leads to its authority behind it.
    pub certificate: Option<PathBuf>,
    /// Its key, in PEM.
    pub key: Option<PathBuf>,
    /// Whom commands on this machine trust, in PEM; without it the certificate itself.
    pub ca: Option<PathBuf>,
    /// Where commands on this machine find it, if the certificate does not have the name of `listen`.
    pub url: Option<String>,
}

/// The most that a backend keeps ready.
const MAX_STOCK: usize = 1 << 20;

/// What is kept ready.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct PoolConfig {
    /// The protocol of all jobs and its options, such as `wrk` or `jimu:pool=100000`; one that keeps items.
    pub backend: SessionConfig,
    /// Ready triples for small jobs.
    pub small: usize,
    /// Ready triples for large jobs.
    pub large: usize,
    /// Below so many hundredths of these more is made, until they are reached; the garbler's number counts.
    pub low_percent: usize,
    /// Threads that each kind computes on.
    pub threads: usize,
}

/// What opens the stores; a key file beside each, which is made with it, where neither is given.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct StoresConfig {
    /// File with a key of 32 bytes, for both lanes.
    pub key_file: Option<PathBuf>,
    /// File with a passphrase, for both.
    pub passphrase_file: Option<PathBuf>,
}

/// Limits of jobs.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct JobsConfig {
    /// ANDs up to which a job is a small one, for which large ones do not have to end first.
    pub small_ands: u64,
    /// ANDs above which no program is registered.
    pub most_ands: u64,
    /// Jobs of each owner that may wait at a time.
    pub most_waiting: u64,
    /// Seconds for which results are kept where the job does not say.
    pub keep_results_s: u64,
    /// Sessions that are cut in 24 hours for large jobs that are taken back while they run; each costs a pool.
    pub cuts_a_day: u64,
}

/// Longest period of a quota, in seconds.
pub(crate) const MAX_PERIOD_S: u64 = 31 * 86_400;

/// What whoever asks for jobs may take.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub struct QuotaConfig {
    /// Each token that has none of its own.
    pub each: Quota,
    /// Tokens by their names.
    pub token: BTreeMap<String, Quota>,
    /// The peer, all its submitters together.
    pub peer: Quota,
}

impl QuotaConfig {
    /// Names of tokens that have a quota of their own.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.token.keys().map(String::as_str)
    }

    /// The quota of the token of this name. The own process, which has none, is not limited.
    #[must_use]
    pub fn of_token(&self, name: &str) -> Quota {
        match self.token.get(name) {
            Some(quota) => *quota,
            None if name.is_empty() => Quota::default(),
            None => self.each,
        }
    }
}

/// A quota; what is not named is not limited.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// Jobs that wait at a time.
    pub most_waiting: Option<u64>,
    /// Jobs that begin in a period.
    pub jobs: Option<u64>,
    /// ANDs of jobs that begin in a period.
    pub ands: Option<u64>,
    /// Seconds of a period, 31 days at most.
    pub period_s: u64,
}

impl Quota {
    /// Whether nothing is limited.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.most_waiting.is_none() && self.jobs.is_none() && self.ands.is_none()
    }
}

impl Default for Quota {
    fn default() -> Quota {
        Quota { most_waiting: None, jobs: None, ands: None, period_s: 86_400 }
    }
}

/// Where data sets lie: whoever may bind one does not read other files of this machine.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Files in these directories, and below, may be bound.
    pub directories: Vec<PathBuf>,
}

impl Default for DataConfig {
    fn default() -> DataConfig {
        DataConfig { directories: vec![DATA_DIRECTORY.into()] }
    }
}

impl Default for ApiConfig {
    fn default() -> ApiConfig {
        ApiConfig {
            listen: "127.0.0.1:7780".into(),
            tokens: "tokens.toml".into(),
            certificate: None,
            key: None,
            ca: None,
            url: None,
        }
    }
}

impl ApiConfig {
    /// Where commands on this machine find it.
    #[must_use]
    pub fn url(&self) -> String {
        if let Some(url) = &self.url {
            return url.trim_end_matches('/').to_owned();
        }
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        // An address of all interfaces is reached on this machine.
        match self.listen.parse::<SocketAddr>() {
            Ok(SocketAddr::V4(all)) if all.ip().is_unspecified() => {
                format!("{scheme}://127.0.0.1:{}", all.port())
            }
            Ok(SocketAddr::V6(all)) if all.ip().is_unspecified() => {
                format!("{scheme}://[::1]:{}", all.port())
            }
            _ => format!("{scheme}://{}", self.listen),
        }
    }
}

impl PoolConfig {
    /// The level below which more is made, where so much is to be ready.
    pub(crate) const fn low_mark(&self, high: usize) -> usize {
        (high * self.low_percent).div_ceil(100)
    }

    fn check(&self) -> Result<(), String> {
        let backend = self.backend.backend;
        if !backend.keeps_items() {
            let all = Backend::ALL.iter().filter(|one| one.keeps_items()).map(|one| one.name());
            let all = all.collect::<Vec<_>>().join(" or ");
            return Err(format!("[pool]: `backend` is {all}: {} keeps no items", backend.name()));
        }
        if self.small.max(self.large) > MAX_STOCK {
            return Err(format!("[pool]: `small` and `large` are {MAX_STOCK} at most"));
        }
        if !(1..=100).contains(&self.low_percent) {
            return Err("[pool]: `low_percent` is 1 to 100".into());
        }
        let sound = Backend::shown(&self.backend.lasting());
        sound.map(drop).map_err(|fault| format!("[pool]: `backend`: {fault}"))
    }
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        let backend = SessionConfig::new(Backend::Wrk);
        PoolConfig { backend, small: 100_000, large: 500_000, low_percent: 75, threads: 1 }
    }
}

impl Default for JobsConfig {
    fn default() -> JobsConfig {
        JobsConfig {
            small_ands: 20_000,
            most_ands: 10_000_000_000,
            most_waiting: 10_000,
            keep_results_s: 7 * 86_400,
            cuts_a_day: 4,
        }
    }
}

/// Whether a text has the form of an address; whether there is such a host is seen when it is used.
fn has_port(address: &str) -> bool {
    let parts = address.rsplit_once(':');
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

impl Config {
    /// The configuration in `dir`.
    ///
    /// # Errors
    /// `Invalid`, with the place, for a file that cannot be read or used.
    pub fn load(dir: &Path) -> Result<Config, ServiceError> {
        let file = dir.join(CONFIG_FILE);
        let invalid = |what: String| {
            ServiceError::new(ErrorKind::Invalid, format!("{}: {what}", file.display()))
        };
        let text = std::fs::read_to_string(&file)
            .map_err(|error| invalid(format!("{error}; `cenote init` writes one")))?;
        let mut config: Config =
            toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        config.dir = dir.to_owned();
        if config.peer.listen.is_some() == config.peer.connect.is_some() {
            return Err(invalid("[peer]: give `listen` or `connect`, one side each".into()));
        }
        for (key, address) in [("listen", &config.peer.listen), ("connect", &config.peer.connect)] {
            if let Some(address) = address.as_ref().filter(|address| !has_port(address)) {
                let what = format!("[peer] {key} = \"{address}\": no address; write HOST:PORT");
                return Err(invalid(what));
            }
        }
        if config.api.certificate.is_some() != config.api.key.is_some() {
            return Err(invalid(
                "[api]: give both `certificate` and `key`, or none of them".into(),
            ));
        }
        if config.stores.key_file.is_some() && config.stores.passphrase_file.is_some() {
            return Err(invalid("[stores]: give `key_file` or `passphrase_file`, not both".into()));
        }
        config.pool.check().map_err(invalid)?;
        let QuotaConfig { each, token, peer } = &config.quota;
        let periods = token.values().chain([each, peer]).map(|quota| quota.period_s);
        if periods.into_iter().any(|period| !(1..=MAX_PERIOD_S).contains(&period)) {
            let what = format!("[quota]: `period_s` is 1 to {MAX_PERIOD_S} seconds");
            return Err(invalid(what));
        }
        Ok(config)
    }

    /// The store of a lane, and the key file beside it that opens it if `[stores]` names nothing else.
    #[must_use]
    pub fn store_files(&self, lane: &str) -> (PathBuf, PathBuf) {
        let dir = self.dir.join("stores");
        (dir.join(lane), dir.join(format!("{lane}.key")))
    }

    /// What opens the store of a lane.
    ///
    /// # Errors
    /// If it cannot be read, or others may read it.
    pub fn store_key(&self, lane: &str) -> Result<StoreKey, StoreFailure> {
        match (&self.stores.key_file, &self.stores.passphrase_file) {
            (Some(file), _) => StoreKey::load(&self.path(file)),
            (None, Some(file)) => StoreKey::load_passphrase(&self.path(file)),
            (None, None) => StoreKey::load(&self.store_files(lane).1),
        }
    }

    /// Whether stores have a key file beside them.
    #[must_use]
    pub const fn keys_beside_stores(&self) -> bool {
        self.stores.key_file.is_none() && self.stores.passphrase_file.is_none()
    }

    /// A file that may be bound as a data set, without links or steps upwards.
    ///
    /// # Errors
    /// `Invalid` for anything but a file in one of the directories of `[data]`.
    pub fn data_file(&self, file: &Path) -> Result<PathBuf, ServiceError> {
        let invalid = |what: String| ServiceError::invalid(format!("{}: {what}", file.display()));
        let real = self.path(file).canonicalize().map_err(|error| invalid(error.to_string()))?;
        let inside = |directory: &PathBuf| {
            let directory = self.path(directory).canonicalize();
            directory.is_ok_and(|directory| real.starts_with(directory))
        };
        if !self.data.directories.iter().any(inside) {
            let names =
                self.data.directories.iter().map(|one| self.path(one).display().to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(invalid(format!(
                "data sets lie in {names}; put the file there, or name its directory in [data] directories"
            )));
        }
        if !real.is_file() {
            return Err(invalid("this is no file".into()));
        }
        Ok(real)
    }

    /// Certificate and key of the API, if it has TLS.
    #[must_use]
    pub fn api_files(&self) -> Option<(PathBuf, PathBuf)> {
        let (certificate, key) = (self.api.certificate.as_ref()?, self.api.key.as_ref()?);
        Some((self.path(certificate), self.path(key)))
    }

    /// Whom commands on this machine trust, if the API has TLS.
    #[must_use]
    pub fn api_ca(&self) -> Option<PathBuf> {
        let certificate = self.api.certificate.as_ref()?;
        Some(self.path(self.api.ca.as_ref().unwrap_or(certificate)))
    }

    /// A path of the configuration, which is relative to its directory.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }
}

/// What the first configuration of a service says; [`NewConfig::text`] has the rest.
#[derive(Clone, Debug)]
pub struct NewConfig<'a> {
    /// Name of the service.
    pub name: &'a str,
    /// Name of the peer.
    pub peer: &'a str,
    /// The own role.
    pub role: Role,
    /// Address to listen on for the peer, or the peer's.
    pub address: Address<'a>,
    /// Address of the API.
    pub api: &'a str,
    /// Whether the API has TLS, with a certificate in the directory.
    pub tls: bool,
}

/// Which of both sides listens.
#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// The own one, here.
    Listen(&'a str),
    /// The peer, there.
    Connect(&'a str),
}

impl NewConfig<'_> {
    /// The file, with each key explained; those that stand at their defaults are commented out.
    #[must_use]
    pub fn text(&self) -> String {
        let NewConfig { name, peer, role, address, api, tls } = self;
        let (key, address, what) = match address {
            Address::Listen(address) => ("listen", address, "Where the peer finds this service."),
            Address::Connect(address) => ("connect", address, "Where the peer listens."),
        };
        let [name, peer, address, api] = [name, peer, address, api].map(|text| quoted(text));
        let (role, limits) = (role.name(), default_limits());
        let certificate = peer_certificate();
        let ApiConfig { tokens, .. } = ApiConfig::default();
        let tls = if *tls {
            format!("certificate = \"{API_CERTIFICATE_FILE}\"\nkey = \"{API_KEY_FILE}\"\n")
        } else {
            String::new()
        };
        format!(
            r#"# A service of Cenote. Unknown keys are refused; `cenote doctor` checks this file and all that it names.
# Paths are relative to this directory.

# Name of this service, for people.
name = {name}

[peer]
# Its name, for people.
name = {peer}
# Its certificate, as `cenote pair` keeps it.
# certificate = "{certificate}"
# This side in all programs, garbler or evaluator; the peer is the other.
role = "{role}"
# {what} One side listens, the other connects.
{key} = {address}

[api]
# Address of the HTTP API: of this machine, or any with TLS.
listen = {api}
# With `certificate` and `key`, files in PEM, it has TLS. Both are read again when they change. Commands on this machine trust the certificate
# itself, or what `ca` names, and call the address above, or `url` where the certificate has another name.
{tls}# Names, roles and hashes of tokens; `cenote token add` adds one.
# tokens = "{tokens}"

{limits}"#,
            certificate = certificate.display(),
            tokens = tokens.display(),
        )
    }
}

/// What is kept ready, where data lie, and limits of jobs: all at their defaults.
fn default_limits() -> String {
    let (pool, jobs, data) = (PoolConfig::default(), JobsConfig::default(), DATA_DIRECTORY);
    format!(
        r#"[pool]
# The protocol of all jobs, with its options: wrk, or jimu (docs/operate.md). The same on both sides.
# backend = "{backend}"
# Triples that are kept ready, one for each AND, for small and for large jobs. The same on both sides.
# small = {small}
# large = {large}
# Below so many hundredths of that, more is made beside jobs until it is reached again. The garbler's number counts.
# low_percent = {low_percent}
# Threads that each kind of job computes on.
# threads = {threads}

[stores]
# What opens the stores of what is ready: nothing here, and a key file lies beside each; or a file, of 32 bytes or with a passphrase, for
# both. Chosen before the first start; a credential of systemd's, for one (docs/operate.md).
# key_file = ".."
# passphrase_file = ".."

[data]
# Files in these directories, and below, may be bound as data sets.
# directories = ["{data}"]

[jobs]
# Jobs of up to so many ANDs are small ones, which do not wait for large ones.
# small_ands = {small_ands}
# Programs above this are not registered.
# most_ands = {most_ands}
# Jobs of each owner that may wait at a time.
# most_waiting = {most_waiting}
# How long results are kept where a job does not say, in seconds.
# keep_results_s = {keep_results_s}
# Large jobs that are taken back while they run end their sessions, which costs a pool each: so many in 24 hours, others run on for nothing.
# cuts_a_day = {cuts_a_day}

# What whoever asks for jobs may take: [quota.peer], [quota.each] for each token, [quota.token.NAME] for one in its place. Not limited as far as
# nothing is said. In each of them:
#   most_waiting = 100          jobs that wait at a time
#   jobs = 1000                 jobs that begin in a period
#   ands = 1000000000           their ANDs
#   period_s = 86400            seconds of a period, 31 days at most
"#,
        backend = pool.backend,
        small = pool.small,
        large = pool.large,
        low_percent = pool.low_percent,
        threads = pool.threads,
        small_ands = jobs.small_ands,
        most_ands = jobs.most_ands,
        most_waiting = jobs.most_waiting,
        keep_results_s = jobs.keep_results_s,
        cuts_a_day = jobs.cuts_a_day,
    )
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn peer_certificate() -> PathBuf {
    "peer.crt.pem".into()
}

mod role {
    use cenote_engine::Role;
    use serde::de::{Deserialize, Deserializer, Error};

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Role, D::Error> {
        match String::deserialize(from)?.as_str() {
            "garbler" => Ok(Role::Garbler),
            "evaluator" => Ok(Role::Evaluator),
            other => Err(D::Error::custom(format!("`{other}` is no role: garbler or evaluator"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> NewConfig<'static> {
        NewConfig {
            name: "a \"name\"\nof two lines",
            peer: "b",
            role: Role::Evaluator,
            address: Address::Connect("b.example:7700"),
            api: "127.0.0.1:1",
            tls: false,
        }
    }

    #[test]
    fn with_tls_it_is_called_by_https_and_its_certificate_trusted() {
        let text = NewConfig { api: "0.0.0.0:9", tls: true, ..new() }.text();
        let mut read: Config = toml::from_str(&text).unwrap();
        assert_eq!(read.api.url(), "https://127.0.0.1:9");
        read.dir = "d".into();
        assert_eq!(read.api_files(), Some(("d/api.crt.pem".into(), "d/api.key.pem".into())));
        assert_eq!(read.api_ca(), Some("d/api.crt.pem".into()));
        read.api.ca = Some("/ca.pem".into());
        read.api.url = Some("https://alice.example:9/".into());
        assert_eq!(read.api_ca(), Some("/ca.pem".into()));
        assert_eq!(read.api.url(), "https://alice.example:9");
        for (listen, url) in [("[::]:9", "https://[::1]:9"), ("alice:9", "https://alice:9")] {
            let api = ApiConfig { listen: listen.into(), url: None, ..read.api.clone() };
            assert_eq!(api.url(), url);
        }
        assert_eq!(ApiConfig::default().url(), "http://127.0.0.1:7780");
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let read: Config = toml::from_str(&new().text()).unwrap();
        assert_eq!((read.name.as_str(), read.peer.name.as_str()), (new().name, "b"));
        assert_eq!(
            (read.peer.connect.as_deref(), read.peer.listen),
            (Some("b.example:7700"), None)
        );
        assert_eq!((read.peer.role, read.api.listen.as_str()), (Role::Evaluator, "127.0.0.1:1"));
        assert_eq!(read.jobs.keep_results_s, JobsConfig::default().keep_results_s);
    }

    #[test]
    fn tokens_have_the_quota_of_each_or_their_own() {
        let text = "[quota.each]\njobs = 3\n[quota.token.b]\nands = 7\nperiod_s = 60\n[quota.peer]\nmost_waiting = 1\n";
        let text = format!("{}{text}", new().text());
        let read: Config = toml::from_str(&text).unwrap();
        let each = Quota { jobs: Some(3), ..Quota::default() };
        assert_eq!(read.quota.of_token("a"), each);
        let own = Quota { ands: Some(7), period_s: 60, ..Quota::default() };
        assert_eq!(read.quota.of_token("b"), own);
        assert!(read.quota.of_token("").is_none() && !read.quota.peer.is_none());
        let dir = tempfile::tempdir().unwrap();
        for (period, sound) in
            [(0, false), (1, true), (MAX_PERIOD_S, true), (MAX_PERIOD_S + 1, false)]
        {
            let text = text.replace("period_s = 60", &format!("period_s = {period}"));
            std::fs::write(dir.path().join(CONFIG_FILE), text).unwrap();
            assert_eq!(Config::load(dir.path()).is_ok(), sound, "{period}");
        }
        assert!(toml::from_str::<Config>(&text.replace("ands = 7", "and = 7")).is_err());
    }

    /// Whoever takes the mark of a comment away gets the default that stood there.
    #[test]
    fn what_is_commented_out_is_the_default() {
        let is_key = |line: &&str| {
            let key = line.strip_prefix("# ").and_then(|line| line.split_once(" = "));
            // Those with a place to fill in have no default.
            key.is_some_and(|(key, value)| {
                value != "\"..\""
                    && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            })
        };
        let text = new().text();
        assert_eq!(text.lines().filter(is_key).count(), 13);
        let all: String = text
            .lines()
            .map(|line| if is_key(&line) { line.trim_start_matches("# ") } else { line })
            .map(|line| format!("{line}\n"))
            .collect();
        let (all, few): (Config, Config) =
            (toml::from_str(&all).unwrap(), toml::from_str(&text).unwrap());
        assert_eq!(format!("{all:?}"), format!("{few:?}"));
    }
}

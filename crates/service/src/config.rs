//! The configuration: `cenote.toml` in the directory of the service. Unknown keys are refused.

use std::path::{Path, PathBuf};

use cenote_engine::Role;
use serde::Deserialize;

use crate::error::{ErrorKind, ServiceError};

/// Its name in the directory of a service.
pub const CONFIG_FILE: &str = "cenote.toml";

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
    /// Limits of jobs.
    #[serde(default)]
    pub jobs: JobsConfig,
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
    /// Address to listen on. It has no TLS: an address of this machine, or behind a proxy that has.
    pub listen: String,
    /// File with names, roles and hashes of tokens.
    pub tokens: PathBuf,
}

/// What is kept ready.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields, default)]
pub struct PoolConfig {
    /// Ready triples for small jobs.
    pub small: usize,
    /// Ready triples for large jobs.
    pub large: usize,
    /// Threads that each kind computes on.
    pub threads: usize,
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
}

impl Default for ApiConfig {
    fn default() -> ApiConfig {
        ApiConfig { listen: "127.0.0.1:7780".into(), tokens: "tokens.toml".into() }
    }
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig { small: 100_000, large: 500_000, threads: 1 }
    }
}

impl Default for JobsConfig {
    fn default() -> JobsConfig {
        JobsConfig {
            small_ands: 20_000,
            most_ands: 10_000_000_000,
            most_waiting: 10_000,
            keep_results_s: 7 * 86_400,
        }
    }
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
        Ok(config)
    }

    /// A path of the configuration, which is relative to its directory.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        self.dir.join(path)
    }
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

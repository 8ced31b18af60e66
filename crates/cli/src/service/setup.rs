//! The directory of a service: what `cenote init`, `cenote token` and `cenote certificate` write there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::ToSocketAddrs as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use cenote_engine::Role;
use cenote_service::api::{Certificate, Role as ApiRole, Tokens};
use cenote_service::config::{
    API_CERTIFICATE_FILE, API_KEY_FILE, Address, CONFIG_FILE, DATA_DIRECTORY, NewConfig, TOKEN_FILE,
};
use clap::{Args, Subcommand};
use serde_json::json;

use super::client::config;
use crate::args::role;
use crate::exit::Failure;
use crate::output::Reply;

/// What makes a directory that of a service.
#[derive(Args, Debug)]
pub(crate) struct InitServiceArgs {
    /// Make it the directory of a service, which listens here for the peer.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "connect")]
    listen: Option<String>,
    /// Make it the directory of a service, whose peer listens there.
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// This side in all programs, garbler or evaluator; without it, who listens is the garbler.
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Name of the peer, for people.
    #[arg(long, value_name = "NAME", default_value = "peer")]
    peer: String,
    /// Address of the service's HTTP API. One that others reach has TLS, with a certificate that is made here.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7780")]
    api: String,
    /// Name or IP address by which others reach the API, for its certificate; may be given several times.
    #[arg(long, value_name = "NAME")]
    api_name: Vec<String>,
}

impl InitServiceArgs {
    /// Whether a service was asked for at all.
    pub(crate) fn is_there(&self) -> bool {
        self.listen.is_some() || self.connect.is_some()
    }

    /// Writes configuration and token into `dir`, and says so.
    pub(crate) fn write(&self, dir: &Path, name: &str, reply: Reply) -> Result<Reply, Failure> {
        let address = match (&self.listen, &self.connect) {
            (Some(here), _) => Address::Listen(here),
            (None, Some(there)) => Address::Connect(there),
            (None, None) => return Ok(reply),
        };
        let garbles = matches!(address, Address::Listen(_));
        let default = if garbles { Role::Garbler } else { Role::Evaluator };
        let role = self.role.unwrap_or(default);
        let tls = self.needs_tls()?;
        let new = NewConfig { name, peer: &self.peer, role, address, api: &self.api, tls };
        let file = dir.join(CONFIG_FILE);
        create(&file, 0o644, &new.text())?;
        if tls {
            let (certificate, key) = (dir.join(API_CERTIFICATE_FILE), dir.join(API_KEY_FILE));
            Certificate::make(&certificate, &key, &self.api_name)?;
        }
        let data = dir.join(DATA_DIRECTORY);
        std::fs::create_dir_all(&data).map_err(|error| unwritten(&data, &error))?;
        let tokens = dir.join(config(dir)?.api.tokens);
        let token = Tokens::add(&tokens, "owner", &ApiRole::ALL)?;
        let token_file = dir.join(TOKEN_FILE);
        create(&token_file, 0o600, &format!("{}\n", token.as_str()))?;
        let text = format!(
            "service configured in {}\ntoken  {} (all roles; `cenote token add` makes others)\n\
             data sets go to {}\n\
             next: `cenote pair` on both sides, then `cenote serve {}`",
            file.display(),
            token_file.display(),
            data.display(),
            dir.display(),
        );
        let reply = reply
            .and_text(&text)
            .with("config", json!(file.display().to_string()))
            .with("token_file", json!(token_file.display().to_string()));
        if !tls {
            return Ok(reply);
        }
        let certificate = dir.join(API_CERTIFICATE_FILE).display().to_string();
        let text = format!("callers of the API trust {certificate}, by --ca or `ca=`");
        Ok(reply.and_text(&text).with("api_certificate", json!(certificate)))
    }

    /// Whether others reach the API. An address of all interfaces needs a name: nobody calls it by that.
    fn needs_tls(&self) -> Result<bool, Failure> {
        let unusable = |what: &str| Failure::bad_input(format!("--api {}: {what}", self.api));
        let addresses = self.api.to_socket_addrs().map_err(|error| unusable(&error.to_string()))?;
        let local = addresses.clone().all(|address| address.ip().is_loopback());
        if !local && self.api_name.is_empty() {
            let what = "others may reach this address: say by --api-name NAME under which name or IP address, for its certificate";
            return Err(unusable(what));
        }
        Ok(!local || !self.api_name.is_empty())
    }
}

#[derive(Args)]
pub(crate) struct CertificateArgs {
    /// Directory of the service.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Name or IP address by which others reach the API; may be given several times.
    #[arg(long, value_name = "NAME", required = true)]
    name: Vec<String>,
}

/// Makes the API's certificate anew; a service that runs takes it.
pub(crate) fn certificate(args: &CertificateArgs) -> Result<Reply, Failure> {
    let config = config(&args.dir)?;
    let (certificate, key) =
        (config.path(API_CERTIFICATE_FILE.as_ref()), config.path(API_KEY_FILE.as_ref()));
    if config.api_files().is_some_and(|files| files != (certificate.clone(), key.clone())) {
        let what = format!(
            "[api] of {CONFIG_FILE} names a certificate that was not made here; put its successor in its place, and the service takes it"
        );
        return Err(Failure::bad_input(what));
    }
    Certificate::make(&certificate, &key, &args.name)?;
    let shown = certificate.display().to_string();
    let next = if config.api.certificate.is_some() {
        "a service that runs takes it with the next call".to_owned()
    } else {
        format!(
            "next, in [api] of {CONFIG_FILE}: certificate = \"{API_CERTIFICATE_FILE}\" and key = \"{API_KEY_FILE}\"; then start the service again"
        )
    };
    let text = format!("made {shown}\ngive it to callers of the API, for --ca and `ca=`; {next}");
    Ok(Reply::new(json!({ "certificate": shown, "names": args.name }), text))
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for the API, and write it to a file.
    Add(TokenAddArgs),
}

#[derive(Args)]
pub(crate) struct TokenAddArgs {
    /// Name of the token, in the log and in the file of tokens, from which it may be taken out again.
    name: String,
    /// What its holder may do: submitter, approver, operator, auditor; several between commas.
    #[arg(long, value_name = "ROLE,..", value_delimiter = ',', required = true, value_parser = api_role)]
    role: Vec<ApiRole>,
    /// File for the token, readable by this user alone.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Directory of the service.
    #[arg(long, value_name = "DIR", default_value = ".")]
    service: PathBuf,
}

pub(crate) fn token(command: &TokenCommand) -> Result<Reply, Failure> {
    let TokenCommand::Add(args) = command;
    let config = config(&args.service)?;
    let tokens = config.path(&config.api.tokens);
    // The place for it first: a token that nobody has would stand in the list.
    create(&args.output, 0o600, "")?;
    let added = Tokens::add(&tokens, &args.name, &args.role).map_err(Failure::from);
    let written = added.and_then(|token| write(&args.output, &format!("{}\n", token.as_str())));
    if let Err(failure) = written {
        // The reason counts; an empty file is left at worst.
        let _ = std::fs::remove_file(&args.output);
        return Err(failure);
    }
    let file = args.output.display().to_string();
    let text =
        format!("token `{}` is in {file}; give it to its holder and delete it here", args.name);
    Ok(Reply::new(json!({ "name": args.name, "file": file }), text))
}

fn api_role(text: &str) -> Result<ApiRole, String> {
    let names = || ApiRole::ALL.map(ApiRole::name).join(", ");
    ApiRole::named(text).ok_or_else(|| format!("there are {}", names()))
}

/// Writes a new file.
fn create(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| unwritten(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::bad_input(format!("{path} is there already; it is not written over"))
        }
        _ => Failure::bad_input(format!("{path}: {error}")),
    }
}
